"""Shapes, strides and views, computed by NumPy on arrays without memory.

Every array is a *base* or a view of one. A :class:`Geometry` describes either: shape, dtype, strides and the offset
into the base's memory, together with a *shadow*: a NumPy array over an address range that is reserved and never
committed. Indexing, transposing or reshaping a geometry indexes, transposes or reshapes the shadow, so that NumPy
decides what is legal, what is a view, and which strides result. Only operations that read no element may use a shadow.

Geometries in frequent use are interned: looking up a slice again costs one dictionary access, and equal geometries
mostly share a ``number``, which identifies them in the keys of plans. (Equal ones with different numbers only cost a
little time.) Slices that differ in their numbers alone share a ``form``, which identifies them in the keys of
templates.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from .. import policy
from ..context.caches import Memo
from ..context.interrupts import passed_on
from ..errors import OutOfMemoryError
from .interned import Identity, Interned, identity_of
from .reserved import ADDRESS, BUFFER, RESERVED

_ENDLESS = 1 << 59
"""The length of an axis of which a slice says all that there is to say about it, in integers: a key made of
these is not equal to that of ``1.0:5.0``, which is no slice, and for which there is NumPy's error."""
_numbers = itertools.count()
_WARNS = 1 << 31
"""NumPy's flag of arrays that warn before they are written to."""


def _writing(array: np.ndarray[Any, Any]) -> bool | None:
    """Whether an array may be written to; ``None`` where NumPy warns first."""
    flags = array.flags
    return None if flags.num & _WARNS else flags.writeable


def _address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])


