"""How a view reads from its base and writes into it.

A *cell* is the mutable box of one base array: it holds the node that is its value now. A
*handle* is what the user has in hand: either a small NumPy array as it is, or a cell with the
geometry of a view on it. Reading through a view makes a ``read`` node; writing through it
replaces the cell's node by an ``update``, so every other view of the cell sees it.

A cell is *pinned* while its memory is known outside: then its address never changes,
assignments land in it at the call, and operations read it as of the call.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import policy
from ..comm.in_step import is_same
from ..comm.world import World, current_world
from ..context import statistics
from ..context.call_sites import site_number
from ..context.threads import leave, turn
from ..graph.cut import CutPoint, find_cut, live_at
from ..graph.geometry import Geometry, kept_order, strided
from ..graph.node import Node, Site, Value, source, view_of
from ..graph.op import SOURCE
from ..ops import windows
from ..ops.elementwise import read, update
from ..ops.fingerprint import of_text
from ..plan.exchange import gather
from .evaluate import evaluate, fingerprint_of

reference = weakref.ref
_MASK = (1 << 64) - 1


class Cut(NamedTuple):
    """What is done at a line where something is heavier than a limit."""

    line: int | None
    """What was live at this line is evaluated; where there is none, what is heavy and all that is pending with it."""
    limit: float


class _Cuts(threading.local):
    """The lines at which this thread cuts what it computes by itself; see :attr:`.StepLog.cuts`."""

    def __init__(self) -> None:
        self.places: dict[int, Cut] = {}


_cuts = _Cuts()


def _cuts_of(node: Node) -> dict[int, Cut]:
    """The lines at which those who compute a node have cut before, the same on all of them."""
    home = node.place
    if home is None or home.world.size == 1:
        return _cuts.places
    places: dict[int, Cut] = home.world.communicator.log.cuts
    return places


def too_heavy(node: Node) -> bool:
    """Whether a node above ``policy.limits.light`` operations shall be evaluated at once, or what it is made of.

    A loop that nobody looks into is cut where its pending work grows too heavy. It should be cut at the same lines in
    each turn, or else the pieces are other ones each time, to be planned and compiled anew. So lines that were cut once
    are cut again, a good deal earlier. The best of them is the loop's cut (``graph.cut``): where there is one,
    what was live there is computed in later turns, and nothing that has been begun since. If a turn grows too heavy
    before it comes to that, it will be cut there when it is lighter.

    Ranks that compute together cut at the same operation, since the weight of what lies on them is the same on all, and
    so are the lines where these ranks have cut before. What every rank has may weigh less on one that has looked at it.
    """
    places = _cuts_of(node)
    if places:
        known = places.get(site_number(node.site))
        if known is not None and node.weight > known.limit:
            return True
    if node.weight <= policy.limits.pending:
        return False
    with turn.lock:
        _weigh_again(node)
    return node.weight > policy.limits.pending


def _cut_here_again(node: Node, point: CutPoint | None) -> None:
    """Remember where a loop was cut, or where that is better done the next time."""
    places = _cuts_of(node)
    line, found = site_number(node.site), Cut(None, policy.limits.near)
    after = None if point is None else site_number(point.after)
    known = None if after is None else places.get(after)
    if (
        point is not None
        and after is not None
        and (known is None or known.limit > policy.limits.light)
    ):
        line = after
        limit = policy.limits.near if known is None else policy.limits.light
        found = Cut(site_number(point.line), limit)
    elif node.site is None:
        return
    if len(places) >= policy.limits.plans and line not in places:
        del places[next(iter(places))]  # the one that was added first; the same on all ranks
    places[line] = found


def _weigh_again(node: Node) -> None:
    """Set the weights of what is pending behind a node, after some of it was computed.

    Else the value of each turn of a loop would weigh as much as all turns before it. What is made of values on
    ranks counts those and nothing else, as where it is recorded: all ranks have computed the same of them.
    """
    seen: set[int] = set()
    stack = [node]
    while stack:
        one = stack[-1]
        operands = [arg for arg in one.args if type(arg) is Node]
        counted = [arg for arg in operands if arg.place is not None] or operands
        more = [arg for arg in counted if arg.value is None and id(arg) not in seen]
        if more and id(one) not in seen:
            seen.add(id(one))
            stack += more
            continue
        seen.add(id(one))
        stack.pop()
        if one.args:
            one.weight = 1 + sum([arg.weight for arg in counted])


def cut(nodes: Sequence[Node]) -> None:
    """Evaluate what has grown too heavy, and all that is pending with it; or what was live at the cut.

    What is recorded afterwards begins from values then, whatever was pending before.
    """
    with turn.lock:
        _cut(nodes)


def _cut(nodes: Sequence[Node]) -> None:
    first = nodes[0]
    known = _cuts_of(first).get(site_number(first.site))
    if known is not None and known.line is not None:
        _weigh_again(first)
        if first.weight > known.limit:
            line = known.line
            evaluate(statistics.attempted(lambda: live_at(first, line)) or ())
            _weigh_again(first)
        if first.weight <= policy.limits.near:
            return
    home = first.place
    heavy = first.weight > policy.limits.pending
    if home is None or home.world.size == 1:
        others = [cell for cell in pending_cells() if cell.node not in nodes and is_alone(cell)]
        together = [*nodes, *[cell.node for cell in others]]
        if heavy:
            _cut_here_again(first, statistics.attempted(lambda: find_cut(together)))
        evaluate(together)
        for cell in others:
            cell.sites = None
    else:
        together = with_others(home.world, nodes)
        if heavy:
            found = statistics.attempted(lambda: find_cut(together))
            number = 0 if found is None else of_text(str(found))
            # garbage that looks alike may have been made at other lines
            alike = is_same(home.world.communicator, number, "a cut")
            _cut_here_again(first, found if alike else None)
        evaluate(together)


def with_others(world: World, nodes: Sequence[Node]) -> list[Node]:
    """What has grown too heavy on ranks, and with it all that is pending there, if they agree on that. Collective.

    They may not, for some may have garbage that they have yet to collect; then it is those nodes alone. What every
    rank has may have been looked at on some of them, and does not count. Numbers and data are in no fingerprint, so values
    that look alike must be as old on all ranks, or garbage might be taken for what all have.
    """
    others = [
        cell for cell in pending_cells() if cell.node.place and cell.node.place.world == world
    ]
    together = list(dict.fromkeys([*nodes, *[cell.node for cell in others]]))

    def fingerprint() -> int:
        number = fingerprint_of(together)
        if len({fingerprint_of([node]) for node in together}) < len(together):
            number = hash((number, *[node.born for node in together])) & _MASK
        return number

    number = statistics.attempted(fingerprint)
    if number is None:
        number = world.rank  # no two ranks agree
    if not is_same(world.communicator, number, "a cut"):
        return list(nodes)
    for cell in others:
        cell.sites = None
    return together


windows.Evaluation.with_others = staticmethod(with_others)


def pending_cells() -> list[Cell]:
    """The cells of this thread whose values are pending, and not to be awaited."""
    cells = [known() for known in _cells.known]
    return [
        cell
        for cell in cells
        if cell is not None and cell.node.value is None and cell.node.weight >= 0
    ]


def cells_of(node: Node) -> list[Cell]:
    """The cells of this thread that have this value now."""
    cells = [known() for known in _cells.known]
    return [cell for cell in cells if cell is not None and cell.node is node]


def is_alone(cell: Cell) -> bool:
    """Whether this process can compute a cell without others."""
    world = world_of(cell.node)
    return world is None or world.size == 1


def world_of(node: Node) -> World | None:
    """The ranks that compute a pending value together; ``None`` where each does for itself."""
    stack, seen = [node], {id(node)}
    while stack:
        one = stack.pop()
        if one.place is not None:
            world: World = one.place.world
            return world
        for arg in one.args:
            if type(arg) is Node and id(arg) not in seen:
                seen.add(id(arg))
                stack.append(arg)
    return None


class _Cells(threading.local):
    """The cells that this thread has made, in order; the dead ones are dropped now and then.

    A simulated rank is a thread, and must not compute for the others.
    """

    def __init__(self) -> None:
        self.known: list[weakref.ref[Cell]] = []
        self.living = 0
        """How many there were when they were last counted."""

    def forget_the_dead(self) -> None:
        """Keep the living, if there may be as many dead."""
        if len(self.known) >= 2 * self.living:
            self.known = [known for known in self.known if known() is not None]
            self.living = len(self.known)


_cells = _Cells()


class Cell:
    """The mutable box of a base array."""

    __slots__ = (
        "__weakref__",
        "_first",
        "geometry",
        "node",
        "pieces",
        "pins",
        "sites",
        "writeable",
    )

    geometry: Geometry
    node: Node
    pieces: int
    pins: int
    sites: set[int] | None
    """Where pending assignments were made."""
    writeable: bool
    _first: weakref.ref[Handle] | None

    def __init__(self, node: Node) -> None:
        boxed(self, node)

    @classmethod
    def foreign(cls, array: np.ndarray[Any, Any]) -> Cell:
        """A cell over memory that somebody else owns: pinned for good."""
        geometry = strided(array.shape, array.dtype, array.strides)
        cell = cls(source(array, geometry, pinned=True))
        cell.pins = 1
        cell.writeable = array.flags.writeable
        return cell

    def viewed_from(self, handle: Handle) -> None:
        """Remember the array that the first view was taken of: it is the ``base`` of all views."""
        if self._first is None and handle._geometry.is_base:
            self._first = weakref.ref(handle)

    def first(self) -> Handle | None:
        """The array that views have as their base, if it is known and alive."""
        known = self._first
        handle = None if known is None else known()
        if handle is None or handle._np is not None or handle._cell is not self:
            self._first = None
            return None
        return handle

    def settle(self) -> Value:
        """The value in memory, evaluated if it was pending."""
        node = self.node
        if node.value is None:
            evaluate((node,))
            self.sites = None
        assert node.value is not None
        return node.value

    def own(self) -> Value:
        """The value in memory that no other node shares, so that it may be written to. The lock is held."""
        value = self.settle()
        tiles = value.tiles
        if not value.pinned and not self.is_unshared():
            node = self.node
            self.node = source(value.array.copy(order="K"), self.geometry, place=node.place)
            self.node.holders = node.holders  # who shares it may be known to this rank alone
            if hasattr(node, "asked"):
                self.node.asked = True
            assert self.node.value is not None
            value = self.node.value
        value.count = -1
        value.tiles = tiles and tiles.emptied()
        return value

    def is_unshared(self) -> bool:
        """Whether this cell alone refers to its value."""
        return sys.getrefcount(self.node) <= _BY_ITSELF

    def references(self) -> int:
        """How many there are to its value, with those that counting takes."""
        return sys.getrefcount(self.node)

    def is_used_by_pieces(self) -> bool:
        """Whether short views have been recorded so often that it is better to compute, or copy, all of it."""
        self.pieces += 1
        if self.pieces < policy.limits.pieces:
            return False
        self.pieces = 0
        return True

    def comes_round(self, site: Site | None) -> bool:
        """Whether a loop is at an assignment again that is still pending."""
        return self.sites is not None and site_number(site) in self.sites and self.node.weight >= 0

    def pin(self) -> None:
        """The memory keeps its address, and assignments land in it at once, until :meth:`unpin`."""
        with turn.lock:
            self.own().pinned = True
            self.pins += 1

    def unpin(self) -> None:
        """One export less. Finalisers call this, on any thread."""
        leave(self._unpinned)

    def _unpinned(self) -> None:
        self.pins -= 1
        if self.pins == 0 and self.node.value is not None:
            self.node.value.pinned = False

    def gathered(self, view: Geometry) -> np.ndarray[Any, Any]:
        """What a view shows, from all ranks, for reading; elements that it does not show stay where they are.

        They are in memory in the order that the view has them in, so NumPy lays out alike what it makes of them.
        """
        if view.size >= self.geometry.size:
            whole = view_of(gather(self.node), view)
        else:
            node = read(self.node, view)
            evaluate((node,))
            whole = whole_of(node)
            order = kept_order(whole.shape, (view,))
            if order is not None:
                whole = np.ascontiguousarray(whole.transpose(order)).transpose(np.argsort(order))
            whole = whole.view()
        whole.flags.writeable = False
        return whole

    def export(self, view: Geometry) -> np.ndarray[Any, Any]:
        """A NumPy array over this memory; the cell stays pinned while it, or a view of it, lives."""
        with turn.lock:
            value = self.own()
            if self.node.place is None:
                array = view_of(value.array, view)
                value.pinned = True
                self.pins += 1
        if self.node.place is not None:  # the value of all ranks, not what is here of it
            return self.gathered(view)
        exported = np.asarray(_Export(array))
        if exported.dtype != array.dtype:
            exported = exported.view(array.dtype)
        if not (self.writeable and view.writeable):
            exported.flags.writeable = False
        holder = exported
        while isinstance(holder.base, np.ndarray):
            holder = holder.base
        # Ranks may collect the same garbage at different times: there a pin is for good.
        if current_world().size == 1:
            weakref.finalize(holder, self.unpin).atexit = False
        return exported

    def write(self, region: Geometry, value: Any, mask: Node | None, site: Site | None) -> None:
        """Replace the value by one with ``value`` (a node, or a scalar of the dtype) in ``region``.

        Of elements that share memory the last one stays, in NumPy's order, so NumPy writes them.
        """
        with turn.lock:
            if self.pins or region.overlapping:
                if self.node.place is None:
                    self._write_now(region, value, mask)
                else:
                    self._write_share_now(region, value, mask, site)
                return
            node = self.node
            if node.place is not None:
                node.place.world.communicator.log.settle()
            place = site_number(site)
            if node.value is not None:
                self.sites = {place}
            else:
                sites = self.sites
                if sites is None:
                    self.sites = {place}
                elif place in sites and node.weight >= 0:  # the loop has come round
                    del node
                    self.settle()
                    self.sites = {place}
                    if type(value) is Node and value.weight > policy.limits.near:
                        _weigh_again(value)
                else:
                    sites.add(place)
            if (
                mask is None
                and region.is_base
                and type(value) is Node
                and value.geometry is self.geometry
                and value.place is self.node.place
            ):
                self.node = value
            else:
                self.node = update(self.node, region, value, mask, site)
            self.node.holders += 1
            if self.node.weight > policy.limits.near and too_heavy(self.node):
                cut((self.node,))
                self.sites = None

    def _write_now(self, region: Geometry, value: Any, mask: Node | None) -> None:
        needed = [n for n in (value, mask) if type(n) is Node]
        evaluate(needed)
        array = whole_of(value) if type(value) is Node else value
        where: Any = True if mask is None else whole_of(mask)
        target = view_of(self.own().array, region)
        np.copyto(target, array, casting="unsafe", where=where)

    def _write_share_now(
        self, region: Geometry, value: Any, mask: Node | None, site: Site | None
    ) -> None:
        """The same where the array lies on ranks: each keeps what falls into its own memory."""
        self.settle()
        old = self.node
        new = update(old, region, value, mask, site)
        evaluate((new,))
        assert old.value is not None
        assert new.value is not None
        place = new.place
        inside = place.layout.inside(place.world.rank)
        np.copyto(old.value.array[inside], new.value.array[inside])


def _references() -> int:
    """What :meth:`Cell.references` says of a node that nobody else refers to, in this version of Python."""
    cell: Cell = object.__new__(Cell)
    cell.node = Node(SOURCE, (), strided((1,), np.dtype(float), (8,)))
    return cell.references()


_BY_ITSELF = _references()


def boxed(cell: Cell, node: Node) -> Cell:
    """What makes a new object a cell: ``boxed(new(Cell), node)`` is quicker than a call of the class."""
    cell.node = node
    node.holders += 1
    cell.geometry = node.geometry
    cell.pins = 0
    cell.pieces = 0
    cell.sites = None
    cell.writeable = True
    cell._first = None
    known = _cells.known
    known.append(reference(cell))
    if not len(known) & 63:
        _cells.forget_the_dead()
    return cell


def whole_of(node: Node) -> np.ndarray[Any, Any]:
    """All of an evaluated value, brought here from the ranks that it lies on. Collective there."""
    if node.place is not None:
        return gather(node)
    assert node.value is not None
    return node.value.array


class _Export:
    """An owner that is no array, so that views of an export keep that export alive."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.__array_interface__ = dict(array.__array_interface__)


