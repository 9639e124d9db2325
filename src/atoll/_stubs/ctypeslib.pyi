# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from collections.abc import Iterable
from numpy import dtype
from numpy import generic
from numpy._core.multiarray import flagsobj
from numpy._typing import DTypeLike
from numpy._typing import _AnyShape
from numpy._typing import _DTypeLike
from numpy._typing import _ShapeLike
from numpy.ctypeslib._ctypeslib import _ndptr
from typing import ClassVar
from typing import Literal as L
from typing import TypeAlias
from typing import TypeVar
from typing import overload
_DTypeT = TypeVar('_DTypeT', bound=dtype)
_ScalarT = TypeVar('_ScalarT', bound=generic)
_FlagsKind: TypeAlias = L['C_CONTIGUOUS', 'CONTIGUOUS', 'C', 'F_CONTIGUOUS', 'FORTRAN', 'F', 'ALIGNED', 'A', 'WRITEABLE', 'W', 'OWNDATA', 'O', 'WRITEBACKIFCOPY', 'X']
class _concrete_ndptr(_ndptr[_DTypeT]):
    _dtype_: ClassVar[_DTypeT]
    _shape_: ClassVar[_AnyShape]
    @property
    def contents(self) -> atoll.ndarray[_AnyShape, _DTypeT]: ...
@overload
def ndpointer(dtype: None=None, ndim: int | None=None, shape: _ShapeLike | None=None, flags: _FlagsKind | Iterable[_FlagsKind] | int | flagsobj | None=None) -> type[_ndptr[None]]: ...
@overload
def ndpointer(dtype: _DTypeLike[_ScalarT], ndim: int | None=None, *, shape: _ShapeLike, flags: _FlagsKind | Iterable[_FlagsKind] | int | flagsobj | None=None) -> type[_concrete_ndptr[dtype[_ScalarT]]]: ...
@overload
def ndpointer(dtype: DTypeLike | None, ndim: int | None=None, *, shape: _ShapeLike, flags: _FlagsKind | Iterable[_FlagsKind] | int | flagsobj | None=None) -> type[_concrete_ndptr[dtype]]: ...
@overload
def ndpointer(dtype: _DTypeLike[_ScalarT], ndim: int | None=None, shape: None=None, flags: _FlagsKind | Iterable[_FlagsKind] | int | flagsobj | None=None) -> type[_ndptr[dtype[_ScalarT]]]: ...
@overload
def ndpointer(dtype: DTypeLike | None, ndim: int | None=None, shape: None=None, flags: _FlagsKind | Iterable[_FlagsKind] | int | flagsobj | None=None) -> type[_ndptr[dtype]]: ...
