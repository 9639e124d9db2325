"""Two independent programs share one array without a copy.

python examples/distarray_exchange.py
atoll run -n 2 examples/distarray_exchange.py

`Slabs` stands for a simulation in plain mpi4py and NumPy. Its method `__distarray__`
describes the rows of each process. atoll computes with the array in the same memory, and
exports it by the same protocol; `total` stands for a third program, which reads any array
of the protocol.
"""

from contextlib import suppress
from typing import Any

import numpy as np

import atoll

world: Any = None
rank, size = 0, 1
with suppress(ImportError):
    from mpi4py import MPI

    world, rank, size = MPI.COMM_WORLD, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size


class Slabs:
    """Rows of a grid in slabs, with one ghost row on either side."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows = rows
        self.start, self.stop = rows * rank // size, rows * (rank + 1) // size
        # Version 1.0 counts the neighbours' rows into start and stop.
        self.left, self.right = int(rank > 0), int(rank < size - 1)
        self.values = np.zeros((self.stop - self.start + self.left + self.right, columns))
        self.values[:] = np.arange(self.start - self.left, self.stop + self.right)[:, None]

    def __distarray__(self) -> dict[str, Any]:
        rows = {
            "dist_type": "b",
            "size": self.rows,
            "proc_grid_size": size,
            "proc_grid_rank": rank,
            "start": self.start - self.left,
            "stop": self.stop + self.right,
            "padding": (self.left, self.right),
        }
        return {"__version__": "1.0.0", "buffer": self.values, "dim_data": (rows, {})}


def total(producer: Any) -> float:
    """The sum of a block-distributed array of any library, each element counted once."""
    description = producer.__distarray__()
    values = np.asarray(description["buffer"])
    for axis, dimension in enumerate(description["dim_data"]):
        left, right = dimension.get("padding", (0, 0))
        first = dimension.get("proc_grid_rank", 0) == 0
        last = dimension.get("proc_grid_rank", 0) == dimension.get("proc_grid_size", 1) - 1
        owned = slice(0 if first else left, values.shape[axis] - (0 if last else right))
        values = values[(slice(None),) * axis + (owned,)]
    part = float(values.sum())
    return float(world.allreduce(part)) if world else part


slabs = Slabs(8, 5)
assert atoll.check_distarray(slabs) == []

u = atoll.from_distarray(slabs)
print(f"atoll sees {u.shape[0]} x {u.shape[1]} numbers: {u.layout!r}")
before = total(slabs)

u.local[...] *= 2  # the simulation's own memory ...
u.exchange_halos()  # ... and its neighbours' rows
assert np.shares_memory(u.local, slabs.values)
assert slabs.values[-1, 0] == 2 * (slabs.stop + slabs.right - 1)
print(f"doubled in place: the simulation's total went from {before:g} to {total(slabs):g}")

view = u[2:6, 1:4]  # a view is shared as well: an irregular block
print(f"rows 2 to 5, columns 1 to 3, of all ranks together: {total(view):g}")
assert total(view) == 2 * 3 * (2 + 3 + 4 + 5)
