"""Running folds: NumPy's bits along every axis, and NumPy's warnings."""

import numpy
import pytest

import atoll as np
from atoll.config import config

RANDOM = numpy.random.default_rng(21)
SHAPES = [
    (40_003,),
    (7,),
    (300, 401),
    (5, 2000),
    (2000, 5),
    (20, 30, 40),
    (1, 9),
    (9, 1),
    (3, 700, 2),
]


@pytest.fixture(autouse=True)
def nothing_is_small():
    with config(small=0):
        yield


def same(found, expected):
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert numpy.asarray(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "c16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scans_are_those_of_numpy(shape, dtype):
    a = (2.1 * RANDOM.random(shape) - 0.3).astype(dtype) if dtype != "u1" else None
    a = RANDOM.integers(0, 9, shape).astype(dtype) if a is None else a
    if dtype[0] == "f":
        a.flat[-3:] = numpy.nan
    with numpy.errstate(all="ignore"):
        for axis in range(len(shape)):
            for name in ("add", "multiply", "maximum", "minimum"):
                ours, theirs = getattr(np, name), getattr(numpy, name)
                found = ours.accumulate(np.array(a), axis=axis)
                same(found, theirs.accumulate(a, axis=axis))
        for axis in (None, *range(-len(shape), len(shape))):
            same(np.cumsum(np.array(a), axis=axis), numpy.cumsum(a, axis=axis))
            same(np.array(a).cumprod(axis), a.cumprod(axis))
        same(
            np.cumsum(np.array(a), dtype="f8" if dtype != "c16" else None),
            numpy.cumsum(a, dtype="f8" if dtype != "c16" else None),
        )


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "u8", "f4", "f2"])
@pytest.mark.parametrize("shape", [(30_011,), (1,), (31, 53), (2, 3, 5)], ids=str)
def test_elements_are_converted_as_they_are_read(shape, dtype):
    a = RANDOM.integers(0, 100, shape).astype(dtype)
    for kind in (None, "i8", "u4", "f8", "f4", "c16"):
        for name in ("add", "multiply", "maximum"):
            for axis in range(len(shape)):
                with numpy.errstate(all="ignore"):
                    expected = getattr(numpy, name).accumulate(a, axis=axis, dtype=kind)
                    same(getattr(np, name).accumulate(np.array(a), axis=axis, dtype=kind), expected)
    for one in (a[::-1], a[..., ::2]):
        same(
            np.cumsum(np.array(a)[::-1] if one.shape == shape else np.array(a)[..., ::2]),
            numpy.cumsum(one),
        )


def test_views_and_outputs():
    a = RANDOM.random((300, 40))
    same(np.cumsum(np.array(a).T, axis=0), numpy.ascontiguousarray(numpy.cumsum(a.T, axis=0)))
    same(np.cumsum(np.array(a)[::2], axis=1), numpy.cumsum(a[::2], axis=1))
    out = np.zeros((300, 40))
    assert np.cumsum(np.array(a), axis=0, out=out) is out
    same(out, numpy.cumsum(a, axis=0))


def test_the_threads_do_not_matter():
    a = RANDOM.random((700, 701))
    for axis in (0, 1):
        for threads in (1, 3):
            with config(threads=threads):
                same(np.cumsum(np.array(a), axis=axis), numpy.cumsum(a, axis=axis))


def test_flags_are_noticed_as_in_numpy():
    a = np.full(1000, 1e307)
    with pytest.warns(RuntimeWarning, match="overflow encountered in accumulate"):
        found = np.cumsum(a)
    assert float(found[-1]) == numpy.inf
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        np.cumsum(a)
    with np.errstate(under="warn"), pytest.warns(RuntimeWarning, match="underflow"):
        np.cumprod(np.full(2000, 0.5))


def test_what_numpy_refuses():
    a = np.array(RANDOM.random((30, 40)))
    with pytest.raises(ValueError, match="multiple axes"):
        np.add.accumulate(a, axis=None)
    with pytest.raises(numpy.exceptions.AxisError):
        np.cumsum(a, axis=2)