class Geometry:
    """The shape, dtype and strides of an array, and its offset in its base's memory."""

    __slots__ = (
        "__weakref__",
        "_axes",
        "_memo",
        "address",
        "base",
        "c_contiguous",
        "dense",
        "dtype",
        "form",
        "integers",
        "is_base",
        "ndim",
        "number",
        "offset",
        "overlapping",
        "shadow",
        "shape",
        "short",
        "size",
        "strides",
        "through",
        "warns",
        "writeable",
    )
    base: Geometry
    _table: ClassVar[Interned[Geometry]]

    def __init__(
        self, shadow: np.ndarray[Any, Any], offset: int, base: Geometry | None, dense: bool = False
    ) -> None:
        self.shadow = shadow
        self.shape: tuple[int, ...] = shadow.shape
        self.strides: tuple[int, ...] = shadow.strides
        self.dtype: np.dtype[Any] = shadow.dtype
        self.size: int = shadow.size
        self.ndim: int = shadow.ndim
        self.offset = offset
        self.base = self if base is None else base
        limits, whole = policy.limits, self.base.size
        self.short: bool = (
            self.size <= limits.short
            or whole < limits.small
            or (self.size < limits.small and self.size <= whole // limits.part)
        )
        """Whether NumPy may be quicker than a loop of ours: few elements, a small part, or a part of what would count as small."""
        self.is_base = base is None
        """Whether this is all of its base, unchanged."""
        self.c_contiguous: bool = shadow.flags.c_contiguous
        self.warns: bool = _writing(shadow) is None
        """Whether it may be written to once its array has warned, as what ``broadcast_arrays`` makes."""
        self.writeable: bool = not self.warns and shadow.flags.writeable
        self.overlapping: bool = base is not None and not self.c_contiguous and _overlaps(shadow)
        """Whether elements of this view may share memory with one another, as those of ``as_strided`` do."""
        self.number = next(_numbers)
        self.through: Any = None
        """What nodes that read this view, or write through it, have in common: see ops.elementwise."""
        self._memo: Memo[Any, Geometry] = Memo("views")
        self._axes: AxisReads | bool | None = False
        self.integers: tuple[int, ...] = (*self.shape, *self.strides, offset)
        """All that two geometries of one form differ in."""
        self.address: int = _address(shadow) if base is None else base.address
        """Where the shadow of the base begins."""
        self.dense = base is None and dense
        """Whether it is a base that fills its memory, each element once."""
        self.form: Identity = identity_of(
            (
                self.dtype,
                self.ndim,
                self.c_contiguous,
                self.writeable,
                self.dense,
                None if base is None else base.form,
                tuple([n if n < 2 else 2 for n in self.shape]),
                tuple([(s > 0) - (s < 0) for s in self.strides]),
            )
        )

    def __repr__(self) -> str:
        return f"Geometry({self.shape}, {self.dtype}, strides={self.strides}, offset={self.offset})"

    @staticmethod
    def _intern(
        shadow: np.ndarray[Any, Any], base: Geometry | None, dense: bool = False
    ) -> Geometry:
        if shadow.dtype.metadata is not None:
            shadow = shadow.view(_without_metadata(shadow.dtype))
        offset = _address(shadow) - base.address if base is not None and shadow.size else 0
        key = (
            shadow.shape,
            shadow.strides,
            shadow.dtype,
            shadow.dtype.num,  # long and longlong are equal
            _writing(shadow),
            offset,
            -1 - dense if base is None else base.number,  # True would be the number of a base
        )
        geometry = Geometry._table.get(key)
        if geometry is None:
            geometry = Geometry._table.only(key, Geometry(shadow, offset, base, dense))
        return geometry

    def derived(
        self, key: object, make: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
    ) -> Geometry:
        """The view that ``make`` takes of the shadow, remembered under ``key`` if that names it exactly."""
        if type(key) is not str and not _is_exact(key):
            return Geometry._intern(make(self.shadow), self.base)
        view = self._memo.get(key)
        if view is None:
            view = self._remember(key, make(self.shadow))
        return view

    def _remember(self, key: object, shadow: np.ndarray[Any, Any]) -> Geometry:
        view = self._memo[key] = Geometry._intern(shadow, self.base)
        return view

    def met(self, key: Any) -> Geometry | None:
        """The view ``a[key]``, if it is remembered, and the key one of the two commonest: slices."""
        if type(key) is tuple:
            if len(key) == 2:
                first, second = key
                if type(first) is slice is type(second):
                    return self._memo.get((first.indices(_ENDLESS), second.indices(_ENDLESS)))
        elif type(key) is slice:
            return self._memo.get((key.indices(_ENDLESS),))
        return None

    def index(self, key: tuple[Any, ...]) -> Geometry:
        """The view ``a[key]``, for a tuple of ints, slices, ``None`` and ``Ellipsis`` only."""
        if len(key) == 1 and type(key[0]) is int and self.ndim > 1:
            return self._row(key[0])
        remembered = tuple([k.indices(_ENDLESS) if type(k) is slice else k for k in key])
        view = self._memo.get(remembered)
        if view is None:
            whole = key if any(k is Ellipsis for k in key) else (*key, Ellipsis)
            view = self._remember(remembered, self.shadow[whole])
        return view

    def _row(self, k: int) -> Geometry:
        """The view ``a[k]``. Programs iterate over rows: the later ones differ from the first only in their offsets."""
        length = self.shape[0]
        if not (-length <= k < length and self.size):
            return self._remember((k,), self.shadow[k, ...])
        offset = self.offset + (k if k >= 0 else k + length) * self.strides[0]
        base = self.base
        form = self.shape[1:], self.strides[1:], self.dtype, self.dtype.num
        key = (*form, None if self.warns else self.writeable, offset, base.number)
        row = Geometry._table.get(key)
        if row is None:
            first = self._memo.get("row")
            if first is None:
                first = self._remember("row", self.shadow[k, ...])
                if first.offset == offset:
                    return first
            row = Geometry._table.only(key, first._moved(self.shadow[k, ...], offset))
        return row

    def _moved(self, shadow: np.ndarray[Any, Any], offset: int) -> Geometry:
        """A view of the same base that differs from this one in its offset only."""
        moved: Geometry = object.__new__(Geometry)
        moved.shadow = shadow
        moved.shape = self.shape
        moved.strides = self.strides
        moved.dtype = self.dtype
        moved.size = self.size
        moved.short = self.short
        moved.ndim = self.ndim
        moved.offset = offset
        moved.base = self.base
        moved.is_base = False
        moved.c_contiguous = self.c_contiguous
        moved.warns = self.warns
        moved.writeable = self.writeable
        moved.overlapping = self.overlapping
        moved.number = next(_numbers)
        moved.through = None
        moved._memo = Memo("views")
        moved._axes = False
        moved.integers = (*self.integers[:-1], offset)
        moved.address = self.address
        moved.dense = False
        moved.form = self.form
        return moved

    def reshaped(self, shape: tuple[int, ...]) -> Geometry | None:
        """The view of another shape, or ``None`` where NumPy would have to copy."""
        view = self._memo.get(("reshape", shape))
        if view is not None:
            return view
        try:
            return self.derived(("reshape", shape), lambda s: np.reshape(s, shape, copy=False))
        except ValueError as problem:
            passed_on(problem)
            if _reshape_is_legal(self.size, shape):
                return None
            raise ValueError(
                f"cannot reshape array of size {self.size} into shape {shape_text(shape)}"
            ) from None

    def broadcast(self, shape: tuple[int, ...]) -> Geometry:
        """The read-only view that repeats this one to ``shape``."""
        return self.derived(("broadcast", shape), lambda s: np.broadcast_to(s, shape))

    def at(self, array: np.ndarray[Any, Any], offset: int, *, writeable: bool = False) -> Geometry:
        """The view of this base that lies ``offset`` bytes into it and has the form of ``array``."""
        start = self.address - ADDRESS + offset
        shadow = np.ndarray(array.shape, array.dtype, BUFFER, start, array.strides)
        shadow.flags.writeable = writeable or bool(_writing(array))
        view = Geometry._intern(shadow, self)
        own = (self.shape, self.strides, self.dtype, self.writeable, self.offset)
        same = (view.shape, view.strides, view.dtype, view.writeable, view.offset)
        return self if own == same else view

    def located(self, array: np.ndarray[Any, Any], offset: int) -> Geometry:
        """The same for a view that may be written to, remembered."""
        key = "located", array.shape, array.strides, array.dtype, offset
        view = self._memo.get(key)
        if view is None:
            view = self._memo[key] = self.at(array, offset, writeable=True)
        return view

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
        shape, strides = [[many[k] for k in kept] for many in (self.shape, self.strides)]
        start = self.address - ADDRESS + self.offset - self.offset % self.base.dtype.itemsize
        shadow = np.ndarray(shape, self.base.dtype, BUFFER, start, strides)
        return Geometry._intern(shadow, self.base)

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
    def axes(self) -> AxisReads | None:
        """How a view's index becomes an index of its base, or ``None`` if no axis map describes it."""
        if self._axes is False:
            self._axes = _axis_reads(self)
        return self._axes  # type: ignore[return-value]

    @property
    def is_whole(self) -> bool:
        """Whether this holds every element of its base once, in the base's C order."""
        return (
            self.size == self.base.size
            and self.offset == 0
            and self.c_contiguous
            and self.base.c_contiguous
            and self.dtype == self.base.dtype
        )


def _overlaps(array: np.ndarray[Any, Any]) -> bool:
    """Whether elements of an array may overlap in memory, by its strides."""
    end = array.itemsize
    steps = [(abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1]
    for step, n in sorted(steps):
        if step < end:
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
    """Whether only this key is equal to it: ``1.0`` and ``True`` are equal to ``1``, and are no axes."""
    if type(key) is tuple:
        return all(_is_exact(part) for part in key)
    return type(key) in _EXACT or isinstance(key, np.dtype)


AxisReads = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
"""For each axis of the base: the first index, and (axis of the view, step) pairs."""


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as NumPy's messages write it."""
    words = ["newaxis" if n < 0 else str(n) for n in shape]
    return "(" + ",".join(words) + ("," if len(shape) == 1 else "") + ")"


def _reshape_is_legal(size: int, shape: tuple[int, ...]) -> bool:
    known = 1
    unknown = 0
    for n in shape:
        if n == -1:
            unknown += 1
        else:
            known *= n
    if unknown == 0:
        return known == size
    return unknown == 1 and known > 0 and size % known == 0


def dense(
    shape: tuple[int, ...], dtype: np.dtype[Any], order: Sequence[int] | None = None
) -> Geometry:
    """A base that fills its memory; ``order`` lists its axes from the slowest to the fastest."""
    key = ("dense", shape, dtype, dtype.num, None if order is None else tuple(order))
    base = _bases.get(key)
    if base is not None:
        return base
    nbytes = dtype.itemsize
    for n in shape:
        nbytes *= n
    if nbytes > RESERVED // 2:
        if nbytes >= 1 << 63:
            np.empty(shape, dtype)  # NumPy's text for a size beyond any address
        raise OutOfMemoryError(
            f"out of memory: Unable to allocate {nbytes / 2**40:.5g} TiB for an array with shape "
            f"{shape_text(shape)} and data type {dtype}"
        )
    if order is None:
        shadow = np.ndarray(shape, dtype, BUFFER)
    else:
        strides = [0] * len(shape)
        step = dtype.itemsize
        for axis in reversed(order):
            strides[axis] = step
            step *= max(shape[axis], 1)
        shadow = np.ndarray(shape, dtype, BUFFER, 0, tuple(strides))
    base = Geometry._intern(shadow, None, True)
    _bases[key] = base
    return base


def _without_metadata(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype as all arrays of equal dtypes share it: which of them came first must not decide what another one says."""
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


_bases: Memo[Any, Geometry] = Memo("geometries")
Geometry._table = Interned("geometries")


def strided(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...]) -> Geometry:
    """A base that need not fill its memory, as foreign arrays may be."""
    if not shape or _c_strides(shape, dtype.itemsize) == strides:
        return dense(shape, dtype)
    order = tuple(sorted(range(len(shape)), key=lambda k: -strides[k]))
    along = _c_strides(tuple([shape[k] for k in order]), dtype.itemsize)
    if along == tuple([strides[k] for k in order]):
        return dense(shape, dtype, order)
    return Geometry._intern(np.ndarray(shape, dtype, BUFFER, RESERVED // 2, strides), None)


def _c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides = []
    for n in reversed(shape):
        strides.append(itemsize)
        itemsize *= max(n, 1)
    return tuple(reversed(strides))


def _axis_reads(view: Geometry) -> AxisReads | None:
    base = view.base
    if view.dtype != base.dtype:
        return None
    if not base.dense:
        return None
    order = sorted(
        (k for k in range(base.ndim) if base.shape[k] > 1), key=lambda k: -base.strides[k]
    )

    def digits(distance: int) -> dict[int, int] | None:
        strides = {}
        for k in order:
            strides[k], distance = divmod(distance, base.strides[k])
        return strides if distance == 0 else None

    start = digits(view.offset)
    if start is None:
        return None
    steps: list[list[tuple[int, int]]] = [[] for _ in base.shape]
    for axis in range(view.ndim):
        n, stride = view.shape[axis], view.strides[axis]
        if n == 1 or stride == 0:
            continue
        sign = 1 if stride > 0 else -1
        step = digits(abs(stride))
        if step is None:
            return None
        for k, digit in step.items():
            if digit:
                steps[k].append((axis, sign * digit))
    reads = []
    for k in range(base.ndim):
        first = start.get(k, 0)
        if view.size == 0:
            reads.append((first, tuple(steps[k])))
            continue
        low = first + sum(min(0, step * (view.shape[axis] - 1)) for axis, step in steps[k])
        high = first + sum(max(0, step * (view.shape[axis] - 1)) for axis, step in steps[k])
        if low < 0 or high >= base.shape[k]:
            return None
        reads.append((first, tuple(steps[k])))
    return tuple(reads)


def kept_order(
    shape: tuple[int, ...], operands: Sequence[Geometry], *, repeats: bool = False
) -> tuple[int, ...] | None:
    """The memory order that NumPy gives the result of an elementwise operation (order 'K').

    ``None`` stands for C order. The axes are sorted as NumPy's iterator sorts them: by the
    sizes of the operands' strides, an axis moving outwards only past one whose strides are
    smaller for the first operand that tells them apart. Where ``repeats``, as for what is joined, an axis that repeats
    elements counts as the fastest.
    """
    full = [g for g in operands if g.ndim]
    if len(shape) < 2 or all(g.shape == shape and g.c_contiguous for g in full):
        return None
    key = (shape, repeats, *[g.number for g in full])
    known = _orders.get(key, False)
    if known is not False:
        return known  # type: ignore[return-value]
    ndim = len(shape)
    strides = []
    for g in full:
        lead = ndim - g.ndim
        strides.append([-1] * lead + [_step(g, k, repeats) for k in range(g.ndim)])
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
    result = None if slow_first == tuple(range(ndim)) else slow_first
    _orders[key] = result
    return result


def _step(view: Geometry, axis: int, repeats: bool) -> int:
    """The bytes between elements along an axis; -1 for one that does not count."""
    stride = abs(view.strides[axis])
    return -1 if view.shape[axis] == 1 or not (stride or repeats) else stride


_orders: Memo[Any, tuple[int, ...] | None] = Memo()


def copied_order(view: Geometry) -> tuple[int, ...] | None:
    """The memory order that NumPy gives a copy (order 'K'): by the sizes of strides alone, so what repeats is fastest."""
    if view.c_contiguous:
        return None
    if view.shadow.flags.f_contiguous:
        return tuple(reversed(range(view.ndim)))
    order = tuple(sorted(range(view.ndim), key=lambda k: -abs(view.strides[k])))
    return None if order == tuple(range(view.ndim)) else order
