"""Views that take memory for elements of another size, or begin within elements, read and written on ranks."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import atoll

VIEWS = [
    "B.view('i1')[1:-7].view('i8')",  # begins at an odd byte
    "B.view('i4')[1:-1].view('f8')",
    "B.view('i1')[1:-7].view('i2')",
    "B.view('i4')[1::2]",
    "B.view('u1').reshape(-1, 8)[:, 3:5].view('i2')[:, 0]",  # a part of each element
    "(B[:40].reshape(8, 5) * 1)[1].view('u1').reshape(-1, 8)[:, 3:5]",  # of elements that one rank has
    "(B[:40].reshape(8, 5) * 1)[1, 1:2].view('i1')[1:7].view('i2')",  # inside of one element
    "B[1:].view('c16').real",
    "B[::-1].view('i8')",
    "B[:24].reshape(4, 6).view('i4')[:, 1:3].view('i8')",
    "C.imag.view('i8')",
    "C.view('f8')[1:-1].view('c16')",
    "C[:20].reshape(4, 5).T.imag",
    "C[::2].real",
    "(B > 3).view('i1')",
    "B[:25].reshape(5, 5).diagonal().view('i8')",
    "np.lib.stride_tricks.sliding_window_view(B, 3)",
    "np.lib.stride_tricks.as_strided(B, (4, 3), (8, 16), writeable=False)",
]
LINES = [
    "r = v.copy()", "r = v[1]", "r = v[-1].sum()", "r = v[..., ::2] + 1", "r = v.ravel()[:3]", "r = v[[0, 1]]", "r = v.tobytes()",
    "v[...] = np.arange(v.size).reshape(v.shape)", "v[1:3] = 5", "v[1] = 2", "v[[0, 2]] = 7", "v += 1", "v[v == 0] = 9",
    "v.fill(4)", "v.flat[2] = 6", "v[1:] = v[:-1]", "np.add(v, 1, out=v)", "np.put(v, [1], [3])",
]  # fmt: skip


def done(np: Any, view: str, line: str) -> Any:
    """The result of a line, and all that it may have changed."""
    names = {"np": np, "B": np.arange(41.0) * 1.5, "C": np.arange(40.0) * (1 + 2j), "r": 0}
    names["v"] = eval(view, names)
    try:
        exec(line, names)
    except ValueError as error:
        return "read-only" in str(error)
    found = [numpy.asarray(names[name]) for name in "rvBC"]
    return [(one.shape, one.dtype, one.tobytes()) for one in found]


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("view", VIEWS)
def test_as_in_numpy(view):
    wrong = [line for line in LINES if done(atoll, view, line) != done(numpy, view, line)]
    assert wrong == []
