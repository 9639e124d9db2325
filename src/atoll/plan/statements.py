"""Chooses the stored nodes and the targets of assignments: the first half of planning.

A *statement* computes one node into memory; all other pending nodes are recomputed inside the
loops that read them. A node becomes a statement when it is wanted, when it is a reduction, when
it assigns (and the program still sees the array), when kernels cannot hold its dtype, or when
recomputing it would cost: it is read more than once, at different shifts, it is repeated by broadcasting, or
the expression has grown past the bounds of one kernel.

An assignment may overwrite memory that its value or its mask reads if each element is read at the index at which it is written, for a
loop reads before it writes; or if no element that is read is written at all, as bounds along the axes can show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from .. import policy
from ..exchange.shares import counts_locally
from ..graph.geometry import Geometry
from ..graph.node import Node, fills, in_order, is_box
from ..ops.elementwise import is_native, parts_of
from ..ops.maps import AxisMap, are_equal, broadcast_map, identity, operands_under, reach
from ..ops.placement import Place, crosses, goes_across, placed_view
from . import reasons
from .kernel_sizes import bound_sizes
from .passes import Pass, applied, check_choice, check_statements
from .reasons import Reasons
from .trace import Choice, Trace


@dataclass(slots=True, eq=False)
class Statement:
    """One node that is stored. ``style`` is the way in which it is computed:

    ``map``     every element, into a new buffer (or that of an operand that dies)
    ``place``   an update, in place of the old version; the domain is the region
    ``fold``    a reduction
    ``numpy``   by NumPy, on whole arrays
    ``collective``  by all ranks together, each on its sections
    ``local``   an update by NumPy on each rank's share, where shares are no intervals
    """

    node: Node
    style: str
    domain: tuple[int, ...]
    place: Place | None = None
    """The distribution of the domain over ranks; ``None`` if each rank runs over all of it."""
    copies_base: bool = False
    inside: set[int] = field(default_factory=set)
    """id of each node that its loops compute."""
    reads: dict[int, bool] = field(default_factory=dict)
    """By id of each leaf or stored node that is read: True if only at the statement's own index."""
    reason: str = ""
    """Why it is stored."""
    remark: str = ""
    """Why NumPy computes it, or where it assigns."""

    own: AxisMap = ()
    """The map of the loop's own index."""
    only: Node | None = None
    """The masked assignment that alone reads the value; only elements under its mask are stored."""

    @property
    def joinable(self) -> bool:
        """True if others may read the result in the same loops, index by index."""
        if self.style != "place":
            return self.style == "map"
        node = self.node
        return len(node.args) == 3 and node.params[0].is_base and self.place is None


