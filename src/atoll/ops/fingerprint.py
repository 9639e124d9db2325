"""Fingerprints: numbers that are equal on all ranks where the ranks do the same.

They are made of content alone: operations, shapes, dtypes, layouts, and how these hang together.
No process-wide number, address or hash of a string goes in, nor anything that only this rank may
know: which objects are alive, where a block lies in memory, what a replicated value was made of.
A value that every rank computes by itself may have been looked at on one of them only, so
it counts as data, whether it is there or not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from ..graph.geometry import Geometry
from ..graph.node import Node
from ..layout import Layout

_ADDRESS = re.compile(r"0x[0-9a-f]+")


def of_text(text: str) -> int:
    """The fingerprint of words."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=1024)
def of_layout(layout: Layout) -> int:
    """The fingerprint of a layout: of its shape, its axes and who sits where."""
    return of_text(repr(layout._identity()))


def of_move(shape: Sequence[int], layout: Layout) -> int:
    """The fingerprint of bringing an array of a shape to a layout."""
    return hash((*shape, of_layout(layout)))


def of_trace(order: Sequence[Node], roots: Sequence[Node]) -> int:
    """The fingerprint of what is computed together: pending nodes, operands first."""
    alone: dict[int, bool] = {}
    for node in order:
        alone[id(node)] = node.place is None and all(
            alone.get(id(arg), arg.place is None) for arg in node.args if type(arg) is Node
        )
    leads: set[int] = set()  # what a distributed value is computed from
    for node in reversed(order):
        folded = any(type(arg) is Node and arg.place is not None for arg in node.args)
        if node.place is not None or folded or id(node) in leads:
            leads.update(id(arg) for arg in node.args if type(arg) is Node)
            leads.add(id(node))
    wanted = {id(root) for root in roots if root.place is not None}
    number: dict[int, int] = {}
    words: list[str] = []

    def leaf(arg: Node) -> int:
        if id(arg) not in number:
            number[id(arg)] = len(number)
            words.append(f"leaf {_form(arg.geometry)} {_place(arg)}")
        return number[id(arg)]

    for node in order:
        if alone[id(node)] or id(node) not in leads:
            continue
        operands = [
            number[id(arg)] if id(arg) in number else leaf(arg)
            for arg in node.args
            if type(arg) is Node
        ]
        params = [_form(p) if type(p) is Geometry else repr(p) for p in node.params]
        form = f"{node.geometry.shape} {_dtype(node.geometry.dtype)}"
        want = "wanted" if id(node) in wanted else ""
        words.append(f"{node.kind} {node.name} {operands} {params} {form} {_place(node)} {want}")
        number[id(node)] = len(number)
    return of_text(_ADDRESS.sub("", "\n".join(words)))


_dtype = lru_cache(256)(str)
"""A dtype in words, which NumPy finds anew at each asking."""


def _form(geometry: Geometry) -> str:
    form = f"{geometry.shape} {_dtype(geometry.dtype)}"
    if geometry.is_base:
        return form
    return f"{form} of {geometry.base.shape} {geometry.axes or geometry}"


def _place(node: Node) -> Any:
    return None if node.place is None else of_layout(node.place.layout)
