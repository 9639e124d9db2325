# Written by stubs/write.py from NumPy 2.4.6 and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
import atoll
import atoll.random
import atoll.typing
from _typeshed import SupportsRead
from atoll.layout import Layout
from collections.abc import Sequence
from typing import Any
import numpy as np
import numpy.typing as npt
import os
def read_array(fp: SupportsRead[bytes], allow_pickle: bool=False, pickle_kwargs: dict[str, Any] | None=None, *, max_header_size: int=10000) -> atoll.ndarray: ...
def open_memmap(filename: str | os.PathLike[Any], mode: str='r+', dtype: npt.DTypeLike | None=None, shape: tuple[int, ...] | None=None, fortran_order: bool=False, version: tuple[int, int] | None=None, *, max_header_size: int=10000, layout: Layout | str | Sequence[Any] | None=None) -> np.memmap: ...
