"""Say who is here, and add up a million numbers together.

python examples/hello.py
atoll run -n 2 examples/hello.py
"""

import numpy as np

import atoll

LAST = 1_000_000

rank, size = atoll.world.rank, atoll.world.size
mine = np.arange(1 + rank, LAST + 1, size)
total = atoll.world.communicator.allreduce(np.array([mine.sum()]), "sum", what="the total")[0]

ranks = "1 rank" if size == 1 else f"{size} ranks"
threads = "1 thread" if atoll.config.threads == 1 else f"{atoll.config.threads} threads"
print(f"Hello from rank {rank}: atoll {atoll.__version__} on {ranks}, each with {threads}.")
print(f"I added {len(mine)} of the numbers from 1 to {LAST}; together we got {total}.")
assert total == LAST * (LAST + 1) // 2
