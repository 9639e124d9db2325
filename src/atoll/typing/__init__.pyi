# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
from numpy.typing import (
    ArrayLike as ArrayLike,
    DTypeLike as DTypeLike,
    NBitBase as NBitBase,
)
import atoll
from typing import Any, TypeAlias, TypeVar
from numpy import dtype, generic

_ScalarT = TypeVar("_ScalarT", bound=generic)
NDArray: TypeAlias = atoll.ndarray[tuple[Any, ...], dtype[_ScalarT]]
