"""Integer ufuncs, with NumPy's results where LLVM defines none."""

from __future__ import annotations

from ..flags import DIVIDE, NEGATIVE_POWER, OVERFLOW
from .arithmetic import cast
from .builder import Code, Value, is_signed
from .types import VALUE_TYPE, bits, itemsize, smallest

_LONGEST_CHAIN = 64


def absolute(code: Code, value: Value) -> Value:
    """The absolute value; that of the smallest integer is itself."""
    if not is_signed(value.dtype):
        return value
    return code.intrinsic("abs", value, extra="i1 false")


def negative(code: Code, value: Value) -> Value:
    """``-value``, wrapped."""
    return code.op("sub", code.const(value.dtype, 0), value)


def sign(code: Code, value: Value) -> Value:
    """-1, 0 or 1."""
    nil, one = code.const(value.dtype, 0), code.const(value.dtype, 1)
    if not is_signed(value.dtype):
        return code.select(code.icmp("eq", value, nil), nil, one)
    down = code.select(code.icmp("slt", value, nil), code.const(value.dtype, -1), one)
    return code.select(code.icmp("eq", value, nil), nil, down)


def _safe(code: Code, a: Value, b: Value, overflow: bool) -> tuple[Value, Value, Value]:
    """A divisor that cannot fail, and where ``b`` is zero, and where the quotient overflows."""
    dtype = a.dtype
    one = code.const(dtype, 1)
    zero = code.icmp("eq", b, code.const(dtype, 0))
    code.flag(zero, DIVIDE)
    safe = code.select(zero, one, b)
    if not is_signed(dtype):
        return safe, zero, code.const("b1", 0)
    lowest = code.icmp("eq", a, code.const(dtype, smallest(dtype)))
    over = code.op("and", lowest, code.icmp("eq", b, code.const(dtype, -1)))
    if overflow:
        code.flag(over, OVERFLOW)
    return code.select(over, one, safe), zero, over


def _divide(code: Code, a: Value, b: Value) -> Value:
    """The truncated quotient. Up to 32 bits, dividing as floating point is exact and quicker."""
    dtype = a.dtype
    if itemsize(dtype) == 8:
        return _divide_long(code, a, b) if code.width > 1 else _divide_exactly(code, a, b)
    wide = "f4" if itemsize(dtype) < 4 else "f8"
    quotient = code.op("fdiv", cast(code, a, wide), cast(code, b, wide))
    via = dtype if itemsize(dtype) == 4 else "i4"
    instruction = "fptosi" if is_signed(via) else "fptoui"
    return cast(code, code.freeze(code.convert(instruction, quotient, via)), dtype)


def _divide_exactly(code: Code, a: Value, b: Value) -> Value:
    return code.op("sdiv" if is_signed(a.dtype) else "udiv", a, b)


_MAGIC = 1.5 * 2.0**52
_MAGIC_BITS = 0x4338000000000000


def _divide_long(code: Code, a: Value, b: Value) -> Value:
    """Quotients of 64-bit integers: as floating point where all lanes are below 2**51, else one by one.

    Added to 1.5 * 2**52, such an integer sits in the lowest bits of a double, both ways.
    """
    function, dtype, kind = code.function, a.dtype, code.type(a.dtype)
    half = code.const(dtype, 1 << 51 if is_signed(dtype) else 0)
    limit = code.const(dtype, 1 << 52 if is_signed(dtype) else 1 << 51)
    large = [code.icmp("uge", code.op("add", value, half), limit) for value in (a, b)]
    slow, fast, after = (function.name("divide") for _ in range(3))
    function.branch(code.any(code.op("or", *large)), slow, fast)
    function.label(slow)
    exact = _divide_exactly(code, a, b)
    function.jump(after)
    function.label(fast)
    magic, pattern = code.const("f8", _MAGIC), code.const(dtype, _MAGIC_BITS)
    x, y = (
        code.op("fsub", code.retype(code.op("add", value, pattern), "f8"), magic)
        for value in (a, b)
    )
    quotient = code.intrinsic("trunc", code.op("fdiv", x, y))
    whole = code.retype(code.op("fadd", quotient, magic), dtype)
    result = code.op("sub", whole, pattern)
    function.jump(after)
    function.label(after)
    merged = function.op(f"phi {kind} [ {exact.name}, %{slow} ], [ {result.name}, %{fast} ]")
    return Value(dtype, merged)


def _floored(code: Code, a: Value, b: Value, overflow: bool) -> tuple[Value, Value]:
    """Quotient and remainder as Python has them; 0 where dividing by zero."""
    nil = code.const(a.dtype, 0)
    safe, zero, over = _safe(code, a, b, overflow)
    quotient = _divide(code, a, safe)
    remainder = code.op("sub", a, code.op("mul", quotient, safe))
    if is_signed(a.dtype):
        inexact = code.icmp("ne", remainder, nil)
        differ = code.icmp("slt", code.op("xor", remainder, safe), nil)
        low = code.op("and", inexact, differ)
        quotient = code.select(low, code.op("sub", quotient, code.const(a.dtype, 1)), quotient)
        remainder = code.select(low, code.op("add", remainder, safe), remainder)
        # The smallest integer by -1 was divided by 1 instead, which gives the wrapped quotient.
        remainder = code.select(over, nil, remainder)
    return code.select(zero, nil, quotient), code.select(zero, nil, remainder)


def floor_divide(code: Code, a: Value, b: Value) -> Value:
    """The quotient, rounded down."""
    return _floored(code, a, b, overflow=True)[0]


