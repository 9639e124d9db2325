"""The ``__partitioned__`` protocol, import and export: rectangular partitions that form a grid.

A producer has a property ``__partitioned__``: a dictionary with the ``shape`` of the whole, the ``partition_tiling``
(the number of partitions along each axis), the ``partitions`` by their position in the grid (``start``, ``shape``, ``data``,
``location``), a callable ``get``, and, if the ranks of an MPI program hold the partitions, the positions of this rank's
partitions in ``locals``.

To import, `description` turns any producer into plain values on each rank, and `data` its partitions into arrays over the
same memory; every fault becomes a record, never an exception. The ranks exchange digests (one allgather, whatever
a rank's state) and apply the rules: the same list of records everywhere. `assembly` looks for a layout under which
every rank keeps its partitions, and makes the block, over the producer's memory if a rank has one partition, or
several that adjoin in one array. If no layout fits, the partitions move once, to the default layout.

To export, `export` cuts each axis of a layout into tiles. The partitions are their products, and the data of a
partition is a view of the rank's block.

Clusters. Without ``locals`` the data are handles of a cluster (futures, object references). Every rank gives the same
description, with handles that work on that rank; then

- each partition gets one rank: the rank with the same process in ``location``, else one on the same
  node (an (ip, pid[, device]) tuple; the address decides, loopback means any node), else evenly,
  in blocks of the grid, so that the result has a layout of blocks;
- each rank calls ``get(handles)`` with lists of its own handles, batch by batch
  (:data:`assembly.BATCH` elements, at least one handle), and expects a sequence of as many arrays
  or DataFrames in the same order. A callable that takes only single handles is called once for
  each;
- an error of ``get`` on one rank is raised on all: with its own class if it is a
  :class:`~atoll.errors.ClusterError` or a :class:`~atoll.errors.ProtocolError`, otherwise as a
  ``ClusterError`` that quotes it.

An adapter for a cluster therefore makes the dictionary and calls ``import_partitioned(description, comm=world)``, which
returns the block, layout and world.
"""

from .assembly import import_partitioned as import_partitioned
from .description import PROTOCOL as PROTOCOL
from .description import RULES as RULES
from .description import check_partitioned as check_partitioned
from .export import to_partitioned as to_partitioned
