"""Lenient mode's repairs that need all sections.

Some producers set ``size`` to the local count, or number their blocks from 0 on every process. The gathered sections
determine the true numbers, because the extents add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from .description import Dimension, Section
from .rules import coordinates, is_replicated, local_violations, needs_ranks, representatives

_NUMBERS = ("D2", "D3", "D4", "B1", "B2", "B3", "C1", "C2", "C3")


def repaired(sections: Sequence[Section]) -> tuple[list[Section], list[str]]:
    """The sections with what could be repaired, and a note for each repair."""
    notes: list[str] = []
    sections = list(sections)
    if not all(s.readable and s.ndim == sections[0].ndim for s in sections):
        return sections, notes
    for i in range(sections[0].ndim):
        axis = [(section.rank, section.dimensions[i]) for section in sections]
        changed, words = _axis({g: d for g, (_, d) in representatives(axis).items()})
        if not words:
            continue
        notes += [f"dimension {i}: {text}" for text in words]
        for position, section in enumerate(sections):
            d = section.dimensions[i]
            assert d is not None
            model = changed[d.grid_rank]
            d = d._replace(size=model.size, start=model.start, stop=model.stop)
            dimensions = (*section.dimensions[:i], d, *section.dimensions[i + 1 :])
            kept = tuple(
                v for v in section.violations if v.dimension != i or v.rule not in _NUMBERS
            )
            section = section._replace(dimensions=dimensions, violations=kept)
            again = [
                v for v in local_violations(section) if v.dimension == i and v.rule in _NUMBERS
            ]
            sections[position] = section._replace(violations=(*kept, *again))
    return sections, notes


def _axis(dimensions: dict[int, Dimension]) -> tuple[dict[int, Dimension], list[str]]:
    words: list[str] = []
    some = next(iter(dimensions.values()))
    alike = all(
        (d.kind, d.grid_size) == (some.kind, some.grid_size) and d.block_size >= 1
        for d in dimensions.values()
    )
    if not alike or some.grid_size < 2 or len(dimensions) != some.grid_size:
        return dimensions, words
    grid = range(some.grid_size)
    if any(g not in dimensions for g in grid):
        return dimensions, words
    ordered = [dimensions[g] for g in grid]
    unpadded = all(d.widths == (0, 0) for d in ordered)
    holding = [d for d in ordered if d.extent]
    if some.kind == "b" and unpadded and len(holding) > 1 and all(d.start == 0 for d in holding):
        stops = list(accumulate(d.extent for d in ordered))
        ordered = [d._replace(start=stop - d.extent, stop=stop) for d, stop in zip(ordered, stops)]
        words.append("B1: every block starts at 0; starts and stops taken as local")
    size = _true_size(ordered)
    if size is not None:
        ordered = [d._replace(size=size) for d in ordered]
        words.append(f"X4: size is the local count on every process; taken as {size}")
    return dict(zip(grid, ordered)), words


def _true_size(ordered: Sequence[Dimension]) -> int | None:
    """The global size, where every process gave its own count instead and that cannot be it."""
    if any(d.size != d.extent for d in ordered):
        return None
    kind = ordered[0].kind
    if kind == "b":
        size = max(d.owned[1] for d in ordered)
    elif kind == "c" or all(d.one_to_one for d in ordered):
        size = sum(d.extent for d in ordered)
    else:
        lists = [d.indices for d in ordered if d.indices is not None]
        if len(lists) < len(ordered):
            return None
        held = np.sort(np.concatenate(lists))
        size = held.size - int(np.count_nonzero(held[1:] == held[:-1]))
    return None if all(d.size == size for d in ordered) else int(size)


def reordered(sections: Sequence[Section]) -> str | None:
    """A note where the grid's coordinates are all there, but not in row-major order of the ranks."""
    if is_replicated(sections) or any(needs_ranks(s) != len(sections) for s in sections):
        return None
    if len({coordinates(section) for section in sections}) != len(sections):
        return None
    return "X2: the grid's coordinates are not in row-major order of the ranks; taken as given"
