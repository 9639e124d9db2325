"""Reductions over all elements of a flattened array, computed over its own shape.

``ravel().sum()`` needs no elements in C order. Seen through a reshape of whole arrays, the loops
run over the shape that lies in memory, and what is below them fuses with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import policy
from ..graph.node import Node
from .shapes import dense_shape


def unshaped(
    node: Node, memory: dict[int, Node | None], scalar_of: dict[tuple[int, int], int]
) -> Node | None:
    """A node of another shape with the same elements in the same C order, or ``None``."""
    if id(node) in memory:
        return memory[id(node)]
    found: Node | None = None
    if node.value is None:
        if node.op.is_view:
            view = node.params[0]
            if view.is_whole and view.base.ndim != 1:
                found = node.args[0]
        elif node.op.elementwise:
            args: list[Any] = []
            for arg in node.args:
                if type(arg) is not Node:
                    args.append(arg)
                    continue
                inner = (
                    unshaped(arg, memory, scalar_of)
                    if arg.geometry.shape == node.geometry.shape
                    else None
                )
                if inner is None or (args and _shape_of(args) not in (None, inner.geometry.shape)):
                    args = []
                    break
                args.append(inner)
            shape = _shape_of(args)
            if shape is not None:
                found = Node(
                    node.op,
                    tuple(args),
                    dense_shape(shape, node.geometry.dtype),
                    node.params,
                    node.name,
                    node.site,
                )
                for place in range(len(args)):
                    if (id(node), place) in scalar_of:
                        scalar_of[id(found), place] = scalar_of[id(node), place]
    memory[id(node)] = found
    return found


def _shape_of(args: Sequence[Any]) -> tuple[int, ...] | None:
    for arg in args:
        if type(arg) is Node:
            return arg.geometry.shape
    return None


def unshape_reductions(
    order: list[Node], roots: list[Node], scalar_of: dict[tuple[int, int], int]
) -> list[Node]:
    """Fold over the original shape where a reduction folds all of something that was flattened."""
    memory: dict[int, Node | None] = {}
    changed = False
    for node in order:
        if (
            node.op.folds
            and not node.op.finds_position
            and len(node.params[0]) == node.args[0].geometry.ndim
        ):
            if node.weight > policy.limits.kernel_reads:
                for below in order:  # operands first, so that no call goes deep
                    unshaped(below, memory, scalar_of)
            inner = unshaped(node.args[0], memory, scalar_of)
            if inner is not None and not node.params[1] and _counts_once(inner):
                node.args = (inner,)
                node.params = (tuple(range(inner.geometry.ndim)), False)
                changed = True
    if not changed:
        return order
    from_roots: list[Node] = []
    done: set[int] = set()
    for root in roots:
        _append_pending(root, done, from_roots)
    return from_roots


def _counts_once(node: Node) -> bool:
    """Whether no element lies on several ranks, each of which would fold it."""
    place = node.place
    return place is None or (place.layout.copies == 1 and not place.layout.overlaps)


def _append_pending(root: Node, done: set[int], order: list[Node]) -> None:
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node.value is None and id(node) not in done:
            done.add(id(node))
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args) if type(a) is Node)
