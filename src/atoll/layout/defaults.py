"""What layouts take from the current world where nothing else says it: the number of processes, and their nodes."""

from __future__ import annotations

from collections.abc import Callable

from .maps import whole_number

_default_size: list[Callable[[], int]] = []
_per_node: list[Callable[[int], int]] = []


def set_default_size(function: Callable[[], int]) -> None:
    """Let ``function`` return the number of processes if a layout does not name it."""
    _default_size[:] = [function]


def set_ranks_per_node(function: Callable[[int], int]) -> None:
    """Let ``function`` return how many consecutive ones of so many processes share each node."""
    _per_node[:] = [function]


def world_size(size: object) -> int:
    """The number of processes that a layout is for."""
    if size is None:
        return _default_size[0]() if _default_size else 1
    return whole_number(size, "layout: the number of processes", 1)


def ranks_per_node(processes: int) -> int:
    """How many consecutive ones of so many processes share each node."""
    return _per_node[0](processes) if _per_node else 1
