"""Dask's collections in and out: futures are the handles, each rank fetches its own partitions.

In. The first rank that brings a collection is the root; it has the cluster compute the
partitions and keep them (:class:`Arrival`), asks for lengths that Dask does not know, and where
the partitions lie. The others hear the scheduler's address and the keys. Every rank, by a client
of its own or one that is opened for the call, makes futures of the keys; the importer of
``__partitioned__`` deals them out by location, and each is fetched by one rank, from its worker.

Out. Each rank sends the partitions that it holds to workers, cut into chunks of Dask's usual
size, under keys that follow from the position. The root makes the Dask array of the futures, and
only when the scheduler knows that the root wants them do the others let go.

Without a cluster a collection is a recipe: it travels to all ranks, and each computes its
own partitions by Dask's scheduler in this process.

A wait on the cluster ends with a :class:`~atoll.errors.ClusterError` at once when the scheduler
is lost or a task failed, and after ``config.wait_abort`` seconds in which nothing moved: no
partition was finished, and no worker had anything to do.
"""

from .exporting import export_dask as export_dask
from .importing import DaskPartitions as DaskPartitions
from .importing import gather as gather
from .importing import import_dask as import_dask
