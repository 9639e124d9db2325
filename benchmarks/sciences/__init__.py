"""Programs as scientists write them for NumPy: short, of usual sizes, and not written for a benchmark.

Most of what they do is small: loops over rows, vectors of four numbers, masks, rolled grids. That is what
they are here for. Each stands alone, as a program of somebody's does, though some have lines in common.
"""

from . import biology, chance, equations, flows, images, learning, matrices, motion, signals
from .program import SCIENCES, Science

__all__ = [
    "SCIENCES",
    "Science",
    "biology",
    "chance",
    "equations",
    "flows",
    "images",
    "learning",
    "matrices",
    "motion",
    "signals",
]
