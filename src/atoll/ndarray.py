"""The array: a handle on a value, with NumPy's operators and indexing, and no mathematics.

Operators on small arrays go straight to NumPy; all others are recorded by :mod:`.applying`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import EllipsisType
from typing import Any, ClassVar

import numpy as np

from .applying import apply, assign, is_small
from .graph.geometry import Geometry, strided
from .graph.node import Node, source, view_of
from .ops.elementwise import is_native
from .views import Cell, Handle

_FAST_SCALARS = frozenset({float, int, bool, complex, np.float64, np.float32, np.int64, np.int32, np.bool_, np.complex128})
_BASIC = frozenset({int, slice, type(None), EllipsisType})


def plain(value: Any) -> Any:
    """The value for NumPy: arrays over the memory they lie in, containers searched through."""
    if isinstance(value, Handle):
        array = value._array()
        return array[()] if isinstance(value, Scalar) else array
    kind = type(value)
    if kind is tuple:
        return tuple([plain(v) for v in value])
    if kind is list:
        return [plain(v) for v in value] if any(isinstance(v, (Handle, list, tuple)) for v in value) else value
    if kind is dict:
        return {k: plain(v) for k, v in value.items()}
    return value


def from_numpy(array: np.ndarray[Any, Any]) -> ndarray:
    """An array that takes over ``array``'s memory, which nobody else may hold."""
    made = object.__new__(ndarray)
    if is_small(array.shape) or not is_native(array.dtype):
        made._np = array
        return made
    made._np = None
    made._cell = Cell(source(array, strided(array.shape, array.dtype, array.strides)))
    made._geometry = made._cell.geometry
    return made


def of_small(result: Any) -> Any:
    """What NumPy returned for small arrays, in our hands."""
    if type(result) is np.ndarray:
        made = object.__new__(ndarray)
        made._np = result
        return made
    return result


def of_node(node: Node) -> ndarray:
    """An array whose value is a node."""
    made = object.__new__(ndarray if node.geometry.ndim else Scalar)
    made._np = None
    made._cell = Cell(node)
    made._geometry = node.geometry
    return made


def of_view(cell: Cell, geometry: Geometry) -> ndarray:
    """A view of a cell."""
    made = object.__new__(ndarray)
    made._np = None
    made._cell = cell
    made._geometry = geometry
    return made


def returned(result: Any, *sources: Any) -> Any:
    """What NumPy returned for arrays of any kind, in our hands: memory that is not its own is copied."""
    if isinstance(result, np.ndarray):
        if result.base is not None or not result.flags.owndata:
            result = result.copy(order="K")
        return from_numpy(result)
    if type(result) is tuple:
        return tuple([returned(r, *sources) for r in result])
    if type(result) is list:
        return [returned(r, *sources) for r in result]
    return result


def _binary(ufunc: np.ufunc) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    def forward(self: Handle, other: Any) -> Any:
        small = self._np
        if small is not None:
            kind = type(other)
            if kind in _FAST_SCALARS:
                return of_small(ufunc(small, other))
            if kind is ndarray:
                second = other._np
                if second is not None:
                    return of_small(ufunc(small, second))
        return general(ufunc, self, other)

    def backward(self: Handle, other: Any) -> Any:
        small = self._np
        if small is not None and type(other) in _FAST_SCALARS:
            return of_small(ufunc(other, small))
        return general(ufunc, other, self)

    return forward, backward


def general(ufunc: np.ufunc, *inputs: Any) -> Any:
    """A ufunc on arrays of any kind."""
    if any(_defers(value) for value in inputs):
        return NotImplemented
    result = apply(ufunc, inputs, of_node)
    if result is NotImplemented:
        return returned(ufunc(*[plain(value) for value in inputs]))
    return result


def _defers(value: Any) -> bool:
    """Whether an operand wants to handle the operation itself, by NumPy's rules."""
    if isinstance(value, (Handle, np.ndarray, np.generic, int, float, complex)):
        return False
    kind = type(value)
    if hasattr(kind, "__array_ufunc__"):
        return kind.__array_ufunc__ is None
    return getattr(kind, "__array_priority__", -1000000.0) > 0 and not isinstance(value, np.ndarray)


def _in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        small = self._np
        if small is not None:
            kind = type(other)
            if kind in _FAST_SCALARS:
                ufunc(small, other, out=small)
                return self
            if kind is ndarray and other._np is not None:
                ufunc(small, other._np, out=small)
                return self
        return in_place(ufunc, self, other)

    return operate


def in_place(ufunc: np.ufunc, target: Any, other: Any) -> Any:
    """``ufunc(target, other, out=target)``."""
    if target._np is None and _may_write(target):
        result = apply(ufunc, (target, other), of_node)
        if (
            result is not NotImplemented
            and np.can_cast(result._geometry.dtype, target._geometry.dtype, "same_kind")
            and result._geometry.shape == target._geometry.shape
        ):
            value = result._cell.node
            del result
            _assign_node(target, value)
            return target
        del result
    out = target._array_to_write()
    ufunc(out, plain(other), out=out)
    return target


def _assign_node(target: Any, value: Node) -> None:
    made = of_node(value)
    del value
    if not assign(target._cell, target._geometry, made):
        view = target._array_to_write()
        np.copyto(view, plain(made), casting="same_kind")


