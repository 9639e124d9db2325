"""Layouts: the owners of elements, as integers only, without data or communication.

A :class:`Layout` says how an array of some shape lies on the ranks of a world: one axis map per axis (block, cyclic,
unstructured) over a grid of processes. It is a value: it compares, hashes, and prints as the call that makes it. Index sets
(:class:`Range`, :class:`Pattern`, :class:`Listed`) are their parts: a region is a tuple of index sets, one per axis.

>>> from atoll.layout import Layout, Block, Cyclic
>>> layout = Layout((8, 6), "bn", size=4)
>>> layout.region(1)
(Range(2, 4), Range(0, 6))
>>> layout.locate((5, 1))
(2, (1, 1))
"""

from .axes import Axis as Axis
from .axes import BlockAxis as BlockAxis
from .axes import CyclicAxis as CyclicAxis
from .axes import UnstructuredAxis as UnstructuredAxis
from .index_set import EMPTY as EMPTY
from .index_set import IndexSet as IndexSet
from .index_set import Listed as Listed
from .index_set import Range as Range
from .index_set import listed as listed
from .layout import Layout as Layout
from .layout import Region as Region
from .layout import on_every_rank as on_every_rank
from .maps import Block as Block
from .maps import Cyclic as Cyclic
from .maps import Map as Map
from .maps import Undistributed as Undistributed
from .maps import Unstructured as Unstructured
from .maps import set_default_size as set_default_size
from .maps import set_ranks_per_node as set_ranks_per_node
from .pattern import Pattern as Pattern
from .pattern import block_cyclic as block_cyclic
from .transfer import HaloRecord as HaloRecord
from .transfer import Record as Record
from .transfer import Transfer as Transfer
from .transfer import halo_transfer as halo_transfer
from .transfer import needed as needed
from .transfer import region_key as region_key
from .transfer import transfer as transfer
