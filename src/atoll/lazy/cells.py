"""The cells that a thread has made."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..front import native
from ..graph.node import Node

if TYPE_CHECKING:
    from .views import Cell


class _Cells(threading.local):
    """The cells that this thread has made, in order; the dead ones are dropped now and then.

    A simulated rank is a thread, and must not compute for the others.
    """

    def __init__(self) -> None:
        self.known: list[weakref.ref[Cell]] = []
        self.living = 0
        """Number of references at the last count."""

    def note(self, cell: Cell) -> None:
        """Note a cell that this thread has made."""
        self.known.append(weakref.ref(cell))
        if len(self.known) > 2 * self.living + 64:
            self.known = [known for known in self.known if known() is not None]
            self.living = len(self.known)


_cells = _Cells()


def own_cells() -> list[Cell]:
    """The cells of this thread, in the order in which they were made."""
    if native is not None:
        boxes: list[Cell] = native.boxes()
        return boxes
    cells = [known() for known in _cells.known]
    return [cell for cell in cells if cell is not None]


noted: Callable[[Cell], None] = _cells.note if native is None else native.link


def pending_cells() -> list[Cell]:
    """The cells of this thread with pending values, except deferred ones."""
    return [cell for cell in own_cells() if cell.node.value is None and cell.node.weight >= 0]


def cells_of(node: Node) -> list[Cell]:
    """The cells of this thread whose present value is ``node``."""
    return [cell for cell in own_cells() if cell.node is node]
