"""What a program sees of a value, and when it is computed."""

from __future__ import annotations

import pytest

from .oracle import SMALL, arrays, check_line, lines

LOOKS = """
r = list(a)
r = a.tolist()
r = a.item(1)
r = a.item()
r = len(a)
r = 3 in a
r = bool(a)
r = float(a)
r = float(a[:1, :1].sum())
r = repr(a)
r = str(a)
r = f'{a.sum():.3f}'
r = a.tobytes()
r = a.dtype
r = a.nbytes
r = a.itemsize
r = (a.flags.c_contiguous, a.flags.f_contiguous, a.flags.writeable)
r = a.strides
r = hash(a)
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", ["f", "c"])
@pytest.mark.parametrize("line", lines(LOOKS))
def test_looks(line: str, name: str, small: int) -> None:
    check_line(line, arrays[name], small=small, ulps=0)
