"""Elements at indices: integer arrays and masks, read and assigned through; flat indices; ``ufunc.at`` and ``ufunc.reduceat``.

The basic part of a key (slices, new axes) is a view. The rest is brought to one form: index arrays for some axes of
that view. Reading and assigning are recorded (:mod:`..collective.indexing`). Errors are raised at the call: every rank checks
its own index arrays, and the ranks agree whether all are in range. So index arrays are evaluated at the call. The true elements
of a mask are counted at the call, too: their number decides the shape of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import backend, policy
from ..collective import Section, compressed, positions_under
from ..collective.elements import compressed_rows
from ..collective.indexing import check_range, to_check
from ..collective.section import replicated
from ..collective.steps import is_readable
from ..comm.world import World, current_world
from ..config import config
from ..context.interrupts import passed_on
from ..graph.geometry import Geometry, choice_of, kept_order, shape_text, strided
from ..graph.node import source
from ..ops.elementwise import FAST_SCALARS, is_native
from ..ops.folds import FOLDS
from . import shapes
from .agreement import in_step, place_of, world_of
from .conversion import of_small, of_view
from .creation import arange, asarray
from .elementwise import general
from .sections import (
    bounds_of,
    of_section,
    record,
    record_write,
    section_of,
    small_or_there,
)
from .views import Cell, Handle, is_deferred

Array = np.ndarray[Any, Any]


class Selection(NamedTuple):
    """An advanced index in its common form."""

    view: Any
    """The basic part of the key, applied."""
    axes: tuple[int, ...]
    """The axes of the view that are indexed by arrays."""
    indices: list[Any]
    """The index arrays."""
    shape: tuple[int, ...]
    """Their common shape."""
    first: int
    """Positions of its axes in the result."""

    @property
    def kept(self) -> tuple[int, ...]:
        """The extents of the other axes of the view."""
        return tuple([n for k, n in enumerate(self.view.shape) if k not in self.axes])

    @property
    def result_shape(self) -> tuple[int, ...]:
        kept = self.kept
        return (*kept[: self.first], *self.shape, *kept[self.first :])


def _is_mask(item: Any) -> bool:
    return bool(getattr(item, "dtype", None) == np.bool_) or isinstance(item, (bool, np.bool_))


def _masks_all_of(handle: Any, key: Any) -> bool:
    """True if a key is a mask of the array's own shape."""
    is_array = isinstance(key, (Handle, np.ndarray)) and _is_mask(key)
    return is_array and handle.ndim > 0 and getattr(key, "shape", ()) == handle.shape


def _masks_rows_of(handle: Any, key: Any) -> bool:
    """True if a key is a mask of the first axes of the array, for the shape that these have."""
    shape: tuple[int, ...] = getattr(key, "shape", ())
    return _is_mask(key) and 0 < len(shape) < handle.ndim and handle.shape[: len(shape)] == shape


def _items(handle: Any, key: Any) -> list[tuple[Any, int]] | None:
    """The items of a key, one for each axis and new axis, each with the number of axes that it indexes: none of a basic one, negative of a
    mask; ``None`` for a key that is left to NumPy.
    """
    items: list[tuple[Any, int]] = []
    missing, place = handle.ndim, -1
    for item in key if isinstance(key, tuple) else (key,):
        if item is Ellipsis:
            if place >= 0:
                return None
            place = len(items)
            continue
        if item is None or isinstance(item, slice):
            items.append((item, 0))
            missing -= item is not None
            continue
        if isinstance(item, (list, tuple)):
            array = np.asarray(item)
            item = array.astype(np.intp) if array.size == 0 else array
        elif not isinstance(item, (Handle, np.ndarray)):
            item = np.asarray(item)
        kind = item.dtype.kind
        if kind not in "iub" or (kind == "b" and item.ndim == 0):
            return None
        count = item.ndim if kind == "b" else 1
        items.append((item, -count if kind == "b" else 1))
        missing -= count
    if missing < 0:
        return None
    place = len(items) if place < 0 else place
    items[place:place] = [(slice(None), 0)] * missing
    return items


