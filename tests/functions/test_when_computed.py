"""What a program sees of a value, and when it is computed."""

from __future__ import annotations

import numpy
import pytest

import atoll as np

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


@pytest.mark.parametrize("index", [numpy.array(1), np.array(1), np.array(-2, "i4")])
def test_an_array_without_axes_is_an_integer_that_copies(index) -> None:
    """Programs that keep the number of a time step in such an array index with it: nothing is computed for that."""
    start = numpy.arange(60.0).reshape(4, 5, 3)
    right = start[1:, :, 1] + 1
    with np.config(small=0):
        a = np.array(start) * 1.0
        b = a[1:, :, index]
        c = b + 1
        assert a._cell.node.value is None
        a[..., index] = 7.0
        b[0] = 5.0
        assert (numpy.asarray(c) == right).all()
        assert (numpy.asarray(a)[..., 1] == 7).all()
        assert (numpy.asarray(b)[1:] == start[2:, :, 1]).all()
        assert (numpy.asarray(b)[0] == 5).all()
