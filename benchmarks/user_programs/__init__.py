"""Programs as users write them for NumPy: short, of usual sizes, and not written for a benchmark.

Loops over rows, vectors of four numbers, masks, rolled grids, classes, long formulas. Each stands alone, as a program
of somebody's does, though some have lines in common.
"""

from __future__ import annotations

from importlib import import_module

from .program import PROGRAMS, SIZES, Program

CLASSES = (
    "factorisations", "kernels", "tables", "graphs", "networks", "learning", "climate", "flows", "equations", "motion",
    "images", "automata", "signals", "biology", "chance", "finance", "matrices", "borrowed", "small",
)  # fmt: skip
for kind in CLASSES:
    import_module(f"{__name__}.{kind}")

__all__ = ["CLASSES", "PROGRAMS", "SIZES", "Program"]
