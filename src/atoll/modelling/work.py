"""What functions of NumPy's cost, by their names: floating-point operations of products and factorisations, comparisons of sorts.

These are the counts of the textbook algorithms. Everything else is one pass over its operands and its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod
from typing import NamedTuple

from .reuse import Touched

Shape = tuple[int, ...]

WEIGHTS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("divide", "sqrt", "reciprocal"), ("divide", 1.0)),
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), ("divide", 2.0)),
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "cbrt", "arctan"), ("exp", 1.0)),
    **dict.fromkeys(("tan", "tanh", "sinh", "cosh", "arcsin", "arccos", "hypot", "arctan2", "logaddexp"), ("exp", 2.0)),
    **dict.fromkeys(("power", "float_power", "arcsinh", "arccosh", "arctanh"), ("power", 1.0)),
}  # fmt: skip
"""Functions that take longer than an addition: as long as another one, whose rate a machine has, and how many times that."""

CUBES = {"solve": 2 / 3, "det": 2 / 3, "slogdet": 2 / 3, "cholesky": 1 / 3, "inv": 2, "lstsq": 4, "qr": 8 / 3, "pinv": 20,
    "svd": 20, "eigh": 9, "eigvalsh": 4 / 3, "eig": 25, "eigvals": 10}  # fmt: skip
"""What the functions of ``linalg`` count for, in cubes of the length of a matrix (in rows by squared columns of a tall one)."""

PRODUCTS = frozenset(("matmul", "dot", "inner", "vdot", "tensordot"))
TRANSFORMS = {f"{way}{kind}fft{form}" for way in ("", "i") for kind in ("", "r", "h") for form in ("", "2", "n")}  # fmt: skip


class Work(NamedTuple):
    """What is computed without messages."""

    kind: str
    """``kernel``, ``numpy``, ``copy``, ``product``, ``transform`` or ``sort``."""
    touched: Touched
    """The bytes that are read or written, and how long ago they were touched before."""
    operations: float
    """In additions of doubles, elements loaded and stored among them; of a product in its own, of a sort in comparisons."""
    site: str
    """The line of the program."""
    functions: tuple[tuple[str, float], ...] = ()
    """How often functions are computed that take longer than an addition."""
    chain: float = 0.0
    """The operations, times the longest chain of those that need the result of the one before: what the order costs."""
    again: Touched = ()
    """What a stencil reads again of rows that have left the first cache."""
    form: str = "plain"
    """``stencil`` where several rows of an array are read at a time, ``summed`` where such a loop also adds up, ``folded``, ``rows`` or
    ``extremes`` where a loop stores nothing but sums, sums of rows, or least and largest elements; else ``plain``."""
    long: bool = False
    """True if a turn of the loop has more operations than a processor works ahead: then it waits for memory besides."""

    @property
    def nbytes(self) -> int:
        """What is read or written in memory or caches."""
        return sum([nbytes for nbytes, _ in self.touched])


def near(nbytes: int) -> Touched:
    """Memory that was touched just before."""
    return ((nbytes, nbytes),)


def weight(dtype: str) -> float:
    """What an operation of a kernel counts for, on elements of a dtype such as ``f8``."""
    return max(1 if dtype == "b1" else int(dtype[1:]) / 8, 0.5)


def named(
    name: str, given: Sequence[Shape], result: Shape, touched: Touched, site: str, part: float = 1.0
) -> Work:
    """The work of a function, of which a rank does a ``part`` and has touched so much of its own arrays."""
    sizes = [prod(shape) for shape in given] or [0]
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    shape = given[largest] if given else ()
    most = max(sizes[largest], prod(result)) * part
    longest = max(shape, default=1)
    if name in PRODUCTS and len(given) == 2:
        summed = given[0][-1] if given[0] else 1
        if name == "tensordot":
            summed = int((sizes[0] * sizes[1] / max(prod(result), 1)) ** 0.5)
        return Work("product", touched, 2 * prod(result) * summed * part, site)
    if name in CUBES and len(shape) > 1:
        flops = CUBES[name] * sizes[largest] * min(shape[-2:])
        return Work("product", touched, flops * part, site)
    if name in TRANSFORMS:
        together = sizes[largest] if name[-1] in "2n" else longest
        return Work("transform", touched, 5 * most * log2(max(together, 2)), site)
    if "sort" in name or "partition" in name or name in ("unique", "median"):
        return Work("sort", touched, most * log2(max(longest, 2)), site)
    if name in WEIGHTS:
        like, times = WEIGHTS[name]
        return Work("numpy", touched, most, site, ((like, most * times),))
    return Work("numpy", touched, most, site)
