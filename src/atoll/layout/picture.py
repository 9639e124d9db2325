"""Pictures of a layout: the owner of each element, as characters and as SVG.

Both draw the first two axes that are longer than one element; the others have index 0. A long axis is sampled at as
many positions as fit, unless its blocks fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .axes import Axis, BlockAxis, CyclicAxis

if TYPE_CHECKING:
    from .layout import Layout

SYMBOLS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _drawn(layout: Layout) -> list[int]:
    """The axes to draw, at most two."""
    long = [number for number, axis in enumerate(layout.axes) if axis.size > 1]
    spread = [number for number in long if layout.grid[number] > 1]
    return sorted([*spread, *(n for n in long if n not in spread)][:2])


def _samples(axis: Axis, room: int) -> list[int]:
    if axis.size <= room:
        return list(range(axis.size))
    return [(2 * place + 1) * axis.size // (2 * room) for place in range(room)]


def _about(axis: Axis) -> str:
    """An axis as text."""
    if axis.is_undistributed:
        words = f"{axis.size} undistributed"
    elif isinstance(axis, BlockAxis):
        counts = [axis.count(c) for c in range(min(axis.processes, 9))]
        listing = ", ".join(map(str, counts[:8])) + (", ..." if axis.processes > 8 else "")
        words = f"{axis.size} in blocks over {axis.processes} processes: {listing}"
    elif isinstance(axis, CyclicAxis):
        words = f"{axis.size} cyclic in blocks of {axis.block_size} over {axis.processes} processes"
    else:
        words = f"{axis.size} unstructured over {axis.processes} processes"
        words += "" if axis.is_dense else ", labels"
    return words + (", periodic" if isinstance(axis, BlockAxis) and axis.periodic else "")


def facts(layout: Layout) -> list[str]:
    """The layout in words: a line for each axis, and the numbers of copies and of idle ranks."""
    listed = [f"axis {number}: {_about(axis)}" for number, axis in enumerate(layout.axes)]
    if layout.copies > 1:
        listed.append(f"every block is held by {layout.copies} ranks")
    idle = layout.processes - layout.cells * layout.copies
    if idle:
        listed.append(f"{idle} of {layout.processes} ranks hold nothing")
    return listed


def _owner(layout: Layout, index: Sequence[int]) -> int | None:
    if 0 in layout.shape or not layout.is_dense:
        return None
    rank: int = layout.locate(tuple(index))[0]
    return rank


def text(layout: Layout, width: int = 72, height: int = 24) -> str:
    """The layout as lines of characters, one symbol per rank."""
    lines = [repr(layout), *("  " + fact for fact in facts(layout))]
    axes = _drawn(layout)
    if _owner(layout, [0] * layout.ndim) is None:
        return "\n".join(lines)
    room = max(width - 12, 1)
    rows = _samples(layout.axes[axes[0]], height) if len(axes) == 2 else [0]
    columns = _samples(layout.axes[axes[-1]], room) if axes else [0]
    used: dict[int, str] = {}
    for row in rows:
        index = [0] * layout.ndim
        drawn = []
        for column in columns:
            for axis, place in zip(axes, (row, column) if len(axes) == 2 else (column,)):
                index[axis] = place
            rank = _owner(layout, index)
            assert rank is not None
            used.setdefault(rank, SYMBOLS[rank % len(SYMBOLS)])
            drawn.append(used[rank])
        label = str(row) if len(axes) == 2 else ""
        lines.append(f"{label:>10}  {''.join(drawn)}")
    if max(used) >= len(SYMBOLS):
        lines.append(f"  symbols repeat after rank {len(SYMBOLS) - 1}")
    elif max(used) > 9:
        named = ", ".join(f"{used[rank]}={rank}" for rank in sorted(used) if rank > 9)
        lines.append(f"  ranks: {named}")
    for number, padded in enumerate(layout.axes):
        lines += _strips(number, padded, room)
    return "\n".join(lines)


def _strips(number: int, axis: Axis, room: int) -> list[str]:
    """One line for each block of a padded axis: B boundary, C communication, - owned."""
    if not isinstance(axis, BlockAxis) or not (axis.halos or any(axis.ends)):
        return []
    lines = [f"  padding of axis {number}: B boundary, C communication, - owned otherwise"]
    outside = axis.padding(0)[0]
    whole = outside + axis.size + axis.padding(axis.processes - 1)[1] <= room
    for coordinate in range(min(axis.processes, 16)):
        (left, right), (first, last) = axis.padding(coordinate), axis.boundary(coordinate)
        count = axis.count(coordinate)
        if whole:
            middle = "B" * first + "-" * (count - first - last) + "B" * last
            indent = " " * (outside + axis.bounds[coordinate] - left)
            lines.append(f"{coordinate:>10}  {indent}{'C' * left}{middle}{'C' * right}")
        else:
            start = axis.bounds[coordinate]
            lines.append(
                f"{coordinate:>10}  C {left}, B {first}, owns {start}:{start + count}, "
                f"B {last}, C {right}"
            )
    if axis.processes > 16:
        lines.append(f"{'...':>10}  {axis.processes - 16} more")
    return lines


_MOST = 64
Band = tuple[float, float, int]


def _bands(axis: Axis) -> list[Band]:
    """The intervals of each coordinate's elements on a line of unit length: start, stop, coordinate."""
    if isinstance(axis, BlockAxis) and axis.processes <= _MOST:
        cuts = [bound / axis.size for bound in axis.bounds]
        return [(a, b, c) for c, (a, b) in enumerate(pairwise(cuts)) if b > a]
    places = np.asarray(_samples(axis, _MOST), dtype=np.int64)
    owners = axis.locate_array(places)[0].tolist()
    edges = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
    return [
        (start / len(owners), stop / len(owners), owners[start]) for start, stop in pairwise(edges)
    ]


