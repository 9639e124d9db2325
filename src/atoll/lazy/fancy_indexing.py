"""Advanced indexing of distributed arrays: integer arrays and masks, read and assigned through.

The basic part of a key (slices, new axes) is a view. The rest is brought to one form: index
arrays for some axes of that view, broadcast to a common shape whose positions are dealt out to the
ranks in a line, each with its part of every index array. A mask with more axes to come stands for
the positions where it is true. Then elements are fetched from their owners, or sent to them. Whether
all indices are in range is agreed on by all ranks before anything is moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..collective import (
    Section,
    agree,
    even_line,
    even_part,
    even_rows,
    fetch,
    few_everywhere,
    positions_under,
    redistributed,
    reshaped,
    store,
)
from ..collective.elements import trailing_rows
from ..collective.moving import is_line
from ..collective.steps import base_indices, is_readable
from ..comm.in_step import allgather
from ..comm.world import World
from ..config import config
from ..graph.geometry import Geometry, kept_order, shape_text
from ..layout import Layout
from ..ops.elementwise import FAST_SCALARS, is_native
from ..ops.placement import crosses, placed_view
from . import shaping
from .along import chosen
from .creation import asarray
from .making import of_small, of_view
from .sections import block_of, block_of_view, of_section, result_layout, section_of
from .spread import in_step, place_of, world_of
from .views import Cell, Handle

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class Picked:
    """An advanced index in its common form, as far as this rank is concerned."""

    view: Any
    """The basic part of the key, applied."""
    axes: tuple[int, ...]
    """The axes of the view that are indexed by arrays."""
    shape: tuple[int, ...]
    """The common shape of the index arrays."""
    place: int
    """Where its axes are in the result."""
    everywhere: bool
    """Whether every rank has all of the index arrays."""
    parts: tuple[Array, ...]
    """This rank's part of each flattened index array: all of it, or its part of the line."""

    @property
    def rest(self) -> tuple[int, ...]:
        """The other axes of the view."""
        return tuple([k for k in range(self.view.ndim) if k not in self.axes])

    @property
    def result_shape(self) -> tuple[int, ...]:
        kept = [self.view.shape[k] for k in self.rest]
        return (*kept[: self.place], *self.shape, *kept[self.place :])


def _is_mask(item: Any) -> bool:
    return bool(getattr(item, "dtype", None) == np.bool_) or isinstance(item, (bool, np.bool_))


def _masks_all_of(handle: Any, key: Any) -> bool:
    """Whether a key is a mask of the array's own shape."""
    is_array = isinstance(key, (Handle, np.ndarray)) and _is_mask(key)
    return is_array and handle.ndim > 0 and getattr(key, "shape", ()) == handle.shape


def _items(handle: Any, key: Any) -> list[Any] | None:
    """The items of a key, one for each axis and new axis; ``None`` for what NumPy has to read."""
    given = list(key) if isinstance(key, tuple) else [key]
    items: list[Any] = []
    for item in given:
        if item is None or item is Ellipsis or isinstance(item, slice):
            items.append(item)
            continue
        if isinstance(item, (list, tuple)):
            array = np.asarray(item)
            item = array.astype(np.intp) if array.size == 0 else array
        elif not isinstance(item, (Handle, np.ndarray)):
            item = np.asarray(item)
        kind = item.dtype.kind
        if kind not in "iub" or (kind == "b" and item.ndim == 0):
            return None
        items.append(item)
    covered = sum(
        0 if item is None or item is Ellipsis else item.ndim if _is_mask(item) else 1
        for item in items
    )
    missing = handle.ndim - covered
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if missing < 0 or len(dots) > 1:
        return None
    place = dots[0] if dots else len(items)
    items[place : place + 1] = [slice(None)] * missing
    return items


