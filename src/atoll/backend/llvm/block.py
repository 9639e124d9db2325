"""The one argument of a kernel: the layout of its block of 8-byte words."""

from __future__ import annotations

from dataclasses import dataclass

from ..spec import KernelSpec, partial_dtypes


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
