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
from ...config import config
from ...graph.geometry import dense
from ...graph.node import Value as Memory
from ..flags import INVALID, OVERFLOW, UNDERFLOW
from ..memory import allocate_array
from ..spec import Operand
from .arithmetic import cast, maximum, minimum
from .builder import Code, Function, Module, Value
from .compile import compile_text
from .entry import define_entry
from .machine import machine
from .memory import Access, Place
from .types import KIND, itemsize
from .workers import parallel_for

Array = np.ndarray[Any, Any]

OPERATIONS = ("add", "multiply", "maximum", "minimum")
STRIP = 512
_LINES = 4
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def can_scan(ufunc: str, dtype: np.dtype[Any]) -> bool:
    """Whether :func:`scanned` does this in ``dtype``."""
    kind, size = dtype.kind, dtype.itemsize
    fits = kind in "iu" or (kind == "f" and size in (4, 8)) or (kind == "c" and ufunc == "add")
    return ufunc in OPERATIONS and fits and dtype.isnative


def can_convert(source: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Whether a scan may read elements of ``source`` as those of ``dtype``: without any flag."""
    whole = source.kind in "biu" and dtype.kind in "iuf"
    return source == dtype or (whole and source.isnative) or (source, dtype) == (_SINGLE, _DOUBLE)


def scanned(ufunc: str, array: Array, axis: int, dtype: np.dtype[Any]) -> tuple[Memory, int]:
    """``ufunc.accumulate`` of a contiguous array in ``dtype``, and the floating-point flags that
    came up."""
    made = allocate_array(dense(array.shape, dtype), "a scan")
    outer, length, inner = (
        prod(array.shape[:axis]),
        array.shape[axis],
        prod(array.shape[axis + 1 :]),
    )
    strips = -(-inner // STRIP)
    chunks = outer * strips if inner > 1 else -(-outer // _LINES)
    source = array.__array_interface__["data"][0]
    block = np.array([0, source, made.address, outer, length, inner, strips], np.int64)
    codes = tuple([one.kind + str(one.itemsize) for one in (array.dtype, dtype)])
    threads = config.threads if array.size >= policy.limits.parallel else 1
    function = _function(ufunc, *codes, inner > 1)
    parallel_for(function, block.__array_interface__["data"][0], chunks, threads)
    return made, int(block[0])


@functools.cache
def _function(ufunc: str, source: str, dtype: str, across: bool) -> int:
    what = f"scan_{ufunc}_{source}_{dtype}_{'across' if across else 'along'}"
    return compile_text(what, Scan(ufunc, source, dtype).text(across))


class Scan:
    """Writes one function: ``void NAME(block, first, last)`` on chunks of lines."""

    def __init__(self, ufunc: str, given: str, dtype: str) -> None:
        self.ufunc = ufunc
        self.given = given
        self.dtype = dtype
        self.size = itemsize(dtype)
        self.module = Module(machine())
        self.body = Function(
            self.module,
            "define internal i32 @NAME.nest(ptr %block, i64 %first, i64 %last) noinline",
        )

    def text(self, across: bool) -> str:
        """The module."""
        body = self.body
        self.source, self.target = self._word(1, "ptr"), self._word(2, "ptr")
        self.outer, self.length, self.inner = self._word(3), self._word(4), self._word(5)
        self.strips = self._word(6)
        self.whole = body.op(f"mul i64 {self.length}, {self.inner}")
        self._loop("%first", "%last", 1, self._strip if across else self._lines)
        body.line("ret i32 0")
        rounds = KIND[self.dtype] in "fc" and self.ufunc in ("add", "multiply")
        define_entry(self.module, "NAME", OVERFLOW | UNDERFLOW | INVALID if rounds else 0)
        self.module.definitions["NAME.nest"] = body.text()
        return self.module.text()

    def _word(self, number: int, kind: str = "i64") -> str:
        at = self.body.op(f"getelementptr i64, ptr %block, i64 {number}")
        return self.body.op(f"load {kind}, ptr {at}, align 8")

    def _loop(
        self, start: str, stop: str, step: int, inside: Any, state: tuple[Value, ...] = ()
    ) -> None:
        """``for i in range(start, stop, step)``; ``inside`` gives new values for ``state``, if any."""
        body = self.body
        before = body.block
        head, work, after = (body.name("scan") for _ in range(3))
        counter = "%" + body.name()
        held = [
            Value(v.dtype, "%" + body.name(), "%" + body.name() if v.imag else "") for v in state
        ]
        body.jump(head)
        body.label(head)
        at = len(body.lines)
        phis = 1 + sum(2 if v.imag else 1 for v in state)
        body.lines.extend([""] * phis)
        body.branch(body.op(f"icmp slt i64 {counter}, {stop}"), work, after)
        body.label(work)
        new = inside(counter, *held) if state else inside(counter)
        following = body.op(f"add nsw i64 {counter}, {step}")
        kind = Code(body, 1)
        lines = [f"  {counter} = phi i64 [ {start}, %{before} ], [ {following}, %{body.block} ]"]
        for old, now, then in zip(state, held, new or ()):
            pairs = [(now.name, old.name, then.name)]
            if old.imag:
                pairs.append((now.imag, old.imag, then.imag))
            for one, a, b in pairs:
                part = kind.type(old.dtype)
                lines.append(f"  {one} = phi {part} [ {a}, %{before} ], [ {b}, %{body.block} ]")
        body.lines[at : at + phis] = lines
        body.jump(head)
        body.label(after)

    def _combine(self, code: Code, old: Value, new: Value) -> Value:
        kind = KIND[self.dtype]
        if self.ufunc == "maximum":
            return maximum(code, old, new)
        if self.ufunc == "minimum":
            return minimum(code, old, new)
        if kind == "c":
            real = code.op("fadd", code.real(old), code.real(new))
            return code.complex(real, code.op("fadd", code.imag(old), code.imag(new)))
        letter = "f" if kind == "f" else ""
        return code.op(letter + ("add" if self.ufunc == "add" else "mul"), old, new)

    def _at(self, base: str, number: str) -> Access:
        """The elements from ``number`` on of what is read, or of the results."""
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
        left = body.op(f"mul i64 {strip}, {STRIP}")
        right = body.op(f"add i64 {left}, {STRIP}")
        self.module.declare("llvm.smin.i64", "i64", "i64, i64")
        right = body.op(f"call i64 @llvm.smin.i64(i64 {right}, i64 {self.inner})")
        count = body.op(f"sub i64 {right}, {left}")
        width = max(1, 4 * self.module.machine.vector_bytes // max(self.size, 2))
        width = min(width, 32)
        main = body.op(f"and i64 {count}, {-width}")
        begin = body.op(f"add i64 {body.op(f'mul i64 {outer}, {self.whole}')}, {left}")
        places = Code(body, 1)

        def row(number: str) -> None:
            offset = body.op(f"add i64 {begin}, {body.op(f'mul i64 {number}, {self.inner}')}")
            above = body.op(f"sub i64 {offset}, {self.inner}")
            source, target = self._at(self.source, offset), self._at(self.target, offset)
            before = self._at(self.target, above)

            def elements(code: Code) -> Any:
                def one(index: str) -> None:
                    place = Place(code, index)
                    new = self._read(source, place)
                    found = self._combine(code, before.load(place), new)
                    target.store(place, found)

                return one

            self._loop("0", main, width, elements(Code(body, width)))
            self._loop(main, count, 1, elements(places))

        first_source, first_target = self._at(self.source, begin), self._at(self.target, begin)

        def copy(index: str) -> None:
            place = Place(places, index)
            first_target.store(place, self._read(first_source, place))

        self._loop("0", count, 1, copy)
        self._loop("1", self.length, 1, row)

    def _lines(self, chunk: str) -> None:
        """A few lines together, or those that are left one by one."""
        body = self.body
        first = body.op(f"mul i64 {chunk}, {_LINES}")
        last = body.op(f"add i64 {first}, {_LINES}")
        several, single, after = (body.name("lines") for _ in range(3))
        body.branch(body.op(f"icmp sle i64 {last}, {self.outer}"), several, single)
        body.label(several)
        self._together(first, _LINES)
        body.jump(after)
        body.label(single)
        self._loop(first, self.outer, 1, lambda line: self._together(line, 1))
        body.jump(after)
        body.label(after)

    def _together(self, first: str, number: int) -> None:
        body, code = self.body, Code(self.body, 1)
        pairs = []
        for line in range(number):
            which = body.op(f"add i64 {first}, {line}")
            offset = body.op(f"mul i64 {which}, {self.whole}")
            pairs.append((self._at(self.source, offset), self._at(self.target, offset)))
        start = Place(code, "0")
        state = tuple([self._read(source, start) for source, _ in pairs])
        for value, (_, target) in zip(state, pairs, strict=True):
            target.store(start, value)

        def step(index: str, *running: Value) -> list[Value]:
            place = Place(code, index)
            found = []
            for value, (source, target) in zip(running, pairs, strict=True):
                new = self._combine(code, value, self._read(source, place))
                target.store(place, new)
                found.append(new)
            return found

        self._loop("1", self.length, 1, step, state)
