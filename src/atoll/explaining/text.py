"""An explanation as text, and as HTML for notebooks."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from .. import backend
from ..graph.geometry import shape_text
from ..graph.words import preformatted, size

if TYPE_CHECKING:
    from .facts import Collective, Explanation, Group, Launch, Memory

_WIDTH = 110
_LONGEST = 500
_STATES = {
    "pending": "pending; this is what its evaluation would do",
    "evaluated": "evaluated; this is what was done",
    "data": "data; it was not computed from anything recorded",
    "small": "a small array: NumPy computes at the call, see config.small",
}
_PLANS = {"known": "; the plan is known", "new": "; the plan is new", "": ""}


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("ch") else "s"
    return f"{number} {what}{'' if number == 1 else plural}"


def plain(explanation: Explanation) -> str:
    """The explanation as lines."""
    lines = [f"{explanation.what}: {_STATES[explanation.state]}"]
    lines += ["  " + line for line in summary(explanation)]
    if explanation.data:
        lines += ["", "data", *("  " + line for line in _table(explanation.data))]
    for group in explanation.groups:
        lines += ["", *_group(group)]
    if explanation.left:
        lines += [
            "",
            "stays pending, though it is still referred to: " + ", ".join(explanation.left),
        ]
    return "\n".join(lines)


def summary(explanation: Explanation) -> list[str]:
    """The totals as lines."""
    if not explanation.groups:
        return []
    launches = explanation.launches
    stored = explanation.stored
    plan = _PLANS[explanation.planned]
    lines = [
        f"{_count(explanation.operations, 'operation')} recorded: {len(stored)} stored, "
        f"{max(explanation.operations - len(stored), 0)} computed where they are read{plan}"
    ]
    numpy = sum(statement.style.startswith("NumPy") for statement in stored)
    work = [_count(len(launches), "launch")]
    missing = sum(not launch.compiled for launch in launches)
    if launches:
        threads = max(launch.threads for launch in launches)
        work += [backend.current().remark] if backend.current().remark else []
        work.append(f"on {'one thread' if threads == 1 else f'up to {threads} threads'}")
    if missing:
        work.append(f"({missing} with kernels that are not loaded yet)")
    if numpy:
        work.append(f"and {numpy} by NumPy")
    lines.append(" ".join(work))
    lines.append(
        f"new buffers: {size(explanation.new_bytes)}, at most {size(explanation.peak_bytes)} at once"
    )
    if explanation.ranks > 1:
        sends = [m for m in explanation.messages if m.sends]
        receives = [m for m in explanation.messages if not m.sends]
        leaving, arriving = (len({m.travels for m in some}) for some in (sends, receives))
        far = [m for m in sends if m.between_nodes]
        between = ""
        if explanation.two_levels:
            between = f", {len({m.travels for m in far})} of them to other nodes ({size(sum([m.nbytes for m in far]))})"
        lines.append(
            f"rank {explanation.rank} of {explanation.ranks} sends {_count(leaving, 'message')} "
            f"({size(sum([m.nbytes for m in sends]))}){between}, "
            f"receives {arriving} ({size(sum([m.nbytes for m in receives]))}), "
            f"and joins in {_count(len(explanation.collectives), 'collective operation')} across ranks"
        )
        if sends or receives:
            lines.append(
                f"{explanation.overlapped:.1%} of the work of these groups runs while messages travel"
            )
    return lines


def _table(memories: Sequence[Memory]) -> list[str]:
    rows = [
        (m.name, f"{shape_text(m.shape)} {m.dtype}", size(m.nbytes), m.how, m.layout)
        for m in memories
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    return [
        "  ".join([cell.ljust(width) for cell, width in zip(row, widths)] + [row[4]]).rstrip()
        for row in rows
    ]


def _group(group: Group) -> list[str]:
    together = any(statement.style == "all ranks together" for statement in group.stored)
    if group.by_numpy or together:
        how = "by all ranks together" if together else "by NumPy"
        lines = [f"group {group.number}: {how}"]
    else:
        lines = [f"group {group.number}: loops over {shape_text(group.domain)}"]
    if group.layout:
        lines[0] += f", this rank's share of {group.layout}"
    for number, why in group.apart:
        lines.append(f"  not joined to group {number}: {why}")
    for statement in group.stored:
        where = f"  ({statement.where})" if statement.where else ""
        lines.append(f"  {statement.name} = {statement.operation}{where}")
        lines.append(f"      stored because {statement.reason}")
        if statement.style.startswith("NumPy") and statement.remark:
            lines.append(f"      by NumPy because {statement.remark}")
        elif statement.remark and not together:
            lines.append(f"      assigned {statement.remark}")
    lines += [f"  memory: {line}" for line in _table(group.memories)] if group.memories else []
    for message in group.messages:
        way = "send" if message.sends else "receive"
        towards = "to" if message.sends else "from"
        lines.append(
            f"  {way} {message.name}{message.region}, {size(message.nbytes)}, {towards} rank {message.peer}"
        )
    early = [launch for launch in group.launches if launch.early]
    late = [launch for launch in group.launches if not launch.early]
    if early:
        lines.append("  while messages are on their way:")
    lines += [line for launch in early for line in _launch(launch)]
    if group.messages and late:
        lines.append("  when they have arrived:")
    lines += [line for launch in late for line in _launch(launch)]
    lines += map(_collective, group.collectives)
    return lines


def _collective(collective: Collective) -> str:
    line = f"  across ranks: {collective.operation} of {collective.name}, "
    if not collective.exact:
        return f"{line}at most {size(collective.nbytes)} of this rank's; values decide what goes to which ranks"
    if collective.partners is None:
        return f"{line}{size(collective.nbytes)} each"
    if not collective.partners:
        return f"{line}no messages"
    peers = ", ".join(map(str, collective.partners))
    return f"{line}{size(collective.nbytes)} to {'rank' if len(collective.partners) == 1 else 'ranks'} {peers}"


def _loops(launch: Launch) -> str:
    """The loops, the innermost last, with their axes."""
    named = [
        f"axis {axes[0]}" if len(axes) == 1 else f"axes {'+'.join(map(str, sorted(axes)))}"
        for axes in launch.axes
    ]
    loops = [f"{n} ({name})" for n, name in zip(launch.extents, named) if name != "axes "]
    return "loop " + " x ".join(loops) if loops else "once"


def _launch(launch: Launch) -> list[str]:
    facts = [_loops(launch)]
    if launch.operations:
        counts = Counter(launch.operations)
        facts.append(", ".join(name if n == 1 else f"{n} {name}" for name, n in counts.items()))
    facts.append(f"{_count(launch.chunks, 'chunk')} on {_count(launch.threads, 'thread')}")
    if launch.nbytes:
        facts.append(f"about {size(launch.nbytes)}")
    lines = [f"  {facts[0]}"]
    for fact in facts[1:]:
        if len(lines[-1]) + len(fact) + 2 > _WIDTH:
            lines[-1] += ";"
            lines.append(f"      {fact}")
        else:
            lines[-1] += f"; {fact}"
    for line in launch.code:
        short = line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."
        lines += textwrap.wrap(
            short,
            _WIDTH,
            initial_indent="      ",
            subsequent_indent="          ",
            break_on_hyphens=False,
        )
    strided = {str(a) for a in launch.accesses if a.inner == "any" and launch.extents[-1] > 1}
    if strided:
        lines.append(f"      strided along the innermost loop: {', '.join(sorted(strided))}")
    return lines


def html(explanation: Explanation) -> str:
    """The explanation for a notebook: the totals, and each group as a foldable section."""
    parts = [f"<b>{escape(explanation.what)}</b>: {escape(_STATES[explanation.state])}"]
    if explanation.groups:
        parts.append(
            "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in summary(explanation)) + "</ul>"
        )
    if explanation.data:
        parts.append(preformatted("\n".join(_table(explanation.data))))
    for group in explanation.groups:
        first, *rest = _group(group)
        stored = ", ".join(
            f"{statement.name} = {statement.operation}" for statement in group.stored
        )
        parts.append(
            f"<details><summary>{escape(first)}: {escape(stored)}</summary>"
            f"{preformatted(chr(10).join(rest))}</details>"
        )
    if explanation.left:
        parts.append(f"<p>stays pending: {escape(', '.join(explanation.left))}</p>")
    return f"<div>{''.join(parts)}</div>"
