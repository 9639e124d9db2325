"""Numbers that are still to be computed: what NumPy would return as a scalar.

``a.sum()`` need not wait for its value; arithmetic with it records on. To a program it is a
NumPy scalar: it prints, hashes, compares and pickles as one, and ``isinstance`` says so.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import shaping
from .cells import Handle
from .elementwise import general
from .operators import Operators


class Scalar(Operators):
    """A lazy number: no axes, and never written to."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._geometry.dtype.type

    @property
    def number(self) -> Any:
        """The value as a NumPy scalar."""
        return self._array()[()]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.number, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self._array().copy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return repr(self.number)

    def __str__(self) -> str:
        return str(self.number)

    def __format__(self, spec: str) -> str:
        return format(self.number, spec)

    def __float__(self) -> float:
        return float(self._array()[()])

    def __int__(self) -> int:
        return int(self.number)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.number, digits)

    def __trunc__(self) -> int:
        whole: int = math.trunc(self.number)
        return whole

    def __floor__(self) -> int:
        whole: int = math.floor(self.number)
        return whole

    def __ceil__(self) -> int:
        whole: int = math.ceil(self.number)
        return whole

    def __copy__(self) -> Any:
        return self.number

    def __deepcopy__(self, memo: Any) -> Any:
        return self.number

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.number.__reduce_ex__(protocol)

    def __getitem__(self, key: Any) -> Any:
        return self.number[key]

    def __dir__(self) -> list[str]:
        return dir(self.number)

    @property
    def real(self) -> Any:
        """The real part."""
        return self if self._geometry.dtype.kind != "c" else self.number.real

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self.number.imag

    @property
    def T(self) -> Any:
        """The number itself."""
        return self

    def conj(self) -> Any:
        """The complex conjugate."""
        return general(np.conjugate, self)

    def conjugate(self) -> Any:
        """The complex conjugate."""
        return general(np.conjugate, self)

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """An array with this one element."""
        made = shaping._as_array(self)
        return shaping.reshape(made, shape[0] if len(shape) == 1 else shape, **options)


Handle.scalar_type = Scalar