def remainder(code: Code, a: Value, b: Value) -> Value:
    """The remainder with the sign of the divisor."""
    return _floored(code, a, b, overflow=False)[1]


def divmod_quotient(code: Code, a: Value, b: Value) -> Value:
    """The first result of ``divmod``."""
    return _floored(code, a, b, overflow=True)[0]


def divmod_remainder(code: Code, a: Value, b: Value) -> Value:
    """The second result of ``divmod``."""
    return _floored(code, a, b, overflow=True)[1]


def fmod(code: Code, a: Value, b: Value) -> Value:
    """The remainder with the sign of the dividend."""
    nil = code.const(a.dtype, 0)
    safe, zero, over = _safe(code, a, b, overflow=False)
    rest = code.op("sub", a, code.op("mul", _divide(code, a, safe), safe))
    return code.select(code.op("or", zero, over), nil, rest)


def reciprocal(code: Code, value: Value) -> Value:
    """``1 / value`` by way of ``f8``, as NumPy does it."""
    quotient = code.op("fdiv", code.const("f8", 1.0), cast(code, value, "f8"))
    return cast(code, quotient, value.dtype)


def power(code: Code, base: Value, exponent: Value) -> Value:
    """``base ** exponent``, wrapped; negative exponents are reported, since NumPy refuses them."""
    dtype = base.dtype
    if exponent.number is not None and 0 <= int(exponent.number.real) <= _LONGEST_CHAIN:
        return _chain(code, base, int(exponent.number.real))
    if is_signed(dtype):
        code.flag(code.icmp("slt", exponent, code.const(dtype, 0)), NEGATIVE_POWER)
    kind = VALUE_TYPE[dtype]
    name = f"power.{kind}"
    code.module.definitions[
        name
    ] = f"""define internal {kind} @{name}({kind} %base, {kind} %exponent) noinline memory(none) {{
entry:
  br label %head
head:
  %result = phi {kind} [ 1, %entry ], [ %next, %body ]
  %square = phi {kind} [ %base, %entry ], [ %squared, %body ]
  %left = phi {kind} [ %exponent, %entry ], [ %half, %body ]
  %done = icmp eq {kind} %left, 0
  br i1 %done, label %exit, label %body
body:
  %odd = trunc {kind} %left to i1
  %product = mul {kind} %result, %square
  %next = select i1 %odd, {kind} %product, {kind} %result
  %squared = mul {kind} %square, %square
  %half = lshr {kind} %left, 1
  br label %head
exit:
  ret {kind} %result
}}"""
    return code.each(name, dtype, base, exponent)


def _chain(code: Code, base: Value, exponent: int) -> Value:
    result = code.const(base.dtype, 1)
    square = base
    while exponent:
        if exponent & 1:
            result = code.op("mul", result, square)
        exponent >>= 1
        if exponent:
            square = code.op("mul", square, square)
    return result


def left_shift(code: Code, a: Value, b: Value) -> Value:
    """``a << b``; all bits leave if ``b`` is too large or negative."""
    inside = code.icmp("ult", b, code.const(b.dtype, bits(b.dtype)))
    amount = code.select(inside, b, code.const(b.dtype, 0))
    return code.select(inside, code.op("shl", a, amount), code.const(a.dtype, 0))


def right_shift(code: Code, a: Value, b: Value) -> Value:
    """``a >> b``; only the sign is left if ``b`` is too large or negative."""
    size = bits(b.dtype)
    inside = code.icmp("ult", b, code.const(b.dtype, size))
    if is_signed(a.dtype):
        return code.op("ashr", a, code.select(inside, b, code.const(b.dtype, size - 1)))
    amount = code.select(inside, b, code.const(b.dtype, 0))
    return code.select(inside, code.op("lshr", a, amount), code.const(a.dtype, 0))


def invert(code: Code, value: Value) -> Value:
    """All bits turned over."""
    return code.op("xor", value, code.const(value.dtype, -1))


def bitwise_count(code: Code, value: Value) -> Value:
    """How many bits of the absolute value are set."""
    return cast(code, code.intrinsic("ctpop", absolute(code, value)), "u1")


def gcd(code: Code, a: Value, b: Value) -> Value:
    """The greatest common divisor."""
    kind = VALUE_TYPE[a.dtype]
    name = f"gcd.{kind}"
    code.module.definitions[
        name
    ] = f"""define internal {kind} @{name}({kind} %first, {kind} %second) noinline memory(none) {{
entry:
  br label %head
head:
  %a = phi {kind} [ %first, %entry ], [ %b, %body ]
  %b = phi {kind} [ %second, %entry ], [ %rest, %body ]
  %done = icmp eq {kind} %b, 0
  br i1 %done, label %exit, label %body
body:
  %rest = urem {kind} %a, %b
  br label %head
exit:
  ret {kind} %a
}}"""
    return code.each(name, a.dtype, absolute(code, a), absolute(code, b))


def lcm(code: Code, a: Value, b: Value) -> Value:
    """The least common multiple, wrapped; zero if either is zero."""
    a, b = absolute(code, a), absolute(code, b)
    divisor = gcd(code, a, b)
    nil, one = code.const(a.dtype, 0), code.const(a.dtype, 1)
    zero = code.icmp("eq", divisor, nil)
    quotient = code.op("udiv", a, code.select(zero, one, divisor))
    return code.select(zero, nil, code.op("mul", quotient, b))
