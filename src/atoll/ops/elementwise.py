"""Elementwise nodes: ufuncs, casts and selections, with NumPy's dtypes, shapes and memory order.

Operands are nodes, or scalars. A Python ``int``, ``float`` or ``complex`` is weak, as NEP 50
says; a NumPy scalar is as strong as an array. NumPy resolves the loop; the answer is
remembered by ufunc and operand dtypes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..context.caches import Memo, remembered
from ..context.interrupts import passed_on
from ..graph.geometry import Geometry, dense, kept_order, number_of, shape_text
from ..graph.identities import identity_of
from ..graph.node import Form, Node, new_mark
from .table import READ, UPDATE


class Loop:
    """One output of the loop that NumPy would run for a ufunc on operands of given dtypes."""

    __slots__ = ("_text", "inputs", "is_native", "name", "number", "output", "ufunc")

    def __init__(self, ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...], output: int) -> None:
        self.ufunc = ufunc
        self.name: str = ufunc.__name__ if ufunc.nout == 1 else f"{ufunc.__name__}.{output}"
        self.inputs = dtypes[: ufunc.nin]
        self.output = dtypes[ufunc.nin + output]
        self.is_native = all(map(is_native, dtypes))
        """True if kernels can hold the dtypes of all inputs and outputs."""
        self.number = identity_of((ufunc, dtypes, output))
        """The same for equal loops, as long as a code refers to it."""
        self._text = ""

    def __repr__(self) -> str:
        if not self._text:
            self._text = f"{self.name}({', '.join(map(str, self.inputs))}) -> {self.output}"
        return self._text


Loops = tuple[Loop, ...]
_loops: Memo[Any, Loops] = Memo()
_results: Memo[Any, Geometry] = Memo()
NATIVE = "".join([code for code in "?bhilqBHILQefdFD" if np.dtype(np.dtype(code).str).char == code])
"""The dtypes that kernels can hold: of two equal ones, such as ``long`` and ``longlong``, the usual one, since geometries are
compared by equal dtypes; arrays of the other one are NumPy's."""
FAST_SCALARS = frozenset({float, int, bool, complex, *[np.dtype(code).type for code in NATIVE]})
"""Classes of numbers that kernels take as they are."""


def is_native(dtype: np.dtype[Any]) -> bool:
    """True if kernels can hold this dtype."""
    return dtype.char in NATIVE and dtype.isnative


def loops_of(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> Loops:
    """The loop that NumPy would run, one entry for each output.

    ``kinds`` has a dtype, or ``int``, ``float`` or ``complex`` for a weak scalar, per input.
    """
    key = (ufunc, kinds)
    loops = _loops.get(key)
    if loops is None:
        loops = _loops[key] = _by_dtypes(ufunc, ufunc.resolve_dtypes(kinds + (None,) * ufunc.nout))
    return loops


@remembered
def _by_dtypes(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> Loops:
    return tuple([Loop(ufunc, dtypes, k) for k in range(ufunc.nout)])


def broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape, or NumPy's ``ValueError``."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as problem:
        passed_on(problem)
        text = " ".join(map(shape_text, shapes))
        raise ValueError(f"operands could not be broadcast together with shapes {text} ") from None


def result_geometry(geometries: Sequence[Geometry], dtype: np.dtype[Any]) -> Geometry:
    """The base that NumPy would allocate for an elementwise result of these operands."""
    if len(geometries) == 1:
        only = geometries[0]
        if only.dtype == dtype and only.is_base and only.c_contiguous:
            return only
    key = (dtype, *map(number_of, geometries))
    geometry = _results.get(key)
    if geometry is None:
        shape = geometries[0].shape
        for other in geometries:
            if other.shape != shape:
                shape = broadcast_shape([g.shape for g in geometries])
                break
        geometry = _results[key] = dense(shape, dtype, kept_order(shape, geometries))
    return geometry


def join_of(parts: int) -> str:
    """The name of a fill that the program never sees, since parts are assigned over all of it."""
    return f"join {parts}"


def parts_of(node: Node) -> int:
    """The number of parts in the name of a fill; 0 where the program has the array."""
    return int(node.name[5:]) if node.op.is_number and node.name else 0


class Through:
    """Common parts of the nodes that read a view or write through it, made on first use."""

    __slots__ = ("rare", "read", "update", "update_number")

    def __init__(self, view: Geometry) -> None:
        params, base = (view,), view.base
        result = dense(view.shape, view.dtype, kept_order(view.shape, params))
        code = identity_of((READ, result.form, "", view.form))
        self.read: Form = READ, result, params, "", code, new_mark()
        code = identity_of((UPDATE, base.form, "", view.form))
        self.update: Form = UPDATE, base, params, "", code, new_mark()
        self.update_number: Form = UPDATE, base, params, "", code, new_mark()
        self.rare: tuple[Form, ...] | None = None
        """The forms of rarer assignments, each of a number and of an array: where other cells on ranks may have the old value, and under a mask."""
        view.through = self


def read_of(geometry: Geometry) -> Geometry:
    """The geometry by which operations on a view are known: that of its elements in memory of their own, whose order decides
    that of results as the view's does, unless it repeats elements."""
    if geometry.is_base:
        return geometry
    if 0 in geometry.strides:
        for extent, step in zip(geometry.shape, geometry.strides, strict=True):
            if extent > 1 and not step:
                return geometry
    passage: Through = geometry.through or Through(geometry)
    return passage.read[1]


def rare_update(view: Geometry, is_array: bool, is_masked: bool) -> Form:
    """The form of an assignment under a mask, or through a view of what other cells on ranks may have."""
    passage: Through = view.through or Through(view)
    if passage.rare is None:
        base = view.base
        kept = identity_of((UPDATE, base.form, "", view.form, True))
        masked = identity_of((UPDATE, base.form, "", view.form, "masked"))
        passage.rare = tuple([
            (UPDATE, base, params, "", code, new_mark())
            for code, params in ((kept, (view, True)), (masked, (view,)))
            for _ in ("number", "array")
        ])  # fmt: skip
    return passage.rare[2 * is_masked + is_array]
