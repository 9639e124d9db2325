"""Set functions: sorted distinct elements, joined and compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..comm.world import World
from ..lazy import shapes
from ..lazy.agreement import place_of
from ..lazy.creation import asarray
from .blocks import by_blocks, call
from .operands import Operand, Operands, accepts
from .public import collective


def _lines(first: Any, second: Any) -> tuple[Any, ...]:
    return tuple(map(shapes.ravel, Operands(empty=False).accept((first, second))))


@collective(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return call("unique", call("concatenate", _lines(ar1, ar2)))


@collective(np.intersect1d)
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    left, right = lines = _lines(ar1, ar2)
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
    if not assume_unique:
        lines = call("unique", lines[0]), call("unique", lines[1])
    line = call("sort", call("concatenate", lines))
    edge = asarray(np.array([True]))
    differs = call("concatenate", (edge, line[1:] != line[:-1], edge))
    return line[differs[1:] & differs[:-1]]


@collective(np.isin)
@accepts(element=Operand(), test_elements=Operand(empty=False))
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
    kind: Any = None, world: World,
) -> Any:  # fmt: skip
    tests = test_elements
    if kind is not None:  # NumPy validates it, by the range of the test elements
        ends = [tests.min(), tests.max()] if kind == "table" else [0]
        np.isin(np.zeros(1, element.dtype), np.array(ends, tests.dtype), kind=kind)
    if place_of(tests) is None:
        among = tests._array()
        return by_blocks(
            lambda block: np.isin(block, among, assume_unique, invert, kind=kind), [element], world
        )
    common = np.result_type(element.dtype, tests.dtype)
    line = call("unique", shapes.ravel(tests)).astype(common)
    sought = element.astype(common)
    places = call("minimum", call("searchsorted", line, sought), line.size - 1)
    hits = call("take", line, places) == sought
    return ~hits if invert else hits


@collective(np.setdiff1d, keeps="arrays")
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    line, other = _lines(ar1, ar2)
    line = line if assume_unique else call("unique", line)
    return line[call("isin", line, other, assume_unique=True, invert=True)]
