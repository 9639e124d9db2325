"""Merges adjacent ghost regions, so that a neighbour sends one message instead of several.

Boxes ask for ghost regions one by one, and a box that is cut again has asked in vain. What no body reads
is dropped; then ghost regions of one node are joined as long as the box around two of them holds no more
elements than both together: a row that was asked for in three pieces, corners and middle, is a
row again. It follows from the boxes alone, so the owners of the elements join them alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .body import Body, Needs, Patch
from .shares import Intervals
from .symbolic import dense_shape


def join_patches(bodies: Sequence[Body], needs: Needs) -> None:
    """Drop ghost regions that no body reads, and join others; the bodies read the joined ones."""
    read = {memory.register for body in bodies for memory in body.memories}
    patches = [patch for patch in needs.patches if patch.register in read]
    fixed = {memory.register for body in bodies for memory in body.memories if memory.outer is None}
    kept: list[Patch] = []
    moved: dict[int, Patch] = {}
    by_node: dict[int, list[Patch]] = {}
    for patch in patches:
        if patch.register in fixed:
            kept.append(patch)
        else:
            by_node.setdefault(id(patch.node), []).append(patch)
    for together in by_node.values():
        for intervals, members in _joined(together):
            first = members[0]
            if len(members) > 1:
                first.box = intervals
                shape = tuple([high - low for low, high in intervals])
                geometry = dense_shape(shape, first.node.geometry.dtype)
                needs.registers.geometry[first.register] = geometry
                moved.update((member.register, first) for member in members)
            kept.append(first)
    if moved:
        _read_from(bodies, moved, needs)
    order = {patch.register: k for k, patch in enumerate(patches)}
    needs.patches[:] = sorted(kept, key=lambda patch: order[patch.register])


def _joined(patches: list[Patch]) -> list[tuple[Intervals, list[Patch]]]:
    """Boxes around ghost regions of one node, each with the ghost regions in it."""
    found: list[tuple[Intervals, list[Patch]]] = []
    for patch in patches:
        box = patch.box
        assert box is not None  # it is read under a map
        members = [patch]
        again = True
        while again:
            again = False
            for k, (other, inside) in enumerate(found):
                around = tuple(
                    [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(box, other, strict=True)]
                )
                if _volume(around) <= _volume(box) + _volume(other):
                    box, members = around, inside + members
                    del found[k]
                    again = True
                    break
        found.append((box, members))
    return found


def _volume(box: Intervals) -> int:
    return prod([high - low for low, high in box])


def _read_from(bodies: Sequence[Body], moved: dict[int, Patch], needs: Needs) -> None:
    """Let loops find in the joined ghost regions what they read."""
    for body in bodies:
        for memory in body.memories:
            patch = moved.get(memory.register)
            if patch is None or memory.outer is None:
                continue
            strides = needs.registers.geometry[patch.register].strides
            assert patch.box is not None
            corner = [low for low, _ in patch.box]
            memory.register = patch.register
            memory.offset, memory.strides = body.strided(strides, memory.outer, corner)
