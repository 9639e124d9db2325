"""Functions that Numba compiles, called with arrays: they read what ``numpy.asarray(a)`` is."""

from __future__ import annotations

import subprocess
import sys

import numpy
import pytest

import atoll as np

numba = pytest.importorskip("numba")

ARRAYS = {
    "vector": lambda np: np.arange(10.0),
    "rows": lambda np: np.ones((7, 5)) * np.arange(5),
    "columns": lambda np: (np.ones((7, 5)) * np.arange(5)).T,
    "strided": lambda np: np.arange(40)[3::4],
    "numbers of each kind": lambda np: np.arange(12, dtype="f4") + 1j,
    "nothing": lambda np: np.zeros((0, 3)),
}


@numba.njit
def _facts(a):
    total = 0.0 * abs(a.sum())
    for v in a.flat:
        total += abs(v)
    return a.size, a.shape, a.ndim, total, (a * 2).sum()


@numba.njit
def _doubled(a):
    return a * 2


@pytest.mark.ranks(1, 2)
@pytest.mark.parametrize("small", [0, 1 << 20])
@pytest.mark.parametrize("name", ARRAYS)
def test_compiled_functions_read_arrays(name, small, size):
    with np.config(small=small, everywhere=small):
        ours, theirs = ARRAYS[name](np), ARRAYS[name](numpy)
        assert _facts(ours) == _facts(theirs)
        assert (_doubled(ours) == theirs * 2).all()
        assert float(np.ones((7, 5), layout="bn").sum()) == 35


def test_compiled_functions_do_not_write_into_arrays():
    @numba.njit
    def write(a):
        a[0] = 1

    with pytest.raises(numba.TypingError, match="readonly"):
        write(np.zeros(3))
    write(block := np.zeros(3).local)
    assert block[0] == 1


def test_errors_of_the_conversion_come_through():
    """Not those of Numba, which would be a crash: nothing is there to be read."""
    with pytest.raises(np.errors.DeferredValueError):
        _facts(np.dataflow.make_placeholder("x", (3,)))


@pytest.mark.parametrize("order", ["numba, atoll", "atoll, numba"])
def test_the_order_of_imports_does_not_matter(order):
    program = f"import {order}; print(numba.njit(lambda a: a.size)(atoll.ones(3)))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.stdout == "3\n", told.stderr
