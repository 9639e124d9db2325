"""The rules about numbers: on one process, and across all.

Both are pure functions of :class:`Section` values. Every process applies the rules across processes to the same
gathered sections, so every process gets the same records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod

import numpy as np

from ..reports import Violation
from ..values import plain
from .description import Dimension, Indices, Section

Record = Callable[[str, str, int | None, object], None]
"""Takes a broken rule, the message, the rank and the value."""


def local_violations(section: Section) -> list[Violation]:
    """Every rule that the dimensions of one section break by themselves."""
    return [
        Violation(rule, i, section.rank, plain(value), message)
        for i, dimension in enumerate(section.dimensions)
        if dimension is not None
        for rule, value, message in _local(dimension)
    ]


def _local(d: Dimension) -> Iterator[tuple[str, object, str]]:
    if d.size < 0:
        yield "D2", d.size, f"size is {d.size}; it must be >= 0"
    if d.grid_size < 1:
        yield "D3", d.grid_size, f"proc_grid_size is {d.grid_size}; it must be >= 1"
    elif not 0 <= d.grid_rank < d.grid_size:
        allowed = f"it must be >= 0 and < proc_grid_size ({d.grid_size})"
        yield "D4", d.grid_rank, f"proc_grid_rank is {d.grid_rank}; {allowed}"
    if d.kind in "bn":
        yield from _local_block(d)
    elif d.kind == "c":
        yield from _local_cyclic(d)
    else:
        yield from _local_unstructured(d)


def _local_block(d: Dimension) -> Iterator[tuple[str, object, str]]:
    if d.kind == "b":
        limit = f" <= size ({d.size})" if not d.legacy else ""
        if d.start < 0:
            yield "B1", d.start, f"start is {d.start}; 0 <= start <= stop{limit} must hold"
        if d.stop < d.start:
            yield "B1", d.stop, f"stop is {d.stop}; start ({d.start}) <= stop{limit} must hold"
        elif d.legacy and d.start == d.size and d.stop != d.start:
            empty = f"start == size ({d.size}) means empty, so stop == start"
            yield "B1", d.stop, f"stop is {d.stop}; {empty}"
        if d.stop > d.size and not d.legacy:
            yield "B1", d.stop, f"stop is {d.stop}; 0 <= start <= stop <= size ({d.size}) must hold"
    widths_fit = True
    for side, width in zip(("left", "right"), d.widths):
        if width < 0:
            widths_fit = False
            yield "B3", d.widths, f"padding is {d.widths}; its {side} width must be >= 0"
    if widths_fit and not d.legacy and (d.halo[0] + d.halo[1]) > max(d.stop - d.start, 0):
        taken = f"its communication widths take more than stop - start ({d.stop - d.start})"
        yield "B3", d.widths, f"padding is {d.widths}; {taken}"
    if d.extent != d.expected_extent and widths_fit:
        text = "size" if d.kind == "n" else "stop - start"
        if d.legacy and (d.halo[0] + d.halo[1]):
            text += " + communication padding"
        yield "B2", d.extent, f"the buffer's extent is {d.extent}; {text} is {d.expected_extent}"


def _local_cyclic(d: Dimension) -> Iterator[tuple[str, object, str]]:
    if d.start < 0:
        yield "C1", d.start, f"start is {d.start}; it must be >= 0"
    if d.block_size < 1:
        yield "C1", d.block_size, f"block_size is {d.block_size}; it must be >= 1"
    if d.start < 0 or d.block_size < 1 or d.grid_size < 1:
        return
    block, inside = divmod(d.start, d.block_size)
    if d.start < d.size and (inside or block >= d.grid_size):
        multiple = f"k * block_size ({d.block_size}) with k < proc_grid_size ({d.grid_size})"
        yield "C3", d.start, f"start is {d.start}; it must be {multiple}"
    if d.extent != d.owned_count:
        message = (
            f"the buffer's extent is {d.extent}; with start {d.start}, size {d.size}, block_size "
            f"{d.block_size} and proc_grid_size {d.grid_size} the process owns {d.owned_count}"
        )
        yield "C2", d.extent, message


def _local_unstructured(d: Dimension) -> Iterator[tuple[str, object, str]]:
    if d.indices is None:
        return
    if len(d.indices) != d.extent:
        count = len(d.indices)
        yield "U1", count, f"indices lists {count}, the buffer's extent is {d.extent}"
    ordered = np.sort(d.indices)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if repeated.size:
        value = int(repeated[0])
        yield "U1", value, f"index {value} is listed twice; indices must be locally unique"


# -- across processes ----------------------------------------------------------------------


def is_replicated(sections: Sequence[Section]) -> bool:
    """Whether several processes each hold the whole of an undistributed array."""
    return all(
        d is not None and d.grid_size == 1 for section in sections for d in section.dimensions
    )


def needs_ranks(section: Section) -> int:
    """How many processes the section's grid has."""
    return prod(d.grid_size for d in section.dimensions if d is not None)


def coordinates(section: Section) -> tuple[int, ...]:
    """The section's place in the process grid."""
    return tuple(d.grid_rank for d in section.dimensions if d is not None)


