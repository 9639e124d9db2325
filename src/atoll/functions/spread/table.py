"""The functions that are not yet declared with :func:`..public.collective`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..public import Order, _in_order

table: dict[Any, Callable[..., Any]] = {}


def on_ranks(*originals: Any, order: Order | None = None) -> Callable[[Any], Any]:
    """Enter a function for those of NumPy's that it stands for."""

    def enter(function: Any) -> Any:
        for original in originals:
            table[original] = function if order is None else _in_order(function, order)
        return function

    return enter
