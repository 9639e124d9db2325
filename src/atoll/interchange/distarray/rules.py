"""The rules about numbers, on one process and across all; the checker of all rules; and the repairs of lenient mode.

Each process reads its own section and checks the rules of form and number on it. Every process applies the rules across
processes, which are pure functions, to the digests of all, so every process gets the same records.

Some producers set ``size`` to the local count, or number their blocks from 0 on every process. In lenient mode the
gathered sections determine the true numbers, because the extents add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..protocol import Protocol, Reader, Violation
from ..values import plain
from .description import RULES, Dimension, Indices, Section
from .schema import read

KEYS = {
    "kind": "dist_type",
    "grid_size": "proc_grid_size",
    "grid_rank": "proc_grid_rank",
    "widths": "padding",
    "extent": "the buffer's extent",
    "legacy": "version",
}
"""Names in messages of the attributes that messages name differently."""


def local_violations(section: Section) -> list[Violation]:
    """The rules that the dimensions of one section break by themselves."""
    return [
        Violation(rule, i, section.rank, plain(value), message)
        for i, dimension in enumerate(section.dimensions)
        if dimension is not None
        for rule, value, message in _local(dimension)
    ]


def _local(d: Dimension) -> list[tuple[str, object, str]]:
    findings: list[tuple[str, object, str]] = []

    def must(holds: bool, rule: str, attribute: str, requirement: str) -> None:
        if not holds:
            value = getattr(d, attribute)
            name = KEYS.get(attribute, attribute)
            findings.append((rule, value, f"{name} is {value}; {requirement}"))

    must(d.size >= 0, "D2", "size", "it must be >= 0")
    must(d.grid_size >= 1, "D3", "grid_size", "it must be >= 1")
    inside = d.grid_size < 1 or 0 <= d.grid_rank < d.grid_size
    must(inside, "D4", "grid_rank", f"it must be >= 0 and < proc_grid_size ({d.grid_size})")
    if d.kind == "b":
        ends = "<= stop must hold" if d.legacy else f"<= stop <= size ({d.size}) must hold"
        must(d.start >= 0, "B1", "start", f"0 <= start {ends}")
        must(d.stop >= d.start, "B1", "stop", f"start ({d.start}) {ends}")
        if d.legacy and d.start == d.size:
            empty = f"start == size ({d.size}) means empty, so stop == start"
            must(d.stop <= d.start, "B1", "stop", empty)
        must(d.legacy or d.stop <= d.size, "B1", "stop", f"0 <= start {ends}")
    if d.kind in "bn":
        must(d.widths[0] >= 0, "B3", "widths", "its left width must be >= 0")
        must(d.widths[1] >= 0, "B3", "widths", "its right width must be >= 0")
    if d.kind in "bn" and min(d.widths) >= 0:
        length, halo = d.stop - d.start, d.halo[0] + d.halo[1]
        taken = f"its communication widths take more than stop - start ({length})"
        must(d.legacy or halo <= max(length, 0), "B3", "widths", taken)
        basis = "size" if d.kind == "n" else "stop - start"
        if d.legacy and halo:
            basis += " + communication padding"
        must(d.extent == d.expected_extent, "B2", "extent", f"{basis} is {d.expected_extent}")
    if d.kind == "c":
        must(d.start >= 0, "C1", "start", "it must be >= 0")
        must(d.block_size >= 1, "C1", "block_size", "it must be >= 1")
    if d.kind == "c" and d.start >= 0 and d.block_size >= 1 and d.grid_size >= 1:
        block, inner = divmod(d.start, d.block_size)
        first = d.start >= d.size or (not inner and block < d.grid_size)
        multiple = f"k * block_size ({d.block_size}) with k < proc_grid_size ({d.grid_size})"
        must(first, "C3", "start", f"it must be {multiple}")
        owned = (
            f"with start {d.start}, size {d.size}, block_size {d.block_size} and proc_grid_size "
            f"{d.grid_size} the process owns {d.owned_count}"
        )
        must(d.extent == d.owned_count, "C2", "extent", owned)
    if d.indices is not None:
        count, repeated = len(d.indices), repeats(d.indices)
        if count != d.extent:
            message = f"indices lists {count}, the buffer's extent is {d.extent}"
            findings.append(("U1", count, message))
        if repeated.size:
            message = f"index {repeated[0]} is listed twice; indices must be locally unique"
            findings.append(("U1", int(repeated[0]), message))
    return findings


# -- across processes ----------------------------------------------------------------------


def is_replicated(sections: Sequence[Section]) -> bool:
    """True if several processes each hold the whole of an undistributed array."""
    return all(
        d is not None and d.grid_size == 1 for section in sections for d in section.dimensions
    )


def needs_ranks(section: Section) -> int:
    """The number of processes in the section's grid."""
    return prod(d.grid_size for d in section.dimensions if d is not None)


def coordinates(section: Section) -> tuple[int, ...]:
    """The section's coordinates in the process grid."""
    return tuple(d.grid_rank for d in section.dimensions if d is not None)


