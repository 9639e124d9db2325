"""Import of checked sections as a layout, which is the same on every process, because all have the same sections.

Each axis of the process grid becomes one axis map. Communication padding becomes halo widths; boundary padding stays
owned. Blocks of a cyclic axis may start at any process: the import then permutes the ranks in the grid and uses the
canonical map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...comm.world import world_of
from ...layout import Axis, BlockAxis, CyclicAxis, Layout, UnstructuredAxis, listed
from ..protocol import Imported
from .checking import PROTOCOL
from .description import Dimension, Section
from .rules import coordinates, distinct, is_replicated, representatives


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
        axis, order = _axis(list(representatives(sections, i).values()))
        axes.append(axis)
        orders.append(order)
    if is_replicated(sections):
        return Layout.of(axes, processes, np.arange(processes).reshape(*[1] * len(axes), processes))
    table = np.empty([axis.processes for axis in axes], np.int64)
    for section in sections:
        place = tuple(order[c] for order, c in zip(orders, coordinates(section)))
        table[place] = section.rank
    return Layout.of(axes, processes, table)


def _axis(dimensions: Sequence[Dimension]) -> tuple[Axis, list[int]]:
    """The map of one axis, and the coordinate of each grid rank in the map."""
    some, natural = dimensions[0], list(range(len(dimensions)))
    if some.kind == "c":
        return CyclicAxis(some.size, some.grid_size, some.block_size), _turns(dimensions)
    if some.kind == "u":
        return _unstructured(dimensions), natural
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


def _unstructured(dimensions: Sequence[Dimension]) -> UnstructuredAxis:
    size = dimensions[0].size
    lists = [d.indices for d in dimensions if d.indices is not None]
    held = np.concatenate(lists)
    dense = distinct(held) == size and (not size or (held.min() == 0 and held.max() == size - 1))
    one_to_one = all(d.one_to_one for d in dimensions)
    sets = tuple(listed(indices) for indices in lists)
    return UnstructuredAxis(size, sets, one_to_one, labels=not dense)
