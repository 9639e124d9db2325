"""Shapes, strides and views, as integers.

Every array is a *base* or a view of one. A :class:`Geometry` describes either: shape, dtype, strides and the offset
into the base's memory. Basic indexing is arithmetic on these integers. NumPy decides the rest, such as which shapes are
views and what is wrong with an index, on a *shadow*: a NumPy array of that shape over addresses that no memory has,
made when it is asked for. Only operations that read no element may use a shadow.

Geometries in frequent use are interned: looking up a slice again costs one dictionary access, and equal geometries
mostly share a ``number``, which identifies them in the keys of plans. (Equal ones with different numbers only cost a
little time.) Slices that differ in their numbers alone share a ``form``, which identifies them in the
structure of traces.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from math import prod
from operator import attrgetter, index
from typing import Any, ClassVar

import numpy as np

from .. import policy
from ..context.caches import Memo
from ..context.interrupts import passed_on
from ..errors import OutOfMemoryError
from ..front import GeometryBase
from .identities import Identity, Interned, identity_of

AxisReads = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
"""For each axis of the base: the first index, and (axis of the view, step) pairs."""
Box = tuple[tuple[int, int, int, int], ...]
"""For each axis of the base: the first index, the last one + 1, the axis of the view or -1, and a step of 1 or -1."""


def axis_reads(view: Any) -> AxisReads | None:
    """The map from an index of a view to an index of its base."""
    base = view.base
    if view.dtype != base.dtype:
        return None
    if not base.dense:
        return None
    along = base.strides
    order = [k for k, n in enumerate(base.shape) if n > 1]
    order.sort(key=along.__getitem__, reverse=True)
    starts = [0] * base.ndim
    steps: list[list[tuple[int, int]]] = list(map(list, [()] * base.ndim))
    for axis, stride in enumerate((view.offset, *view.strides), -1):
        if axis >= 0 and (view.shape[axis] == 1 or stride == 0):
            continue
        rest = stride if axis < 0 else abs(stride)
        for k in order:
            digit, rest = divmod(rest, along[k])
            if axis < 0:
                starts[k] = digit
            elif digit:
                steps[k].append((axis, digit if stride > 0 else -digit))
        if rest:
            return None
    reads = []
    for k, first in enumerate(starts):
        low = high = first
        for axis, step in steps[k] if view.size else ():
            if step > 0:
                high = high + step * (view.shape[axis] - 1)
            else:
                low = low + step * (view.shape[axis] - 1)
        if view.size and (low < 0 or high >= base.shape[k]):
            return None
        reads.append((first, tuple(steps[k])))
    return tuple(reads)


def box_of(region: Any) -> Box | None:
    """The box of its base that a view covers, each element once; ``None`` if it is no box, or empty."""
    axes = region.axes
    if axes is None or region.size == 0:
        return None
    seen: set[int] = set()
    box = []
    for first, steps in axes:
        if not steps:
            box.append((first, first + 1, -1, 1))
            continue
        if len(steps) > 1:
            return None
        axis, step = steps[0]
        if step not in (1, -1) or axis in seen:
            return None
        seen.add(axis)
        n = region.shape[axis]
        low = first if step == 1 else first - n + 1
        box.append((low, low + n, axis, step))
    if len(seen) < region.ndim and any(n > 1 and k not in seen for k, n in enumerate(region.shape)):
        return None
    return tuple(box)


_LARGEST = 1 << 44
_MOST_AXES = 64
_numbers = itertools.count()
_WARNS = 1 << 31
"""NumPy's flag of arrays that warn before they are written to."""


class _Addresses:
    """The addresses that shadows have: no allocation gets these, and nothing is mapped there."""

    first = 1 << 45
    __array_interface__: ClassVar[Any] = {
        "version": 3,
        "shape": (2 * first,),
        "typestr": "|u1",
        "data": (first, False),
    }


_NO_MEMORY = np.asarray(_Addresses())
_ORIGIN = _Addresses.first
"""Start of all bases in ``_NO_MEMORY``, whose strides may be negative."""


def _writing(array: np.ndarray[Any, Any]) -> bool | None:
    """True if an array may be written to; ``None`` where NumPy warns first."""
    flags = array.flags
    return None if flags.num & _WARNS else flags.writeable