def repeats(indices: Indices) -> Indices:
    """The repetitions of indices, in ascending order."""
    ordered: Indices = np.sort(indices)
    again: Indices = ordered[1:][ordered[1:] == ordered[:-1]]
    return again


def distinct(indices: Indices) -> int:
    """The number of distinct indices."""
    return indices.size - repeats(indices).size


def representatives(sections: Sequence[Section], i: int) -> dict[int, Dimension]:
    """For each grid rank along an axis, the dimension of the process that sent its indices, else of the lowest rank."""
    chosen: dict[int, Dimension] = {}
    for section in sections:
        d = section.dimensions[i]
        if d is not None:
            known = chosen.setdefault(d.grid_rank, d)
            if known.indices is None and d.indices is not None:
                chosen[d.grid_rank] = d
    return dict(sorted(chosen.items()))


def cross_violations(sections: Sequence[Section]) -> list[Violation]:
    """The rules across processes that readable sections break, in the same order on every process."""
    findings = _Findings()
    described = [section for section in sections if section.ndim >= 0]
    for section in described[1:]:
        _agreement(section, described[0], findings)
    readable = all(section.readable for section in sections)
    if not readable or len({section.ndim for section in sections}) > 1:
        return findings.violations
    findings.dimension = None
    if not is_replicated(sections):
        _process_grid(sections, findings)
    for i in range(sections[0].ndim):
        findings.dimension = i
        _axis_rules(sections, i, findings)
    return findings.violations


