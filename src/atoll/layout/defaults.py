"""Defaults of layouts from the current world: the number of processes, and their nodes."""

from __future__ import annotations

from collections.abc import Callable

from .maps import whole_number

_default_size: list[Callable[[], int]] = []
_per_node: list[Callable[[int], int]] = []


def set_default_size(function: Callable[[], int]) -> None:
    """Set the function that returns the number of processes of a layout without an explicit one."""
    _default_size[:] = [function]


def set_ranks_per_node(function: Callable[[int], int]) -> None:
    """Set the function that returns the number of consecutive processes on each node, given the number of processes."""
    _per_node[:] = [function]


def world_size(size: object) -> int:
    """The number of processes that a layout is for."""
    if size is None:
        return _default_size[0]() if _default_size else 1
    return whole_number(size, "layout: the number of processes", 1)


def ranks_per_node(processes: int) -> int:
    """The number of consecutive processes that share each node, of ``processes`` in all."""
    return _per_node[0](processes) if _per_node else 1
