"""Greet from each rank, join the ranks' blocks to one array, and add it up.

python examples/hello.py
atoll run -n 2 examples/hello.py
"""

import numpy as np

import atoll

rank, size = atoll.world.rank, atoll.world.size

ranks = "1 rank" if size == 1 else f"{size} ranks"
threads = "1 thread" if atoll.config.threads == 1 else f"{atoll.config.threads} threads"
print(f"Hello from rank {rank}: atoll {atoll.__version__} on {ranks}, each with {threads}.")

# Each rank has two rows of its own. Together they are one array; nothing is copied.
rows = np.arange(2 * rank, 2 * rank + 2).repeat(8).reshape(2, 8)
array = atoll.from_local(rows)
print(f"The array is {array.shape[0]} x {array.shape[1]}. Who owns which element:")
print(array.layout.show())

share = np.array([array.local.sum()])
total = atoll.world.communicator.allreduce(share, "sum", what="the total")[0]
print(f"My elements add up to {share[0]}, all of them to {total}.")
assert total == 8 * sum(range(array.shape[0]))
