"""An example for each of atoll's own names, shown in their reference; ``tests/test_docs.py`` runs them in this order."""

from __future__ import annotations

EXAMPLES = {
    "world": "print(np.world.rank, np.world.size)",
    "World": "halves = np.world.split(np.world.rank % 2)  # a world of every second rank",
    "use": "from mpi4py import MPI\nnp.use(MPI.COMM_WORLD)  # with mpi4py: the current world has the ranks of this communicator",
    "Layout": 'rows = np.Layout((1000, 1000), "bn")  # blocks of rows, all columns\na = np.zeros((1000, 1000), layout=rows)',
    "Block": 'ghosts = np.Layout((1000, 1000), [np.Block(padding=(1, 1)), "n"])  # a ghost row on each side',
    "Cyclic": 'dealt = np.Layout((1000, 1000), [np.Cyclic(64), "n"])  # 64 rows to each rank in turn',
    "Unstructured": "evens = list(range(0, 10, 2))\nodd = list(range(1, 10, 2))\n"
    "parity = np.Layout((10,), [np.Unstructured([evens, odd])], size=2)",
    "Undistributed": "columns = np.Layout((1000, 1000), [np.Undistributed(), np.Block()])",
    "from_local": "mine = numpy.full((2, 5), np.world.rank)\na = np.from_local(mine)  # two rows of each rank",
    "sync": "np.sync()  # compute all that is pending",
    "checkpoint": 'np.checkpoint("run", u=np.ones(10), step=3)  # a folder; on all ranks',
    "restore": 'state = np.restore("run")\nprint(state["step"], state["u"])',
    "save_hdf5": 'np.save_hdf5("data.h5", {"u": np.ones((100, 100))})',
    "load_hdf5": 'u = np.load_hdf5("data.h5", "u")',
    "save_zarr": 'np.save_zarr("data.zarr", np.ones((100, 100)))',
    "load_zarr": 'u = np.load_zarr("data.zarr")',
    "explain": "print(np.explain(np.linspace(0, 1, 100_000) * 2))",
    "profile": "np.profile()  # and np.profile() again prints what the lines between have taken",
    "model": 'estimate = np.model(lambda: np.ones((4000, 4000)).sum(), 16, "infiniband")\nprint(estimate)',
    "coverage": 'print(np.coverage()["sort"])',
    "stats": "print(np.stats().kernels_compiled)",
    "reset_stats": "np.reset_stats()",
    "config": "np.config.fusion = True\nwith np.config(small=0):\n    a = np.arange(10)",
    "onesided": "counter = np.zeros(1, int)\nwith np.onesided(counter) as c:\n    ticket = c.fetch_add(0, 1)",
    "distribution": "print(np.distribution(np.ones((1000, 1000))))  # the block of each rank",
    "tasks": "for task in np.tasks(5):  # each is done by one rank, the next free one\n    print(task)",
    "copy_between": "np.copy_between(source, target)  # arrays of two worlds",
    "from_distarray": "a = np.from_distarray(np.ones((100, 100)))",
    "to_distarray": 'print(np.to_distarray(np.ones((100, 100)))["dim_data"])',
    "check_distarray": "print(np.check_distarray(np.ones((100, 100))))  # no violations",
    "from_partitioned": "a = np.from_partitioned(np.ones((100, 100)))",
    "to_partitioned": 'print(np.to_partitioned(np.ones((100, 100)))["partition_tiling"])',
    "check_partitioned": "print(np.check_partitioned(np.ones((100, 100))))",
    "from_dask": "import dask.array\na = np.from_dask(dask.array.ones((1000, 1000)))",
    "to_dask": "x = np.to_dask(np.ones((1000, 1000)))",
    "DaskPartitions": "import dask.array\nshown = np.DaskPartitions(dask.array.ones((1000, 1000)))\na = np.from_partitioned(shown)",
    "from_ray": "a = np.from_ray(references, (1000, 1000), (2, 1))  # two blocks of rows in Ray's store",
    "to_ray": "references = np.to_ray(np.ones((1000, 1000)))",
    "RayPartitions": "shown = np.RayPartitions(references, (1000, 1000), (2, 1))",
    "ndarray.layout": "print(np.ones((1000, 1000)).layout)",
    "ndarray.local": "a = np.ones((1000, 1000))\na.local[...] = np.world.rank  # this rank's block, a NumPy array",
    "ndarray.local_padded": 'a = np.ones((8, 8)).redistribute(np.Layout((8, 8), [np.Block(padding=(1, 1)), "n"]))\n'
    "print(a.local_padded.shape)  # the block with its ghosts",
    "ndarray.world": "print(np.ones((1000, 1000)).world.size)",
    "ndarray.redistribute": 'a = np.ones((1000, 1000)).redistribute(np.Layout((1000, 1000), "nb"))  # blocks of columns',
    "ndarray.exchange_halos": "a.exchange_halos()  # on all ranks: fetch the ghosts of the neighbours",
    "ndarray.access": "with a.access() as block:  # this rank's block, only here\n    block[...] = 1",
    "ndarray.owns": "print(np.ones((1000, 1000)).owns((0, 0)))",
    "ndarray.to_numpy": "whole = np.ones((1000, 1000)).to_numpy()  # on all ranks",
}
"""By name: lines after ``import atoll as np``."""

NEED_MORE = {
    "use": "", "copy_between": "", "save_hdf5": "h5py", "load_hdf5": "h5py", "save_zarr": "zarr", "load_zarr": "zarr",
    "from_dask": "dask.array", "to_dask": "", "DaskPartitions": "", "from_ray": "", "to_ray": "", "RayPartitions": "",
}  # fmt: skip
"""The package without which an example cannot run; empty if it needs ranks or a cluster."""
