"""A campaign: the random programs of a range of seeds, those that go wrong printed, and all counted."""

from __future__ import annotations

import traceback
from collections.abc import Callable


def campaign(seeds: str, run: Callable[[int], str | None]) -> int:
    """Run the program of each seed of ``first:last``; ``run`` returns what is wrong, or raises it. The number of wrong ones."""
    first, last = map(int, seeds.split(":"))
    wrong = 0
    for seed in range(first, last):
        try:
            found = run(seed)
        except Exception as error:
            found = "".join(traceback.format_exception(error.__cause__ or error))[-2500:]
        if found:
            wrong += 1
            print("=" * 80, f"seed {seed}", found, sep="\n", flush=True)
        if seed % 100 == 99:
            print(f"{seed + 1 - first} programs, {wrong} wrong so far", flush=True)
    print(f"{last - first} programs, {wrong} wrong")
    return wrong
