"""Import and export of Dask collections: the handles are futures, and each rank fetches its own partitions.

Import. The first rank that passes a collection is the root. It lets the cluster compute and keep the partitions
(:class:`Arrival`), and requests unknown lengths and locations. The others receive the scheduler's address and the
keys. Every rank makes futures of the keys, by its own client or by one that is opened for the call. The importer of
``__partitioned__`` assigns the partitions to ranks by location, and one rank fetches each from its worker.

Export. Each rank sends its partitions to workers, cut into chunks of Dask's usual size, under keys that follow from the
position. The root makes the Dask array of the futures. The other ranks release their futures only when the scheduler knows
that the root needs them.

Without a cluster, all ranks receive the collection, and each computes its own partitions by Dask's scheduler in this
process.

A wait for the cluster raises a :class:`~atoll.errors.ClusterError` at once when the scheduler is lost or a task failed,
and after ``config.wait_abort`` seconds in which no partition was finished and no worker was busy.
"""

from .exporting import export_dask as export_dask
from .importing import DaskPartitions as DaskPartitions
from .importing import gather as gather
from .importing import import_dask as import_dask