def choose_stored(choice: Choice) -> None:
    """Store folds and assignments, nodes that kernels cannot compute, and nodes that would be computed several times."""
    trace, stored, by_numpy = choice.trace, choice.stored, choice.by_numpy
    order = trace.order
    modes: dict[int, list[Any]] = {}
    taken: dict[int, Any] = {}  # number of elements read, summed over the modes of reading
    fresh: dict[int, int] = {}  # number of boxes assigned so far to a new array
    joins: dict[int, int] = {}  # number of parts of a join that are still to come
    for node in order:
        shape = node.geometry.shape
        if node.op.folds:
            stored.setdefault(id(node), reasons.REDUCTION)
        elif node.op.is_update:
            seen, part = id(node) in trace.alive, _is_part(node, joins)
            if not (part or fills(node)) if trace.together else seen:
                stored.setdefault(id(node), reasons.SEEN if seen else reasons.ASSIGNED)
        numpy = ""
        if node.op.is_collective:
            numpy = reasons.COLLECTIVE
        elif not shape and _is_below(node, 2):
            numpy = reasons.NUMBER
        elif trace.numpy_below and _is_below(node, trace.numpy_below) and not _lies_on_ranks(node):
            numpy = reasons.SMALL.format(elements=trace.numpy_below)
        elif not trace.supported(node):
            numpy = _what_is_missing(node)
        if numpy:
            stored.setdefault(id(node), numpy)
            by_numpy.setdefault(id(node), numpy)
        for place, arg in enumerate(node.args):
            if type(arg) is not Node or arg.value is not None:
                continue
            mode: Any
            if numpy:
                together = numpy == reasons.COLLECTIVE
                stored.setdefault(id(arg), reasons.FOR_RANKS if together else reasons.FOR_NUMPY)
                continue
            if node.op.is_view:
                view = node.params[0]
                mode = ("read", view.number)
                if view.axes is None:
                    stored.setdefault(id(arg), reasons.UNMAPPED)
                elif not arg.op.is_trivial(arg) and view.size > arg.geometry.size:
                    stored.setdefault(id(arg), reasons.REPEATED)
                elif arg.op.is_update and not view.is_base:
                    stored.setdefault(id(arg), reasons.PARTLY_READ)
            elif node.op.is_update:
                mode = "base" if place == 0 else ("value", node.params[0].number)
                if arg.op.is_update:
                    pieces = fresh.get(id(arg), 0)
                    if place == 0 and 0 < pieces < policy.limits.pieces and is_box(node):
                        fresh[id(node)] = pieces + 1
                    else:
                        stored.setdefault(id(arg), reasons.ASSIGNED_ON)
                elif place == 0 and arg.op.is_number and is_box(node):
                    fresh[id(node)] = 1
                elif place == 0 and not arg.op.is_trivial(arg) and not arg.op.is_ufunc:
                    stored.setdefault(id(arg), reasons.OVERWRITTEN)
                elif (
                    place == 1
                    and arg.geometry.size < node.params[0].size
                    and not arg.op.is_trivial(arg)
                ):
                    stored.setdefault(id(arg), reasons.REPEATED)
            elif arg.geometry.shape != shape and not node.op.folds:
                mode = ("broadcast", shape)
                if not arg.op.is_trivial(arg) and arg.geometry.size < node.geometry.size:
                    stored.setdefault(id(arg), reasons.REPEATED)
            else:
                mode = "same"
            seen_under = modes.setdefault(id(arg), [])
            if mode not in seen_under:  # compared, not hashed: extents may be unknown
                seen_under.append(mode)
                size = node.params[0].size if node.op.is_view else arg.geometry.size
                taken[id(arg)] = taken[id(arg)] + size if id(arg) in taken else size
        if node.op.is_update and (node.params[0].box is None or len(node.args) == 3):
            stored.setdefault(id(node), reasons.NO_BOX)
            choice.store(reasons.OVERWRITTEN, node.args[0])
    direct: set[int] = set()  # arithmetic on values in memory, at its own index
    for node in order:
        if node.op.elementwise:
            for arg in node.args:
                ready = type(arg) is not Node or arg.value is not None
                if not (ready or id(arg) in direct or id(arg) in stored):
                    break
            else:
                direct.add(id(node))
        if len(modes.get(id(node), ())) < 2 or node.op.is_trivial(node):
            continue
        if id(node) not in direct or taken[id(node)] > node.geometry.size:
            stored.setdefault(id(node), reasons.SHIFTED)


def _is_below(node: Node, size: int) -> bool:
    """True if a node and its operands have fewer elements each."""
    if node.geometry.size >= size:
        return False
    return not [arg for arg in node.args if type(arg) is Node and arg.geometry.size >= size]


def _is_part(node: Node, joins: dict[int, int]) -> bool:
    """True if an update is a part of a join (a roll, say). A join is no assignment of the program: its result is computed where it
    is read, like that of an operation, whether it is referenced or not."""
    base = node.args[0]
    left = joins.get(id(base), 0) if base.op.is_update else parts_of(base)
    if left:
        joins[id(node)] = left - 1
    return left > 0


