"""What layouts cost: planning a transfer over 1024 ranks, and translating a million indices.

    python benchmarks/layout.py [--smoke] [--json]

Planning is measured on one rank of 1024 for an axis of 10**9 elements: make two layouts, and
all records of what this rank sends and receives. From block to cyclic it is to stay under
10 ms. Owner and translation of 10**6 random indices are compared, in turns within one run,
with the NumPy expression that a person would write for the same answer. The best of several
rounds counts.
"""

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

from atoll.layout import Block, Cyclic, Layout, Transfer, Unstructured, block_cyclic, transfer

PROMISE = 10.0
EXTENT, RANKS, RANK = 10**9, 1024, 17


def best(call: Callable[[], object], rounds: int) -> float:
    """Milliseconds of the fastest of several calls."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


def in_turns(ours: Callable[[], object], numpys: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds of two calls, measured one after the other in each round."""
    pairs = [(best(ours, 1), best(numpys, 1)) for _ in range(rounds)]
    return [min(pair[side] for pair in pairs) for side in (0, 1)]


def planning(rounds: int) -> dict[str, float]:
    """Milliseconds to make two layouts and one rank's transfer between them."""
    irregular = Block((0, *range(1000, 1000 + (RANKS - 1) * 900_000, 900_000), EXTENT))
    pairs = {
        "block -> cyclic": ("b", "c"),
        "cyclic -> block": ("c", "b"),
        "block -> cyclic(64)": ("b", [Cyclic(64)]),
        "cyclic(64) -> cyclic(77)": ([Cyclic(64)], [Cyclic(77)]),
        "block -> irregular block": ("b", [irregular]),
    }

    def plan(source: object, target: object) -> Transfer:
        return transfer(
            Layout((EXTENT,), source, size=RANKS), Layout((EXTENT,), target, size=RANKS), RANK
        )

    found = {}
    for name, (source, target) in pairs.items():
        found[name] = best(lambda source=source, target=target: plan(source, target), rounds)
    flat, dealt = (Layout((10**5, 10**5), maps, grid=(32, 32), size=RANKS) for maps in ("bb", "cc"))
    found["blocks -> cyclic, 2-d"] = best(lambda: transfer(flat, dealt, RANK), rounds)
    return found


def translation(count: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds for ``count`` random indices: by the layout, and by NumPy."""
    generator = np.random.default_rng(0)
    index = generator.integers(0, EXTENT, count)
    cuts = np.sort(generator.choice(EXTENT, RANKS - 1, replace=False))
    bounds = np.array([0, *cuts, EXTENT])
    found = {}

    even = Layout((EXTENT,), "b", size=RANKS)
    width = -(-EXTENT // RANKS)
    even_bounds = np.asarray([even.region(rank)[0].lowest for rank in range(RANKS)])

    def searched(limits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        owner = np.searchsorted(limits, index, side="right") - 1
        return owner, index - limits[owner]

    def divided() -> tuple[np.ndarray, np.ndarray]:
        owner = index // width
        return owner, index - owner * width

    found["block, against searchsorted"] = in_turns(
        lambda: even.locate(index), lambda: searched(even_bounds), rounds
    )
    found["block, against equal blocks"] = in_turns(lambda: even.locate(index), divided, rounds)
    irregular = Layout((EXTENT,), [Block(bounds.tolist())], size=RANKS)
    found["irregular block"] = in_turns(
        lambda: irregular.locate(index), lambda: searched(bounds), rounds
    )
    cyclic = Layout((EXTENT,), "c", size=RANKS)
    found["cyclic"] = in_turns(
        lambda: cyclic.locate(index), lambda: np.divmod(index, RANKS), rounds
    )
    blocks = Layout((EXTENT,), [Cyclic(64)], size=RANKS)

    def dealt() -> tuple[np.ndarray, np.ndarray]:
        block, inside = np.divmod(index, 64)
        turn, owner = np.divmod(block, RANKS)
        return owner, turn * 64 + inside

    found["cyclic(64)"] = in_turns(lambda: blocks.locate(index), dealt, rounds)
    order = generator.permutation(count)
    listed = Layout((count,), [Unstructured(np.array_split(order, 4), one_to_one=True)], size=4)
    owners, places = np.empty(count, np.int64), np.empty(count, np.int64)
    for rank, part in enumerate(np.array_split(order, 4)):
        owners[part], places[part] = rank, np.arange(len(part))
    within = generator.integers(0, count, count)
    found["unstructured"] = in_turns(
        lambda: listed.locate(within), lambda: (owners[within], places[within]), rounds
    )
    held = block_cyclic(64, 64 * RANKS, 64 * RANK, 0, EXTENT)
    local = generator.integers(0, len(held), count)

    def back() -> np.ndarray:
        turn, inside = np.divmod(local, 64)
        return turn * (64 * RANKS) + inside + 64 * RANK

    found["local to global, cyclic(64)"] = in_turns(lambda: held.global_of(local), back, rounds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="measure hardly anything")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    rounds, count = (1, 10**4) if options.smoke else (15, 10**6)
    plans, indices = planning(rounds), translation(count, rounds)
    if options.json:
        report = {
            "planning_ms": plans,
            "translation_ms": {
                name: {"atoll": ours, "numpy": numpys, "ratio": ours / numpys}
                for name, (ours, numpys) in indices.items()
            },
            "indices": count,
        }
        print(json.dumps(report))
        return
    print(f"layouts and one rank's transfer, {EXTENT} elements over {RANKS} ranks")
    for name, milliseconds in plans.items():
        limit = f"   (at most {PROMISE:g})" if name == "block -> cyclic" else ""
        print(f"  {name:32} {milliseconds:9.2f} ms{limit}")
    print(f"owner and local index of {count} indices         atoll     NumPy   ratio")
    for name, (ours, numpys) in indices.items():
        print(f"  {name:32} {ours:9.2f} ms {numpys:9.2f} ms {ours / numpys:6.2f}")


if __name__ == "__main__":
    main()
