"""Layouts: the owners of elements, as integers only, without data or communication.

A :class:`Layout` says how an array of some shape lies on the ranks of a world: one axis
map per axis (block, cyclic, unstructured) over a grid of processes. It is a value: it
compares, hashes, and prints as the call that makes it.

>>> from atoll.layout import Layout, Block, Cyclic
>>> layout = Layout((8, 6), "bn", size=4)
>>> layout.region(1)
(Range(2, 4), Range(0, 6))
>>> layout.locate((5, 1))
(2, (1, 1))

Making one
    ``Layout(shape, maps=None, *, grid=None, size=None, ranks=None)``. ``maps`` is a word
    such as ``"bn"`` or a sequence of letters, ``None`` and constructors: ``Block(bounds=None,
    padding=(0, 0), periodic=False)``, ``Cyclic(block_size=1)``, ``Unstructured(indices,
    one_to_one=False, labels=False)``, ``Undistributed()``. ``size`` is the number of
    processes of the world, ``ranks`` lists those that take part, in the order of the grid.
    ``Layout.default(shape, size)`` cuts all axes with the least surface,
    ``Layout.replicated(shape, size)`` gives every rank the whole array. A layout whose axes are
    all undistributed is replicated.

Asking it
    ``shape ndim size processes grid axes ranks copies is_replicated is_block is_dense``;
    ``coordinates(rank)`` (``None``: owns nothing), ``rank_at(coordinates)``, ``region(rank)``,
    ``local_shape(rank)``, ``padded_shape(rank)``, ``halo(rank)``, ``boundary(rank)``,
    ``neighbours(rank)``, ``owners(index)``, ``locate(index)``, ``global_index(rank, local)``
    (the last two take arrays as well).

    An axis (``layout.axes[i]``) has ``kind`` (``"b"``, ``"c"``, ``"u"``), ``size``,
    ``processes``, ``owned(coordinate)``, ``owner(index)``, ``owners(index)``, and what
    belongs to its kind: ``bounds padding(coordinate) periodic``, ``block_size offset``,
    ``sets one_to_one labels``.

Deriving others
    ``sliced(key)`` and ``slicing(key)`` (which also says how each rank finds the slice in
    its block), ``transposed``, ``reduced``, ``expanded``, ``broadcast``, ``unpadded``.

Moving data
    :func:`transfer` (source, target, rank) and :func:`needed` (layout, region, rank) give
    records of what one rank sends and receives; :func:`halo_transfer` (layout, rank) is the
    transfer that fills communication padding.

Index sets (:class:`Range`, :class:`Pattern`, :class:`Listed`) are the currency of all this:
regions are tuples of them, one per axis. See :mod:`atoll.layout.index_set`.
"""

from .axes import Axis, BlockAxis, CyclicAxis, UnstructuredAxis
from .defaults import set_default_size, set_ranks_per_node
from .index_set import EMPTY, IndexSet, Listed, Piece, Range, listed
from .layout import Layout, Region
from .maps import Block, Cyclic, Map, Undistributed, Unstructured
from .pattern import Pattern, block_cyclic
from .slicing import Slicing
from .transfer import (
    HaloRecord,
    HaloTransfer,
    Record,
    Transfer,
    halo_transfer,
    needed,
    region_key,
    transfer,
)

__all__ = [
    "EMPTY",
    "Axis",
    "Block",
    "BlockAxis",
    "Cyclic",
    "CyclicAxis",
    "HaloRecord",
    "HaloTransfer",
    "IndexSet",
    "Layout",
    "Listed",
    "Map",
    "Pattern",
    "Piece",
    "Range",
    "Record",
    "Region",
    "Slicing",
    "Transfer",
    "Undistributed",
    "Unstructured",
    "UnstructuredAxis",
    "block_cyclic",
    "halo_transfer",
    "listed",
    "needed",
    "region_key",
    "set_default_size",
    "set_ranks_per_node",
    "transfer",
]
