"""A profile as a timeline in Chrome's trace format, which Perfetto and ``chrome://tracing`` open.

A rank is a process of the timeline; its threads are those threads of the program that call atoll.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..context.profiler import Kind

if TYPE_CHECKING:
    from .profiles import Profile, Rank

CATEGORIES = {kind: kind.name.lower() for kind in Kind}


def trace(profile: Profile) -> str:
    """The text of the file: one event per line."""
    events = [event for rank in profile.ranks for event in _events(rank)]
    about = {"program": profile.program, "seconds": profile.seconds}
    lines = ",\n".join([json.dumps(event, separators=(",", ":")) for event in events])
    return (
        f'{{"displayTimeUnit":"ms","otherData":{json.dumps(about)},"traceEvents":[\n{lines}\n]}}\n'
    )


def _events(rank: Rank) -> Iterator[dict[str, Any]]:
    record = rank.record
    process = record.rank
    yield _about(process, "process_name", name=f"rank {process} on {record.host}")
    yield _about(process, "process_sort_index", sort_index=process)
    for thread in sorted({*record.events["thread"].tolist()}):
        name = "program" if thread == 0 else f"thread {thread}"
        yield _about(process, "thread_name", thread, name=name)
    for start, length, nbytes, kind, line, name, thread, peer, count in record.events.tolist():
        category = CATEGORIES[Kind(kind)]
        source = record.sources[line] if line < len(record.sources) else record.sources[0]
        args: dict[str, Any] = {"line": source.place}
        if source.text:
            args["code"] = source.text
        if nbytes:
            args["bytes"] = nbytes
        if peer >= 0:
            args["to"] = peer
        if kind == Kind.KERNELS:
            args["kernels"] = count
        label = record.names[name] if name < len(record.names) else ""
        yield {
            "ph": "X",
            "pid": process,
            "tid": thread,
            "ts": (start + rank.shift) / 1000,
            "dur": length / 1000,
            "cat": category,
            "name": label or category,
            "args": args,
        }


def _about(process: int, what: str, thread: int = 0, **facts: Any) -> dict[str, Any]:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": facts}
