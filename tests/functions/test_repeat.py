"""Repeated elements: a short inner loop that only writes the same again is written as vectors."""

import numpy
import pytest

import atoll as np
from atoll.config import config

RANDOM = numpy.random.default_rng(3)


@pytest.fixture(autouse=True)
def nothing_is_small():
    with config(small=0):
        yield


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "f2", "f4", "f8", "c8", "c16"])
def test_elements_are_repeated(dtype):
    for n in (1, 31, 1025, 40_003):
        x = (3 * RANDOM.random(n)).astype(dtype)
        for count in (2, 3, 5, 16, 17):
            found = np.repeat(np.array(x), count)
            assert numpy.asarray(found).tobytes() == numpy.repeat(x, count).tobytes()


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_are_repeated_as_they_are_computed(axis):
    a = RANDOM.random((70, 300))
    found = np.repeat(np.array(a) * 2, 3, axis=axis)
    assert (numpy.asarray(found) == numpy.repeat(a * 2, 3, axis=axis)).all()
    steps = np.repeat(np.array(a)[::2, ::3], 4, axis=axis)
    assert (numpy.asarray(steps) == numpy.repeat(a[::2, ::3], 4, axis=axis)).all()


def test_columns_of_one_value_are_read_once():
    a = np.array(RANDOM.random((2000, 1)))
    wide = np.broadcast_to(a, (2000, 4)).copy()
    explanation = np.explain(wide)
    (launch,) = explanation.launches
    assert launch.extents == (2000,)
    assert "v1 = a" in str(explanation)
    assert (numpy.asarray(wide) == numpy.asarray(a)).all()


def test_an_array_that_reads_itself_is_not_written_in_runs():
    a = RANDOM.random((500, 4))
    ours = np.array(a)
    ours[:, :] = ours[:, 1:2]
    assert (numpy.asarray(ours) == a[:, 1:2]).all()
