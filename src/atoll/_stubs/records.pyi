# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from _typeshed import StrOrBytesPath
from atoll.layout import Layout
from collections.abc import Sequence
from numpy import _ByteOrder
from numpy._core.records import recarray
from numpy._core.records import record
from numpy._typing import DTypeLike
from numpy._typing import _AnyShape
from numpy._typing import _ShapeLike
from typing import Any
from typing import Protocol
from typing import TypeAlias
from typing import overload
from typing import type_check_only
from typing_extensions import TypeVar
import numpy as np
_ScalarT = TypeVar('_ScalarT', bound=np.generic)
_RecArray: TypeAlias = recarray[_AnyShape, np.dtype[_ScalarT]]
@type_check_only
class _SupportsReadInto(Protocol):
    def seek(self, offset: int, whence: int, /) -> object: ...
    def tell(self, /) -> int: ...
    def readinto(self, buffer: memoryview, /) -> int: ...
@overload
def fromfile(fd: StrOrBytesPath | _SupportsReadInto, dtype: DTypeLike | None, shape: _ShapeLike | None=None, offset: int=0, formats: None=None, names: None=None, titles: None=None, aligned: bool=False, byteorder: None=None, *, layout: Layout | str | Sequence[Any] | None=None) -> _RecArray[Any]: ...
@overload
def fromfile(fd: StrOrBytesPath | _SupportsReadInto, dtype: None=None, shape: _ShapeLike | None=None, offset: int=0, *, formats: DTypeLike | None, names: str | Sequence[str] | None=None, titles: str | Sequence[str] | None=None, aligned: bool=False, byteorder: _ByteOrder | None=None, layout: Layout | str | Sequence[Any] | None=None) -> _RecArray[record]: ...
