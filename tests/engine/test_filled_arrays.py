"""Zeros of which the program assigns a box: ranks compute them where they are read, as one process does, and store them once
they are read again."""

from __future__ import annotations

import numpy
import pytest

import atoll as np

N = 64


def start():
    return numpy.random.default_rng(3).random((N, N))


def laplacian(np, u):
    found = np.zeros_like(u)
    found[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return found


def diffusion(np, u, steps=6):
    for _ in range(steps):
        u = u + 0.1 * laplacian(np, u)
    return u


def in_place(np, u, steps=6):
    """The old version is overwritten while the filled array still stands for it."""
    kept = []
    for _ in range(steps):
        around = np.zeros(u.shape)
        around[1:-1] += u[:-1][1:] * 0.5
        around[0] = u[1]
        u[...] = 0
        u[around > 0.2] = 1.5
        u += around
        kept.append(around)
    return u + sum(kept)


def borders(np, u, steps=4):
    for _ in range(steps):
        wide = np.zeros((N + 2, N + 2))
        wide[1:-1, 1:-1] = u
        wide[0, 1:-1], wide[-1, 1:-1] = u[-1], u[0]
        u = (wide[:-2, 1:-1] + wide[2:, 1:-1]) / 2 + wide[1:-1, 1:-1] / 3
    return u


def looked_at(np, u, steps=8):
    """A sum is looked at before the filled array is read again."""
    total = 0.0
    for _ in range(steps):
        new = np.zeros((N, N))
        new[1:-1] = (u[:-2] + u[2:]) / 2
        total += float(np.abs(new - u).max())
        u = new * 1.01
    return u * total


PROGRAMS = [diffusion, in_place, borders, looked_at]


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
@pytest.mark.parametrize("layout", ["bn", "nb", "bb", "cn"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_numpy_finds_the_same(program, layout):
    with np.config(small=0, everywhere=0):
        found = numpy.asarray(program(np, np.array(start(), layout=layout)))
    numpy.testing.assert_allclose(found, program(numpy, start()), rtol=1e-12)


@pytest.mark.ranks(2)
def test_ranks_compute_it_where_it_is_read():
    with np.config(small=0, everywhere=0):
        u = np.array(start(), layout="bn")
        around = laplacian(np, u)
        explanation = np.explain(u + 0.1 * around)
    stored = [each.name for group in explanation.groups for each in group.stored]
    assert len(stored) == 1, str(explanation)
    assert "1 stored" in str(explanation)


@pytest.mark.ranks(2)
def test_ranks_store_it_once_it_is_read_again():
    """The first turn computes an array that was made before the loop, the second one stores it."""

    def turn(around, k):
        float((around * k).sum())
        return ": pending" in str(np.explain(around))

    with np.config(small=0, everywhere=0):
        u = np.array(start(), layout="bn")
        around = laplacian(np, u)
        pending = [turn(around, k) for k in range(4)]
    assert pending[0]
    assert not pending[-1]