def _picked(handle: Any, key: Any, world: World) -> Picked | None:
    items = _items(handle, key)
    if items is None:
        return None
    basic: list[Any] = []
    arrays: list[Any] = []
    axes: list[int] = []
    groups: list[int] = []  # places of advanced items among all, to see whether they are apart
    axis = 0
    for number, item in enumerate(items):
        if item is None or isinstance(item, slice):
            basic.append(item)
            axis += 1
            continue
        groups.append(number)
        if _is_mask(item):
            extents = handle.shape[sum(b is not None for b in basic) :][: item.ndim]
            if tuple(extents) != tuple(item.shape):
                return None
            where = positions_under(section_of(item, world))
            split = np.unravel_index(where.block, item.shape)
            arrays += [where.with_block(part.astype(np.int64)) for part in split]
            count = item.ndim
        else:
            arrays.append(item)
            count = 1
        axes += range(axis, axis + count)
        basic += [slice(None)] * count
        axis += count
    together = groups == list(range(groups[0], groups[0] + len(groups)))
    if handle._np is not None:
        view = of_small(handle._np[tuple(basic)])
    else:
        view = of_view(handle._cell, handle._geometry.index(tuple(basic)))
    place = axes[0] if together else 0
    try:
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        return None
    everywhere = not any(_is_spread(a) for a in arrays)
    lengths = [view.shape[k] for k in axes]
    parts = in_range(arrays, shape, lengths, axes, everywhere, world)
    return Picked(view, tuple(axes), shape, place, everywhere, parts)


def _is_spread(index: Any) -> bool:
    return isinstance(index, Section) or place_of(index) is not None


def _part(index: Any, shape: tuple[int, ...], everywhere: bool, world: World) -> Array:
    """This rank's part of an index array that is broadcast to ``shape`` and flattened."""
    size = world.size
    if not _is_spread(index):
        array = index._array() if isinstance(index, Handle) else index
        wide = np.broadcast_to(array, shape)
        if everywhere:
            return wide.reshape(-1).astype(np.int64, copy=False)
        low, high = even_part(prod(shape), size, world.rank)
        if not shape:
            return array.reshape(1)[low:high].astype(np.int64)
        return wide[np.unravel_index(np.arange(low, high), shape)].astype(np.int64, copy=False)
    if isinstance(index, Section):
        if index.shape != shape:
            spread = of_section(index, world)
            return _part(spread, shape, everywhere, world)
        section = index
    else:
        section = section_of(
            index if index.shape == shape else shaping.broadcast_to(index, shape), world
        )
    return reshaped(section, even_line(prod(shape), size)).block.astype(np.int64)


def in_range(
    arrays: list[Any],
    shape: tuple[int, ...],
    lengths: list[int],
    axes: list[int],
    everywhere: bool,
    world: World,
) -> tuple[Array, ...]:
    """This rank's parts of all index arrays, counted from the front, or an error on all ranks."""
    parts = []
    bad: tuple[int, tuple[int, int, int]] | None = None
    for array, length, axis in zip(arrays, lengths, axes):
        part = _part(array, shape, everywhere, world)
        if not prod(shape) and everywhere:
            part = np.asarray(array).reshape(-1)  # what is broadcast away is checked, too
        lowest, highest = part.min(initial=0), part.max(initial=-1)
        if (lowest < -length or highest >= length) and bad is None:
            outside = np.flatnonzero((part < -length) | (part >= length))
            bad = int(outside[0]), (int(part[outside[0]]), axis, length)
        part = part if prod(shape) else part[:0]
        parts.append(np.where(part < 0, part + length, part) if lowest < 0 else part)
    if everywhere:
        if bad is not None:
            raise out_of_bounds(*bad[1])
        return tuple(parts)
    place, values = (None, ()) if bad is None else bad
    if place is not None:
        place += even_part(prod(shape), world.size, world.rank)[0]
    agree(world.communicator, place, values, out_of_bounds)
    return tuple(parts)


def out_of_bounds(index: int, axis: int, length: int) -> IndexError:
    return IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")


