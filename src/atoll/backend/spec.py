"""Specification of a kernel as a value: the key of the kernel caches and the input of the code generator.

A kernel is one loop nest over a box. The planner has already chosen the order of the loop
axes (outermost first, the innermost one last) and merged what collapses; a kernel knows
neither shapes nor addresses, only structure, so one compiled kernel serves every size.

A :class:`KernelSpec` lists

* operands: strided memory, addressed as ``pointer + sum(index[axis] * stride[axis])`` with
  byte strides given at run time; ``inner`` describes the innermost stride;
* scalars: run-time numbers that are the same for the whole nest;
* a body in single-assignment form: instruction ``i`` defines value ``i``;
* reductions: folds over the whole nest, or over some of its axes.

Everything here is hashable and prints readably. Dtypes are NumPy's one-letter-and-size codes
in native byte order (``'f8'``, ``'i4'``, ``'b1'``, ``'c16'``), see :data:`DTYPES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..ops.folds import fold_named

DTYPES = (
    "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
)  # fmt: skip
"""The dtypes that kernels handle; all others run as NumPy on the data."""

STEPS, STREAMS, QUARTER = 16, 4, 1 << 13
"""Constants of the order of additions: additions to an accumulator before it is flushed, stretches of a long row that are read in
turns, and elements of each, a multiple of every fold's block. No limits of the policy: sums would have other last digits."""


class Operand(NamedTuple):
    """Memory that the kernel reads, writes, or both (``access`` ``'r'``, ``'w'``, ``'rw'``).

    ``inner`` is ``'unit'`` (the innermost stride is the item size), ``'zero'`` (broadcast along
    the innermost axis), ``'any'``, or for an operand that is only written ``'run3'``: each element
    is written three times in a row, and the stride is three item sizes. ``alias`` is a group number: operands of different groups
    are known not to overlap; operands of one group may overlap in any way. An ``'rw'`` operand is
    read and written at the same index only.
    """

    dtype: str
    access: str = "r"
    inner: str = "unit"
    alias: int = 0

    @property
    def run(self) -> int:
        """Number of times that each element is written."""
        return int(self.inner[3:]) if self.inner.startswith("run") else 1


class Instruction(NamedTuple):
    """One value of the body. ``args`` are numbers of earlier values unless said otherwise.

    ==========  =======================  ==========================================================
    op          args                     meaning (``dtype`` is the dtype of the result)
    ==========  =======================  ==========================================================
    load        (operand,)               the element of an operand at the current index; with a second
                                         argument, any number: as stores before this have left it
    scalar      (slot,)                  a run-time scalar
    const       (python number,)         a compile-time constant, already of ``dtype``
    index       (axis,)                  ``origin[axis] + current index``, as ``i8``
    cast        (value,)                 NumPy's ``astype(dtype, casting='unsafe')``
    call        (value, ...)             the ufunc ``name`` on values that already have the ufunc's
                                         loop dtypes; ``dtype`` is its output's
    where       (mask, a, b)             ``a`` if the ``b1`` mask else ``b``
    real, imag  (value,)                 a component of a complex value
    complex     (re, im)                 a complex value from two real ones
    store       (operand, value)         write (no result); with a third argument, a ``b1`` mask:
                                         write only where it is true
    ==========  =======================  ==========================================================
    """

    op: str
    dtype: str
    args: tuple[int | float | complex, ...]
    name: str = ""


class Reduction(NamedTuple):
    """Fold the value ``value`` by ``op`` over the loop axes ``axes``, in dtype ``dtype``.

    ``op`` is one of ``add multiply minimum maximum fmin fmax logical_and logical_or
    bitwise_and bitwise_or bitwise_xor argmin argmax``. If ``axes`` are all axes of the nest,
    results go to *partials*: one per chunk of axis 0 (see :class:`KernelSpec`), which the caller
    combines; otherwise to operand ``operand`` (``'rw'``), whose strides along ``axes`` are
    zero and which holds the initial values when the kernel starts. ``argmin``/``argmax`` fold
    (value, ``position``) pairs, where ``position`` is the number of an ``i8`` value, and the
    smaller position wins a tie (a NaN wins over everything, the first one over the others), and
    positions rise along the innermost axis;
    positions go to partials of their own, or to the operand after ``operand``.
    """

    op: str
    dtype: str
    value: int
    axes: tuple[int, ...]
    operand: int = -1
    position: int = -1


