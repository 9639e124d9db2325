"""Layouts as dimension dictionaries, and dimension dictionaries as layouts.

Import. Each axis of the process grid of checked sections becomes one axis map. All processes have the same sections, so all
make the same layout. Communication padding becomes halo widths; boundary padding stays owned. Blocks of a cyclic axis may
start at any process: the import then permutes the ranks in the grid and uses the canonical map.

Export, for one process and without communication. The protocol supports grids of all processes in row-major order only. A layout may have ranks in any order, on part of
the world, with copies. So the exporter looks for an equivalent grid of the protocol's kind, in which the elements of a
process along each axis depend only on its coordinate on that axis. It tries the layout's own grid, then every other
factorization of the number of processes. Along each axis of that grid, a process exports the first form that applies:

``b``
    if the sections of the processes are contiguous and adjoin in order, empty sections included;
    with padding and periodicity if the grid is the layout's own;
``c``
    if blocks of one size alternate between the processes, from any process on;
``u``
    a list of indices, in all other cases. Indices on several processes are legal there.

1.0 includes communication padding in ``start`` and ``stop``, with equal widths on the two sides of a border; the outer
padding of a periodic axis would count into its size. Padding that does not fit is excluded from the buffer, which stays a
view.
0.9 supports all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...comm.world import world_of
from ...context.caches import remembered
from ...errors import BufferTypeError, ProtocolError, a_type
from ...exchange.halo import wrapped
from ...layout import Axis, BlockAxis, CyclicAxis, Layout, UnstructuredAxis, listed
from ...layout.grids import factorisations
from ..protocol import Imported
from .description import Dimension, Section
from .rules import PROTOCOL, coordinates, distinct, is_replicated, representatives

EMPTY = -1
"""Entry of an order for a process without elements of the axis."""

DEFAULT_VERSION = "1.0.0"


@dataclass(frozen=True, slots=True)
class Description:
    """One process's dictionaries, and the key and shape of the buffer within the padded block."""

    dictionaries: tuple[dict[str, Any], ...]
    key: tuple[slice, ...]
    shape: tuple[int, ...]


def to_distarray(array: Any, version: str = DEFAULT_VERSION) -> dict[str, Any]:
    """Describe ``array`` by the Distributed Array Protocol of ``version``: 1.x.y, 0.10.x or 0.9.x.

    The buffer is the array's own memory on this process. If nothing is pending, the call communicates nothing.
    """
    if not hasattr(array, "_evaluate"):
        raise TypeError(f"to_distarray: needs an atoll array, not {a_type(array)}")
    array._evaluate()
    described = description(array.layout, array.world.rank, is_legacy(version))
    block = array.local_padded
    buffer = block if described.key == () else block[described.key]
    if buffer.shape != described.shape:
        # An empty section; the grid determines which of its extents is 0.
        buffer = buffer.reshape(described.shape)
    try:
        memoryview(buffer.data)
    except (ValueError, TypeError, BufferError) as error:
        raise BufferTypeError(
            f"__distarray__: dtype {buffer.dtype} has no buffer export ({error}); view the array as another dtype, such as int64"
        ) from None
    return {
        "__version__": version,
        "buffer": buffer,
        "dim_data": tuple([dictionary.copy() for dictionary in described.dictionaries]),
    }


def is_legacy(version: str) -> bool:
    """True if ``version`` follows the rules of 0.9; an error for a version that atoll does not write."""
    parts = version.split(".") if isinstance(version, str) else []
    if len(parts) == 3 and all(part.isdecimal() for part in parts):
        if parts[:2] == ["0", "9"]:
            return True
        if parts[0] == "1" or parts[:2] == ["0", "10"]:
            return False
    raise ProtocolError(
        f"to_distarray: version is {version!r}; it must be 1.x.y, 0.10.x or 0.9.x, which atoll writes"
    )


@remembered
def description(layout: Layout, rank: int, legacy: bool) -> Description:
    """The description of a layout for ``rank``."""
    grid, orders = _grid(layout)
    cell = layout.coordinates(rank)
    place = [int(k) for k in np.unravel_index(rank % prod(grid), grid)] if grid else []
    dictionaries: list[dict[str, Any]] = []
    key: list[slice] = []
    shape: list[int] = []
    for number, (axis, order, here) in enumerate(zip(layout.axes, orders, place)):
        common = {"size": axis.size, "proc_grid_size": len(order), "proc_grid_rank": here}
        natural = order == tuple(range(axis.processes))
        if isinstance(axis, BlockAxis) and natural:
            dictionary, cut = _block(axis, here, common, legacy)
            padded_count = axis.count(here) + sum(axis.padding(here))
            extent = len(range(padded_count)[cut])
        else:
            dictionary = _plain(axis, order, here, common)
            extent = 0 if order[here] == EMPTY else axis.count(order[here])
            left = 0 if cell is None else axis.padding(cell[number])[0]
            cut = slice(left, left + (0 if cell is None else axis.count(cell[number])))
        dictionaries.append(dictionary)
        key.append(cut)
        shape.append(extent)
    whole = [slice(0, extent) for extent in layout.padded_shape(rank)]
    return Description(tuple(dictionaries), () if key == whole else tuple(key), tuple(shape))


