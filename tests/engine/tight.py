"""Limits as small as the arrays of random programs: what a limit decides must never decide what comes out.

Sizes up to which something is short, modest or brought at once, and how many operations, streams, statements or pieces
go together, are far beyond what programs of a few lines reach. Here they are drawn anew, small, for a whole search.
"""

from __future__ import annotations

import importlib
import random
import sys

LIMITS = {
    "graph.geometry": {"SHORT": 6, "MODEST": 16},
    "plan.lower": {"CHUNK_ELEMENTS": 8, "_LONGEST_RUN": 2},
    "plan.groups": {"MAX_STATEMENTS": 2},
    "plan.statements": {"MAX_OPERATIONS": 5, "MAX_STREAMS": 3, "_MOST_PIECES": 2},
    "plan.body": {"_DEEP": 2},
    "plan.flattened": {"_DEEP": 2},
    "plan.templates": {"MOST_TEMPLATES": 2},
    "lazy.views": {"MOST_PIECES": 2, "WEIGHT_LIMIT": 9},
    "lazy.fancy_indexing": {"MODEST": 8},
    "lazy.pieces": {"PATIENCE": 1, "SCATTERED": 2, "MOST": 20, "MODEST": 16, "GROWTH": 2, "KEPT": 2},
    "lazy.making": {"_BROADCAST": 10},
    "lazy.flat": {"_AHEAD": 3},
    "lazy.spread": {"SHORT_LIST": 2},
    "lazy.reductions": {"_AT_ONCE": 8},
    "lazy.small": {"LONGEST": 3},
    "ops.light": {"_FIRST": 2, "_MOST": 4, "_NODES": 2},
    "ops.windows": {"HEAVY": 4},
    "graph.pattern": {"_OFTEN": 2},
    "functions.spread.joining": {"_MOST": 2},
    "execute.exchange": {"KEPT": 16},
    "lazy.evaluate": {"_PROGRAMS_KEPT": 4, "_LINES_KEPT": 8, "_FITS_KEPT": 2},
}  # fmt: skip


def tighten(seed: int) -> dict[str, int]:
    """Draw some of the limits anew, to the end of the process; which, and how small they are now."""
    rng = random.Random(seed)
    drawn = {}
    for room, limits in LIMITS.items():
        home = importlib.import_module(f"atoll.{room}")
        for name, least in limits.items():
            if rng.random() < 0.6:
                continue
            old, new = getattr(home, name), least * rng.choice([1, 1, 2, 3])
            drawn[f"{room}.{name}"] = new
            for one in list(sys.modules.values()):
                if one.__name__.startswith("atoll") and one.__dict__.get(name) == old:
                    setattr(one, name, new)
    return drawn
