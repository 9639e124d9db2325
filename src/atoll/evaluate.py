"""From wanted values to a program, and from the program to the values.

A trace is walked once, iteratively, into a *key*: for each pending node its operation, the
number of its geometry, and where its operands come from (leaves are numbered by first
appearance, numbers are left out), and for whatever is still referred to from outside, that it
is. Equal keys have equal programs, so a loop that repeats its expressions plans them once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

from .config import config
from .graph.node import Node, Value
from .kernels.launch import make_launch, supported
from .plan.build import Planner
from .plan.statements import Trace, native_node
from .run.program import Program

_PROGRAMS_KEPT = 1024


class _Programs(threading.local):
    """The programs of one thread: a program has memory of its own, which two must not share."""

    def __init__(self) -> None:
        self.kept: OrderedDict[Any, Program] = OrderedDict()


_programs = _Programs()


def _linearise(roots: Sequence[Node]) -> tuple[list[Any], list[Node], list[Any], list[Node], dict[int, int]]:
    """The key so far, the leaves, the scalars, the pending nodes in order, and how often each is used."""
    key: list[Any] = []
    leaves: list[Node] = []
    scalars: list[Any] = []
    order: list[Node] = []
    number: dict[int, int] = {}
    uses: dict[int, int] = {}
    stack: list[Node] = list(reversed(roots))
    push, pop, append = stack.append, stack.pop, key.append
    while stack:
        node = stack[-1]
        identity = id(node)
        if identity in number:
            pop()
            continue
        if node.value is not None:
            number[identity] = len(number)
            leaves.append(node)
            append(node.geometry.number if node.place is None else (node.geometry.number, node.place.number))
            pop()
            continue
        args = node.args
        ready = True
        for arg in args:
            if type(arg) is Node and id(arg) not in number:
                push(arg)
                ready = False
        if not ready:
            continue
        pop()
        append(node.code or node.identify())
        for arg in args:
            if type(arg) is Node:
                identity_of_arg = id(arg)
                append(-1 - number[identity_of_arg])
                uses[identity_of_arg] = uses.get(identity_of_arg, 0) + 1
            else:
                scalars.append(arg)
        number[identity] = len(number)
        order.append(node)
    return key, leaves, scalars, order, uses


def _alive(nodes: list[Node], uses: dict[int, int]) -> list[bool]:
    """For each node, whether anything but the trace itself refers to it."""
    # the list, the loop's variable and getrefcount's own argument make three
    return [getrefcount(node) - 3 > uses.get(id(node), 0) for node in nodes]


def evaluate(roots: Sequence[Node]) -> None:
    """Give each root its value, and each assigned array that was met on the way."""
    pending = [node for node in roots if node.value is None]
    if not pending:
        return
    key, leaves, scalars, order, uses = _linearise(pending)
    alive_leaves = _alive(leaves, uses)
    alive_nodes = _alive(order, uses)
    settings = config.settings()
    key.append(tuple(alive_leaves))
    key.append(tuple(alive_nodes))
    key.append(tuple([leaf.value.pinned for leaf in leaves]))  # type: ignore[union-attr]
    key.append((len(pending), settings.fusion, settings.small))
    frozen = tuple(key)
    kept = _programs.kept
    program = kept.get(frozen)
    if program is None:
        program = _make_program(order, pending, leaves, alive_leaves, alive_nodes)
        if len(kept) >= _PROGRAMS_KEPT:
            kept.popitem(last=False)
        kept[frozen] = program
    values: list[Value | None] = [leaf.value for leaf in leaves]
    del leaves
    for place, value in zip(program.kept, program.run(values, scalars), strict=True):
        order[place].settle(value)


def _make_program(
    order: list[Node], roots: list[Node], leaves: list[Node], alive_leaves: list[bool], alive_nodes: list[bool]
) -> Program:
    scalar_of: dict[tuple[int, int], int] = {}
    for node in order:
        for place, arg in enumerate(node.args):
            if type(arg) is not Node:
                scalar_of[id(node), place] = len(scalar_of)
    alive = {id(n) for n, a in zip(leaves, alive_leaves, strict=True) if a}
    alive |= {id(n) for n, a in zip(order, alive_nodes, strict=True) if a}
    alive |= {id(n) for n in roots}
    small = config.small
    trace = Trace(list(order), roots, frozenset(alive), _kernels_can, min(256, small), scalar_of)
    return Planner(trace, leaves, make_launch).plan(config.fusion)


def _kernels_can(node: Node) -> bool:
    return native_node(node) and supported(node)
