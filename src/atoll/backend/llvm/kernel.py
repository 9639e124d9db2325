"""A compiled kernel, the block of 8-byte words that it is called with, and the functions around its nest: the entry point, and
the test for overlapping operands."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..flags import DIVIDE, INVALID, OVERFLOW, UNDERFLOW
from ..spec import KernelSpec, partial_dtypes
from .function import Function, Module

_X86 = {INVALID: 0, DIVIDE: 2, OVERFLOW: 3, UNDERFLOW: 4}
_ARM = {INVALID: 0, DIVIDE: 1, OVERFLOW: 2, UNDERFLOW: 3}
_ALL = 0x3F
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True, slots=True)
class Layout:
    """Word offsets into an argument block. ``flags`` is word 0, ``chunk`` word 1, and ``extents`` begin at word 2.

    ``strides`` holds ``ndim`` words for operand 0, then those of operand 1, and so on, in bytes.
    A scalar takes two words, its value in native form at their start. ``partials`` holds one
    pointer for each entry of ``partial_dtypes``, to an array with one element for every chunk.
    """

    flags: ClassVar[int] = 0
    chunk: ClassVar[int] = 1
    extents: ClassVar[int] = 2
    ndim: int
    operands: int
    pointers: int
    strides: int
    scalars: int
    origins: int
    partials: int
    size: int
    partial_dtypes: tuple[str, ...]

    @classmethod
    def of(cls, spec: KernelSpec) -> Layout:
        """The layout of the argument block of ``spec``."""
        ndim, operands = spec.ndim, len(spec.operands)
        dtypes = partial_dtypes(spec)
        pointers = cls.extents + ndim
        strides = pointers + operands
        scalars = strides + operands * ndim
        origins = scalars + 2 * len(spec.scalars)
        partials = origins + ndim
        size = partials + len(dtypes)
        return cls(ndim, operands, pointers, strides, scalars, origins, partials, size, dtypes)


@dataclass(slots=True, eq=False)
class Kernel:
    """Machine code for a specification, at ``address``: ``void (block, first_chunk, last_chunk)``.

    ``alone`` calls it in this thread. The code stays in memory as long as the kernel does. A ``draft`` was
    compiled in haste, and has ``done`` some work: see :mod:`.compile`.
    """

    spec: KernelSpec
    layout: Layout
    draft: bool = False
    done: int = 0
    address: int = field(default=0, init=False)
    alone: Any = field(default=None, init=False)
    _held: tuple[object, ...] = field(default=(), init=False)

    def take(self, address: int, holder: object) -> None:
        """Have code at an address, in memory that ``holder`` keeps. Threads may be in the code before it, so that stays, too."""
        self._held = (*self._held, holder)
        self.alone, self.address = _FUNCTION(address), address


def define_entry(module: Module, name: str, flags: int) -> None:
    """Define ``void @name(block, first, last)`` around ``@name.nest``.

    The processor's flags are cleared first. At the end the raised flags among ``flags``,
    and the flags that the nest found itself, are added to the first word of the block.
    """
    function = Function(module, f"define void @{name}(ptr %block, i64 %first, i64 %last)")
    machine = module.machine
    bits = _X86 if machine.x86 else _ARM if machine.arm else {}
    if machine.x86:
        register = function.allocate("i32", 4)
        module.declare("llvm.x86.sse.stmxcsr", "void", "ptr")
        module.declare("llvm.x86.sse.ldmxcsr", "void", "ptr")
    elif machine.arm:
        module.declare("llvm.aarch64.get.fpsr", "i64", "")
        module.declare("llvm.aarch64.set.fpsr", "void", "i64")

    def state() -> str:
        """The processor's flags."""
        if machine.x86:
            function.line(f"call void @llvm.x86.sse.stmxcsr(ptr {register})")
            return function.op(f"load i32, ptr {register}")
        wide = function.op("call i64 @llvm.aarch64.get.fpsr()")
        return function.op(f"trunc i64 {wide} to i32")

    if machine.x86:
        cleared = function.op(f"and i32 {state()}, {~_ALL}")
        function.line(f"store i32 {cleared}, ptr {register}")
        function.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {register})")
    elif machine.arm:
        wide = function.op("call i64 @llvm.aarch64.get.fpsr()")
        cleared = function.op(f"and i64 {wide}, -16")
        function.line(f"call void @llvm.aarch64.set.fpsr(i64 {cleared})")
    raised = function.op(f"call i32 @{name}.nest(ptr %block, i64 %first, i64 %last)")
    current = state() if bits else "0"
    for flag, bit in bits.items():
        if flags & flag:
            own = function.op(f"and i32 {function.op(f'lshr i32 {current}, {bit}')}, 1")
            own = function.op(f"mul i32 {own}, {flag}")
            raised = function.op(f"or i32 {raised}, {own}")
    with function.when(function.op(f"icmp ne i32 {raised}, 0"), "some"):
        wide = function.op(f"zext i32 {raised} to i64")
        function.op(f"atomicrmw or ptr %block, i64 {wide} monotonic")
    function.end(name)


def define_overlap(module: Module, layout: Layout, largest: int) -> None:
    """Define ``i1 @overlap(block, a, b)``, true if two operands share memory at different indices.

    They do not if their address ranges are apart, nor if they are the same elements in the
    same order: one start, and one stride along every axis that is longer than one. ``largest`` is
    the size of the largest element.
    """
    function = Function(module, "define internal i1 @overlap(ptr %block, i64 %a, i64 %b) noinline")

    def operand(which: str) -> tuple[str, str, str, list[str]]:
        start = function.word(function.op(f"add i64 {which}, {layout.pointers}"))
        low = high = start
        row = function.op(f"mul i64 {which}, {layout.ndim}")
        strides = []
        for axis in range(layout.ndim):
            stride = function.word(function.op(f"add i64 {row}, {layout.strides + axis}"))
            strides.append(stride)
            span = function.op(f"mul i64 {stride}, {last[axis]}")
            back = function.op(f"icmp slt i64 {span}, 0")
            down = function.op(f"select i1 {back}, i64 {span}, i64 0")
            up = function.op(f"select i1 {back}, i64 0, i64 {span}")
            low, high = function.op(f"add i64 {low}, {down}"), function.op(f"add i64 {high}, {up}")
        return start, low, high, strides

    last = [
        function.op(f"sub i64 {function.word(layout.extents + axis)}, 1")
        for axis in range(layout.ndim)
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
    function.end("overlap", f"i1 {function.op(f'and i1 {meet}, {differ}')}")
