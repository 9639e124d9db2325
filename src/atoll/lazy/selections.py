"""Elementwise functions that are not ufuncs: selections, limits, rounding."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from math import prod
from types import NoneType
from typing import Any

import numpy as np

from ..context.caches import keep
from ..context.call_sites import user_site
from ..context.interrupts import passed_on
from ..front import Forms
from ..graph.node import Node
from ..ops.elementwise import FAST_SCALARS, is_native, result_geometry
from ..ops.table import WHERE
from . import creation, shapes
from .agreement import chosen_by, place_of
from .conversion import become, spread_place
from .elementwise import Operand, general, operand_of
from .evaluation import evaluate
from .fallback import by_numpy
from .float_errors import free
from .operations import cast, record
from .pending import captured
from .ufunc_calls import call, into
from .views import SOLE, Handle

_BOOL = np.dtype(np.bool_)
_CLIP: np.ufunc = np._core.umath.clip  # type: ignore[attr-defined]


def where(condition: Any, x: Any, y: Any) -> Any:
    """``x`` where the condition holds, ``y`` elsewhere."""
    result = _where(condition, x, y)
    return by_numpy(np.where, (condition, x, y), {}) if result is NotImplemented else result


def _where(condition: Any, x: Any, y: Any) -> Any:
    operands = []
    for value in (condition, x, y):
        operand = operand_of(value)
        if operand is None:
            return NotImplemented
        operands.append(operand)
    if not free() or not any(operand.large for operand in operands):
        return NotImplemented
    try:
        kinds = [
            o.node if isinstance(o.kind, type) else o.kind for o in operands[1:]
        ]  # a dtype equals its type
        dtype = np.result_type(*kinds)
        geometries = [o.geometry for o in operands if o.geometry is not None]
        geometry = result_geometry(geometries, dtype)
        args: list[Any] = []
        for operand, wanted in zip(operands, (_BOOL, dtype, dtype)):
            if operand.geometry is None:
                number = operand.node
                args.append(wanted.type(bool(number) if wanted == _BOOL else number))
            else:
                args.append(cast(operand.node, wanted) if wanted == _BOOL else operand.node)
    except (OverflowError, TypeError, ValueError) as problem:
        passed_on(problem)
        return NotImplemented  # NumPy raises it
    if not is_native(dtype):
        return NotImplemented
    chosen_by(condition, x, y)
    site = user_site()
    place = spread_place(geometry, args, site)
    node = record(WHERE, tuple(args), geometry, (), "where", site, place)
    if node.value is None and not node.is_laid_out():
        _remember((condition, x, y), operands, node)
    if any(operand.now for operand in operands):
        del args
        if node.weight < 0:
            node = captured(node)
        else:
            evaluate((node,))
    return creation.recorded(node)


met_choices = Forms()
"""Forms of ``where``, by the geometries of its operands and the types of numbers."""


def _remember(given: Sequence[Any], operands: Sequence[Operand], node: Node) -> None:
    key: list[Any] = []
    for value, operand in zip(given, operands, strict=True):
        if operand.geometry is None and type(value) in FAST_SCALARS:
            key.append(type(value))
        elif operand.geometry is not None and isinstance(value, Handle):
            key.append(operand.geometry)
        else:
            return
    if operands[0].kind == _BOOL and operands[0].geometry is not None:
        form = WHERE, node.geometry, (), node.name, node.identify(), node.marked()
        keep(met_choices, tuple(key), form, node.geometry.dtype.type)


def clip(handle: Any, low: Any, high: Any, out: Any, options: dict[str, Any]) -> Any:
    """Limited to a range; ``None`` is no limit."""
    if options or handle._np is not None or handle.dtype.kind not in "biuf":
        if out is not None:
            options = {**options, "out": out}
            if isinstance(out, Handle) and not options.get("casting"):
                empty = np.empty(0, handle.dtype)
                _CLIP(empty, empty, empty, out=np.empty(0, out.dtype))  # type: ignore[attr-defined]
        return shapes.like(handle, by_numpy(np.ndarray.clip, (handle, low, high), options))
    if handle.dtype.kind in "iu":
        info = np.iinfo(handle.dtype)
        if type(low) is int and low <= info.min:
            low = None
        if type(high) is int and high >= info.max:
            high = None
    outs = {} if out is None else {"out": out}
    if low is None and high is None:
        return call(np.positive, (handle,), outs)
    if low is None:
        return call(np.minimum, (handle, high), outs)
    if high is None:
        return call(np.maximum, (handle, low), outs)
    return call(_CLIP, (handle, low, high), outs)


def rounded(handle: Any, decimals: Any, out: Any) -> Any:
    """Rounded half to even, to a number of decimals."""
    usable = (handle._np is None and handle.dtype.char in "fd" and type(decimals) is int) and (
        out is None or place_of(handle) is not None
    )
    if not usable:
        options = {} if out is None else {"out": out}
        return by_numpy(np.ndarray.round, (handle, decimals), options)
    if decimals == 0:
        return into(out, call(np.rint, (handle,), {}))
    scale = 10.0 ** abs(decimals)
    forth, back = (np.multiply, np.true_divide) if decimals > 0 else (np.true_divide, np.multiply)
    scaled = general(back, general(np.rint, general(forth, handle, scale)), scale)
    return into(out, shapes.in_order(scaled, shapes.turned_order(handle)))


def resize(handle: Any, shape: Any, refcheck: Any = True) -> None:
    """``a.resize(shape)``: cut off or filled up with zeros, in the order in which the elements lie in memory."""
    if type(refcheck) is not bool:
        np.empty(0).resize(0, refcheck=refcheck)  # NumPy's error
    if shape in ((None,), ()):
        return
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = shape[0]
    flags = handle.flags
    if not flags.forc:
        np.empty((2, 2))[:, 0].resize(4)
    if np.min(shape, initial=0) < 0:
        np.empty(0).resize(shape)
    wanted = creation.shape_of(shape)
    order = "F" if flags.fnc else "C"
    if prod(wanted) == handle.size:
        shapes.set_shape(handle, wanted, order)
        return
    if place_of(handle) is None:  # other ranks cannot know the references to memory of this one
        _check_owner(handle, refcheck)
    writeable, n = flags.writeable, min(prod(wanted), handle.size)
    cut = creation.zeros((prod(wanted),), handle.dtype, "C")
    cut[:n] = shapes.ravel(handle, order)[:n]
    become(handle, shapes.copied(shapes.reshape(cut, wanted, order), order))
    handle.setflags(writeable)


def _check_owner(handle: Any, refcheck: bool) -> None:
    """Raise NumPy's error if other arrays, exports or weak references refer to the memory."""
    own: Any = np.empty(2)
    if handle._np is None:
        cell = handle._cell
        first = cell.first()
        is_part = first is not None and first is not handle
        del cell, first
        is_seen = sys.getrefcount(handle._cell) > SOLE or handle._cell.held()
        cell = handle._cell
        own_ref = cell._first if sys.getrefcount(cell._first) == SOLE else None
    else:
        base = type(handle._np.base)
        is_part = base not in (NoneType, np.ndarray) or (
            base is np.ndarray and sys.getrefcount(handle._np.base) > SOLE
        )
        is_seen, own_ref = sys.getrefcount(handle._np) > SOLE, None
    if is_part:
        own[1:].resize(3)
    if is_seen and refcheck:
        seen: Any = own[1:]
        own.resize(3)
    if any(known is not own_ref for known in weakref.getweakrefs(handle)):
        seen = weakref.ref(own)  # noqa: F841
        own.resize(3)
