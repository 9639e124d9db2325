"""What memory each rank takes for every public function and method, measured in shares.

``mpiexec -n 4 python -m tests.collective.survey [word ...]`` makes each public call of :mod:`.calls` that has one of the
words in it (all calls, where none is given), on large arrays in even blocks of rows, and prints those that take most first. A *share* is the part that a
rank has of the largest array among operands and results; what it *takes* is the most that buffers of the pool
and NumPy's arrays held at one time beyond the operands, results included, on the rank where that is most.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import atoll
from atoll.backend.memory import pool
from atoll.comm.in_step import allgather
from atoll.context import statistics

from . import calls

ROWS, COLUMNS, LENGTH = 1024, 512, 1 << 19
LEFT_OUT = ("outer(v", "zip(a.flat", "for row in a", "vectorize", "frompyfunc")
"""Words of calls whose results would not fit, and of calls of Python's for each element."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes; those of the rank that has most."""

    share: int
    taken: int
    """At one time, beyond the operands."""
    gathered: int
    """Of whole arrays that were brought to the rank."""

    @property
    def shares(self) -> float:
        return self.taken / max(self.share, 1)


def measured(line: str, wholes: dict[str, np.ndarray[Any, Any]]) -> Measured:
    """The least of two calls, after a first one that compiles. Collective, and on processes of their own only."""
    names = [name for name in compile(line, "<a call>", "exec").co_names if name in wholes]
    sizes = [one.nbytes for one in _done(line, _placed(names, wholes))]
    sizes += [wholes[name].nbytes for name in names]
    found = []
    for _ in range(2):
        placed = _placed(names, wholes)
        gc.collect()
        statistics.reset_stats()
        before = pool.usage().used
        tracemalloc.start()
        results = _done(line, placed)
        counts = statistics.stats()
        traced = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        del results
        found.append((traced + max(counts.peak_bytes - before, 0), counts.gathered))
    every = allgather(atoll.world.communicator, np.array(min(found)), "what was measured")
    taken, gathered = every.reshape(-1, 2).max(0).tolist()
    return Measured(max(sizes) // atoll.world.size, taken, gathered)


def _placed(names: list[str], wholes: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Operands in blocks of rows."""
    placed = {}
    for name in names:
        whole = wholes[name]
        layout = atoll.Layout(whole.shape, "b" + "n" * (whole.ndim - 1), size=atoll.world.size)
        placed[name] = atoll.asarray(whole.copy()).redistribute(layout)
        placed[name]._evaluate()
    return placed


def _done(line: str, placed: dict[str, Any]) -> list[Any]:
    """What a line gives, evaluated with all that it has changed."""
    result = calls.run(line, atoll, placed)
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    for part in [*parts, *placed.values()]:
        if isinstance(part, atoll.ndarray):
            part._evaluate()
    return [part for part in parts if hasattr(part, "nbytes")]


def main(words: list[str]) -> None:
    """Measure calls, and print what they take."""
    wholes = calls.operands(ROWS, COLUMNS, LENGTH)
    lines = []
    for name in calls.lines(calls.PUBLIC):
        if any(word in name for word in LEFT_OUT) or (words and not any(w in name for w in words)):
            continue
        try:
            one = measured(name, wholes)
        except (
            ValueError,
            np.linalg.LinAlgError,
        ) as error:  # written for operands of another shape
            lines.append((-1.0, f"{name:36} not at this size: {error}"))
            continue
        text = f"{one.shares:7.2f} shares of {one.share:9}, gathered {one.gathered:9}"
        lines.append((one.shares, f"{name:36} {text}"))
    if atoll.world.rank == 0:
        print("\n".join(line for _, line in sorted(lines, reverse=True)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
