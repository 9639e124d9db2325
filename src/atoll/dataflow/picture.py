"""Pictures of a partition: text for terminals, the dot language, and a drawing.

A part is a box (a cluster, for Graphviz) with its operations; a solid edge is a value that one part takes from another,
a dotted one a message. One rank knows its own parts only, so the other end of a message is a rank, unless
``mpi_communicator`` is given: then all ranks gather their parts, collectively, and the messages connect the parts of
different ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..comm.in_step import agree
from ..comm.world import world_of
from ..context.call_sites import site_text
from ..graph.geometry import shape_text
from ..graph.node import in_order
from ..graph.picture import Drawing
from ..graph.words import label
from .messages import Key, received, sent
from .partition import origin_of
from .records import DistributedGraphPartition, topological

_MOST_LINES = 12


@dataclass(frozen=True, slots=True)
class PartPicture:
    """The displayed contents of a part."""

    rank: int
    title: str
    level: int
    inputs: tuple[str, ...]
    operations: tuple[str, ...]
    outputs: tuple[str, ...]
    needs: tuple[tuple[int, tuple[str, ...]], ...]
    """The numbers of the parts that it needs, each with the names of the values that it reads from it."""
    receives: tuple[tuple[Key, str], ...]
    sends: tuple[tuple[Key, str], ...]

    def lines(self) -> list[str]:
        """The lines of text in its box."""
        lines = list(self.operations[:_MOST_LINES])
        if len(self.operations) > _MOST_LINES:
            lines.append(f"and {len(self.operations) - _MOST_LINES} more")
        return lines or ["nothing is computed"]


def pictures(partition: DistributedGraphPartition, rank: int) -> list[PartPicture]:
    """The pictures of the parts of this rank, in topological order if there is one."""
    order = topological(partition.parts) or list(partition.parts.values())
    number = {part.pid: k for k, part in enumerate(order)}
    home = {name: number[part.pid] for part in order for name in part.output_names}
    home.update({name: number[part.pid] for part in order for name in part.name_to_recv_node})
    level: list[int] = []
    drawn = []
    for k, part in enumerate(order):
        needs: dict[int, list[str]] = {number[pid]: [] for pid in part.needed_pids if pid in number}
        for name in sorted(part.partition_input_names):
            if home.get(name, k) != k:
                needs.setdefault(home[name], []).append(name)
        level.append(max((level[n] + 1 for n in needs if n < k), default=0))
        drawn.append(
            PartPicture(
                rank,
                f"part {part.pid}",
                level[k],
                tuple(sorted(part.user_input_names)),
                _operations(partition, sorted(part.output_names)),
                tuple(sorted(part.output_names)),
                tuple((n, tuple(names)) for n, names in sorted(needs.items())),
                tuple((m.key, f"{name}: {m.tag_text}") for name, m in received(part, rank)),
                tuple((m.key, f"{name}: {m.tag_text}") for name, m in sent(part, rank)),
            )
        )
    return drawn


def _operations(partition: DistributedGraphPartition, names: Sequence[str]) -> tuple[str, ...]:
    """The operations that compute these outputs, operands first; outputs have their names."""
    named = {id(partition.name_to_output[name]._node()): name for name in names}
    operations: list[str] = []
    roots = [partition.name_to_output[name]._node() for name in names]
    for node in in_order(roots, lambda node: node.weight < 0 and origin_of(node) is None):
        words = node.name if node.op.is_deferred else label(node)
        title = f"{named[id(node)]} = {words}" if id(node) in named else words
        place = site_text(node.site)
        operations.append(
            f"{title}  {shape_text(node.geometry.shape)} {node.geometry.dtype}"
            + (f"  {place}" if place else "")
        )
    return tuple(operations)


def _gathered(
    partition: DistributedGraphPartition, mpi_communicator: Any
) -> list[list[PartPicture]]:
    world = world_of(mpi_communicator)
    mine = pictures(partition, world.rank)
    if mpi_communicator is None:
        return [mine]
    return agree(world.communicator, mine, "the picture of a dataflow graph")


def get_dot_graph(partition: DistributedGraphPartition, mpi_communicator: Any = None) -> Drawing:
    """The partition for Graphviz. With a communicator, the partitions of all ranks; then the call is collective."""
    ranks = _gathered(partition, mpi_communicator)
    lines = [
        "digraph partition {",
        "  compound=true;",
        '  node [shape=box, fontname="sans-serif"];',
    ]
    senders: dict[Key, str] = {}
    receivers: dict[Key, tuple[str, str]] = {}
    edges: list[str] = []
    for parts in ranks:
        for k, part in enumerate(parts):
            here = f"p{part.rank}_{k}"
            words = "".join(_quoted(line) + "\\l" for line in part.lines())
            title = f"rank {part.rank}, {part.title}"
            lines.append(f'  subgraph "cluster_{here}" {{ label="{_quoted(title)}";')
            lines.append(f'    {here} [label="{words}"];')
            for name in part.outputs:
                lines.append(
                    f'    "{here}_{_quoted(name)}" [label="{_quoted(name)}", shape=ellipse];'
                )
                edges.append(f'  {here} -> "{here}_{_quoted(name)}";')
            lines.append("  }")
            for name in part.inputs:
                lines.append(
                    f'  "i{part.rank}_{_quoted(name)}" [label="{_quoted(name)}", style=filled, fillcolor="#e8e8e8"];'
                )
                edges.append(f'  "i{part.rank}_{_quoted(name)}" -> {here};')
            for other, names in part.needs:
                words = _quoted(", ".join(names))
                edges.append(f'  p{part.rank}_{other} -> {here} [label="{words}"];')
            senders.update((key, here) for key, _ in part.sends)
            receivers.update((key, (here, text)) for key, text in part.receives)
            for key, text in part.sends:
                receivers.setdefault(key, (f"r{key[1]}", text))
    for key, (target, text) in sorted(receivers.items(), key=lambda item: item[0]):
        origin = senders.get(key, f"r{key[0]}")
        for end, rank in ((origin, key[0]), (target, key[1])):
            if end.startswith("r"):
                lines.append(f'  {end} [label="rank {rank}", shape=diamond];')
        edges.append(f'  {origin} -> {target} [style=dotted, label="{_quoted(text)}"];')
    return Drawing("\n".join([*lines, *edges, "}"]))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _text(ranks: list[list[PartPicture]]) -> str:
    lines = []
    for parts in ranks:
        for part in parts:
            after = ", ".join(parts[n].title for n, _ in part.needs)
            lines.append(f"rank {part.rank}, {part.title}" + (f", after {after}" if after else ""))
            for key, text in part.receives:
                lines.append(f"  receives {text} from rank {key[0]}")
            reads = [*part.inputs, *[name for _, names in part.needs for name in names]]
            if reads:
                lines.append(f"  reads {', '.join(reads)}")
            lines += [f"    {line}" for line in part.lines()]
            for key, text in part.sends:
                lines.append(f"  sends {text} to rank {key[1]}")
    return "\n".join(lines)


_WIDTH, _ROW, _GAP, _CHARACTER = 16.0, 16.0, 40.0, 6.4


def _svg(ranks: list[list[PartPicture]]) -> str:
    """Draw ranks side by side and parts top to bottom in topological order; dotted edges are messages."""
    shapes: list[str] = []
    box: dict[tuple[int, int], tuple[float, float, float, float]] = {}
    left = _GAP
    edges: list[str] = []
    high = 0.0
    for parts in ranks:
        rows: dict[int, list[int]] = {}
        for k, part in enumerate(parts):
            rows.setdefault(part.level, []).append(k)
        top, right = _GAP, left
        for level in sorted(rows):
            x, bottom = left, top
            for k in rows[level]:
                part = parts[k]
                title = f"rank {part.rank}, {part.title}"
                lines = part.lines()
                width = 2 * _WIDTH + _CHARACTER * max(map(len, [title, *lines]))
                height = _ROW * (len(lines) + 2)
                box[part.rank, k] = (x, top, width, height)
                shapes.append(_box(title, lines, x, top, width, height))
                x += width + _GAP
                bottom = max(bottom, top + height)
            right = max(right, x)
            top = bottom + 1.5 * _GAP
        high = max(high, top)
        left = right + 2 * _GAP
    senders = {
        key: (p.rank, k) for parts in ranks for k, p in enumerate(parts) for key, _ in p.sends
    }
    for parts in ranks:
        for k, part in enumerate(parts):
            for other, names in part.needs:
                edges.append(_edge(box[part.rank, other], box[part.rank, k], ", ".join(names), ""))
            for key, text in part.receives:
                origin = senders.get(key)
                if origin is not None:
                    edges.append(
                        _edge(box[origin], box[part.rank, k], text, ' stroke-dasharray="2 4"')
                    )
                else:
                    edges.append(
                        _stub(box[part.rank, k], f"from rank {key[0]}, {text}", before=True)
                    )
            if len(ranks) == 1:
                edges += [
                    _stub(box[part.rank, k], f"to rank {key[1]}, {text}", before=False)
                    for key, text in part.sends
                    if key[1] != part.rank
                ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {left:.1f} {high:.1f}" font-family="sans-serif" font-size="11">'
        + "".join(shapes + edges)
        + "</svg>"
    )


def _box(title: str, lines: list[str], x: float, y: float, width: float, height: float) -> str:
    text = "".join(
        f'<text x="{x + _WIDTH:.1f}" y="{y + _ROW * (k + 2.2):.1f}">{escape(line)}</text>'
        for k, line in enumerate(lines)
    )
    return (
        f'<g><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6" fill="#f4f7fb" '
        f'stroke="#666"/><text x="{x + _WIDTH:.1f}" y="{y + _ROW:.1f}" font-weight="bold">{escape(title)}</text>'
        f"{text}</g>"
    )


Box = tuple[float, float, float, float]


def _edge(source: Box, target: Box, words: str, look: str) -> str:
    x, y = source[0] + source[2] / 2, source[1] + source[3]
    u, v = target[0] + target[2] / 2, target[1]
    return (
        f'<g><title>{escape(words)}</title><path d="M{x:.1f},{y:.1f} C{x:.1f},{y + _GAP:.1f} {u:.1f},{v - _GAP:.1f} '
        f'{u:.1f},{v:.1f}" fill="none" stroke="#446"{look}/></g>'
    )


def _stub(box: Box, words: str, *, before: bool) -> str:
    """An edge for a message whose other end is not in the picture."""
    x = box[0] + (_WIDTH if before else box[2] - _WIDTH)
    y = box[1] if before else box[1] + box[3]
    far = y - _ROW if before else y + _ROW
    return (
        f'<g><title>{escape(words)}</title><path d="M{x:.1f},{far:.1f} L{x:.1f},{y:.1f}" stroke="#446" '
        f'stroke-dasharray="2 4"/><text x="{x + 4:.1f}" y="{(far + y) / 2 + 4:.1f}" font-size="9">{escape(words)}'
        "</text></g>"
    )


def show(
    partition: DistributedGraphPartition, mpi_communicator: Any = None, *, form: str = "text"
) -> Drawing:
    """The partition as ``"text"``, ``"dot"`` or ``"svg"``; with a communicator, the partitions of all ranks. Collective then."""
    if form == "dot":
        return get_dot_graph(partition, mpi_communicator)
    if form not in ("text", "svg"):
        raise ValueError(f"show: form must be 'text', 'dot' or 'svg', not {form!r}")
    ranks = _gathered(partition, mpi_communicator)
    return Drawing(_text(ranks) if form == "text" else _svg(ranks))


def show_dot_graph(partition: DistributedGraphPartition, mpi_communicator: Any = None) -> Drawing:
    """Print and return the partition for Graphviz: parts are clusters, messages dotted edges."""
    drawn = get_dot_graph(partition, mpi_communicator)
    print(drawn)
    return drawn
