"""Products of stacks of matrices: panels travel while BLAS multiplies blocks.

``C[..., rows, columns]`` is computed by its owner, which needs ``A[..., rows, :]`` and
``B[..., :, columns]``. Elements of other ranks come in panels along the contracted axis, so
that no rank has more of other ranks' elements at a time than the size of its own share. The layout of C decides which operand
moves:

======================  ====================================  ======================
C                       moves                                 good if
======================  ====================================  ======================
rows as A has them      B goes round                          A is large
columns as B has them   A goes round                          B is large
on a grid               A along rows, B along columns         both are large (``grid_products.py``)
partial on each rank    C: sums of partial products, dealt    the contracted axis is
                        out to the owners                     long and distributed
======================  ====================================  ======================

``product_layout`` counts the elements that would move for each, and takes the least; every rank
counts alike. Index sets of rows and columns may be anything: blocks, cycles, lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ..comm.communicator import Communicator
from ..config import config
from ..context.caches import remembered
from ..exchange.trees import added
from ..layout import BlockAxis, Layout, on_every_rank
from ..layout.bounds import scaled_bounds
from .elements import everywhere, to_all
from .grid_products import Grid, grid_layouts, multiplied_on_grid, product_grid, received
from .messages import exchanged
from .movement import even_line, redistributed
from .operation import Form, brought, collective, result_layout
from .section import Section, empty

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class ProductPlan:
    """The layout of a product, and True if ranks add up partial products of all of it."""

    layout: Layout
    partial: bool
    moved: int
    """An estimate of the number of elements that all ranks receive."""
    grid: Grid | None = None
    """The grid of ranks and layers for two large matrices."""


def product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the product of two stacks of matrices."""
    return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])


@remembered
def product_layout(a: Layout, b: Layout, small: int) -> ProductPlan:
    """The plan of the product of operands in these layouts; with fewer elements than ``small`` a sum of partial products is
    replicated."""
    shape = product_shape(a.shape, b.shape)
    size = a.processes
    plans: list[ProductPlan] = []
    flat = a.ndim == b.ndim == 2
    extents = a.shape[-2], a.shape[-1], b.shape[-1]
    grid = product_grid(*extents, size) if flat else None
    if grid is not None:
        left, right, layout = grid_layouts(*extents, grid)
        moved = received(*extents, grid) + _wanting(a, left) + _wanting(b, right)
        plans.append(ProductPlan(layout, False, moved, grid))
    for layout in _candidates(a, b, shape):
        if grid is not None and layout.is_block and min(layout.grid) > 1:
            continue  # its owners would send to all ranks of a row at once
        if not any(plan.layout == layout and plan.grid is None for plan in plans):
            plans.append(ProductPlan(layout, False, _moved(a, b, layout)))
    if len(shape) == 2:
        target = on_every_rank(shape, size) if prod(shape) < small else _rows(shape, size)
        split = _contracted(a, b)
        away = _wanting(a, _operand_layout(a.shape, split, size, 1))
        away += _wanting(b, _operand_layout(b.shape, split, size, 0))
        plans.append(ProductPlan(target, True, away + prod(shape) * (size - 1)))
    return min(plans, key=lambda plan: plan.moved)


def _product_form(a: Form, b: Form, dtype: np.dtype[Any]) -> Form:
    """The form of a product, in the layout for which the fewest elements move; a small product is replicated."""
    left, right = _as_matrices(a.layout, b.layout)
    shape = product_shape(left.shape, right.shape)
    gone = _gone(len(shape), a.layout.ndim, b.layout.ndim)
    kept = tuple([n for k, n in enumerate(shape) if k not in gone])
    layout = result_layout(kept, left.processes)
    if not layout.is_replicated:
        key = tuple([0 if k in gone else slice(None) for k in range(len(shape))])
        layout = product_layout(left, right, 0).layout.sliced(key)
    return Form(dtype, layout)


def _as_matrices(a: Any, b: Any) -> tuple[Any, Any]:
    """Two operands, layouts or sections, with an axis of length one where one is a vector."""
    left = a.expanded((0,)) if len(a.shape) == 1 else a
    return left, b.expanded((1,)) if len(b.shape) == 1 else b


