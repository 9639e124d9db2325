"""Elements chosen by index, by condition, by order."""

from __future__ import annotations

import pytest

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