def distinct(indices: Indices) -> int:
    """How many different indices there are."""
    ordered = np.sort(indices)
    return ordered.size - int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def cross_violations(sections: Sequence[Section]) -> list[Violation]:
    """Every rule across processes that readable sections break, in one order everywhere."""
    violations: list[Violation] = []

    def record(
        rule: str, message: str, rank: int | None, value: object, dimension: int | None = None
    ) -> None:
        violations.append(Violation(rule, dimension, rank, plain(value), message))

    described = [section for section in sections if section.ndim >= 0]
    for section in described[1:]:
        _agreement(section, described[0], record)
    readable = all(section.readable for section in sections)
    if not readable or len({section.ndim for section in sections}) > 1:
        return violations
    if not is_replicated(sections):
        _process_grid(sections, record)
    for i in range(sections[0].ndim):
        axis = [(section.rank, section.dimensions[i]) for section in sections]
        _axis(axis, partial(record, dimension=i))
    return violations


def _agreement(section: Section, model: Section, record: Callable[..., None]) -> None:
    """X8: what all processes must declare alike."""
    elsewhere = f"on rank {model.rank} it is"
    for name in ("ndim", "dtype", "legacy"):
        mine, theirs = getattr(section, name), getattr(model, name)
        if mine != theirs:
            if name == "legacy":
                name, mine, theirs = "version", section.version, model.version
            record("X8", f"{name} is {mine!r}, {elsewhere} {theirs!r}", section.rank, mine)
    keys = {"kind": "dist_type", "grid_size": "proc_grid_size"}
    for i, (d, m) in enumerate(zip(section.dimensions, model.dimensions)):
        if d is None or m is None:
            continue
        for name in ("kind", "size", "grid_size", "block_size", "periodic"):
            mine, theirs = getattr(d, name), getattr(m, name)
            if mine != theirs:
                message = f"{keys.get(name, name)} is {mine!r}, {elsewhere} {theirs!r}"
                record("X8", message, section.rank, mine, i)
        if d.legacy and d.kind in "bn" and (d.padding is None) != (m.padding is None):
            message = (
                f"padding is {'absent' if d.padding is None else 'present'} here and not on rank "
                f"{model.rank}; in 0.9 it is on all processes or on none"
            )
            record("B3", message, section.rank, d.padding, i)


def _process_grid(sections: Sequence[Section], record: Record) -> None:
    """X1 and X2: the grid holds these processes, in row-major order."""
    count = len(sections)
    seen: dict[tuple[int, ...], int] = {}
    for section in sections:
        rank, needed, grid = section.rank, needs_ranks(section), _grid(section)
        if needed != count:
            present = f"there {'is' if count == 1 else 'are'} {count}"
            message = f"the grid {grid} needs {needed} ranks, {present}: atoll run -n {needed} ..."
            record("X1", message, rank, needed)
        place, expected = coordinates(section), 0
        for d in section.dimensions:
            assert d is not None
            expected = expected * d.grid_size + d.grid_rank
        if place in seen:
            message = f"coordinates {place} are those of rank {seen[place]} already"
            record("X2", message, rank, place)
        elif expected != rank and needed == count:
            belong = f"belong to rank {expected} in row-major order"
            record("X2", f"coordinates {place} in the grid {grid} {belong}", rank, place)
        seen.setdefault(place, rank)


def _grid(section: Section) -> str:
    return " x ".join(str(d.grid_size) for d in section.dimensions if d is not None)


def representatives(
    axis: Sequence[tuple[int, Dimension | None]],
) -> dict[int, tuple[int, Dimension]]:
    """By grid rank along an axis: the process that represents it, and its dimension.

    That is the process that sent its indices, else the lowest rank.
    """
    chosen: dict[int, tuple[int, Dimension]] = {}
    for rank, d in axis:
        if d is None:
            continue
        known = chosen.get(d.grid_rank)
        if known is None or (known[1].indices is None and d.indices is not None):
            chosen[d.grid_rank] = (rank, d)
    return chosen


