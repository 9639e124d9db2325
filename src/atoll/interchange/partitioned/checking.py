"""The checker: every rule of the protocol, on one rank and across all.

Each rank reads its own description. Then each sends one digest (one allgather, whatever its state), and every rank
judges the same digests. So all return the same list, and an invalid description on one rank cannot make the others
wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ...comm.communicator import Communicator
from ...comm.in_step import agree
from ..reports import noted, warn
from ..worlds import world_of
from .description import Container, Extents, Position, Section, Shape, Violation
from .reading import LISTED, read


def check_partitioned(source: object, *, strict: bool = True, comm: Any = None) -> list[Violation]:
    """Every rule of ``__partitioned__`` that ``source`` breaks. Collective.

    ``source`` is a producer or the dictionary itself; each rank gives its own. All get the same
    list: empty if the container is right. With ``strict=False`` what has a clear meaning all the
    same is warned about instead (:class:`~atoll.errors.ProtocolWarning`). ``comm`` is the world, or
    the mpi4py communicator, of the ranks that hold the container.
    """
    examination = examine(source, world_of(comm).communicator, strict)
    warn("partitioned", examination.notes, stacklevel=2)
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
    sections = (
        [mine] if communicator.size == 1 else agree(communicator, mine, "the reading of partitions")
    )
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
    violations.sort(key=Violation.order)
    return Examination(tuple(sections), tuple(violations), tuple(notes), extents, container)


def _merged(violations: Sequence[Violation], size: int) -> list[Violation]:
    """Merge records that all ranks share into one without a rank."""
    ranks: dict[tuple[Any, ...], list[Violation]] = {}
    for violation in violations:
        key = (violation.rule, violation.position, violation.message)
        ranks.setdefault(key, []).append(violation)
    found = []
    for same in ranks.values():
        first = same[0]
        alone = len(same) < size or size == 1
        found.append(
            first
            if alone and size > 1
            else Violation(first.rule, first.position, None, first.value, first.message)
        )
        if alone and size > 1:
            found += same[1:]
    return found


def _disagreements(sections: Sequence[Section]) -> list[Violation]:
    first = sections[0]
    found = []
    for section in sections[1:]:
        for name in ("shape", "tiling", "extents", "spmd"):
            one, other = getattr(first, name), getattr(section, name)
            if one != other:
                words = {
                    "tiling": f"partition_tiling is {other}, on rank 0 it is {one}",
                    "shape": f"shape is {other}, on rank 0 it is {one}",
                    "extents": f"the partitions have lengths {other}, on rank 0 {one}",
                    "spmd": f"{'has' if other else 'has no'} locals, unlike rank 0",
                }
                found.append(Violation("A1", None, section.rank, repr(other), words[name]))
                break
        else:
            if not first.spmd and section.names != first.names:
                found.append(
                    Violation("A1", None, section.rank, "", "the locations are not those of rank 0")
                )
    return found


def _memory(
    sections: Sequence[Section], strict: bool
) -> tuple[Extents, list[str], list[Violation]]:
    """The partitions' lengths in memory, where these differ from the declared ones."""
    said = sections[0].extents
    different: list[tuple[Position, int, Shape, Shape]] = []
    real: dict[Position, Shape] = {}
    alike = True
    for section in sections:
        for held in section.held:
            alike &= real.setdefault(held.position, held.shape) == held.shape
            wanted = tuple([axis[k] for axis, k in zip(said, held.position)])
            if held.shape != wanted:
                different.append((held.position, section.rank, held.shape, wanted))
    if not different:
        return said, [], []
    violations = [
        Violation(
            "P8",
            position,
            rank,
            repr(shape),
            f"its data has shape {shape}, it is said to be {wanted}",
        )
        for position, rank, shape, wanted in different
    ]
    tiling = sections[0].tiling
    ndim = len(tiling)
    complete = len(real) == len(list(product(*map(range, tiling))))
    if strict or not (alike and complete) or any(len(shape) != ndim for shape in real.values()):
        return said, [], violations
    extents = tuple(
        tuple(
            [real[tuple([k if a == axis else 0 for a in range(ndim)])][axis] for k in range(count)]
        )
        for axis, count in enumerate(tiling)
    )
    regular = all(
        shape == tuple([axis[k] for axis, k in zip(extents, position)])
        for position, shape in real.items()
    )
    if not regular or tuple(map(sum, extents)) != sections[0].shape:
        return said, [], violations
    position, rank, shape, wanted = different[0]
    note = (
        f"P8: the description is stale: {len(different)} partitions have other shapes in memory, that of "
        f"position {position} on rank {rank} has {shape} and not {wanted}; the memory was believed"
    )
    return extents, [note], []


def _holders(sections: Sequence[Section]) -> list[Violation]:
    if not sections[0].spmd:
        return []
    held = {one.position for section in sections for one in section.held}
    failed = {v.position for section in sections for v in section.violations}
    missing = [
        p for p in product(*map(range, sections[0].tiling)) if p not in held and p not in failed
    ]
    return [
        Violation("A2", position, None, "", "no rank has it in its locals")
        for position in missing[:LISTED]
    ]


def _dtypes(sections: Sequence[Section]) -> list[Violation]:
    every = [
        (one.dtype, section.rank, one.position) for section in sections for one in section.held
    ]
    if not every:
        return []
    dtype, rank, position = every[0]
    return [
        Violation(
            "P7",
            place,
            other,
            str(kind),
            f"its data has dtype {kind}, that of position {position} on rank {rank} has {dtype}",
        )
        for kind, other, place in every
        if kind != dtype
    ][:LISTED]
