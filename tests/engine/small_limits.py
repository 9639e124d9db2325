"""Limits as small as the arrays of random programs: what a limit decides must never decide what comes out.

Sizes up to which something is short or brought at once, and how many operations, streams, statements or pieces
go together, are far beyond what programs of a few lines reach. Here they are drawn anew, small, for a whole search.
"""

from __future__ import annotations

import random

from atoll import policy

LEAST = {
    "short": 6, "small": 16, "chunk": 8, "part_vector": 2, "registers": 2, "whole": 8, "packed": 16,
    "kernel_operations": 5, "kernel_streams": 4,
    "pending": 9, "pieces": 2, "patience": 1, "numbers": 3,
    "planned": 0.0, "cached": 16, "entries": 4,
}  # fmt: skip


def tighten(seed: int) -> dict[str, object]:
    """Draw some of the limits anew, to the end of the process; which, and how small they are now."""
    rng = random.Random(seed)
    drawn: dict[str, object] = {}
    for name, least in LEAST.items():
        if rng.random() < 0.4:
            times = rng.choice([1, 1, 2, 3])
            drawn[name] = (
                tuple([n * times for n in least]) if type(least) is tuple else least * times
            )
    _begun.append(policy.limited(**drawn))
    _begun[-1].__enter__()
    return drawn


_begun: list[object] = []
