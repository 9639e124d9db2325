"""Short views of a large array whose values are there: NumPy reads and writes them at once, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import atoll as np

N = 300
INDEX = [1, 1, 3]


def large() -> Any:
    """A large array whose values are there, and which another array shares."""
    made = np.zeros((N, N))
    made[...] = numpy.arange(N * N).reshape(N, N) % 7
    np.sync()
    return made


def reshaped(n: Any, a: Any) -> Any:
    view = n.reshape(a[3], (20, -1))
    view[0] = 99
    return view


def flipped(n: Any, a: Any) -> Any:
    view = n.flip(a[3])
    view[0] = 99
    return view


def parted(n: Any, a: Any) -> Any:
    view = n.split(a[3], 4)[1]
    view[0] = 99
    return view


def broadcast(n: Any, a: Any) -> Any:
    view = n.broadcast_to(a[3], (2, N))
    a[3] = 4
    return view


def copied(n: Any, a: Any) -> Any:
    row = a[3]
    row += 1
    copy = row.copy()
    row[2:5] *= 3
    copy[0] = -5
    return copy


def read_before_written(n: Any, a: Any) -> Any:
    before = a * 2
    a[3, 3] = 55
    a[4, n.array([1, 2])] = 7
    a[5] = n.arange(N)
    a[2:4, 2:4] = -1
    return before


def shared(n: Any, a: Any) -> Any:
    before = a.copy()
    a[3, 3] = 55
    a[n.array([1, 2])] = 8
    a[-1] = n.ones(N)
    return before


def rows(n: Any, a: Any) -> Any:
    return [row.sum() for row in a] + [a[-1].max(), a[-N].min()]


def shuffled(n: Any, a: Any) -> Any:
    generator = n.random.default_rng(1)
    generator.shuffle(a[3])
    return n.stack([generator.permutation(a[4]), generator.choice(a[5], N)])


STEPS: list[Callable[[Any, Any], Any]] = [
    reshaped, flipped, parted, broadcast, copied, read_before_written, shared, rows, shuffled,
    lambda n, a: n.add.at(a[3], n.array(INDEX), 1.0),
    lambda n, a: n.add.at(a[3], INDEX, 1.0),
    lambda n, a: n.put(a[3], INDEX, [5, 6, 7]),
    lambda n, a: n.place(a[3], a[3] > 2, [9.0]),
    lambda n, a: n.putmask(a[3], a[3] > 2, a[2]),
    lambda n, a: n.copyto(a[3], a[2]),
    lambda n, a: n.fill_diagonal(a[:30, :30], -1),
    lambda n, a: a[3].sort(),
    lambda n, a: a[3].fill(3),
    lambda n, a: n.add(a[3], a[4], a[5]),
    lambda n, a: n.add(a[3], a[4], out=a[5]),
    lambda n, a: n.cumsum(a[3], 0, None, a[5]),
    lambda n, a: n.sum(a[:3], axis=0, out=a[5]),
    lambda n, a: n.clip(a[3], 1, 2, out=a[5]),
    lambda n, a: n.nan_to_num(a[3], False),
    lambda n, a: n.random.default_rng(1).random(out=a[3]),
    lambda n, a: n.modf(a[3], a[4], a[5]),
    lambda n, a: n.matmul(a[:3, :3], a[3:6, 3:6], a[8:11, 8:11]),
    lambda n, a: a[:3, :3] @ a[3:6, 3:6],
    lambda n, a: n.concatenate([a[3], n.ones(3), a[4][::-1]]),
    lambda n, a: n.roll(a[3], 5),
    lambda n, a: a[3][n.array([True, False] * (N // 2))],
    lambda n, a: a[n.array([1, 2]), 1:5],
    lambda n, a: a[1:5, n.array([1, 2])],
    lambda n, a: a[1, n.array([[1, 2], [3, 4]])],
    lambda n, a: a.__setitem__((slice(1, 4), n.array([1, 2])), n.ones((3, 2))),
    lambda n, a: a.__setitem__((n.array([1, 2]), n.array([1, 2])), 5),
]  # fmt: skip

WRONG: list[Callable[[Any, Any], Any]] = [
    lambda n, a: a[N, 3],
    lambda n, a: a[3, -N - 1],
    lambda n, a: a[N],
    lambda n, a: a.__setitem__((N, 3), 1),
    lambda n, a: a.__setitem__(3, n.ones(3)),
    lambda n, a: a[n.array([N]), 3],
    lambda n, a: a.__setitem__((n.array([1, N]), 3), 1),
    lambda n, a: a.__setitem__((n.array([1, 2]), n.array([3, 3])), n.zeros(3)),
    lambda n, a: a[n.array([True] * 40)],
    lambda n, a: a[n.array([0.5])],
]


def outcome(step: Callable[[Any, Any], Any], n: Any, a: Any) -> Any:
    """What a step returns, and what the array is after it."""
    found = step(n, a)
    parts = found if isinstance(found, (list, tuple)) else [found]
    return [None if part is None else numpy.array(part) for part in parts], numpy.array(a)


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_a_step_does_what_numpy_does_and_only_to_its_array(number: int) -> None:
    first = large()
    a = first.copy()
    np.sync()
    before = numpy.array(first)
    found, after = outcome(STEPS[number], np, a)
    expected, wanted = outcome(STEPS[number], numpy, before.copy())
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            numpy.testing.assert_array_equal(one, other)
    numpy.testing.assert_array_equal(after, wanted)
    numpy.testing.assert_array_equal(numpy.array(first), before)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_refused_in_numpys_words(number: int) -> None:
    a = large()
    before = numpy.array(a.copy())
    with pytest.raises((IndexError, ValueError)) as ours:
        WRONG[number](np, a)
    with pytest.raises(type(ours.value)) as theirs:
        WRONG[number](numpy, before.copy())
    assert str(ours.value) == str(theirs.value)
    numpy.testing.assert_array_equal(numpy.array(a), before)


def test_no_plan_is_made_for_short_views_of_what_is_there() -> None:
    a = large()
    made = np.stats().plans_made
    used = np.stats().plans_reused
    for k in range(1, 20):
        a[k] = np.roll(a[k - 1], 1) + np.where(a[k, ::-1] > 3, a[k], 0.0)
        a[k, n_of(k)] += a[k, 1]
        a[k, :8][np.array([1, 2])] = np.concatenate([a[k, :1], a[k - 1, :1]])
    assert np.stats().plans_made == made
    assert np.stats().plans_reused == used


def n_of(k: int) -> int:
    """A column for a row."""
    return (7 * k) % N


def test_a_number_of_numpys_and_a_small_array_go_to_numpy() -> None:
    a = np.linspace(0, 1, 50)
    p = numpy.float64(0.25)
    nodes = (p * a, p + a, p - a, p < a, numpy.int64(2) * a)
    assert all(type(one) is np.ndarray and one._np is not None for one in nodes)
    numpy.testing.assert_array_equal(nodes[2], 0.25 - numpy.linspace(0, 1, 50))


@pytest.mark.parametrize("number", [numpy.float64(0.5), numpy.float32(3), numpy.int64(-2), numpy.complex128(1j)])  # fmt: skip
def test_numbers_of_numpys_are_remembered_as_they_are(number: Any) -> None:
    for dtype in ("f4", "f8", "i4", "i8"):
        plain = numpy.arange(40_000, dtype=dtype)
        a = np.arange(40_000, dtype=dtype)
        for _ in range(3):
            for found, expected in ((a * number, plain * number), (number - a, number - plain)):
                assert found.dtype == expected.dtype
                numpy.testing.assert_array_equal(numpy.array(found), expected)


def test_rows_of_small_arrays_are_walked_along() -> None:
    a = np.arange(12.0).reshape(3, 4)
    kinds = [type(row) for row in a]
    assert kinds == [np.ndarray] * 3
    for row in a:
        row[0] = -1
    assert a[:, 0].tolist() == [-1, -1, -1]
    assert [type(x) for x in a[0]] == [numpy.float64] * 4
    with pytest.raises(TypeError, match="0-d"):
        iter(np.array(3.0))


def test_numbers_of_numpys_meet_ufuncs_of_two_results_and_keys_of_several_parts() -> None:
    a = np.arange(1.0, 13.0).reshape(3, 4)
    quotient, rest = divmod(numpy.float64(7.0), a)
    assert type(quotient) is type(rest) is np.ndarray
    numpy.testing.assert_array_equal(rest, 7.0 % numpy.arange(1.0, 13.0).reshape(3, 4))
    assert type(numpy.float64(2) * a) is np.ndarray
    row = a[1, 1:]
    a[0, :2] = row[:2]
    a[None, 2, ..., 0] = -1
    row[0] = 99
    assert a.tolist() == [[6, 7, 3, 4], [5, 99, 7, 8], [-1, 10, 11, 12]]
    objects = np.array([None, None], dtype=object)
    objects[0,] = a
    assert objects[0] is a
