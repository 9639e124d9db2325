"""The one argument of a kernel: a block of 8-byte words, and where in it everything is."""

from __future__ import annotations

from dataclasses import dataclass

from .spec import KernelSpec, Reduction


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


def is_full(reduction: Reduction, ndim: int) -> bool:
    """Whether a reduction folds the whole nest, and so writes partials."""
    return len(set(reduction.axes)) == ndim


def is_flat(spec: KernelSpec) -> bool:
    """Whether chunks count elements instead of indices of axis 0: where the order of folds of the whole nest can be seen,
    it is that of one row of all elements, whatever axes the nest has."""
    folds = spec.reductions
    return (
        spec.ndim > 1
        and all(is_full(one, spec.ndim) for one in folds)
        and any(rounds(one) for one in folds)
    )


def rounds(reduction: Reduction) -> bool:
    """Whether the order of a fold can be seen in its result."""
    return reduction.op in ("add", "multiply") and reduction.dtype[0] in "fc"


def partial_dtypes(spec: KernelSpec) -> tuple[str, ...]:
    """Dtypes of the arrays of partials: one for a full reduction, two if it has a position."""
    dtypes: list[str] = []
    for reduction in spec.reductions:
        if is_full(reduction, spec.ndim):
            dtypes.append(reduction.dtype)
            if reduction.position >= 0:
                dtypes.append("i8")
    return tuple(dtypes)
