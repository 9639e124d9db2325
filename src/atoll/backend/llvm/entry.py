"""The entry point of a kernel: floating-point flags around its nest."""

from __future__ import annotations

from ..flags import DIVIDE, INVALID, OVERFLOW, UNDERFLOW
from .builder import Function, Module

_X86 = {INVALID: 0, DIVIDE: 2, OVERFLOW: 3, UNDERFLOW: 4}
_ARM = {INVALID: 0, DIVIDE: 1, OVERFLOW: 2, UNDERFLOW: 3}
_ALL = 0x3F


def define_entry(module: Module, name: str, flags: int) -> None:
    """Define ``void @name(block, first, last)`` around ``@name.nest``.

    The processor's flags are cleared first; those of ``flags`` that it has raised at the end,
    and those that the nest found itself, are added to the first word of the block.
    """
    function = Function(module, f"define void @{name}(ptr %block, i64 %first, i64 %last)")
    machine = module.machine
    bits: dict[int, int] = {}
    if machine.x86:
        bits = _X86
        register = function.allocate("i32", 4)
        module.declare("llvm.x86.sse.stmxcsr", "void", "ptr")
        module.declare("llvm.x86.sse.ldmxcsr", "void", "ptr")
        function.line(f"call void @llvm.x86.sse.stmxcsr(ptr {register})")
        state = function.op(f"load i32, ptr {register}")
        function.line(f"store i32 {function.op(f'and i32 {state}, {~_ALL}')}, ptr {register}")
        function.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {register})")
    elif machine.arm:
        bits = _ARM
        module.declare("llvm.aarch64.get.fpsr", "i64", "")
        module.declare("llvm.aarch64.set.fpsr", "void", "i64")
        wide = function.op("call i64 @llvm.aarch64.get.fpsr()")
        function.line(
            f"call void @llvm.aarch64.set.fpsr(i64 {function.op(f'and i64 {wide}, -16')})"
        )
    found = function.op(f"call i32 @{name}.nest(ptr %block, i64 %first, i64 %last)")
    state = "0"
    if machine.x86:
        function.line(f"call void @llvm.x86.sse.stmxcsr(ptr {register})")
        state = function.op(f"load i32, ptr {register}")
    elif machine.arm:
        wide = function.op("call i64 @llvm.aarch64.get.fpsr()")
        state = function.op(f"trunc i64 {wide} to i32")
    for flag, bit in bits.items():
        if flags & flag:
            raised = function.op(f"and i32 {function.op(f'lshr i32 {state}, {bit}')}, 1")
            raised = function.op(f"mul i32 {raised}, {flag}")
            found = function.op(f"or i32 {found}, {raised}")
    some, done = function.name("some"), function.name("done")
    function.branch(function.op(f"icmp eq i32 {found}, 0"), done, some)
    function.label(some)
    wide = function.op(f"zext i32 {found} to i64")
    function.op(f"atomicrmw or ptr %block, i64 {wide} monotonic")
    function.jump(done)
    function.label(done)
    function.line("ret void")
    module.definitions[name] = function.text()
