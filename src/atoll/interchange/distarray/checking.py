"""Checker of all rules of the protocol, on one process and across all, and the repairs of lenient mode.

Each process reads its own section and checks the rules of form and number on it. Every process applies the rules across
processes to the digests of all.

Some producers set ``size`` to the local count, or number their blocks from 0 on every process. In lenient mode the
gathered sections determine the true numbers, because the extents add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from ..protocol import Protocol, Reader, Violation
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
"""Rules about numbers that a repair can change."""


def check_distarray(source: object, *, strict: bool = True, comm: Any = None) -> list[Violation]:
    """List the rules of the Distributed Array Protocol that ``source`` breaks. Collective.

    ``source`` is a producer (anything with ``__distarray__``) or the dictionary itself; each
    process passes its own. All get the same list, which is empty for a valid array. With
    ``strict=False`` deviations with a clear meaning are repaired and cause a warning instead
    (:class:`~atoll.errors.ProtocolWarning`). ``comm`` is the world, or the mpi4py
    communicator, of the processes that hold the array.
    """
    return PROTOCOL.check(source, strict, comm)


def _read(source: object, reader: Reader) -> tuple[Section, npt.NDArray[Any]]:
    """Read the section of this process and check it by the rules that need no other process."""
    section, block = read(source, reader)
    reader.violations += local_violations(section)
    return section._replace(dimensions=leading_only(section.dimensions)), block


def leading_only(dimensions: tuple[Dimension | None, ...]) -> tuple[Dimension | None, ...]:
    """Keep the lists of indices only on dimensions where this process represents its grid rank."""
    leads = [d is not None and d.grid_rank == 0 for d in dimensions]
    return tuple(
        d if d is None or all(leads[:i] + leads[i + 1 :]) else d._replace(indices=None)
        for i, d in enumerate(dimensions)
    )


def _judged(
    sections: Sequence[Section], strict: bool
) -> tuple[Sequence[Section], list[Violation], list[str]]:
    notes: list[str] = []
    if not strict:
        sections, notes = repaired(sections)
    violations = [v for section in sections for v in section.violations]
    violations += cross_violations(sections)
    if not strict:
        violations, words = _tolerated(violations, sections)
        notes += words
    return sections, violations, notes


PROTOCOL = Protocol(
    name="distarray",
    title="the Distributed Array Protocol",
    gathering="the reading of distributed arrays",
    rules=RULES,
    unshared="T3",
    digest=Section,
    read=_read,
    judge=_judged,
)


def _tolerated(
    violations: list[Violation], sections: Sequence[Section]
) -> tuple[list[Violation], list[str]]:
    """Turn the violations that lenient mode tolerates, because the array still has a meaning, into notes."""
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
    """Repair the sections where possible, with a note for each repair."""
    notes: list[str] = []
    sections = list(sections)
    if not all(s.readable and s.ndim == sections[0].ndim for s in sections):
        return sections, notes
    for i in range(sections[0].ndim):
        changed, words = _axis(representatives(sections, i))
        if not words:
            continue
        notes += [f"dimension {i}: {text}" for text in words]
        for position, section in enumerate(sections):
            d = section.dimensions[i]
            assert d is not None
            model = changed[d.grid_rank]
            d = d._replace(size=model.size, start=model.start, stop=model.stop)
            dimensions = (*section.dimensions[:i], d, *section.dimensions[i + 1 :])
            section = section._replace(dimensions=dimensions)
            violations = (
                *(v for v in section.violations if not _is_repairable(v, i)),
                *(v for v in local_violations(section) if _is_repairable(v, i)),
            )
            sections[position] = section._replace(violations=violations)
    return sections, notes


def _is_repairable(violation: Violation, dimension: int) -> bool:
    return violation.dimension == dimension and violation.rule in _NUMBERS


def _axis(dimensions: dict[int, Dimension]) -> tuple[dict[int, Dimension], list[str]]:
    words: list[str] = []
    ordered = list(dimensions.values())
    some = ordered[0]
    alike = all(
        (d.kind, d.grid_size) == (some.kind, some.grid_size) and d.block_size >= 1 for d in ordered
    )
    whole = len(ordered) == some.grid_size > 1 and list(dimensions) == list(range(len(ordered)))
    if not alike or not whole:
        return dimensions, words
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
    return dict(enumerate(ordered)), words


def _true_size(ordered: Sequence[Dimension]) -> int | None:
    """The global size, if every process declares its own count and that cannot be the size; otherwise ``None``."""
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
    """A note if the coordinates of the ranks are a permutation of the grid; ``None`` if they are not."""
    if is_replicated(sections) or any(needs_ranks(s) != len(sections) for s in sections):
        return None
    if len({coordinates(section) for section in sections}) != len(sections):
        return None
    return "X2: the grid's coordinates are not in row-major order of the ranks; taken as given"
