"""Integer division by a number that is constant in the nest.

Multiplying by the inverse of the divisor is several times quicker than dividing. The product is rounded, so the
quotient of a multiple could come out a little less than it is. Half a unit before dividing takes care of that: with ``h`` = 1/2
and the sign of ``b``, ``floor(a / b)`` is ``floor((a + h) / b)``, and ``(a + h) / b`` is at least ``1 / 2b`` away
from the whole numbers around it. That is a relative distance of 2**-17 for numbers of up to 16 bits, and 2**-33 for 32: much
more than the roundings of single and of double precision amount to. The remainder is ``a - b * floor(a / b)``.

Zero and -1 are divisors that raise flags, and go the long way (:mod:`.integers`); one look at the divisor tells.
"""

from __future__ import annotations

from collections.abc import Callable

from . import integers
from .arithmetic import cast
from .builder import Code, Value, is_signed
from .types import VALUE_TYPE, itemsize

QUICK = frozenset({"floor_divide", "remainder", "divmod.0", "divmod.1"})
"""Ufuncs that have a form ``.by`` for such divisors."""
DTYPES = frozenset({"i1", "u1", "i2", "u2", "i4", "u4"})
_LIFTED, _LIFTED_BITS = 2.0**52, 0x4330000000000000
_MAGIC = 1.5 * 2.0**52
_BYTES = 64


def inverse_dtype(dtype: str) -> str:
    """In which dtype the inverse of a divisor is given."""
    return "f4" if itemsize(dtype) < 4 else "f8"


def inverse(code: Code, b: Value) -> Value:
    """``1 / b``, and 1 for zero."""
    wide = inverse_dtype(b.dtype)
    one = code.const(b.dtype, 1)
    safe = code.select(code.icmp("eq", b, code.const(b.dtype, 0)), one, b)
    return code.op("fdiv", code.const(wide, 1.0), cast(code, safe, wide))


def floor_divide(code: Code, a: Value, b: Value, inverse: Value) -> Value:
    """The quotient, rounded down."""
    return _checked(code, a, b, integers.floor_divide, lambda: _quotient(code, a, inverse))


def remainder(code: Code, a: Value, b: Value, inverse: Value) -> Value:
    """The remainder with the sign of the divisor."""
    return _checked(code, a, b, integers.remainder, lambda: _rest(code, a, b, inverse))


def divmod_remainder(code: Code, a: Value, b: Value, inverse: Value) -> Value:
    """The second result of ``divmod``."""
    return _checked(code, a, b, integers.divmod_remainder, lambda: _rest(code, a, b, inverse))


def _rest(code: Code, a: Value, b: Value, inverse: Value) -> Value:
    return code.op("sub", a, code.op("mul", _quotient(code, a, inverse), b))


def _checked(
    code: Code,
    a: Value,
    b: Value,
    long: Callable[[Code, Value, Value], Value],
    quick: Callable[[], Value],
) -> Value:
    """What ``quick`` gives, unless the divisor is 0 or -1."""
    function, dtype, kind = code.function, a.dtype, code.type(a.dtype)
    scalar = VALUE_TYPE[dtype]
    lane = b.name
    if b.number is not None:
        return long(code, a, b) if b.number in (0, -1) else quick()
    if code.width > 1:
        lane = function.op(f"extractelement {kind} {b.name}, i64 0")
    if is_signed(dtype):
        following = function.op(f"add {scalar} {lane}, 1")
        special = function.op(f"icmp ult {scalar} {following}, 2")
    else:
        special = function.op(f"icmp eq {scalar} {lane}, 0")
    slow, fast, after = (function.name("divide") for _ in range(3))
    function.branch(special, slow, fast)
    function.label(slow)
    exact = long(code, a, b)
    slow = function.block
    function.jump(after)
    function.label(fast)
    result = quick()
    fast = function.block
    function.jump(after)
    function.label(after)
    merged = function.op(f"phi {kind} [ {exact.name}, %{slow} ], [ {result.name}, %{fast} ]")
    return Value(dtype, merged)


def _quotient(code: Code, a: Value, inverse: Value) -> Value:
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
