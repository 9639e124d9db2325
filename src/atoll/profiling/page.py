"""A profile as a page with charts: one self-contained file, which needs no network."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ..context.profiler import Kind
from .table import remarks, seconds_text
from .trace import CATEGORIES

if TYPE_CHECKING:
    from .profiles import Line, Profile, Rank

MOST_LINES = 200
"""The number of lines shown, by descending time."""

MOST_SPANS = 40_000
"""The number of spans drawn for all ranks, the longest ones: a browser can move that many smoothly."""

PLACE = "@DATA@"
"""The placeholder of the data in ``page.html``."""


def page(profile: Profile) -> str:
    """The text of the page."""
    text = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps(_data(profile), separators=(",", ":")).replace("<", "\\u003c")
    return text.replace(PLACE, data)


def _data(profile: Profile) -> dict[str, Any]:
    shortest = _shortest(profile)
    names: dict[Any, int] = {}
    sources: dict[Any, int] = {}
    return {
        "program": profile.program,
        "seconds": profile.seconds,
        "kinds": [CATEGORIES[kind] for kind in Kind],
        "notes": remarks(profile)[1:] if len(profile.ranks) > 1 else remarks(profile),
        "lines": [_line(line) for line in profile.lines[:MOST_LINES]],
        "ranks": [_rank(rank, shortest, names, sources) for rank in profile.ranks],
        "messages": _messages(profile),
        "thinned": f"Spans shorter than {seconds_text(shortest * 1e-9)} are left out." if shortest else "",
        "names": [*names],
        "sources": [*sources],
    }  # fmt: skip


def _shortest(profile: Profile) -> int:
    """The length in nanoseconds of the shortest span drawn; 0 if all are drawn."""
    lengths = np.concatenate([rank.record.events["length"] for rank in profile.ranks])
    if len(lengths) <= MOST_SPANS:
        return 0
    return max(1, int(np.partition(lengths, len(lengths) - MOST_SPANS)[-MOST_SPANS]))


def _line(line: Line) -> dict[str, Any]:
    figures = asdict(line)
    return {**figures.pop("source"), **figures, "seconds": line.seconds}


def _rank(
    rank: Rank, shortest: int, names: dict[Any, int], sources: dict[Any, int]
) -> dict[str, Any]:
    """The data drawn for a rank; spans refer to names and sources by number."""
    record = rank.record
    texts = [names.setdefault(name, len(names)) for name in record.names]
    shown = [(source.place, source.text) for source in record.sources]
    places = [sources.setdefault(source, len(sources)) for source in shown]
    events = record.events[record.events["length"] >= shortest]
    return {
        "rank": record.rank,
        "host": record.host,
        "began": rank.began,
        "ended": rank.ended,
        "seconds": list(rank.seconds),
        "events": [
            [
                round((start + rank.shift) * 1e-9, 9),
                round(length * 1e-9, 9),
                kind,
                places[line] if line < len(places) else places[0],
                texts[name] if name < len(texts) else texts[0],
                thread,
                nbytes,
            ]
            for start, length, nbytes, kind, line, name, thread, _, _ in events.tolist()
        ],
    }


def _messages(profile: Profile) -> list[tuple[int, int, int, int]]:
    """Source rank, destination rank, messages, and bytes of each pair of ranks with messages."""
    return [
        (rank.record.rank, peer, int(count), int(nbytes))
        for rank in profile.ranks
        for peer, (count, nbytes) in enumerate(rank.record.peers.tolist())
        if count
    ]
