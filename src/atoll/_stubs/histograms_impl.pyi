# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from collections.abc import Sequence
from numpy._typing import ArrayLike
from typing import Any
from typing import Literal as L
from typing import SupportsIndex
from typing import TypeAlias
_BinKind: TypeAlias = L['stone', 'auto', 'doane', 'fd', 'rice', 'scott', 'sqrt', 'sturges']
def histogram_bin_edges(a: ArrayLike, bins: _BinKind | SupportsIndex | ArrayLike=10, range: tuple[float, float] | None=None, weights: ArrayLike | None=None) -> atoll.typing.NDArray[Any]: ...
def histogram(a: ArrayLike, bins: _BinKind | SupportsIndex | ArrayLike=10, range: tuple[float, float] | None=None, density: bool | None=None, weights: ArrayLike | None=None) -> tuple[atoll.typing.NDArray[Any], atoll.typing.NDArray[Any]]: ...
def histogramdd(sample: ArrayLike, bins: SupportsIndex | ArrayLike=10, range: Sequence[tuple[float, float]] | None=None, density: bool | None=None, weights: ArrayLike | None=None) -> tuple[atoll.typing.NDArray[Any], tuple[atoll.typing.NDArray[Any], ...]]: ...