def _gone(ndim: int, a: int, b: int) -> list[int]:
    """The axes of a product of matrices that stand for vectors among the operands."""
    return [ndim - 2] * (a == 1) + [ndim - 1] * (b == 1)


@collective("matmul", _product_form)
def matmul(a: Section, b: Section, dtype: np.dtype[Any], *, target: Layout) -> Section:
    """The product of matrices, vectors, or stacks of matrices."""
    if target.is_replicated:
        few = few_products(a, b, dtype)
        if few is not None:
            return Section(few, target, a.communicator)
    left, right = _as_matrices(a, b)
    small = target.size + 1 if target.is_replicated else 0
    plan = product_layout(left.layout, right.layout, small)
    result = multiplied(left, right, dtype, plan)
    gone = tuple(_gone(len(result.shape), len(a.shape), len(b.shape)))
    if len(gone) == len(result.shape):
        result = everywhere(result)  # a layout without axes cannot say which rank has the number
    return result.squeezed(gone)


def _rows(shape: tuple[int, ...], size: int) -> Layout:
    axis = max(range(len(shape)), key=lambda k: (shape[k] >= size, -k))
    return Layout(shape, tuple("b" if k == axis else "n" for k in range(len(shape))), size=size)


def _candidates(a: Layout, b: Layout, shape: tuple[int, ...]) -> Iterator[Layout]:
    size, ndim = a.processes, len(shape)
    yield Layout.default(shape, size)
    yield _rows(shape, size)
    if shape[-1] > 1:
        yield Layout(shape, "n" * (ndim - 1) + "b", size=size)
    for operand, contracted in ((a, -1), (b, -2)):
        alone = (
            operand.copies == 1 and not operand.is_replicated and operand.shape[:-2] == shape[:-2]
        )
        if alone and operand.axes[contracted].is_undistributed:
            axes = list(operand.axes)
            axes[contracted] = BlockAxis.even(shape[-1] if contracted == -1 else shape[-2])
            yield operand.seated(axes, operand.seats)
    flat = a.ndim == b.ndim == 2 and a.grid == b.grid and a.copies == b.copies == 1
    if flat and a.seats == b.seats:
        yield a.seated([a.axes[0], b.axes[1]], a.seats)


def _contracted(a: Layout, b: Layout) -> Any:
    """The division of the contracted axis for partial products: that of an operand which divides this axis alone, or even blocks."""
    for layout, axis, other in ((a, 1, 0), (b, 0, 1)):
        cut = layout.axes[axis]
        alone = layout.axes[other].is_undistributed and layout.is_row_major and layout.copies == 1
        if alone and cut.processes == layout.processes and not cut.overlaps:
            return cut.unpadded()
    return even_line(a.shape[1], a.processes).axes[0]


def _operand_layout(shape: tuple[int, ...], cut: Any, size: int, axis: int) -> Layout:
    axes: list[Any] = [BlockAxis.even(n) for n in shape]
    axes[axis] = cut
    return Layout.in_order(axes, size)


