"""Learning from rows: assignments to the nearest centre, and a regression by gradient."""

from __future__ import annotations

from typing import Any

import numpy

from .program import Program, Steps, line


def kmeans(np: Any, n: int) -> Steps:
    """Lloyd's algorithm in the plane: distances by a product, labels, weighted counts."""
    clusters = 10
    random = numpy.random.default_rng(19)
    points = np.array(random.random((n, 2)))
    centers = np.array(random.random((clusters, 2)))
    lengths = np.sum(points * points, axis=1)
    yield None
    while True:
        distances = lengths[:, None] - 2 * np.dot(points, centers.T) + np.sum(centers**2, axis=1)
        labels = np.argmin(distances, axis=1)
        counts = np.bincount(labels, minlength=clusters)
        sums = [np.bincount(labels, weights=points[:, k], minlength=clusters) for k in (0, 1)]
        centers = np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]
        yield labels, centers


def logistic_regression(np: Any, n: int) -> Steps:
    """The gradient of a logistic regression with 32 features."""
    random = numpy.random.default_rng(23)
    features = random.standard_normal((n, 32))
    answers = (features @ random.standard_normal(32) > 0).astype(float)
    x, y, w = np.array(features), np.array(answers), np.zeros(32)
    yield None
    while True:
        w += 1e-5 * ((y - 1 / (1 + np.exp(-(x @ w)))) @ x)
        yield w


PROGRAMS = (
    Program(
        "kmeans",
        kmeans,
        {"tiny": 40_000, "small": 10**5, "full": 10**6},
        line,
        steps=3,
        tolerance=1e-9,
        goal=0.95,
    ),
    Program(
        "logreg",
        logistic_regression,
        {"tiny": 40_000, "small": 10**5, "full": 10**6},
        line,
        moved=lambda n: 8 * 32 * n,
        steps=3,
        tolerance=1e-9,
        goal=0.95,
    ),
)
