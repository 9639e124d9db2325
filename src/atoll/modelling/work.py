"""What functions of NumPy's cost, by their names: floating-point operations of products and factorisations, comparisons of sorts.

These are the counts of the textbook algorithms. Everything else is one pass over its operands and its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]

WEIGHTS = {
    **dict.fromkeys(("divide", "sqrt", "floor_divide", "remainder", "fmod", "reciprocal"), 4),
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "cbrt"), 15),
    **dict.fromkeys(("tan", "tanh", "sinh", "cosh", "arctan", "arcsin", "arccos", "hypot", "arctan2", "logaddexp"), 30),
    **dict.fromkeys(("power", "float_power", "arcsinh", "arccosh", "arctanh"), 40),
}  # fmt: skip
"""What an operation on an element counts for, in additions of double precision."""

CUBES = {"solve": 2 / 3, "det": 2 / 3, "slogdet": 2 / 3, "cholesky": 1 / 3, "inv": 2, "lstsq": 4, "qr": 8 / 3, "pinv": 20,
    "svd": 20, "eigh": 9, "eigvalsh": 4 / 3, "eig": 25, "eigvals": 10}  # fmt: skip
"""What the functions of ``linalg`` count for, in cubes of the length of a matrix (in rows by squared columns of a tall one)."""

PRODUCTS = frozenset(("matmul", "dot", "inner", "vdot", "tensordot"))
TRANSFORMS = frozenset(
    [
        f"{way}{kind}fft{form}"
        for way in ("", "i")
        for kind in ("", "r", "h")
        for form in ("", "2", "n")
    ]
)


class Work(NamedTuple):
    """What is computed without messages."""

    kind: str
    """``kernel``, ``numpy``, ``copy``, ``product`` or ``sort``."""
    nbytes: int
    """What is read and written in memory."""
    operations: float
    """In additions of doubles, elements loaded and stored among them; of a product in its own, of a sort in comparisons."""
    site: str
    """The line of the program."""
    cached: int = 0
    """What is read and written once more while it is in the cache."""
    stencil: bool = False
    """Whether several rows of an array are read at a time."""


def weight(name: str, dtype: str) -> float:
    """What an operation of a kernel counts for, on elements of a dtype such as ``f8``."""
    item = 1 if dtype == "b1" else int(dtype[1:]) / 8
    return WEIGHTS.get(name, 1) * max(item, 0.5)


def named(
    name: str, given: Sequence[Shape], result: Shape, nbytes: int, site: str, part: float = 1.0
) -> Work:
    """The work of a function, of which a rank does a ``part``. ``nbytes`` are those of this rank's arrays."""
    sizes = [prod(shape) for shape in given] or [0]
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    shape = given[largest] if given else ()
    most = max(sizes[largest], prod(result)) * part
    longest = max(shape, default=1)
    if name in PRODUCTS and len(given) == 2:
        summed = given[0][-1] if given[0] else 1
        if name == "tensordot":
            summed = int((sizes[0] * sizes[1] / max(prod(result), 1)) ** 0.5)
        return Work("product", nbytes, 2 * prod(result) * summed * part, site)
    if name in CUBES and len(shape) > 1:
        flops = CUBES[name] * sizes[largest] * min(shape[-2:])
        return Work("product", nbytes, flops * part, site)
    if name in TRANSFORMS:
        together = sizes[largest] if name[-1] in "2n" else longest
        return Work("numpy", nbytes, 5 * most * log2(max(together, 2)), site)
    if "sort" in name or "partition" in name or name in ("unique", "median"):
        return Work("sort", nbytes, most * log2(max(longest, 2)), site)
    return Work("numpy", nbytes, most * WEIGHTS.get(name, 1), site)


def of_call(name: str, arrays: Sequence[Any], result: Any, site: str) -> Work:
    """The work of a call of NumPy's on arrays in memory."""
    outputs = result if isinstance(result, tuple) else (result,)
    arrived = [each for each in outputs if isinstance(each, np.ndarray)]
    shape = arrived[0].shape if arrived else ()
    nbytes = sum([each.nbytes for each in (*arrays, *arrived)])
    return named(name, [array.shape for array in arrays], shape, nbytes, site)
