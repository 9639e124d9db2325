"""The table of NumPy's API: what computes each function in one process, and where ranks compute it.

Each function is called on arrays that are recorded, by the calls of ``tests/collective/calls.py``, and the count of
kernels tells whether compiled loops ran. The tests make the same calls on ranks: a function that gathers
without being exempt there fails them.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

import atoll
from atoll.comm import simulated

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

GROUPS = {
    "Elementwise functions": lambda name: isinstance(getattr(numpy, name, None), numpy.ufunc),
    "Functions": lambda name: "." not in name,
    "Methods": lambda name: name.startswith("a."),
    "Linear algebra": lambda name: name.startswith("linalg."),
    "Fourier transforms": lambda name: name.startswith("fft."),
}
FILES = {
    "save",
    "savez",
    "savez_compressed",
    "savetxt",
    "load",
    "loadtxt",
    "genfromtxt",
    "fromfile",
}
"""Functions with which all ranks write or read one file."""

OF_A_MATRIX = [
    "cholesky",
    "cond",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "svd",
    "svdvals",
]


def _arrays(value: Any) -> Iterator[Any]:
    for part in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(part, (numpy.ndarray, atoll.ndarray)):
            yield part


def computed_by() -> dict[str, str]:
    """By name: whether compiled loops, NumPy, or nothing but a view gives the result in one process."""
    from tests.collective import calls

    whole = calls.operands()
    kinds: dict[str, set[str]] = defaultdict(set)
    with warnings.catch_warnings(), atoll.config(small=0):
        warnings.simplefilter("ignore")
        for line in calls.lines(calls.PUBLIC):
            name, *_ = calls.attributes(line) or [""]
            plain = {k: value.copy() for k, value in whole.items()}
            expected = calls.run(line, numpy, plain)
            is_view = name not in kinds and any(
                made is not given and numpy.shares_memory(made, given)
                for made in _arrays(expected)
                for given in plain.values()
            )
            ours = {k: atoll.asarray(value.copy()) for k, value in whole.items()}
            before = atoll.stats().kernels_run
            for made in [*_arrays(calls.run(line, atoll, ours)), *ours.values()]:
                numpy.asarray(made)
            loops = atoll.stats().kernels_run > before
            kinds[name].add("view" if is_view else "loops" if loops else "NumPy")
    return {
        name: next(kind for kind in ("view", "loops", "NumPy") if kind in seen)
        for name, seen in kinds.items()
        if name
    }


def on_ranks() -> dict[str, str]:
    """By name: what ranks do where they do not share the work."""
    from tests.collective import calls

    done = dict.fromkeys(calls.EXEMPT, "each rank")
    for name, reason in calls.EXEMPT.items():
        if name in FILES:
            done[name] = "own part of the file"
        elif reason == "asks for the whole value":
            done[name] = "gathered"
    for line in calls.lines(calls.PUBLIC):
        gathers = calls.GATHERS.search(line)
        if gathers:
            case, reason = gathers.groups()
            because = "" if reason == "NumPy's on the data" else f": {reason}"
            done[calls.attributes(line)[0]] = f"gathered{f' ({case})' if case else ''}{because}"
    for name in simulated.run(2, gathering_squares)[0]:
        done[name] = "gathered (square matrices)"
    return done


def gathering_squares() -> list[str]:
    """Which functions of a matrix bring all of a square one to each rank."""
    names = []
    with atoll.config(small=0, everywhere=0):
        square = atoll.asarray(numpy.random.default_rng(1).random((64, 64))) + atoll.eye(64) * 64
        square = (square + square.T).redistribute(atoll.Layout((64, 64)))
        atoll.sync()
        for name in OF_A_MATRIX:
            before = atoll.stats().gathered
            getattr(atoll.linalg, name)(square)
            atoll.sync()
            if atoll.stats().gathered - before > square.nbytes // 2:
                names.append(f"linalg.{name}")
    return names


LEGEND = """# NumPy's functions

Who computes each function on large arrays, in one process and on several ranks. A program writes this table: it calls every
function and counts what runs.

| | |
|---|---|
| loops | compiled loops, fused with the operations around them |
| view | no elements move |
| NumPy | NumPy's function on the array's memory |
| distributed | each rank computes its share, and ranks exchange what they need |
| gathered | the whole array is brought to every rank: avoid it in loops |
| each rank | there is nothing to share: every rank calls NumPy |

What the table does not list is NumPy's own object: dtypes, constants, classes. Random numbers have
[a page of their own](../guide/random.md).
"""


def page() -> str:
    """The whole page."""
    local, spread = computed_by(), on_ranks()
    rest = {name for name, kind in atoll.coverage().items() if kind == "data"} - set(local)
    local |= {name: "NumPy" for name in rest if callable(getattr(numpy, name))}
    local |= {f"linalg.{name}": "NumPy" for name in (*OF_A_MATRIX, "solve", "lstsq")}
    lines, left = [LEGEND], sorted(name for name in local if not name.startswith("random"))
    for title, belongs in GROUPS.items():
        lines += [f"## {title}", "", "| function | one process | on ranks |", "|---|---|---|"]
        lines += [
            f"| `{name}` | {local[name]} | {spread.get(name, 'distributed')} |"
            for name in left
            if belongs(name)
        ]
        lines.append("")
        left = [name for name in left if not belongs(name)]
    return "\n".join(lines)