def _lies_on_ranks(node: Node) -> bool:
    """True if the node or an operand is distributed: NumPy would have to gather it, loops over shares need not."""
    return node.place is not None or any(
        type(arg) is Node and arg.place is not None for arg in node.args
    )


def _store_replicated(choice: Choice) -> None:
    """Store replicated values that distributed nodes read: each rank computes them for itself, and one may have them in memory
    already."""
    alone: dict[int, bool] = {}
    for node in choice.trace.order:
        used = [arg for arg in node.args if type(arg) is Node]
        alone[id(node)] = node.place is None
        for arg in used:
            if not alone.get(id(arg), arg.place is None):
                alone[id(node)] = False
        for arg in used if not alone[id(node)] else ():
            while arg.op.is_view and alone.get(id(arg), False):
                arg = arg.args[0]
            if alone.get(id(arg), False):
                choice.stored.setdefault(id(arg), reasons.EVERYWHERE)


def _store_scattered(choice: Choice) -> None:
    """Store further values that ranks need in memory: operands of a view that no axis map describes, and, where shares are no
    intervals, updates, index values, and their operands."""
    trace, stored, by_numpy = choice.trace, choice.stored, choice.by_numpy
    for node in trace.order:
        place: Place | None = node.place
        scattered = place is not None and not place.layout.is_block
        if node.op.from_index and scattered:
            stored.setdefault(id(node), reasons.SCATTERED)
            by_numpy.setdefault(id(node), reasons.NO_LOOP)
        looped = node.op.is_update and scattered and _is_share(node, trace)
        if looped:
            stored.setdefault(id(node), reasons.SCATTERED)
            choice.store(reasons.SCATTERED, node.args[0])
            _store_for_share(node, region_place(node, trace), stored)
        elif node.op.is_update and (scattered or (place is not None and crosses(node.params[0]))):
            choice.store(reasons.SCATTERED, *node.args)
            stored.setdefault(id(node), reasons.SCATTERED)
            if crosses(node.params[0]) or len(node.args) == 3:
                by_numpy.setdefault(id(node), reasons.NO_LOOP)
        searched: Place | None = node.args[0].place if node.op.finds_position else None
        if searched is not None and not searched.layout.is_block:
            # loops over local indices know no positions
            by_numpy.setdefault(id(node), reasons.NO_LOOP)
        if goes_across(node):
            stored.setdefault(id(node), reasons.SCATTERED)
            by_numpy.setdefault(id(node), reasons.ACROSS)
        if node.op.is_view:
            base: Place | None = node.args[0].place
            if base is not None and (not base.layout.is_block or scattered):
                choice.store(reasons.SCATTERED, node.args[0])
        for arg in node.args if scattered and not looped else ():
            if type(arg) is not Node or arg.place is place:
                continue
            if not (_lies_ready(arg, stored) or _spreads(arg, stored)):
                stored.setdefault(id(arg), reasons.SCATTERED)


def _store_operands(choice: Choice) -> None:
    """Store the operands of nodes that NumPy computes, since NumPy reads memory."""
    for node in choice.trace.order:
        if id(node) in choice.by_numpy:
            choice.store(reasons.FOR_NUMPY, *node.args)


_on_ranks = attrgetter("trace.placed")
RULES: tuple[Pass[Choice], ...] = (
    Pass("stored nodes", None, choose_stored),
    Pass("kernel sizes", None, bound_sizes),
    Pass("replicated values", _on_ranks, _store_replicated),
    Pass("scattered shares", _on_ranks, _store_scattered),
    Pass("operands of NumPy", _on_ranks, _store_operands),
)
"""The rules by which nodes are stored, in order."""


def region_place(update: Node, trace: Trace) -> Any:
    """The place of the assigned region of an update."""
    if id(update) in trace.regions:
        return trace.regions[id(update)]
    return None if update.place is None else placed_view(update.place, update.params[0])


