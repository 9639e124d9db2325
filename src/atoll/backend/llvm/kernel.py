"""A compiled kernel, and the block of 8-byte words that it is called with."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..spec import KernelSpec, partial_dtypes

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True, slots=True)
class Layout:
    """Word offsets into an argument block. ``flags`` is word 0, ``chunk`` word 1, and ``extents`` begin at word 2.

    ``strides`` holds ``ndim`` words for operand 0, then those of operand 1, and so on, in bytes.
    A scalar takes two words, its value in native form at their start. ``partials`` holds one
    pointer for each entry of ``partial_dtypes``, to an array with one element for every chunk.
    """

    flags: ClassVar[int] = 0
    chunk: ClassVar[int] = 1
    extents: ClassVar[int] = 2
    ndim: int
    operands: int
    pointers: int
    strides: int
    scalars: int
    origins: int
    partials: int
    size: int
    partial_dtypes: tuple[str, ...]

    @classmethod
    def of(cls, spec: KernelSpec) -> Layout:
        """The layout of the argument block of ``spec``."""
        ndim, operands = spec.ndim, len(spec.operands)
        dtypes = partial_dtypes(spec)
        pointers = cls.extents + ndim
        strides = pointers + operands
        scalars = strides + operands * ndim
        origins = scalars + 2 * len(spec.scalars)
        partials = origins + ndim
        size = partials + len(dtypes)
        return cls(ndim, operands, pointers, strides, scalars, origins, partials, size, dtypes)


@dataclass(slots=True, eq=False)
class Kernel:
    """Machine code for a specification, at ``address``: ``void (block, first_chunk, last_chunk)``.

    ``alone`` calls it in this thread. The code stays in memory as long as the kernel does. A ``draft`` was
    compiled in haste, and has ``done`` some work: see :mod:`.compile`.
    """

    spec: KernelSpec
    layout: Layout
    draft: bool = False
    done: int = 0
    address: int = field(default=0, init=False)
    alone: Any = field(default=None, init=False)
    _held: tuple[object, ...] = field(default=(), init=False)

    def take(self, address: int, holder: object) -> None:
        """Have code at an address, in memory that ``holder`` keeps. Threads may be in the code before it, so that stays, too."""
        self._held = (*self._held, holder)
        self.alone, self.address = _FUNCTION(address), address
