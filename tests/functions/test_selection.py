"""Elements chosen by index, by condition, by order."""

from __future__ import annotations

import numpy
import pytest

import atoll

from .oracle import SMALL, arrays, check_line, lines

SELECTIONS = """
r = np.where(a > 0, a, 0)
r = np.where(a > 0, 1, 2)
r = np.where(a > 0)
r = np.where(a > 0, a, a[0])
r = np.where(True, a, 1.5)
r = np.where(a, a.astype('f4'), 2)
r = np.select([a > 1, a < 0], [a, -a], 7)
r = np.select([a > 1], [1])
r = np.clip(a, -1, 1)
r = np.clip(a, None, 1)
r = np.clip(a, 0, None)
r = a.clip(min=0)
r = np.clip(a, a - 1, 2)
r = a.clip()
r = np.round(a, 2)
r = a.round(-1)
r = np.take(a, [1, 0])
r = a.take([1, 0], axis=1)
r = np.compress([True, False], a, axis=0)
r = np.extract(a > 0, a)
r = np.choose(a > 0, [a, -a])
r = np.piecewise(a, [a > 0], [lambda x: x * 2, -1])
r = np.searchsorted(np.sort(a.ravel()), [0.0, 1])
r = a[a > 0]
r = a[[1, 0]]
r = a[np.array([1, 0])]
r = a[np.array([1, 0]), np.array([1, 1])]
r = a[:, [0, 1]]
r = a[..., None]
r = a[1]
r = a[1, 1]
r = a[-1:0:-1]
r = a[99]
r = a[0, 0, 0, 0]
r = a['x']
r = a[1.0]
r = a[None, 1]
r = a[True]
r = a[np.array(1)]
r = a[()]
r = a[...]
r = a[np.int64(1)]
r = a[0:0]
r = a[slice(None), 1]
r = a[[]]
r = a[a.sum()]
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", ["f", "i"])
@pytest.mark.parametrize("line", lines(SELECTIONS))
def test_selections(line: str, name: str, small: int) -> None:
    check_line(line, arrays[name], small=small, ulps=4)


def _with_integers_in_arrays(np):
    a = np.arange(7 * 8 * 9.0).reshape(7, 8, 9).copy()
    found = []
    for k in (
        np.asarray(numpy.int64(3)),
        numpy.array(-2),
        np.asarray(numpy.uint8(1)),
        a[:, 0, 0].argmin(),
    ):
        keys = [
            k,
            (k,),
            (..., k),
            (slice(1, -1), slice(None), k),
            (k, k, k),
            (..., k, k, k),
            (None, k),
            (k, ...),
            (k, [1, 2]),
        ]
        for key in keys:
            part = a[key]
            a[key] = part + 1
            a[key] *= 2
            kind = "array" if isinstance(part, np.ndarray) else type(part).__name__
            found.append((kind, part.shape, numpy.array(part)))
        row = a[k]
        row[...] = -1
        found.append(("array", (), numpy.array(a)))
    for key in ((0, numpy.array(9)), (0, 0, np.asarray(-10))):
        with pytest.raises(IndexError) as raised:
            a[key] = 1
        found.append((str(raised.value), (), numpy.array(a)))
    return found


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.simulated(2)
@pytest.mark.parametrize("small", [0, 100])
def test_an_array_without_axes_is_an_integer_of_a_key(small):
    with atoll.config(small=small, everywhere=0):
        ours = _with_integers_in_arrays(atoll)
    for mine, theirs in zip(ours, _with_integers_in_arrays(numpy), strict=True):
        assert mine[:2] == theirs[:2]
        numpy.testing.assert_array_equal(mine[2], theirs[2])


@pytest.mark.ranks(2)
def test_what_it_selects_moves_nothing():
    with atoll.config(small=0, everywhere=0):
        a = atoll.arange(600.0).reshape(20, 3, 10).copy()
        k = atoll.asarray(numpy.int64(3))
        atoll.sync()
        before = atoll.stats().bytes_moved
        b = a[..., k] * 2
        a[:, 1, k] = b[:, 0]
        atoll.sync()
        assert atoll.stats().bytes_moved == before