def _selection(handle: Any, key: Any, world: World) -> Selection | None:
    items = _items(handle, key)
    if items is None:
        return None
    basic: list[Any] = []
    arrays: list[Any] = []
    axes: list[int] = []
    given: list[tuple[Any, int]] = []  # index arrays of the program's own, with their axes
    groups: list[int] = []  # places of advanced items among all, to see whether they are apart
    axis = 0
    for number, (item, count) in enumerate(items):
        if not count:
            basic.append(item)
            axis += 1
            continue
        groups.append(number)
        if count < 0:
            count = -count
            extents = handle.shape[sum([b is not None for b in basic]) :][:count]
            if tuple(extents) != tuple(item.shape):
                return None
            arrays += under(item, world)
        else:
            arrays.append(item)
            given.append((item, axis))
        axes += range(axis, axis + count)
        basic += [slice(None)] * count
        axis += count
    if not groups:  # a view, which ``ufunc.at`` may be given
        return None
    together = groups == list(range(groups[0], groups[0] + len(groups)))
    if basic == [slice(None)] * handle.ndim:
        view = handle
    elif handle._np is not None:
        view = of_small(handle._np[tuple(basic)])
    else:
        view = of_view(handle._cell, handle._geometry.index(tuple(basic)))
    lengths = view.shape
    check_indices(
        [item for item, _ in given], [k for _, k in given], [lengths[k] for _, k in given], world
    )
    if len(arrays) == 1:
        return Selection(view, tuple(axes), arrays, arrays[0].shape, axes[0] if together else 0)
    try:
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError as problem:
        passed_on(problem)
        return None
    return Selection(view, tuple(axes), arrays, shape, axes[0] if together else 0)


def under(mask: Any, world: World) -> list[Any]:
    """The positions where a mask is true: an index array for each axis, on every rank if they are few or every rank has the
    mask, so that owners send unasked, else in even blocks. Collective, unless every rank has the mask.
    """
    few = world.size <= policy.limits.few_ranks
    where = positions_under(section_of(mask, world), config.results if few else 0)
    split = np.unravel_index(where.block, mask.shape)
    return [of_section(where.with_block(part.astype(np.int64)), world) for part in split]


def check_indices(
    arrays: Sequence[Any], axes: Sequence[int], lengths: Sequence[int], world: World
) -> None:
    """Raise an error on all ranks if an index is out of range. Collective if some array lies on ranks, which do not know its bounds."""
    unknown = [
        (array, axis, length)
        for array, axis, length in zip(arrays, axes, lengths, strict=True)
        if not _are_within(array, length)
    ]
    if not unknown:
        return
    arrays, axes, lengths = zip(*unknown, strict=True)
    indices = [to_check(section_of(array, world)) for array in arrays]
    bounds = [bounds_of(array, index) for array, index in zip(arrays, indices)]
    check_range(indices, bounds, axes, lengths)


def _are_within(array: Any, length: int) -> bool:
    """True if all ranks know that the integers of an array are indices of an axis."""
    if not isinstance(array, Handle) or array._np is not None:
        return False
    value = array._cell.node.value
    if value is None or type(value.known) is not tuple:
        return False
    low, high = value.known[:2]  # a view has some of the integers, or other ones
    return array._geometry.dtype == array._cell.geometry.dtype and -length <= low and high < length


