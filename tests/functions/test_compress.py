"""Elements under a mask, and where they are: by kernels of their own, in NumPy's order."""

import numpy
import pytest

import atoll as np
from atoll.config import config

RANDOM = numpy.random.default_rng(8)
SHAPES = [(7,), (100_003,), (65_536,), (300, 401), (5, 20_001), (20_001, 5), (12, 20, 30, 11)]


@pytest.fixture(autouse=True)
def nothing_is_small():
    with config(small=0):
        yield


@pytest.mark.parametrize("share", [0.0, 0.002, 0.5, 1.0])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_positions_are_those_of_numpy(shape, share):
    mask = RANDOM.random(shape) < share
    for found, expected in zip(np.nonzero(np.array(mask)), numpy.nonzero(mask), strict=True):
        assert found.dtype == expected.dtype
        assert (numpy.asarray(found) == expected).all()
    assert (numpy.asarray(np.flatnonzero(np.array(mask))) == numpy.flatnonzero(mask)).all()
    turned = zip(np.nonzero(np.array(mask).T), numpy.nonzero(mask.T), strict=True)
    assert all((numpy.asarray(found) == expected).all() for found, expected in turned)


@pytest.mark.parametrize("dtype", ["i4", "f8", "c8", "f2"])
def test_positions_of_what_is_not_zero(dtype):
    a = RANDOM.integers(-1, 2, (200, 300)).astype(dtype)
    if a.dtype.kind in "fc":
        a[3, 4] = numpy.nan
        a[5, 6] = -0.0
    found = np.nonzero(np.array(a))
    assert all((numpy.asarray(f) == e).all() for f, e in zip(found, numpy.nonzero(a), strict=True))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.6, 1.0])
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "f4", "f8", "c16"])
def test_elements_under_a_mask(dtype, share):
    for shape in ((33,), (100_003,), (211, 307)):
        a = (3 * RANDOM.random(shape)).astype(dtype)
        mask = RANDOM.random(shape) < share
        found = np.array(a)[np.array(mask)]
        assert (found.shape, found.dtype) == (a[mask].shape, a.dtype)
        assert numpy.asarray(found).tobytes() == a[mask].tobytes()
        steps = np.array(a)[::2][np.array(mask)[::2]]
        assert numpy.asarray(steps).tobytes() == a[::2][mask[::2]].tobytes()


def test_the_threads_do_not_matter():
    mask = RANDOM.random(2_000_003) < 0.3
    a = RANDOM.random(mask.size)
    for threads in (1, 2, 3):
        with config(threads=threads):
            assert (numpy.asarray(np.nonzero(np.array(mask))[0]) == mask.nonzero()[0]).all()
            assert (numpy.asarray(np.array(a)[np.array(mask)]) == a[mask]).all()


def test_bytes_that_are_no_truth_values_count_as_true():
    odd = numpy.array([0, 2, 255, 1, 0, 0, 128] * 9000, "u1").view("?")
    found = np.nonzero(np.asarray(odd))[0]
    assert (numpy.asarray(found) == odd.view("u1").nonzero()[0]).all()
