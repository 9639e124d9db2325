"""Views of other shapes: where NumPy has a view, where a copy."""

from __future__ import annotations

import numpy as np
import pytest

import atoll

from .oracle import SMALL, arrays, check_line, lines

VIEWS = """
r = a.reshape(-1)
r = a.reshape(a.size, 1)
r = a.reshape((-1,), order='F')
r = np.reshape(a, (2, -1))
r = a.reshape(3, -1)
r = a.reshape(-1, -1)
r = a.T
r = a.transpose(1, 0)
r = a.transpose((0, 1))
r = np.transpose(a, (1, 0, 2))
r = a.swapaxes(0, 1)
r = np.moveaxis(a, 0, -1)
r = np.rollaxis(a, 1)
r = np.expand_dims(a, 0)
r = np.expand_dims(a, (0, 2))
r = np.squeeze(a[None], 0)
r = np.squeeze(a, 0)
r = np.broadcast_to(a, (2,) + a.shape)
r = np.broadcast_to(a, (7,))
r = np.broadcast_arrays(a, a[:1])
r = a.diagonal()
r = np.diagonal(a, 1)
r = a.real
r = a.imag
r = a.view('u1')
r = a.view('i8')
r = a.view('i4')
r = np.flip(a)
r = np.flip(m=a, axis=0)
r = np.rot90(m=a)
r = np.broadcast_to(array=a, shape=(2, *a.shape))
r = np.squeeze(a=a)
r = np.flipud(m=a)
r = np.fliplr()
r = np.matrix_transpose(x=a)
r = np.linalg.diagonal(a)
r = np.linalg.diagonal(np.arange(24).reshape(2, 3, 4), offset=1)
r = np.linalg.diagonal(a[0])
r = np.linalg.diagonal(a, 1)
r = np.flip(a, 0)
r = np.flip(a, (0, 1))
r = np.rot90(a, k=3)
r = a.flatten()
r = a.flatten('F')
r = a.ravel('F')
r = a.ravel('K')
r = a.ravel('A')
r = a.copy('F')
r = a.T.copy()
r = a.T.copy('K')
r = a[::2, ::-1].copy('A')
r = a.mT
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", ["f", "i", "t", "fortran"])
@pytest.mark.parametrize("line", lines(VIEWS))
def test_views(line: str, name: str, small: int) -> None:
    check_line(line, arrays[name], small=small, ulps=0)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("count", [10**30, -(10**30)])
@pytest.mark.parametrize(
    "call",
    [
        "array_split(a, N)", "split(a, N)", "hsplit(a, N)", "tile(a, N)", "repeat(a, N)", "roll(a, N)",
        "pad(a, N)", "rot90(m, N)", "vander(a[:3], N)", "resize(a, N)", "linspace(0, 1, N)",
        "expand_dims(m, N)", "eye(3, 3, N)", "tril(m, N)", "partition(a, N)", "delete(a, N)",
    ],
)  # fmt: skip
def test_counts_that_nothing_can_have_so_many_of_end_at_once(call: str, count: int) -> None:
    def answer(module):
        a, m = module.arange(60000.0), module.arange(40000.0).reshape(200, 200)
        try:
            return eval(f"np.{call}", {"np": module, "a": a, "m": m, "N": count}).shape
        except (ValueError, OverflowError, MemoryError, IndexError, TypeError) as error:
            return error

    theirs, ours = answer(np), answer(atoll)
    assert isinstance(ours, Exception) == isinstance(theirs, Exception), (theirs, ours)
    if not isinstance(theirs, Exception):
        assert ours == theirs
