"""What memory each rank takes for every public function and method, measured in shares.

``mpiexec -n 4 python -m tests.collective.survey [word ...]`` makes each call of :mod:`.surface` whose name has one of the
words in it (all calls, where none is given), on large arrays in even blocks of rows, and prints those that take most first. A *share* is the part that a
rank has of the largest array among operands and results; what it *takes* is the most that buffers of the pool
and NumPy's arrays held at one time beyond the operands, results included, on the rank where that is most.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import atoll
from atoll.backend.memory import pool
from atoll.comm.in_step import allgather
from atoll.context import statistics

from . import surface

ROWS, COLUMNS, LENGTH = 1024, 512, 1 << 19
TOO_LARGE = ("outer", "linalg.outer", "add.outer")
"""Calls whose results would not fit at this size."""
TOO_SLOW = ("a.flat iteration", "a.iteration", "vectorize", "frompyfunc")
"""Calls of Python's for each element."""


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


class Operands:
    """Operands on ranks, made when a call asks for them."""

    def __init__(self, wholes: dict[str, np.ndarray[Any, Any]]) -> None:
        self._wholes = wholes

    def __getattr__(self, name: str) -> Any:
        whole = self._wholes[name]
        layout = atoll.Layout(whole.shape, "b" + "n" * (whole.ndim - 1), size=atoll.world.size)
        made = atoll.asarray(whole.copy()).redistribute(layout)
        made._evaluate()
        setattr(self, name, made)
        return made


def measured(call: Callable[[Any, Any], Any], wholes: dict[str, np.ndarray[Any, Any]]) -> Measured:
    """The least of two calls, after a first one that compiles. Collective, and on processes of their own only."""
    x = Operands(wholes)
    sizes = [one.nbytes for one in _done(call(atoll, x))]
    names = [name for name in vars(x) if not name.startswith("_")]
    sizes += [wholes[name].nbytes for name in names]
    found = []
    for _ in range(2):
        x = Operands(wholes)
        for name in names:
            getattr(x, name)
        gc.collect()
        statistics.reset_stats()
        before = pool.usage().used
        tracemalloc.start()
        results = _done(call(atoll, x))
        counts = statistics.stats()
        traced = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        del results
        found.append((traced + max(counts.peak_bytes - before, 0), counts.gathered))
    every = allgather(atoll.world.communicator, np.array(min(found)), "what was measured")
    taken, gathered = every.reshape(-1, 2).max(0).tolist()
    return Measured(max(sizes) // atoll.world.size, taken, gathered)


def _done(result: Any) -> list[Any]:
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    for part in parts:
        if isinstance(part, atoll.ndarray):
            part._evaluate()
    return [part for part in parts if hasattr(part, "nbytes")]


def main(words: list[str]) -> None:
    """Measure calls, and print what they take."""
    wholes = surface.operands(ROWS, COLUMNS, LENGTH)
    lines = []
    for name, call in surface.CALLS.items():
        if name in TOO_LARGE + TOO_SLOW or (words and not any(word in name for word in words)):
            continue
        try:
            one = measured(call, wholes)
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
