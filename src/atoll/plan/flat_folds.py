"""Reductions over all elements of a flattened array, computed over its own shape.

``ravel().sum()`` needs no elements in C order. The loops look through a reshape of whole arrays and run over the shape in memory,
so that the expressions below fuse with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.node import Node
from .shapes import dense_shape

ScalarOf = dict[tuple[int, int], int]


def whole_folds(order: Sequence[Node], scalar_of: ScalarOf) -> list[Node]:
    """The nodes of a trace, with each reduction of a flattened array replaced by a fold over the original shape.

    Nodes that read a replaced node are replaced as well. ``scalar_of`` learns the scalars of new nodes.
    """
    flattened = {
        node
        for node in order
        if node.op.is_view and (view := node.params[0]).base.ndim != 1 and view.is_whole
    }
    if not flattened or not [node for node in order if node.op.folds]:
        return list(order)
    shaped: dict[Node, Node] = {}
    """Nodes of another shape that have the same elements in the same C order."""
    planned: dict[Node, Node] = {}
    again = False
    """True if a node has been replaced."""
    for node in order:
        args, params, op = node.args, node.params, node.op
        if again:
            args = tuple([planned.get(arg, arg) if type(arg) is Node else arg for arg in args])
        if op.folds and not op.finds_position and len(params[0]) == args[0].geometry.ndim:
            inner = shaped.get(args[0])
            if inner is not None and not params[1] and _counts_once(inner):
                args, params = (inner,), (tuple(range(inner.geometry.ndim)), False)
        new = node
        if args != node.args:
            again = True
            geometry, name, site = node.geometry, node.name, node.site
            new = Node(op, args, geometry, params, name, site, place=node.place)
            _same_scalars(new, node, scalar_of)
        planned[node] = new
        if node in flattened:
            shaped[new] = args[0]
        elif op.elementwise and shaped:
            _unshape(new, shaped, scalar_of)
    return list(planned.values())


def _unshape(node: Node, shaped: dict[Node, Node], scalar_of: ScalarOf) -> None:
    """Give a node a counterpart of the original shape if all its operands have one."""
    inners: list[Node] = []
    for arg in node.args:
        if type(arg) is Node:
            inner = shaped.get(arg) if arg.geometry.shape == node.geometry.shape else None
            if inner is None or (inners and inner.geometry.shape != inners[0].geometry.shape):
                return
            inners.append(inner)
    if not inners:
        return
    form = dense_shape(inners[0].geometry.shape, node.geometry.dtype)
    rest = iter(inners)
    args = tuple([next(rest) if type(arg) is Node else arg for arg in node.args])
    shaped[node] = unshaped = Node(node.op, args, form, node.params, node.name, node.site)
    _same_scalars(unshaped, node, scalar_of)


def _same_scalars(twin: Node, node: Node, scalar_of: ScalarOf) -> None:
    """Let the scalars of a node be those of another one with the same operation."""
    for place in range(len(node.args)):
        if (id(node), place) in scalar_of:
            scalar_of[id(twin), place] = scalar_of[id(node), place]


def _counts_once(node: Node) -> bool:
    """True if no element lies on several ranks, each of which would fold it."""
    place = node.place
    return place is None or (place.layout.copies == 1 and not place.layout.overlaps)
