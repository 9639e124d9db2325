"""Folds along a long axis that several threads share, slab by slab."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.layout import Layout
from atoll.plan.split_reductions import slab_count

NAMES = ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var")
SHAPES = [  # and the axis that is folded in slabs
    ((1009, 700), 0),
    ((1200, 600), 0),
    ((70_001, 8), 0),
    ((530_000, 1), 0),
    ((3, 200_003), 1),
    ((2, 700, 500), 1),
    ((700, 20, 50), 0),
]


def numbers(shape, dtype):
    random = numpy.random.default_rng(5)
    if numpy.dtype(dtype).kind == "b":
        return random.random(shape) < 0.001
    whole = random.integers(1, 9, shape)
    return (whole + 1j * whole if numpy.dtype(dtype).kind == "c" else whole).astype(dtype)


def close(found, expected):
    found = numpy.asarray(found)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert numpy.allclose(found, expected, 1e-3 if expected.dtype.itemsize < 8 else 1e-9, 0, True)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "c16", "b1"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_against_numpy(shape, axis, dtype):
    a = numbers(shape, dtype)
    mine = np.array(a)
    for name in NAMES:
        if dtype == "c16" and (name == "prod" or name.startswith("arg")):
            continue
        with numpy.errstate(all="ignore"):
            close(getattr(np, name)(mine, axis=axis), getattr(numpy, name)(a, axis=axis))
            if len(shape) == 2:
                found = getattr(np, name)(mine.T, axis=1 - axis, keepdims=True)
                close(found, getattr(numpy, name)(a.T, axis=1 - axis, keepdims=True))


def test_a_plan_with_slabs():
    a = np.array(numbers((1200, 600), "f8"))
    text = str(np.explain(a.sum(axis=0)))
    assert f"loop {slab_count(1200, 600, 720_000)} (axis 0) x" in text, text


def test_any_number_of_threads():
    a = np.array(numpy.random.default_rng(1).random((1009, 700)))
    found = []
    for threads in (1, 2, 3):
        with np.config(threads=threads):
            found.append([numpy.asarray(f(a, axis=0)) for f in (np.sum, np.var, np.min)])
    for one in found[1:]:
        assert all(map(numpy.array_equal, one, found[0]))


def test_positions_across_slabs():
    """The first of equal elements, and the first NaN, in whichever slab they are."""
    random = numpy.random.default_rng(8)
    a = random.integers(0, 3, (1009, 600)).astype(float)
    a[random.integers(0, 1009, 50), random.integers(0, 600, 50)] = numpy.nan
    a[:, 7] = numpy.inf
    a[:, 8] = -numpy.inf
    a[1008, 9] = numpy.nan
    mine = np.array(a)
    for name in ("argmin", "argmax"):
        expected = getattr(numpy, name)(a, axis=0)
        assert (numpy.asarray(getattr(np, name)(mine, axis=0)) == expected).all()
        expected = getattr(numpy, name)(a[3:, 1:], axis=0)
        assert (numpy.asarray(getattr(np, name)(mine[3:, 1:], axis=0)) == expected).all()
    for name in ("min", "max", "nanmin"):
        expected = getattr(numpy, name)(a, axis=0)
        numpy.testing.assert_array_equal(getattr(np, name)(mine, axis=0), expected)


def test_several_folds_in_one_loop():
    a = numbers((1009, 700), "f8")
    mine = np.array(a)
    folds = [mine.sum(axis=0), mine.max(axis=1), mine.sum(), mine.argmin(axis=0), (mine * 2).min(0)]
    np.sync()
    b = 2 * a
    expected = [a.sum(axis=0), a.max(axis=1), a.sum(), a.argmin(axis=0), b.min(axis=0)]
    for found, one in zip(folds, expected, strict=True):
        assert numpy.array_equal(found, one)
    c = numbers((900, 700, 1), "i8")
    both = [np.array(c).sum(axis=(0, 1)), np.array(c).sum(axis=(1, 2))]
    np.sync()
    assert both[0].tolist() == c.sum(axis=(0, 1)).tolist()
    assert both[1].tolist() == c.sum(axis=(1, 2)).tolist()


def test_an_index_that_is_more_than_a_position():
    rows = numpy.arange(1200)[:, None]
    a = numbers((1200, 600), "i8")
    weighed = np.array(a) * np.arange(1200)[:, None]
    assert (numpy.asarray(weighed.argmax(axis=0)) == (a * rows).argmax(axis=0)).all()
    assert (numpy.asarray(weighed.sum(axis=0)) == (a * rows).sum(axis=0)).all()


def test_slices_that_move():
    a = numbers((1400, 600), "f8")
    mine = np.array(a)
    for k in range(9):
        found = [mine[k * 7 :, k:].sum(axis=0), mine[k * 7 :, k:].argmax(axis=0)]
        expected = [a[k * 7 :, k:].sum(axis=0), a[k * 7 :, k:].argmax(axis=0)]
        assert all(map(numpy.array_equal, found, expected)), k


@pytest.mark.ranks(1, 2, 3)
def test_on_ranks(rank, size):
    a = numbers((1600, 1100), "f8")
    mine = np.array(a)
    for axis in (0, 1):
        for name in ("sum", "min", "var", "argmax"):
            found = getattr(np, name)(mine, axis=axis)
            close(found, getattr(numpy, name)(a, axis=axis))


@pytest.mark.simulated(2)
def test_on_columns_of_ranks(rank, size):
    a = numbers((1600, 1100), "f4")
    mine = np.array(a).redistribute(Layout(a.shape, "nb", size=size))
    for name in ("sum", "min", "argmax"):
        close(getattr(np, name)(mine, axis=0), getattr(numpy, name)(a, axis=0))
