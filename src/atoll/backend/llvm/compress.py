"""Masked elements and their positions, in order and on all cores.

A mask is read twice. The first pass counts the true elements of each chunk; the sums of the counts say where each
chunk writes in the result. In the second pass every chunk writes its elements. It tests eight elements with one
comparison. If any is true, it writes each of the eight to the next free position, and advances the position only if
the element was true, so that there is no branch to predict. Near the end of its part of the result, where this would
write too far, the chunk tests elements singly.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import policy
from ...config import config
from ...graph.geometry import dense
from ...graph.node import Value
from ..memory import allocate_array
from .compile import compile_text
from .workers import parallel_for

Array = np.ndarray[Any, Any]

_POSITIONS = np.dtype(np.int64)
_TYPES = {1: "i8", 2: "i16", 4: "i32", 8: "i64", 16: "<2 x i64>"}

_HEAD = """
define void @NAME(ptr %block, i64 %first, i64 %last) {
entry:
  %mask = load ptr, ptr %block
  %p1 = getelementptr i64, ptr %block, i64 1
  %n = load i64, ptr %p1
"""
"""What begins with a mask and its length."""

_EACH = """
  br label %chunks
chunks:
  %chunk = phi i64 [ %first, %entry ], [ %next, %done ]
  %more = icmp slt i64 %chunk, %last
  br i1 %more, label %begin, label %out
begin:
  %start = mul i64 %chunk, CHUNK
  %end = add i64 %start, CHUNK
  %stop = call i64 @llvm.smin.i64(i64 %end, i64 %n)
  %length = sub i64 %stop, %start
"""
"""A loop over chunks; its body goes from ``begin`` to ``done``."""

_COUNT = """
HEAD
  %p2 = getelementptr i64, ptr %block, i64 2
  %counts = load ptr, ptr %p2
EACH
  %whole = and i64 %length, -32
  %main = add i64 %start, %whole
  br label %words
words:
  %i = phi i64 [ %start, %begin ], [ %i32, %word ]
  %sum = phi i64 [ 0, %begin ], [ %sum32, %word ]
  %left = icmp slt i64 %i, %main
  br i1 %left, label %word, label %bytes
word:
  %at = getelementptr i8, ptr %mask, i64 %i
  %many = load <32 x i8>, ptr %at, align 1
  %truth = icmp ne <32 x i8> %many, zeroinitializer
  %bits = bitcast <32 x i1> %truth to i32
  %count = call i32 @llvm.ctpop.i32(i32 %bits)
  %wide = zext i32 %count to i64
  %sum32 = add i64 %sum, %wide
  %i32 = add i64 %i, 32
  br label %words
bytes:
  %j = phi i64 [ %main, %words ], [ %j1, %byte ]
  %total = phi i64 [ %sum, %words ], [ %total1, %byte ]
  %rest = icmp slt i64 %j, %stop
  br i1 %rest, label %byte, label %done
byte:
  %bat = getelementptr i8, ptr %mask, i64 %j
  %one = load i8, ptr %bat
  %true = icmp ne i8 %one, 0
  %bit = zext i1 %true to i64
  %total1 = add i64 %total, %bit
  %j1 = add i64 %j, 1
  br label %bytes
done:
  %cat = getelementptr i64, ptr %counts, i64 %chunk
  store i64 %total, ptr %cat
  %next = add i64 %chunk, 1
  br label %chunks
out:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @llvm.ctpop.i32(i32)
"""

_TRUTH = """
  %low = and i64 %given, 9187201950435737471
  %carried = add i64 %low, 9187201950435737471
  %high = or i64 %carried, %given
  %shifted = lshr i64 %high, 7
  %eight = and i64 %shifted, 72340172838076673
"""
"""Eight bytes, each zero or one as it was zero or anything else."""

_PICK = """
HEAD
  %p2 = getelementptr i64, ptr %block, i64 2
  %places = load ptr, ptr %p2
  %p3 = getelementptr i64, ptr %block, i64 3
  %target = load ptr, ptr %p3
  %p4 = getelementptr i64, ptr %block, i64 4
  %data = load ptr, ptr %p4
EACH
  %whole = and i64 %length, -8
  %main = add i64 %start, %whole
  %pat = getelementptr i64, ptr %places, i64 %chunk
  %place = load i64, ptr %pat
  %qat = getelementptr i64, ptr %pat, i64 1
  %limit = load i64, ptr %qat
  %safe = sub i64 %limit, 8
  br label %words
words:
  %i = phi i64 [ %start, %begin ], [ %i8, %wordend ]
  %k = phi i64 [ %place, %begin ], [ %k8, %wordend ]
  %left = icmp slt i64 %i, %main
  br i1 %left, label %word, label %bytes
word:
  %at = getelementptr i8, ptr %mask, i64 %i
  %given = load i64, ptr %at, align 1
  %none = icmp eq i64 %given, 0
  br i1 %none, label %wordend, label %some
some:
TRUTH
  %room = icmp sle i64 %k, %safe
  br i1 %room, label %quick, label %slow
quick:
QUICK
  br label %wordend
slow:
  %s = phi i64 [ %i, %some ], [ %s1, %slownext ]
  %sk = phi i64 [ %k, %some ], [ %sk1, %slownext ]
  %se = add i64 %i, 8
  %sat = getelementptr i8, ptr %mask, i64 %s
  %sone = load i8, ptr %sat
  %swanted = icmp ne i8 %sone, 0
  br i1 %swanted, label %slowstore, label %slownext
slowstore:
SLOW
  br label %slownext
slownext:
  %sbit = zext i1 %swanted to i64
  %sk1 = add i64 %sk, %sbit
  %s1 = add i64 %s, 1
  %sagain = icmp slt i64 %s1, %se
  br i1 %sagain, label %slow, label %wordend
wordend:
  %k8 = phi i64 [ %k, %word ], [ %q8, %quick ], [ %sk1, %slownext ]
  %i8 = add i64 %i, 8
  br label %words
bytes:
  %b = phi i64 [ %main, %words ], [ %b1, %bytenext ]
  %bk = phi i64 [ %k, %words ], [ %bk1, %bytenext ]
  %rest = icmp slt i64 %b, %stop
  br i1 %rest, label %byte, label %done
byte:
  %bat = getelementptr i8, ptr %mask, i64 %b
  %bone = load i8, ptr %bat
  %bwanted = icmp ne i8 %bone, 0
  br i1 %bwanted, label %bytestore, label %bytenext
bytestore:
BYTE
  br label %bytenext
bytenext:
  %bbit = zext i1 %bwanted to i64
  %bk1 = add i64 %bk, %bbit
  %b1 = add i64 %b, 1
  br label %bytes
done:
  %next = add i64 %chunk, 1
  br label %chunks
out:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
"""

_SPLIT = """
define void @NAME(ptr %block, i64 %first, i64 %last) {
entry:
  %flat = load ptr, ptr %block
  %p1 = getelementptr i64, ptr %block, i64 1
  %n = load i64, ptr %p1
  %p2 = getelementptr i64, ptr %block, i64 2
  %rows = load ptr, ptr %p2
  %p3 = getelementptr i64, ptr %block, i64 3
  %columns = load ptr, ptr %p3
  %p4 = getelementptr i64, ptr %block, i64 4
  %length = load i64, ptr %p4
  %p5 = getelementptr i64, ptr %block, i64 5
  %step = load i64, ptr %p5
  %p6 = getelementptr i64, ptr %block, i64 6
  %width = load i64, ptr %p6
  %real = sitofp i64 %length to double
  %inverse = fdiv double 1.0, %real
  %start = mul i64 %first, CHUNK
  %end = mul i64 %last, CHUNK
  %stop = call i64 @llvm.smin.i64(i64 %end, i64 %n)
  br label %loop
loop:
  %i = phi i64 [ %start, %entry ], [ %next, %work ]
  %more = icmp slt i64 %i, %stop
  br i1 %more, label %work, label %out
work:
  %at = getelementptr i64, ptr %flat, i64 %i
  %position = load i64, ptr %at
  %wide = sitofp i64 %position to double
  %quotient = fmul double %wide, %inverse
  %near = fptosi double %quotient to i64
  %product = mul i64 %near, %length
  %remainder = sub i64 %position, %product
  %below = ashr i64 %remainder, 63
  %row1 = add i64 %near, %below
  %back = and i64 %below, %length
  %column1 = add i64 %remainder, %back
  %above = icmp sge i64 %column1, %length
  %one = zext i1 %above to i64
  %row = add i64 %row1, %one
  %less = select i1 %above, i64 %length, i64 0
  %column = sub i64 %column1, %less
  %ri = mul i64 %i, %step
  %rat = getelementptr i64, ptr %rows, i64 %ri
  store i64 %row, ptr %rat
  %ci = mul i64 %i, %width
  %cat = getelementptr i64, ptr %columns, i64 %ci
  store i64 %column, ptr %cat
  %next = add i64 %i, 1
  br label %loop
out:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
"""


def _element(size: int, source: str, place: str, tag: str) -> list[str]:
    """Write the element ``source`` (or, where ``size`` is 0, its number) to ``place``."""
    kind = _TYPES[size or 8]
    lines = [f"  %t{tag} = getelementptr {kind}, ptr %target, i64 {place}"]
    if not size:
        return [*lines, f"  store i64 {source}, ptr %t{tag}, align 1"]
    return [
        *lines,
        f"  %f{tag} = getelementptr {kind}, ptr %data, i64 {source}",
        f"  %v{tag} = load {kind}, ptr %f{tag}, align 1",
        f"  store {kind} %v{tag}, ptr %t{tag}, align 1",
    ]


def _pick_text(size: int) -> str:
    quick: list[str] = []
    for lane in range(8):
        place = f"%q{lane}" if lane else "%k"
        quick.append(f"  %n{lane} = add i64 %i, {lane}")
        quick += _element(size, f"%n{lane}", place, f"q{lane}")
        quick.append(f"  %h{lane} = lshr i64 %eight, {8 * lane}")
        quick.append(f"  %o{lane} = and i64 %h{lane}, 1")
        quick.append(f"  %q{lane + 1} = add i64 {place}, %o{lane}")
    text = _PICK.replace("QUICK", "\n".join(quick))
    text = text.replace("SLOW", "\n".join(_element(size, "%s", "%sk", "s")))
    return text.replace("BYTE", "\n".join(_element(size, "%b", "%bk", "b")))


@functools.cache
def _function(what: str, chunk: int, size: int = 0) -> int:
    """The address of a function of machine code on chunks of so many elements."""
    text = _pick_text(size) if what == "pick" else {"count": _COUNT, "split": _SPLIT}[what]
    for word, meaning in (("HEAD", _HEAD), ("EACH", _EACH), ("TRUTH", _TRUTH)):
        text = text.replace(word, meaning.strip("\n"))
    text = text.replace("CHUNK", str(chunk))
    return compile_text(what, text)


def _run(function: int, words: list[int], elements: int) -> None:
    block = np.array(words, np.int64)
    threads = config.threads if elements >= policy.limits.parallel else 1
    address: int = block.__array_interface__["data"][0]
    parallel_for(function, address, -(-elements // policy.limits.chunk), threads)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def places_of(mask: Array) -> Array:
    """For each chunk of a contiguous mask, how many elements are wanted before it; and in all."""
    chunks = -(-mask.size // policy.limits.chunk)
    places = np.zeros(chunks + 1, np.int64)
    counts = places[1:]
    _run(
        _function("count", policy.limits.chunk),
        [_address(mask), mask.size, _address(counts)],
        mask.size,
    )
    np.cumsum(counts, out=counts)
    return places


def true_positions(mask: Array) -> Array:
    """The flat positions at which a contiguous mask is true."""
    places = places_of(mask)
    positions = allocate_array(dense((int(places[-1]),), _POSITIONS), "positions")
    words = [_address(mask), mask.size, _address(places), positions.address, 0]
    _run(_function("pick", policy.limits.chunk), words, mask.size)
    return positions.array


def indices_of(positions: Array, shape: tuple[int, ...]) -> Array:
    """A row of indices for each flat position in C order; there is more than one axis."""
    size, width = positions.size, len(shape)
    indices: Array = allocate_array(dense((size, width), _POSITIONS), "positions").array
    for axis in range(width - 1, 0, -1):
        rows = indices[:, 0]
        if axis > 1:
            rows = allocate_array(dense(positions.shape, _POSITIONS), "positions").array
        words = [_address(positions), size, _address(rows), _address(indices[:, axis]), shape[axis]]
        words += [rows.strides[0] // rows.itemsize, width]
        _run(_function("split", policy.limits.chunk), words, size)
        positions = rows
    return indices


def can_select(data: Array, mask: Array) -> bool:
    """Whether :func:`selected` takes these arrays."""
    return (
        data.shape == mask.shape
        and data.dtype.itemsize in _TYPES
        and not data.dtype.hasobject
        and data.flags.c_contiguous
        and mask.flags.c_contiguous
    )


def selected(data: Array, mask: Array) -> Value:
    """The elements of one contiguous array at which another is true, in C order."""
    places = places_of(mask)
    elements = allocate_array(dense((int(places[-1]),), data.dtype), "selected elements")
    words = [_address(mask), mask.size, _address(places), elements.address, _address(data)]
    _run(_function("pick", policy.limits.chunk, data.dtype.itemsize), words, mask.size)
    return elements
