"""A program in plain mpi4py and a dictionary shares its partitions without a copy.

python examples/partitioned_exchange.py
atoll run -n 2 examples/partitioned_exchange.py

`strips` stands for a program without atoll: each rank holds a few rows of a table, and a
dictionary, the `__partitioned__` protocol, describes them. atoll works on that memory;
`largest` stands for a third program, which reads any array of the protocol.
"""

import os
import socket
from contextlib import suppress
from typing import Any

import numpy as np

import atoll

world: Any = None
rank, size = 0, 1
with suppress(ImportError):
    from mpi4py import MPI

    world, rank, size = MPI.COMM_WORLD, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size


def identity(handles: Any) -> Any:
    """The handles of local partitions are the data."""
    return handles


def strips(rows: int, columns: int) -> tuple[np.ndarray, dict[str, Any]]:
    """The table in one strip of rows for each rank, with its description by the protocol."""
    bounds = [rows * k // size for k in range(size + 1)]
    numbers = np.arange(bounds[rank] * columns, bounds[rank + 1] * columns, dtype=float)
    mine = numbers.reshape(-1, columns)
    place = (socket.gethostbyname("localhost"), os.getpid(), "kDLCPU")
    places = world.allgather(place) if world else [place]
    partitions = {
        (k, 0): {
            "start": (bounds[k], 0),
            "shape": (bounds[k + 1] - bounds[k], columns),
            "data": mine if k == rank else None,
            "location": [places[k]],
        }
        for k in range(size)
    }
    return mine, {
        "shape": (rows, columns),
        "partition_tiling": (size, 1),
        "partitions": partitions,
        "locals": [(rank, 0)],
        "get": identity,
    }


def largest(producer: Any) -> float:
    """The largest number of a partitioned array of any library."""
    shown = producer.__partitioned__
    data = shown["get"]([shown["partitions"][position]["data"] for position in shown["locals"]])
    found = max(float(np.asarray(block).max()) for block in data)
    return max(world.allgather(found)) if world else found


mine, table = strips(7, 4)
assert atoll.check_partitioned(table) == []

a = atoll.from_partitioned(table, copy=False)
print(f"atoll sees {a.shape[0]} x {a.shape[1]} numbers: {a.layout!r}")

a *= 10  # lands in the program's own memory
assert np.shares_memory(a.local, mine)
assert mine[0, 1] == 10 * ((7 * rank // size) * 4 + 1)
print(f"the largest number is {largest(a):g}, the mean of the columns {a.mean(axis=0)}")

b = np.sqrt(a) + 1  # an array of atoll's own goes out in the same way
assert round(largest(b), 6) == round(float(b.max()), 6)
print(f"and of its square roots {largest(b) - 1:.3f}")
