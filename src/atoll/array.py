"""The array: a handle on a value, with NumPy's operators, indexing and methods, and no mathematics.

Everything is done in :mod:`.recording`; this file says under which names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from .recording import indexing, shaping
from .recording.cells import Handle
from .recording.distributed import Distributed
from .recording.elementwise import binary, in_place_operator
from .recording.making import from_numpy, of_small, of_view


class ndarray(Distributed):
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
        return indexing.get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.put(self, key, value)

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
        return shaping.copied(self, order)  # type: ignore[no-any-return]


def _add_operators() -> None:
    for name, ufunc in (
        ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide),
        ("floordiv", np.floor_divide), ("mod", np.remainder), ("pow", np.power), ("and", np.bitwise_and),
        ("or", np.bitwise_or), ("xor", np.bitwise_xor), ("lshift", np.left_shift), ("rshift", np.right_shift),
    ):  # fmt: skip
        forward, backward = binary(ufunc)
        setattr(ndarray, f"__{name}__", forward)
        setattr(ndarray, f"__r{name}__", backward)
        setattr(ndarray, f"__i{name}__", in_place_operator(ufunc))
    for name, ufunc in (
        ("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal),
        ("eq", np.equal), ("ne", np.not_equal),
    ):  # fmt: skip
        setattr(ndarray, f"__{name}__", binary(ufunc)[0])


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


Handle.array_type = ndarray
Handle.scalar_type = Scalar
