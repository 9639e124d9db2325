"""The costs of NumPy functions: floating-point operations of products and factorisations, comparisons of sorts.

The counts are those of the textbook algorithms. Any other function handles its elements one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod
from typing import NamedTuple

from ..ops.ufuncs import COSTS, Cost
from .reuse import Touched

Shape = tuple[int, ...]

CUBES = {"solve": 2 / 3, "det": 2 / 3, "slogdet": 2 / 3, "cholesky": 1 / 3, "inv": 2, "lstsq": 4, "qr": 8 / 3, "pinv": 20,
    "svd": 20, "eigh": 9, "eigvalsh": 4 / 3, "eig": 25, "eigvals": 10}  # fmt: skip
"""Operations of ``linalg`` functions, in cubes of the length of a matrix (rows by squared columns for a tall one)."""

PRODUCTS = frozenset(("matmul", "dot", "inner", "vdot", "tensordot"))
TRANSFORMS = {f"{way}{kind}fft{form}" for way in ("", "i") for kind in ("", "r", "h") for form in ("", "2", "n")}  # fmt: skip


class Work(NamedTuple):
    """Local work, without messages."""

    kind: str
    """``kernel``, ``numpy``, ``copy``, ``product``, ``transform`` or ``sort``."""
    touched: Touched
    """The bytes read or written, by reuse distance."""
    operations: float
    """Additions of doubles, including loads and stores; for a product and a transform flops, for a sort comparisons."""
    site: str
    """The line of the program."""
    functions: tuple[tuple[str, float], ...] = ()
    """Evaluations of functions that are slower than an addition, by the names of machine rates."""
    chain: float = 0.0
    """The operations times the length of their longest dependency chain, which limits parallel execution."""
    again: Touched = ()
    """The bytes of rows that a stencil rereads after they have left the first cache, by reuse distance."""
    form: str = "plain"
    """``stencil`` if the loop reads several rows of an array at a time, ``summed`` if it also computes a sum, ``folded``, ``rows`` or
    ``extremes`` if it stores only sums, sums of rows, or minima and maxima; else ``plain``."""
    long: bool = False
    """True if an iteration exceeds the out-of-order window of a processor: memory and arithmetic do not overlap."""

    @property
    def nbytes(self) -> int:
        """The bytes read or written in memory or caches."""
        return sum([nbytes for nbytes, _ in self.touched])


def near(nbytes: int) -> Touched:
    """Memory that was touched immediately before."""
    return ((nbytes, nbytes),)


def weight(dtype: str) -> float:
    """The cost of a kernel operation on a dtype such as ``f8``, relative to doubles."""
    return max(1 if dtype == "b1" else int(dtype[1:]) / 8, 0.5)


def named(
    name: str, given: Sequence[Shape], result: Shape, touched: Touched, site: str, part: float = 1.0
) -> Work:
    """The work of a function by name: a rank computes the fraction ``part`` of it, and touches ``touched`` of its own arrays."""
    sizes = [prod(shape) for shape in given] or [0]
    largest = max(range(len(sizes)), key=sizes.__getitem__)
    shape = given[largest] if given else ()
    most = max(sizes[largest], prod(result)) * part
    longest = max(shape, default=1)
    if name in PRODUCTS and len(given) == 2:
        summed = given[0][-1] if given[0] else 1
        if name == "tensordot":
            summed = int((sizes[0] * sizes[1] / max(prod(result), 1)) ** 0.5)
        flops, handled = 2 * prod(result) * summed * part, prod(result) * part
        return Work("product", touched, flops, site, (("numpy", handled),))
    if name in CUBES and len(shape) > 1:
        flops = CUBES[name] * sizes[largest] * min(shape[-2:])
        return Work("product", touched, flops * part, site)
    if name in TRANSFORMS:
        together = sizes[largest] if name[-1] in "2n" else longest
        return Work("transform", touched, 5 * most * log2(max(together, 2)), site)
    if "sort" in name or "partition" in name or name in ("unique", "median"):
        return Work("sort", touched, most * log2(max(longest, 2)), site)
    cost = COSTS.get(name, Cost("numpy"))
    if cost.like != "add":
        return Work("numpy", touched, most, site, ((cost.like, most * cost.times),))
    return Work("numpy", touched, most, site)
