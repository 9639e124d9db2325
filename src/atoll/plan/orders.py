"""The order in which elements are reduced, independent of what shares the loops.

A rounded sum or product shows in which order it was made. So that order follows from what is folded alone: the axes
are taken as the value that is folded would lie in memory, the slowest first. A fold of all axes takes the
elements as those of one row (:func:`~atoll.backend.spec.is_flat`), and a fold of the rows of a few columns takes each column as a row. Folds that want different loops
become nests of their own, which read what they need once more; other statements go with any of them. A fold of what the same nest
stores stays there: outside it would meet other values.
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
"""So many columns are few. No limit of the policy: it decides in which order numbers are added up."""

Order = tuple[int, ...]
Want = tuple[Order, tuple[int, ...]]
"""The order of the axes, and those that are folded."""


def parted(body: Body, wanted: dict[int, Want]) -> list[tuple[Body, Order | None]]:
    """A body as one or more, with the order in which each takes its axes, where that can be seen.

    ``wanted`` says what a fold into a register wants.
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
    """True if what else a body does leaves the loops alone that a fold over some axes wants."""
    if len(axes) == len(body.box):
        return not partial
    if body.indexed:
        return all(
            rounds(reduction) and tuple(reduction.axes) == axes for reduction in body.reductions
        )
    return all(tuple(reduction.axes) == axes for reduction in partial)


def order_of(geometry: Geometry, axes: Sequence[int]) -> Order:
    """The axes of a value, the slowest in memory first. One that takes no step is slower than any.

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
    """The axis that is cut into slabs where some are folded, or -1: the first long one, unless those outside make
    enough chunks. No other is merged with it, so that it is as long whatever else is in the nest."""
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
    """What some reductions need, without anything else."""
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
