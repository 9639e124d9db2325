"""Recipes: the operations that a call of a function consists of, recorded again without the function.

A mean is a sum and a division; a padded array is parts of one in other places. Which operations a function records follows from the
geometries of its arrays and from its other arguments. So the second such call leaves a recipe, by which the native recorder
(``_recipes.c``) records the next ones. There is none for a function that reads a value, or makes data of its own.
"""

from __future__ import annotations

from typing import Any

from ..context.caches import Memo
from ..graph.node import Node
from ..graph.op import Op
from .views import Handle

Step = tuple[tuple[Any, ...], tuple[int, ...], tuple[Any, ...], bool]
"""A form of a node; its operands, numbers of nodes from 0 on, or of the numbers that follow from -1 downwards; whether it has
the call site of the call."""

recipes: Memo[Any, tuple[Step, ...] | None] = Memo()
"""By function, geometries and arguments; ``None`` for a call that was met once, or has no recipe."""


def learn(key: Any, inputs: tuple[Any, ...], born: int, result: Any) -> None:
    """Note what a call has recorded: ``inputs`` are the nodes of its arrays, ``born`` the first number of a node since it began."""
    if type(result) is not Handle.array_type or result._np is not None:
        return
    root = result._cell.node
    if result._geometry is not root.geometry or len(set(inputs)) < len(inputs):
        return
    places = {node: place for place, node in enumerate(inputs)}
    steps: list[Step] = []
    stack = [root]
    while stack:
        node = stack[-1]
        if node in places:
            stack.pop()
            continue
        if not _repeats(node, born):
            return
        waiting = [arg for arg in node.args if type(arg) is Node and arg not in places]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        numbers = [arg for arg in node.args if type(arg) is not Node]
        operands = []
        left = iter(range(-1, -1 - len(numbers), -1))
        for arg in node.args:
            operands.append(places[arg] if type(arg) is Node else next(left))
        form = (
            node.op,
            node.geometry,
            node.params,
            node.name,
            node.identify(),
            node.mark or node.marked(),
        )
        steps.append((form, tuple(operands), tuple(numbers), node.site is not None))
        places[node] = len(places)
    if steps:
        recipes[key] = tuple(steps)


def _repeats(node: Node, born: int) -> bool:
    """Whether a node was recorded by the call, and follows from its operands and its form alone."""
    op: Op = node.op
    known = (
        op.elementwise or op.is_view or op.is_update or op.folds or op.is_number or op.from_index
    )
    return (
        known
        and node.value is None
        and node.place is None
        and node.born >= born
        and node.weight >= 0
    )
