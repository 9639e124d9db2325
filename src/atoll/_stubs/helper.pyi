# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from atoll.layout import Layout
from collections.abc import Sequence
from numpy import complexfloating
from numpy import floating
from numpy import generic
from numpy import integer
from numpy._typing import ArrayLike
from numpy._typing import _ArrayLike
from numpy._typing import _ArrayLikeComplex_co
from numpy._typing import _ArrayLikeFloat_co
from numpy._typing import _ShapeLike
from typing import Any
from typing import Literal as L
from typing import TypeVar
from typing import overload
_ScalarT = TypeVar('_ScalarT', bound=generic)
@overload
def fftshift(x: _ArrayLike[_ScalarT], axes: _ShapeLike | None=None) -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def fftshift(x: ArrayLike, axes: _ShapeLike | None=None) -> atoll.typing.NDArray[Any]: ...
@overload
def ifftshift(x: _ArrayLike[_ScalarT], axes: _ShapeLike | None=None) -> atoll.typing.NDArray[_ScalarT]: ...
@overload
def ifftshift(x: ArrayLike, axes: _ShapeLike | None=None) -> atoll.typing.NDArray[Any]: ...
@overload
def fftfreq(n: int | integer, d: _ArrayLikeFloat_co=1.0, device: L['cpu'] | None=None, *, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[floating]: ...
@overload
def fftfreq(n: int | integer, d: _ArrayLikeComplex_co=1.0, device: L['cpu'] | None=None, *, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[complexfloating]: ...
@overload
def rfftfreq(n: int | integer, d: _ArrayLikeFloat_co=1.0, device: L['cpu'] | None=None, *, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[floating]: ...
@overload
def rfftfreq(n: int | integer, d: _ArrayLikeComplex_co=1.0, device: L['cpu'] | None=None, *, layout: Layout | str | Sequence[Any] | None=None) -> atoll.typing.NDArray[complexfloating]: ...
