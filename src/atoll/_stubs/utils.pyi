# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from numpy._typing import DTypeLike
from numpy._typing import _ArrayLikeNumber_co
from typing import Any
def assert_array_max_ulp(a: _ArrayLikeNumber_co, b: _ArrayLikeNumber_co, maxulp: float=1, dtype: DTypeLike | None=None) -> atoll.typing.NDArray[Any]: ...
