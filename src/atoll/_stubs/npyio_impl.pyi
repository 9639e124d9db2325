# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from _typeshed import StrOrBytesPath
from _typeshed import StrPath
from _typeshed import SupportsRead
from atoll.layout import Layout
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from numpy._typing import DTypeLike
from numpy._typing import _DTypeLike
from numpy._typing import _SupportsArrayFunc
from re import Pattern
from typing import Any
from typing import Literal as L
from typing import Protocol
from typing import TypeAlias
from typing import overload
from typing import type_check_only
from typing_extensions import TypeVar
import numpy as np
_T_co = TypeVar('_T_co', covariant=True)
_ScalarT = TypeVar('_ScalarT', bound=np.generic)
_FName: TypeAlias = StrPath | Iterable[str] | Iterable[bytes]
_FNameRead: TypeAlias = StrPath | SupportsRead[str] | SupportsRead[bytes]
@type_check_only
class _SupportsReadSeek(SupportsRead[_T_co], Protocol[_T_co]):
    def seek(self, offset: int, whence: int, /) -> object: ...
def load(file: StrOrBytesPath | _SupportsReadSeek[bytes], mmap_mode: L['r+', 'r', 'w+', 'c'] | None=None, allow_pickle: bool=False, fix_imports: bool=True, encoding: L['ASCII', 'latin1', 'bytes']='ASCII', *, max_header_size: int=10000, layout: Layout | str | Sequence[Any] | None=None) -> Any: ...
@overload
def loadtxt(fname: _FName, dtype: None=None, comments: str | Sequence[str] | None='#', delimiter: str | None=None, converters: Mapping[int | str, Callable[[str], Any]] | Callable[[str], Any] | None=None, skiprows: int=0, usecols: int | Sequence[int] | None=None, unpack: bool=False, ndmin: L[0, 1, 2]=0, encoding: str | None=None, max_rows: int | None=None, *, quotechar: str | None=None, like: _SupportsArrayFunc | None=None, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[np.float64]: ...
@overload
def loadtxt(fname: _FName, dtype: _DTypeLike[_ScalarT], comments: str | Sequence[str] | None='#', delimiter: str | None=None, converters: Mapping[int | str, Callable[[str], Any]] | Callable[[str], Any] | None=None, skiprows: int=0, usecols: int | Sequence[int] | None=None, unpack: bool=False, ndmin: L[0, 1, 2]=0, encoding: str | None=None, max_rows: int | None=None, *, quotechar: str | None=None, like: _SupportsArrayFunc | None=None, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def loadtxt(fname: _FName, dtype: DTypeLike | None, comments: str | Sequence[str] | None='#', delimiter: str | None=None, converters: Mapping[int | str, Callable[[str], Any]] | Callable[[str], Any] | None=None, skiprows: int=0, usecols: int | Sequence[int] | None=None, unpack: bool=False, ndmin: L[0, 1, 2]=0, encoding: str | None=None, max_rows: int | None=None, *, quotechar: str | None=None, like: _SupportsArrayFunc | None=None, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[Any]: ...
@overload
def fromregex(file: _FNameRead, regexp: str | bytes | Pattern[Any], dtype: _DTypeLike[_ScalarT], encoding: str | None=None, *, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def fromregex(file: _FNameRead, regexp: str | bytes | Pattern[Any], dtype: DTypeLike | None, encoding: str | None=None, *, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[Any]: ...
@overload
def genfromtxt(fname: _FName, dtype: None=None, comments: str='#', delimiter: str | int | Iterable[int] | None=None, skip_header: int=0, skip_footer: int=0, converters: Mapping[int | str, Callable[[str], Any]] | None=None, missing_values: Any=None, filling_values: Any=None, usecols: Sequence[int] | None=None, names: L[True] | str | Collection[str] | None=None, excludelist: Sequence[str] | None=None, deletechars: str=" !#$%&'()*+,-./:;<=>?@[\\]^{|}~", replace_space: str='_', autostrip: bool=False, case_sensitive: bool | L['upper', 'lower']=True, defaultfmt: str='f%i', unpack: bool | None=None, usemask: bool=False, loose: bool=True, invalid_raise: bool=True, max_rows: int | None=None, encoding: str | None=None, *, ndmin: L[0, 1, 2]=0, like: _SupportsArrayFunc | None=None, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[Any]: ...
@overload
def genfromtxt(fname: _FName, dtype: _DTypeLike[_ScalarT], comments: str='#', delimiter: str | int | Iterable[int] | None=None, skip_header: int=0, skip_footer: int=0, converters: Mapping[int | str, Callable[[str], Any]] | None=None, missing_values: Any=None, filling_values: Any=None, usecols: Sequence[int] | None=None, names: L[True] | str | Collection[str] | None=None, excludelist: Sequence[str] | None=None, deletechars: str=" !#$%&'()*+,-./:;<=>?@[\\]^{|}~", replace_space: str='_', autostrip: bool=False, case_sensitive: bool | L['upper', 'lower']=True, defaultfmt: str='f%i', unpack: bool | None=None, usemask: bool=False, loose: bool=True, invalid_raise: bool=True, max_rows: int | None=None, encoding: str | None=None, *, ndmin: L[0, 1, 2]=0, like: _SupportsArrayFunc | None=None, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def genfromtxt(fname: _FName, dtype: DTypeLike | None, comments: str='#', delimiter: str | int | Iterable[int] | None=None, skip_header: int=0, skip_footer: int=0, converters: Mapping[int | str, Callable[[str], Any]] | None=None, missing_values: Any=None, filling_values: Any=None, usecols: Sequence[int] | None=None, names: L[True] | str | Collection[str] | None=None, excludelist: Sequence[str] | None=None, deletechars: str=" !#$%&'()*+,-./:;<=>?@[\\]^{|}~", replace_space: str='_', autostrip: bool=False, case_sensitive: bool | L['upper', 'lower']=True, defaultfmt: str='f%i', unpack: bool | None=None, usemask: bool=False, loose: bool=True, invalid_raise: bool=True, max_rows: int | None=None, encoding: str | None=None, *, ndmin: L[0, 1, 2]=0, like: _SupportsArrayFunc | None=None, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[Any]: ...
