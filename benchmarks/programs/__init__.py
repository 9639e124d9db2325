"""The programs of the suite, each written once in NumPy's dialect for any module that speaks it."""

from __future__ import annotations

from collections.abc import Iterable

from . import elementwise, learning, linear, masks, reductions, stencils
from .program import Program

GROUPS: dict[str, tuple[Program, ...]] = {
    "elementwise": elementwise.PROGRAMS,
    "stencils": stencils.PROGRAMS,
    "linear": linear.PROGRAMS,
    "learning": learning.PROGRAMS,
    "masks": masks.PROGRAMS,
    "reductions": reductions.PROGRAMS,
}
PROGRAMS = {program.name: program for group in GROUPS.values() for program in group}


def chosen(names: Iterable[str]) -> list[Program]:
    """The programs of these names or groups, in the order of the suite; all where none is named."""
    wanted: set[str] = set()
    for name in names:
        if name in GROUPS:
            wanted.update(program.name for program in GROUPS[name])
        elif name in PROGRAMS:
            wanted.add(name)
        else:
            known = ", ".join([*GROUPS, *PROGRAMS])
            raise SystemExit(f"suite: there is no program {name!r}; there are {known}")
    return [program for program in PROGRAMS.values() if not wanted or program.name in wanted]
