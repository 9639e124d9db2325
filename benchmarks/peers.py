"""Who takes part: NumPy, atoll, and whatever else of the kind is installed.

A peer is either an array module of its own (Dask, JAX, Heat), which runs the very source of the
program, or a compiler (numexpr, Numba), for which the few programs that it can take are written
down here in its manner.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from programs.program import Program

PEERS = ("numexpr", "numba", "dask", "jax", "heat")


@dataclass(frozen=True, slots=True)
class Contestant:
    """An array module, and how to wait for it and look at its arrays."""

    name: str
    module: Any
    finish: Callable[[Any], None]
    plain: Callable[[Any], Any] = np.asarray
    run: Callable[[int], Iterator[Any]] | None = None
    """The program in the manner of a compiler, where there is no array module."""

    def tolerance(self, program: Program) -> float:
        """How far its results may be from NumPy's: peers may round in another way."""
        return program.tolerance if self.name == "atoll" else max(program.tolerance, 1e-9)

    def counters(self) -> dict[str, int]:
        """What atoll has counted so far; nothing for others."""
        return asdict(self.module.stats()) if self.name == "atoll" else {}


def installed(names: list[str]) -> list[str]:
    """Those of the peers that can be imported here."""
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise SystemExit(f"suite: there is no peer {unknown[0]!r}; there are {', '.join(PEERS)}")
    return [name for name in names if importlib.util.find_spec(name) is not None]


def _nothing(result: Any) -> None:
    """NumPy has done everything already."""


def contestant(name: str, program: str) -> Contestant:
    """The contestant of this name for this program; NotImplementedError where it cannot take it."""
    if name == "numpy":
        return Contestant(name, np, _nothing)
    if name == "atoll":
        atoll = importlib.import_module("atoll")
        return Contestant(name, atoll, lambda result: atoll.sync())
    if name == "dask":
        return _dask()
    if name == "jax":
        return _jax()
    if name == "heat":
        heat = importlib.import_module("heat")
        return Contestant(name, heat, _nothing, lambda a: a.numpy() if hasattr(a, "numpy") else a)
    written = importlib.import_module(f"peer_{name}").PROGRAMS
    if program not in written:
        raise NotImplementedError(f"{program} is not written for {name}")
    return Contestant(name, None, _nothing, run=written[program])


def _each(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def _dask() -> Contestant:
    module = importlib.import_module("dask.array")
    dask = importlib.import_module("dask")

    def finish(result: Any) -> None:
        if result is not None:
            dask.compute(*_each(result))

    return Contestant("dask", module, finish)


def _jax() -> Contestant:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    module = importlib.import_module("jax.numpy")

    def finish(result: Any) -> None:
        for array in _each(result):
            if hasattr(array, "block_until_ready"):
                array.block_until_ready()

    return Contestant("jax", module, finish)
