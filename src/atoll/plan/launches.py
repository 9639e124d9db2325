"""The planner's output for kernels: loops, and launches of kernels over boxes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..backend.spec import KernelSpec
from ..graph.node import Operation
from .registers import Memory


class Loop(NamedTuple):
    """One loop of a nest: over ``axes`` of the domain that were merged, stepping along ``axis``.

    Its index counts ``scale`` elements each, from ``start`` on. ``axis`` -1 steps nowhere.
    """

    extent: int
    axis: int
    axes: tuple[int, ...]
    scale: int = 1
    start: int = 0


@dataclass(slots=True)
class Launch:
    """One kernel over one box, with everything that is bound when it runs."""

    spec: KernelSpec
    extents: tuple[int, ...]
    chunk: int
    chunks: int
    memories: list[Memory]
    scalars: list[tuple[int, np.dtype[Any], int]]
    """Number of each run-time scalar of the program (or -1 and a literal), and its dtype."""
    origins: tuple[int, ...]
    """For each loop axis, the first index along it."""
    partials: list[tuple[int, int]]
    """For each full reduction: its register of partials, and the first one that this launch writes."""
    operations: list[Operation] = field(default_factory=list)
    axes: tuple[tuple[int, ...], ...] = ()
    """For each loop, the axes of the domain that it runs along."""
    compiled: Any = None
    """The backend's compiled object, shared by all steps of this launch."""
    begins: tuple[tuple[int, Any], ...] = ()
    """Registers of its folds with their initial values; this is the first launch that needs them."""


def alias_groups(memories: list[Memory]) -> list[int]:
    """The alias group of each operand. Operands of one register and one turn may overlap if the register is written; no others do."""
    written: set[int] = set()
    for m in memories:
        if m.access != "r":
            written.add(m.register)
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    groups: list[int] = []
    for m in memories:
        key = (m.register, m.part) if m.register in written else (-1, ())
        groups.append(numbers.setdefault(key, len(numbers)))
    return groups
