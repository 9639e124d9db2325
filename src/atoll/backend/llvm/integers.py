"""Integer ufuncs, with NumPy's results where LLVM defines none."""

from __future__ import annotations

from collections.abc import Callable

from ..flags import DIVIDE, NEGATIVE_POWER, OVERFLOW
from .arithmetic import cast
from .builder import Code, Value, is_signed
from .function import Function
from .types import VALUE_TYPE, bits, itemsize, smallest


def absolute(code: Code, value: Value) -> Value:
    """The absolute value; that of the smallest integer is itself."""
    if not is_signed(value.dtype):
        return value
    return code.intrinsic("abs", value, extra="i1 false")


def sign(code: Code, value: Value) -> Value:
    """-1, 0 or 1."""
    nil, unit = code.const(value.dtype, 0), code.const(value.dtype, 1)
    if not is_signed(value.dtype):
        return code.select(code.icmp("eq", value, nil), nil, unit)
    down = code.select(code.icmp("slt", value, nil), code.const(value.dtype, -1), unit)
    return code.select(code.icmp("eq", value, nil), nil, down)


def _safe(code: Code, a: Value, b: Value, overflow: bool) -> tuple[Value, Value, Value]:
    """A safe divisor, a mask of zero divisors, and a mask of overflowing quotients."""
    dtype = a.dtype
    unit = code.const(dtype, 1)
    zero = code.icmp("eq", b, code.const(dtype, 0))
    code.flag(zero, DIVIDE)
    safe = code.select(zero, unit, b)
    if not is_signed(dtype):
        return safe, zero, code.const("b1", 0)
    lowest = code.icmp("eq", a, code.const(dtype, smallest(dtype)))
    over = code.op("and", lowest, code.icmp("eq", b, code.const(dtype, -1)))
    if overflow:
        code.flag(over, OVERFLOW)
    return code.select(over, unit, safe), zero, over


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
    """Quotients of 64-bit integers: in floating point if all lanes are below 2**51, else one by one.

    Added to 1.5 * 2**52, such an integer sits in the lowest bits of a double, both ways.
    """
    dtype = a.dtype
    half = code.const(dtype, 1 << 51 if is_signed(dtype) else 0)
    limit = code.const(dtype, 1 << 52 if is_signed(dtype) else 1 << 51)
    large = [code.icmp("uge", code.op("add", value, half), limit) for value in (a, b)]

    def fast() -> Value:
        magic, pattern = code.const("f8", _MAGIC), code.const(dtype, _MAGIC_BITS)
        x, y = (
            code.op("fsub", code.retype(code.op("add", value, pattern), "f8"), magic)
            for value in (a, b)
        )
        quotient = code.intrinsic("trunc", code.op("fdiv", x, y))
        whole = code.retype(code.op("fadd", quotient, magic), dtype)
        return code.op("sub", whole, pattern)

    some = code.any(code.op("or", *large))
    return code.either(some, lambda: _divide_exactly(code, a, b), fast)


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
    if exponent.number is not None and exponent.number.real >= 0:
        return _chain(code, base, int(exponent.number.real))
    if is_signed(dtype):
        code.flag(code.icmp("slt", exponent, code.const(dtype, 0)), NEGATIVE_POWER)
    kind = VALUE_TYPE[dtype]
    name = f"power.{kind}"
    head = f"define internal {kind} @{name}({kind} %base, {kind} %exponent) noinline memory(none)"
    body = Function(code.module, head)

    def turn(result: str, square: str, left: str) -> tuple[str, ...]:
        odd = body.op(f"trunc {kind} {left} to i1")
        product = body.op(f"mul {kind} {result}, {square}")
        result = body.op(f"select i1 {odd}, {kind} {product}, {kind} {result}")
        square = body.op(f"mul {kind} {square}, {square}")
        return result, square, body.op(f"lshr {kind} {left}, 1")

    begin = [(kind, "1"), (kind, "%base"), (kind, "%exponent")]
    body.end(name, f"{kind} {body.repeat('power', _is_left(body, kind), turn, *begin)[0]}")
    return code.each(name, dtype, base, exponent)


def _is_left(body: Function, kind: str) -> Callable[..., str]:
    """True if the last of the carried values is not zero."""
    return lambda *values: body.op(f"icmp ne {kind} {values[-1]}, 0")


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


def bitwise_count(code: Code, value: Value) -> Value:
    """Number of set bits of the absolute value."""
    return cast(code, code.intrinsic("ctpop", absolute(code, value)), "u1")


def gcd(code: Code, a: Value, b: Value) -> Value:
    """The greatest common divisor."""
    kind = VALUE_TYPE[a.dtype]
    name = f"gcd.{kind}"
    head = f"define internal {kind} @{name}({kind} %a, {kind} %b) noinline memory(none)"
    body = Function(code.module, head)

    def turn(first: str, second: str) -> tuple[str, str]:
        return second, body.op(f"urem {kind} {first}, {second}")

    divisor = body.repeat("gcd", _is_left(body, kind), turn, (kind, "%a"), (kind, "%b"))[0]
    body.end(name, f"{kind} {divisor}")
    return code.each(name, a.dtype, absolute(code, a), absolute(code, b))


def lcm(code: Code, a: Value, b: Value) -> Value:
    """The least common multiple, wrapped; zero if either is zero."""
    a, b = absolute(code, a), absolute(code, b)
    divisor = gcd(code, a, b)
    nil, unit = code.const(a.dtype, 0), code.const(a.dtype, 1)
    zero = code.icmp("eq", divisor, nil)
    quotient = code.op("udiv", a, code.select(zero, unit, divisor))
    return code.select(zero, nil, code.op("mul", quotient, b))


