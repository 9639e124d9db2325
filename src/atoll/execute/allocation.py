"""Steps that allocate, share, copy and release the memory of registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import backend
from ..backend.base import Told
from ..context.call_sites import site_text
from ..graph.geometry import Geometry
from ..graph.node import Site
from .parts import State


@dataclass(slots=True, eq=False)
class Purpose:
    """The purpose of an allocation, formatted only if it is refused."""

    geometry: Geometry
    site: Site | None

    def at(self, sites: Mapping[Site | None, Site | None]) -> Purpose:
        """The purpose with the lines of another run."""
        return Purpose(self.geometry, sites.get(self.site, self.site))

    def __str__(self) -> str:
        form = self.geometry
        place = f", at {site_text(self.site)}" if self.site else ""
        return f"an array of shape {form.shape} and dtype {form.dtype}{place}"


class Allocate:
    """A new buffer for a register, filled with ``initial`` unless that is ``None``."""

    __slots__ = ("allocate", "geometry", "initial", "register", "wanted")

    def __init__(
        self, register: int, geometry: Geometry, initial: Any = None, site: Site | None = None
    ) -> None:
        self.allocate = backend.current().allocate
        self.register = register
        self.geometry = geometry
        self.initial = initial
        self.wanted = Purpose(geometry, site)

    def run(self, state: State) -> None:
        value = self.allocate(self.geometry, self.wanted)
        if self.initial is not None:
            value.array.fill(self.initial)
        state.registers[self.register] = value

    def told(self) -> tuple[Any, ...] | None:
        """The step for the native evaluation."""
        if self.initial is not None:
            return None
        return Told.ALLOCATE, self, (self.register,), self.geometry, self.wanted


@dataclass(slots=True, eq=False)
class Share:
    """A register that shares the memory of another one."""

    register: int
    source: int

    def run(self, state: State) -> None:
        value = state.registers[self.source]
        assert value is not None
        value.known = None
        state.registers[self.register] = value

    def told(self) -> tuple[Any, ...]:
        """The step for the native evaluation."""
        return Told.SHARE, self, (self.register, self.source)


class Copy:
    """A new buffer with the contents of another register."""

    __slots__ = ("geometry", "register", "source", "wanted")

    def __init__(
        self, register: int, source: int, geometry: Geometry, site: Site | None = None
    ) -> None:
        self.register = register
        self.source = source
        self.geometry = geometry
        self.wanted = Purpose(geometry, site)

    def run(self, state: State) -> None:
        value = backend.current().allocate(self.geometry, self.wanted)
        source = state.registers[self.source]
        assert source is not None
        np.copyto(value.array, source.array)
        state.registers[self.register] = value

    def told(self) -> tuple[Any, ...]:
        """The step for the native evaluation."""
        return Told.COPY, self, (self.register, self.source), self.geometry, self.wanted


@dataclass(slots=True, eq=False)
class Release:
    """Release registers that no later step needs."""

    registers: tuple[int, ...]

    def run(self, state: State) -> None:
        for register in self.registers:
            state.registers[register] = None

    def told(self) -> tuple[Any, ...]:
        """The step for the native evaluation."""
        return Told.RELEASE, self, self.registers