def _sample(layout: Layout) -> list[int]:
    """A few of the ranks that hold a cell."""
    count = layout.cells * layout.copies
    places = [divmod(k, layout.copies) for k in sorted({0, 1 % count, count // 2, count - 1})]
    cells = [np.unravel_index(cell, layout.grid) for cell, _ in places]
    return [layout.ranks_at(list(map(int, cell)))[k] for cell, (_, k) in zip(cells, places)]


def _wanting(have: Layout, want: Layout) -> int:
    """An estimate, from a few ranks, of the number of elements that ranks want and do not have."""
    if have.is_replicated:
        return 0
    ranks = _sample(want)
    total = 0
    for rank in ranks:
        wanted, held = want.region(rank), have.region(rank)
        both = prod(len(part.intersection(other)) for part, other in zip(wanted, held))
        total += prod(map(len, wanted)) - both
    return total * want.cells * want.copies // len(ranks)


@remembered
def _side(layout: Layout, shape: tuple[int, ...], width: int, contracted: int) -> Layout:
    """The layout of the part of an operand that each owner of the product needs, ``width`` wide along its contracted axis.

    ``contracted`` is -1 for the left operand, -2 for the right one.
    """
    gone = [layout.ndim + contracted]
    lead = layout.ndim - len(shape)
    for k in range(layout.ndim - 2):
        if k < lead or (shape[k - lead] == 1 and layout.shape[k] != 1):
            gone.append(k)
    side = layout.reduced(gone, keepdims=True)
    wide = list(side.shape)
    wide[contracted] = width
    if tuple(wide) != side.shape:
        side = side.broadcast(tuple(wide))
    if lead:
        side = side.sliced((0,) * lead)
    return side


def _moved(a: Layout, b: Layout, layout: Layout) -> int:
    length = a.shape[-1]
    return _wanting(a, _side(layout, a.shape, length, -1)) + _wanting(
        b, _side(layout, b.shape, length, -2)
    )


def multiplied(a: Section, b: Section, dtype: np.dtype[Any], plan: ProductPlan) -> Section:
    """``a @ b`` for stacks of matrices with at least two axes each, lying as planned. Collective."""
    a = a.with_block(a.block.astype(dtype, copy=False))
    b = b.with_block(b.block.astype(dtype, copy=False))
    if plan.grid is not None:
        return multiplied_on_grid(a, b, plan.grid)
    if plan.partial:
        return _by_parts(a, b, plan.layout)
    layout, communicator = plan.layout, a.communicator
    product = empty(layout, dtype, communicator)
    length = a.shape[-1]
    started = False
    for start, stop in _panels(a.layout, b.layout, layout):
        left = _panel(a, layout, start, stop, -1)
        right = _panel(b, layout, start, stop, -2)
        if not started:
            np.matmul(left, right, out=product.block)
        elif product.block.size:
            np.add(product.block, np.matmul(left, right), out=product.block)
        started = True
    if not length:
        product.block[...] = 0
    return product


def few_products(a: Section, b: Section, dtype: np.dtype[Any]) -> Array | None:
    """All of ``a @ b`` for matrices or vectors, whose product has few elements, by one or two messages to all; else ``None``.

    It applies where ranks have rows of the product, or columns, or partial sums of it, before any element moves: one operand is
    replicated and the other in blocks along one axis, or both are in blocks along the contracted axis. A small operand that does not
    fit, or does not fit to the other one, is replicated first. Collective.
    """
    if a.layout.ndim > 2 or b.layout.ndim > 2:
        return None
    mine, other, gone = _divided(a.layout), _divided(b.layout), a.layout.ndim - 1
    if mine is None and a.layout.size < config.results:
        a, mine = everywhere(a), _NONE
    if other is None and b.layout.size < config.results:
        b, other = everywhere(b), _NONE
    if mine is None or other is None:
        return None
    if _NONE not in (mine, other) and not (
        (mine, other) == (gone, 0) and a.layout.axes[gone] == b.layout.axes[0]
    ):
        if min(a.layout.size, b.layout.size) >= config.results:
            return None
        if a.layout.size < b.layout.size:
            a, mine = everywhere(a), _NONE
        else:
            b, other = everywhere(b), _NONE
    left, right = a.block, b.block
    partial = mine == gone or other == 0
    if other == _NONE:
        if partial:
            low, high = _interval(a.layout, gone, a.rank)
            right = right[low:high]
    elif mine == _NONE and partial:
        low, high = _interval(b.layout, 0, b.rank)
        left = left[..., low:high]
    part = np.asarray(np.matmul(left.astype(dtype, copy=False), right.astype(dtype, copy=False)))
    if mine == other == _NONE:
        return part
    if partial:
        return added(a.communicator, part, "partial products")
    divided = a.layout.axes[0] if mine == 0 else b.layout.axes[1]
    shape = (*a.shape[:-1], *b.shape[1:])
    if not prod(shape):
        return np.zeros(shape, dtype)
    columns = mine != 0 and len(shape) == 2
    width = shape[0] if columns else prod(shape[1:]) if mine == 0 else 1
    line = np.ascontiguousarray(part.T if columns else part).reshape(-1)
    bounds = scaled_bounds(divided.bounds, width)  # type: ignore[attr-defined]
    whole = to_all(line, bounds, a.communicator, "all of a small product")
    return whole.reshape(shape[::-1]).T if columns else whole.reshape(shape)


_NONE = -1


def _divided(layout: Layout) -> int | None:
    """The only axis that all ranks divide, in blocks in their order; -1 for a replicated layout, ``None`` for all others."""
    if layout.is_replicated:
        return _NONE
    if layout.copies > 1 or not (layout.is_block and layout.is_row_major) or layout.is_padded:
        return None
    for k, axis in enumerate(layout.axes):
        if axis.processes > 1:
            return k if axis.processes == layout.processes and not axis.overlaps else None
    return None


def _interval(layout: Layout, axis: int, rank: int) -> tuple[int, int]:
    bounds: Sequence[int] = layout.axes[axis].bounds  # type: ignore[attr-defined]
    return bounds[rank], bounds[rank + 1]


def _panel(operand: Section, layout: Layout, start: int, stop: int, axis: int) -> Array:
    """This rank's part of the operand, cut along its contracted axis."""
    part = operand
    if (start, stop) != (0, operand.shape[axis]):
        cut = slice(start, stop)
        part = operand.sliced((..., cut) if axis == -1 else (..., cut, slice(None)))
    return brought(part, _side(layout, part.shape, stop - start, axis)).block


@remembered
def _panels(a: Layout, b: Layout, layout: Layout) -> tuple[tuple[int, int], ...]:
    """The contracted axis in stretches: the elements from elsewhere for one of them are about one share."""
    length = a.shape[-1]
    if not length:
        return ()
    size = layout.processes
    share = (a.size + b.size + layout.size) / size
    away = 0.0
    for operand, axis in ((a, -1), (b, -2)):
        side = _side(layout, operand.shape, length, axis)
        if side != operand and not operand.is_replicated:
            away += side.size / max(side.cells, 1)
    count = min(length, max(1, round(away / max(share, 1.0))))
    edges = [length * k // count for k in range(count + 1)]
    return tuple(pairwise(edges))


def _by_parts(a: Section, b: Section, target: Layout) -> Section:
    """Each rank multiplies its part of the contracted axis; the sums are formed by the owners."""
    communicator, size = a.communicator, a.communicator.size
    split = _contracted(a.layout, b.layout)
    left = redistributed(a, _operand_layout(a.shape, split, size, 1)).block
    right = redistributed(b, _operand_layout(b.shape, split, size, 0)).block
    if target.is_replicated:
        total = added(communicator, np.matmul(left, right), "partial products")
        return Section(total, target, communicator)
    product = empty(target, a.dtype, communicator)
    flipped = target.axes[1].processes > 1
    if flipped:
        left, right = right.T, left.T
    whole = product.block.T if flipped else product.block
    width, share = right.shape[1], (a.layout.size + b.layout.size + target.size) // size
    step = max(1, share // max(left.shape[0], 1))
    for start in range(0, width, step):
        columns = slice(start, start + step)
        part = np.matmul(left, right[:, columns])
        whole[:, columns] = _own_rows(part, target.axes[int(flipped)], communicator)
    return product


def _own_rows(part: Array, dealt: Any, communicator: Communicator) -> Array:
    """This rank's rows of the sum of the parts of all ranks; ``dealt`` is the axis of the rows, in blocks. Collective.

    Half of the ranks send the rows of the other half there and receive their own, then halves of halves, so that a rank has as many
    partners as their number has binary digits. Where halves differ by one, the last rank of the shorter one receives from two.
    """
    rank, low, high = communicator.rank, 0, communicator.size

    def start(owner: int) -> int:
        first: int = dealt.bounds[min(owner, dealt.processes)]
        return first

    while high - low > 1:
        middle = (low + high + 1) // 2
        cut, is_lower = start(middle) - start(low), rank < middle
        mine, others = (part[:cut], part[cut:]) if is_lower else (part[cut:], part[:cut])
        half = middle - low
        peer = min(rank + half, high - 1) if is_lower else rank - half
        sources = [peer] if not is_lower or rank + half < high else []
        if not is_lower and rank == high - 1 and peer != middle - 1:
            sources.append(middle - 1)
        shapes = dict.fromkeys(sources, mine.shape)
        arrived = exchanged(communicator, {peer: others}, shapes, part.dtype, "partial products")
        part = reduce(np.add, [mine, *arrived.values()])
        low, high = (low, middle) if is_lower else (middle, high)
    return part