class _Findings:
    """The violations so far, and the dimension that is examined."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self.dimension: int | None = None

    def add(self, rule: str, message: str, rank: int | None, value: object) -> None:
        self.violations.append(Violation(rule, self.dimension, rank, plain(value), message))


def _agreement(section: Section, model: Section, findings: _Findings) -> None:
    """X8: the declarations that must be equal on all processes."""

    def compare(name: str, mine: Any, theirs: Any) -> None:
        if mine != theirs:
            message = f"{KEYS.get(name, name)} is {mine!r}, on rank {model.rank} it is {theirs!r}"
            findings.add("X8", message, section.rank, mine)

    findings.dimension = None
    compare("ndim", section.ndim, model.ndim)
    compare("dtype", section.dtype, model.dtype)
    if section.legacy != model.legacy:
        compare("version", section.version, model.version)
    for i, (d, m) in enumerate(zip(section.dimensions, model.dimensions)):
        if d is None or m is None:
            continue
        findings.dimension = i
        for name in ("kind", "size", "grid_size", "block_size", "periodic"):
            compare(name, getattr(d, name), getattr(m, name))
        if d.legacy and d.kind in "bn" and (d.padding is None) != (m.padding is None):
            message = (
                f"padding is {'absent' if d.padding is None else 'present'} here and not on rank "
                f"{model.rank}; in 0.9 it is on all processes or on none"
            )
            findings.add("B3", message, section.rank, d.padding)


def _process_grid(sections: Sequence[Section], findings: _Findings) -> None:
    """X1 and X2: the grid consists of these processes, in row-major order."""
    count = len(sections)
    seen: dict[tuple[int, ...], int] = {}
    for section in sections:
        rank, needed, place, expected = section.rank, needs_ranks(section), coordinates(section), 0
        for d in section.dimensions:
            assert d is not None
            expected = expected * d.grid_size + d.grid_rank
        grid = " x ".join(str(d.grid_size) for d in section.dimensions if d is not None)
        if needed != count:
            present = f"there {'is' if count == 1 else 'are'} {count}"
            message = f"the grid {grid} needs {needed} ranks, {present}: atoll run -n {needed} ..."
            findings.add("X1", message, rank, needed)
        if place in seen:
            message = f"coordinates {place} are those of rank {seen[place]} already"
            findings.add("X2", message, rank, place)
        elif expected != rank and needed == count:
            belong = f"belong to rank {expected} in row-major order"
            findings.add("X2", f"coordinates {place} in the grid {grid} {belong}", rank, place)
        seen.setdefault(place, rank)


def _axis_rules(sections: Sequence[Section], i: int, findings: _Findings) -> None:
    every = [d for section in sections if (d := section.dimensions[i]) is not None]
    if not all(map(_sound, every)):
        return
    dimensions = representatives(sections, i)
    for d in every:
        model = dimensions[d.grid_rank]
        same = f"on rank {model.rank} with the same proc_grid_rank {d.grid_rank}"
        for key, value, other in _differences(d, model):
            findings.add("X3", f"{key} is {value!r}, {same} it is {other!r}", d.rank, value)
    if len({(d.kind, d.grid_size) for d in dimensions.values()}) > 1:
        return
    some = next(iter(dimensions.values()))
    if some.kind in "bn":
        _blocks(dimensions, findings)
    whole = len(dimensions) == some.grid_size  # sound dimensions have ranks in range
    if not whole or len({d.size for d in dimensions.values()}) > 1:
        return
    if some.kind == "u":
        _unstructured(list(dimensions.values()), findings)
        return
    total = sum(d.owned_count for d in dimensions.values())
    if total != some.size:
        findings.add("X4", f"the owned counts add up to {total}, size is {some.size}", None, total)
    if some.kind == "c":
        starts: dict[int, int] = {}
        for grid_rank, d in dimensions.items():
            if d.owned_count and d.start in starts:
                first = f"as {starts[d.start]} does; an index is owned once"
                message = f"proc_grid_rank {grid_rank} starts at {d.start}, {first}"
                findings.add("X4", message, d.rank, d.start)
            starts.setdefault(d.start, grid_rank)
    elif some.kind == "b":
        ends = dimensions[0], dimensions[some.grid_size - 1]
        start, stop = ends[0].owned[0], ends[1].owned[1]
        if start != 0:
            message = f"the first block starts at {start}; it must start at 0"
            findings.add("X7", message, ends[0].rank, start)
        if stop != some.size:
            message = f"the last block stops at {stop}; it must stop at size ({some.size})"
            findings.add("X7", message, ends[1].rank, stop)


def _sound(d: Dimension) -> bool:
    """True if the numbers on which all further arithmetic rests are valid."""
    return 0 <= d.grid_rank < d.grid_size and d.block_size >= 1 and d.size >= 0


def _differences(d: Dimension, model: Dimension) -> Iterator[tuple[str, object, object]]:
    """X3: the differences between two dictionaries of one grid rank, except for outer boundary padding."""
    for name in ("start", "stop", "one_to_one"):
        mine, theirs = getattr(d, name), getattr(model, name)
        if mine != theirs:
            yield name, mine, theirs
    if d.fingerprint != model.fingerprint:
        yield "indices", "another list", "this one"
    if d.halo != model.halo:
        yield "padding", d.widths, model.widths


def _blocks(dimensions: dict[int, Dimension], findings: _Findings) -> None:
    """X5, X6 and the part of B3 that concerns neighbours: their declarations about each other."""
    for grid_rank, left in dimensions.items():
        wraps = left.legacy and left.periodic and left.last
        right = dimensions.get(0 if wraps else grid_rank + 1)
        if right is None:
            continue
        to_right, to_left = left.halo[1], right.halo[0]
        for side, width, d, owner in (
            ("right", to_right, left, right),
            ("left", to_left, right, left),
        ):
            if width > max(owner.owned_count, 0):
                owns = f"the neighbour on rank {owner.rank} owns {owner.owned_count}"
                message = f"the {side} communication padding is {width}, but {owns}"
                findings.add("B3", message, d.rank, d.widths)
        if wraps:
            continue
        following = f"of the next process, rank {right.rank}, is"
        if to_right != to_left and not left.legacy:
            message = f"the right padding is {to_right}, the left padding {following} {to_left}"
            findings.add("X5", message, left.rank, to_right)
        if left.owned[1] != right.owned[0]:
            message = f"stop is {left.stop}, start {following} {right.start}"
            if not left.legacy and to_right + to_left:
                message += f"; they must overlap by {to_right + to_left}"
            findings.add("X6", message, left.rank, left.stop)


def _unstructured(dimensions: Sequence[Dimension], findings: _Findings) -> None:
    """X4 and X9 for the lists of indices."""
    lists = [d.indices for d in dimensions if d.indices is not None]
    if len(lists) < len(dimensions):
        return
    indices = np.concatenate(lists)
    total, different, size = indices.size, distinct(indices), dimensions[0].size
    exclusive = np.array([d.one_to_one for d in dimensions])
    if exclusive.all():
        if total != size:
            findings.add("X4", f"the owned counts add up to {total}, size is {size}", None, total)
    elif not different <= size <= total:
        between = (
            f"the number of distinct indices ({different}) and the sum of the counts ({total})"
        )
        findings.add("X4", f"size is {size}; it must be between {between}", None, size)
    if different == total or not exclusive.any():
        return
    # Sorting the indices with their processes is slower, so only a violation does it, to name the processes.
    holders = np.repeat(np.arange(len(lists)), [len(listed) for listed in lists])
    order = np.argsort(indices, kind="stable")
    indices, holders = indices[order], holders[order]
    twice = np.flatnonzero(indices[1:] == indices[:-1])
    apart = twice[holders[twice] != holders[twice + 1]]
    clashes = apart[exclusive[holders[apart]] | exclusive[holders[apart + 1]]]
    if clashes.size:
        first = int(clashes[0])
        index, holder, other = int(indices[first]), int(holders[first]), int(holders[first + 1])
        held = f"is held by proc_grid_rank {holder} and {other} ({clashes.size} such indices)"
        message = f"index {index} {held}, and one_to_one is True"
        findings.add("X9", message, dimensions[other].rank, index)


# -- the checker ---------------------------------------------------------------------------


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
        changed, words = _repaired_axis(representatives(sections, i))
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


def _repaired_axis(dimensions: dict[int, Dimension]) -> tuple[dict[int, Dimension], list[str]]:
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