# -- the grid ------------------------------------------------------------------------------


@remembered
def _grid(layout: Layout) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """A row-major grid of all processes, and for each of its axes the layout's coordinates in the order of the grid's."""
    processes, own = layout.processes, layout.grid
    if layout.is_replicated or (
        layout.is_row_major and layout.copies == 1 and layout.cells == processes
    ):
        return own, tuple(tuple(range(count)) for count in own)
    if not own:
        raise ProtocolError(
            f"__distarray__: the one element lies on the ranks {list(layout.ranks)} of {processes}; the "
            "protocol has no empty section for an array without dimensions"
        )
    cells = np.full((processes, len(own)), EMPTY, np.int64)
    seats = np.array(list(np.ndindex(own)), np.int64).reshape(-1, len(own))
    cells[layout.table.reshape(-1)] = np.repeat(seats, layout.copies, axis=0)
    for grid in _candidates(own, processes):
        orders = _orders(cells, grid)
        if orders is not None:
            return grid, orders
    raise ProtocolError(
        f"__distarray__: the ranks {list(layout.ranks)} of the grid {own} are not in row-major order, and no "
        f"other grid of {processes} processes tells where the blocks lie; redistribute the array first"
    )


def _candidates(own: tuple[int, ...], processes: int) -> Iterator[tuple[int, ...]]:
    """Grids of all processes: the layout's own first, then the others, those that keep most of its extents first."""
    if prod(own) == processes:
        yield own
    others = [grid for grid in factorisations(processes, len(own)) if grid != own]
    yield from sorted(others, key=lambda grid: sum(a != b for a, b in zip(grid, own)))


def _orders(
    cells: npt.NDArray[np.int64], grid: tuple[int, ...]
) -> tuple[tuple[int, ...], ...] | None:
    """For each axis, the map from the grid's to the layout's coordinates; ``None`` if there is no such map."""
    places = np.indices(grid).reshape(len(grid), -1)
    members = cells[:, 0] != EMPTY
    idle = np.zeros(len(cells), bool)
    orders = []
    for axis, count in enumerate(grid):
        order = np.full(count, EMPTY, np.int64)
        order[places[axis][members]] = cells[members, axis]
        mapped = order[places[axis]]
        if (mapped[members] != cells[members, axis]).any():
            return None
        idle |= mapped == EMPTY
        orders.append(tuple(order.tolist()))
    return tuple(orders) if idle[~members].all() else None


# -- one axis ------------------------------------------------------------------------------


def _block(
    axis: BlockAxis, here: int, common: dict[str, Any], legacy: bool
) -> tuple[dict[str, Any], slice]:
    """The dictionary of a block axis in its natural order, with padding and periodicity, and the slice of the buffer."""
    if legacy:
        axis = wrapped(axis)
    start, stop = axis.bounds[here], axis.bounds[here + 1]
    before, after = axis.padding(here)
    padded = axis.halos is not None or axis.ends != (0, 0)
    ends = axis.boundary(here)
    if legacy:
        widths = (before + ends[0], after + ends[1])
        cut = slice(0, before + stop - start + after)
    else:
        left, right = _agreed(axis, here)
        widths = (left + ends[0], right + ends[1])
        cut = slice(before - left, before + stop - start + right)
        start, stop = start - left, stop + right
    if legacy and axis.processes == 1:
        dictionary: dict[str, Any] = {"dist_type": "n", "size": axis.size}
    else:
        dictionary = {"dist_type": "b", **common, "size": axis.size, "start": start, "stop": stop}
    if padded:
        dictionary["padding"] = widths
    if axis.periodic:
        dictionary["periodic"] = True
    return dictionary, cut


def _agreed(axis: BlockAxis, here: int) -> tuple[int, int]:
    """The communication widths that 1.0 can express: between neighbours, equal on both sides of a border."""
    left = min(axis.padding(here)[0], axis.padding(here - 1)[1]) if here else 0
    last = here == axis.processes - 1
    right = 0 if last else min(axis.padding(here)[1], axis.padding(here + 1)[0])
    return left, right


