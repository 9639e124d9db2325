"""Calls whose arrays are small go to NumPy by a short way: what they return, share, and leave to others."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.lazy.fallback import GENERAL, at_hand


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
    assert at_hand(numpy.sum, (small, 0), {}) == 3
    for args in (
        (large,),
        ([small, large],),
        (small, lambda x: x),
        (small, [1] * (policy.limits.numbers + 1)),
        (3,),
    ):
        assert at_hand(numpy.sum, args, {}) is GENERAL
    assert at_hand(numpy.sum, (small,), {"out": large}) is GENERAL
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


def test_einsum_of_what_may_not_be_written():
    rng = np.random.default_rng(1)
    x, w = rng.random((4, 3, 66, 66)), rng.random((5, 3, 3, 3))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    found = np.einsum("kcij,nchwij->nkhw", w, windows)
    assert numpy.allclose(
        found[0, 0, 0, 0], (numpy.asarray(x)[0, :, :3, :3] * numpy.asarray(w)[0]).sum()
    )


def test_modules_of_numpy_take_arrays_of_ours():
    table = np.zeros(3, dtype=[("x", "f8"), ("n", "U2")])
    table["n"] = ["a", "b", "c"]
    assert numpy.rec.array(np.rec.array(table)).n[1] == "b"
    upper = np.char.upper(table["n"])
    assert isinstance(upper, np.ndarray)
    assert upper.tolist() == ["A", "B", "C"]


def test_no_warning_for_what_pads_with_the_edge(recwarn):
    padded = np.pad(np.ones((300, 200)), 1, mode="edge")
    assert padded.sum() == 302 * 202
    assert not list(recwarn)


def test_walking_along_flat_sees_what_is_written():
    a = np.zeros(40_000)
    seen = []
    for k, value in enumerate(a.flat):
        if k == 3:
            break
        seen.append(float(value))
        a[k + 1] = k + 10
    assert seen == [0, 10, 11]


def test_generators_call_themselves_without_us_between():
    ours, theirs = np.random.default_rng(4), numpy.random.default_rng(4)
    for _ in range(2):
        a = ours.multivariate_normal(np.zeros(2), np.eye(2))
        b = theirs.multivariate_normal(numpy.zeros(2), numpy.eye(2))
        assert numpy.array_equal(a, b)
    assert type(ours.spawn(1)[0]) is type(ours)
