"""A compiled kernel, and the block of arguments that it is called with."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ...config import config
from ..spec import KernelSpec, is_flat, partial_dtypes
from . import workers
from .types import SETTLED

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True, slots=True)
class Layout:
    """Word offsets into an argument block. ``flags`` is word 0, ``chunk`` word 1.

    ``strides`` holds ``ndim`` words for operand 0, then those of operand 1, and so on, in bytes.
    A scalar takes two words, its value in native form at their start. ``partials`` holds one
    pointer for each entry of ``partial_dtypes``, to an array with one element for every chunk.
    """

    ndim: int
    operands: int
    flags: int
    chunk: int
    extents: int
    pointers: int
    strides: int
    scalars: int
    origins: int
    steps: int
    partials: int
    size: int
    partial_dtypes: tuple[str, ...]

    @classmethod
    def of(cls, spec: KernelSpec) -> Layout:
        """The layout of the argument block of ``spec``."""
        ndim, operands = spec.ndim, len(spec.operands)
        dtypes = partial_dtypes(spec)
        pointers = 2 + ndim
        strides = pointers + operands
        scalars = strides + operands * ndim
        origins = scalars + 2 * len(spec.scalars)
        partials = origins + 2 * ndim
        return cls(
            ndim=ndim,
            operands=operands,
            flags=0,
            chunk=1,
            extents=2,
            pointers=pointers,
            strides=strides,
            scalars=scalars,
            origins=origins,
            steps=origins + ndim,
            partials=partials,
            size=partials + len(dtypes),
            partial_dtypes=dtypes,
        )


class Block:
    """The arguments of a kernel, bound once and changed in place.

    ``words`` are its 8-byte words as a NumPy array and ``view`` the same as a memoryview, which is
    quicker to write to from Python; :class:`Layout` says what is where.
    """

    __slots__ = ("address", "layout", "view", "words")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.words = np.zeros(layout.size, np.int64)
        self.view = memoryview(self.words)  # type: ignore[arg-type]
        self.address = self.words.ctypes.data

    def set_scalar(self, slot: int, dtype: str, value: object) -> None:
        """Write the run-time scalar ``slot``."""
        start = self.layout.scalars + 2 * slot
        self.words[start : start + 2].view(np.uint8)[: np.dtype(dtype).itemsize].view(dtype)[0] = (
            value
        )


@dataclass(slots=True, eq=False)
class Kernel:
    """Machine code for a specification, at ``address``: ``void (block, first_chunk, last_chunk)``.

    ``alone`` calls it in this thread. The code stays in memory as long as the kernel does. A ``draft`` was
    compiled in haste, and has ``done`` some work: see :mod:`.compile`.
    """

    spec: KernelSpec
    draft: bool = False
    done: int = 0
    address: int = field(default=0, init=False)
    alone: Any = field(default=None, init=False)
    layout: Layout = field(init=False)
    _held: tuple[object, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.layout = Layout.of(self.spec)

    def take(self, address: int, holder: object) -> None:
        """Have code at an address, in memory that ``holder`` keeps. Threads may be in the code before it, so that stays, too."""
        self._held = (*self._held, holder)
        self.alone, self.address = _FUNCTION(address), address

    def block(self) -> Block:
        """A fresh block of arguments, all zero."""
        return Block(self.layout)

    def call(
        self,
        extents: Sequence[int],
        chunk: int,
        pointers: Sequence[int],
        strides: Sequence[Sequence[int]],
        scalars: Sequence[object] = (),
        origins: Sequence[int] = (),
        steps: Sequence[int] = (),
        threads: int | None = 1,
    ) -> tuple[int, list[np.ndarray[Any, Any]]]:
        """Run the kernel over ``extents``; the flags it raised, and its partials by chunk."""
        layout, block = self.layout, self.block()
        words = block.words
        chunks = -(-extents[0] // chunk)
        words[layout.chunk] = chunk * (prod(extents[1:]) if is_flat(self.spec) else 1)
        words[layout.extents : layout.extents + layout.ndim] = extents
        words[layout.pointers : layout.strides] = pointers
        words[layout.strides : layout.scalars] = [s for row in strides for s in row]
        for slot, (dtype, value) in enumerate(zip(self.spec.scalars, scalars)):
            block.set_scalar(slot, dtype, value)
        words[layout.origins : layout.origins + len(origins)] = origins
        words[layout.steps : layout.steps + len(steps)] = steps
        partials = [np.empty(chunks, dtype) for dtype in layout.partial_dtypes]
        for number, array in enumerate(partials):
            words[layout.partials + number] = array.ctypes.data
        run_block(self.address, block.address, chunks, threads)
        return int(words[layout.flags]) & ~SETTLED, partials


def run_block(function: int, block: int, chunks: int, threads: int | None) -> None:
    """Call compiled code on the chunks of a bound block, on ``threads`` threads."""
    if threads == 1 or chunks == 1:
        _DIRECT(function)(block, 0, chunks)
    else:
        workers.parallel_for(function, block, chunks, threads or config.threads)


_DIRECT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