def _colour(rank: int) -> str:
    """Neighbouring ranks get hues far apart: steps of the golden angle."""
    return f"hsl({rank * 137.508 % 360:.0f},55%,{70 + rank % 3 * 6}%)"


def _runs(ranks: Sequence[int]) -> str:
    """Ranks as text: the first and the last of several in a row."""
    first, last = ranks[0], ranks[-1]
    if len(ranks) > 2 and list(ranks) == list(range(first, last + 1)):
        return f"{first}-{last}"
    return ", ".join(map(str, ranks[:4])) + (", ..." if len(ranks) > 4 else "")


def svg(layout: Layout, own: int | None = None, side: float = 320.0) -> str:
    """The layout as an SVG drawing: a colour per rank, padding as hatched bands, extents beside the axes.

    A frame marks the blocks of the rank ``own``. The longer axis has ``side`` pixels. A single process has no colour, and text
    outside the blocks has the colour of the page's text.
    """
    axes = _drawn(layout)
    empty = _owner(layout, [0] * layout.ndim) is None
    whole: list[Band] = [(0.0, 1.0, 0)]
    down = _bands(layout.axes[axes[0]]) if len(axes) == 2 and not empty else whole
    along = _bands(layout.axes[axes[-1]]) if axes and not empty else whole
    wide, high = side, side / 8
    if len(axes) == 2:
        ratio = layout.shape[axes[0]] / layout.shape[axes[1]]
        high, wide = side * min(max(ratio, 0.25), 1), side * min(max(1 / ratio, 0.25), 1)
    shapes: list[str] = []
    frames: list[str] = []
    cell = [0] * layout.ndim
    for top, bottom, row in down:
        for left, right, column in along:
            for axis, coordinate in zip(axes, (row, column) if len(axes) == 2 else (column,)):
                cell[axis] = coordinate
            ranks = layout.ranks_at(cell)
            rank, name = ranks[0], _runs(ranks)
            x, y, w, h = left * wide, top * high, (right - left) * wide, (bottom - top) * high
            fill = "none" if empty or layout.processes == 1 else _colour(rank)
            title = "rank" if len(ranks) == 1 else "ranks"
            shapes.append(
                f'<rect x="{x:.2f}" y="{y:.2f}" width="{w:.2f}" height="{h:.2f}" '
                f'fill="{fill}" stroke="#666" stroke-width="0.5"><title>{title} {name}</title></rect>'
            )
            if own in ranks and len(ranks) == 1 and w > 6 and h > 6 and not empty:
                frames.append(
                    f'<rect class="own" x="{x + 1.5:.2f}" y="{y + 1.5:.2f}" width="{w - 3:.2f}" '
                    f'height="{h - 3:.2f}" fill="none" stroke="#333" stroke-width="2"/>'
                )
            if fill != "none" and w > 6 + 8 * len(name) and h > 12:
                frames.append(_words(name, x + w / 2, y + h / 2 + 4, "#222"))
    if not empty:
        for number in axes:
            shapes += _hatched(layout.axes[number], number == axes[-1], wide, high)
    right, below = 2.0, 2.0
    if axes:
        frames.append(_words(layout.shape[axes[-1]], wide / 2, high + 14, "currentColor"))
        below = 20.0
    if len(axes) == 2:
        x, y = wide + 14, high / 2
        turned = f' transform="rotate(-90 {x:.2f} {y:.2f})"'
        frames.append(_words(layout.shape[axes[0]], x, y, "currentColor", turned))
        right = 20.0
    width, height = wide + right, high + below
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="-1 -1 {width:.2f} {height:.2f}">'
        '<defs><pattern id="atoll-padding" width="4" height="4" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="1.5" height="4" fill="#000" '
        'fill-opacity="0.45"/></pattern></defs>' + "".join(shapes + frames) + "</svg>"
    )


