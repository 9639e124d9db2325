"""Short views of large arrays, one after the other: NumPy at once where the values are there."""

from __future__ import annotations

import numpy
import pytest

import atoll as np


def test_rows_of_what_is_there_are_computed_at_once():
    a = np.asarray(numpy.arange(90_000.0).reshape(300, 300).copy()).copy()
    np.sync()
    before = np.stats().kernels_run
    row = a[3] * 2 + a[4]
    assert row._np is not None
    assert row.sum() == (numpy.arange(900, 1200) * 2 + numpy.arange(1200, 1500)).sum()
    assert (-a[5])[0] == -1500
    assert np.stats().kernels_run == before
    with np.config(small=0):
        assert (a[3] * 2)._np is None


def test_short_writes_are_seen_by_views_and_not_by_copies():
    a = np.ones((300, 300))
    np.sync()
    view, copy, later = a[1:3], a.copy(), a * 2
    a[1] = 5
    a[2, 0] = 7
    a[2] += 1
    assert numpy.asarray(view).tolist()[0] == [5.0] * 300
    assert view[1, 0] == 8
    assert copy[1, 0] == 1
    assert later[1, 0] == 2


def test_a_loop_over_rows_stops_planning():
    a = np.zeros((600, 200))
    b = np.where(np.arange(600)[:, None] % 3 == np.arange(200), 1.0, -1.0)
    for i in range(1, 100):
        a[i] = np.maximum(a[i - 1] + b[i - 1], 0)
    before = np.stats()
    for i in range(100, 600):
        a[i] = np.maximum(a[i - 1] + b[i - 1], 0)
    after = np.stats()
    assert after.kernels_run == before.kernels_run
    expected = numpy.zeros((600, 200))
    factors = numpy.where(numpy.arange(600)[:, None] % 3 == numpy.arange(200), 1.0, -1.0)
    for i in range(1, 600):
        expected[i] = numpy.maximum(expected[i - 1] + factors[i - 1], 0)
    assert numpy.array_equal(a, expected)


def test_what_cannot_be_written_says_so():
    a = np.ones(40_000)
    np.sync()
    with pytest.raises(ValueError, match="could not broadcast"):
        a[:3] = np.ones(4)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 1


@pytest.mark.ranks(2)
def test_rows_on_ranks(rank, size):
    a = np.zeros((60, 20))
    for i in range(1, 60):
        a[i] = a[i - 1] + 1
    assert numpy.array_equal(a, numpy.broadcast_to(numpy.arange(60.0)[:, None], (60, 20)))
