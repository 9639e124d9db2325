"""Mistakes that showed where lines run again, or where arrays on ranks are small: each by the smallest program that showed it."""

from __future__ import annotations

import numpy as np
import pytest

import atoll
from atoll import Layout
from atoll.config import config

from . import comparison, local_statements, loop_statements, statements


def here(array, layout="b"):
    """An array in atoll; on ranks, along its first axis."""
    layout += "n" * (array.ndim - 1)
    return atoll.array(array).redistribute(Layout(array.shape, layout, size=atoll.world.size))


@pytest.mark.simulated(1, 2, 3)
@pytest.mark.ranks(2)
def test_all_of_an_array_is_assigned_while_a_copy_is_read(size):
    """The new version takes the memory of the old one, which the loop must have read before."""
    whole = np.arange(12.0)
    a = here(whole)
    for _ in range(4):
        t = a + 0
        a[...] = 0
        a += t
    np.testing.assert_array_equal(np.asarray(a), whole)


def test_a_difference_to_what_was_there_before():
    for _ in range(3):
        with config(small=0):
            a, b = atoll.array(np.arange(50.0)), atoll.array(np.arange(50.0) ** 2)
            a *= 2
            float(a.sum())
            old = a.copy()
            a[3:] = b[3:]
            change = (a - old) * 2
            del old
            atoll.sync()
        expected = np.arange(50.0) * 2
        expected[3:] = np.arange(3.0, 50.0) ** 2
        difference = (expected - np.arange(50.0) * 2) * 2
        np.testing.assert_array_equal(np.asarray(change), difference)