def _words(number: object, x: float, y: float, colour: str, more: str = "") -> str:
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="11" fill="{colour}" text-anchor="middle" '
        f'font-family="sans-serif"{more}>{number}</text>'
    )


def _hatched(axis: Axis, along: bool, wide: float, high: float) -> list[str]:
    """Bands over the elements that are boundary padding, or that a neighbour keeps copies of."""
    if not isinstance(axis, BlockAxis) or axis.processes > _MOST:
        return []
    bands = []
    for coordinate in range(axis.processes):
        start, stop = axis.bounds[coordinate], axis.bounds[coordinate + 1]
        first, last = axis.boundary(coordinate)
        bands += [("boundary", start, start + first), ("boundary", stop - last, stop)]
        before, after = axis.neighbours(coordinate)
        if before is not None:
            width = axis.padding(before)[1]
            bands.append(("communication", start, start + width))
        if after is not None:
            width = axis.padding(after)[0]
            bands.append(("communication", stop - width, stop))
    shapes = []
    for kind, low, above in bands:
        if above <= low:
            continue
        a, b = low / axis.size, above / axis.size
        x, y, w, h = (a * wide, 0.0, (b - a) * wide, high)
        if not along:
            x, y, w, h = 0.0, a * high, wide, (b - a) * high
        shapes.append(
            f'<rect class="{kind}" x="{x:.2f}" y="{y:.2f}" width="{w:.2f}" height="{h:.2f}" '
            f'fill="url(#atoll-padding)"><title>{kind} padding</title></rect>'
        )
    return shapes


def html(layout: Layout) -> str:
    """The drawing with the text of the layout beside it."""
    from html import escape  # a large table that only notebooks need

    listed = "".join(f"<li>{escape(fact)}</li>" for fact in facts(layout))
    return (
        f'<div style="display:flex;gap:1em;align-items:center">{svg(layout)}'
        f"<div><code>{escape(repr(layout))}</code><ul>{listed}</ul></div></div>"
    )
