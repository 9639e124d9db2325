"""Scans along an axis: ``cumsum``, ``cumprod``, ``maximum.accumulate`` and similar functions.

A scan combines each result with the next element, in NumPy's order, so the bits are NumPy's. Only different lines can
be computed at the same time. Along an outer axis, lines are adjacent in memory: vectors combine a row of results with
a row of elements, and threads take strips of columns. Along the last axis, several lines are interleaved, so that
their chains of additions overlap in the processor. Elements are converted as they are read: ``cumsum`` of truth values
needs no temporary array of integers.
"""

from __future__ import annotations

import functools
from math import prod
from typing import Any

import numpy as np

from ... import policy
from ...graph.geometry import dense
from ...graph.node import Value as Memory
from ..flags import INVALID, OVERFLOW, UNDERFLOW
from ..memory import allocate_array
from ..spec import STREAMS, Operand
from .arithmetic import cast
from .builder import Code, Value, carried
from .compile import compile_text
from .function import Function, Module
from .kernel import define_entry
from .machine import machine
from .memory import Access, Place
from .types import KIND, itemsize
from .ufuncs import emission
from .workers import run_chunks

Array = np.ndarray[Any, Any]

OPERATIONS = ("add", "multiply", "maximum", "minimum")
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def can_scan(ufunc: str, dtype: np.dtype[Any]) -> bool:
    """True if :func:`scanned` does this in ``dtype``."""
    kind, size = dtype.kind, dtype.itemsize
    fits = kind in "iu" or (kind == "f" and size in (4, 8)) or (kind == "c" and ufunc == "add")
    return ufunc in OPERATIONS and fits and dtype.isnative