class Geometry(GeometryBase):
    """The shape, dtype and strides of an array, and its offset in its base's memory."""

    __slots__ = ("__weakref__", "_memo", "axes", "box", "form", "integers", "ndim", "warns")
    base: Geometry
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    number: int
    size: int
    dense: bool
    is_base: bool
    c_contiguous: bool
    writeable: bool
    axes: AxisReads | None
    box: Box | None
    _memo: Memo[Any, Geometry]
    _table: ClassVar[Interned[Geometry]]

    def __init__(
        self,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
        writing: bool | None,
        offset: int,
        base: Geometry | None,
        dense: bool,
    ) -> None:
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.size = prod(shape)
        self.ndim = len(shape)
        self.offset = offset
        self.base = self if base is None else base
        limits, whole = policy.limits, self.base.size
        self.short: bool = (
            self.size <= limits.short
            or whole < limits.small
            or (self.size < limits.small and self.size <= whole // limits.pieces)
        )
        """True if NumPy may be quicker than a kernel: few elements, a small part, or a part of a small array."""
        self.is_base = base is None
        """True if this is all of its base, unchanged."""
        self.c_contiguous = _is_contiguous(reversed(shape), reversed(strides), dtype.itemsize)
        self.warns = writing is None
        """True if it may be written to once its array has warned, as a result of ``broadcast_arrays``."""
        self.writeable = bool(writing)
        self.overlapping: bool = base is not None and not self.c_contiguous and _overlaps(self)
        """True if elements of this view may share memory with one another, as those of ``as_strided`` do."""
        self.number = next(_numbers)
        self.through: Any = None
        """Common parts of the nodes that read this view or write through it: see ops.elementwise."""
        self.integers: tuple[int, ...] = (*shape, *strides, offset)
        """All that two geometries of one form differ in."""
        self.dense = dense
        """True if it is a base that fills its memory, each element once."""
        self.form: Identity = identity_of(
            (
                dtype,
                self.ndim,
                self.c_contiguous,
                self.writeable,
                dense,
                None if base is None else base.form,
                tuple(map(min, shape, itertools.repeat(2))),
                tuple(map((0).__lt__, strides)),
                tuple(map((0).__gt__, strides)),
            )
        )

    def __getattr__(self, name: str) -> Any:
        """Attributes that are computed on first use: the map from a view's index to its base's, the box that it covers,
        and a table of views."""
        if name == "axes":
            self.axes = axis_reads(self)
        elif name == "box":
            self.box = box_of(self)
        elif name == "_memo":
            self._memo = Memo()
        else:
            raise AttributeError(name)
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"Geometry({self.shape}, {self.dtype}, strides={self.strides}, offset={self.offset})"

    @property
    def shadow(self) -> np.ndarray[Any, Any]:
        """A NumPy array of this shape and these strides, of which no element may be read."""
        start = _ORIGIN + self.offset
        array = np.ndarray(self.shape, self.dtype, _NO_MEMORY, start, self.strides)
        if self.warns:
            array.flags._warn_on_write = True  # type: ignore[attr-defined]
        elif not self.writeable:
            array.flags.writeable = False
        return array

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return self.size * self.dtype.itemsize

    def is_plain(self, shape: tuple[int, ...]) -> bool:
        """True if it is an array of this shape that fills its memory in C order."""
        return self.dense and self.c_contiguous and self.writeable and self.shape == shape

    @property
    def f_contiguous(self) -> bool:
        """True if the elements lie one after the other, the first axis fastest."""
        return _is_contiguous(self.shape, self.strides, self.dtype.itemsize)

    @staticmethod
    def _intern(
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
        writing: bool | None,
        offset: int,
        base: Geometry | None,
        dense: bool = False,
    ) -> Geometry:
        if dtype.metadata is not None:
            dtype = _without_metadata(dtype)
        if 0 in shape:
            offset = 0
        # long and longlong are equal; True would be the number of a base
        kind = dtype, dtype.num, writing
        key = (shape, strides, kind, offset, -1 - dense if base is None else base.number)
        known = Geometry._table.known.get(key)
        return (known and known()) or Geometry._table.only(
            key, Geometry(shape, strides, dtype, writing, offset, base, dense)
        )

    def derived(
        self, key: object, make: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
    ) -> Geometry:
        """The view that ``make`` takes of the shadow, remembered under ``key`` if that names it exactly."""
        exact = type(key) is str or _is_exact(key)
        view = self._memo.get(key) if exact else None
        if view is None:
            array = make(self.shadow)
            address: int = array.__array_interface__["data"][0]
            offset = address - _Addresses.first - _ORIGIN
            form = array.shape, array.strides, array.dtype, _writing(array)
            view = Geometry._intern(*form, offset, self.base)
            if exact:
                self._memo[key] = view
        return view

    def index(self, key: tuple[Any, ...]) -> Geometry:
        """The view ``a[key]``, for a tuple of ints, slices, ``None`` and ``Ellipsis`` only."""
        own, steps, axis = self.shape, self.strides, 0
        shape: list[int] = []
        strides: list[int] = []
        offset = self.offset
        try:
            for item in key:
                if type(item) is slice:
                    n = own[axis]
                    first, stop, step = item.indices(n)
                    count = len(range(first, stop, step))
                    shape.append(count)
                    strides.append(step * steps[axis] if count else steps[axis])
                    offset += first * steps[axis]
                    axis += 1
                    if (
                        not -n <= step <= n
                    ):  # whose bytes may be too many for an integer of the machine
                        raise IndexError
                elif item is None:
                    shape.append(1)
                    strides.append(0)
                elif item is Ellipsis:
                    later = key[key.index(item) + 1 :]
                    end = self.ndim - len(later) + later.count(None)
                    if end < axis or Ellipsis in later:
                        raise IndexError
                    shape += own[axis:end]
                    strides += steps[axis:end]
                    axis = end
                else:
                    offset += range(own[axis])[item] * steps[axis]
                    axis += 1
            shape += own[axis:]
            strides += steps[axis:]
            if len(shape) > _MOST_AXES:
                raise IndexError
        except IndexError as problem:
            passed_on(problem)
            whole = key if any(item is Ellipsis for item in key) else (*key, Ellipsis)
            return self.derived(whole, lambda s: s[whole])  # NumPy decides
        return self.lying(tuple(shape), tuple(strides), self.dtype, offset)

    def lying(
        self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any], offset: int
    ) -> Geometry:
        """Another view of the base that may be written to as this one."""
        writing = None if self.warns else self.writeable
        return Geometry._intern(shape, strides, dtype, writing, offset, self.base)

    def reshaped(self, shape: tuple[int, ...]) -> Geometry | None:
        """The view of another shape, or ``None`` where NumPy would have to copy."""
        try:
            return self.derived(("reshape", shape), lambda s: s.reshape(shape, copy=False))
        except ValueError as problem:
            passed_on(problem)
            if _reshape_is_legal(self.size, shape):
                return None
            raise ValueError(
                f"cannot reshape array of size {self.size} into shape {shape_text(shape)}"
            ) from None

    def at(self, array: Any, offset: int, writeable: bool | None = None) -> Geometry:
        """The view of this base that lies ``offset`` bytes into it and has the shape, dtype and strides of ``array``."""
        writing = bool(_writing(array)) if writeable is None else writeable
        view = Geometry._intern(array.shape, array.strides, array.dtype, writing, offset, self)
        own = (self.shape, self.strides, self.dtype, self.writeable, self.offset)
        same = (view.shape, view.strides, view.dtype, view.writeable, view.offset)
        return self if own == same else view

    def field(self, key: Any) -> Geometry | None:
        """The view ``a[key]`` where ``key`` names a field of a structured dtype, or lists several; else ``None``."""
        if self.dtype.names is None:
            return None
        if isinstance(key, str):
            return self.derived(("field", str(key)), lambda s: s[key])
        if isinstance(key, list) and key and all(isinstance(name, str) for name in key):
            return self.derived(("fields", *map(str, key)), lambda s: s[key])
        return None

    @property
    def within(self) -> tuple[int, ...] | None:
        """The positions of this part (a field, or the real part) of each of some whole elements of the base: the axes
        that are inside an element. ``None`` if there is no such part.
        """
        item = self.base.dtype.itemsize
        if not self.size or not item:
            return None
        within = tuple([k for k in range(self.ndim) if self.strides[k] % item])
        low = self.offset % item
        high = low + self.dtype.itemsize
        for k in within:
            reach = (self.shape[k] - 1) * self.strides[k]
            if reach < 0:
                low = low + reach
            else:
                high = high + reach
        return within if low >= 0 and high <= item else None

    @property
    def elements(self) -> Geometry | None:
        """The view of those elements themselves, in the dtype of the base."""
        within = self.within
        if within is None:
            return None
        kept = [k for k in range(self.ndim) if k not in within]
        shape, strides = [tuple([many[k] for k in kept]) for many in (self.shape, self.strides)]
        dtype = self.base.dtype
        offset = self.offset - self.offset % dtype.itemsize
        return Geometry._intern(shape, strides, dtype, True, offset, self.base)

    def part_of(self, elements: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The part that this view shows of each of the given elements of its base: a view of them."""
        kept = iter(zip(elements.shape, elements.strides, strict=True))
        form = [
            (n, stride) if stride % self.base.dtype.itemsize else next(kept)
            for n, stride in zip(self.shape, self.strides, strict=True)
        ]
        part = elements.getfield(self.dtype, self.offset % self.base.dtype.itemsize)
        return np.lib.stride_tricks.as_strided(
            part, *map(list, zip(*form, strict=True)) if form else ((), ())
        )

    @property
    def is_whole(self) -> bool:
        """True if this holds every element of its base once, in the base's C order."""
        return (
            self.c_contiguous
            and self.base.c_contiguous
            and self.dtype == self.base.dtype
            and self.size == self.base.size
            and self.offset == 0
        )


def _is_contiguous(shape: Iterable[int], strides: Iterable[int], step: int) -> bool:
    """True if elements follow one another in steps of ``step`` bytes; the fastest axis first."""
    gaps = False
    for n, stride in zip(shape, strides):
        if n == 0:
            return True
        if n > 1:
            gaps = gaps or stride != step
            step *= n
    return not gaps


def _overlaps(view: Geometry) -> bool:
    """True if elements of a view may overlap in memory, by its strides."""
    end = view.dtype.itemsize
    for step, n in sorted(zip(map(abs, view.strides), view.shape)):
        if n > 1 and step < end:
            return True
        end += step * (n - 1)
    return False


def choice_of(view: Geometry) -> tuple[tuple[Any, ...], list[int]] | None:
    """The index that takes a view out of its base, and which axis of the view each slice in it is; ``None`` where
    it is no choice along axes."""
    if view.axes is None:
        return None
    key: list[Any] = []
    taken: list[int] = []
    for first, steps in view.axes:
        if not steps:
            key.append(first)
            continue
        if len(steps) > 1:
            return None
        axis, step = steps[0]
        if axis in taken:  # a diagonal
            return None
        stop = first + step * view.shape[axis]
        key.append(slice(first, None if stop < 0 else stop, step))
        taken.append(axis)
    return tuple(key), taken


_EXACT = frozenset({int, str, type(None)})


def _is_exact(key: object) -> bool:
    """True if only this key is equal to it: ``1.0`` and ``True`` are equal to ``1``, and are no axes."""
    if type(key) is tuple:
        return all(map(_is_exact, key))
    return type(key) in _EXACT or isinstance(key, np.dtype)


number_of = attrgetter("number")


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as NumPy's messages write it."""
    words = ["newaxis" if n < 0 else str(n) for n in shape]
    return "(" + ",".join(words) + ("," if len(shape) == 1 else "") + ")"


def _reshape_is_legal(size: int, shape: tuple[int, ...]) -> bool:
    known, unknown = prod([n for n in shape if n != -1]), shape.count(-1)
    return known == size if not unknown else unknown == 1 and known > 0 and size % known == 0


def dense(
    shape: tuple[int, ...], dtype: np.dtype[Any], order: Sequence[int] | None = None
) -> Geometry:
    """A base that fills its memory; ``order`` lists its axes from the slowest to the fastest."""
    key = ("dense", shape, dtype, dtype.num, None if order is None else tuple(order))
    base = _bases.get(key)
    if base is not None:
        return base
    shape = tuple(map(index, shape))
    nbytes = dtype.itemsize * prod([max(n, 1) for n in shape])
    if nbytes >= 1 << 63 or len(shape) > _MOST_AXES or min(shape, default=0) < 0:
        np.empty(shape, dtype)  # NumPy's words
    if nbytes > _LARGEST and 0 not in shape:
        raise OutOfMemoryError(
            f"out of memory: Unable to allocate {nbytes / 2**40:.5g} TiB for an array with shape "
            f"{shape_text(shape)} and data type {dtype}"
        )
    strides = [0] * len(shape)
    step = dtype.itemsize
    for axis in reversed(range(len(shape)) if order is None else order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    base = Geometry._intern(shape, tuple(strides), dtype, True, 0, None, True)
    _bases[key] = base
    return base


def _without_metadata(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype without the metadata that tells equal dtypes apart: the first of them must not decide the attributes of the others."""
    names = dtype.names
    if names is None:
        return np.dtype(dtype.str)
    assert dtype.fields is not None
    fields = [dtype.fields[name] for name in names]
    said = {
        "names": names,
        "formats": [field[0] for field in fields],
        "offsets": [field[1] for field in fields],
        "titles": [field[2] if len(field) > 2 else None for field in fields],
        "itemsize": dtype.itemsize,
    }
    return np.dtype(said, align=dtype.isalignedstruct)  # type: ignore[call-overload, no-any-return]


_bases: Memo[Any, Geometry] = Memo()
Geometry._table = Interned()


def strided(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...]) -> Geometry:
    """A base that need not fill its memory, as foreign arrays may be."""
    order = tuple(sorted(range(len(shape)), key=lambda k: -strides[k]))
    for base in (dense(shape, dtype), dense(shape, dtype, order)):
        if base.strides == strides:
            return base
    return Geometry._intern(shape, strides, dtype, True, 0, None)


def kept_order(
    shape: tuple[int, ...], operands: Sequence[Geometry], *, repeats: bool = False
) -> tuple[int, ...] | None:
    """The memory order that NumPy gives the result of an elementwise operation (order 'K').

    ``None`` stands for C order. The axes are sorted as NumPy's iterator sorts them: by the
    sizes of the operands' strides, an axis moving outwards only past one whose strides are
    smaller for the first operand that tells them apart. With ``repeats``, as for joined arrays, an axis that repeats
    elements counts as the fastest.
    """
    if len(shape) < 2:
        return None
    full, plain = [], True
    for g in operands:
        if g.ndim:
            full.append(g)
            plain = plain and g.c_contiguous and g.shape == shape
    if plain:
        return None
    ndim = len(shape)
    strides = []  # -1 where an axis does not count
    for g in full:
        row = [-1] * (ndim - g.ndim)
        for n, stride in zip(g.shape, g.strides, strict=True):
            row.append(-1 if n == 1 or not (stride or repeats) else abs(stride))
        strides.append(row)
    order = list(range(ndim - 1, -1, -1))  # fastest first
    for i in range(1, ndim):
        axis = order[i]
        place = i
        for j in range(i - 1, -1, -1):
            other = order[j]
            ambiguous, swap = True, False
            for s in strides:
                if s[axis] >= 0 and s[other] >= 0:
                    if s[other] <= s[axis]:
                        swap = False
                    elif ambiguous:
                        swap = True
                    ambiguous = False
            if ambiguous:
                continue
            if not swap:
                break
            place = j
        if place != i:
            order.insert(place, order.pop(i))
    slow_first = tuple(reversed(order))
    return None if slow_first == tuple(range(ndim)) else slow_first


def copied_order(view: Geometry) -> tuple[int, ...] | None:
    """The memory order that NumPy gives a copy (order 'K'): by the sizes of strides alone, so repeated axes are fastest."""
    if view.c_contiguous:
        return None
    if view.f_contiguous:
        return tuple(reversed(range(view.ndim)))
    order = tuple(sorted(range(view.ndim), key=lambda k: -abs(view.strides[k])))
    return None if order == tuple(range(view.ndim)) else order
