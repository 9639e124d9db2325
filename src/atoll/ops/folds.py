"""The table of reductions.

An entry has NumPy's ufunc or function, the name of NumPy's method, the identity, and the dtypes that kernels fold in; NumPy folds
others. The method and the function of that name follow from the entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..config import config
from ..context.caches import remembered
from ..context.interrupts import passed_on
from ..front import Kind
from ..graph.geometry import Geometry, dense, kept_order
from ..graph.node import Node, Site
from ..graph.op import TABLE
from ..layout import Layout
from .placement import Place
from .table import Entry

_BOOL = np.dtype(np.bool_)


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape without the folded axes, or with ones in their place."""
    if keepdims:
        return tuple([1 if k in axes else n for k, n in enumerate(shape)])
    return tuple([n for k, n in enumerate(shape) if k not in axes])


def reduced_geometry(
    operand: Geometry, axes: tuple[int, ...], keepdims: bool, dtype: np.dtype[Any]
) -> Geometry:
    """The base that NumPy would allocate: its axes lie in memory in the order of the operand's."""
    shape = reduced_shape(operand.shape, axes, keepdims)
    if len(shape) < 2 or operand.c_contiguous:
        return dense(shape, dtype)
    kept = tuple([0 if k in axes else slice(None) for k in range(operand.ndim)])
    order = kept_order(reduced_shape(operand.shape, axes, False), (operand.index(kept),))
    if order is None:
        return dense(shape, dtype)
    if keepdims:
        places = [k for k in range(operand.ndim) if k not in axes]
        order = (*axes, *[places[k] for k in order])
    return dense(shape, dtype, order)


class _Folding(Entry):
    """Base of folds and of searches for positions."""

    __slots__ = ("method",)
    folds = True
    colour = "#f7ecd0"
    method: str
    """The name of the method, and of the function, that folds so; empty if there is none."""

    @property
    def kind(self) -> Kind:
        """When NumPy computes the method at once: of exact results, with any memory; of extremes, whole arrays or integers."""
        return Kind.ARRAYS

    def check(self, node: Node) -> bool:
        (operand,), (axes, keepdims) = node.args, node.params
        shape = operand.geometry.shape
        return bool(axes) and node.geometry.shape == reduced_shape(shape, axes, keepdims)

    def neutral(self, dtype: np.dtype[Any]) -> Any:
        """Neutral element, which keeps even the sign of a zero."""
        identity = self.identity(dtype)
        # NumPy begins a sum with zero, so that of -0.0 is 0.0
        is_sum = self.ufunc is np.add and dtype.kind in "fc"
        return -identity if is_sum else identity

    def label(self, node: Node) -> str:
        axes = node.params[0]
        if len(axes) == node.args[0].geometry.ndim:
            return f"{self.name} over all"
        return f"{self.name} over axis {', '.join(map(str, axes))}"


class Fold(_Folding):
    """A ufunc that is folded.

    ``identity`` gives what changes nothing, for a dtype, where NumPy's ufunc has no number that does it for all.
    """

    __slots__ = ("_identity", "is_arithmetic", "is_exact", "is_truth", "takes_axes", "ufunc")

    def __init__(
        self,
        ufunc: np.ufunc,
        identity: Callable[[np.dtype[Any]], Any] | None = None,
        *,
        method: str = "",
        is_exact: bool = False,
        is_truth: bool = False,
        is_arithmetic: bool = False,
    ) -> None:
        super().__init__(ufunc.__name__)
        self.ufunc = ufunc
        self.method = method
        self._identity = identity
        self.is_truth = is_truth
        """Any elements are folded, to whether they are true."""
        self.is_arithmetic = is_arithmetic
        """Complex numbers are folded, too, and in any dtype that is asked for."""
        self.is_exact = is_exact
        """The order cannot be seen in the result."""
        try:
            ufunc.reduce(np.ones((1, 1), np.int8), (0, 1))
        except ValueError as problem:
            passed_on(problem)
            self.takes_axes = False
        else:
            self.takes_axes = True
        """True if NumPy folds over several axes at once: it refuses where it holds the order of elements to matter."""
        FOLDS[ufunc] = self

    def identity(self, dtype: np.dtype[Any]) -> Any:
        if self._identity is not None:
            return self._identity(dtype)
        return np.asarray(self.ufunc.identity).astype(dtype)[()]

    @property
    def kind(self) -> Kind:
        if self.is_truth:
            return Kind.EXACT
        return Kind.EXACT | Kind.WHOLE | Kind.INTEGERS if self.is_exact else Kind.ARRAYS

    def is_folded_in(self, dtype: np.dtype[Any]) -> bool:
        if self.is_truth:
            return dtype.kind == "b"
        return dtype.kind != "c" or self.is_arithmetic

    def words(self, node: Node) -> str:
        return f"reduce {self.name}"

    def place(self, node: Node, first: Node) -> Place | None:
        """As the axes lie that stay; in even blocks where distributed axes go, everywhere if that is small."""
        home: Place = first.place
        layout = home.layout
        axes, keepdims = node.params
        if len(axes) == layout.ndim and home.folds_whole:
            return None  # all ranks fold their parts, or one has all of it, and tells the others
        if has_rows(layout, axes):
            return _of_rows(home, axes, keepdims)
        if node.geometry.size < max(config.results, 2):
            return None
        return Place.of(Layout.default(node.geometry.shape, home.world.size), home.world)

    def numpy(self, node: Node) -> Callable[..., Any]:
        reduce, dtype = self.ufunc.reduce, node.geometry.dtype
        axes, keepdims = node.params
        return lambda a: reduce(a, axis=axes, keepdims=keepdims, dtype=dtype)


