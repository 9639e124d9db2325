"""A loop nest run by NumPy: the instructions of a kernel, each on a block of elements at a time.

The nest is done in blocks of some ten thousand elements, in order, so that the values passed between
instructions stay in the cache. Each instruction is one NumPy call on the whole block.

Folds take NumPy's own order of additions. A rounded fold of the whole nest gathers the elements of a
chunk and folds them as one row, so its bits depend on the chunk alone and not on the axes of the
nest. The bits differ from those of other backends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ... import policy
from ...ops.folds import fold_named
from ..base import Array
from ..spec import (
    Instruction,
    KernelSpec,
    Reduction,
    behind,
    common_mask,
    conflicting_pairs,
    is_flat,
    is_full,
    mask_of,
    rounds,
    whole,
    written_operands,
)

_CLIP: Any = import_module("numpy._core.umath").clip  # np.clip itself is no ufunc
_COMPARED: Any = 10_000
"""Bound of the work to find elements that two operands share (``max_work``); beyond it, they count as sharing some."""

Box = tuple[slice, ...]


def ufunc_of(name: str) -> Any:
    """NumPy's ufunc of this name, or ``None``."""
    return _CLIP if name == "clip" else getattr(np, name, None)


class Nest:
    """Computation of one specification."""

    def __init__(self, spec: KernelSpec) -> None:
        self.spec = spec
        self.raised = [0] * (len(spec.body) + 1)
        """The floating-point flags raised in each instruction, followed by those of folds."""
        self._at = 0
        self._dtypes = [
            np.dtype(instruction.dtype) if instruction.dtype else None for instruction in spec.body
        ]
        written = {spec.operands[k].alias for k in written_operands(spec)}
        self._kept = [operand.alias in written for operand in spec.operands]
        """For each operand, True if loaded elements must be copied, since they may be overwritten."""
        last = max(0, spec.ndim - 1)
        inner = [
            _innermost(reduction.axes, spec.ndim)
            for reduction in spec.reductions
            if rounds(reduction)
        ]
        self._cut = min([last, *[first - 1 for first in inner if first]])
        """The innermost axis that blocks are cut along: rows that are folded in an order that shows stay whole."""
        self._mask, self._masked = _masked(spec)
        self._order = _order(spec, self._mask)
        self._work = [(n, self._instruction(n)) for n in self._order]

    def note(self, _: str, flags: int) -> None:
        """Remember flags that came up; NumPy calls it."""
        self.raised[self._at] |= flags

    def run(
        self,
        extents: Sequence[int],
        chunk: int,
        views: Sequence[Array],
        scalars: Sequence[Any],
        origins: Sequence[int],
        partials: Sequence[Array],
        ordered: bool | None = None,
    ) -> int:
        """Compute over a box; the floating-point flags that came up.

        ``views`` are the operands, of the shape of the box, ``partials`` have an element for each chunk.
        """
        self.raised = [0] * len(self.raised)
        if ordered is None:
            ordered = self.in_order(views)
        full = _full_folds(self.spec, extents, chunk, partials)
        with np.errstate(all="call", call=self.note):
            for box in _boxes(extents, 1 if ordered else policy.limits.chunk, self._cut):
                self._block(box, views, scalars, origins, full)
            self._at = len(self.spec.body)
            for fold in full:
                fold.end()
        flags = 0
        for some in self.raised:
            flags |= some
        return flags

    def in_order(self, views: Sequence[Array]) -> bool:
        """True if an element may be written that is read at another index: then elements are computed one by one."""
        for a, b in conflicting_pairs(self.spec):
            first, second = views[a], views[b]
            if _begin(first) == _begin(second) and first.strides == second.strides:
                continue
            try:
                if np.shares_memory(first, second, max_work=_COMPARED):
                    return True
            except np.exceptions.TooHardError:
                return True
        return False

    def _block(
        self,
        box: Box,
        views: Sequence[Array],
        scalars: Sequence[Any],
        origins: Sequence[int],
        full: list[_Fold],
    ) -> None:
        """Compute a block."""
        blocks = [view[box] for view in views]
        shape = tuple([part.stop - part.start for part in box])
        values: list[Any] = [None] * len(self.spec.body)
        where = (box, shape, origins, scalars, blocks)
        for number, compute in self._work:
            self._at = number
            values[number] = compute(values, where)
        self._at = len(values)
        position = 0
        for reduction in self.spec.reductions:
            value = np.broadcast_to(values[reduction.value], shape)
            places = None
            if reduction.position >= 0:
                places = np.broadcast_to(values[reduction.position], shape)
            if is_full(reduction, self.spec.ndim):
                full[position].take(value, places)
                position += 1
            else:
                _fold_into(reduction, value, places, blocks)

    def _instruction(self, number: int) -> Callable[[list[Any], Any], Any]:
        """Function that computes an instruction from earlier values and the location of the block."""
        instruction, dtype = self.spec.body[number], self._dtypes[number]
        mask = self._mask if number in self._masked else -1
        args = [whole(a) for a in instruction.args] if instruction.op != "const" else []
        if instruction.op == "load":
            kept, operand = self._kept[args[0]], args[0]
            return lambda values, where: _load(where[4][operand], kept)
        if instruction.op == "scalar":
            return lambda values, where: where[3][args[0]]
        if instruction.op == "const":
            constant = np.asarray(instruction.args[0], dtype)
            return lambda values, where: constant
        if instruction.op == "index":
            return lambda values, where: _line(args[0], where)
        if instruction.op == "store":
            return self._store(instruction)
        if instruction.op == "call":
            return _call(instruction, args, mask, dtype)
        if instruction.op == "cast":
            return lambda values, where: _cast(
                values[args[0]], dtype, values[mask] if mask >= 0 else None
            )
        if instruction.op == "where":
            return lambda values, where: np.where(*[values[a] for a in args])
        if instruction.op == "real":
            return lambda values, where: values[args[0]].real
        if instruction.op == "imag":
            return lambda values, where: values[args[0]].imag
        if instruction.op == "complex":
            return lambda values, where: _complex(values[args[0]], values[args[1]], dtype)
        raise ValueError(f"kernels: there is no instruction {instruction.op!r}")

    def _store(self, instruction: Instruction) -> Callable[[list[Any], Any], None]:
        operand, value, mask = (
            whole(instruction.args[0]),
            whole(instruction.args[1]),
            mask_of(instruction),
        )
        runs = self.spec.operands[operand].run > 1

        def store(values: list[Any], where: Any) -> None:
            target, new, wanted = where[4][operand], values[value], True
            if mask >= 0:
                wanted = values[mask][..., None] if runs and values[mask].ndim else values[mask]
            np.copyto(target, new[..., None] if runs and new.ndim else new, where=wanted)

        return store


