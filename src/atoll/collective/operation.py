"""Collective operations: functions of sections that are recorded as nodes.

An operation has a name, a rule and a section function. The rule gives the dtype and the layout of the result when the node is
recorded; it reads dtypes and layouts only, so the ranks agree without a message. The section function computes the result
when a program runs the node: all ranks call it, each with its own sections of the operands. Its result is brought to the
layout of the rule.

Functions whose result size, or whose errors, depend on values cannot be recorded: they run at the call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..comm.world import World
from ..config import config
from ..context.caches import remembered
from ..graph.geometry import Geometry, choice_of
from ..graph.node import Node
from ..graph.op import named
from ..layout import Layout, on_every_rank, transfer
from ..layout.maps import ranks_per_node
from ..ops.fingerprint import dtype_words
from ..ops.placement import Place, placed_view
from ..ops.table import Entry
from .elements import everywhere
from .movement import redistributed
from .section import Section

Array = np.ndarray[Any, Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class Form(NamedTuple):
    """The properties of an array that are known before its values: the dtype, and the layout, which has the shape."""

    dtype: np.dtype[Any]
    layout: Layout

    @property
    def shape(self) -> tuple[int, ...]:
        return self.layout.shape


Rule = Callable[..., "Form | None"]
"""Takes the forms of the operands, then the parameters; returns ``None`` if the function does not support these."""


Moves = Sequence[tuple[Form, Layout]] | None
"""The arrays that change their layout, each with its target layout; ``None`` where values decide the moves."""


class Collective(Entry):
    """A registered function: the rule for its result, the function of each rank, and the known moves.

    A node has the function's parameters, the place of the result and a view of each operand, or ``None``. A function that
    ``writes`` has no rule: its result is its first operand, in memory of its own.
    """

    __slots__ = ("function", "moves", "rule", "writes")
    is_collective = True
    colour = "#e6dcf2"

    def __init__(
        self,
        name: str,
        rule: Rule,
        function: Callable[..., Any],
        moves: Callable[..., Moves],
        writes: bool,
    ) -> None:
        super().__init__(name)
        self.rule = rule
        self.function = function
        self.moves = moves
        self.writes = writes

    def label(self, node: Node) -> str:
        params = [param for param in node.params[0] if param is not None]
        return f"{self.name}({', '.join(map(_words, params))})"

    def place(self, node: Node, first: Node) -> Place | None:
        place: Place | None = node.params[1]
        return place


def collective(
    name: str,
    rule: Rule = lambda base, *operands: base,
    moves: Callable[..., Moves] = lambda *operands: None,
    *,
    writes: bool = False,
) -> Callable[[Function], Function]:
    """Register a section function: it takes the sections of the operands, then the parameters.

    ``target`` is the wanted layout of the result; a result in another layout is brought there. A function that
    ``writes`` into its first operand returns nothing.
    """

    def register(function: Function) -> Function:
        Collective(name, rule, function, moves, writes)
        return function

    return register


class Operand(NamedTuple):
    """An operand without its data: its geometry, its place, and the view of it that the function gets."""

    geometry: Geometry
    place: Place | None
    view: Geometry | None

    def form(self, world: World) -> Form:
        """The form of the operand that the function gets."""
        shown, place = self.geometry, self.place
        if self.view is not None and place is not None:
            shown, place = self.view, placed_view(place, self.view)
        if place is None:
            return Form(shown.dtype, on_every_rank(shown.shape, world.size))
        return Form(shown.dtype, place.layout.unpadded())


class Call:
    """A node that all ranks compute together, without its data: of a collective, or of another operation for which
    one is registered as ``<operation> across ranks``."""

    __slots__ = ("_layouts", "_target", "function", "label", "operands", "params", "place", "world")

    def __init__(self, node: Node) -> None:
        self.function: Any = node.op
        self.params, self.place = node.params, node.place
        views: Sequence[Geometry | None] = (None,) * len(node.args)
        if node.op.is_collective:
            self.params, _, *views = node.params
        else:
            self.function = named(f"{node.op} across ranks")
        self.label = node.op.label(node)
        self.operands = tuple(
            [Operand(n.geometry, n.place, v) for n, v in zip(node.args, views, strict=True)]
        )
        self.world: World = next(n.place.world for n in node.args if n.place is not None)
        self._layouts: list[tuple[Any, Layout]] = []
        self._target: Layout | None = None

    def run(self, arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
        """This rank's block of the result, which has this shape. Collective."""
        communicator = self.world.communicator
        target = self._target
        if target is None:
            if self.place is None:
                target = on_every_rank(shape, communicator.size)
            else:
                target = self.place.layout
            self._target = target
            for geometry, place, _ in self.operands:
                if place is None:
                    entry: Any = ..., on_every_rank(geometry.shape, communicator.size)
                else:
                    entry = place.layout.inside(communicator.rank), place.layout.unpadded()
                self._layouts.append(entry)
        sections = [
            Section(array[inside], layout, communicator)
            for array, (inside, layout) in zip(arrays, self._layouts, strict=True)
        ]
        for k, (_, _, view) in enumerate(self.operands):
            if view is not None:
                sections[k] = sections[k].seen(view)
        result = self.function.function(*sections, *self.params, target=target)
        return arrays[0] if result is None else brought(result, target).block

    @property
    def inside(self) -> Any:
        """The index that cuts communication padding off the memory of the result."""
        return ... if self.place is None else self.place.layout.inside(self.world.rank)

    def transfers(self) -> list[tuple[Counter[int], Counter[int]]] | None:
        """For each move in order, the bytes that this rank sends, by receiver, and receives, by sender; ``None`` where values
        decide the moves."""
        forms = [operand.form(self.world) for operand in self.operands]
        moves = self.function.moves(*forms, *self.params)
        if moves is None:
            return None
        transfers = []
        for form, layout in moves:
            if form.layout == layout:
                continue
            plan = transfer(form.layout, layout.unpadded(), self.world.rank)
            sends, receives = Counter[int](), Counter[int]()
            for records, nbytes in ((plan.sends, sends), (plan.receives, receives)):
                for record in records:
                    nbytes[record.peer] += record.size * form.dtype.itemsize
            transfers.append((sends, receives))
        return transfers

    def traffic(self) -> dict[int, int] | None:
        """The bytes that this rank sends in all moves, by receiver; ``None`` where values decide the moves."""
        transfers = self.transfers()
        if transfers is None:
            return None
        total: Counter[int] = Counter()
        for sends, _ in transfers:
            total.update(sends)
        return dict(total)


