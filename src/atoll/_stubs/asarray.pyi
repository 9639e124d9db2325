# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from atoll.layout import Layout
from collections.abc import Iterable
from collections.abc import Sequence
from numpy._typing import DTypeLike
from numpy._typing import NDArray
from numpy._typing import _SupportsArrayFunc
from typing import Any
from typing import Literal
from typing import TypeAlias
from typing import TypeVar
from typing import overload
_ArrayT = TypeVar('_ArrayT', bound=NDArray[Any])
_Requirements: TypeAlias = Literal['C', 'C_CONTIGUOUS', 'CONTIGUOUS', 'F', 'F_CONTIGUOUS', 'FORTRAN', 'A', 'ALIGNED', 'W', 'WRITEABLE', 'O', 'OWNDATA']
_E: TypeAlias = Literal['E', 'ENSUREARRAY']
_RequirementsWithE: TypeAlias = _Requirements | _E
@overload
def require(a: _ArrayT, dtype: None=None, requirements: _Requirements | Iterable[_Requirements] | None=None, *, like: _SupportsArrayFunc | None=None, layout: Layout | str | Sequence[Any] | None=None) -> _ArrayT: ...
@overload
def require(a: object, dtype: DTypeLike | None=None, requirements: _E | Iterable[_RequirementsWithE] | None=None, *, like: _SupportsArrayFunc | None=None, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[Any]: ...
@overload
def require(a: object, dtype: DTypeLike | None=None, requirements: _Requirements | Iterable[_Requirements] | None=None, *, like: _SupportsArrayFunc | None=None, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[Any]: ...
