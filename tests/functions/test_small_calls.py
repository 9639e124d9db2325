"""Calls whose arrays are small go to NumPy by a short way: what they return, share, and leave to others."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.recording.small import GENERAL, LONGEST, at_once


def test_results_are_arrays_of_ours_and_views_stay_views():
    a = np.arange(12.0).reshape(3, 4)
    parts = np.split(np.concatenate((a, a)), 2)
    assert [type(part) for part in parts] == [np.ndarray, np.ndarray]
    found = np.linalg.eigh(a[:, :3] + a[:, :3].T)
    assert type(found.eigenvalues) is np.ndarray
    row = np.squeeze(a[:1])
    row[0] = 50
    assert a[0, 0] == 50
    assert np.atleast_1d(row) is row


def test_outputs_are_the_arrays_that_were_given():
    a, b = np.ones(4), np.zeros(4)
    assert np.add(a, a, out=b) is b
    assert np.multiply(a, 3, b) is b
    assert np.cumsum(a, out=b) is b
    assert b.tolist() == [1, 2, 3, 4]
    np.copyto(b, a)
    np.add.at(b, np.array([0, 0]), 1)
    assert b.tolist() == [3, 1, 1, 1]


def test_what_is_large_takes_the_general_way():
    small, large = np.ones(3), np.ones(40_000)
    assert at_once(numpy.sum, (small, 0), {}) == 3
    for args in (
        (large,),
        ([small, large],),
        (small, lambda x: x),
        ([small] * (LONGEST + 1),),
        (3,),
    ):
        assert at_once(numpy.sum, args, {}) is GENERAL
    assert at_once(numpy.sum, (small,), {"out": large}) is GENERAL
    assert large._np is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.outer(np.ones(300), np.ones(300)),
        lambda: np.meshgrid(np.ones(300), np.ones(300))[0],
        lambda: np.zeros((300, 300)),
        lambda: np.arange(90_000),
        lambda: np.linspace(0, 1, 90_000),
    ],
)
def test_what_grows_large_is_recorded(make):
    assert make()._np is None


def test_keys_of_small_arrays():
    a = np.arange(12.0).reshape(3, 4)
    rows, mask = np.array([2, 0]), np.arange(4) > 1
    assert a[rows].tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]]
    assert a[rows, 1].tolist() == [9, 1]
    assert a[:, mask].shape == (3, 2)
    assert a[np.int64(1), ...].base is not None
    assert a[None].shape == (1, 3, 4)
    a[rows, np.array([0, 1])] = rows
    a[1, mask] = -1
    assert a.tolist() == [[0, 0, 2, 3], [4, 5, -1, -1], [2, 9, 10, 11]]
    with pytest.raises(IndexError):
        a[np.array([5])]


def test_samples_are_arrays_of_ours():
    ours, theirs = np.random.default_rng(4), numpy.random.default_rng(4)
    for name, args in (
        ("normal", (0, 1, 3)),
        ("random", (2,)),
        ("permutation", (5,)),
        ("integers", (9,)),
    ):
        made, expected = getattr(ours, name)(*args), getattr(theirs, name)(*args)
        assert numpy.array_equal(made, expected)
        assert isinstance(made, np.ndarray) == isinstance(expected, numpy.ndarray)
