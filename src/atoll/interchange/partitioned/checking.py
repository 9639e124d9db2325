"""The checker: every rule of the protocol, on one rank and across all.

Each rank reads its own description. Then each sends one digest (one allgather, whatever its state), and every rank
judges the same digests. So all return the same list, and an invalid description on one rank cannot make the others
wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from ...comm.communicator import Communicator
from ...comm.in_step import agree
from ...comm.world import world_of
from ..clusters import Extents, Position, Shape, box, extents_of
from ..reports import Violation, in_order, noted, warn
from .reading import LISTED, RULES, Container, Section, read


def check_partitioned(source: object, *, strict: bool = True, comm: Any = None) -> list[Violation]:
    """List the rules of ``__partitioned__`` that ``source`` breaks. Collective.

    ``source`` is a producer or the dictionary itself; each rank gives its own. All get the same
    list: empty if the container is right. With ``strict=False`` what has a clear meaning all the
    same is warned about instead (:class:`~atoll.errors.ProtocolWarning`). ``comm`` is the world, or
    the mpi4py communicator, of the ranks that hold the container.
    """
    examination = examine(source, world_of(comm).communicator, strict)
    warn("partitioned", examination.notes)
    return list(examination.violations)


@dataclass(frozen=True, slots=True)
class Examination:
    """What all ranks together know of one container, and what this one could read of it."""

    sections: tuple[Section, ...]
    violations: tuple[Violation, ...]
    notes: tuple[str, ...]
    extents: Extents
    """The lengths of the partitions along each axis, as they are in memory."""
    container: Container | None


def examine(source: object, communicator: Communicator, strict: bool) -> Examination:
    """Read on every rank, exchange the digests, and judge them. Collective."""
    mine, container = read(source, communicator.rank, strict)
    sections = agree(communicator, mine, "the reading of partitions")
    notes = noted(sections)
    violations = _merged([v for section in sections for v in section.violations], len(sections))
    extents = sections[0].extents
    if all(section.readable for section in sections):
        violations += _disagreements(sections)
        if not any(v.rule in ("A1", "P4", "P5", "P6") for v in violations):
            extents, words, more = _memory(sections, strict)
            notes += words
            violations += more
            violations += _holders(sections)
            violations += _dtypes(sections)
    violations = in_order(violations, RULES)
    return Examination(tuple(sections), tuple(violations), tuple(notes), extents, container)


def _merged(violations: Sequence[Violation], size: int) -> list[Violation]:
    """Merge records that all ranks share into one without a rank."""
    ranks: dict[tuple[Any, ...], list[Violation]] = {}
    for violation in violations:
        key = (violation.rule, violation.where, violation.message)
        ranks.setdefault(key, []).append(violation)
    merged = []
    for same in ranks.values():
        merged += same if len(same) < size else [replace(same[0], rank=None)]
    return merged


def _disagreements(sections: Sequence[Section]) -> list[Violation]:
    first = sections[0]
    violations = []
    for section in sections[1:]:
        words, value = "", ""
        for name in ("shape", "tiling", "extents", "spmd"):
            model, other = getattr(first, name), getattr(section, name)
            if model != other:
                words = {
                    "tiling": f"partition_tiling is {other}, on rank 0 it is {model}",
                    "shape": f"shape is {other}, on rank 0 it is {model}",
                    "extents": f"the partitions have lengths {other}, on rank 0 {model}",
                    "spmd": f"{'has' if other else 'has no'} locals, unlike rank 0",
                }[name]
                value = repr(other)
                break
        if not words and not first.spmd and section.names != first.names:
            words = "the locations are not those of rank 0"
        if words:
            violations.append(Violation("A1", None, section.rank, value, words))
    return violations


def _memory(
    sections: Sequence[Section], strict: bool
) -> tuple[Extents, list[str], list[Violation]]:
    """The partitions' lengths in memory, where these differ from the declared ones."""
    declared, tiling = sections[0].extents, sections[0].tiling
    different: list[tuple[Position, int, Shape]] = []
    real: dict[Position, Shape] = {}
    alike = True
    for section in sections:
        for held in section.held:
            alike &= real.setdefault(held.position, held.shape) == held.shape
            if held.shape != box(declared, held.position):
                different.append((held.position, section.rank, held.shape))
    if not different:
        return declared, [], []
    violations = []
    for position, rank, shape in different:
        words = f"its data has shape {shape}, it is said to be {box(declared, position)}"
        violations.append(Violation("P8", position, rank, repr(shape), words))
    axes = {len(shape) for shape in real.values()}
    if strict or not alike or len(real) != prod(tiling) or axes != {len(tiling)}:
        return declared, [], violations
    extents = extents_of(tiling, real)
    regular = all(shape == box(extents, position) for position, shape in real.items())
    if not regular or tuple(map(sum, extents)) != sections[0].shape:
        return declared, [], violations
    position, rank, shape = different[0]
    note = (
        f"P8: the description is stale: {len(different)} partitions have other shapes in memory, that of "
        f"position {position} on rank {rank} has {shape} and not {box(declared, position)}; the memory was believed"
    )
    return extents, [note], []


def _holders(sections: Sequence[Section]) -> list[Violation]:
    if not sections[0].spmd:
        return []
    known: set[Any] = {held.position for section in sections for held in section.held}
    known |= {v.position for section in sections for v in section.violations}
    missing = [p for p in product(*map(range, sections[0].tiling)) if p not in known]
    words = "no rank has it in its locals"
    return [Violation("A2", position, None, "", words) for position in missing[:LISTED]]


def _dtypes(sections: Sequence[Section]) -> list[Violation]:
    every = [(held, section.rank) for section in sections for held in section.held]
    violations = []
    for held, rank in every:
        first, other = every[0]
        if held.dtype != first.dtype:
            model = f"that of position {first.position} on rank {other} has {first.dtype}"
            words = f"its data has dtype {held.dtype}, {model}"
            violations.append(Violation("P7", held.position, rank, str(held.dtype), words))
    return violations[:LISTED]
