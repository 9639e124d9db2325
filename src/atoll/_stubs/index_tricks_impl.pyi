# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from _typeshed import Incomplete
from atoll.layout import Layout
from collections.abc import Sequence
from numpy._typing import ArrayLike
from numpy._typing import _AnyShape
from numpy._typing import _HasDType
from typing import Any
from typing import Final
from typing import Generic
from typing import Literal as L
from typing import final
from typing import overload
from typing_extensions import TypeVar
import numpy as np
_DTypeT = TypeVar('_DTypeT', bound=np.dtype)
_BoolT_co = TypeVar('_BoolT_co', bound=bool, default=bool, covariant=True)
class nd_grid(Generic[_BoolT_co]):
    __slots__ = ('sparse',)
    sparse: _BoolT_co
    def __init__(self, sparse: _BoolT_co=...) -> None: ...
    @overload
    def __getitem__(self: nd_grid[L[False]], key: slice | Sequence[slice]) -> atoll.typing.NDArray[Incomplete]: ...
    @overload
    def __getitem__(self: nd_grid[L[True]], key: slice | Sequence[slice]) -> tuple[atoll.typing.NDArray[Incomplete], ...]: ...
@final
class MGridClass(nd_grid[L[False]]):
    __slots__ = ()
    def __init__(self) -> None: ...
@final
class OGridClass(nd_grid[L[True]]):
    __slots__ = ()
    def __init__(self) -> None: ...
@overload
def ix_() -> tuple[()]: ...
@overload
def ix_(*args: Sequence[_HasDType[_DTypeT]] | _HasDType[_DTypeT]) -> tuple[atoll.ndarray[_AnyShape, _DTypeT], ...]: ...
@overload
def ix_(*args: Sequence[str]) -> tuple[atoll.typing.NDArray[np.str_], ...]: ...
@overload
def ix_(*args: Sequence[bytes]) -> tuple[atoll.typing.NDArray[np.bytes_], ...]: ...
@overload
def ix_(*args: Sequence[int]) -> tuple[atoll.typing.NDArray[np.intp], ...]: ...
@overload
def ix_(*args: Sequence[float]) -> tuple[atoll.typing.NDArray[np.float64], ...]: ...
@overload
def ix_(*args: Sequence[complex]) -> tuple[atoll.typing.NDArray[np.complex128], ...]: ...
def diag_indices(n: int, ndim: int=2, *, layout: Layout | str | Sequence[Any] | None=None) -> tuple[atoll.typing.NDArray[np.intp], ...]: ...
def diag_indices_from(arr: ArrayLike) -> tuple[atoll.typing.NDArray[np.intp], ...]: ...
mgrid: Final[MGridClass] = ...
ogrid: Final[OGridClass] = ...
