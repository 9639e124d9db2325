"""Index sets: the global indices of one axis that a rank holds, in order.

An index set is a finite sequence of distinct integers, kept in closed form. Position ``i`` in the sequence is the
*local* index, the integer at that position the *global* one. There are three kinds:

``Range``
    an arithmetic progression; the block of a rank, or a strided slice.
``Pattern``
    runs that repeat with a period, cut off at both ends: block-cyclic ownership, and slices and intersections of it. Element number
    ``v`` of the underlying comb stands at ``first + step * (v - lead)``; it belongs to the set when ``v`` lies in one of the runs
    ``[offset, offset + width)``, repeated every ``period``.
``Listed``
    an explicit array, in any order.

Ranges and patterns are closed under the four verbs of the algebra: *shift*, *slice* (``image``), *intersect* and
*locate* (``positions``). Slicing a comb by a stride turns each run into a shorter run, with ``stride / gcd(stride,
period)`` periods of the old comb in one of the new. Intersecting two combs solves, for each distance ``d`` at which two
runs overlap, one linear congruence: the runs at distance ``d`` recur with the least common multiple of the periods, so
a pair of runs gives ``(width + width) / gcd`` pieces however long the axis is. Where it is cheaper, the runs of the common window
are listed instead.

Results are brought to a simplest form: a comb of single elements is a ``Range``, two runs are one run repeated, a
period is as short as it can be. ``==`` compares these forms. Sets of equal indices that are neither ranges nor single
runs repeated can have different forms, if one was cut so short that its period does not show; then ``array()`` decides.

Only the positions at which a stride meets the runs of a comb, as local indices, have no closed form; ``positions``
lists one common period of the two there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Any, SupportsIndex, TypeGuard, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ..errors import LayoutIndexError

Indices = npt.NDArray[np.int64]
Key = slice | Indices


def is_index(value: object) -> TypeGuard[SupportsIndex]:
    """True if a value serves as an integer. (``isinstance`` asks the same, and takes fifty microseconds.)"""
    return hasattr(type(value), "__index__")


Item = TypeVar("Item")


class ComputedSequence(Sequence[Item]):
    """A sequence whose items are computed on access."""

    __slots__ = ()

    @abstractmethod
    def item(self, place: int) -> Item:
        """The item at a place, counted from the front."""

    def items(self, places: range) -> Sequence[Item]:
        """The items at some places."""
        return tuple(map(self.item, places))

    def place(self, item: Any) -> int | None:
        """The place of an item; ``None`` if the sequence does not contain it."""
        return next((place for place, each in enumerate(self) if each == item), None)

    def index(self, item: Any, *limits: Any) -> int:
        place = self.place(item)
        if place is None:
            raise ValueError(f"{item} is not in {self!r}")
        return place

    def __contains__(self, item: object) -> bool:
        return self.place(item) is not None

    @overload
    def __getitem__(self, key: int) -> Item: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Item]: ...
    def __getitem__(self, key: int | slice) -> Item | Sequence[Item]:
        places = range(len(self))[key]
        return self.items(places) if isinstance(places, range) else self.item(places)

    def __repr__(self) -> str:
        return repr(tuple(self))


class IndexSet(ABC):
    """The common interface; an index set is also a read-only sequence of its indices."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int:
        """The number of indices."""

    def __contains__(self, index: object) -> bool:
        """True if a global index is in the set."""
        return is_index(index) and bool(self.contains(index.__index__()))

    @abstractmethod
    def contains(self, indices: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """For each global index of an array, True if it is in the set."""

    @abstractmethod
    def _global(self, local: Any) -> Any:
        """:meth:`global_of` without checks."""

    @abstractmethod
    def _local(self, index: Any) -> Any:
        """:meth:`local_of` without checks."""

    @abstractmethod
    def array(self) -> Indices:
        """All indices in order, as an array."""

    @property
    @abstractmethod
    def lowest(self) -> int:
        """The smallest index; an error when the set is empty."""

    @property
    @abstractmethod
    def highest(self) -> int:
        """The largest index; an error when the set is empty."""

    @property
    @abstractmethod
    def is_contiguous(self) -> bool:
        """True if the indices follow each other one by one, ascending."""

    @property
    @abstractmethod
    def key(self) -> Key:
        """The NumPy index of these positions on one axis: a slice where one will do, else an array."""

    @abstractmethod
    def shifted(self, by: int) -> IndexSet:
        """Every index plus ``by``."""

    @abstractmethod
    def reversed(self) -> IndexSet:
        """The same indices in the opposite order."""

    @abstractmethod
    def scaled(self, step: int, offset: int) -> IndexSet:
        """Every index times ``step`` plus ``offset``, in the same order."""

    @abstractmethod
    def divided(self, step: int, offset: int) -> IndexSet:
        """The inverse of :meth:`scaled`, for indices that it can produce."""

    @abstractmethod
    def intersection(self, other: IndexSet) -> IndexSet:
        """The indices that both sets have, in ascending order."""

    @abstractmethod
    def image(self, selected: range) -> IndexSet:
        """The ``j`` for which ``selected[j]`` is in the set, in the order of the sliced set.

        Ascending sets give ascending images; lists and descending ranges keep their order.
        """

    @abstractmethod
    def positions(self, subset: IndexSet) -> IndexSet:
        """The local index of each index of ``subset``, in the order of ``subset``."""

    @abstractmethod
    def select(self, positions: IndexSet) -> IndexSet:
        """The global index at each local index of ``positions``: the inverse of ``positions``."""

    def sliced(self, selected: range) -> tuple[IndexSet, IndexSet]:
        """The set on the axis that ``selected`` cuts out, and the local indices that select it.

        ``selected`` is ``range(size)[slice]``. The first result is :meth:`image`; the second
        holds, for each of its indices in order, the local index in this set.
        """
        image = self.image(selected)
        return image, self.positions(Range.of(selected).select(image))

    def __and__(self, other: IndexSet) -> IndexSet:
        return self.intersection(other)

    @overload
    def global_of(self, local: int | np.integer[Any]) -> int: ...
    @overload
    def global_of(self, local: npt.NDArray[Any]) -> Indices: ...
    def global_of(self, local: Any) -> Any:
        """The global index at a local one; an array of them for an array."""
        if isinstance(local, np.ndarray) and local.ndim:
            where = local.astype(np.int64, copy=False)
            if where.size and (int(where.min()) < 0 or int(where.max()) >= len(self)):
                bad = int(where[(where < 0) | (where >= len(self))].flat[0])
                raise LayoutIndexError(self._outside("local", bad))
            return self._global(where)
        number = local.__index__()
        if not 0 <= number < len(self):
            raise LayoutIndexError(self._outside("local", number))
        return int(self._global(number))

    @overload
    def local_of(self, index: int | np.integer[Any]) -> int: ...
    @overload
    def local_of(self, index: npt.NDArray[Any]) -> Indices: ...
    def local_of(self, index: Any) -> Any:
        """The local index of a global one; an array of them for an array."""
        if isinstance(index, np.ndarray) and index.ndim:
            values = index.astype(np.int64, copy=False)
            inside = self.contains(values)
            if not inside.all():
                raise LayoutIndexError(self._outside("global", int(values[~inside].flat[0])))
            return self._local(values)
        number = index.__index__()
        if number not in self:
            raise LayoutIndexError(self._outside("global", number))
        return int(self._local(number))

    def _outside(self, which: str, value: int) -> str:
        if which == "local":
            return f"index set: local index {value} is not in range({len(self)}) of {self!r}"
        return f"index set: global index {value} is not in {self!r}"

    def __getitem__(self, local: int) -> int:
        return self.global_of(local)

    def __iter__(self) -> Iterator[int]:
        return iter(self.array().tolist())

    def clipped(self, start: int, stop: int) -> IndexSet:
        """The indices from ``start`` up to ``stop``, ascending."""
        return self.intersection(Range(start, stop))


_set = object.__setattr__


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Range(IndexSet):
    """An arithmetic progression, with the arguments and the meaning of ``range``."""

    values: range

    def __init__(self, start: int, stop: int | None = None, step: int = 1) -> None:
        _set(self, "values", range(start) if stop is None else range(start, stop, step))

    @classmethod
    def of(cls, values: range) -> Range:
        """The range that lists the same numbers as Python's ``values``."""
        new = cls.__new__(cls)
        _set(new, "values", values)
        return new

    @property
    def start(self) -> int:
        return self.values.start

    @property
    def stop(self) -> int:
        return self.values.stop

    @property
    def step(self) -> int:
        return self.values.step

    def __len__(self) -> int:
        return len(self.values)

    def __contains__(self, index: object) -> bool:
        return index in self.values

    def __iter__(self) -> Iterator[int]:
        return iter(self.values)

    def __repr__(self) -> str:
        v = self.values
        return (
            f"Range({v.start}, {v.stop})"
            if v.step == 1
            else f"Range({v.start}, {v.stop}, {v.step})"
        )

    def contains(self, indices: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        given = np.asarray(indices, dtype=np.int64)
        if not self.values:
            return np.zeros(given.shape, dtype=np.bool_)
        inside = (given >= self.lowest) & (given <= self.highest)
        if self.step not in (1, -1):
            inside &= (given - self.start) % self.step == 0
        return inside

    def _global(self, local: Any) -> Any:
        return local * self.step + self.start

    def _local(self, index: Any) -> Any:
        shifted = index - self.start
        return shifted if self.step == 1 else shifted // self.step

    def array(self) -> Indices:
        return np.arange(self.start, self.stop, self.step, dtype=np.int64)

    @property
    def lowest(self) -> int:
        return self.values[0 if self.values.step > 0 else -1]

    @property
    def highest(self) -> int:
        return self.values[-1 if self.values.step > 0 else 0]

    @property
    def is_contiguous(self) -> bool:
        return self.values.step == 1 or len(self.values) < 2

    @property
    def key(self) -> Key:
        v = self.values
        if not v:
            return slice(0, 0)
        stop = v[-1] + (1 if v.step > 0 else -1)
        return slice(v.start, None if stop < 0 else stop, v.step)

    def shifted(self, by: int) -> Range:
        v = self.values
        return Range.of(range(v.start + by, v.stop + by, v.step))

    def reversed(self) -> Range:
        return Range.of(self.values[::-1])

    def scaled(self, step: int, offset: int) -> Range:
        v = self.values
        return Range.of(range(v.start * step + offset, v.stop * step + offset, v.step * step))

    def divided(self, step: int, offset: int) -> Range:
        v = self.values
        if step == 1:
            return Range.of(range(v.start - offset, v.stop - offset, v.step))
        # A single index has an arbitrary step.
        start, stride = (v.start - offset) // step, v.step // step if len(v) > 1 else 1
        return Range.of(range(start, start + stride * len(v), stride))

    def intersection(self, other: IndexSet) -> IndexSet:
        if isinstance(other, Range):
            return Range.of(meet(ascending(self.values), ascending(other.values)))
        return other.intersection(self)

    def image(self, selected: range) -> IndexSet:
        common = meet(ascending(self.values), ascending(selected))
        if not common:
            return EMPTY
        start = (common[0] - selected.start) // selected.step
        stride = common.step // selected.step
        image = Range.of(ascending(range(start, start + stride * len(common), stride)))
        # A descending range is an explicit order: like a list, it keeps that order.
        return image.reversed() if self.step < 0 < selected.step else image

    def positions(self, subset: IndexSet) -> IndexSet:
        if not len(subset):
            return EMPTY
        v = self.values
        for index in (subset.lowest, subset.highest):
            if index not in v:
                raise LayoutIndexError(self._outside("global", index))
        return subset.divided(v.step, v.start)

    def select(self, positions: IndexSet) -> IndexSet:
        if not len(positions):
            return EMPTY
        for local in (positions.lowest, positions.highest):
            if not 0 <= local < len(self.values):
                raise LayoutIndexError(self._outside("local", local))
        return positions.scaled(self.step, self.start)


EMPTY = Range(0)


def ascending(values: range) -> range:
    return values if values.step > 0 else values[::-1]


def meet(a: range, b: range) -> range:
    """The numbers that two ascending ranges share."""
    low, high = max(a.start, b.start), min(a.stop, b.stop)
    if high <= low:
        return EMPTY.values
    step, other = a.step, b.step
    if step == 1 and other == 1:
        return range(low, high)
    if other == 1:
        return range(low + (a.start - low) % step, high, step)
    if step == 1:
        return range(low + (b.start - low) % other, high, other)
    common = gcd(step, other)
    apart, rest = divmod(b.start - a.start, common)
    if rest:
        return EMPTY.values
    turns = apart * pow(step // common, -1, other // common) % (other // common)
    period = step // common * other
    return range(low + (a.start + step * turns - low) % period, high, period)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Listed(IndexSet):
    """An explicit array of distinct indices, in the order in which they are held."""

    indices: Indices
    _order: list[tuple[Indices, Indices | None]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        values = np.array(self.indices, dtype=np.int64)
        values.flags.writeable = False
        _set(self, "indices", values)

    def _sorted(self) -> tuple[Indices, Indices | None]:
        """The indices in ascending order, and their positions in the list (``None`` if it is ascending)."""
        if not self._order:
            values = self.indices
            if (values[1:] > values[:-1]).all():
                self._order.append((values, None))
            else:
                order = np.argsort(values, kind="stable")
                self._order.append((values[order], order))
        return self._order[0]

    def __len__(self) -> int:
        return len(self.indices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and np.array_equal(self.indices, other.indices)

    def __hash__(self) -> int:
        return hash(self.indices.tobytes())

    def __repr__(self) -> str:
        if len(self.indices) > 12:
            return f"Listed(<{len(self.indices)} indices>)"
        return f"Listed({self.indices.tolist()})"

    def contains(self, indices: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        given, (values, _) = np.asarray(indices, dtype=np.int64), self._sorted()
        if not len(values):
            return np.zeros(given.shape, dtype=np.bool_)
        places = np.minimum(np.searchsorted(values, given), len(values) - 1)
        return np.asarray(values[places] == given)

    def _global(self, local: Any) -> Any:
        return self.indices[local]

    def _local(self, index: Any) -> Any:
        values, order = self._sorted()
        places = np.searchsorted(values, index)
        return places.astype(np.int64, copy=False) if order is None else order[places]

    def array(self) -> Indices:
        return self.indices

    @property
    def lowest(self) -> int:
        return int(self.indices.min())

    @property
    def highest(self) -> int:
        return int(self.indices.max())

    @property
    def is_contiguous(self) -> bool:
        return bool((np.diff(self.indices) == 1).all())

    @property
    def is_ascending(self) -> bool:
        """True if the indices are in ascending order."""
        return self._sorted()[1] is None

    @property
    def key(self) -> Key:
        return self.indices

    def shifted(self, by: int) -> Listed:
        return Listed(self.indices + by)

    def scaled(self, step: int, offset: int) -> Listed:
        return Listed(self.indices * step + offset)

    def divided(self, step: int, offset: int) -> Listed:
        values, rest = np.divmod(self.indices - offset, step)
        if rest.any():
            bad = int(self.indices[rest != 0][0])
            raise LayoutIndexError(f"index set: {bad} is not {offset} plus a multiple of {step}")
        return Listed(values)

    def reversed(self) -> IndexSet:
        return listed(self.indices[::-1])

    def intersection(self, other: IndexSet) -> IndexSet:
        values, _ = self._sorted()
        return listed(values[other.contains(values)])

    def image(self, selected: range) -> IndexSet:
        return self.sliced(selected)[0]

    def sliced(self, selected: range) -> tuple[IndexSet, IndexSet]:
        chosen = Range.of(selected)
        kept = np.flatnonzero(chosen.contains(self.indices))
        return listed(chosen._local(self.indices[kept])), listed(kept)

    def positions(self, subset: IndexSet) -> IndexSet:
        return listed(self.local_of(subset.array()))

    def select(self, positions: IndexSet) -> IndexSet:
        return listed(self.global_of(positions.array()))


def listed(values: npt.ArrayLike) -> IndexSet:
    """The indices of an array in its order, as a ``Range`` if they are one."""
    array = np.asarray(values, dtype=np.int64)
    if not len(array):
        return EMPTY
    first = int(array[0])
    if len(array) == 1:
        return Range(first, first + 1)
    last, step = int(array[-1]), int(array[1]) - first
    if step and last - first == step * (len(array) - 1) and (np.diff(array) == step).all():
        return Range.of(range(first, last + (1 if step > 0 else -1), step))
    return Listed(array)
