"""Selections of elements: by condition, by index, by order."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backend
from ..collective import Section
from ..comm.world import World
from ..front import COMPOSED, Kind, Recording
from ..lazy import fancy_indexing, selections, shapes
from ..lazy.agreement import in_step, place_of, world_of
from ..lazy.creation import asarray
from ..lazy.fallback import expect
from ..lazy.fancy_indexing import Selection, check_indices, operands, selected, write
from ..lazy.reductions import NOTHING
from ..lazy.sections import record, small_or_there
from ..lazy.shared_calls import taken
from ..lazy.ufunc_calls import register_method
from ..lazy.views import Handle
from .blocks import by_blocks, call, into
from .operands import Array, Operand, Operands, Target, accepts, is_writeable
from .public import array_of, collective, declare, native


@native(recording=Recording(known=selections.met_choices))
def where(condition: Any, x: Any = NOTHING, y: Any = NOTHING, /) -> Any:
    if x is NOTHING and y is NOTHING:
        return nonzero(condition)
    if x is NOTHING or y is NOTHING:
        raise ValueError("either both or neither of x and y should be given")
    return selections.where(condition, x, y)


@native(recording=COMPOSED, asks=True)
def clip(a: Any, a_min: Any = NOTHING, a_max: Any = NOTHING, out: Any = None, *, min: Any = NOTHING, max: Any = NOTHING, **options: Any) -> Any:  # fmt: skip
    a = array_of(a)
    if a_min is NOTHING and a_max is NOTHING:
        a_min, a_max = (None if min is NOTHING else min), (None if max is NOTHING else max)
    elif a_min is NOTHING or a_max is NOTHING or min is not NOTHING or max is not NOTHING:
        return np.clip(a._array(), a_min, a_max, min=min, max=max)
    return a.clip(a_min, a_max, out, **options)


def _rounded(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return array_of(a).round(decimals, out)


for _name in ("round", "around"):
    declare(_rounded, getattr(np, _name), _name, recording=COMPOSED, asks=True)


@collective(np.take, cut=taken, keeps="arrays")
@accepts(a=Operand(empty=False), mode=("raise", "wrap", "clip"))
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    world: Any = world_of([a, indices])
    expect(world and (axis is None or isinstance(axis, int)))
    in_step(world, "take", a, indices, axis, mode, moves="read")
    indices = fancy_indexing.index_array(indices)
    expect(indices.dtype.kind in "iu")
    if not a.ndim:
        a = shapes.reshape(a, (1,))  # NumPy lets an element have one axis here
    if axis is not None or a.ndim == 1:
        axis = np.lib.array_utils.normalize_axis_index(axis or 0, a.ndim)
    length = a.size if axis is None else a.shape[axis]
    if mode != "raise":
        indices = fancy_indexing.wrapped(indices, length, mode)
    else:
        check_indices([indices], [axis or 0], [length], world)
    if axis is None:
        elements = record("fancy indexing", (a, *operands([indices], indices.shape)), None)
    else:
        elements = selected(Selection(a, (axis,), [indices], indices.shape, axis), dense=True)
    return into(out, elements, "unsafe")


@collective(np.ndarray.take, keeps="arrays")
def _taken(a: Any, *args: Any, **options: Any) -> Any:
    return take(a, *args, **options)


@collective(np.compress, keeps="arrays")
@accepts(condition=Array(ndim=1))
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    return take(array_of(a), flatnonzero(condition), axis, out)


@collective(np.ndarray.compress, keeps="arrays")
def _compressed(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return compress(condition, a, axis, out)


@collective(np.extract)
@accepts(condition=Array(), arr=Array())
def extract(condition: Any, arr: Any) -> Any:
    expect(condition.shape == arr.shape)
    return arr[condition if condition.dtype == np.bool_ else condition != 0]


@collective(np.nonzero, np.ndarray.nonzero, alone=True)
def nonzero(a: Any) -> Any:
    positions = fancy_indexing.true_positions(a, "nonzero") if isinstance(a, Handle) else None
    expect(positions)
    where, world = positions  # type: ignore[misc]
    if a.ndim == 1:
        return (small_or_there(where, world),)
    rows = backend.current().indices_of(where.block, a.shape)
    layout = where.layout.expanded((1,)).broadcast((where.layout.size, a.ndim))
    table = small_or_there(Section(rows, layout, world.communicator), world)
    return tuple([table[:, axis] for axis in range(a.ndim)])  # as NumPy's are


@collective(np.flatnonzero, alone=True)
def flatnonzero(a: Any) -> Any:
    return fancy_indexing.flatnonzero(a) if isinstance(a, Handle) else NotImplemented


@collective(np.argwhere)
def argwhere(a: Any) -> Any:
    a = array_of(a)
    positions = None if place_of(a) is None else fancy_indexing.true_positions(a, "argwhere")
    expect(positions)
    where, world = positions  # type: ignore[misc]
    columns = np.stack(np.unravel_index(where.block, a.shape)).astype(np.intp)
    layout = where.layout.expanded((0,)).broadcast((a.ndim, where.layout.size))
    rows = small_or_there(Section(columns, layout, world.communicator), world)
    return shapes.transpose(rows, (1, 0))


@collective(np.take_along_axis, keeps="arrays")
@accepts(arr=Operand())
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    world: Any = world_of([arr, indices])
    expect(world)
    index = _along(arr, indices, axis, world)
    given = operands([index], index.shape)
    return record("take along an axis", (arr, *given), axis % arr.ndim)


def _along(handle: Any, indices: Any, axis: Any, world: World) -> Any:
    """An index array for one axis, checked, in the shape of the result."""
    expect(isinstance(axis, int) and -handle.ndim <= axis < handle.ndim)
    indices, axis = fancy_indexing.index_array(indices), axis % handle.ndim
    expect(indices.dtype.kind in "iu" and indices.ndim == handle.ndim)
    in_step(world, "elements along an axis", handle, indices, axis, moves="read")
    pairs = list(enumerate(zip(indices.shape, handle.shape, strict=True)))
    expect(all(n == m or 1 in (n, m) for k, (n, m) in pairs if k != axis))
    wide = tuple([n if k == axis else max(n, m) if 0 not in (n, m) else 0 for k, (n, m) in pairs])
    check_indices([indices], [axis], [handle.shape[axis]], world)
    if wide == indices.shape:
        return indices
    return (
        shapes.broadcast_to(indices, wide)
        if isinstance(indices, Handle)
        else np.broadcast_to(indices, wide)
    )


@collective(np.put_along_axis, writes=(0, "arr"), kind=Kind.LARGE | Kind.WRITES)
@accepts(arr=Target())
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any, *, world: World) -> Any:
    values = asarray(values)
    expect(fancy_indexing.is_writeable(arr, values))
    index = _along(arr, indices, axis, world)
    in_step(world, "put_along_axis", arr, values, moves="written")
    extents = zip(index.shape, arr.shape, strict=True)
    mesh: list[Any] = [*np.ix_(*[np.arange(n if m != 1 else 1) for n, m in extents])]
    mesh[axis % arr.ndim] = index
    write(arr, values.astype(arr.dtype), index.shape, mesh, tuple(range(arr.ndim)))
    return None


@collective(np.put, np.ndarray.put, writes=(0, "a"), kind=Kind.LARGE | Kind.WRITES)
@accepts(a=Target())
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> Any:
    expect(is_writeable(a))
    # NumPy writes to a copy first if the memory is not in C order, or is shared with the values
    shared = isinstance(v, Handle) and shapes.is_view_of(a, v) and v._geometry.c_contiguous
    at_once = shared or not a._geometry.c_contiguous
    expect(fancy_indexing.put_flat(a, ind, v, mode, at_once=at_once))
    return None


@collective(np.place, writes=(0, "arr"), kind=Kind.WRITES)
@accepts(arr=Target(), mask=Array(), vals=Array(ndim=1))
def place(arr: Any, mask: Any, vals: Any) -> Any:
    expect(mask.shape == arr.shape)
    expect(fancy_indexing.put_flat(arr, fancy_indexing.flat_under(mask), vals, "raise"))
    return None


@collective(np.ravel_multi_index)
@accepts(multi_index=Operands())
def ravel_multi_index(
    multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C", *, world: World
) -> Any:
    shape = tuple(int(n) for n in dims)

    def flat(*parts: Any) -> Any:
        return np.ravel_multi_index(parts, shape, mode, order)

    return by_blocks(flat, multi_index, world, agrees=True)


@collective(np.unravel_index)
@accepts(indices=Operand())
def unravel_index(indices: Any, shape: Any, order: Any = "C", *, world: World) -> Any:
    expect(not isinstance(shape, Handle))
    parts = by_blocks(
        lambda part: tuple(np.unravel_index(part, shape, order)), [indices], world, agrees=True
    )
    if len(parts) < 2:
        return parts
    rows = shapes.in_order(call("stack", parts, -1), None)
    return tuple([rows[..., axis] for axis in range(len(parts))])


register_method("at", fancy_indexing.at)
register_method("reduceat", fancy_indexing.reduceat)
