"""The rules about numbers: on one process, and across all.

Both are pure functions of :class:`Section` values. Every process applies the rules across processes to the same
gathered sections, so every process gets the same records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

import numpy as np

from ..values import plain
from .description import Dimension, Section, Violation

Record = Callable[..., None]


def local_violations(section: Section) -> list[Violation]:
    """Every rule that the dimensions of one section break by themselves."""
    found: list[Violation] = []
    for i, dimension in enumerate(section.dimensions):
        if dimension is not None:
            for rule, value, message in _local(dimension):
                found.append(Violation(rule, i, section.rank, plain(value), message))
    return found


def _local(d: Dimension) -> Iterator[tuple[str, object, str]]:
    if d.size < 0:
        yield "D2", d.size, f"size is {d.size}; it must be >= 0"
    if d.grid_size < 1:
        yield "D3", d.grid_size, f"proc_grid_size is {d.grid_size}; it must be >= 1"
    elif not 0 <= d.grid_rank < d.grid_size:
        yield (
            "D4",
            d.grid_rank,
            f"proc_grid_rank is {d.grid_rank}; it must be >= 0 and < proc_grid_size ({d.grid_size})",
        )
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
            yield (
                "B1",
                d.stop,
                f"stop is {d.stop}; start == size ({d.size}) means empty, so stop == start",
            )
        if d.stop > d.size and not d.legacy:
            yield "B1", d.stop, f"stop is {d.stop}; 0 <= start <= stop <= size ({d.size}) must hold"
    widths_fit = True
    for side, width in zip(("left", "right"), d.widths):
        if width < 0:
            widths_fit = False
            yield "B3", d.widths, f"padding is {d.widths}; its {side} width must be >= 0"
    if widths_fit and not d.legacy and (d.halo[0] + d.halo[1]) > max(d.stop - d.start, 0):
        yield (
            "B3",
            d.widths,
            f"padding is {d.widths}; its communication widths take more than stop - start ({d.stop - d.start})",
        )
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
        yield (
            "C3",
            d.start,
            f"start is {d.start}; it must be k * block_size ({d.block_size}) with k < proc_grid_size "
            f"({d.grid_size})",
        )
    if d.extent != d.owned_count:
        yield (
            "C2",
            d.extent,
            f"the buffer's extent is {d.extent}; with start {d.start}, size {d.size}, block_size "
            f"{d.block_size} and proc_grid_size {d.grid_size} the process owns {d.owned_count}",
        )


def _local_unstructured(d: Dimension) -> Iterator[tuple[str, object, str]]:
    if d.indices is None:
        return
    if len(d.indices) != d.extent:
        yield (
            "U1",
            len(d.indices),
            f"indices lists {len(d.indices)}, the buffer's extent is {d.extent}",
        )
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


def cross_violations(sections: Sequence[Section]) -> list[Violation]:
    """Every rule across processes that readable sections break, in one order everywhere."""
    found: list[Violation] = []

    def record(
        rule: str, message: str, dimension: int | None, rank: int | None, value: object
    ) -> None:
        found.append(Violation(rule, dimension, rank, plain(value), message))

    _agreement(sections, record)
    readable = [section for section in sections if section.readable]
    if len(readable) < len(sections) or len({section.ndim for section in sections}) > 1:
        return found
    if not is_replicated(sections):
        _process_grid(sections, record)
    for i in range(sections[0].ndim):
        _axis([(section.rank, section.dimensions[i]) for section in sections], i, record)
    return found


def _agreement(sections: Sequence[Section], record: Record) -> None:
    """X8: what all processes must declare alike."""
    spoken = [section for section in sections if section.ndim >= 0]
    if not spoken:
        return
    model = spoken[0]
    for section in spoken[1:]:
        for name in ("ndim", "dtype", "legacy"):
            mine, theirs = getattr(section, name), getattr(model, name)
            if mine != theirs:
                if name == "legacy":
                    name, mine, theirs = "version", section.version, model.version
                record(
                    "X8",
                    f"{name} is {mine!r}, on rank {model.rank} it is {theirs!r}",
                    None,
                    section.rank,
                    mine,
                )
        for i, (d, m) in enumerate(zip(section.dimensions, model.dimensions)):
            if d is None or m is None:
                continue
            for name, key in (
                ("kind", "dist_type"),
                ("size", "size"),
                ("grid_size", "proc_grid_size"),
                ("block_size", "block_size"),
                ("periodic", "periodic"),
            ):
                mine, theirs = getattr(d, name), getattr(m, name)
                if mine != theirs:
                    record(
                        "X8",
                        f"{key} is {mine!r}, on rank {model.rank} it is {theirs!r}",
                        i,
                        section.rank,
                        mine,
                    )
            if d.legacy and d.kind in "bn" and (d.padding is None) != (m.padding is None):
                record(
                    "B3",
                    f"padding is {'absent' if d.padding is None else 'present'} here and not on rank "
                    f"{model.rank}; in 0.9 it is on all processes or on none",
                    i,
                    section.rank,
                    d.padding,
                )


def _process_grid(sections: Sequence[Section], record: Record) -> None:
    """X1 and X2: the grid holds these processes, in row-major order."""
    count = len(sections)
    seen: dict[tuple[int, ...], int] = {}
    for section in sections:
        needed = needs_ranks(section)
        if needed != count:
            record(
                "X1",
                f"the grid {_grid(section)} needs {needed} ranks, there "
                f"{'is' if count == 1 else 'are'} {count}: atoll run -n {needed} ...",
                None,
                section.rank,
                needed,
            )
        place, expected = coordinates(section), 0
        for d in section.dimensions:
            assert d is not None
            expected = expected * d.grid_size + d.grid_rank
        if place in seen:
            record(
                "X2",
                f"coordinates {place} are those of rank {seen[place]} already",
                None,
                section.rank,
                place,
            )
        elif expected != section.rank and needed == count:
            record(
                "X2",
                f"coordinates {place} in the grid {_grid(section)} belong to rank {expected} in row-major order",
                None,
                section.rank,
                place,
            )
        seen.setdefault(place, section.rank)


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


def _axis(axis: Sequence[tuple[int, Dimension | None]], i: int, record: Record) -> None:
    if not all(d is not None and _sound(d) for _, d in axis):
        return
    chosen = representatives(axis)
    for rank, d in axis:
        if d is not None:
            model_rank, model = chosen[d.grid_rank]
            for key, value, other in _differences(d, model):
                record(
                    "X3",
                    f"{key} is {value!r}, on rank {model_rank} with the same proc_grid_rank "
                    f"{d.grid_rank} it is {other!r}",
                    i,
                    rank,
                    value,
                )
    dimensions = {grid_rank: d for grid_rank, (_, d) in sorted(chosen.items())}
    ranks = {grid_rank: rank for grid_rank, (rank, _) in chosen.items()}
    if (
        len({d.kind for d in dimensions.values()}) > 1
        or len({d.grid_size for d in dimensions.values()}) > 1
    ):
        return
    some = next(iter(dimensions.values()))
    if some.kind in "bn":
        _blocks(dimensions, ranks, i, record)
    whole = len(dimensions) == some.grid_size  # all are sound, so each is in range
    if not whole or len({d.size for d in dimensions.values()}) > 1:
        return
    if some.kind == "u":
        _unstructured(dimensions, ranks, i, record)
        return
    total = sum(d.owned_count for d in dimensions.values())
    if total != some.size:
        record("X4", f"the owned counts add up to {total}, size is {some.size}", i, None, total)
    if some.kind == "c":
        starts: dict[int, int] = {}
        for grid_rank, d in dimensions.items():
            if d.owned_count and d.start in starts:
                record(
                    "X4",
                    f"proc_grid_rank {grid_rank} starts at {d.start}, as {starts[d.start]} does; "
                    "an index is owned once",
                    i,
                    ranks[grid_rank],
                    d.start,
                )
            starts.setdefault(d.start, grid_rank)
    elif some.kind == "b":
        if dimensions[0].owned[0] != 0:
            start = dimensions[0].owned[0]
            record(
                "X7", f"the first block starts at {start}; it must start at 0", i, ranks[0], start
            )
        last = some.grid_size - 1
        if dimensions[last].owned[1] != some.size:
            stop = dimensions[last].owned[1]
            record(
                "X7",
                f"the last block stops at {stop}; it must stop at size ({some.size})",
                i,
                ranks[last],
                stop,
            )


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


def _blocks(
    dimensions: dict[int, Dimension], ranks: dict[int, int], i: int, record: Record
) -> None:
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
        if to_right > max(right.owned_count, 0):
            record(
                "B3",
                f"the right communication padding is {to_right}, but the neighbour on rank {neighbour} "
                f"owns {right.owned_count}",
                i,
                rank,
                left.widths,
            )
        if to_left > max(left.owned_count, 0):
            record(
                "B3",
                f"the left communication padding is {to_left}, but the neighbour on rank {rank} "
                f"owns {left.owned_count}",
                i,
                neighbour,
                right.widths,
            )
        if wrapped:
            continue
        if to_right != to_left and not left.legacy:
            record(
                "X5",
                f"the right padding is {to_right}, the left padding of the next process, rank {neighbour}, "
                f"is {to_left}",
                i,
                rank,
                to_right,
            )
        if left.owned[1] != right.owned[0]:
            text = f"stop is {left.stop}, start of the next process, rank {neighbour}, is {right.start}"
            if not left.legacy and to_right + to_left:
                text += f"; they must overlap by {to_right + to_left}"
            record("X6", text, i, rank, left.stop)


def _unstructured(
    dimensions: dict[int, Dimension], ranks: dict[int, int], i: int, record: Record
) -> None:
    """X4 and X9 over the lists of indices themselves."""
    if any(d.indices is None for d in dimensions.values()):
        return
    lists = [d.indices for d in dimensions.values() if d.indices is not None]
    indices = np.concatenate(lists)
    ordered = np.sort(indices)
    total = indices.size
    distinct = total - int(np.count_nonzero(ordered[1:] == ordered[:-1]))
    size = next(iter(dimensions.values())).size
    exclusive = np.array([d.one_to_one for _, d in sorted(dimensions.items())])
    if exclusive.all():
        if total != size:
            record("X4", f"the owned counts add up to {total}, size is {size}", i, None, total)
    elif not distinct <= size <= total:
        record(
            "X4",
            f"size is {size}; it must be between the number of distinct indices ({distinct}) and the sum "
            f"of the counts ({total})",
            i,
            None,
            size,
        )
    if distinct == total or not exclusive.any():
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
        index, one, two = int(indices[first]), int(holders[first]), int(holders[first + 1])
        record(
            "X9",
            f"index {index} is held by proc_grid_rank {one} and {two} ({clashes.size} such indices), and "
            "one_to_one is True",
            i,
            ranks[two],
            index,
        )
