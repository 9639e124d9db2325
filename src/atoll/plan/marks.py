"""The mark of a trace: equal on two ranks if, and only if, they record the same program.

Keys of programs serve one process: they hold numbers in the order in which it met things. A mark is made
of names, shapes, dtypes, layouts and views, so ranks can compare it. What a rank keeps
alive is no part of it: garbage may be collected at different times.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from ..graph.geometry import Geometry
from ..graph.node import Node


def mark_of(order: Sequence[Node], leaves: Sequence[Node], roots: Sequence[Node]) -> int:
    """A number below 2**62."""
    numbers = {id(leaf): k for k, leaf in enumerate(leaves)}
    words: list[Any] = [_words(leaf) for leaf in leaves]
    for node in order:
        operands = [numbers[id(a)] if type(a) is Node else "." for a in node.args]
        numbers[id(node)] = len(numbers)
        words.append((node.kind, node.name, operands, _params(node), _words(node)))
    words.append([numbers[id(root)] for root in roots])
    text = repr(words).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") >> 2


def _words(node: Node) -> tuple[Any, ...]:
    geometry = node.geometry
    place = node.place
    home = (
        None
        if place is None
        else (place.layout.grid, [axis.kind for axis in place.layout.axes], place.world.size)
    )
    return geometry.shape, geometry.dtype.str, home


def _params(node: Node) -> list[Any]:
    found: list[Any] = []
    for value in node.params:
        if isinstance(value, Geometry):
            found.append((value.shape, value.strides, value.offset))
        elif isinstance(value, (int, str, bool, tuple)):
            found.append(value)
    return found
