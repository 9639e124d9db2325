"""Pictures of an expression: indented text, the dot language, and an SVG drawing.

All three use one listing of the graph: its pending nodes in an order where operands come first. Data has a letter
(``a``, ``b``, ...), and a value that is used more than once a number (``%1``), so that each appears once. The drawing
puts every node one layer above the highest of its operands, and orders a layer by the positions of the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from ..context.call_sites import site_text
from ..errors import a_type
from .geometry import shape_text
from .node import Node, in_order
from .words import label, preformatted, scalar_text

_DEEPEST = 24
"""Indentation of continued lines."""


class Drawing(str):
    """Text that a terminal prints, and a notebook displays as a picture if it is one."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str | None:
        return str(self) if self.startswith("<svg") else preformatted(self)


def show(value: Any, *more: Any, form: str = "text") -> Drawing:
    """Draw the expression that arrays stand for, without evaluating it.

    ``form`` is ``"text"`` (indented, each operand below what reads it), ``"dot"`` (for
    Graphviz) or ``"svg"``. A part that has been computed is data, and shown as such.
    """
    forms = {"text": _text, "dot": _dot, "svg": _svg}
    if form not in forms:
        raise ValueError(
            f"graph.show: form must be one of {', '.join(map(repr, forms))}, not {form!r}"
        )
    return Drawing(forms[form](Listing([_node_of(item) for item in (value, *more)])))


def _node_of(value: Any) -> Node:
    if isinstance(value, Node):
        return value
    recorded = getattr(type(value), "_node", None)
    if recorded is None:
        raise TypeError(f"graph.show: needs an atoll array, not {a_type(value)}")
    node: Node = recorded(value)
    return node


@dataclass(slots=True)
class Entry:
    """A node of a listing: its operands by number, and how often it is read."""

    node: Node
    operands: tuple[int, ...]
    uses: int = 0
    name: str = ""

    def heading(self) -> str:
        """Description of a node's operation, with the numbers among its operands in their places."""
        node = self.node
        words = label(node)
        given = [a for a in node.args if type(a) is not Node]
        if node.value is None and given:
            shown = ["·" if type(a) is Node else scalar_text(a) for a in node.args]
            words += f"({', '.join(shown)})"
        return words

    def kind(self) -> str:
        """Shape, dtype, and distribution."""
        node = self.node
        text = f"{shape_text(node.geometry.shape)} {node.geometry.dtype}"
        place = node.place
        return text if place is None else f"{text} on {place.world.size} ranks"


class Listing:
    """The nodes behind some roots, operands first."""

    def __init__(self, roots: Sequence[Node]) -> None:
        nodes = in_order(roots, lambda node: True)
        number = {id(node): place for place, node in enumerate(nodes)}
        self.entries = [
            Entry(node, tuple([number[id(arg)] for arg in node.args if type(arg) is Node]))
            for node in nodes
        ]
        self.roots = [number[id(root)] for root in roots]
        for entry in self.entries:
            for operand in entry.operands:
                self.entries[operand].uses += 1
        shared = 0
        data = 0
        for entry in self.entries:
            if entry.node.value is not None:
                entry.name = letters(data)
                data += 1
            elif entry.uses > 1:
                shared += 1
                entry.name = f"%{shared}"

    def layers(self) -> list[int]:
        """For each entry, the largest number of operations below it."""
        layers: list[int] = []
        for entry in self.entries:
            layers.append(max([layers[k] + 1 for k in entry.operands], default=0))
        return layers


def letters(number: int) -> str:
    """``a`` to ``z``, then ``aa`` and on."""
    text = ""
    number += 1
    while number:
        number, place = divmod(number - 1, 26)
        text = chr(ord("a") + place) + text
    return text


def _text(listing: Listing) -> str:
    lines: list[tuple[str, str, str]] = []
    drawn: set[int] = set()
    waiting = list(listing.roots)
    while waiting:
        stack = [(waiting.pop(0), "", "")]
        while stack:
            number, before, branch = stack.pop()
            entry = listing.entries[number]
            name = entry.name
            if number in drawn:
                lines.append((f"{before}{branch}{name}", "", ""))
                continue
            if len(before) >= 3 * _DEEPEST and entry.operands:
                name = entry.name = name or f"%{number}x"
                lines.append((f"{before}{branch}{name} (below)", "", ""))
                if number not in waiting:
                    waiting.append(number)
                continue
            drawn.add(number)
            title = f"{name} = {entry.heading()}" if name else entry.heading()
            lines.append((f"{before}{branch}{title}", entry.kind(), site_text(entry.node.site)))
            inner = before + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
            last = len(entry.operands) - 1
            for place in range(last, -1, -1):
                stack.append((entry.operands[place], inner, "└─ " if place == last else "├─ "))
    first = max(len(line) for line, _, _ in lines)
    second = max(len(kind) for _, kind, _ in lines)
    return "\n".join(
        f"{line:<{first}}  {kind:<{second}}  {site}".rstrip() for line, kind, site in lines
    )


