"""What one evaluation after the other would compute again is stored, where a loop shows that it is."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.config import config

N = 40_000


def growing(module, steps):
    """A value that grows in each turn, and a sum that an assignment evaluates in each turn."""
    price = module.full(N, 1.0)
    total = module.zeros(N)
    for step in range(steps):
        price = price * module.exp(0.01 * step - price)
        total += price
    return total


def masked(module, steps):
    """A mask that is made before the loop, and not looked at by itself."""
    a = module.arange(N) % 7
    mask = (a * a + 3 * a) % 5 == 0
    found = []
    for step in range(steps):
        found.append(int((mask & (a > step % 3)).sum()))
    return module.array(found), mask


def test_values_are_those_of_numpy():
    for small in (0, 30_000):
        with config(small=small):
            numpy.testing.assert_allclose(
                numpy.array(growing(np, 12)), growing(numpy, 12), rtol=1e-12
            )
            for found, expected in zip(masked(np, 12), masked(numpy, 12), strict=True):
                numpy.testing.assert_array_equal(numpy.array(found), expected)


def test_a_chain_that_grows_in_each_turn_is_cut():
    growing(np, 40)
    before = np.stats()
    growing(np, 80)
    after = np.stats()
    assert after.plans_made - before.plans_made <= 10, "it does not grow longer in each turn"


def test_a_mask_made_before_a_loop_is_stored_by_it():
    _, mask = masked(np, 8)
    assert mask._cell.node.value is not None
    _, mask = masked(np, 1)
    assert mask._cell.node.value is None or mask._cell.node.value.array.dtype == bool


def test_what_is_looked_at_once_is_not_stored_for_it():
    a = np.arange(float(N))
    np.sync()
    squares = a * a + 0.125
    float(squares.sum())
    assert squares._cell.node.value is None
    float(squares.max())  # this computes it again
    float(squares.min())
    assert squares._cell.node.value is not None


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 2)
def test_ranks_compute_the_same(rank, size):
    numpy.testing.assert_allclose(numpy.asarray(growing(np, 6)), growing(numpy, 6), rtol=1e-12)
    found, mask = masked(np, 6)
    expected, wanted = masked(numpy, 6)
    numpy.testing.assert_array_equal(numpy.asarray(found), expected)
    numpy.testing.assert_array_equal(numpy.asarray(mask), wanted)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 3)
def test_ranks_store_what_they_have_computed_and_later_operations_read(rank, size):
    """Whichever of them still refers to it, and what it was made of."""

    def program(module):
        u, a = module.zeros(4000), module.arange(4000.0)
        squares = a[2:] - a[:-2]
        force = module.sqrt(squares) * 3.0 + a[1:-1]
        kept = [squares, force] if rank else [force]
        sums = []
        for _ in range(6):
            u[1:-1] = (u[2:] + u[:-2] + force) / 4
            sums.append(float(u.sum()))
        return u, sums, kept

    u, sums, kept = program(np)
    expected = program(numpy)
    numpy.testing.assert_array_equal(numpy.asarray(u), expected[0])
    numpy.testing.assert_allclose(sums, expected[1], rtol=1e-12)
    if size > 1:
        assert kept[-1]._cell.node.value is not None
        assert kept[0] is kept[-1] or kept[0]._cell.node.value is None
    numpy.testing.assert_array_equal(numpy.asarray(kept[-1]), expected[2][-1])