def _axis(axis: Sequence[tuple[int, Dimension | None]], record: Record) -> None:
    if not all(d is not None and _sound(d) for _, d in axis):
        return
    chosen = representatives(axis)
    for rank, d in axis:
        if d is not None:
            model_rank, model = chosen[d.grid_rank]
            same = f"on rank {model_rank} with the same proc_grid_rank {d.grid_rank}"
            for key, value, other in _differences(d, model):
                record("X3", f"{key} is {value!r}, {same} it is {other!r}", rank, value)
    dimensions = {grid_rank: d for grid_rank, (_, d) in sorted(chosen.items())}
    ranks = {grid_rank: rank for grid_rank, (rank, _) in chosen.items()}
    if len({(d.kind, d.grid_size) for d in dimensions.values()}) > 1:
        return
    some = next(iter(dimensions.values()))
    if some.kind in "bn":
        _blocks(dimensions, ranks, record)
    whole = len(dimensions) == some.grid_size  # all are sound, so each is in range
    if not whole or len({d.size for d in dimensions.values()}) > 1:
        return
    if some.kind == "u":
        _unstructured(dimensions, ranks, record)
        return
    total = sum(d.owned_count for d in dimensions.values())
    if total != some.size:
        record("X4", f"the owned counts add up to {total}, size is {some.size}", None, total)
    if some.kind == "c":
        starts: dict[int, int] = {}
        for grid_rank, d in dimensions.items():
            if d.owned_count and d.start in starts:
                first = f"as {starts[d.start]} does; an index is owned once"
                message = f"proc_grid_rank {grid_rank} starts at {d.start}, {first}"
                record("X4", message, ranks[grid_rank], d.start)
            starts.setdefault(d.start, grid_rank)
    elif some.kind == "b":
        last = some.grid_size - 1
        start, stop = dimensions[0].owned[0], dimensions[last].owned[1]
        if start != 0:
            message = f"the first block starts at {start}; it must start at 0"
            record("X7", message, ranks[0], start)
        if stop != some.size:
            message = f"the last block stops at {stop}; it must stop at size ({some.size})"
            record("X7", message, ranks[last], stop)


def _sound(d: Dimension) -> bool:
    """Whether the numbers that all arithmetic rests on are possible at all."""
    return 0 <= d.grid_rank < d.grid_size and d.block_size >= 1 and d.size >= 0


def _differences(d: Dimension, model: Dimension) -> Iterator[tuple[str, object, object]]:
    """X3: the differences between two dictionaries of one grid rank, outer boundary padding apart."""
    for name in ("start", "stop", "one_to_one"):
        mine, theirs = getattr(d, name), getattr(model, name)
        if mine != theirs:
            yield name, mine, theirs
    if d.fingerprint != model.fingerprint:
        yield "indices", "another list", "this one"
    if d.halo != model.halo:
        yield "padding", d.widths, model.widths


def _blocks(dimensions: dict[int, Dimension], ranks: dict[int, int], record: Record) -> None:
    """X5, X6 and the reach of B3: what neighbours declare about each other."""
    for grid_rank, left in dimensions.items():
        right = dimensions.get(grid_rank + 1)
        wrapped = False
        if right is None and left.legacy and left.periodic and left.last:
            right, wrapped = dimensions.get(0), True
        if right is None:
            continue
        rank, neighbour = ranks[grid_rank], ranks[right.grid_rank]
        to_right, to_left = left.halo[1], right.halo[0]
        for side, width, d, holder, owner, owner_rank in (
            ("right", to_right, left, rank, right, neighbour),
            ("left", to_left, right, neighbour, left, rank),
        ):
            if width > max(owner.owned_count, 0):
                owns = f"the neighbour on rank {owner_rank} owns {owner.owned_count}"
                message = f"the {side} communication padding is {width}, but {owns}"
                record("B3", message, holder, d.widths)
        if wrapped:
            continue
        following = f"of the next process, rank {neighbour}, is"
        if to_right != to_left and not left.legacy:
            message = f"the right padding is {to_right}, the left padding {following} {to_left}"
            record("X5", message, rank, to_right)
        if left.owned[1] != right.owned[0]:
            message = f"stop is {left.stop}, start {following} {right.start}"
            if not left.legacy and to_right + to_left:
                message += f"; they must overlap by {to_right + to_left}"
            record("X6", message, rank, left.stop)


def _unstructured(dimensions: dict[int, Dimension], ranks: dict[int, int], record: Record) -> None:
    """X4 and X9 over the lists of indices themselves."""
    lists = [d.indices for d in dimensions.values() if d.indices is not None]
    if len(lists) < len(dimensions):
        return
    indices = np.concatenate(lists)
    total, different = indices.size, distinct(indices)
    size = next(iter(dimensions.values())).size
    exclusive = np.array([d.one_to_one for _, d in sorted(dimensions.items())])
    if exclusive.all():
        if total != size:
            record("X4", f"the owned counts add up to {total}, size is {size}", None, total)
    elif not different <= size <= total:
        message = (
            f"size is {size}; it must be between the number of distinct indices ({different}) and the sum "
            f"of the counts ({total})"
        )
        record("X4", message, None, size)
    if different == total or not exclusive.any():
        return
    # Sorted together with their processes: slower, and only where there is a violation to name.
    holders = np.repeat(np.array(list(dimensions)), [len(listed) for listed in lists])
    order = np.argsort(indices, kind="stable")
    indices, holders = indices[order], holders[order]
    repeats = np.flatnonzero(indices[1:] == indices[:-1])
    apart = repeats[holders[repeats] != holders[repeats + 1]]
    clashes = apart[exclusive[holders[apart]] | exclusive[holders[apart + 1]]]
    if clashes.size:
        first = int(clashes[0])
        index, holder, other = int(indices[first]), int(holders[first]), int(holders[first + 1])
        message = (
            f"index {index} is held by proc_grid_rank {holder} and {other} ({clashes.size} such indices), and "
            "one_to_one is True"
        )
        record("X9", message, ranks[other], index)
