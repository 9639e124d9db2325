"""Whether values lie on several ranks, and on which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..comm.world import World
from ..errors import WorldError
from ..kernels.rules import free
from ..ops.placement import Place, placed_view
from .cells import Handle


def place_of(value: Any) -> Place | None:
    """The place of an array, views included; ``None`` where every rank has it."""
    if not isinstance(value, Handle) or value._np is not None:
        return None
    place = value._cell.node.place
    if place is None or value._geometry.is_base:
        return place  # type: ignore[no-any-return]
    return placed_view(place, value._geometry)


def world_of(values: Iterable[Any]) -> World | None:
    """The world of several ranks on which one of the values lies, if there is one."""
    found: World | None = None
    for value in values:
        place = place_of(value)
        if place is None or place.world.size == 1:
            continue
        if found is not None and place.world is not found and place.world != found:
            raise WorldError(
                f"one operand lies on {found!r}, another on {place.world!r}; "
                "arrays of different worlds do not mix"
            )
        found = place.world
    return None if not free() else found