def _load(view: Array, kept: bool) -> Array:
    """The elements of an operand in contiguous memory, with one element along broadcast axes: the strides of
    operands decide which loop NumPy runs, and so must not differ."""
    if 0 in view.strides:
        view = view[tuple([slice(0, 1) if not step else slice(None) for step in view.strides])]
    return view.copy() if kept else np.ascontiguousarray(view)


def _begin(view: Array) -> int:
    begin: int = view.__array_interface__["data"][0]
    return begin


def _innermost(axes: Sequence[int], ndim: int) -> int:
    """The first of the innermost axes that are all folded."""
    while ndim - 1 in axes:
        ndim -= 1
    return ndim


def _boxes(extents: Sequence[int], most: int, axis: int) -> Iterator[Box]:
    """The blocks of a box, in order, of at most ``most`` elements, unless the axes inside ``axis`` have more."""
    if 0 in extents:
        return
    while axis and prod(extents[axis:]) <= most:
        axis -= 1
    inner = prod(extents[axis + 1 :])
    rows = max(1, most // inner)
    rest = [slice(0, extent) for extent in extents[axis + 1 :]]
    for outer in product(*map(range, extents[:axis])):
        for start in range(0, extents[axis], rows):
            part = slice(start, min(start + rows, extents[axis]))
            yield (*[slice(k, k + 1) for k in outer], part, *rest)


def _masked(spec: KernelSpec) -> tuple[int, set[int]]:
    """The common mask of the masked stores, or -1; and the instructions computed for these stores only.

    NumPy raises no flags for unwanted elements.
    """
    stores = [instruction for instruction in spec.body if instruction.op == "store"]
    mask = common_mask(spec)
    if mask < 0:
        return -1, set()
    open_ = [whole(store.args[1]) for store in stores if mask_of(store) < 0]
    folded = [n for r in spec.reductions for n in (r.value, r.position) if n >= 0]
    needed = behind(spec.body, [mask, *open_, *folded])
    wanted = behind(spec.body, [whole(store.args[1]) for store in stores if mask_of(store) >= 0])
    return mask, wanted - needed


def _order(spec: KernelSpec, mask: int) -> list[int]:
    """The instructions in order, but with the mask of stores first: the masked instructions need it."""
    numbers = range(len(spec.body))
    early = sorted(behind(spec.body, [mask])) if mask >= 0 else []
    aliases: set[int] = set()
    for n in numbers:
        instruction = spec.body[n]
        if instruction.op == "store":
            aliases.add(spec.operands[whole(instruction.args[0])].alias)
        elif (
            n in early
            and instruction.op == "load"
            and spec.operands[whole(instruction.args[0])].alias in aliases
        ):
            return list(numbers)
    return [*early, *[n for n in numbers if n not in set(early)]]


def _line(axis: int, where: Any) -> Array:
    """The indices along an axis, to be broadcast over a block."""
    box, shape, origins = where[:3]
    line: Array = origins[axis] + np.arange(box[axis].start, box[axis].stop, dtype=np.int64)
    return line.reshape([-1 if k == axis else 1 for k in range(len(shape))])


def _cast(value: Array, dtype: Any, mask: Array | None) -> Array:
    if value.dtype.kind == "c" and dtype.kind not in "cb":
        value = value.real
    if mask is None:
        return value.astype(dtype)
    result = np.empty(np.broadcast_shapes(value.shape, mask.shape), dtype)
    np.copyto(result, value, casting="unsafe", where=mask)
    return result


def _complex(real: Array, imag: Array, dtype: Any) -> Array:
    result = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), dtype)
    result.real, result.imag = real, imag
    return result


