"""Numba: compiled functions that are called with arrays."""

import numba
import numpy

from . import fails


@numba.njit
def _total(a):
    s = 0.0
    for v in a:
        s += v
    return s


@numba.njit
def _half_total(a):
    s = 0 * a.sum()
    for i in range(a.size):
        s += a[i] / 2
    return s


@numba.njit
def _doubled_in_place(a):
    for i in range(a.size):
        a[i] *= 2


@numba.vectorize
def _scaled(a, b):
    return 2 * a + b


@numba.vectorize(["float64(float64)"])
def _cubed(a):
    return a**3


@numba.guvectorize(["(float64[:], float64[:])"], "(n)->()")
def _largest(a, out):
    out[0] = a.max()


@numba.njit(parallel=False)
def _laplace(g):
    out = g.copy()
    for i in range(1, g.shape[0] - 1):
        for j in range(1, g.shape[1] - 1):
            out[i, j] = (g[i - 1, j] + g[i + 1, j] + g[i, j - 1] + g[i, j + 1]) / 4
    return out


def loops_that_read(np, x, g):
    return _half_total(x), _half_total(x[1::2]), np.asarray(_laplace(g))


@fails("readonly")
def loops_that_write_into_an_array(np, x):
    a = x + 1
    _doubled_in_place(a)
    return a


def loops_that_write(np, x):
    a = x + 1
    _doubled_in_place(a if type(a) is numpy.ndarray else a.local)
    return a


def ufuncs(np, x, y, k):
    return (
        _scaled(x, y),
        _cubed(x),
        _scaled(x, 2.0),
        _cubed(k),
        _scaled.reduce(numpy.asarray(x)[:3]),
    )


def ufuncs_with_outputs(np, x):
    out = np.zeros(len(x))
    _cubed(x, out=out)
    return out


def generalised_ufuncs(np, g):
    return _largest(g)


def scalars(np, x, k):
    @numba.njit
    def f(a, n):
        return a * n

    return f(x[0], k[1]), f(x.sum(), 2), f(float(x[1]), int(k[0]))