# Division by a number that is constant in the nest.
#
# Multiplying by the inverse is several times quicker than dividing. To keep the rounding from showing, half a
# unit is added before dividing: ``floor(a / b)`` is ``floor((a + h) / b)``, with ``h`` = 1/2 and the sign of ``b``,
# and ``(a + h) / b`` is at least ``1 / 2b`` away from whole numbers. That is a relative distance of 2**-17 for numbers
# of up to 16 bits and 2**-33 for 32, more than the roundings of single and of double precision amount to. Zero and
# -1 raise flags, and are divided by as above.

QUICK = frozenset({"floor_divide", "remainder", "divmod.0", "divmod.1"})
"""Ufuncs that have a form ``.by`` for such divisors, of these dtypes:"""
SHORT = frozenset({"i1", "u1", "i2", "u2", "i4", "u4"})
_LIFTED, _LIFTED_BITS = 2.0**52, 0x4330000000000000
_BYTES = 64


def inverse_dtype(dtype: str) -> str:
    """Dtype of the inverse of a divisor."""
    return "f4" if itemsize(dtype) < 4 else "f8"


def inverse(code: Code, b: Value) -> Value:
    """``1 / b``, and 1 for zero."""
    wide = inverse_dtype(b.dtype)
    unit = code.const(b.dtype, 1)
    safe = code.select(code.icmp("eq", b, code.const(b.dtype, 0)), unit, b)
    return code.op("fdiv", code.const(wide, 1.0), cast(code, safe, wide))


def floor_divide_by(code: Code, a: Value, b: Value, inverse: Value) -> Value:
    """The quotient, rounded down."""
    return _checked(code, a, b, floor_divide, lambda: _quotient_by(code, a, inverse))


def remainder_by(code: Code, a: Value, b: Value, inverse: Value) -> Value:
    """The remainder with the sign of the divisor."""
    return _checked(code, a, b, remainder, lambda: _rest_by(code, a, b, inverse))


def divmod_remainder_by(code: Code, a: Value, b: Value, inverse: Value) -> Value:
    """The second result of ``divmod``."""
    return _checked(code, a, b, divmod_remainder, lambda: _rest_by(code, a, b, inverse))


def _rest_by(code: Code, a: Value, b: Value, inverse: Value) -> Value:
    return code.op("sub", a, code.op("mul", _quotient_by(code, a, inverse), b))


def _checked(
    code: Code,
    a: Value,
    b: Value,
    long: Callable[[Code, Value, Value], Value],
    quick: Callable[[], Value],
) -> Value:
    """The result of ``quick``, or that of ``long`` if the divisor is 0 or -1."""
    function, dtype = code.function, a.dtype
    scalar = VALUE_TYPE[dtype]
    if b.number is not None:
        return long(code, a, b) if b.number in (0, -1) else quick()
    lane = code.slice(scalar, b.name, code.width, 0, 1)
    if is_signed(dtype):
        following = function.op(f"add {scalar} {lane}, 1")
        special = function.op(f"icmp ult {scalar} {following}, 2")
    else:
        special = function.op(f"icmp eq {scalar} {lane}, 0")
    return code.either(special, lambda: long(code, a, b), quick)


def _quotient_by(code: Code, a: Value, inverse: Value) -> Value:
    """The quotient by any other divisor, a few registers at a time."""
    scalar, wide = VALUE_TYPE[a.dtype], VALUE_TYPE[inverse.dtype]
    lanes = min(code.width, _BYTES // itemsize(inverse.dtype))
    part = Code(code.function, lanes)
    rate = code.slice(wide, inverse.name, code.width, 0, lanes)
    times = Value(inverse.dtype, rate)
    half = part.op("fmul", part.intrinsic("fabs", times), part.const(inverse.dtype, 0.5))
    names = []
    for start in range(0, code.width, lanes):
        piece = Value(a.dtype, code.slice(scalar, a.name, code.width, start, lanes))
        names.append(_of_part(part, piece, times, half).name)
    return Value(a.dtype, code.join(scalar, names, lanes))


def _of_part(code: Code, a: Value, times: Value, half: Value) -> Value:
    """``floor(a * times + half)``: in single precision up to 16 bits, else in double precision."""
    dtype = a.dtype
    if dtype == "u4":  # by its bits in the lowest ones of a double, both ways
        pattern = code.op("or", code.convert("zext", a, "i8"), code.const("i8", _LIFTED_BITS))
        number = code.op("fsub", code.retype(pattern, "f8"), code.const("f8", _LIFTED))
        product = code.op("fadd", code.op("fmul", number, times), half)
        # never a tie, since the product is never whole: rounding to nearest rounds down
        below = code.op("fsub", product, code.const("f8", 0.5))
        nearest = code.op("fadd", below, code.const("f8", _MAGIC))
        return code.convert("trunc", code.retype(nearest, "i8"), dtype)
    whole = a
    if itemsize(dtype) < 4:
        whole = code.convert("sext" if is_signed(dtype) else "zext", a, "i4")
    number = code.convert("sitofp", whole, times.dtype)
    product = code.op("fadd", code.op("fmul", number, times), half)
    if is_signed(dtype):
        product = code.intrinsic("floor", product)
    quotient = code.convert("fptosi", product, "i4")
    return quotient if itemsize(dtype) == 4 else code.convert("trunc", quotient, dtype)
