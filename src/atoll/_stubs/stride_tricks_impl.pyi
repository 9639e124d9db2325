# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from collections.abc import Iterable
from numpy import generic
from numpy._typing import ArrayLike
from numpy._typing import _ArrayLike
from typing import Any
from typing import TypeVar
from typing import overload
_ScalarT = TypeVar('_ScalarT', bound=generic)
@overload
def as_strided(x: _ArrayLike[_ScalarT], shape: Iterable[int] | None=None, strides: Iterable[int] | None=None, subok: bool=False, writeable: bool=True) -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def as_strided(x: ArrayLike, shape: Iterable[int] | None=None, strides: Iterable[int] | None=None, subok: bool=False, writeable: bool=True) -> atoll.typing.NDArray[Any]: ...
@overload
def sliding_window_view(x: _ArrayLike[_ScalarT], window_shape: int | Iterable[int], axis: int | tuple[int, ...] | None=None, *, subok: bool=False, writeable: bool=False) -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def sliding_window_view(x: ArrayLike, window_shape: int | Iterable[int], axis: int | tuple[int, ...] | None=None, *, subok: bool=False, writeable: bool=False) -> atoll.typing.NDArray[Any]: ...
@overload
def broadcast_to(array: _ArrayLike[_ScalarT], shape: int | Iterable[int], subok: bool=False) -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def broadcast_to(array: ArrayLike, shape: int | Iterable[int], subok: bool=False) -> atoll.typing.NDArray[Any]: ...
def broadcast_arrays(*args: ArrayLike, subok: bool=False) -> tuple[atoll.typing.NDArray[Any], ...]: ...
