"""Ufuncs with everything that may be said in a call, and their methods."""

from __future__ import annotations

import pytest

from .oracle import SMALL, arrays, check_line, lines

CALLS = """
r = np.add(a, 1)
r = np.add(a, 1, dtype='f4')
r = np.add(a, a, out=a)
r = np.add(a, 1, out=np.zeros(a.shape))
r = np.add(a, 1, np.zeros(a.shape))
r = np.add(a, 1, out=np.zeros(a.shape, 'i4'))
r = np.add(a, 1, out=np.zeros(3))
r = np.add(a, 1, out=np.zeros((2,) + a.shape))
r = np.add(a, 1, out=(np.zeros(a.shape),))
r = np.add(a, 1, where=a > 0, out=np.zeros(a.shape))
r = np.add(a, 1, where=a[:1] > 0, out=np.zeros(a.shape))
r = np.add(a, out=3)
r = np.add(a)
r = np.add(a, 1, foo=2)
r = np.add(a, 1, casting='no')
r = np.sin(a, casting='no')
r = np.add(a, 1, order='F')
r = np.add(a, 1, subok=False)
r = np.add(a, 1, signature='dd->d')
r = np.add.reduce(a)
r = np.add.reduce(a, axis=1)
r = np.add.reduce(a, axis=None)
r = np.add.reduce(a, axis=(0, 1), keepdims=True)
r = np.multiply.reduce(a, initial=2)
r = np.maximum.reduce(a, axis=1, initial=0)
r = np.maximum.reduce(a, axis=1, initial=0, where=a > 0)
r = np.add.reduce(a, where=a > 0)
r = np.subtract.reduce(a)
r = np.logical_and.reduce(a)
r = np.add.reduce(a, dtype='f4')
r = np.add.reduce(a, out=np.zeros(a.shape[1:]))
r = np.add.accumulate(a)
r = np.add.accumulate(a, axis=1)
r = np.add.reduceat(a, [0, 2])
r = np.add.outer(a, [1, 2])
r = np.add.outer(a, a)
r = np.add.at(a, [0, 0], 1)
r = np.subtract.at(a, (0, 1), 1)
r = np.modf(a)
r = np.frexp(a)
r = np.divmod(a, 2, out=(np.zeros(a.shape), np.zeros(a.shape)))
r = np.modf(a, out=(None, np.zeros(a.shape)))
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", ["f", "i"])
@pytest.mark.parametrize("line", lines(CALLS))
def test_calls(line: str, name: str, small: int) -> None:
    check_line(line, arrays[name], small=small, ulps=16)