def picked(handle: Any, key: Any) -> Any:
    """``handle[key]`` where an array in the key, or the array, lies on several ranks."""
    if not is_native(handle.dtype):
        return NotImplemented
    world = world_of([handle, *(key if isinstance(key, tuple) else (key,))])
    if world is None:
        return NotImplemented
    in_step(world, "the picking of elements", handle, key)
    taken = chosen(handle, key, world)
    if taken is not None:
        return taken
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if _masks_all_of(handle, mask):
        given = section_of(handle, world), section_of(mask, world)
        return of_section(few_everywhere(*given, config.small), world)
    found = _picked(handle, key, world)
    return NotImplemented if found is None else _fetched(found, world)


def _fetched(found: Picked, world: World) -> Any:
    view, rest = found.view, found.rest
    source = section_of(view, world).transposed((*found.axes, *rest))
    count, length = len(found.axes), prod(found.shape)
    kept = source.shape[count:]
    whole = all(axis.is_undistributed for axis in source.layout.axes[:count])
    if found.everywhere and whole and source.layout.copies == 1 and not source.layout.is_replicated:
        # nothing moves: each rank picks from its own columns
        block = source.block[:0].reshape(0, *source.block.shape[count:])
        if source.layout.coordinates(world.rank) is not None:
            block = source.block[found.parts]
        first = [even_line(length, 1).axes[0]]
        table = source.layout.table.reshape((1, *source.layout.grid[count:], 1))
        made = Section(
            block, Layout.of([*first, *source.layout.axes[count:]], world.size, table),
            world.communicator,
        )  # fmt: skip
        return _shaped(made, found, world, stay=True)
    parts = found.parts
    if found.everywhere:
        low, high = even_part(length, world.size, world.rank)
        parts = tuple([part[low:high] for part in parts])
    target = even_rows((length, *kept), world.size)
    if trailing_rows(source.layout, count):
        most = (
            policy.limits.brought if world.size == 2 else config.small
        )  # of which a rank has a large part anyway
        if source.layout.size <= min(most, 4 * length * prod(kept)):
            # sooner brought together than asked for element by element
            source = redistributed(source, Layout.replicated(source.shape, world.size))
        block = fetch(source, parts)
    else:
        mesh = [part.reshape(-1, *(1,) * len(kept)) for part in parts]
        for k, n in enumerate(kept):
            mesh.append(np.arange(n).reshape((1,) * (k + 1) + (n,) + (1,) * (len(kept) - k - 1)))
        block = fetch(source, tuple(np.broadcast_arrays(*mesh)))
    return _shaped(Section(block, target, world.communicator), found, world)


def _shaped(made: Section, found: Picked, world: World, *, stay: bool = False) -> Any:
    """The picked rows in the shape of the result: they stay in a line if that is balanced."""
    kept = made.shape[1:]
    lead = len(found.shape)
    shape = (*found.shape, *kept)
    layout = result_layout(shape, world)
    if layout.is_replicated or lead != 1 or not (stay or made.shape[0] >= world.size):
        made = reshaped(made, layout)
    if not shape:
        return made.block[()]
    result = of_section(made, world)
    if len(kept) > 1 and found.view.size:  # behind the indices, axes stay in memory as they are
        taken = tuple([0 if k in found.axes else slice(None) for k in range(found.view.ndim)])
        rest = kept_order(kept, (found.view._shape_of_view().index(taken),))
        if rest is not None:
            result = shaping.in_order(result, (*range(lead), *[lead + k for k in rest]))
    if not found.place:
        return result
    order = (*range(lead, lead + found.place), *range(lead), *range(lead + found.place, len(shape)))
    return shaping.transpose(result, order)


