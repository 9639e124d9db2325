"""Draws tickets from a shared counter: each number goes to one rank.

Run:  mpiexec -n 4 python read_increment.py [tickets]
"""

import sys

import atoll as np


def tickets(count: int) -> tuple[list[int], np.ndarray]:
    """The tickets of this rank, and by ticket the rank that has it."""
    counter, owner = np.zeros(1, int), np.zeros(count, int)
    mine = []
    with np.onesided(counter) as c, np.onesided(owner) as o:
        while (ticket := c.fetch_add(0, 1)) < count:
            mine.append(int(ticket))
            o.put(mine[-1], np.world.rank)
    return mine, owner


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    mine, owner = tickets(count)
    each = [int((owner == rank).sum()) for rank in range(np.world.size)]
    if np.world.rank == 0:
        print(f"{count} tickets by rank: {each}")