def _words(param: Any) -> str:
    if isinstance(param, np.ufunc):
        return param.__name__
    return dtype_words(param) if isinstance(param, np.dtype) else repr(param)


def is_direct(view: Geometry) -> bool:
    """True if a section of the base shows a view without a copy: a slice or a transpose."""
    choice = choice_of(view)
    if choice is None or not view.size or view.dtype != view.base.dtype:
        return False
    key, taken = choice
    forward = all(type(part) is not slice or part.step > 0 for part in key)
    return forward and sorted(taken) == list(range(view.ndim))


def brought(section: Section, target: Layout) -> Section:
    """A section in another layout of its shape. Collective."""
    if target.is_replicated and not section.layout.is_replicated:
        return everywhere(section)
    return redistributed(section, target)


@collective(
    "redistribute",
    lambda operand, layout: Form(operand.dtype, layout),
    lambda operand, layout: [(operand, layout)],
)
def redistribute(section: Section, layout: Layout, *, target: Layout) -> Section:
    """The same elements in another layout."""
    return section


def result_layout(shape: tuple[int, ...], size: int) -> Layout:
    """The layout of a result that no rule places: in even blocks, or replicated if it is small."""
    elements = 1
    for n in shape:
        elements *= n
    if not shape or elements < config.results:
        return on_every_rank(shape, size)
    return _default(shape, size, ranks_per_node(size))


_default = remembered(Layout.default)


def small_or(layout: Layout) -> Layout:
    """``layout``, or the replicated layout of a small array."""
    usual = result_layout(layout.shape, layout.processes)
    return usual if usual.is_replicated else layout
