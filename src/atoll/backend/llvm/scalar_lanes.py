"""Lanes of a vector that scalar functions of the C library compute."""

from __future__ import annotations

from .builder import Code, Value
from .types import VALUE_TYPE


def one_by_one(code: Code, name: str, done: Value, result: Value, *arguments: Value) -> Value:
    """``result``, with the lanes that are not ``done`` computed by the scalar function ``name``."""
    function, dtype = code.function, result.dtype
    kind, whole = VALUE_TYPE[dtype], code.type(dtype)
    scalar = name + ("f" if dtype == "f4" else "")
    attributes = "nounwind willreturn memory(none)"
    code.module.declare(scalar, kind, ", ".join([kind] * len(arguments)), attributes)
    left = code.negate(done)
    slow, after = function.name("special"), function.name("ordinary")
    before = function.block
    wanted = code.truth(left)
    function.branch(code.any(left), slow, after)
    function.label(slow)
    current = result.name
    for lane in range(code.width):
        start = function.block
        one, following = function.name("lane"), function.name("lane")
        function.branch(code.slice("i1", wanted, code.width, lane, 1), one, following)
        function.label(one)
        inputs = [f"{kind} {code.slice(kind, v.name, code.width, lane, 1)}" for v in arguments]
        value = function.op(f"call {kind} @{scalar}({', '.join(inputs)})")
        if code.width > 1:
            value = function.op(f"insertelement {whole} {current}, {kind} {value}, i64 {lane}")
        function.jump(following)
        function.label(following)
        current = function.op(f"phi {whole} [ {current}, %{start} ], [ {value}, %{one} ]")
    last = function.block
    function.jump(after)
    function.label(after)
    return Value(
        dtype, function.op(f"phi {whole} [ {result.name}, %{before} ], [ {current}, %{last} ]")
    )
