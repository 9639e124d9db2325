"""The text of distributed arrays: only the printed elements are gathered.

NumPy prints the ends of each axis of a long array and looks at nothing else. So an array that
consists of these ends, one element longer where something is left out, gives the same text, but
for the shape that stands after it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .views import Handle


def text_of(handle: Handle, write: Callable[[np.ndarray[Any, Any]], str]) -> str:
    """What ``write``, one of NumPy's own, says of an array."""
    ends = _ends(handle)
    if ends is None:
        return write(handle._array())
    with np.printoptions(threshold=0):
        text = write(ends)
    before, matched, after = text.rpartition(f"shape={ends.shape}")
    return _with_shape(before.rstrip(), handle._geometry.shape, after) if matched else text


def _with_shape(before: str, shape: tuple[int, ...], after: str) -> str:
    """The text with its shape behind it, in a line of its own where it does not fit."""
    extra = f"shape={shape}{after}"
    last = len(before) - (before.rfind("\n") + 1)
    if last + len(extra) + 1 > np.get_printoptions()["linewidth"]:
        return f"{before}\n{' ' * len('array(')}{extra}"
    return f"{before} {extra}"


def _ends(handle: Handle) -> np.ndarray[Any, Any] | None:
    """The elements that NumPy prints of a long array on ranks; ``None`` for any other array."""
    if handle._np is not None:
        return None
    handle._cell.settle()
    if handle._cell.node.place is None:
        return None
    options = np.get_printoptions()
    edge = options["edgeitems"]
    geometry = handle._geometry
    if geometry.size <= options["threshold"] or options["legacy"] or edge < 1:
        return None
    cut = [n > 2 * edge + 1 for n in geometry.shape]
    if not any(cut):
        return None
    ends = np.zeros(
        [2 * edge + 1 if short else n for n, short in zip(geometry.shape, cut)], geometry.dtype
    )
    sides = [(slice(edge), slice(-edge, None)) if short else (slice(None),) for short in cut]
    for corner in itertools.product(*sides):
        ends[corner] = handle[corner].copy()._array()  # type: ignore[index]
    return ends
