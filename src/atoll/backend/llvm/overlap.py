"""Detects overlapping operands when a kernel starts."""

from __future__ import annotations

from .block import Layout
from .builder import Function, Module


def define_overlap(module: Module, layout: Layout, largest: int) -> None:
    """Define ``i1 @overlap(block, a, b)``: whether two operands share memory at different indices.

    They do not if their address ranges are apart, nor if they are the same elements in the
    same order: one start, and one stride along every axis that is longer than one. ``largest`` is
    the size of the largest element.
    """
    function = Function(module, "define internal i1 @overlap(ptr %block, i64 %a, i64 %b) noinline")

    def word(offset: str) -> str:
        at = function.op(f"getelementptr i64, ptr %block, i64 {offset}")
        return function.op(f"load i64, ptr {at}, align 8")

    def operand(which: str) -> tuple[str, str, str, list[str]]:
        start = word(function.op(f"add i64 {which}, {layout.pointers}"))
        low = high = start
        row = function.op(f"mul i64 {which}, {layout.ndim}")
        strides = []
        for axis in range(layout.ndim):
            stride = word(function.op(f"add i64 {row}, {layout.strides + axis}"))
            strides.append(stride)
            span = function.op(f"mul i64 {stride}, {last[axis]}")
            back = function.op(f"icmp slt i64 {span}, 0")
            down = function.op(f"select i1 {back}, i64 {span}, i64 0")
            up = function.op(f"select i1 {back}, i64 0, i64 {span}")
            low, high = function.op(f"add i64 {low}, {down}"), function.op(f"add i64 {high}, {up}")
        return start, low, high, strides

    last = [
        function.op(f"sub i64 {word(str(layout.extents + axis))}, 1") for axis in range(layout.ndim)
    ]
    start_a, low_a, high_a, strides_a = operand("%a")
    start_b, low_b, high_b, strides_b = operand("%b")
    end_a, end_b = (function.op(f"add i64 {high}, {largest}") for high in (high_a, high_b))
    meet = function.op(f"icmp slt i64 {low_a}, {end_b}")
    touch = function.op(f"icmp slt i64 {low_b}, {end_a}")
    meet = function.op(f"and i1 {meet}, {touch}")
    same = function.op(f"icmp eq i64 {start_a}, {start_b}")
    for stride_a, stride_b, length in zip(strides_a, strides_b, last):
        equal = function.op(f"icmp eq i64 {stride_a}, {stride_b}")
        single = function.op(f"icmp slt i64 {length}, 1")
        same = function.op(f"and i1 {same}, {function.op(f'or i1 {equal}, {single}')}")
    differ = function.op(f"xor i1 {same}, true")
    function.line(f"ret i1 {function.op(f'and i1 {meet}, {differ}')}")
    module.definitions["overlap"] = function.text()
