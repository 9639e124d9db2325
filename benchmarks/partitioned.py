"""What ``__partitioned__`` costs: taking in an array of any size, and showing one.

    python benchmarks/partitioned.py [--smoke]
    atoll run -n 2 benchmarks/partitioned.py

An array that the ranks hold is taken in over the same memory, so its size must not matter; what is
shown costs something for the call and something for each partition: under 100 us for a rank's own.
The best of several rounds counts.
"""

import argparse
import time

import numpy as np

import atoll

PROMISE = 100.0


def best(call, rounds):
    """Microseconds of the fastest of several calls, which all ranks begin together."""
    found = []
    for _ in range(rounds):
        atoll.world.barrier()
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return 1e6 * min(found)


def strips(rows, columns, count):
    """Rows cut into ``count`` partitions, dealt to the ranks in blocks."""
    size = atoll.world.size
    bounds = np.linspace(0, rows, count * size + 1).astype(int)
    first, last = count * atoll.world.rank, count * (atoll.world.rank + 1)
    mine = np.zeros((bounds[last] - bounds[first], columns))
    partitions = {}
    for k in range(count * size):
        own = first <= k < last
        low, high = bounds[k], bounds[k + 1]
        partitions[k, 0] = {
            "start": (int(low), 0),
            "shape": (int(high - low), columns),
            "data": mine[low - bounds[first] : high - bounds[first]] if own else None,
            "location": [("127.0.0.1", k)],
        }
    return {
        "shape": (rows, columns),
        "partition_tiling": (count * size, 1),
        "partitions": partitions,
        "locals": [(k, 0) for k in range(first, last)],
        "get": atoll.interchange.partitioned.export.get,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few rounds, small arrays")
    rounds = 3 if parser.parse_args().smoke else 50
    say = print if atoll.world.rank == 0 else (lambda *words: None)
    say(f"{atoll.world.size} ranks; microseconds")
    for rows in (1000, 100_000) if rounds == 3 else (1000, 100_000, 1_000_000):
        given = strips(rows, 100, 1)
        cost = best(lambda given=given: atoll.from_partitioned(given, copy=False), rounds)
        say(f"  take in {rows * 800 / 1e6:8.1f} MB in 1 partition a rank: {cost:9.1f}")
    for count in (1, 10, 100):
        given = strips(10_000, 100, count)
        cost = best(lambda given=given: atoll.from_partitioned(given, copy=False), rounds)
        say(f"  take in      8.0 MB in {count:3d} partitions a rank: {cost:6.1f}")
    a = atoll.from_partitioned(strips(10_000, 100, 1))
    cost = best(lambda: a.__partitioned__, rounds)
    say(f"  show 1 partition a rank: {cost:.1f} (promised: {PROMISE:g} and the records)")


if __name__ == "__main__":
    main()
