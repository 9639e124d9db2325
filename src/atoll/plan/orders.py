"""The order in which elements are reduced, independent of other statements in the loops.

Rounding makes the order of a sum or product visible. So that order follows from the folded value alone: its axes are taken in
the order of its memory layout, the slowest first. A fold of all axes takes the elements as those of one row
(:func:`~atoll.backend.spec.is_flat`), and a fold of the rows of a few columns takes each column as a row. Folds that want
different loops become nests of their own, which read their operands once more; other statements go with any of them. A fold
of values that the same nest stores stays there: elsewhere it would read other values.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from .. import policy
from ..backend.spec import STEPS, STREAMS, Reduction, behind, rounds, whole
from ..graph.geometry import Geometry
from ..layout.symbolic import Number
from .body import Body, renumbered

COLUMNS = 7
"""The largest number of columns that counts as few. It is no limit of the policy, since it decides the order of additions."""

Order = tuple[int, ...]
Want = tuple[Order, tuple[int, ...]]
"""The order of the axes, and the folded axes."""


def parted(body: Body, wanted: dict[int, Want]) -> list[tuple[Body, Order | None]]:
    """A body split into one or more, each with the order of its axes where rounding makes that visible.

    ``wanted`` has the order and the axes of a fold, by the register of its result.
    """
    wants: dict[int, Want] = {}
    partial: list[Reduction] = []
    for number, reduction in enumerate(body.reductions):
        if reduction.operand in wanted:
            wants[number] = wanted[reduction.operand]
        if len(reduction.axes) < len(body.box):
            partial.append(reduction)
    if not wants:
        return [(body, None)]
    fit: list[int] = []
    for number, (_, axes) in wants.items():
        if _fits(body, axes, partial):
            fit.append(number)
    if fit and len({*wants.values()}) == 1:
        return [(body, wants[fit[0]][0])]
    stay = [number for number in wants if not _may_leave(body, body.reductions[number])]
    chosen = wants[(stay or fit)[0]] if stay or fit else None
    leaving: dict[Want, list[Reduction]] = {}
    for number, want in wants.items():
        if want != chosen and number not in stay:
            leaving.setdefault(want, []).append(body.reductions[number])
    parts: list[tuple[Body, Order | None]] = [
        (_only(body, some), order) for (order, _), some in leaving.items()
    ]
    if leaving:
        body = copy(body)
        gone = [reduction for some in leaving.values() for reduction in some]
        body.reductions = [reduction for reduction in body.reductions if reduction not in gone]
    return [*parts, (body, None if chosen is None else chosen[0])]


def _fits(body: Body, axes: tuple[int, ...], partial: list[Reduction]) -> bool:
    """True if the rest of a body allows the loops that a fold over some axes wants."""
    if len(axes) == len(body.box):
        return not partial
    if body.indexed:
        return all(
            rounds(reduction) and tuple(reduction.axes) == axes for reduction in body.reductions
        )
    return all(tuple(reduction.axes) == axes for reduction in partial)


def order_of(geometry: Geometry, axes: Sequence[int]) -> Order:
    """The axes of a value, the slowest in memory first. An axis of stride zero is slower than any other.

    A few columns whose rows are folded count as rows themselves: their axes, the fastest ones, go before the ``axes``
    that are folded.
    """
    sizes = list(map(abs, geometry.strides))  # unknown ones are not zero
    order = [k for k, size in enumerate(sizes) if type(size) is not int or size]
    order.sort(key=sizes.__getitem__, reverse=True)
    order = [*[k for k, size in enumerate(sizes) if type(size) is int and not size], *order]
    inner = len(order)
    columns: Number = 1
    while inner and order[inner - 1] not in axes:
        inner -= 1
        columns *= geometry.shape[order[inner]]
    outer = inner
    while outer and order[outer - 1] in axes:
        outer -= 1
    if columns <= COLUMNS:
        order = [*order[:outer], *order[inner:], *order[outer:inner]]
    return tuple(order)


def axis_to_cut(order: Order, extents: Sequence[Number], axes: Sequence[int]) -> int:
    """The axis to cut into slabs where ``axes`` are folded, or -1: the first long folded axis, unless the axes outside it make
    enough chunks. No other axis is merged with it, so its length does not depend on the rest of the nest."""
    outside: Number = 1
    for k in order:
        if k not in axes:
            outside *= extents[k]
            if outside >= policy.limits.pieces:
                return -1
        elif extents[k] >= STREAMS * STEPS:
            return k
    return -1


def _behind(body: Body, reductions: list[Reduction]) -> list[int]:
    """The instructions that reductions need, in order."""
    needed = [n for r in reductions for n in (r.value, r.position) if n >= 0]
    return sorted(behind(body.instructions, needed))


def _may_leave(body: Body, reduction: Reduction) -> bool:
    """True if a fold reads nothing that the body stores."""
    stored = {memory.register for memory in body.memories if memory.access != "r"}
    loads = [body.instructions[n] for n in _behind(body, [reduction])]
    read = {body.memories[whole(load.args[0])].register for load in loads if load.op == "load"}
    return not read & stored


def _only(body: Body, reductions: list[Reduction]) -> Body:
    """The body of some reductions alone, with the instructions that they need."""
    rest = copy(body)
    needed = _behind(body, reductions)
    number = {old: new for new, old in enumerate(needed)}
    places: dict[int, int] = {}
    rest.instructions = []
    for old in needed:
        rest.instructions.append(
            renumbered(
                body.instructions[old], number, lambda place: places.setdefault(place, len(places))
            )
        )
    rest.indexed = {whole(i.args[0]) for i in rest.instructions if i.op == "index"}
    rest.memories = [body.memories[place] for place in places]
    rest.reductions = [
        reduction._replace(
            value=number[reduction.value], position=number.get(reduction.position, -1)
        )
        for reduction in reductions
    ]
    return rest