def has_rows(layout: Layout, axes: tuple[int, ...]) -> bool:
    """True if no rank has but a part of a row along these axes."""
    return not any(layout.grid[axis] > 1 for axis in axes)


@remembered
def _of_rows(home: Place, axes: tuple[int, ...], keepdims: bool) -> Place | None:
    """The place of folded rows that no two ranks share."""
    return Place.of(home.layout.unpadded().reduced(axes, keepdims), home.world)


class Position(_Folding):
    """The position of an extreme element."""

    __slots__ = ("find", "finds_largest")
    finds_position = is_exact = True
    kind = Kind.EXACT | Kind.WHOLE

    def __init__(self, find: Callable[..., Any], *, finds_largest: bool) -> None:
        super().__init__(find.__name__)
        self.method = find.__name__
        self.find = find
        self.finds_largest = finds_largest

    def identity(self, dtype: np.dtype[Any]) -> Any:
        return extreme(dtype, largest=not self.finds_largest)

    def words(self, node: Node) -> str:
        return f"arg {self.name}"

    def place(self, node: Node, first: Node) -> Place | None:
        """As the axes lie that stay, where no rank has but a part of a row; over all axes, everywhere."""
        home: Place = first.place
        axes, keepdims = node.params
        if len(axes) == home.layout.ndim:
            return None
        return _of_rows(home, axes, keepdims)

    def numpy(self, node: Node) -> Callable[..., Any]:
        find = self.find
        axes, keepdims = node.params
        axis = None if len(axes) != 1 or node.args[0].geometry.ndim == len(axes) else axes[0]
        return lambda a: find(a, axis=axis, keepdims=keepdims)


def extreme(dtype: np.dtype[Any], *, largest: bool) -> Any:
    """The largest or the smallest number of ``dtype``."""
    if dtype.kind == "b":
        return dtype.type(largest)
    if dtype.kind == "f":
        return dtype.type(np.inf if largest else -np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.max if largest else limits.min)


def _beaten(*, largest: bool, by_nan: bool = False) -> Callable[[np.dtype[Any]], Any]:
    """Element that every other one beats; nan, where a fold passes that over."""
    return lambda dtype: (
        dtype.type(np.nan) if by_nan and dtype.kind in "fc" else extreme(dtype, largest=largest)
    )


FOLDS: dict[np.ufunc, Fold] = {}
"""All folds by their ufuncs."""

Fold(np.add, method="sum", is_arithmetic=True)
Fold(np.multiply, method="prod", is_arithmetic=True)
Fold(np.logical_and, method="all", is_truth=True, is_exact=True)
Fold(np.logical_or, method="any", is_truth=True, is_exact=True)
Fold(np.bitwise_and, is_exact=True)
Fold(np.bitwise_or, is_exact=True)
Fold(np.bitwise_xor, is_exact=True)
Fold(np.minimum, _beaten(largest=True), method="min", is_exact=True)
Fold(np.maximum, _beaten(largest=False), method="max", is_exact=True)
Fold(np.fmin, _beaten(largest=True, by_nan=True), is_exact=True)
Fold(np.fmax, _beaten(largest=False, by_nan=True), is_exact=True)


fold_named: Callable[[str], Any] = TABLE.__getitem__
"""The entry of a fold or a position by its name."""


POSITIONS = Position(np.argmin, finds_largest=False), Position(np.argmax, finds_largest=True)


def fold(
    op: Fold,
    operand: Node,
    geometry: Geometry,
    axes: tuple[int, ...],
    keepdims: bool,
    site: Site | None,
) -> Node:
    """The operand folded over ``axes`` (in increasing order), in the dtype of the result's ``geometry``."""
    return Node(op, (operand,), geometry, (axes, keepdims), op.name, site)


def position(
    op: Position, operand: Node, axes: tuple[int, ...], keepdims: bool, site: Site | None
) -> Node:
    """The position of an extreme element over one axis or over all."""
    geometry = dense(reduced_shape(operand.geometry.shape, axes, keepdims), np.dtype(np.intp))
    return Node(op, (operand,), geometry, (axes, keepdims), op.name, site)
