"""The checker: every rule of the protocol, on one process and across all.

Each process reads its own section and checks the rules of form and number on it. Then each sends one digest (one
allgather, whatever its state), and every process applies the rules across processes to the same digests. So all return
the same list, and an invalid dictionary on one process cannot make the others wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ...comm.communicator import Communicator
from ...comm.in_step import agree
from ..reports import noted, warn
from ..worlds import world_of
from .description import Dimension, Section, Violation
from .reading import read
from .repairs import reordered, repaired
from .rules import cross_violations, local_violations


def check_distarray(source: object, *, strict: bool = True, comm: Any = None) -> list[Violation]:
    """Every rule of the Distributed Array Protocol that ``source`` breaks. Collective.

    ``source`` is a producer (anything with ``__distarray__``) or the dictionary itself; each
    process gives its own. All get the same list: empty if the array is right. With
    ``strict=False`` deviations with a clear meaning are repaired and warned about instead
    (:class:`~atoll.errors.ProtocolWarning`). ``comm`` is the world, or the mpi4py
    communicator, of the processes that hold the array.
    """
    examination = examine(source, world_of(comm).communicator, strict)
    warn("distarray", examination.notes, stacklevel=2)
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
    kept = []
    for i, dimension in enumerate(dimensions):
        others = (d for j, d in enumerate(dimensions) if j != i)
        if (
            dimension is not None
            and dimension.indices is not None
            and any(d is None or d.grid_rank != 0 for d in others)
        ):
            dimension = dimension._replace(indices=None)
        kept.append(dimension)
    return tuple(kept)


def examine(source: object, communicator: Communicator, strict: bool) -> Examination:
    """Read on every process, exchange the digests, and judge them. Collective."""
    mine, block = local_section(source, communicator.rank, strict)
    sections = (
        [mine]
        if communicator.size == 1
        else agree(communicator, mine, "the reading of distributed arrays")
    )
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
    violations.sort(key=Violation.order)
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