def put(handle: Any, key: Any, value: Any, ufunc: np.ufunc | None = None) -> bool:
    """``handle[key] = value``, or ``ufunc.at(handle, key, value)``; whether it was done."""
    world = world_of([handle])
    if world is None or not is_native(handle.dtype):
        return False
    in_step(world, f"{ufunc.__name__}.at" if ufunc else "an assignment", handle, key, value)
    if not isinstance(value, (Handle, np.ndarray, list, tuple, np.generic, int, float, complex)):
        return False
    if not isinstance(value, (Handle, np.ndarray)):  # NumPy says what does not fit
        own = ufunc is None and not isinstance(value, np.generic)
        value = np.asarray(value, handle.dtype if own else None)
    if not is_native(value.dtype) or handle._cell.node.place is None:
        return False
    if ufunc is None and value.dtype != handle.dtype:
        value = value.astype(handle.dtype)  # whole, so that every rank hears NumPy's warnings
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if _masks_all_of(handle, mask):
        return ufunc is None and _put_masked(handle, mask, value, world)
    if not handle._geometry.is_base and handle._geometry.axes is None:
        return False
    found = _picked(handle, key, world)
    if found is None or found.view._geometry.axes is None:
        return False
    shape = found.result_shape
    extra = value.ndim - len(shape)
    if extra > 0 and value.shape[:extra] == (1,) * extra:
        value = value[(0,) * extra]
    try:
        fits = np.broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"shape mismatch: value array of shape {shape_text(value.shape)} could not be broadcast "
            f"to indexing result of shape {shape_text(shape)}"
        )
    _stored(handle, found, value, world, ufunc)
    return True


def _stored(handle: Any, found: Picked, value: Any, world: World, ufunc: np.ufunc | None) -> None:
    shape, lead, place = found.result_shape, len(found.shape), found.place
    kept = [found.view.shape[k] for k in found.rest]
    length = prod(found.shape)
    parts = found.parts
    mine: Any = slice(None)
    spread = place_of(value) is not None
    low, high = even_part(length, world.size, world.rank)
    if found.everywhere:
        mine = slice(low, high)
        parts = tuple([part[mine] for part in parts])
    order = (*range(place, place + lead), *range(place), *range(place + lead, len(shape)))
    if spread:
        wide = value if value.shape == shape else shaping.broadcast_to(value, shape)
        section = section_of(shaping.transpose(wide, order), world)
        values = reshaped(section, even_rows((length, *kept), world.size)).block
    else:
        array = value._array() if isinstance(value, Handle) else value
        wide = np.broadcast_to(array, shape).transpose(order)
        if array.size == 1:
            values = np.broadcast_to(array.reshape(()), (high - low, *kept))
        elif not found.shape:
            values = wide[None][low:high]
        else:
            values = wide[np.unravel_index(np.arange(low, high), found.shape)]
    store_view(found.view, found.axes, parts, found.rest, values, world, ufunc)


def store_view(
    view: Any,
    axes: tuple[int, ...],
    parts: tuple[Array, ...],
    rest: tuple[int, ...],
    values: Array,
    world: World,
    ufunc: np.ufunc | None = None,
) -> None:
    """Write rows at indices of some axes of a view, or join them, in the blocks of its base."""
    base = block_of(view._cell, world)
    geometry: Geometry = view._geometry
    leading = tuple(range(len(axes)))
    if geometry.is_base and axes == leading and trailing_rows(base.layout, len(axes)):
        store(base, parts, values, ufunc)
        return
    mesh: list[Array] = [np.empty(0)] * view.ndim
    for axis, part in zip(axes, parts):
        mesh[axis] = part.reshape(-1, *(1,) * len(rest))
    for k, axis in enumerate(rest):
        n = view.shape[axis]
        mesh[axis] = np.arange(n).reshape((1,) * (k + 1) + (n,) + (1,) * (len(rest) - k - 1))
    full = np.broadcast_arrays(*mesh)
    indices = []
    for first, steps in geometry.axes or ():
        index = np.full(full[0].shape, first, np.int64)
        for axis, step in steps:
            index += step * full[axis]
        indices.append(index)
    store(base, tuple(indices), values, ufunc)


