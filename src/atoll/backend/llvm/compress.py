"""Masked elements and their positions, in order and on all cores.

A mask is read twice. The first pass counts the true elements of each chunk; the sums of the counts say where each
chunk writes in the result. In the second pass every chunk writes its elements. It tests eight elements with one
comparison. If any is true, it writes each of the eight to the next free position, and advances the position only if
the element was true, so that there is no branch to predict. Near the end of its part of the result, where this would
write too far, the chunk tests elements singly.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import policy
from ...graph.geometry import dense
from ...graph.node import Value
from ..memory import allocate_array
from ..spec import Instruction, KernelSpec, Operand, Reduction
from .compile import compile_kernel, compile_text
from .function import Function, Module
from .kernel import Kernel
from .machine import machine
from .workers import run_chunks

Array = np.ndarray[Any, Any]

_POSITIONS = np.dtype(np.int64)
_TYPES = {1: "i8", 2: "i16", 4: "i32", 8: "i64", 16: "<2 x i64>"}


@functools.cache
def _count() -> Kernel:
    """Kernel that counts the true elements of each chunk of a mask."""
    spec = KernelSpec(
        1,
        (Operand("b1"),),
        body=(Instruction("load", "b1", (0,)), Instruction("cast", "i8", (0,))),
        reductions=(Reduction("add", "i8", 1, (0,)),),
    )
    return compile_kernel(spec)


@functools.cache
def _split() -> Kernel:
    """Kernel for quotients and remainders of positions by a length. It multiplies by the inverse of the length, which is at
    most one too large or too small."""
    spec = KernelSpec(
        1,
        (Operand("i8"), Operand("i8", "w", "any", 1), Operand("i8", "w", "any", 2)),
        ("i8", "f8"),
        (
            Instruction("load", "i8", (0,)),
            Instruction("scalar", "i8", (0,)),
            Instruction("scalar", "f8", (1,)),
            Instruction("cast", "f8", (0,)),
            Instruction("call", "f8", (3, 2), "multiply"),
            Instruction("cast", "i8", (4,)),
            Instruction("call", "i8", (5, 1), "multiply"),
            Instruction("call", "i8", (0, 6), "subtract"),
            Instruction("call", "b1", (7,), "signbit"),
            Instruction("call", "b1", (7, 1), "greater_equal"),
            Instruction("cast", "i8", (8,)),
            Instruction("cast", "i8", (9,)),
            Instruction("call", "i8", (11, 10), "subtract"),
            Instruction("call", "i8", (5, 12), "add"),
            Instruction("call", "i8", (12, 1), "multiply"),
            Instruction("call", "i8", (7, 14), "subtract"),
            Instruction("store", "", (1, 13)),
            Instruction("store", "", (2, 15)),
        ),
    )
    return compile_kernel(spec)


@functools.cache
def _pick(size: int, chunk: int) -> int:
    """The address of a function that writes the elements of ``size`` bytes (or, where it is 0, the positions) of chunks."""
    body = Function(Module(machine()), "define void @NAME(ptr %block, i64 %first, i64 %last)")
    total, kind = body.word(1), _TYPES[size or 8]
    mask, places, target, data = [body.word(k, "ptr") for k in (0, 2, 3, 4)]

    def load(element: str, base: str, number: str) -> str:
        at = body.op(f"getelementptr {element}, ptr {base}, i64 {number}")
        return body.op(f"load {element}, ptr {at}, align 1")

    def write(number: str, place: str) -> None:
        at = body.op(f"getelementptr {kind}, ptr {target}, i64 {place}")
        element = load(kind, data, number) if size else number
        body.line(f"store {kind} {element}, ptr {at}, align 1")

    def single(number: str, place: str) -> tuple[str, str]:
        wanted = body.op(f"icmp ne i8 {load('i8', mask, number)}, 0")
        with body.when(wanted, "write"):
            write(number, place)
        step = body.op(f"zext i1 {wanted} to i64")
        return body.op(f"add i64 {number}, 1"), body.op(f"add i64 {place}, {step}")

    def several(bits: str, number: str, place: str) -> str:
        # eight bytes, each zero or one as it was zero or anything else
        low = body.op(f"and i64 {bits}, {0x7F7F7F7F7F7F7F7F}")
        high = body.op(f"or i64 {body.op(f'add i64 {low}, {0x7F7F7F7F7F7F7F7F}')}, {bits}")
        ones = body.op(f"and i64 {body.op(f'lshr i64 {high}, 7')}, {0x0101010101010101}")
        for lane in range(8):
            write(body.op(f"add i64 {number}, {lane}"), place)
            step = body.op(f"and i64 {body.op(f'lshr i64 {ones}, {8 * lane}')}, 1")
            place = body.op(f"add i64 {place}, {step}")
        return place

    def write_chunk(number: str) -> None:
        start = body.op(f"mul i64 {number}, {chunk}")
        stop = body.smaller(body.op(f"add i64 {start}, {chunk}"), total)
        whole = body.op(f"and i64 {body.op(f'sub i64 {stop}, {start}')}, -8")
        main = body.op(f"add i64 {start}, {whole}")
        limit = body.word(body.op(f"add i64 {number}, 1"), base=places)
        safe = body.op(f"sub i64 {limit}, 8")

        def eight(first: str, place: str) -> tuple[str, str]:
            bits = body.op(
                f"load i64, ptr {body.op(f'getelementptr i8, ptr {mask}, i64 {first}')}, align 1"
            )
            following = body.op(f"add i64 {first}, 8")

            def some() -> str:
                choices = body.choose(
                    body.op(f"icmp sle i64 {place}, {safe}"),
                    lambda: several(bits, first, place),
                    lambda: body.advance("slow", first, following, single, ("i64", place))[0],
                )
                return body.phi("i64", *choices)

            none = body.op(f"icmp eq i64 {bits}, 0")
            return following, body.phi("i64", *body.choose(none, lambda: place, some))

        begin = ("i64", body.word(number, base=places))
        (place,) = body.advance("eight", start, main, eight, begin)
        body.advance("single", main, stop, single, ("i64", place))

    body.loop("chunk", "%first", "%last", write_chunk)
    body.end("NAME")
    return compile_text("pick", body.module.text())


def _run(function: int, words: Sequence[Any], elements: int) -> None:
    run_chunks(function, words, -(-elements // policy.limits.chunk), elements)


def _run_kernel(
    kernel: Kernel, elements: int, memories: Sequence[tuple[int, int]], *others: Any
) -> None:
    """Run a kernel of one axis on operands of these addresses and strides; ``others`` are the scalars, origin and
    partials, as its argument block has them."""
    pointers, strides = zip(*memories)
    words = [0, policy.limits.chunk, elements, *pointers, *strides, *others]
    _run(kernel.address, words, elements)


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def places_of(mask: Array) -> Array:
    """Number of true elements before each chunk of a contiguous mask, and in total."""
    chunks = -(-mask.size // policy.limits.chunk)
    places = np.zeros(chunks + 1, np.int64)
    counts = places[1:]
    _run_kernel(_count(), mask.size, [(_address(mask), 1)], 0, _address(counts))
    counts.cumsum(out=counts)
    return places


def true_positions(mask: Array) -> Array:
    """The flat positions at which a contiguous mask is true."""
    places = places_of(mask)
    positions = allocate_array(dense((int(places[-1]),), _POSITIONS), "positions")
    words = [_address(mask), mask.size, _address(places), positions.address, 0]
    _run(_pick(0, policy.limits.chunk), words, mask.size)
    return positions.array


def indices_of(positions: Array, shape: tuple[int, ...]) -> Array:
    """A row of indices for each flat position in C order; there is more than one axis."""
    size, width = positions.size, len(shape)
    indices: Array = allocate_array(dense((size, width), _POSITIONS), "positions").array
    if not size:
        return indices
    for axis in range(width - 1, 0, -1):
        rows = indices[:, 0]
        if axis > 1:
            rows = allocate_array(dense(positions.shape, _POSITIONS), "positions").array
        columns, length = indices[:, axis], shape[axis]
        memories = [(_address(each), each.strides[0]) for each in (positions, rows, columns)]
        inverse = np.float64(1.0 / length).view(np.int64)
        _run_kernel(_split(), size, memories, length, 0, inverse, 0, 0)
        positions = rows
    return indices


def can_select(data: Array, mask: Array) -> bool:
    """True if :func:`selected` takes these arrays."""
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
    _run(_pick(data.dtype.itemsize, policy.limits.chunk), words, mask.size)
    return elements
