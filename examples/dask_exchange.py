"""A Dask cluster prepares data, atoll's ranks compute with it, and Dask gets the result.

    python examples/dask_exchange.py
    atoll run -n 2 examples/dask_exchange.py

Rank 0 starts a small cluster on this machine and builds the Dask collections; the other ranks
do not use Dask. Every rank fetches its own part from the workers.
"""

from typing import Any

import atoll as np

# Some functions of Dask have no types, and pyright infers them from the defaults.
# mypy: disable-error-code=no-untyped-call
# pyright: reportArgumentType=false

ROWS, COLUMNS = 4000, 50


def main() -> None:
    try:
        import dask.array as da
        from distributed import Client, LocalCluster
    except ImportError as error:
        if np.world.rank == 0:
            print(f"skipped: {error}; pip install 'dask[array,dataframe,distributed]'")
        return

    cluster: Any = None
    client: Any = None
    x: Any = None
    if np.world.rank == 0:
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        )
        client = Client(cluster)
        noise = da.random.default_rng(7).normal(size=(ROWS, COLUMNS), chunks=(500, COLUMNS))
        x = da.arange(COLUMNS, chunks=COLUMNS) + noise  # a recipe: nothing is computed yet

    a = np.from_dask(x)  # all ranks call it; only rank 0 has an x
    normal = (a - a.mean(axis=0)) / a.std(axis=0)
    print(
        f"rank {np.world.rank} of {np.world.size} holds {len(normal.local)} rows of {len(normal)}"
    )

    y = np.to_dask(normal)  # rank 0, which has a client, gets the dask.array
    if y is not None:
        spread = float(abs(y.mean(axis=0)).max().compute())
        print(f"Dask has {y.numblocks[0]} blocks of it, and the largest mean is {spread:.0e}")
        assert spread < 1e-12
    np.world.barrier()
    if cluster is not None:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