def _may_write(target: Handle) -> bool:
    return target._cell.writeable and 0 not in [
        s for s, n in zip(target._geometry.strides, target._geometry.shape, strict=True) if n > 1
    ]


def basic_key(key: Any) -> tuple[Any, ...] | None:
    """The index as a tuple of ints, slices, None and Ellipsis, or ``None`` if it is advanced."""
    items = key if type(key) is tuple else (key,)
    for item in items:
        if type(item) not in _BASIC:
            break
    else:
        return items
    made = []
    for item in items:
        kind = type(item)
        if kind in _BASIC:
            made.append(item)
        elif isinstance(item, np.integer) or (kind is not bool and kind is not np.bool_ and _is_index(item)):
            made.append(item.__index__())
        else:
            return None
    return tuple(made)


def _is_index(item: Any) -> bool:
    return hasattr(item, "__index__") and not isinstance(item, (np.ndarray, Handle, np.bool_))


class ndarray(Handle):  # noqa: N801
    """An array whose value is computed when somebody looks."""

    __slots__ = ()
    __array_priority__: ClassVar[float] = 0.0

    # -- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._geometry.shape if self._np is None else self._np.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The kind of the elements."""
        return self._geometry.dtype if self._np is None else self._np.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._geometry.ndim if self._np is None else self._np.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._geometry.size if self._np is None else self._np.size

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, by axis."""
        return self._geometry.strides if self._np is None else self._np.strides

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    # -- looking

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self._np if self._np is not None else self._cell.export(self._geometry)
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __float__(self) -> float:
        return float(self._array())

    def __int__(self) -> int:
        return int(self._array())

    def __complex__(self) -> complex:
        return complex(self._array())

    def __bool__(self) -> bool:
        return bool(self._array())

    def __index__(self) -> int:
        return self._array().__index__()

    def __repr__(self) -> str:
        return repr(self._array())

    def __str__(self) -> str:
        return str(self._array())

    def __format__(self, spec: str) -> str:
        array = self._array()
        return format(array[()] if array.ndim == 0 else array, spec)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self.shape[0]))

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    def item(self, *args: Any) -> Any:
        """An element as a Python number."""
        return self._array().item(*args)

    def tolist(self) -> Any:
        """The elements as nested lists."""
        return self._array().tolist()

    # -- indexing

    def __getitem__(self, key: Any) -> Any:
        small = self._np
        if small is not None:
            return of_small(small[plain(key)])
        items = basic_key(key)
        if items is None:
            return returned(self._array()[plain(key)])
        geometry = self._geometry.index(items)
        if geometry.ndim == 0 and Ellipsis not in items:
            return view_of(self._cell.settle().array, geometry)[()]
        return of_view(self._cell, geometry)

    def __setitem__(self, key: Any, value: Any) -> None:
        small = self._np
        if small is not None:
            small[plain(key)] = plain(value)
            return
        if not self._cell.writeable:
            raise ValueError("assignment destination is read-only")
        items = basic_key(key)
        if items is not None and assign(self._cell, self._geometry.index(items), value):
            return
        key, value = plain(key), plain(value)
        self._array_to_write()[key] = value

    # -- views

    @property
    def T(self) -> ndarray:
        """The transpose."""
        if self._np is not None:
            return of_small(self._np.T)  # type: ignore[no-any-return]
        return of_view(self._cell, self._geometry.derived("T", lambda s: s.T))

    @property
    def flat(self) -> Any:
        """The elements in C order."""
        return self.reshape(-1)

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
        """The elements in another shape."""
        if len(shape) == 1 and not isinstance(shape[0], int):
            shape = tuple(shape[0])
        if self._np is not None:
            return of_small(self._np.reshape(shape, order=order))
        view = self._geometry.reshaped(tuple(shape))
        if view is None:
            return from_numpy(np.array(self._array().reshape(shape)))
        return of_view(self._cell, view)

    def copy(self, order: Any = "C") -> ndarray:
        """An array of its own with the same elements."""
        if self._np is not None:
            return of_small(self._np.copy(order))  # type: ignore[no-any-return]
        if self._cell.pins or not self._geometry.c_contiguous:
            return from_numpy(self._array().copy(order))
        return of_node(self._node())


def _add_operators() -> None:
    for name, ufunc in (
        ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide),
        ("floordiv", np.floor_divide), ("mod", np.remainder), ("pow", np.power), ("and", np.bitwise_and),
        ("or", np.bitwise_or), ("xor", np.bitwise_xor), ("lshift", np.left_shift), ("rshift", np.right_shift),
    ):  # fmt: skip
        forward, backward = _binary(ufunc)
        setattr(ndarray, f"__{name}__", forward)
        setattr(ndarray, f"__r{name}__", backward)
        setattr(ndarray, f"__i{name}__", _in_place(ufunc))
    for name, ufunc in (
        ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
        ("eq", np.equal), ("ne", np.not_equal),
    ):  # fmt: skip
        setattr(ndarray, f"__{name}__", _binary(ufunc)[0])


_add_operators()
ndarray.__hash__ = None  # type: ignore[assignment]


class Scalar(ndarray):
    """A number that is still to be computed: what NumPy would return as a scalar."""

    __slots__ = ()

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return self._geometry.dtype.type

    def __hash__(self) -> int:
        return hash(self._array()[()])

    def __repr__(self) -> str:
        return repr(self._array()[()])