@pytest.mark.simulated(2, 4)
def test_the_transform_of_a_line_that_is_small(size):
    line = np.arange(16.0)
    a = here(line)
    with config(small=30):
        np.testing.assert_allclose(np.asarray(atoll.fft.fft(a)), np.fft.fft(line), atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_a_short_piece_in_another_shape(order):
    whole = np.arange(16.0).reshape(4, 4)
    with config(small=0):
        a = atoll.array(whole)
    with config(small=9):
        got = np.asarray(a[:, ::-2].reshape((2, 4), order=order))
        np.testing.assert_array_equal(got, whole[:, ::-2].reshape((2, 4), order=order))
        np.testing.assert_array_equal(
            np.asarray(a.T[:2].reshape((4, 2), order=order, copy=True)),
            whole.T[:2].reshape((4, 2), order=order),
        )


@pytest.mark.simulated(2, 3)
@pytest.mark.ranks(2)
def test_one_mask_after_the_other(size):
    """From the fourth on the array is in hand on all ranks, and is written there."""
    expected = np.arange(1.0, 8.0)
    with config(small=30):
        a = here(expected)
        for k in range(7):
            mask = atoll.arange(7) == k
            a[mask] = a[mask] * 2
            expected[k] *= 2
        np.testing.assert_array_equal(np.asarray(a), expected)


@pytest.mark.parametrize("value", [[300, 2], np.uint8(200), [np.int64(-300), 1], [2**40, 1]])
@pytest.mark.parametrize("small", [0, 3])
@pytest.mark.simulated(1, 2)
def test_integers_that_are_too_large(value, small, size):
    with config(small=small):
        a = here(np.zeros((9, 2), np.int8))
        for k in range(6):
            with pytest.raises(OverflowError):
                a[k] = value
        assert not np.asarray(a).any()


@pytest.mark.simulated(1, 2)
def test_an_element_is_given_a_sequence(size):
    with config(small=3):
        a, b = here(np.zeros(9)), here(np.zeros(9, complex))
        one = atoll.array(np.ones(1))
        for _ in range(9):
            atoll.sync()
            with pytest.raises(ValueError, match="sequence"):
                a[-1] = one
            with pytest.raises(TypeError):
                b[2] = one
        assert not np.asarray(a).any()


def test_an_element_is_given_a_sequence_where_a_number_is_pending():
    with config(small=9):
        a, one, raised = atoll.ones(12)[:8], atoll.array(np.zeros(1)), 0
        for value in (2.0, one):
            c = a + 0
            try:
                a[-1] = value
            except ValueError:
                raised += 1
        assert raised == 1
        assert np.asarray(a).tolist() == [1] * 7 + [2]
        assert c[0] == 1


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.simulated(1, 2, 3)
def test_numbers_on_the_bounds_of_descending_bins(right, size):
    whole, bins = np.arange(12.0).reshape(4, 3), np.array([9.0, 6, 6, 2])
    with config(small=0):
        found = atoll.digitize(here(whole), here(bins), right=right)
        np.testing.assert_array_equal(np.asarray(found), np.digitize(whole, bins, right=right))
        found = atoll.digitize(here(whole), bins, right=right)
        np.testing.assert_array_equal(np.asarray(found), np.digitize(whole, bins, right=right))


@pytest.mark.parametrize("q", [0, 1, [0, 1]])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.simulated(2, 3)
def test_quantiles_that_are_ends(name, q, size):
    """The element beside an infinite one has no part in it; integers stay what they are."""
    with config(small=0):
        for whole in (np.array([np.inf, 2, -np.inf, 3]), np.array([7, 200, 9], np.uint8)):
            found = getattr(atoll, name)(here(whole), q)
            expected = getattr(np, name)(whole, q)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("bins", [[2, [0, 1, 9]], 3, [0, 1, 5], [2, 3]])
@pytest.mark.simulated(2)
def test_bins_of_each_axis(bins, size):
    x, y = np.arange(9.0) % 5, np.arange(9.0) % 4
    with config(small=0):
        found = atoll.histogram2d(here(x), here(y), bins)
    for ours, theirs in zip(found, np.histogram2d(x, y, bins), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize("shape", [(7,), (7, 3), (3, 7)])
@pytest.mark.simulated(2, 3)
def test_elements_of_an_array_on_one_rank(shape, rank, size):
    """The other ranks have no part of it, not even along an axis that is not distributed."""
    whole = np.arange(21.0)[: np.prod(shape)].reshape(shape)
    for owner in range(size):
        layout = Layout(shape, "n" * len(shape), size=size, ranks=(owner,))
        for small in (0, 30):
            with config(small=small):
                a = atoll.array(whole).redistribute(layout)
                np.testing.assert_array_equal(np.asarray(a[[1, -1, 1]]), whole[[1, -1, 1]])
                found = a[..., [2, 0]]
                np.testing.assert_array_equal(np.asarray(found), whole[..., [2, 0]])


@pytest.mark.parametrize("name", ["all", "counts", "inverse", "values"])
@pytest.mark.simulated(1, 2)
def test_each_nan_is_different_to_the_newer_functions(name, size):
    whole = np.array([2.0, np.nan, 1, np.nan, 2])
    with config(small=0):
        found = getattr(atoll, f"unique_{name}")(here(whole))
    expected = getattr(np, f"unique_{name}")(whole)
    for ours, theirs in zip(*((found, expected) if name != "values" else ([found], [expected]))):
        order = np.sort if name == "values" else np.asarray
        np.testing.assert_array_equal(order(np.asarray(ours)), order(theirs))


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.simulated(1, 2)
def test_lines_between_infinite_points(kind, size):
    """At a point it is the point; between two, what comes from either end."""
    x = np.array([0.0, 1, 2, 3, 4, 5, 6])
    y = np.array([1, np.inf, np.inf, 4, np.nan, 5, -np.inf], kind)
    at = np.array([-1, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 7, np.nan])
    with config(small=0), np.errstate(all="ignore"):
        found = np.asarray(atoll.interp(here(at), here(x), here(y)))
        np.testing.assert_array_equal(found, np.interp(at, x, y))


def bookkeeping(np):
    """Views, lists of views, lazily changed."""
    a = np.arange(60.0).reshape(6, 10)
    rows = [a[k] for k in range(6)]
    cols = [a[:, k] for k in range(10)]
    rows[2] += 100
    cols[3] *= -1
    a[4, 4:8] = rows[0][4:8]
    even = a[::2, ::2]
    even[...] = np.where(even > 50, 50, even)
    a[1:4], a[3:6] = a[3:6].copy(), a[1:4].copy()
    t = a.T
    t[2:5] -= t[5:8]
    a.flat[::7] = -1
    total = [float(r.sum()) for r in rows]
    swap = a[[5, 0]]
    a[[0, 5]] = swap
    b = a
    b -= a.mean(0)
    c = a.reshape(3, 20)
    c[1] = 0
    d = np.array_split(a, 4)
    d[1][...] += 1
    e = np.vsplit(a, 2)[1]
    e.sort(axis=1)
    return a, total, rows[1], cols[9], even, t[0], c.sum(1), [x.shape for x in d]


@pytest.mark.simulated(2)
def test_a_program_of_views(size):
    with config(small=5):
        assert comparison.same(bookkeeping(atoll), bookkeeping(np), rounded=True)


@pytest.mark.slow
@pytest.mark.simulated(2, 3)
@pytest.mark.usefixtures("by_numpy")
def test_programs_in_which_some_ranks_look(rank, size):
    for seed in range(32_000, 32_005):
        program = statements.draw(seed, 14, ranks=True, kind=local_statements.LocalStatements)
        comparison.check(program, loop_statements.SMALL[seed % len(loop_statements.SMALL)])


@pytest.mark.slow
@pytest.mark.simulated(1, 3)
@pytest.mark.usefixtures("by_numpy")
def test_programs_whose_lines_come_again(rank, size):
    for seed in range(31_000, 31_008):
        program = statements.draw(seed, 14, ranks=size > 1, kind=loop_statements.LoopStatements)
        comparison.check(program, loop_statements.SMALL[seed % len(loop_statements.SMALL)])