def _dot(listing: Listing) -> str:
    lines = ["digraph expression {", "  rankdir=BT;", '  node [shape=box, fontname="sans-serif"];']
    for number, entry in enumerate(listing.entries):
        name = f"{entry.name} = " if entry.name else ""
        words = f"{name}{entry.heading()}\n{entry.kind()}".replace("\\", "\\\\").replace('"', '\\"')
        words = words.replace("\n", "\\n")
        look = ', style=filled, fillcolor="#e8e8e8"' if entry.node.value is not None else ""
        lines.append(f'  n{number} [label="{words}"{look}];')
    for number, entry in enumerate(listing.entries):
        lines += [f"  n{operand} -> n{number};" for operand in entry.operands]
    return "\n".join([*lines, "}"])


_CHARACTER, _HEIGHT, _GAP, _STEP, _PASSING = 6.6, 38.0, 14.0, 70.0, 4.0
_MOST_PLACES = 5000


def _svg(listing: Listing) -> str:
    """Boxes in layers, data at the bottom; each layer in the order of its operands' places.

    A line that passes a layer holds a place in it, so that it goes around the boxes, unless
    there are too many of them.
    """
    entries = listing.entries
    layers = listing.layers()
    titles = [f"{e.name} = {e.heading()}" if e.name else e.heading() for e in entries]
    widths = [
        _CHARACTER * max(len(title), len(entry.kind())) + 16
        for title, entry in zip(titles, entries, strict=True)
    ]
    below: list[list[int]] = [[] for _ in entries]
    lines: list[list[int]] = []
    passed = sum(layers[n] - layers[k] for n, entry in enumerate(entries) for k in entry.operands)
    around = passed <= _MOST_PLACES
    for number, entry in enumerate(entries):
        for operand in entry.operands:
            line = [operand]
            for layer in range(layers[operand] + 1, layers[number] if around else 0):
                layers.append(layer)
                widths.append(_PASSING)
                below.append([line[-1]])
                line.append(len(layers) - 1)
            below[number].append(line[-1])
            lines.append([*line, number])
    rows: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    above: list[list[int]] = [[] for _ in layers]
    for number, layer in enumerate(layers):
        rows[layer].append(number)
        for operand in below[number]:
            above[operand].append(number)
    centre = _centres(rows, below, above, widths)
    shift = _GAP - min(x - w / 2 for x, w in zip(centre, widths, strict=True))
    centre = [x + shift for x in centre]
    wide = max(x + w / 2 for x, w in zip(centre, widths, strict=True)) + _GAP
    high = _STEP * len(rows) + _GAP
    top = [high - _STEP * (layer + 1) for layer in layers]
    shapes = [_line(line, centre, top) for line in lines]
    for number, entry in enumerate(entries):
        x, y, w = centre[number] - widths[number] / 2, top[number], widths[number]
        node = entry.node
        fill = "#e8e8e8" if node.value is not None else node.op.colour
        site = site_text(node.site)
        text = f'<text x="{centre[number]:.1f}" text-anchor="middle"'
        shapes.append(
            f'<g><title>{escape(site or titles[number])}</title><rect x="{x:.1f}" y="{y:.1f}" '
            f'width="{w:.1f}" height="{_HEIGHT:.0f}" rx="5" fill="{fill}" stroke="#666"/>'
            f'{text} y="{y + 16:.1f}" font-size="12">{escape(titles[number])}</text>'
            f'{text} y="{y + 31:.1f}" font-size="10" fill="#555">{escape(entry.kind())}</text></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {wide:.1f} {high:.1f}" font-family="sans-serif">'
        + "".join(shapes)
        + "</svg>"
    )


def _line(line: list[int], centre: list[float], top: list[float]) -> str:
    """From an operand up to the node that reads it, through the positions reserved on the way."""
    path = f"M{centre[line[0]]:.1f},{top[line[0]]:.1f}"
    for low, high in pairwise(line):
        x, y, u, v = centre[low], top[low], centre[high], top[high] + _HEIGHT
        middle = (y + v) / 2
        path += f" C{x:.1f},{middle:.1f} {u:.1f},{middle:.1f} {u:.1f},{v:.1f}"
        if high != line[-1]:
            path += f" L{u:.1f},{top[high]:.1f}"
    return f'<path d="{path}" fill="none" stroke="#888"/>'


def _centres(
    rows: list[list[int]], below: list[list[int]], above: list[list[int]], widths: list[float]
) -> list[float]:
    """Position of each box: near the middle of its neighbours, without touching another."""
    centre = [0.0] * len(widths)
    for row in rows:
        _spread(row, centre, widths)
    for sweep in range(6):
        upwards = sweep % 2 == 0
        for row in rows if upwards else rows[::-1]:
            for number in row:
                near = below[number] if upwards else above[number]
                if near:
                    centre[number] = sum(centre[k] for k in near) / len(near)
            row.sort(key=lambda number: centre[number])
            _spread(row, centre, widths)
    return centre


def _spread(row: list[int], centre: list[float], widths: list[float]) -> None:
    """Push the boxes of a row apart, to the right, and the row back to where its middle was."""
    if not row:
        return
    middle = sum(centre[k] for k in row) / len(row)
    edge = -float("inf")
    for number in row:
        centre[number] = max(centre[number], edge + _GAP + widths[number] / 2)
        edge = centre[number] + widths[number] / 2
    back = sum(centre[k] for k in row) / len(row) - middle
    for number in row:
        centre[number] -= back
