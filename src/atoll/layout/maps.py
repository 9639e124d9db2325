"""The constructors by which a user describes the distribution of an axis.

Each constructor is a plain value, not yet bound to a size or to a number of processes; ``bind`` checks it against both
and makes the axis map. ``described`` is the inverse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ..errors import LayoutError, LayoutIndexError
from .axes import Axis, BlockAxis, CyclicAxis, UnstructuredAxis, Widths
from .bounds import Bounds, Halos, balanced_bounds, ceiling_bounds, is_even
from .grids import best_grid
from .index_set import IndexSet, is_index, listed


def whole_number(value: object, what: str, least: int | None = None) -> int:
    """``value`` as an int. If it is no integer, or less than ``least``, the error begins with ``what``."""
    number = None
    if is_index(value) and not isinstance(value, (bool, np.bool_)):
        # An array has an __index__ that serves for a single integer only.
        with suppress(TypeError):
            number = value.__index__()
    if number is None:
        raise LayoutError(f"{what} must be an integer, not {value!r}")
    if least is not None and number < least:
        raise LayoutError(f"{what} is {number}; it must be at least {least}")
    return number


def _flag(value: object, what: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise LayoutError(f"{what} must be True or False, not {value!r}")
    return bool(value)


def _items(value: object, what: str) -> Sequence[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise LayoutError(f"{what} must be a sequence, not {value!r}")
    return tuple(value)


def _padding(value: object, what: str) -> Widths | tuple[Widths, ...]:
    """One pair of widths, or one pair per process."""
    items = _items(value, f"{what}: padding")
    if items and all(not is_index(item) for item in items):
        return tuple(_pair(item, f"{what}: padding of process {i}") for i, item in enumerate(items))
    return _pair(items, f"{what}: padding")


def _pair(value: object, what: str) -> Widths:
    items = _items(value, what)
    if len(items) != 2:
        raise LayoutError(f"{what} is {value!r}; it must be a pair (left, right)")
    left, right = (whole_number(item, what, 0) for item in items)
    return left, right


class Map(ABC):
    """The common interface of the constructors."""

    __slots__ = ()

    def processes(self) -> int | None:
        """The number of processes that the map requires, ``None`` for any."""
        return None

    @abstractmethod
    def bind(self, size: int, processes: int, axis: int) -> Axis:
        """The map of axis number ``axis``, which has ``size`` elements, on ``processes``."""


@dataclass(frozen=True, slots=True, repr=False)
class Block(Map):
    """Contiguous blocks.

    ``bounds`` lists the starts of the blocks, and the size of the axis at the end; without it blocks differ by one
    element at most, and ``"ceil"`` makes all but the last ones ``ceil(size / processes)`` long. ``padding`` gives the
    widths left and right of each block, as one pair or as one pair per process. On the outermost sides of an axis that
    is not ``periodic`` they are boundary padding and belong to the block; all others are ghost regions for copies of
    the neighbours' elements.
    """

    bounds: Sequence[int] | str | None = None
    padding: Sequence[int] | Sequence[Sequence[int]] = (0, 0)
    periodic: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.bounds, str):
            if self.bounds != "ceil":
                raise LayoutError(
                    f"Block: bounds is {self.bounds!r}; it must be None, 'ceil', or a sequence of integers"
                )
        elif self.bounds is not None:
            items = _items(self.bounds, "Block: bounds")
            numbers = tuple(whole_number(item, "Block: a bound") for item in items)
            object.__setattr__(self, "bounds", numbers)
        object.__setattr__(self, "padding", _padding(self.padding, "Block"))
        object.__setattr__(self, "periodic", _flag(self.periodic, "Block: periodic"))

    def processes(self) -> int | None:
        if self.bounds is not None and not isinstance(self.bounds, str):
            return max(len(self.bounds) - 1, 1)
        return len(self.padding) if isinstance(self.padding[0], tuple) else None

    def bind(self, size: int, processes: int, axis: int) -> BlockAxis:
        place = f"layout: axis {axis} has"
        if self.bounds is None:
            bounds = balanced_bounds(size, processes)
        elif isinstance(self.bounds, str):
            bounds = ceiling_bounds(size, processes)
        else:
            bounds = tuple(self.bounds)
            if any(a > b for a, b in pairwise(bounds)):
                raise LayoutError(f"{place} block bounds {bounds}; bounds must not decrease")
            if not bounds or bounds[0] != 0 or bounds[-1] != size:
                raise LayoutError(
                    f"{place} block bounds {bounds}; they must begin with 0 and end with "
                    f"the size of the axis, {size}"
                )
            if len(bounds) != processes + 1:
                raise LayoutError(
                    f"{place} block bounds {bounds}; {processes} processes need {processes + 1} bounds, not {len(bounds)}"
                )
        halos, ends = _padded(self.padding, bounds, self.periodic, place)
        return BlockAxis(size, bounds, halos, ends, self.periodic)

    def __repr__(self) -> str:
        said = [] if self.bounds is None else [repr(self.bounds)]
        if self.padding != (0, 0):
            said.append(f"padding={self.padding!r}")
        if self.periodic:
            said.append("periodic=True")
        return f"Block({', '.join(said)})"


def _padded(
    padding: Sequence[int] | Sequence[Sequence[int]],
    bounds: Sequence[int],
    periodic: bool,
    place: str,
) -> tuple[Sequence[Widths] | None, Widths]:
    """Padding sorted into communication widths of each block, and boundary widths."""
    processes = len(bounds) - 1
    if isinstance(padding[0], int) and isinstance(padding[1], int):
        left, right = padding[0], padding[1]
        if left == right == 0:
            return None, (0, 0)
        shortest = bounds[-1] - bounds[-2]
        if type(bounds) is Bounds and max(left, right) <= shortest:  # no block is shorter
            if periodic:
                return Halos((left, right), (left, right), (left, right), processes), (0, 0)
            return Halos((0, right), (left, right), (left, 0), processes), (left, right)
    pairs = [item for item in padding if not isinstance(item, int)]
    single = [item for item in padding if isinstance(item, int)]
    widths: list[Widths] = [(left, right) for left, right in pairs]
    if single:
        widths = [(single[0], single[1])] * processes
    if len(widths) != processes:
        raise LayoutError(
            f"{place} padding for {len(widths)} processes; it must be one pair (left, right), or one for each of the {processes} processes along the axis"
        )
    if not any(left or right for left, right in widths):
        return None, (0, 0)
    ends = (0, 0) if periodic else (widths[0][0], widths[-1][1])
    for coordinate, end, side in ((0, ends[0], "left"), (processes - 1, ends[1], "right")):
        owned = bounds[coordinate + 1] - bounds[coordinate]
        if end > owned:
            raise LayoutError(
                f"{place} boundary padding {end} on the {side} of process {coordinate}, which owns {owned} elements; boundary padding is part of what the process owns, so it must not be wider"
            )
    if processes == 1 and sum(ends) > bounds[-1]:
        raise LayoutError(
            f"{place} boundary padding {ends} on {bounds[-1]} elements; the two sides must not meet: choose smaller padding"
        )
    if not periodic:
        widths[0] = (0, widths[0][1])
        widths[-1] = (widths[-1][0], 0)
    for coordinate, pair in enumerate(widths):
        for width, step, side in ((pair[0], -1, "left"), (pair[1], 1, "right")):
            other = (coordinate + step) % processes
            owned = bounds[other + 1] - bounds[other]
            if width > owned:
                raise LayoutError(
                    f"{place} communication padding {width} on the {side} of process {coordinate}, but its neighbour, process {other}, owns only {owned} elements; choose smaller padding or larger blocks"
                )
    halos = tuple(widths) if any(left or right for left, right in widths) else None
    return halos, ends


@dataclass(frozen=True, slots=True, repr=False)
class Undistributed(Map):
    """The whole axis on every process that takes part; padding as for :class:`Block`."""

    padding: Sequence[int] = (0, 0)
    periodic: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "padding", _pair(self.padding, "Undistributed: padding"))
        object.__setattr__(self, "periodic", _flag(self.periodic, "Undistributed: periodic"))

    def processes(self) -> int | None:
        return 1

    def bind(self, size: int, processes: int, axis: int) -> BlockAxis:
        if processes != 1:
            raise LayoutError(
                f"layout: axis {axis} is undistributed, but the grid has {processes} processes along it; the grid must have 1 there, or the axis another map, such as 'b'"
            )
        return Block(None, self.padding, self.periodic).bind(size, 1, axis)

    def __repr__(self) -> str:
        said = [] if self.padding == (0, 0) else [f"padding={self.padding!r}"]
        if self.periodic:
            said.append("periodic=True")
        return f"Undistributed({', '.join(said)})"


@dataclass(frozen=True, slots=True, repr=False)
class Cyclic(Map):
    """Blocks of ``block_size`` elements, distributed to the processes in turn.

    The first block lacks its first ``offset`` elements, as in a slice of a cyclic axis.
    """

    block_size: int = 1
    offset: int = 0

    def __post_init__(self) -> None:
        size = whole_number(self.block_size, "Cyclic: block_size", 1)
        offset = whole_number(self.offset, "Cyclic: offset", 0)
        if offset >= size:
            raise LayoutError(
                f"Cyclic: offset is {offset}; it must be less than block_size, {size}"
            )
        object.__setattr__(self, "block_size", size)
        object.__setattr__(self, "offset", offset)

    def bind(self, size: int, processes: int, axis: int) -> CyclicAxis:
        return CyclicAxis(size, processes, self.block_size, self.offset)

    def __repr__(self) -> str:
        if self.offset:
            return f"Cyclic({self.block_size}, offset={self.offset})"
        return f"Cyclic({self.block_size})" if self.block_size > 1 else "Cyclic()"


@dataclass(frozen=True, slots=True, repr=False)
class Unstructured(Map):
    """Explicit lists of indices: ``indices`` has one sequence for each process.

    Several processes may hold an index unless ``one_to_one``; the first of them owns it. With
    ``labels`` the indices may be any distinct integers and need not fill the axis.
    """

    indices: Sequence[Any]
    one_to_one: bool = False
    labels: bool = False

    def __post_init__(self) -> None:
        sets = []
        for process, given in enumerate(_items(self.indices, "Unstructured: indices")):
            sets.append(_index_set(given, f"Unstructured: the indices of process {process}"))
        if not sets:
            raise LayoutError(
                "Unstructured: indices is empty; it must have a sequence of indices for each process"
            )
        object.__setattr__(self, "indices", tuple(sets))
        object.__setattr__(self, "one_to_one", _flag(self.one_to_one, "Unstructured: one_to_one"))
        object.__setattr__(self, "labels", _flag(self.labels, "Unstructured: labels"))

    def processes(self) -> int | None:
        return len(self.indices)

    def bind(self, size: int, processes: int, axis: int) -> UnstructuredAxis:
        place = f"layout: axis {axis} has"
        if len(self.indices) != processes:
            raise LayoutError(
                f"{place} indices for {len(self.indices)} processes; there must be one sequence for each of the {processes} processes along the axis"
            )
        held = [part.array() for part in self.indices]
        if self.one_to_one or not self.labels:
            self._check(size, held, place)
        return UnstructuredAxis(size, tuple(self.indices), self.one_to_one, self.labels)

    def _check(self, size: int, held: list[Any], place: str) -> None:
        if not self.labels:
            for process, part in enumerate(held):
                outside = part[(part < 0) | (part >= size)]
                if len(outside):
                    raise LayoutError(
                        f"{place} the index {int(outside[0])} on process {process}; indices must "
                        f"be in range({size}), or be declared as labels"
                    )
        values, counts = np.unique(np.concatenate(held), return_counts=True)
        if not self.labels and len(values) != size:
            lost = np.setdiff1d(np.arange(size), values)
            raise LayoutError(
                f"{place} no process for {len(lost)} of its {size} indices, the first is {int(lost[0])}; every index must be on a process, or the indices be declared as labels (labels=True)"
            )
        if self.one_to_one and (counts > 1).any():
            raise LayoutError(
                f"{place} the index {int(values[counts > 1][0])} on several processes; with one_to_one=True each index must be on one"
            )

    def __repr__(self) -> str:
        count = sum(map(len, self.indices))
        if count <= 40:
            said = [repr(tuple(part.array().tolist() for part in self.indices))]
        else:
            said = [f"<{len(self.indices)} processes, {count} indices>"]
        said += [f"{word}=True" for word in ("one_to_one", "labels") if getattr(self, word)]
        return f"Unstructured({', '.join(said)})"


def _index_set(given: object, what: str) -> IndexSet:
    if isinstance(given, IndexSet):
        return given
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise LayoutError(f"{what} must be integers in one dimension, not {given!r}")
    values, counts = np.unique(array, return_counts=True)
    if (counts > 1).any():
        raise LayoutError(
            f"{what} contain {int(values[counts > 1][0])} twice; they must be distinct"
        )
    return listed(array.astype(np.int64))


ONE_MAP = (
    "a map must be 'b' (blocks), 'c' (cyclic), 'n' or None (undistributed), or one of Block(...), Cyclic(...), "
    "Unstructured(...), Undistributed(...)"
)
LETTERS: dict[str, Map] = {"b": Block(), "c": Cyclic(), "n": Undistributed()}


def as_map(given: object, axis: int) -> Map:
    """The map that a letter, ``None`` or a constructor stands for."""
    if given is None:
        return LETTERS["n"]
    if isinstance(given, Map):
        return given
    if isinstance(given, str) and given in LETTERS:
        return LETTERS[given]
    if isinstance(given, type) and issubclass(given, (Block, Cyclic, Undistributed)):
        return given()
    raise LayoutError(f"layout: the map of axis {axis} is {given!r}; {ONE_MAP}")


def described(axis: Axis) -> Map:
    """The constructor that makes ``axis`` when it is bound to its size and processes."""
    if isinstance(axis, CyclicAxis):
        return Cyclic(axis.block_size, axis.offset)
    if isinstance(axis, UnstructuredAxis):
        return Unstructured(axis.sets, axis.one_to_one, axis.labels)
    assert isinstance(axis, BlockAxis)
    if axis.is_plain and axis.processes > 1:
        return Block(None if is_even(axis.bounds) else tuple(axis.bounds))
    widths = list(axis.halos) if axis.halos else [(0, 0)] * axis.processes
    widths[0] = (widths[0][0] + axis.ends[0], widths[0][1])
    widths[-1] = (widths[-1][0], widths[-1][1] + axis.ends[1])
    padding = widths[0] if len(set(widths)) == 1 else tuple(widths)
    if axis.processes == 1:
        return Undistributed(widths[0], axis.periodic)
    bounds = None if is_even(axis.bounds) else tuple(axis.bounds)
    return Block(bounds, padding, axis.periodic)


# Functions that read and check a caller's shapes, maps, grids, ranks and keys


_NO_INTEGERS = (bool, np.bool_, np.ndarray)


def read_shape(given: object) -> tuple[int, ...]:
    """A shape; an integer is the shape of one axis."""
    items = given if isinstance(given, Iterable) else (given,)
    return tuple(
        whole_number(item, f"layout: the extent of axis {axis}", 0)
        for axis, item in enumerate(items)
    )


def several(axes: int | Sequence[int]) -> Sequence[int]:
    """A sequence of axes, also for a single number."""
    return (axes.__index__(),) if is_index(axes) else tuple(axes)  # type: ignore[arg-type]


def read_axes(given: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    """Different axes of an array of ``ndim`` axes, counted from the front."""
    numbers = []
    for axis in several(given):
        number = whole_number(axis, "layout: an axis")
        if not -ndim <= number < ndim:
            raise LayoutIndexError(
                f"layout: there is no axis {number} of an array of {ndim} axes; axes are {-ndim} to {ndim - 1}"
            )
        numbers.append(number % ndim)
    if len(set(numbers)) != len(numbers):
        raise LayoutError(f"layout: {given!r} names an axis twice; the axes must differ")
    return tuple(numbers)


def read_key(key: Any, shape: tuple[int, ...]) -> list[range | int | None]:
    """A basic index, spelled out: one range or integer per axis, ``None`` for new axes."""
    items = list(key) if isinstance(key, tuple) else [key]
    dots = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise LayoutIndexError(
            f"layout: the index {key!r} has {len(dots)} ellipses; an index can have one ellipsis ('...') only"
        )
    missing = len(shape) - sum(item is not None and item is not Ellipsis for item in items)
    if missing < 0:
        raise LayoutIndexError(
            f"layout: too many indices: {len(shape) - missing} for {len(shape)} axes; there must be at most one for each axis of the shape {shape}"
        )
    place = dots[0] if dots else len(items)
    items[place : place + 1] = [slice(None)] * missing
    result: list[range | int | None] = []
    axis = 0
    for item in items:
        if item is None:
            result.append(None)
            continue
        extent = shape[axis]
        if isinstance(item, slice):
            result.append(range(extent)[item])
        elif is_index(item) and not isinstance(item, _NO_INTEGERS):
            number = item.__index__()
            if not -extent <= number < extent:
                raise LayoutIndexError(
                    f"layout: index {number} is out of bounds for axis {axis} with size {extent}; it must be from {-extent} to {extent - 1}"
                )
            result.append(number % extent)
        else:
            raise LayoutError(
                f"layout: {item!r} is not an integer, a slice, ... or None; a layout can be indexed by these only"
            )
        axis += 1
    return result


def read_maps(given: str | Map | Sequence[Any] | None, ndim: int) -> tuple[Map, ...]:
    """One map for each axis; a single constructor is the map of one axis."""
    if given is None:
        return (Block(),) * ndim
    if isinstance(given, Map):
        given = (given,)
    example = "b" + "n" * (ndim - 1)
    if not isinstance(given, Iterable):
        raise LayoutError(
            f"layout: {given!r} is no layout; it must be an atoll.Layout, a letter for each axis, such as {example!r}, or a "
            f"sequence with a map for each; {ONE_MAP}"
        )
    chosen = tuple(as_map(item, axis) for axis, item in enumerate(given))
    if len(chosen) != ndim:
        raise LayoutError(
            f"layout: {len(chosen)} maps {given!r} for an array of {ndim} axes; there must be one for each axis, such as {example!r}"
        )
    return chosen


def read_ranks(ranks: Iterable[int], processes: int) -> list[int]:
    """Distinct ranks of a world of ``processes``."""
    members = [whole_number(rank, "layout: a rank") for rank in ranks]
    if not members:
        raise LayoutError("layout: ranks is empty; it must name at least one rank")
    seen: set[int] = set()
    for rank in members:
        if not 0 <= rank < processes:
            raise LayoutError(f"layout: ranks contains {rank}; ranks must be in range({processes})")
        if rank in seen:
            raise LayoutError(f"layout: ranks contains {rank} twice; the ranks must differ")
        seen.add(rank)
    return members


def read_grid(
    shape: tuple[int, ...], maps: tuple[Map, ...], given: int | Sequence[int] | None, present: int
) -> tuple[int, ...]:
    """The processes along each axis: as given, as the maps require, or with the least surface."""
    asked = [kind.processes() for kind in maps]
    if given is not None:
        grid = tuple(
            whole_number(count, f"layout: the grid along axis {axis}", 1)
            for axis, count in enumerate(given if isinstance(given, Iterable) else (given,))
        )
        if len(grid) != len(shape):
            raise LayoutError(
                f"layout: grid {grid} for an array of {len(shape)} axes; it must have one number for each axis"
            )
        for axis, (count, wish) in enumerate(zip(grid, asked)):
            if wish not in (None, count):
                raise LayoutError(
                    f"layout: axis {axis} has {maps[axis]!r}, which is for {wish} processes, but the grid {grid} has {count} there; these numbers must agree"
                )
    else:
        fixed = prod(wish for wish in asked if wish is not None)
        free = [axis for axis, wish in enumerate(asked) if wish is None]
        chosen = best_grid(tuple(shape[axis] for axis in free), max(present // fixed, 1))
        spread = dict(zip(free, chosen))
        grid = tuple(spread.get(axis, wish or 1) for axis, wish in enumerate(asked))
    if prod(grid) > present:
        raise LayoutError(
            f"layout: the grid {grid} needs {prod(grid)} processes, but there are {present}; run the program on as many: atoll run -n {prod(grid)} ..."
        )
    return grid


_default_size: list[Callable[[], int]] = []
_per_node: list[Callable[[int], int]] = []


def set_default_size(function: Callable[[], int]) -> None:
    """Set the function that returns the number of processes of a layout without an explicit one."""
    _default_size[:] = [function]


def set_ranks_per_node(function: Callable[[int], int]) -> None:
    """Set the function that returns the number of consecutive processes on each node, given the number of processes."""
    _per_node[:] = [function]


def read_size(size: object) -> int:
    """The number of processes that a layout is for."""
    if size is None:
        return _default_size[0]() if _default_size else 1
    return whole_number(size, "layout: the number of processes", 1)


def ranks_per_node(processes: int) -> int:
    """The number of consecutive processes that share each node, of ``processes`` in all."""
    return _per_node[0](processes) if _per_node else 1
