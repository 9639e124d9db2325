"""An array as notebooks show it: shape, dtype, bytes, and layout, and its elements where they are in this process's memory.

In one process, a pending array of little work is computed. On ranks a pending array stays pending, and of a distributed array
no element leaves its rank, so any rank may show it alone.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from html import escape
from typing import Any

from .. import policy
from ..comm.world import World, known_world
from ..graph.node import Node, in_order
from ..graph.words import preformatted, size
from ..layout import Layout
from ..layout.picture import facts, svg
from .views import Handle, is_deferred

_LONGEST = 200
"""Number of characters of a dtype or a layout that are shown."""


_SIDE = 220.0
"""The pixels of the longer side of a picture."""


class Shown:
    """The facts about an array that a notebook shows."""

    __slots__ = ("elements", "handle", "layout", "name", "rows", "world")

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        kind = type(handle)
        self.name = "atoll.ndarray" if kind is Handle.array_type else kind.__name__
        small = handle._np
        node = None if small is not None else handle._cell.node
        self.world: World | None = known_world()
        alone = self.world is None or self.world.size == 1
        if (
            node is not None
            and alone
            and not is_deferred(handle)
            and _pending(node)[1] <= policy.limits.whole
        ):
            handle._cell.settle()
            node = handle._cell.node
        self.elements = node is None or (node.value is not None and node.place is None)
        """True if this process has all elements in memory."""
        self.layout: Layout | None = None
        if node is not None and node.place is not None:
            self.world, self.layout = handle.world, handle.layout
        elif node is not None and self.world is not None and not is_deferred(handle):
            self.layout = handle.layout
        self.rows = {
            "shape": str(handle.shape),
            "dtype": _shortened(str(handle.dtype)),
            "bytes": self._bytes(),
            "value": "" if node is None else _state(handle, node),
        }
        if self.world is not None and self.world.size > 1:
            self.rows["layout"] = "replicated on all ranks"
            if self.layout is not None and not self.layout.is_replicated:
                self.rows["layout"] = _shortened(repr(self.layout))

    def _bytes(self) -> str:
        text = size(self.handle.nbytes)
        if self.layout is None or self.world is None or self.layout.is_replicated:
            return text
        rank = self.world.rank
        share = size(self.layout.local_size(rank) * self.handle.itemsize)
        return f"{text}, of which {share} on this rank ({rank} of {self.world.size})"


def _state(handle: Handle, node: Node) -> str:
    if is_deferred(handle):
        return "comes later, from another part of a dataflow graph"
    if node.value is not None:
        return "computed" if node.place is None else "computed; print(a) shows elements"
    count = _pending(node)[0] + (not handle._geometry.is_base)
    operations = "1 operation is" if count == 1 else f"{count} operations are"
    return f"pending: {operations} recorded"


def _pending(root: Node) -> tuple[int, int]:
    """Number of pending operations of a value, and of the elements that they process."""
    nodes = in_order([root], lambda node: node.value is None)
    through = [[node, *[arg for arg in node.args if type(arg) is Node]] for node in nodes]
    return len(nodes), sum([max([each.geometry.size for each in row]) for row in through])


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def html(handle: Any) -> str:
    """HTML of an array in a notebook."""
    shown = Shown(handle)
    parts = []
    if shown.elements:
        parts.append(preformatted(repr(handle)))
        if handle._np is not None:
            small = f"{shown.rows['shape']} {shown.rows['dtype']}, {shown.rows['bytes']}"
            parts.append(f'<div style="opacity:0.65;font-size:85%">{escape(small)}</div>')
            return f"<div>{''.join(parts)}</div>"
    table = "".join(
        f'<tr><th style="text-align:left;padding:1px 1em 1px 0">{name}</th>'
        f'<td style="text-align:left;padding:1px 0">{escape(value)}</td></tr>'
        for name, value in shown.rows.items()
    )
    layout = shown.layout
    more = picture = ""
    if layout is not None and shown.world is not None and layout.ndim and layout.size:
        spread = shown.world.size > 1
        picture = svg(layout, shown.world.rank if spread else None, _SIDE if spread else _SIDE / 2)
        if spread:
            listed = "".join(f"<li>{escape(_shortened(fact))}</li>" for fact in facts(layout))
            more = f'<ul style="margin:0.3em 0 0 0;padding-left:1.2em">{listed}</ul>'
    parts.append(
        '<div style="display:flex;flex-wrap:wrap;gap:0.5em 2em;align-items:center;margin:0.3em 0">'
        f"<div><b>{escape(shown.name)}</b>"
        f'<table style="border:none;margin:0.3em 0;color:inherit;font-size:inherit"><tbody>{table}</tbody></table>{more}</div>'
        f"<div>{picture}</div></div>"
    )
    return f"<div>{''.join(parts)}</div>"


def text(handle: Any) -> str:
    """The same in one line, for pages without HTML; the elements where they are in memory."""
    shown = Shown(handle)
    if shown.elements or is_deferred(handle):
        return repr(handle)
    rows = [row for name, row in shown.rows.items() if name not in ("shape", "dtype")]
    return f"<{shown.name} {shown.rows['shape']} {shown.rows['dtype']}, {'; '.join(rows)}>"


def bundle(handle: Any, include: Collection[str] | None, exclude: Collection[str] | None) -> Any:
    """Representations for IPython by MIME type: without this, it would call ``repr`` beside HTML, which computes.

    A terminal shows no HTML, and prints the array as Python does.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if shell is not None and "text/html" not in shell.display_formatter.active_types:
        return {"text/plain": repr(handle)}
    kinds = {"text/html": html, "text/plain": text}
    return {
        kind: write(handle)
        for kind, write in kinds.items()
        if (not include or kind in include) and not (exclude and kind in exclude)
    }
