"""The ``__partitioned__`` protocol, in and out: rectangular partitions that form a grid.

A producer has a property ``__partitioned__``: a dictionary with the ``shape`` of the whole, the
``partition_tiling`` (how many partitions along each axis), the ``partitions`` by their position
in the grid (``start``, ``shape``, ``data``, ``location``), a callable ``get``, and, where the
ranks of an MPI program hold the partitions, the positions of the own ones in ``locals``.

The way in is read, agree, judge, arrange. `reading` turns any producer into plain values on
each rank, and `data` its partitions into arrays over the same memory; whatever is wrong becomes
a record, never an exception. `checking` sends the digests around (one allgather, whatever state
a rank is in) and judges them by the rules of `rules`: the same list of records everywhere.
`arranging` looks for a layout under which every rank keeps what it has; `importing` makes the
block of it, over the producer's memory where a rank has one partition, or several that adjoin
in one array. Where no layout says who owns what, the partitions move once, to the default one.

The way out is `exporting`: each axis of a layout is cut into tiles, the partitions are their
products, and the data of a partition is a view of the rank's block.

Clusters. Without ``locals`` the data are handles of a cluster (futures, object references).
Every rank gives the same description, with handles that work on that rank; then

- each partition gets one rank: that with the same process in ``location``, else one on the same
  node (an (ip, pid[, device]) tuple; the address decides, loopback means any node), else evenly,
  in blocks of the grid, so that the result has a layout of blocks;
- each rank calls ``get(handles)`` with lists of its own handles, batch by batch
  (:data:`fetching.BATCH` elements, at least one handle), and expects a sequence of as many arrays
  or DataFrames in the same order. A callable that takes only single handles is met by calling
  it once for each;
- what ``get`` raises on one rank is told to all: its own kind if it is a
  :class:`~atoll.errors.ClusterError` or a :class:`~atoll.errors.ProtocolError`, otherwise a
  ``ClusterError`` that quotes it.

An adapter for a cluster therefore makes the dictionary and calls
``import_partitioned(description, comm=world)``, which returns the block, layout and world.
"""

from .checking import Examination as Examination
from .checking import check_partitioned as check_partitioned
from .checking import examine as examine
from .description import RULES as RULES
from .description import Violation as Violation
from .exporting import to_partitioned as to_partitioned
from .importing import Imported as Imported
from .importing import import_partitioned as import_partitioned
