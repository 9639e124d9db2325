"""Rebalances results whose layouts are uneven.

A slice keeps its owners, so what is computed from ``a[:1000]`` lies on the few ranks that have these rows, and
whatever is made of it does, too: the others would have nothing to do until the end. Where it lies costs nothing
as long as it is computed together with what it is for; so nothing is moved at first. But once such a
result is in memory and is computed with again, it is kept for longer: then it is brought to even blocks, once.

That is for whole arrays of our own. It is not done beside operands that lie as the slice does; nor in a
program that has laid an array out unevenly itself; nor once the program has the memory of one.
"""

from __future__ import annotations

from typing import Any

from ..collective import Section, redistributed
from ..config import config
from ..context import log
from ..graph.node import Node, node_of, source
from ..layout import Layout
from ..ops.elementwise import Through
from ..ops.placement import Place, crosses
from .cells import cells_of


def evened(node: Node) -> tuple[Any, ...]:
    """The operands of a node that is being recorded: laid out evenly, if all of them are uneven results in memory.
    Collective."""
    if not node.op.elementwise:
        return node.args
    results: dict[int, Node] = {}
    for arg in node.args:
        if type(arg) is Node and arg.place is not None:
            result = arg
            if arg.op.is_view and arg.value is None and not crosses(arg.params[0]):
                result = arg.args[0]
            if result.value is None or not result.place.lopsided:
                return node.args
            if result.geometry.size < max(config.small, 1) or not result.geometry.dense:
                return node.args
            results[id(result)] = result
    (world,) = {result.place.world for result in results.values()}
    log = world.communicator.log
    if log.as_laid_out or not log.computes:
        return node.args
    if any(result.value.pinned for result in results.values() if result.value is not None):
        log.as_laid_out = True
        return node.args
    moved = {number: _moved(result) for number, result in results.items()}
    args = []
    for arg in node.args:
        if type(arg) is Node and id(arg) in moved:
            arg = moved[id(arg)]
        elif type(arg) is Node and arg.place is not None:
            passage = arg.params[0].through or Through(arg.params[0])
            arg = node_of(passage.read, (moved[id(arg.args[0])],), None)
        args.append(arg)
    return tuple(args)


def _moved(result: Node) -> Node:
    """The same value in even blocks; all arrays that have it have that one from now on."""
    home = result.place
    layout = Layout.default(result.geometry.shape, home.world.size)
    assert result.value is not None
    section = Section(result.value.array, home.layout, home.world.communicator)
    form = result.geometry.shape
    log.ranks.info("rebalanced an array of shape %s, which lay on the ranks unevenly", form)
    block = redistributed(section, layout).block
    place = Place.of(layout, home.world)
    moved = source(block, result.geometry, place=place, born=result.born)
    for cell in cells_of(result):
        cell.node = moved
    return moved
