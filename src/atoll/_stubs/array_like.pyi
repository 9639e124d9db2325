# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from numpy import dtype
from numpy._typing._nested_sequence import _NestedSequence
from typing import Any
from typing import Protocol
from typing import TypeAlias
from typing import TypeVar
from typing import runtime_checkable
import numpy as np
_T = TypeVar('_T')
_DTypeT = TypeVar('_DTypeT', bound=dtype[Any])
_DTypeT_co = TypeVar('_DTypeT_co', covariant=True, bound=dtype[Any])
@runtime_checkable
class _SupportsArray(Protocol[_DTypeT_co]):
    def __array__(self) -> atoll.ndarray[Any, _DTypeT_co]: ...
_DualArrayLike: TypeAlias = _SupportsArray[_DTypeT] | _NestedSequence[_SupportsArray[_DTypeT]] | _T | _NestedSequence[_T]
_Our_DualArrayLike: TypeAlias = _SupportsArray[_DTypeT] | _NestedSequence[_SupportsArray[_DTypeT]] | _T | _NestedSequence[_T]
_ArrayLikeBool_co: TypeAlias = _DualArrayLike[dtype[np.bool], bool]
_Our_ArrayLikeBool_co: TypeAlias = _Our_DualArrayLike[dtype[np.bool], bool]
_ArrayLikeInt_co: TypeAlias = _DualArrayLike[dtype[np.bool | np.integer], int]
_Our_ArrayLikeInt_co: TypeAlias = _Our_DualArrayLike[dtype[np.bool | np.integer], int]
_ArrayLikeInt: TypeAlias = _DualArrayLike[dtype[np.integer], int]
_Our_ArrayLikeInt: TypeAlias = _Our_DualArrayLike[dtype[np.integer], int]