def _plain(axis: Axis, order: tuple[int, ...], here: int, common: dict[str, Any]) -> dict[str, Any]:
    """The dictionary of an axis whose processes are in any order, without padding."""
    mine = order[here]
    if (
        isinstance(axis, CyclicAxis)
        and axis.offset == 0
        and sorted(order) == list(range(axis.processes))
    ):
        dictionary = {"dist_type": "c", **common, "start": mine * axis.block_size}
        return dictionary if axis.block_size == 1 else {**dictionary, "block_size": axis.block_size}
    if not isinstance(axis, UnstructuredAxis):
        bounds = _bounds(axis, order)
        if bounds is not None:
            return {"dist_type": "b", **common, "start": bounds[here], "stop": bounds[here + 1]}
    indices = np.empty(0, np.int64) if mine == EMPTY else axis.owned(mine).array().view()
    indices.flags.writeable = False
    present = [coordinate for coordinate in order if coordinate != EMPTY]
    exclusive = len(set(present)) == len(present) and not axis.overlaps
    if isinstance(axis, UnstructuredAxis):
        exclusive = exclusive and axis.one_to_one
    return {"dist_type": "u", **common, "indices": indices, "one_to_one": exclusive}


def _bounds(axis: Axis, order: tuple[int, ...]) -> list[int] | None:
    """The bounds of the sections if all are contiguous and adjoin in order; otherwise ``None``."""
    bounds = [0]
    for coordinate in order:
        section = () if coordinate == EMPTY else axis.owned(coordinate)
        if len(section):
            assert not isinstance(section, tuple)
            if not section.is_contiguous or section.lowest != bounds[-1]:
                return None
        bounds.append(bounds[-1] + len(section))
    return bounds


# -- import --------------------------------------------------------------------------------


def import_distarray(source: object, *, strict: bool = False, comm: Any = None) -> Imported:
    """Import the array that ``source`` exports by the protocol: the block, the layout and the world. Collective.

    The block is the producer's memory. Raises :class:`~atoll.errors.ProtocolError` with every broken rule, on all
    processes alike.
    """
    world = world_of(comm)
    examination = PROTOCOL.accepted("from_distarray", source, world, strict)
    layout = layout_of(examination.sections)
    PROTOCOL.warn(examination)
    return Imported(examination.content, layout, world)


def layout_of(sections: Sequence[Section]) -> Layout:
    """The layout that sections without violations describe."""
    processes = len(sections)
    axes: list[Axis] = []
    orders: list[list[int]] = []
    for i in range(sections[0].ndim):
        axis, order = _axis_of(list(representatives(sections, i).values()))
        axes.append(axis)
        orders.append(order)
    if is_replicated(sections):
        return Layout.of(axes, processes, np.arange(processes).reshape(*[1] * len(axes), processes))
    table = np.empty([axis.processes for axis in axes], np.int64)
    for section in sections:
        place = tuple(order[c] for order, c in zip(orders, coordinates(section)))
        table[place] = section.rank
    return Layout.of(axes, processes, table)


def _axis_of(dimensions: Sequence[Dimension]) -> tuple[Axis, list[int]]:
    """The map of one axis, and the coordinate of each grid rank in the map."""
    some, natural = dimensions[0], list(range(len(dimensions)))
    if some.kind == "c":
        return CyclicAxis(some.size, some.grid_size, some.block_size), _turns(dimensions)
    if some.kind == "u":
        return _unstructured_axis(dimensions), natural
    bounds = (0, *(d.owned[1] for d in dimensions))
    halos = tuple(d.halo for d in dimensions)
    ends = (dimensions[0].boundary[0], dimensions[-1].boundary[1])
    padded = any(left or right for left, right in halos)
    return BlockAxis(some.size, bounds, halos if padded else None, ends, some.periodic), natural


def _turns(dimensions: Sequence[Dimension]) -> list[int]:
    """The number of the first block of each grid rank; ranks without blocks get the unused numbers."""
    turns = [d.start // d.block_size if d.owned_count else -1 for d in dimensions]
    left = iter(sorted(set(range(len(turns))) - set(turns)))
    return [turn if turn >= 0 else next(left) for turn in turns]


def _unstructured_axis(dimensions: Sequence[Dimension]) -> UnstructuredAxis:
    size = dimensions[0].size
    lists = [d.indices for d in dimensions if d.indices is not None]
    indices = np.concatenate(lists)
    dense = distinct(indices) == size and (
        not size or (indices.min() == 0 and indices.max() == size - 1)
    )
    one_to_one = all(d.one_to_one for d in dimensions)
    sets = tuple(listed(indices) for indices in lists)
    return UnstructuredAxis(size, sets, one_to_one, labels=not dense)
