"""Numbers on messages that prove that nobody waits in a circle, found by each rank alone.

If every message has a number, the same at both ends, and on each rank every send has a greater one
than all receives that it waits for, then numbers grow along any chain of waits, so no chain closes.
Whether given numbers do that takes a rank a walk over its own parts and, to compare ends, a digest
of constant size. What remains is to guess numbers that both ends arrive at without a word. (Some
graphs need more: whether the union of what two ranks know has a circle cannot be told by fewer bits
than there are messages. There the ranks gather; see ``verify``.) The guesses:

* the numbers in the tag, as in ``("halo", step)``; both ends have the tag;
* the whole tag, in its natural order, as in ``(step, "rows")``;
* the *level* of the message, if all ranks do alike: one that this rank receives has the level of
  what it sends with the same tag, and a part has one more than the greatest that it waits for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any

import numpy as np

from .messages import Message, received, sent
from .records import DistributedGraphPart, DistributedGraphPartition, topological

_DIGITS = re.compile(r"(\d+)")
Order = tuple[tuple[int, Any], ...]


def atoms(tag: Any) -> Order:
    """What a tag is made of, in order: ``(0, number)`` and ``(1, text)``."""
    found: list[tuple[int, Any]] = []
    stack = [tag]
    while stack:
        value = stack.pop()
        if isinstance(value, (int, float)) and value == value:
            found.append((0, value))
        elif isinstance(value, str):
            found += [
                (0, int(part)) if part.isdigit() and part.isascii() else (1, part)
                for part in _DIGITS.split(value)
                if part
            ]
        elif isinstance(value, (tuple, list)):
            stack.extend(reversed(value))
        elif isinstance(value, (set, frozenset)):
            stack.extend(sorted(value, key=atoms, reverse=True))
        elif isinstance(value, type):
            found.append((1, f"{value.__module__}.{value.__qualname__}"))
        else:
            found.append((1, type(value).__qualname__))
    return tuple(found)


def numbers(tag: Any) -> Order:
    """The numbers in a tag."""
    return tuple([atom for atom in atoms(tag) if atom[0] == 0])


def grows(order: list[DistributedGraphPart], number: Callable[[Any], Order]) -> bool:
    """Whether every send has a greater number than all receives that it waits for."""
    most: dict[Hashable, Order | None] = {}
    for part in order:
        waited = [number(node.comm_tag) for node in part.name_to_recv_node.values()]
        waited += [there for pid in part.needed_pids if (there := most[pid]) is not None]
        here = most[part.pid] = max(waited, default=None)
        if here is not None and any(
            number(send.comm_tag) <= here
            for sends in part.name_to_send_nodes.values()
            for send in sends
        ):
            return False
    return True


def levels(
    partition: DistributedGraphPartition, order: list[DistributedGraphPart], rank: int
) -> dict[Message, int] | None:
    """The level of each message, or ``None`` where there are none."""
    arriving = {part.pid: [m for _, m in received(part, rank)] for part in order}
    leaving = {part.pid: [m for _, m in sent(part, rank)] for part in order}
    sender = {m.tag: pid for pid, found in leaving.items() for m in found}
    after: dict[Hashable, list[tuple[Hashable, int]]] = {}
    missing = dict.fromkeys(partition.parts, 0)
    for part in order:
        origins = [(pid, 0) for pid in part.needed_pids]
        origins += [(sender[m.tag], 1) for m in arriving[part.pid] if m.tag in sender]
        missing[part.pid] = len(origins)
        for pid, step in origins:
            after.setdefault(pid, []).append((part.pid, step))
    level = dict.fromkeys(partition.parts, 0)
    for pid in order:
        if any(m.tag not in sender for m in arriving[pid.pid]):
            level[pid.pid] = 1
    ready = [pid for pid, count in missing.items() if not count]
    for pid in ready:
        for other, step in after.get(pid, ()):
            level[other] = max(level[other], level[pid] + step)
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    if len(ready) < len(order):
        return None
    found = {m: level[pid] for pid, some in leaving.items() for m in some}
    for some in arriving.values():
        found.update({m: level[sender[m.tag]] if m.tag in sender else 0 for m in some})
    return found


def facts(partition: DistributedGraphPartition, rank: int) -> np.ndarray[Any, Any]:
    """For each guess, what vanishes in the sum over all ranks if it proves that there is no circle.

    Two flags, then a flag and a digest of two numbers.
    """
    order = topological(partition.parts)
    assert order is not None
    found = np.zeros(5, np.uint64)
    found[0] = not grows(order, numbers)
    found[1] = not grows(order, atoms)
    known = levels(partition, order, rank)
    if known is None:
        found[2] = 1
        return found
    for message, level in known.items():
        text = repr((message.source, message.dest, level)).encode() + message.tag
        digest = np.frombuffer(blake2b(text, digest_size=16).digest(), np.uint64)
        if message.sends:
            found[3:] += digest
        else:
            found[3:] -= digest
    return found


def prove(total: np.ndarray[Any, Any]) -> bool:
    """Whether the sum of all ranks' facts proves that there is no circle."""
    return not total[0] or not total[1] or not total[2:].any()
