"""Positions of extremes along an axis: those of NumPy, whatever the order in memory."""

import numpy
import pytest

import atoll as np
from atoll.config import config

RANDOM = numpy.random.default_rng(12)
SHAPES = [(300, 41), (3, 5001), (5001, 3), (20, 30, 40), (1, 7), (7, 1), (3, 2100)]


@pytest.fixture(autouse=True)
def nothing_is_small():
    with config(small=0):
        yield


def variants(a):
    """An array as it is, and as views of other memory."""
    yield np.array(a), a
    yield np.array(a).T, a.T
    yield np.array(a)[::-1], a[::-1]
    yield np.array(a) + np.array(a), a + a


def check(a):
    for ours, theirs in variants(a):
        for axis in range(a.ndim):
            for name in ("argmin", "argmax"):
                found = getattr(np, name)(ours, axis=axis, keepdims=axis == 0)
                expected = getattr(numpy, name)(theirs, axis=axis, keepdims=axis == 0)
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
                assert (numpy.asarray(found) == expected).all()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_first_extreme_of_each_line(shape, dtype):
    a = (5 * RANDOM.random(shape)).astype(dtype)
    check(a - 2 if dtype[0] != "u" else a)
    check(numpy.full_like(a, 0))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_first_nan_wins_and_infinities_count(shape):
    a = RANDOM.random(shape)
    a[RANDOM.random(shape) < 0.02] = numpy.nan
    a[RANDOM.random(shape) < 0.05] = -numpy.inf
    check(a)
    check(numpy.full(shape, numpy.inf))
    check(numpy.full(shape, -numpy.inf))


def test_positions_over_all_with_many_ties():
    for a in (RANDOM.integers(0, 3, 70_001), numpy.zeros(70_001), numpy.arange(70_001.0)[::-1]):
        for ours, theirs in ((np.array(a), a), (np.array(a)[::-1], a[::-1])):
            assert int(ours.argmin()) == int(theirs.argmin())
            assert int(ours.argmax()) == int(theirs.argmax())


@pytest.mark.compiled
def test_views_count_as_they_lie_in_memory():
    """Short rows along the memory are NumPy's; all others are done by loops."""
    for length in (40, 300):
        a = np.array(RANDOM.random((200, length))).T
        across, along = np.explain(a.argmax(axis=1)), np.explain(a.argmax(axis=0))
        assert not any(one.style.startswith("NumPy") for one in across.groups[0].stored)
        by_numpy = [one.style.startswith("NumPy") for group in along.groups for one in group.stored]
        assert any(by_numpy) == (length == 40)


def test_loops_find_positions_across_rows():
    a = np.array(RANDOM.random((200, 300)))
    places, largest = a.argmax(axis=0), a.max(axis=0)
    explanation = np.explain(places)
    assert not any(one.style.startswith("NumPy") for one in explanation.groups[0].stored)
    assert len(explanation.launches) > 0
    assert (numpy.asarray(a)[numpy.asarray(places), range(300)] == numpy.asarray(largest)).all()


@pytest.mark.parametrize("dtype", ["i8", "i4", "f8", "u1"])
def test_results_of_one_chunk_are_alike_in_each_turn(dtype):
    a = numpy.random.default_rng(5).integers(0, 100, 3000).astype(dtype)
    with np.config(small=0):
        b = np.array(a)
        for _ in range(6):
            x, y = b + b[::-1], a + a[::-1]
            assert x.argmax() == y.argmax()
            assert x.argmin() == y.argmin()
            for name in ("max", "min", "any", "all"):
                found, wanted = getattr(x, name)(), getattr(y, name)()
                assert found == wanted
                assert type(found) is type(wanted)
