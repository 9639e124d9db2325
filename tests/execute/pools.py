"""A pool whose memory tests ask for by the byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from atoll.backend import memory


class Buffer:
    """Memory of a pool, which keeps it until the last array over the buffer has died."""

    def __init__(self, owner: np.ndarray[Any, Any], address: int) -> None:
        self._owner = owner
        self.address = address
        self.nbytes = owner.nbytes

    def array(self, shape: Any, dtype: Any, strides: Any = None, offset: int = 0) -> Any:
        return np.ndarray(shape, dtype, self._owner, offset, strides)


class Pool(memory.Pool):
    """A pool of buffers."""

    def allocate(self, nbytes: int, what: object = "") -> Buffer:
        return Buffer(*self.lend(nbytes, what))
