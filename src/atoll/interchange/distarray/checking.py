"""The checker: every rule of the protocol, on one process and across all, and lenient mode's repairs.

Each process reads its own section and checks the rules of form and number on it. Then each sends one digest (one
allgather, whatever its state), and every process applies the rules across processes to the same digests. So all return
the same list, and an invalid dictionary on one process cannot make the others wait.

Some producers set ``size`` to the local count, or number their blocks from 0 on every process. In lenient mode the
gathered sections determine the true numbers, because the extents add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from ...comm.communicator import Communicator
from ...comm.in_step import agree
from ...comm.world import world_of
from ..reports import Violation, in_order, noted, warn
from .description import RULES, Dimension, Section
from .reading import read
from .rules import (
    coordinates,
    cross_violations,
    distinct,
    is_replicated,
    local_violations,
    needs_ranks,
    representatives,
)

_NUMBERS = ("D2", "D3", "D4", "B1", "B2", "B3", "C1", "C2", "C3")
"""The rules about the numbers that a repair can change."""


def check_distarray(source: object, *, strict: bool = True, comm: Any = None) -> list[Violation]:
    """List the rules of the Distributed Array Protocol that ``source`` breaks. Collective.

    ``source`` is a producer (anything with ``__distarray__``) or the dictionary itself; each
    process gives its own. All get the same list: empty if the array is right. With
    ``strict=False`` deviations with a clear meaning are repaired and warned about instead
    (:class:`~atoll.errors.ProtocolWarning`). ``comm`` is the world, or the mpi4py
    communicator, of the processes that hold the array.
    """
    examination = examine(source, world_of(comm).communicator, strict)
    warn("distarray", examination.notes)
    return list(examination.violations)


@dataclass(frozen=True, slots=True)
class Examination:
    """What all processes together know of one distributed array, and this process's block."""

    sections: tuple[Section, ...]
    violations: tuple[Violation, ...]
    notes: tuple[str, ...]
    block: npt.NDArray[Any] | None


def local_section(
    source: object, rank: int, strict: bool
) -> tuple[Section, npt.NDArray[Any] | None]:
    """The digest of this process: read, and checked by the rules that need no other process."""
    section, block = read(source, rank, strict)
    violations = (*section.violations, *local_violations(section))
    dimensions = leading_only(section.dimensions)
    return section._replace(dimensions=dimensions, violations=violations), block


def leading_only(dimensions: tuple[Dimension | None, ...]) -> tuple[Dimension | None, ...]:
    """Keep the lists of indices only where this process speaks for its grid rank."""
    leads = [d is not None and d.grid_rank == 0 for d in dimensions]
    return tuple(
        d if d is None or all(leads[:i] + leads[i + 1 :]) else d._replace(indices=None)
        for i, d in enumerate(dimensions)
    )


def examine(source: object, communicator: Communicator, strict: bool) -> Examination:
    """Read on every process, exchange the digests, and judge them. Collective."""
    mine, block = local_section(source, communicator.rank, strict)
    sections = agree(communicator, mine, "the reading of distributed arrays")
    return judge(sections, block, strict)


def judge(sections: Sequence[Section], block: npt.NDArray[Any] | None, strict: bool) -> Examination:
    """Run the rules across processes on gathered digests. No communication."""
    notes = noted(sections)
    if not strict:
        sections, words = repaired(sections)
        notes += words
    violations = [v for section in sections for v in section.violations]
    violations += cross_violations(sections)
    if not strict:
        violations, words = _tolerated(violations, sections)
        notes += words
    violations = in_order(violations, RULES)
    return Examination(tuple(sections), tuple(violations), tuple(notes), block)


def _tolerated(
    violations: list[Violation], sections: Sequence[Section]
) -> tuple[list[Violation], list[str]]:
    """What lenient mode lets pass because the array has a meaning all the same."""
    notes = []
    rules = {v.rule for v in violations}
    note = reordered(sections) if "X2" in rules else None
    if note is not None and "X8" not in rules:
        notes.append(note)
        violations = [v for v in violations if v.rule != "X2"]
    if "X5" in rules and not rules & {"X6", "X7"}:
        notes += [str(v) for v in violations if v.rule == "X5"]
        violations = [v for v in violations if v.rule != "X5"]
    return violations, notes


# -- repairs of lenient mode -----------------------------------------------------------------


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
    grid = range(some.grid_size)
    whole = len(dimensions) == some.grid_size and all(g in dimensions for g in grid)
    if not alike or some.grid_size < 2 or not whole:
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
        size = distinct(np.concatenate(lists))
    return None if all(d.size == size for d in ordered) else int(size)


def reordered(sections: Sequence[Section]) -> str | None:
    """A note where the grid's coordinates are all there, but not in row-major order of the ranks."""
    if is_replicated(sections) or any(needs_ranks(s) != len(sections) for s in sections):
        return None
    if len({coordinates(section) for section in sections}) != len(sections):
        return None
    return "X2: the grid's coordinates are not in row-major order of the ranks; taken as given"
