"""Checker of all rules of the protocol, on one rank and across all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from ..clusters import Extents, Position, Shape, box, extents_of
from ..protocol import Protocol, Violation
from .reading import LISTED, RULES, Section, read


def check_partitioned(source: object, *, strict: bool = True, comm: Any = None) -> list[Violation]:
    """List the rules of ``__partitioned__`` that ``source`` breaks. Collective.

    ``source`` is a producer or the dictionary itself; each rank passes its own. All get the same
    list, which is empty for a valid container. With ``strict=False`` deviations with a clear
    meaning cause a warning instead (:class:`~atoll.errors.ProtocolWarning`). ``comm`` is the world, or
    the mpi4py communicator, of the ranks that hold the container.
    """
    return PROTOCOL.check(source, strict, comm)


def _judged(
    sections: Sequence[Section], strict: bool
) -> tuple[Sequence[Section], list[Violation], list[str]]:
    notes: list[str] = []
    violations = _merged([v for section in sections for v in section.violations], len(sections))
    if all(section.readable for section in sections):
        violations += _disagreements(sections)
        if not any(v.rule in ("A1", "P4", "P5", "P6") for v in violations):
            extents, notes, wrong = _memory(sections, strict)
            violations += [*wrong, *_holders(sections), *_dtypes(sections)]
            sections = [section._replace(extents=extents) for section in sections]
    return sections, violations, notes


PROTOCOL = Protocol(
    name="partitioned",
    title="the __partitioned__ protocol",
    gathering="the reading of partitions",
    rules=RULES,
    unshared="D1",
    digest=Section,
    read=read,
    judge=_judged,
)


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


_DIFFERENCES = {
    "shape": "shape is {0}, on rank 0 it is {1}",
    "tiling": "partition_tiling is {0}, on rank 0 it is {1}",
    "extents": "the partitions have lengths {0}, on rank 0 {1}",
    "spmd": "{2} locals, unlike rank 0",
}
"""Fields that must be equal on all ranks, and the message for a rank that differs."""


def _disagreements(sections: Sequence[Section]) -> list[Violation]:
    first = sections[0]
    violations = []
    for section in sections[1:]:
        message, value = "", ""
        if not first.spmd and section.names != first.names:
            message = "the locations are not those of rank 0"
        for name, words in _DIFFERENCES.items():
            model, other = getattr(first, name), getattr(section, name)
            if model != other:
                message = words.format(other, model, "has" if other else "has no")
                value = repr(other)
                break
        if message:
            violations.append(Violation("A1", None, section.rank, value, message))
    return violations


def _memory(
    sections: Sequence[Section], strict: bool
) -> tuple[Extents, list[str], list[Violation]]:
    """The lengths of the partitions, from memory if it differs from the declaration; with notes and violations."""
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