def operands(arrays: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """Index arrays as operands of a recorded operation, with their present values; distributed ones in their common shape."""
    taken: list[Any] = []
    for array in arrays:
        if place_of(array) is not None:
            taken.append(array if array.shape == shape else shapes.broadcast_to(array, shape))
        elif isinstance(array, Handle):
            taken.append(array)
        else:
            array = np.array(array)
            taken.append(source(array, strided(array.shape, array.dtype, array.strides)))
    return taken


def picked(handle: Any, key: Any) -> Any:
    """``handle[key]`` where an array in the key, or the array, lies on several ranks."""
    if not is_native(handle.dtype):
        return NotImplemented
    world = world_of([handle, *(key if isinstance(key, tuple) else (key,))])
    if world is None:
        return NotImplemented
    in_step(world, "the picking of elements", handle, key, moves="read")
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if _masks_all_of(handle, mask):
        given = section_of(handle, world), section_of(mask, world)
        return of_section(compressed(*given, config.results), world)
    if _masks_rows_of(handle, mask):
        rows = compressed_rows(section_of(handle, world), section_of(mask, world), config.results)
        if rows is not None:
            return of_section(rows, world)
    chosen = _selection(handle, key, world)
    return NotImplemented if chosen is None else selected(chosen)


def selected(chosen: Selection, *, dense: bool = False) -> Any:
    """Node of the selected elements; ``dense``: in C order."""
    view, lead, first, kept = chosen.view, len(chosen.shape), chosen.first, chosen.kept
    ndim = lead + len(kept)
    # the axes of the index arrays come first in the recorded operation
    order = (*range(lead, lead + first), *range(lead), *range(lead + first, ndim))
    memory: tuple[int, ...] | None = order if dense else None
    if (
        not dense and ndim > lead + 1 and view.size
    ):  # the axes after the indices keep their order in memory
        taken = tuple([0 if k in chosen.axes else slice(None) for k in range(view.ndim)])
        rest = kept_order(kept, (view._shape_of_view().index(taken),))
        if rest is not None:
            memory = (*range(lead), *[lead + k for k in rest])
    indices = operands(chosen.indices, chosen.shape)
    result = record("fancy indexing", (view, *indices), chosen.axes, order=memory)
    return shapes.transpose(result, order) if first and result is not NotImplemented else result


def put(handle: Any, key: Any, value: Any, ufunc: np.ufunc | None = None) -> bool:
    """``handle[key] = value``, or ``ufunc.at(handle, key, value)``; True if it was done."""
    world = world_of([handle])
    if world is None or not is_native(handle.dtype):
        return False
    what = f"{ufunc.__name__}.at" if ufunc else "an assignment"
    moves = "combined" if ufunc in FOLDS else "written"
    in_step(world, what, handle, key, value, moves=moves)
    if not isinstance(value, (Handle, np.ndarray, list, tuple, np.generic, int, float, complex)):
        return False
    if not isinstance(value, (Handle, np.ndarray)):  # NumPy rejects invalid values
        own = ufunc is None and not isinstance(value, np.generic)
        value = np.asarray(value, handle.dtype if own else None)
    if not is_native(value.dtype) or handle._cell.node.place is None:
        return False
    if ufunc is None and value.dtype != handle.dtype:
        value = value.astype(handle.dtype)  # whole, so that every rank hears NumPy's warnings
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if _masks_all_of(handle, mask):
        if ufunc is not None:
            return False
        key = tuple(under(mask, world))
        if value.ndim and value.size != 1 and value.shape != key[0].shape:
            kept = np.ones(key[0].shape, np.bool_)
            kept[kept] = np.broadcast_to(np.True_, value.shape)  # NumPy's error
    chosen = _selection(handle, key, world)
    if chosen is None or not has_elements(chosen.view._geometry):
        return False
    shape = chosen.result_shape
    extra = value.ndim - len(shape)
    if extra > 0 and value.shape[:extra] == (1,) * extra:
        value = value[(0,) * extra]
    try:
        fits = np.broadcast_shapes(value.shape, shape) == shape
    except ValueError as problem:
        passed_on(problem)
        fits = False
    if not fits:
        raise ValueError(
            f"shape mismatch: value array of shape {shape_text(value.shape)} could not be broadcast "
            f"to indexing result of shape {shape_text(shape)}"
        )
    if prod(shape):
        write(chosen.view, value, shape, chosen.indices, chosen.axes, chosen.first, ufunc)
    return True


def write(
    view: Any,
    value: Any,
    shape: tuple[int, ...],
    indices: Sequence[Any],
    axes: tuple[int, ...] | None,
    first: int = 0,
    ufunc: np.ufunc | None = None,
) -> None:
    """Record a write of a value, broadcast to ``shape``, at indices of some axes of a view; ``ufunc`` combines it with the elements."""
    geometry: Geometry = view._geometry
    common = np.broadcast_shapes(*[index.shape for index in indices])
    given = *operands([value], shape), *operands(indices, common)
    region = None
    if not is_written_through(view._cell, geometry):
        region, view = geometry, of_view(view._cell, geometry.base)
    record_write("assign at indices", view, given, region, axes, first, ufunc)


def has_elements(view: Geometry) -> bool:
    """True if a view has elements of its base, or the same part of each of them, without axes inside of one."""
    return not view.size or view.within == ()


def is_written_through(cell: Cell, view: Geometry) -> bool:
    """True if each rank's part of a view is memory of its block."""
    if view.is_base or not cell.node.place.is_boxes:
        return view.is_base
    choice = choice_of(view)
    return choice is not None and len(choice[1]) == view.ndim


def put_across(cell: Cell, region: Geometry, value: Any) -> bool:
    """Write through a view that no axis map describes, or into a part of elements, of an array on several ranks."""
    place = cell.node.place
    if place is None or place.world.size == 1 or not is_native(region.dtype):
        return False  # a structure may be assigned a tuple, which is no array
    part = region.dtype != cell.geometry.dtype
    if not isinstance(
        value, (Handle, np.ndarray)
    ):  # a value that does not fit is NumPy's error, on all ranks
        value = np.array(value, region.dtype if part and type(value) in FAST_SCALARS else None)
    if part:
        elements = region.elements if has_elements(region) else None
        usable = elements is not None and is_written_through(cell, elements)
    else:
        usable = bool(region.size and region.shape) and is_readable(region)
    if not usable or not is_native(value.dtype):
        return False
    if value.dtype.kind == "c" and region.dtype.kind != "c":
        return False  # with NumPy's warning
    try:
        wide = shapes.broadcast_to(asarray(value), region.shape)
    except ValueError as problem:
        passed_on(problem)
        return False
    in_step(place.world, "an assignment", region, value, moves="written")
    record_write("write across ranks", of_view(cell, cell.geometry), (wide,), region)
    return True


def true_positions(handle: Any, name: str) -> tuple[Section, World] | None:
    """The flat positions of elements other than zero, and the ranks that find them together; ``None`` where NumPy finds them. Collective."""
    world = world_of([handle])
    if world is not None:
        in_step(world, name, handle)
    elif handle._np is not None or is_deferred(handle):
        return None
    if not is_native(handle.dtype) or not handle.ndim:
        return None
    truth = handle if handle.dtype == np.bool_ else general(np.not_equal, handle, 0)
    if world is not None:
        return positions_under(section_of(truth, world), config.results), world
    where = backend.current().true_positions(np.ascontiguousarray(truth._array()))
    return replicated(where, current_world().communicator), current_world()


def flatnonzero(handle: Any) -> Any:
    """The flat indices of the elements that are not zero."""
    positions = true_positions(handle, "flatnonzero")
    return NotImplemented if positions is None else small_or_there(*positions)


def wrapped(indices: Any, length: int, mode: str) -> Any:
    """Indices brought into range by the mode ``wrap`` or ``clip``."""
    if mode == "wrap":
        return general(np.remainder, indices, length)
    return general(np.minimum, general(np.maximum, indices, 0), length - 1)


def index_array(value: Any) -> Any:
    """An index array; recording copies a NumPy array."""
    return value if isinstance(value, Handle) else np.asarray(value)


def is_writeable(handle: Any, values: Any) -> bool:
    writeable = handle._cell.writeable and handle._geometry.writeable
    native = is_native(handle.dtype) and is_native(values.dtype)
    return writeable and native and has_elements(handle._geometry)


def flat_under(mask: Any) -> Any:
    """The flat indices at which a mask is true."""
    where = flatnonzero(mask)
    return asarray(np.flatnonzero(mask._array())) if where is NotImplemented else where


def put_flat(handle: Any, indices: Any, values: Any, mode: str, *, at_once: bool = False) -> bool:
    """Record ``np.put``, a write to flat indices with repeated values; True if it was done.

    An index out of range is an error after the writes to the indices before it; ``at_once``: before any write.
    """
    world = world_of([handle])
    if world is None or mode not in ("raise", "wrap", "clip"):
        return False
    in_step(world, "put", handle, indices, values, mode, moves="written")
    indices, values = index_array(indices), asarray(values)
    if indices.dtype.kind not in "iu" or not indices.size or not values.size or not handle.size:
        return False
    if not is_writeable(handle, values):
        return False
    if mode != "raise":
        indices = wrapped(indices, handle.size, mode)
    else:
        try:
            check_indices([indices], [0], [handle.size], world)
        except IndexError:
            flat = indices.reshape(-1)
            fit = int(((flat < -handle.size) | (flat >= handle.size)).argmax())
            if fit and not at_once:
                put_flat(handle, flat[:fit], values, mode)
            raise
    indices = indices.reshape(-1)
    values = values.astype(handle.dtype)  # whole, so that every rank hears NumPy's warnings
    if values.size == 1:
        values = shapes.reshape(values, ())
    elif values.size >= indices.size:
        values = shapes.ravel(values)[: indices.size]
    else:
        values = shapes.ravel(values)
        values = values[asarray(np.arange(indices.size) % values.size)]
    write(handle, values, indices.shape, [indices], None)
    return True


def put_in_line(handle: Any, key: Any, value: Any) -> bool:
    """``handle.flat[key] = value``, with values repeated if they are too few; True if it was done.

    ``key`` is a slice, an array or list of flat indices, a mask of the line, or the index of one element.
    """
    values = asarray(value)
    if not is_native(values.dtype):
        return False
    if type(key) is tuple:
        if values.size != 1:
            raise ValueError("Error setting single item of array.")
        handle[key] = shapes.reshape(values, ())
        return True
    if type(key) is slice:
        limits = key.indices(handle.size)
        places = arange(*limits, np.intp)
        key = asarray(np.arange(*limits)) if places is None else places
    elif isinstance(key, (list, np.ndarray, Handle)):
        key = asarray(key)
        if key.dtype == np.bool_ and key.shape == (handle.size,):
            key = flat_under(key)
    else:
        return False
    if not key.size:
        return True
    return put_flat(handle, key, values, "raise")


def at(ufunc: np.ufunc, a: Any, indices: Any, *values: Any) -> Any:
    """Record ``ufunc.at``: combine the elements at indices with values, once for each occurrence of an index."""
    if world_of([a]) is None or ufunc.nin != 2 or len(values) != 1:
        return NotImplemented
    if not (a._cell.writeable and a._geometry.writeable):
        return NotImplemented
    given = asarray(values[0])
    if not is_native(given.dtype):
        return NotImplemented
    try:
        kind = ufunc(np.empty(1, a.dtype), np.empty(1, given.dtype)).dtype
    except TypeError as problem:
        passed_on(problem)
        return NotImplemented
    fits = np.can_cast(given.dtype, a.dtype, "same_kind") and kind.kind == a.dtype.kind
    if not fits:  # NumPy knows about mixed dtypes
        return NotImplemented
    return None if put(a, indices, given, ufunc) else NotImplemented


def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Fold the segments between indices."""
    world = world_of([array])
    if world is None or not isinstance(array, Handle) or out not in (None, (None,)):
        return NotImplemented
    if ufunc not in FOLDS:  # parts are joined in any order
        return NotImplemented
    handle: Any = array
    if not is_native(handle.dtype) or not isinstance(axis, int) or not handle.size:
        return NotImplemented
    places = np.asarray(indices)
    axis = np.lib.array_utils.normalize_axis_index(axis, handle.ndim)
    length = handle.shape[axis]
    if places.dtype.kind not in "iu" or places.ndim != 1 or not places.size:
        return NotImplemented
    if (places < 0).any() or (places >= length).any():
        return NotImplemented
    kind = ufunc.reduceat(np.empty(1, handle.dtype), [0], dtype=dtype).dtype
    if not is_native(kind):
        return NotImplemented
    in_step(world, f"{ufunc.__name__}.reduceat", handle, indices, axis)
    first = (axis, *[k for k in range(handle.ndim) if k != axis])
    order = (*range(1, axis + 1), 0, *range(axis + 1, handle.ndim))
    starts = operands([places], places.shape)
    moved = shapes.transpose(handle, first)
    folded = record("reduceat", (moved, *starts), ufunc, kind, order=order)
    return shapes.transpose(folded, order)
