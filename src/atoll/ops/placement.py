"""The rules by which results get their distributions.

Owner computes: a result lies as its largest operand does, an assigned array stays where it is,
a slice keeps its owners. A node without a place is *replicated*: every rank has, and computes,
the whole value. What no rule covers (a reshape, say) lies as a new array of its shape would.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any

from .. import policy
from ..comm.world import World
from ..context.caches import Memo, remembered
from ..graph.geometry import Geometry, choice_of, dense
from ..graph.identities import Identity, Interned, identity_of
from ..graph.node import Node
from ..layout import Layout
from ..layout.bounds import Bounds, longest_block
from ..layout.symbolic_layout import extent

_numbers = itertools.count()
_places: Interned[Place] = Interned()


class Place:
    """A layout over the ranks of a world. Equal places are one object."""

    __slots__ = (
        "__weakref__", "_form", "_outline", "folds_whole", "held_once", "is_boxes", "layout", "log", "lopsided", "number", "padded", "read", "world",
    )  # fmt: skip

    def __init__(self, layout: Layout, world: World) -> None:
        self.layout = layout
        self.world = world
        self.log = world.communicator.log
        self.log.divides = True
        self.number = next(_numbers)
        self.padded = layout.is_padded
        self.folds_whole = layout.copies == 1 or any(n > 1 for n in layout.grid)
        """True if a fold over all axes gives every rank the value."""
        self.held_once = layout.copies == 1 and (layout.is_block or not layout.overlaps)
        """True if no two ranks hold the same element."""
        self.read: Memo[int, Place | None] = Memo()
        """Placements of views that were read and of broadcast results, by the numbers of their geometries."""
        self.is_boxes = layout.is_block and not self.padded
        """True if there are but blocks, without padding."""
        self.lopsided = self.is_boxes and _is_lopsided(layout)
        """True if one rank has so much more than an even share that most of the others would wait for it."""
        self._form: Identity | None = None
        self._outline: Identity | None = None

    @property
    def form(self) -> Any:
        """Identity that places share which differ in the bounds of their blocks alone; if shares are no boxes,
        their outline."""
        if self._form is None:
            seats = None if self.layout.is_row_major else self.layout.seats
            blocks = ("blocks", self.outline, seats)
            self._form = identity_of(blocks) if self.is_boxes else self.outline
        return self._form

    @property
    def outline(self) -> Any:
        """Identity that places share whose axes are distributed alike, whatever parts the ranks have.

        Padded ones, and ones with lists in any order, have it to themselves.
        """
        if self._outline is None:
            layout = self.layout
            if self.is_like_no_other:
                self._outline = identity_of(("alone", self.number))
            else:
                ways = "b" if self.is_boxes else tuple([axis.way for axis in layout.axes])
                dealt = (layout.processes, layout.copies, layout.grid, ways)
                self._outline = identity_of(("dealt", self.world, dealt))
        return self._outline

    @property
    def is_like_no_other(self) -> bool:
        """True if it is padded, or has lists in any order."""
        if self.is_boxes:
            return False
        return self.padded or any(axis.way is None for axis in self.layout.axes)

    @classmethod
    def of(cls, layout: Layout, world: World) -> Place | None:
        """The place, or ``None`` where that means: everything everywhere."""
        if layout.is_replicated and not layout.is_padded:
            return None
        key = (layout, world.communicator)
        known = _places.known.get(key)
        return (known and known()) or _places.only(key, Place(layout, world))

    def __repr__(self) -> str:
        return f"Place({self.layout!r})"


def _is_lopsided(layout: Layout) -> bool:
    """True if a rank has nearly two even shares, as two ranks have at most."""
    most = 2 - 2 / policy.limits.pieces
    if layout.copies > 1 or _largest_share(layout) * layout.processes <= most * layout.size:
        return False
    largest = _largest_share(layout, exactly=True)
    if largest * layout.processes <= most * layout.size:
        return False
    if layout.ndim == 1:
        return largest > most * -(-layout.size // layout.processes)
    return largest > most * _largest_share(Layout.default(layout.shape, layout.processes), True)


def _largest_share(layout: Layout, exactly: bool = False) -> int:
    """The elements of the largest share, or at least as many, which takes less time to find."""
    largest = 1
    for axis in layout.axes:
        bounds: Sequence[int] = axis.bounds  # type: ignore[attr-defined]
        if axis.processes == 1:
            largest *= axis.size
        elif type(bounds) is Bounds and not exactly:
            largest *= min(bounds.width + bounds.more, axis.size)
        else:
            largest *= longest_block(bounds)
    return largest


def is_dense_share(leaf: Node) -> bool:
    """True if what a rank has of a leaf fills its memory in C order, without padding."""
    if leaf.place.padded or leaf.value is None:
        return False
    array = leaf.value.array
    return array.strides == dense(array.shape, array.dtype).strides


def placed_view(place: Place, view: Geometry) -> Place | None:
    """The place of a view of an array that lies at ``place``."""
    key = (place.number, view.number)
    known = _views.get(key, _views)
    if known is not _views:
        return known  # type: ignore[return-value]
    try:
        if view.size:
            layout = _layout_of_view(place.layout, view)
        else:  # which axes of the base it is taken from is unknown
            layout = Layout(view.shape, "b" + "n" * (view.ndim - 1), size=place.layout.processes)
    except _NoRuleError:
        layout = _layout_of_reshape(place.layout, view)
    known = _views[key] = Place.of(layout, place.world)
    return known


def _layout_of_reshape(layout: Layout, view: Geometry) -> Layout:
    """Even blocks; of rows, where the base lies in rows in the order of the ranks."""
    size = layout.processes
    rows = layout.grid[:1] == (size,) and layout.copies == 1 and layout.is_row_major
    if rows and layout.axes[0].kind == "b" and view.is_whole and view.shape[:1] >= (size,):
        return Layout(view.shape, "b" + "n" * (view.ndim - 1), size=size)
    return Layout.default(view.shape, size)


_views: Memo[tuple[int, int], Place | None] = Memo()


def is_permutation(view: Geometry) -> bool:
    """True if a view is all of its base with the axes in another order, or the same."""
    axes = view.axes
    if axes is None or view.ndim != view.base.ndim:
        return False
    kept = {
        steps[0][0]
        for (first, steps), n in zip(axes, view.base.shape, strict=True)
        if first == 0 and len(steps) == 1 and steps[0][1] == 1 and view.shape[steps[0][0]] == n
    }
    return len(kept) == view.ndim


class _NoRuleError(Exception):
    """The view does not select along axes."""


def _layout_of_view(layout: Layout, view: Geometry) -> Layout:
    if view.axes is None:
        shown = None if view.dtype == view.base.dtype else view.elements
        if shown is None:
            raise _NoRuleError
        whole = _layout_of_view(layout.unpadded(), shown)
        return whole.expanded(view.within or ()).broadcast(view.shape)
    choice = choice_of(view)
    if choice is None:
        raise _NoRuleError
    key, taken = choice
    order = sorted(range(len(taken)), key=taken.__getitem__)
    if is_permutation(view):
        return layout.transposed(order)
    extents = zip(key, view.base.shape, strict=True)
    parts = [range(n)[part] if type(part) is slice else part for part, n in extents]
    cut = layout.unpadded().cut(parts)
    if order != list(range(len(order))):
        cut = cut.transposed(order)
    missing = [k for k in range(view.ndim) if k not in taken]
    if missing:
        cut = cut.expanded(missing)
        if cut.shape != view.shape:
            cut = cut.broadcast(view.shape)
    return cut


def goes_across(node: Node) -> bool:
    """True if a node reads a view whose elements have to be brought together from other ranks.

    Loops over shares do it where what they read, as a box, is not much larger than the share.
    """
    if not node.op.is_view or not crosses(node.params[0]):
        return False
    home: Place | None = node.args[0].place
    place: Place | None = node.place
    axes = node.params[0].axes
    if home is None:
        return place is not None and not place.layout.is_block
    if axes is None or place is None or not (home.layout.is_block and place.layout.is_block):
        return True
    size = place.layout.processes
    for rank in {0, size // 2}:
        region = place.layout.region(rank)
        reached = [
            1 + sum(abs(step) * max(extent(region[axis]) - 1, 0) for axis, step in steps)
            for _, steps in axes
        ]
        if prod(reached) > 2 * prod(map(extent, region)) + 64:
            return True
    return False


def crosses(view: Geometry) -> bool:
    """True if a view is no choice along axes: a reshape, or a diagonal."""
    axes = view.axes
    used = [axis for _, steps in axes or () for axis, _ in steps]
    return axes is None or len(used) > len(set(used)) or any(len(steps) > 1 for _, steps in axes)


def place_of_read(home: Place, view: Geometry) -> Place | None:
    """Placement of a view that is read, without padding; its base's place remembers it."""
    place = placed_view(home, view)
    if place is not None and place.padded:
        place = without_padding(place)
    home.read[view.number] = place
    return place


def place_of_broadcast(node: Node) -> Place | None:
    """As the largest operand lies, broadcast; from now on its place knows it."""
    placed = [arg for arg in node.args if type(arg) is Node and arg.place is not None]
    largest: Place = max(placed, key=lambda arg: arg.geometry.size).place
    place = largest.read[node.geometry.number] = _broadcast(largest, node.geometry.shape)
    return place


@remembered
def _broadcast(place: Place, shape: tuple[int, ...]) -> Place | None:
    return Place.of(place.layout.unpadded().broadcast(shape), place.world)


def without_padding(place: Place) -> Place | None:
    """The same shares, without padding."""
    return Place.of(place.layout.unpadded(), place.world) if place.padded else place
