"""Elementwise nodes: ufuncs, casts and selections, with NumPy's dtypes, shapes and memory order.

Operands are nodes, or scalars. A Python ``int``, ``float`` or ``complex`` is weak, as NEP 50
says; a NumPy scalar is as strong as an array. NumPy resolves the loop; the answer is
remembered by ufunc and operand dtypes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.geometry import Geometry, dense, kept_order, shape_text
from ..graph.node import Node, Site, coded, filled, mark_of, new

WEAK = (int, float, complex)
_numbers = itertools.count()


class Loop:
    """One output of the loop that NumPy would run for a ufunc on operands of given dtypes."""

    __slots__ = ("_text", "inputs", "name", "number", "output", "ufunc")

    def __init__(self, ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...], output: int) -> None:
        self.ufunc = ufunc
        self.name: str = ufunc.__name__ if ufunc.nout == 1 else f"{ufunc.__name__}.{output}"
        self.inputs = dtypes[: ufunc.nin]
        self.output = dtypes[ufunc.nin + output]
        self.number = next(_numbers)
        self._text = ""

    def __repr__(self) -> str:
        if not self._text:
            self._text = f"{self.name}({', '.join(map(str, self.inputs))}) -> {self.output}"
        return self._text


Loops = tuple[Loop, ...]
_loops: dict[Any, Loops] = {}
_shapes: dict[Any, tuple[int, ...]] = {}
_results: dict[Any, Geometry] = {}
_NATIVE = "?bhilqBHILQefdFD"


def is_native(dtype: np.dtype[Any]) -> bool:
    """Whether kernels can hold this dtype."""
    return dtype.char in _NATIVE and dtype.isnative


def loops_of(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> Loops:
    """The loop that NumPy would run, one entry for each output.

    ``kinds`` has a dtype, or ``int``, ``float`` or ``complex`` for a weak scalar, per input.
    """
    key = (ufunc, kinds)
    found = _loops.get(key)
    if found is None:
        dtypes = ufunc.resolve_dtypes(kinds + (None,) * ufunc.nout)
        same = (ufunc, dtypes)
        found = _by_dtypes.get(same)
        if found is None:
            found = _by_dtypes[same] = tuple([Loop(ufunc, dtypes, k) for k in range(ufunc.nout)])
        _loops[key] = found
    return found


_by_dtypes: dict[Any, Loops] = {}


def broadcast_shape(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The common shape, or NumPy's ``ValueError``."""
    found = _shapes.get(shapes)
    if found is None:
        try:
            found = np.broadcast_shapes(*shapes)
        except ValueError:
            text = " ".join(map(shape_text, shapes))
            raise ValueError(
                f"operands could not be broadcast together with shapes {text} "
            ) from None
        if len(_shapes) > 65536:
            _shapes.clear()
        _shapes[shapes] = found
    return found


def result_geometry(geometries: Sequence[Geometry], dtype: np.dtype[Any]) -> Geometry:
    """The base that NumPy would allocate for an elementwise result of these operands."""
    if len(geometries) == 1:
        only = geometries[0]
        if only.dtype == dtype and only.is_base and only.c_contiguous:
            return only
    key = (dtype, *[g.number for g in geometries])
    found = _results.get(key)
    if found is None:
        shape = broadcast_shape(tuple([g.shape for g in geometries]))
        if len(_results) > 65536:
            _results.clear()
        found = _results[key] = dense(shape, dtype, kept_order(shape, geometries))
    return found


def call(
    loop: Loop, operands: Sequence[Any], geometries: Sequence[Geometry], site: Site | None
) -> Node:
    """A ufunc applied to operands; ``geometries`` are those of the arrays as the user sees them."""
    geometry = result_geometry(geometries, loop.output)
    return Node("call", tuple(operands), geometry, (loop,), loop.name, site)


def cast(operand: Node, dtype: np.dtype[Any], site: Site | None = None) -> Node:
    """The operand in another dtype, by NumPy's unsafe casting."""
    if operand.geometry.dtype == dtype:
        return operand
    return Node("cast", (operand,), result_geometry((operand.geometry,), dtype), site=site)


def fill(
    shape: tuple[int, ...], dtype: np.dtype[Any], scalar: Any, site: Site | None = None
) -> Node:
    """One number everywhere."""
    return Node("fill", (dtype.type(scalar),), dense(shape, dtype), site=site)


class Through:
    """What nodes that read a view, and those that write through it, have in common."""

    __slots__ = (
        "params",
        "read_code",
        "read_mark",
        "result",
        "update_code",
        "update_mark",
        "update_number_mark",
    )

    def __init__(self, view: Geometry) -> None:
        self.params = params = (view,)
        self.result = result = result_geometry(params, view.dtype)
        self.read_code = coded(("read", result.form, "", view.form))
        self.update_code = coded(("update", view.base.form, "", view.form))
        self.read_mark = mark_of(self.read_code, result, params, (True,))
        self.update_mark = mark_of(self.update_code, view.base, params, (True, True))
        self.update_number_mark = mark_of(self.update_code, view.base, params, (True, False))


def _through(view: Geometry) -> Through:
    found = view.through = Through(view)
    return found


def read(operand: Node, view: Geometry, site: Site | None = None) -> Node:
    """The value that a view has of its base's value, as an array of its own."""
    if view.base is view:
        return operand
    known: Through = view.through or _through(view)
    result, params, code, mark = known.result, known.params, known.read_code, known.read_mark
    return filled(new(Node), "read", (operand,), result, params, "", site, code, mark)


def update(old: Node, region: Geometry, value: Any, mask: Node | None, site: Site | None) -> Node:
    """The base after ``value`` was written through the view ``region``."""
    base = old.geometry
    if mask is not None:
        return Node("update", (old, value, mask), base, (region,), "", site)
    known: Through = region.through or _through(region)
    mark = None
    if base is region.base:
        mark = known.update_mark if type(value) is Node else known.update_number_mark
    code = known.update_code
    return filled(new(Node), "update", (old, value), base, known.params, "", site, code, mark)