def _call(
    instruction: Instruction, args: list[int], mask: int, dtype: Any
) -> Callable[[list[Any], Any], Any]:
    """A ufunc on values, or one output of it."""
    name, _, output = instruction.name.partition(".")
    function = ufunc_of(name)
    which = int(output or 0)

    def call(values: list[Any], where: Any) -> Any:
        inputs = [values[a] for a in args]
        if mask < 0:
            results = function(*inputs)
        else:
            wanted = values[mask]
            shape = np.broadcast_shapes(wanted.shape, *[value.shape for value in inputs])
            outs = tuple([np.empty(shape, d) for d in _outputs(function, inputs, dtype)])
            results = function(*inputs, out=outs if len(outs) > 1 else outs[0], where=wanted)
        return np.asarray(results[which] if output else results)

    return call


def _outputs(function: Any, inputs: list[Array], dtype: Any) -> tuple[Any, ...]:
    """The dtypes of the results of a ufunc."""
    if function.nout == 1:
        return (dtype,)
    kinds = (*[value.dtype for value in inputs], *[None] * function.nout)
    return tuple(function.resolve_dtypes(kinds)[function.nin :])


def _full_folds(
    spec: KernelSpec, extents: Sequence[int], chunk: int, partials: Sequence[Array]
) -> list[_Fold]:
    """The folds of the whole nest, with the destination of each."""
    left = iter(partials)
    if not is_flat(spec):
        chunk *= prod(extents[1:])
    return [
        _Fold(reduction, chunk, next(left), next(left) if reduction.position >= 0 else None)
        for reduction in spec.reductions
        if is_full(reduction, spec.ndim)
    ]


class _Fold:
    """A fold of the whole nest: a result for each chunk of its elements, taken in order."""

    def __init__(
        self, reduction: Reduction, chunk: int, partials: Array, positions: Array | None
    ) -> None:
        self.op, self.dtype, self.chunk = reduction.op, np.dtype(reduction.dtype), chunk
        self.partials, self.positions = partials, positions
        partials[:] = self.identity = fold_named(self.op).neutral(self.dtype)
        if positions is not None:
            positions[:] = np.iinfo(positions.dtype).max
        self.rounds = rounds(reduction)
        self.rows: list[Array] = []
        """The elements of an incomplete chunk, if the order of the fold affects its result."""
        self.length = self.done = 0

    def take(self, value: Array, positions: Array | None) -> None:
        """Fold the elements of one more block."""
        row = value.reshape(-1)
        for start, stop in self._cuts(value.size):
            part = row[start:stop]
            self.length += stop - start
            if positions is not None:
                self._compare(part, positions.reshape(-1)[start:stop])
            elif self.rounds:
                self.rows.append(part if part.base is None else part.copy())
            else:
                ufunc, old = getattr(np, self.op), self.partials[self.done]
                self.partials[self.done] = ufunc(old, ufunc.reduce(part, dtype=self.dtype))
            if self.length == self.chunk:
                self.end()

    def _cuts(self, size: int) -> Iterator[tuple[int, int]]:
        """Bounds of the pieces of ``size`` further elements that fill chunk after chunk."""
        start = 0
        while start < size:
            stop = min(size, start + self.chunk - self.length)
            yield start, stop
            start = stop

    def _compare(self, part: Array, places: Array) -> None:
        assert self.positions is not None
        here = slice(self.done, self.done + 1)
        new = _best(self.op, part[None], places[None])
        old = self.partials[here], self.positions[here]
        self.partials[here], self.positions[here] = _better(self.op, old, new)

    def end(self) -> None:
        """The chunk is complete: go on to the next."""
        if self.rows:
            row = self.rows[0] if len(self.rows) == 1 else np.concatenate(self.rows)
            fold = getattr(np, self.op).reduce
            self.partials[self.done] = fold(row, dtype=self.dtype, initial=self.identity)
        self.done += self.length > 0
        self.rows, self.length = [], 0


