"""Operators between arrays, numbers and everything else."""

from __future__ import annotations

import pytest

from .oracle import SMALL, arrays, check_line, lines

OPERATORS = """
r = a + 1
r = 1 - a
r = a * 2.5
r = a / 3
r = a // 2
r = a % 3
r = a ** 2
r = a ** 0.5
r = a ** (-1)
r = a ** 3
r = 2 ** a
r = a ** a
r = a @ a
r = a @ a.T
r = -a
r = +a
r = abs(a)
r = ~a
r = a & 1
r = a | a
r = a ^ 1
r = a << 1
r = a >> 1
r = divmod(a, 2)
r = divmod(2, a)
r = a == a
r = a != 1
r = a < 0
r = a >= a.T
r = a == None
r = a == 'x'
r = a + [1] * a.shape[-1]
r = a + 'x'
r = a + None
r = a + np.arange(99)
r = a + np.float32(2)
r = np.float64(2) * a
r = a + 2 ** 70
r = a < 2 ** 70
r = a + 1j
r = a + True
r = a * a.sum()
r = a.sum() * a
r = a.max() - a.min()
r = a.max() > 0 and 1
r = a[0] + a[1:]
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", ["f", "i", "c", "b", "u"])
@pytest.mark.parametrize("line", lines(OPERATORS))
def test_operators(line: str, name: str, small: int) -> None:
    check_line(line, arrays[name], small=small, ulps=16)
