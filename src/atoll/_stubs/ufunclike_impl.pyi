# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from numpy import floating
from numpy import object_
from numpy._typing import NDArray
from numpy._typing import _ArrayLikeFloat_co
from numpy._typing import _ArrayLikeObject_co
from numpy._typing import _FloatLike_co
from typing import Any
from typing import TypeVar
from typing import overload
from typing_extensions import deprecated
import numpy as np
_ArrayT = TypeVar('_ArrayT', bound=NDArray[Any])
@overload
@deprecated('np.fix will be deprecated in NumPy 2.5 in favor of np.trunc', category=PendingDeprecationWarning)
def fix(x: _FloatLike_co, out: None=None) -> floating: ...
@overload
@deprecated('np.fix will be deprecated in NumPy 2.5 in favor of np.trunc', category=PendingDeprecationWarning)
def fix(x: _ArrayLikeFloat_co, out: None=None) -> atoll.typing.NDArray[floating]: ...
@overload
@deprecated('np.fix will be deprecated in NumPy 2.5 in favor of np.trunc', category=PendingDeprecationWarning)
def fix(x: _ArrayLikeObject_co, out: None=None) -> atoll.typing.NDArray[object_]: ...
@overload
@deprecated('np.fix will be deprecated in NumPy 2.5 in favor of np.trunc', category=PendingDeprecationWarning)
def fix(x: _ArrayLikeFloat_co | _ArrayLikeObject_co, out: _ArrayT) -> _ArrayT: ...
@overload
def isposinf(x: _FloatLike_co, out: None=None) -> np.bool: ...
@overload
def isposinf(x: _ArrayLikeFloat_co, out: None=None) -> atoll.typing.NDArray[np.bool]: ...
@overload
def isposinf(x: _ArrayLikeFloat_co, out: _ArrayT) -> _ArrayT: ...
@overload
def isneginf(x: _FloatLike_co, out: None=None) -> np.bool: ...
@overload
def isneginf(x: _ArrayLikeFloat_co, out: None=None) -> atoll.typing.NDArray[np.bool]: ...
@overload
def isneginf(x: _ArrayLikeFloat_co, out: _ArrayT) -> _ArrayT: ...
