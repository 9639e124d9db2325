"""Set functions: sorted distinct elements, joined and compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lazy import shaping
from ..lazy.creation import asarray
from ..lazy.spread import place_of
from .blocks import arrays_of, by_blocks, call, world_among
from .public import collective


def _lines(first: Any, second: Any) -> tuple[Any, Any] | None:
    arrays = arrays_of(first, second)
    if arrays is None or not all(array.size for array in arrays):
        return None
    return shaping.ravel(arrays[0]), shaping.ravel(arrays[1])


@collective(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    lines = _lines(ar1, ar2)
    return NotImplemented if lines is None else call("unique", call("concatenate", lines))


@collective(np.intersect1d)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    lines = _lines(ar1, ar2)
    if lines is None:
        return NotImplemented
    left, right = lines
    first = second = None
    if not assume_unique:
        if return_indices:
            (left, first), (right, second) = [call("unique", line, True) for line in lines]
        else:
            left, right = [call("unique", line) for line in lines]
    line = call("concatenate", (left, right))
    if not return_indices:
        line = call("sort", line)
        return line[:-1][line[1:] == line[:-1]]
    order = call("argsort", line, kind="stable")
    line = line[order]
    twice = line[1:] == line[:-1]
    mine, theirs = order[:-1][twice], order[1:][twice] - left.size
    if first is not None and second is not None:
        mine, theirs = first[mine], second[theirs]
    return line[:-1][twice], mine, theirs


@collective(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    lines = _lines(ar1, ar2)
    if lines is None:
        return NotImplemented
    if not assume_unique:
        lines = call("unique", lines[0]), call("unique", lines[1])
    line = call("sort", call("concatenate", lines))
    edge = asarray(np.array([True]))
    differs = call("concatenate", (edge, line[1:] != line[:-1], edge))
    return line[differs[1:] & differs[:-1]]


@collective(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
    kind: Any = None,
) -> Any:  # fmt: skip
    arrays, world = arrays_of(element, test_elements), world_among(element, test_elements)
    if arrays is None or world is None or not arrays[1].size:
        return NotImplemented
    element, tests = arrays
    if kind is not None:  # NumPy says whether it can be, by the range of what is sought
        ends = [tests.min(), tests.max()] if kind == "table" else [0]
        np.isin(np.zeros(1, element.dtype), np.array(ends, tests.dtype), kind=kind)
    if place_of(tests) is None:
        among = tests._array()
        return by_blocks(
            lambda block: np.isin(block, among, assume_unique, invert, kind=kind), [element], world
        )
    common = np.result_type(element.dtype, tests.dtype)
    line = call("unique", shaping.ravel(tests)).astype(common)
    sought = element.astype(common)
    places = call("minimum", call("searchsorted", line, sought), line.size - 1)
    hits = call("take", line, places) == sought
    return ~hits if invert else hits


@collective(np.setdiff1d, keeps="arrays")
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    lines = _lines(ar1, ar2)
    if lines is None:
        return NotImplemented
    line = lines[0] if assume_unique else call("unique", lines[0])
    return line[call("isin", line, lines[1], assume_unique=True, invert=True)]