def _is_share(update: Node, trace: Trace) -> bool:
    """True if loops over local indices can write a region of an array whose shares are no boxes."""
    region: Geometry = update.params[0]
    return (
        len(update.args) == 2
        and not crosses(region)
        and bool(region.size != 0)
        and counts_locally(update.place.layout, region)
        and region_place(update, trace) is not None
    )


def _store_for_share(update: Node, place: Any, stored: Reasons) -> None:
    """Store the parts of an assigned value that loops over local indices need in memory: all but arithmetic on operands placed like
    the region, and views of values in memory."""
    stack = [update.args[1]]
    while stack:
        node = stack.pop()
        if type(node) is not Node or node.value is not None or id(node) in stored:
            continue
        if node.op.elementwise and node.place is place:
            stack.extend(node.args)
        elif _spreads(node, stored):
            continue
        elif node.op.is_view and not crosses(node.params[0]):
            base = node.args[0]
            while base.op.is_view and base.value is None and not crosses(base.params[0]):
                base = base.args[0]
            if base.value is None:
                stored.setdefault(id(base), reasons.SCATTERED)
        elif not node.op.is_number:
            stored.setdefault(id(node), reasons.SCATTERED)


def _spreads(node: Node, stored: Reasons) -> bool:
    """True if arithmetic makes a large result of small operands in memory, as an outer product does. Loops then compute it wherever
    they run, since the operands are cheaper to send than the result."""
    return node.op.elementwise and all(
        (2 * arg.geometry.size <= node.geometry.size and _lies_ready(arg, stored))
        or _spreads(arg, stored)
        for arg in node.args
        if type(arg) is Node
    )


def _lies_ready(node: Node, stored: Reasons) -> bool:
    """True if loops over listed shares can read a value of another place directly from memory."""
    while node.op.is_view and node.value is None:
        if crosses(node.params[0]):
            return False
        node = node.args[0]
    return node.value is not None or id(node) in stored


class Reads:
    """The leaves and stored nodes that an expression reads, each with True if only at its own index."""

    def __init__(
        self, stored: Reasons, domain: tuple[int, ...], place: Place | None = None
    ) -> None:
        self.stored = stored
        self.domain = domain
        self.own = identity(domain)
        """The map of the expression's own index."""
        self.place = place
        self.found: dict[int, bool] = {}
        self.inside: set[int] = set()
        """The nodes, by id, that are computed on the way."""
        self._seen: set[Any] = set()

    def visit(self, node: Node, outer: AxisMap, *, inside: bool = False) -> None:
        """Walk the expression of ``node`` under the map ``outer``; without recursion, since it may be deep."""
        stack = [(node, outer, inside)]
        seen, aligned_leaves, stored, own = self._seen, self.found, self.stored, self.own
        while stack:
            node, outer, inside = stack.pop()
            before = len(seen)
            seen.add((id(node), outer, inside))
            if len(seen) == before:
                continue
            if node.value is not None or (inside and id(node) in stored):
                aligned = (
                    node.place is self.place
                    and node.geometry.shape == self.domain
                    and are_equal(outer, own)
                )
                aligned_leaves[id(node)] = aligned_leaves.get(id(node), True) and aligned
                continue
            self.inside.add(id(node))
            for arg, inner in reversed(operands_under(node, outer)):
                if inner is None:
                    self._anywhere(arg)
                else:
                    stack.append((arg, inner, True))

    def _anywhere(self, node: Node) -> None:
        """Record the leaves and stored nodes below a node that is read without a map, as reads at any index."""
        stack, seen = [node], {id(node)}
        while stack:
            below = stack.pop()
            if below.value is not None or id(below) in self.stored:
                self.found[id(below)] = False
                continue
            for arg in below.args:
                if type(arg) is Node and id(arg) not in seen:
                    seen.add(id(arg))
                    stack.append(arg)


