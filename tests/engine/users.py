"""Programs as users write them, in NumPy and in atoll: ``python -m tests.engine.users [large] [name ...]``, or under ``atoll run -n 3 -m``.

The programs are those of ``benchmarks/user_programs``, which ``tests/test_users.py`` runs once each. Here results are compared
on every rank, with ``config.small`` at 0, at 50 and at its default; with the word ``large``, arrays are above all thresholds.
"""

from __future__ import annotations

import sys
import traceback

import numpy

import atoll

from ..test_users import PROGRAMS, measuring, result


def difference(name: str, size: str, small: int) -> str:
    """What differs from NumPy in the result of a program."""
    try:
        with atoll.config(small=small):
            found = result(atoll, name, size)
        tolerance = max(PROGRAMS[name].tolerance, 1e-12)
        return measuring.differences(found, result(numpy, name, size), tolerance)
    except Exception:
        return traceback.format_exc()[-2500:]


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "large"] or list(PROGRAMS)
    size, limits = ("medium", (30_000,)) if "large" in sys.argv else ("smoke", (0, 50, 30_000))
    wrong = 0
    for name in names:
        for small in limits:
            found = difference(name, size, small)
            wrong += bool(found)
            if found:
                world = atoll.world
                print(
                    f"{name}, small={small}, rank {world.rank} of {world.size}: {found}", flush=True
                )
    print(f"{len(names)} programs, {wrong} wrong", flush=True)


if __name__ == "__main__":
    main()
