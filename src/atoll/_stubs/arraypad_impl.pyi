# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from numpy import generic
from numpy._typing import ArrayLike
from numpy._typing import NDArray
from numpy._typing import _ArrayLike
from numpy._typing import _ArrayLikeInt
from typing import Any
from typing import Literal as L
from typing import Protocol
from typing import TypeAlias
from typing import TypeVar
from typing import overload
from typing import type_check_only
_ScalarT = TypeVar('_ScalarT', bound=generic)
@type_check_only
class _ModeFunc(Protocol):
    def __call__(self, vector: NDArray[Any], iaxis_pad_width: tuple[int, int], iaxis: int, kwargs: dict[str, Any], /) -> None: ...
_ModeKind: TypeAlias = L['constant', 'edge', 'linear_ramp', 'maximum', 'mean', 'median', 'minimum', 'reflect', 'symmetric', 'wrap', 'empty']
_PadWidth: TypeAlias = _ArrayLikeInt | dict[int, int] | dict[int, tuple[int, int]] | dict[int, int | tuple[int, int]]
@overload
def pad(array: _ArrayLike[_ScalarT], pad_width: _PadWidth, mode: _ModeKind='constant', *, stat_length: _ArrayLikeInt | None=None, constant_values: ArrayLike=0, end_values: ArrayLike=0, reflect_type: L['odd', 'even']='even') -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def pad(array: ArrayLike, pad_width: _PadWidth, mode: _ModeKind='constant', *, stat_length: _ArrayLikeInt | None=None, constant_values: ArrayLike=0, end_values: ArrayLike=0, reflect_type: L['odd', 'even']='even') -> atoll.typing.NDArray[Any]: ...
@overload
def pad(array: _ArrayLike[_ScalarT], pad_width: _PadWidth, mode: _ModeFunc, **kwargs: Any) -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def pad(array: ArrayLike, pad_width: _PadWidth, mode: _ModeFunc, **kwargs: Any) -> atoll.typing.NDArray[Any]: ...