def _fold_into(
    reduction: Reduction, value: Array, positions: Array | None, blocks: list[Array]
) -> None:
    """Fold a block along some axes into an operand, or into an operand of elements and one of positions."""
    op, axes, dtype = reduction.op, reduction.axes, np.dtype(reduction.dtype)
    corner = tuple(slice(0, 1) if k in axes else slice(None) for k in range(value.ndim))
    target = blocks[reduction.operand][corner]
    if positions is None:
        ufunc = getattr(np, op)
        if rounds(reduction):
            _add_rows(ufunc, target, _folded_last(ufunc, value, axes, dtype), axes, dtype)
        else:
            target[...] = ufunc(target, ufunc.reduce(value, axis=axes, keepdims=True, dtype=dtype))
        return
    places = blocks[reduction.operand + 1][corner]
    new = _best(op, _lines(value, axes), _lines(positions, axes))
    old = target.reshape(-1), places.reshape(-1)
    for into, best in zip((target, places), _better(op, old, new), strict=True):
        into[...] = best.reshape(into.shape)


def _folded_last(
    ufunc: np.ufunc, value: Array, axes: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """A block with the innermost of the folded axes folded, as one row each."""
    first = _innermost(axes, value.ndim)
    if value.ndim == first:
        return value
    rows: Array = ufunc.reduce(value.reshape(*value.shape[:first], -1), axis=-1, dtype=dtype)
    return rows.reshape(*rows.shape, *[1] * (value.ndim - first))


def _add_rows(
    ufunc: np.ufunc, target: Array, value: Array, axes: tuple[int, ...], dtype: np.dtype[Any]
) -> None:
    """Fold the elements along outer axes into ``target`` one after the other, so that no bit depends on the blocks."""
    kept = [k for k in range(value.ndim) if k not in axes]
    rows = value.transpose(*axes, *kept).reshape(-1, target.size).astype(dtype, copy=False)
    rows = np.concatenate([target.reshape(1, -1), rows])
    last = ufunc.reduce(rows, axis=0) if target.size > 1 else ufunc.accumulate(rows)[-1]
    target[...] = last.reshape(target.shape)


def _lines(array: Array, axes: tuple[int, ...]) -> Array:
    """A row for each result of a fold along some axes."""
    kept = [k for k in range(array.ndim) if k not in axes]
    moved = array.transpose(*kept, *axes)
    return moved.reshape(prod(moved.shape[: len(kept)]), -1)


def _best(op: str, values: Array, positions: Array) -> tuple[Array, Array]:
    """The extreme of each row, and the smallest of its positions. A NaN is more extreme than any number."""
    ufunc = np.minimum if op == "argmin" else np.maximum
    best = ufunc.reduce(values, axis=1)
    hit = values == best[:, None]
    if values.dtype.kind == "f":
        hit |= np.isnan(values) & np.isnan(best)[:, None]
    return best, np.where(hit, positions, np.iinfo(positions.dtype).max).min(axis=1)


def _better(op: str, old: tuple[Array, Array], new: tuple[Array, Array]) -> tuple[Array, Array]:
    """The more extreme of two elements, with its position; the first if they are equal."""
    values = np.stack([old[0], new[0].astype(old[0].dtype)], 1)
    return _best(op, values, np.stack([old[1], new[1].astype(old[1].dtype)], 1))
