"""Loops of many small steps: small arrays are on every rank, so nothing is planned for them, and nothing sent."""

from __future__ import annotations

import numpy
import pytest

import atoll


def align(np, n):
    """The score of the best alignment of two sequences, element by element."""
    a, b = numpy.random.default_rng(1).integers(0, 4, (2, n))
    score = np.zeros((n + 1, n + 1))
    score[0] = -np.arange(n + 1)
    score[:, 0] = -np.arange(n + 1)
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            same = 1 if a[i - 1] == b[j - 1] else -1
            score[i, j] = max(score[i - 1, j - 1] + same, score[i - 1, j] - 1, score[i, j - 1] - 1)
    return float(score[n, n])


def percolate(np, n):
    """How far water comes through a porous stone, and in how many steps."""
    porous = np.array(numpy.random.default_rng(3).random((n, n)) < 0.65)
    wet = np.zeros((n, n), bool)
    wet[0] = porous[0]
    turns = 0
    while True:
        turns += 1
        more = wet.copy()
        more[1:] |= wet[:-1]
        more[:-1] |= wet[1:]
        more[:, 1:] |= wet[:, :-1]
        more[:, :-1] |= wet[:, 1:]
        more &= porous
        if not (more != wet).any():
            break
        wet = more
    return turns, int(wet.sum())


def swing(np, n):
    """Vectors with numbers that are looked at in each step."""
    x, v, energy = np.linspace(0, 1, n), np.zeros(n), 0.0
    for _ in range(40):
        v = v - (x * 1.5 - 0.1) * 0.01
        x = x + v * 0.01
        if x[3] > 0.9:
            x[3] = 0.5
        energy += float(x.sum()) * 0.5
        x = x / np.sqrt((x * x).sum()) * 2
    return round(energy, 9)


@pytest.mark.ranks(2, 3, distributes=False)
@pytest.mark.simulated(4, distributes=False)
@pytest.mark.parametrize(
    ("program", "n"), [(align, 15), (percolate, 20), (swing, 10), (swing, 1000)]
)
def test_nothing_is_sent_for_small_arrays(program, n):
    atoll.reset_stats()
    with atoll.config(small=30000):
        assert program(atoll, n) == program(numpy, n)
    counts = atoll.stats()
    assert counts.messages == counts.plans_made == counts.kernels_run == counts.distributed == 0


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize(("program", "n"), [(align, 5), (percolate, 8), (swing, 10)])
def test_the_same_spread_over_ranks(program, n):
    found, wanted = program(atoll, n), program(numpy, n)
    numpy.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert atoll.stats().distributed
