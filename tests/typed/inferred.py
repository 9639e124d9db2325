"""What the checkers infer: the types of common expressions."""

from typing import Any, assert_type

import numpy
import numpy.typing

import atoll as np
import atoll.linalg as la
import atoll.typing as npt

Floats = npt.NDArray[np.float64]

x = np.linspace(0, 1, 5)
m = np.zeros((2, 3))
s = np.eye(2)
theirs = numpy.ones(5)

assert_type(x, Floats)
assert_type(m, np.ndarray[tuple[int, int], np.dtype[np.float64]])
assert_type(np.ones(3, np.int8), np.ndarray[tuple[int], np.dtype[np.int8]])
assert_type(np.zeros((2, 3), layout=None), np.ndarray[tuple[int, int], np.dtype[np.float64]])
assert_type(np.zeros_like(x), Floats)
assert_type(np.zeros_like(x, layout="b"), Floats)
assert_type(np.random.default_rng(1).normal(size=(3, 2), layout=["b", None]), Floats)
assert_type(m.redistribute("bn"), np.ndarray[tuple[int, int], np.dtype[np.float64]])
assert_type(x + 1, Floats)
assert_type(1 - x, Floats)
assert_type(x * theirs, Floats)
assert_type(np.float64(2) * x, Floats)
assert_type(-x, Floats)
assert_type(x > 0, npt.NDArray[np.bool])
assert_type(x[1:], Floats)
assert_type(x[x > 0.5], Floats)
assert_type(x.copy(), Floats)
assert_type(x.T, Floats)
assert_type(x.ravel(), np.ndarray[tuple[int], np.dtype[np.float64]])
assert_type(m.reshape(3, 2), np.ndarray[tuple[int, int], np.dtype[np.float64]])
assert_type(x.astype(np.complex128), npt.NDArray[np.complex128])
assert_type(m.flat[:2], np.ndarray[Any, np.dtype[np.float64]])
assert_type(next(m.flat), np.float64)
assert_type(np.sin(x), npt.NDArray[Any])
assert_type(np.sum(x), np.float64)
assert_type(np.concatenate((x, x)), Floats)
assert_type(np.sort(x), Floats)
assert_type(la.inv(s), npt.NDArray[np.floating])
assert_type(np.fft.rfft(x), npt.NDArray[np.complex128])
assert_type(np.random.default_rng(1), np.random.Generator)
assert_type(np.random.default_rng(1).random(3), Floats)
assert_type(np.random.rand(3), Floats)
assert_type(x.local, numpy.typing.NDArray[np.float64])
assert_type(x.layout, np.Layout)
assert_type(np.world.rank, int)
assert_type(np.config.small, int)
assert_type(np.config.threads, int)
assert_type(np.float64(1), numpy.float64)

for_numpy: numpy.typing.NDArray[np.float64] = x
like: npt.ArrayLike = x
