"""Numbers that are still to be computed: NumPy scalars to everyone who looks."""

from __future__ import annotations

import pytest

from .oracle import SMALL, arrays, check_line, lines

PROGRAMS = """
s = a[0].sum(); a[0] = 0; r = s
import pickle; r = pickle.loads(pickle.dumps(a.sum()))
r = isinstance(a.sum(), float)
r = a.sum().dtype
x = a.sum(); x += 1; r = x
x = a.max(); a[0] = 99; r = x
import math; r = math.sqrt(abs(a.sum()))
r = {a.sum(): 1} == {a.sum(): 1}
r = a.sum().item()
r = round(a.sum(), 2)
r = a.sum() == a.sum()
r = np.asarray(a.sum())
r = np.sin(a.sum())
r = a.sum()[()]
r = max(a.sum(), 0)
r = (a.sum().shape, a.sum().ndim, a.sum().size)
r = f'{a.mean():.2f} {a.mean()}'
r = '%.2f' % a.mean()
r = range(10)[(a > 0).sum() % 10]
r = a.sum() in [1, 2]
r = int(a.sum())
r = np.isscalar(a.sum())
r = a.sum().tolist()
r = a.sum().T
r = np.float64(a.sum())
r = np.array([a.sum(), a.max()])
r = a.any() and (not a.all())
r = a[0].sum() + a[1]
r = np.zeros(int((a > 0).sum()))
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", ["i", "f", "c"])
@pytest.mark.parametrize("line", lines(PROGRAMS))
def test_programs(line: str, name: str, small: int) -> None:
    check_line(line, arrays[name], small=small, ulps=16)