def put_across(cell: Cell, region: Geometry, value: Any) -> bool:
    """Write through a view that no axis map describes, where the base lies on several ranks."""
    place = cell.node.place
    if place is None or place.world.size == 1 or not is_native(region.dtype):
        return False  # a structure may be assigned a tuple, which is no array
    if region.dtype != cell.geometry.dtype:
        return _put_part(cell, region, value)
    world: World = place.world
    value = value if isinstance(value, (Handle, np.ndarray)) else np.asarray(value)
    shape = getattr(value, "shape", ())
    if not (is_native(value.dtype) and region.size and region.shape and is_readable(region)):
        return False
    if value.dtype.kind == "c" and region.dtype.kind != "c":
        return False  # with NumPy's warning
    try:
        if np.broadcast_shapes(shape, region.shape) != region.shape:
            return False
    except ValueError:
        return False
    in_step(world, "an assignment", region, value)
    layout = Layout.default(region.shape, world.size)
    wide = shaping.broadcast_to(asarray(value), region.shape)
    given = redistributed(section_of(wide, world), layout).block
    held = np.ix_(*[part.array() for part in layout.region(world.rank)])
    store(block_of(cell, world), base_indices(region, held), given)
    return True


def _put_part(cell: Cell, region: Geometry, value: Any) -> bool:
    """Write the same part (a field, the real part) of elements of an array that lies on several ranks in blocks."""
    place, shown = cell.node.place, region.elements
    world: World = place.world
    if shown is None or crosses(shown) or not place.layout.is_block:
        return False
    if type(value) in FAST_SCALARS:
        value = np.array(value, region.dtype)  # what does not fit is NumPy's error, on all ranks
    dtype = getattr(value, "dtype", None)
    if dtype is None or not is_native(dtype):
        return False
    if dtype.kind == "c" and region.dtype.kind != "c":
        return False  # with NumPy's warning
    try:
        wide = shaping.broadcast_to(asarray(value), region.shape)
    except ValueError:
        return False
    in_step(world, "an assignment", region, value)
    home = placed_view(place, region)
    section = section_of(wide, world)
    given = section.block if home is None else redistributed(section, home.layout).block
    block_of_view(cell.own().array, place, region)[...] = given
    return True


def _put_masked(handle: Any, mask: Any, value: Any, world: World) -> bool:
    """``handle[mask] = value`` for a mask of the array's shape."""
    geometry: Geometry = handle._geometry
    if not geometry.is_base:
        where = positions_under(section_of(mask, world))
        split = np.unravel_index(where.block, handle.shape)
        arrays = tuple([of_section(where.with_block(p.astype(np.int64)), world) for p in split])
        if value.ndim and value.size != 1 and value.shape != (where.layout.size,):
            _refuse(value, where.layout.size)
        return put(handle, arrays, value)
    given = section_of(mask, world)
    if isinstance(value, Handle):
        section_of(value, world)  # evaluated before the block is written to
    base = block_of(handle._cell, world)
    chosen = redistributed(given, base.layout).block
    if value.ndim == 0 or value.size == 1:
        base.block[chosen] = np.asarray(
            value._array() if isinstance(value, Handle) else value
        ).reshape(())
        return True
    numbers, total = numbered(base.with_block(chosen), world)
    if value.shape != (total,):
        _refuse(value, total)
    found = fetch(section_of(value, world), (numbers.block[chosen],))
    base.block[chosen] = found
    return True


def _refuse(value: Any, count: int) -> None:
    if value.ndim > 1:
        raise ValueError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input "
            f"has {value.ndim} dimensions"
        )
    raise ValueError(
        f"NumPy boolean array indexing assignment cannot assign {value.shape[0]} input values to "
        f"the {count} output values where the mask is true"
    )


def numbered(mask: Section, world: World) -> tuple[Section, int]:
    """For each true element of a mask, how many true ones come before it in C order; how many there are."""
    line = mask if is_line(mask.layout) else reshaped(mask, even_line(mask.layout.size, world.size))
    counts = allgather(
        world.communicator, np.array([np.count_nonzero(line.block)]), "how many are chosen"
    ).reshape(-1)
    before = int(counts[: world.rank].sum())
    numbers = np.cumsum(line.block.reshape(-1), dtype=np.int64).reshape(line.block.shape)
    numbers += before - 1
    made = line.with_block(numbers)
    return made if line is mask else reshaped(made, mask.layout), int(counts.sum())
