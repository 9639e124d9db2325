"""``out=`` of functions and methods: computed without it, then assigned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...lazy.views import Handle
from ..blocks import call, into
from .table import on_ranks


def _with_out(name: str, place: int, casting: str = "same_kind") -> None:
    """The function ``name``, and the method if there is one, whose argument number ``place`` is ``out``."""

    def function(*args: Any, **options: Any) -> Any:
        given = list(args)
        out = options.pop("out", None)
        if len(given) > place:
            out = given[place]
            given[place] = None
        if out is None or not isinstance(out, (Handle, np.ndarray)):
            return NotImplemented
        return into(out, call(name, *given, **options), options.get("casting", casting))

    on_ranks(getattr(np, name))(function)
    method: Callable[..., Any] | None = getattr(np.ndarray, name, None)
    if method is not None:
        on_ranks(method)(function)


for _name, _place in (
    ("sum", 3), ("prod", 3), ("mean", 3), ("var", 3), ("max", 2),
    ("min", 2), ("amax", 2), ("amin", 2), ("all", 2), ("any", 2), ("argmax", 2), ("argmin", 2), ("nansum", 3),
    ("nanprod", 3), ("nanmin", 2), ("nanmax", 2),
):  # fmt: skip
    _with_out(_name, _place, "unsafe")
for _name, _place in (
    ("std", 3), ("round", 2), ("around", 2), ("matmul", 2), ("stack", 2), ("ptp", 2), ("nanmean", 3),
    ("nanvar", 3), ("nanstd", 3), ("outer", 2), ("einsum", 99), ("clip", 3), ("fix", 1),
):  # fmt: skip
    _with_out(_name, _place)
_with_out("dot", 2, "no")