class KernelSpec(NamedTuple):
    """One loop nest over ``ndim`` axes.

    Work is handed out by *chunks*: ``chunk`` indices of axis 0 (a run-time number) are done by
    one thread, in order; chunk ``c`` covers ``range(c*chunk, min((c+1)*chunk, extent[0]))``. Where rounded folds of
    the whole nest are all that it folds, ``chunk`` counts elements of the nest instead (:func:`is_flat`).
    A full reduction writes one partial per chunk, so that the result does not depend on the
    number of threads. Within a chunk, sums use accumulators over blocks of a few hundred
    elements, added up pairwise. Partial reductions do not fold axis 0 unless there is one chunk.
    """

    ndim: int
    operands: tuple[Operand, ...]
    scalars: tuple[str, ...] = ()
    body: tuple[Instruction, ...] = ()
    reductions: tuple[Reduction, ...] = ()
    row: int = 0
    """The extent of the innermost axis if the kernel is made for it, -1 if it is one of several short ones, else 0. No reduction folds
    a short axis."""


def is_full(reduction: Reduction, ndim: int) -> bool:
    """True if a reduction folds the whole nest, and so writes partials."""
    return len(set(reduction.axes)) == ndim


def is_flat(spec: KernelSpec) -> bool:
    """True if chunks count elements instead of indices of axis 0: if the order of full folds affects the result,
    it is that of one row of all elements, for any axes of the nest."""
    folds = spec.reductions
    return (
        spec.ndim > 1
        and all(is_full(fold, spec.ndim) for fold in folds)
        and any(rounds(fold) for fold in folds)
    )


def rounds(reduction: Reduction) -> bool:
    """True if the order of a fold affects its result."""
    return reduction.dtype[0] in "fc" and not fold_named(reduction.op).is_exact


def accumulators(dtype: str) -> int:
    """Number of accumulators of a rounded fold of ``dtype``, on every processor. No vector is wider."""
    return 32 if dtype in ("f2", "f4", "c8") else 16


def partial_dtypes(spec: KernelSpec) -> tuple[str, ...]:
    """Dtypes of the arrays of partials: one for a full reduction, two if it has a position."""
    dtypes: list[str] = []
    for reduction in spec.reductions:
        if is_full(reduction, spec.ndim):
            dtypes.append(reduction.dtype)
            if reduction.position >= 0:
                dtypes.append("i8")
    return tuple(dtypes)


def whole(number: int | float | complex) -> int:
    """An argument of an instruction as an integer."""
    return int(number.real)


def arguments(instruction: Instruction) -> list[int]:
    """The values that an instruction uses."""
    if instruction.op in ("load", "scalar", "const", "index"):
        return []
    first = 1 if instruction.op == "store" else 0
    return [whole(argument) for argument in instruction.args[first:]]


def behind(body: Sequence[Instruction], values: Iterable[int]) -> set[int]:
    """The values and all values that they are computed from."""
    left = list(values)
    reached = set(left)
    while left:
        new = set(arguments(body[left.pop()])) - reached
        reached |= new
        left += new
    return reached


def mask_of(store: Instruction) -> int:
    """The mask of a store, or -1."""
    return whole(store.args[2]) if len(store.args) == 3 else -1


def common_mask(spec: KernelSpec) -> int:
    """The mask of all masked stores, or -1 if there is none, or more than one."""
    masks = {mask_of(instruction) for instruction in spec.body if instruction.op == "store"} - {-1}
    return masks.pop() if len(masks) == 1 else -1


def written_operands(spec: KernelSpec) -> set[int]:
    """The numbers of the operands that a kernel writes."""
    written = {k for k, operand in enumerate(spec.operands) if operand.access != "r"}
    for reduction in spec.reductions:
        if not is_full(reduction, spec.ndim):
            written.add(reduction.operand)
            if reduction.position >= 0:
                written.add(reduction.operand + 1)
    return written


def conflicting_pairs(spec: KernelSpec) -> list[tuple[int, int]]:
    """(written, other) operands of one alias group."""
    written = written_operands(spec)
    return [
        (w, k)
        for w in sorted(written)
        for k, operand in enumerate(spec.operands)
        if k != w and operand.alias == spec.operands[w].alias and not (k in written and k < w)
    ]