def make_statements(trace: Trace) -> list[Statement]:
    """The statements, operands first, each with its style and its reads."""
    nodes = trace.order
    trace.order = in_order(trace.roots, attrgetter("weight"))
    choice = Choice(trace, dict.fromkeys(map(id, trace.roots), reasons.WANTED), {})
    applied(RULES, choice, check_choice if trace.debug else None)
    stored, by_numpy = choice.stored, choice.by_numpy
    statements: list[Statement] = []
    _keep_sources(trace, nodes, stored)
    chosen = [node for node in trace.order if id(node) in stored]
    for node in chosen:
        if id(node) in by_numpy:
            style = "collective" if node.op.is_collective else "numpy"
            statement = Statement(node, style, ())
            for arg in node.args:
                if type(arg) is Node:
                    statement.reads[id(arg)] = False
        else:
            style, read = ("fold", node.args[0]) if node.op.folds else ("map", node)
            statement = Statement(node, style, read.geometry.shape, read.place)
            reads = Reads(stored, statement.domain, statement.place)
            reads.visit(read, reads.own, inside=read is not node)
            statement.reads, statement.inside, statement.own = reads.found, reads.inside, reads.own
        statement.reason = stored[id(node)]
        statement.remark = by_numpy.get(id(node), "")
        statements.append(statement)
    _place_updates(trace, statements, stored)
    if trace.debug:
        check_statements(statements, "statements")
    return statements


def _keep_sources(trace: Trace, nodes: list[Node], stored: Reasons) -> None:
    """Keep the sources of values that stay pending alive: they must not be overwritten.

    ``nodes`` includes values that are no longer in the trace, since a reduction reads past them.
    """
    kept = set(trace.alive)
    for node in reversed(nodes):
        if id(node) in kept and id(node) not in stored:
            kept.update(map(id, node.args))
    trace.alive = frozenset(kept)


def _place_updates(trace: Trace, statements: list[Statement], stored: Reasons) -> None:
    """Decide which updates write into the old version's buffer."""
    last_read: dict[int, int] = {}
    for k, statement in enumerate(statements):
        for source in statement.reads:
            last_read[source] = k
    inserted: list[tuple[int, Statement]] = []
    roots = {id(root) for root in trace.roots}
    for k, statement in enumerate(statements):
        node = statement.node
        if node.op.writes:
            _place_write(trace, statement, last_read[id(node.args[0])] > k)
        if not node.op.is_update or statement.style != "map":
            continue
        region: Geometry = node.params[0]
        base = node.args[0]
        value = node.args[1]
        scattered = node.place is not None and not node.place.layout.is_block
        if scattered and not _is_share(node, trace):
            statement.style = "local"
            statement.remark = reasons.LOCALLY
            statement.reads = {id(arg): False for arg in node.args if type(arg) is Node}
            continue
        boxable = region.box is not None and len(node.args) == 2
        if region.size == 0:
            boxable = False
        has_memory = base.value is not None or id(base) in stored
        seen = id(base) in trace.alive
        kept = node.params[1:] == (True,)
        needed = kept or id(base) in roots if trace.together else seen
        mine = has_memory and not needed and last_read.get(id(base), k) <= k
        if boxable and not mine and not scattered:
            still = reasons.NEW_VERSION if seen else reasons.SHARED
            statement.remark = still if has_memory else reasons.NEW_BUFFER
            continue
        reads = _reads_of_value(node, stored)
        entangled = id(base) in reads.found
        entangled = entangled and not reads_safely(node.args[1:], region, base, stored)
        if entangled and boxable and not scattered and region.size * 2 > base.geometry.size:
            statement.remark = reasons.NEW_ENTANGLED
            continue
        statement.style = "place"
        statement.domain = region.shape
        statement.place = region_place(node, trace)
        statement.copies_base = seen or not mine
        if entangled and mine:
            for arg in node.args[1:]:
                if type(arg) is Node and arg.value is None and id(arg) not in stored:
                    stored.setdefault(id(arg), reasons.ENTANGLED)
                    extra = Statement(arg, "map", arg.geometry.shape, arg.place)
                    extra.reason = reasons.ENTANGLED
                    inner = Reads(stored, arg.geometry.shape, arg.place)
                    inner.visit(arg, inner.own)
                    if arg is value and len(node.args) == 3 and arg.geometry.shape == region.shape:
                        extra.only = node
                        mask = node.args[2]
                        outer = broadcast_map(mask, region.shape, inner.own)
                        inner.visit(mask, outer, inside=True)
                    extra.reads, extra.own = inner.found, inner.own
                    inserted.append((k, extra))
                elif type(arg) is Node and arg is base:
                    statement.copies_base = True
            reads = _reads_of_value(node, stored)
        statement.remark = reasons.COPIED if statement.copies_base else reasons.IN_PLACE
        statement.reads, statement.own = dict(reads.found), reads.own
        statement.reads[id(base)] = False
    for k, extra in reversed(inserted):
        statements.insert(k, extra)