class _Pinned:
    """Pins a cell for a while."""

    __slots__ = ("cell",)

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    def __enter__(self) -> None:
        self.cell.pin()

    def __exit__(self, *failure: object) -> None:
        self.cell.unpin()


class Handle:
    """What the user holds: a small NumPy array (``_np``), or a view (``_geometry``) on a cell."""

    __slots__ = ("__weakref__", "_cell", "_geometry", "_np")
    inherits: ClassVar[bool] = True
    """Whether what is made from an array of a subclass is of that class."""
    array_type: ClassVar[Any]
    """The class that results have: ``ndarray``, which is defined above this room."""
    any_deferred: ClassVar[Callable[..., bool]]
    """Whether an array that waits for a value is among these."""
    make_recorded: ClassVar[Callable[[Handle], None]]
    """Make a small array one that is recorded."""
    captured: ClassVar[Callable[[Node], Node]]
    """A node that waits for a value, with the data that it reads taken as it is now."""
    call_later: ClassVar[Callable[..., Any]]
    """A call of NumPy's on values that are not there yet: see ``lazy.deferred``."""
    _np: np.ndarray[Any, Any] | None
    _cell: Cell
    _geometry: Geometry

    def _node(self) -> Node:
        """The value as a node; a small array gives a snapshot."""
        small = self._np
        if small is not None:
            array = small.copy(order="K")
            return source(array, strided(array.shape, array.dtype, array.strides))
        cell = self._cell
        geometry = self._geometry
        return cell.node if geometry.is_base else read(cell.node, geometry)

    def _shape_of_view(self) -> Geometry:
        small = self._np
        if small is not None:
            return strided(small.shape, small.dtype, small.strides)
        return self._geometry

    def _array(self) -> np.ndarray[Any, Any]:
        """The value as a NumPy array over the memory it lies in; for reading at once."""
        small = self._np
        if small is not None:
            return small
        value = self._cell.settle()
        geometry = self._geometry
        if self._cell.node.place is not None:
            return self._cell.gathered(geometry)
        array = view_of(value.array, geometry)
        if not geometry.writeable and array.flags.writeable:
            array = array.view() if geometry.is_base else array
            array.flags.writeable = False
        return array

    def _array_to_write(self) -> np.ndarray[Any, Any]:
        """Memory for NumPy to write into at once; say :meth:`_written` afterwards.

        For an array that lies on ranks it is a gathered copy, written to by every rank alike.
        """
        small = self._np
        if small is not None:
            return small
        cell = self._cell
        if not (cell.writeable and self._geometry.writeable):
            raise ValueError("assignment destination is read-only")
        value = cell.own()
        if cell.node.place is None:
            return view_of(value.array, self._geometry)
        return view_of(gather(cell.node), self._geometry)

    def _written(self, array: np.ndarray[Any, Any]) -> None:
        """What :meth:`_array_to_write` gave has been written to: keep this rank's share of it."""
        if self._np is not None or self._cell.node.place is None:
            return
        cell = self._cell
        value, place = cell.own(), cell.node.place
        whole = array
        if not self._geometry.is_base:
            whole = gather(cell.node)
            view_of(whole, self._geometry)[...] = array
        layout, rank = place.layout, place.world.rank
        share = whole[np.ix_(*[part.array() for part in layout.region(rank)])]
        value.array[layout.inside(rank)] = share

    def _mutate(self, function: Callable[[np.ndarray[Any, Any]], Any]) -> Any:
        """Let NumPy write into the memory at once: ``function(array)``."""
        if self._np is None and self._cell.node.weight < 0:
            return Handle.call_later(function, (self,), {}, (0,))
        with self._held():
            array = self._array_to_write()
            result = function(array)
            self._written(array)
        return result

    def _held(self) -> AbstractContextManager[Any]:
        """Keep the memory where it is while NumPy writes into it: other threads write into the same, then."""
        if self._np is not None or self._cell.node.place is not None:
            return nullcontext()
        return _Pinned(self._cell)