def can_convert(source: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """True if a scan may read elements of ``source`` as those of ``dtype``: without any flag."""
    whole = source.kind in "biu" and dtype.kind in "iuf"
    return source == dtype or (whole and source.isnative) or (source, dtype) == (_SINGLE, _DOUBLE)


def scanned(ufunc: str, array: Array, axis: int, dtype: np.dtype[Any]) -> tuple[Memory, int]:
    """``ufunc.accumulate`` of a contiguous array in ``dtype``, and the floating-point flags that
    came up."""
    result = allocate_array(dense(array.shape, dtype), "a scan")
    outer, length = prod(array.shape[:axis]), array.shape[axis]
    inner = prod(array.shape[axis + 1 :])
    strip = policy.limits.stretch // dtype.itemsize
    strips = -(-inner // strip)
    chunks = outer * strips if inner > 1 else -(-outer // STREAMS)
    source = array.__array_interface__["data"][0]
    words = [0, source, result.address, outer, length, inner, strips]
    codes = tuple([kind.kind + str(kind.itemsize) for kind in (array.dtype, dtype)])
    function = _function(ufunc, *codes, strip if inner > 1 else 0)
    return result, run_chunks(function, words, chunks, array.size)


@functools.cache
def _function(ufunc: str, source: str, dtype: str, strip: int) -> int:
    what = f"scan_{ufunc}_{source}_{dtype}_{'across' if strip else 'along'}"
    return compile_text(what, Scan(ufunc, source, dtype, strip).text())


class Scan:
    """Writes one function: ``void NAME(block, first, last)`` on chunks of ``STREAMS`` lines, or on strips across them."""

    def __init__(self, ufunc: str, given: str, dtype: str, strip: int) -> None:
        self.strip = strip
        self.ufunc = ufunc
        self.given = given
        self.dtype = dtype
        self.combine = emission(ufunc, KIND[dtype])
        self.module = Module(machine())
        self.body = Function(
            self.module,
            "define internal i32 @NAME.nest(ptr %block, i64 %first, i64 %last) noinline",
        )

    def text(self) -> str:
        """The module."""
        body = self.body
        self.source, self.target = body.word(1, "ptr"), body.word(2, "ptr")
        self.outer, self.length, self.inner, self.strips = [body.word(k) for k in range(3, 7)]
        self.whole = body.op(f"mul i64 {self.length}, {self.inner}")
        body.loop("chunk", "%first", "%last", self._strip if self.strip else self._lines)
        body.end("NAME.nest", "i32 0")
        rounds = KIND[self.dtype] in "fc" and self.ufunc in ("add", "multiply")
        define_entry(self.module, "NAME", OVERFLOW | UNDERFLOW | INVALID if rounds else 0)
        return self.module.text()

    def _at(self, base: str, number: str) -> Access:
        """Access to the elements from ``number`` on, of the source or of the results."""
        dtype = self.given if base == self.source else self.dtype
        row = self.body.op(f"getelementptr [{itemsize(dtype)} x i8], ptr {base}, i64 {number}")
        return Access(Operand(dtype), row, str(itemsize(dtype)))

    def _read(self, source: Access, place: Place) -> Value:
        return cast(place.code, source.load(place), self.dtype)

    def _strip(self, chunk: str) -> None:
        """All rows of a strip of columns."""
        body = self.body
        outer = body.op(f"sdiv i64 {chunk}, {self.strips}")
        strip = body.op(f"srem i64 {chunk}, {self.strips}")
        left = body.op(f"mul i64 {strip}, {self.strip}")
        right = body.op(f"add i64 {left}, {self.strip}")
        count = body.op(f"sub i64 {body.smaller(right, self.inner)}, {left}")
        width = max(1, 4 * self.module.machine.vector_bytes // max(itemsize(self.dtype), 2))
        width = min(width, 32)
        main = body.op(f"and i64 {count}, {-width}")
        begin = body.op(f"add i64 {body.op(f'mul i64 {outer}, {self.whole}')}, {left}")
        single, wide = Code(body, 1), Code(body, width)

        def row(number: str) -> None:
            offset = body.op(f"add i64 {begin}, {body.op(f'mul i64 {number}, {self.inner}')}")
            above = body.op(f"sub i64 {offset}, {self.inner}")
            source, target = self._at(self.source, offset), self._at(self.target, offset)
            before = self._at(self.target, above)

            def combine(place: Place) -> None:
                new = self._read(source, place)
                target.store(place, self.combine(place.code, before.load(place), new))

            body.loop("scan", "0", main, lambda index: combine(Place(wide, index)), width)
            body.loop("scan", main, count, lambda index: combine(Place(single, index)))

        source, target = self._at(self.source, begin), self._at(self.target, begin)

        def copy(index: str) -> None:
            target.store(Place(single, index), self._read(source, Place(single, index)))

        body.loop("copy", "0", count, copy)
        body.loop("row", "1", self.length, row)

    def _lines(self, chunk: str) -> None:
        """Scan :data:`STREAMS` lines together, or the remaining lines one by one."""
        body = self.body
        first = body.op(f"mul i64 {chunk}, {STREAMS}")
        last = body.op(f"add i64 {first}, {STREAMS}")
        body.choose(
            body.op(f"icmp sle i64 {last}, {self.outer}"),
            lambda: self._together(first, STREAMS),
            lambda: body.loop("line", first, self.outer, lambda line: self._together(line, 1)),
        )

    def _together(self, first: str, number: int) -> None:
        body, code = self.body, Code(self.body, 1)
        pairs = []
        for line in range(number):
            which = body.op(f"add i64 {first}, {line}")
            offset = body.op(f"mul i64 {which}, {self.whole}")
            pairs.append((self._at(self.source, offset), self._at(self.target, offset)))
        start = Place(code, "0")
        state = [self._read(source, start) for source, _ in pairs]
        for value, (_, target) in zip(state, pairs, strict=True):
            target.store(start, value)

        def turn(index: str, state: list[Value]) -> list[Value]:
            results, place = [], Place(code, index)
            for value, (source, target) in zip(state, pairs, strict=True):
                results.append(self.combine(code, value, self._read(source, place)))
                target.store(place, results[-1])
            return results

        with body.when(body.op(f"icmp slt i64 1, {self.length}"), "scan"):
            carried(body, "scan", "1", self.length, 1, [(code, value) for value in state], turn)