def _reads_of_value(update: Node, stored: Reasons) -> Reads:
    """The reads of the value and the mask of an update, at the indices of its region."""
    shape = update.params[0].shape
    reads = Reads(stored, shape)
    for arg in update.args[1:]:
        if type(arg) is Node:
            reads.visit(arg, broadcast_map(arg, shape, reads.own), inside=True)
    return reads


def _place_write(trace: Trace, statement: Statement, read_later: bool) -> None:
    """Decide whether a collective write goes into the old version's buffer."""
    base, *others = statement.node.args
    seen = id(base) in trace.alive
    statement.copies_base = seen or read_later or any(arg is base for arg in others)
    statement.remark = reasons.COPIED if statement.copies_base else reasons.IN_PLACE


def _what_is_missing(node: Node) -> str:
    """Why kernels cannot compute a node."""
    for operand in [node, *[a for a in node.args if type(a) is Node]]:
        if not is_native(operand.geometry.dtype):
            return reasons.NO_DTYPE.format(dtype=operand.geometry.dtype)
    return reasons.NO_KERNEL.format(operation=node.op.words(node))


def reads_safely(values: Sequence[Any], region: Geometry, base: Node, stored: Reasons) -> bool:
    """True if values can be computed while ``region`` of ``base`` is overwritten: they read ``base`` through the very view that is
    written, index by index, or only where nothing is written."""
    stack = [(value, True) for value in values]
    """Nodes to visit, each with True if the loop's index is still that of the region."""
    seen: set[tuple[int, bool]] = set()
    while stack:
        node, same = stack.pop()
        if type(node) is not Node or (id(node), same) in seen:
            continue
        seen.add((id(node), same))
        if node is base:
            if not (same and region.is_base):
                return False
        elif node.value is not None or id(node) in stored:
            continue
        elif node.op.is_view:
            view: Geometry = node.params[0]
            if node.args[0] is not base:
                stack.append((node.args[0], False))
            elif not (same and view.number == region.number) and not _apart(view, region):
                return False
        elif node.op.is_update or node.op.folds:
            below = in_order([node], lambda each: each.value is None and id(each) not in stored)
            if any(arg is base for each in below for arg in each.args):
                return False
        else:
            for arg in node.args:
                if type(arg) is Node:
                    stack.append((arg, same and arg.geometry.shape == region.shape))
    return True


def _apart(view: Geometry, other: Geometry) -> bool:
    """True if two views of one base touch no common element, as far as their bounds tell."""
    if view.axes is None or other.axes is None:
        return False
    reads = reach(view.axes, [(0, n) for n in view.shape])
    writes = reach(other.axes, [(0, n) for n in other.shape])
    return any(high <= begin or end <= low for (low, high), (begin, end) in zip(reads, writes))
