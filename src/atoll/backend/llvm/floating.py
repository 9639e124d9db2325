"""Floating-point ufuncs that take more than one instruction."""

from __future__ import annotations

import math
import struct

import numpy as np

from ..flags import INVALID, OVERFLOW
from .arithmetic import (
    copysign,
    is_finite,
    is_inf,
    is_nan,
    magnitude,
    mantissa_mask,
    one_by_one,
    pattern,
    sign_bit,
)
from .builder import Code, Value, is_signed
from .types import MANTISSA, SIGNED_BITS, VALUE_TYPE, bits, itemsize


def sign(code: Code, value: Value) -> Value:
    """-1, 0 or 1; NaN for NaN."""
    nil = code.const(value.dtype, 0.0)
    up, down = code.fcmp("ogt", value, nil), code.fcmp("olt", value, nil)
    result = code.select(is_nan(code, value), value, nil)
    result = code.select(down, code.const(value.dtype, -1.0), result)
    return code.select(up, code.const(value.dtype, 1.0), result)


def to_radians(code: Code, value: Value) -> Value:
    """Degrees as radians."""
    return code.op("fmul", value, code.const(value.dtype, _ratio(value.dtype, math.pi, 180.0)))


def to_degrees(code: Code, value: Value) -> Value:
    """Radians as degrees."""
    return code.op("fmul", value, code.const(value.dtype, _ratio(value.dtype, 180.0, math.pi)))


def _ratio(dtype: str, a: float, b: float) -> float:
    """``a / b`` in the arithmetic of ``dtype``."""
    if dtype == "f8":
        return a / b
    # The operands are rounded first; the quotient is rounded again when it is written down.
    single = [struct.unpack("f", struct.pack("f", x))[0] for x in (a, b)]
    return float(single[0] / single[1])


def heaviside(code: Code, value: Value, at_zero: Value) -> Value:
    """0, ``at_zero`` or 1 by the sign of ``value``."""
    nil, unit = code.const(value.dtype, 0.0), code.const(value.dtype, 1.0)
    result = code.select(code.fcmp("olt", value, nil), nil, unit)
    result = code.select(code.fcmp("oeq", value, nil), at_zero, result)
    return code.select(is_nan(code, value), value, result)


# division with remainder


def fmod(code: Code, a: Value, b: Value) -> Value:
    """The remainder with the sign of the dividend.

    If the quotient fits the fraction, ``x - trunc(x / y) * y`` has no rounding but that of the
    quotient, which may make it one too great. Other lanes go to the C library.
    """
    if not code.machine.fused:
        return code.libm("fmod", a, b)
    dtype = a.dtype
    nil, unit = code.const(dtype, 0.0), code.const(dtype, 1.0)
    x, y = code.intrinsic("fabs", a), code.intrinsic("fabs", b)
    scaled = code.op("fmul", x, code.const(dtype, 0.5 ** (MANTISSA[dtype] - 1)))
    plain = code.op("and", code.fcmp("olt", scaled, y), is_finite(code, y))
    x, y = code.select(plain, x, unit), code.select(plain, y, unit)
    quotient = code.intrinsic("trunc", code.op("fdiv", x, y))
    rest = code.intrinsic("fma", code.op("fneg", quotient), y, x)
    over = code.fcmp("olt", rest, nil)
    rest = code.select(over, code.op("fadd", rest, y), rest)
    return one_by_one(code, "fmod", plain, copysign(code, rest, a), a, b)


def _adjusts(code: Code, b: Value, rest: Value) -> Value:
    """Mask of the lanes whose truncated quotient is one more than the floored one."""
    nil = code.const(b.dtype, 0.0)
    differ = code.op("xor", code.fcmp("olt", b, nil), code.fcmp("olt", rest, nil))
    return code.op("and", code.fcmp("une", rest, nil), differ)


def _floored(code: Code, a: Value, b: Value, rest: Value) -> Value:
    """The floored quotient, from the truncated remainder; ``b`` is not zero."""
    dtype = a.dtype
    nil, unit = code.const(dtype, 0.0), code.const(dtype, 1.0)
    quotient = code.op("fdiv", code.op("fsub", a, rest), b)
    quotient = code.op("fsub", quotient, code.select(_adjusts(code, b, rest), unit, nil))
    floored = code.intrinsic("floor", quotient)
    above = code.fcmp("ogt", code.op("fsub", quotient, floored), code.const(dtype, 0.5))
    floored = code.op("fadd", floored, code.select(above, unit, code.const(dtype, -0.0)))
    negative = code.op("xor", sign_bit(code, a), sign_bit(code, b))
    signed_zero = code.select(negative, code.const(dtype, -0.0), nil)
    return code.select(code.fcmp("une", quotient, nil), floored, signed_zero)


def floor_divide(code: Code, a: Value, b: Value) -> Value:
    """The quotient, rounded down; ``a / b`` where ``b`` is zero."""
    unit = code.const(a.dtype, 1.0)
    zero = code.fcmp("oeq", b, code.const(a.dtype, 0.0))
    safe, dividend = code.select(zero, unit, b), code.select(zero, unit, a)
    floored = _floored(code, dividend, safe, fmod(code, dividend, safe))
    return code.select(zero, code.op("fdiv", a, code.select(zero, b, unit)), floored)


def remainder(code: Code, a: Value, b: Value) -> Value:
    """The remainder with the sign of the divisor; NaN where that is zero."""
    nil = code.const(a.dtype, 0.0)
    rest = fmod(code, a, b)
    moved = code.select(_adjusts(code, b, rest), b, code.const(a.dtype, -0.0))
    some = code.fcmp("une", rest, nil)
    result = code.select(some, code.op("fadd", rest, moved), copysign(code, nil, b))
    return code.select(code.fcmp("oeq", b, nil), rest, result)


def divmod_quotient(code: Code, a: Value, b: Value) -> Value:
    """The first result of ``divmod``, whose flags include those of the remainder."""
    unit = code.const(a.dtype, 1.0)
    zero = code.fcmp("oeq", b, code.const(a.dtype, 0.0))
    rest = fmod(code, a, b)
    safe, dividend = code.select(zero, unit, b), code.select(zero, unit, a)
    floored = _floored(code, dividend, safe, code.select(zero, unit, rest))
    return code.select(zero, code.op("fdiv", a, code.select(zero, b, unit)), floored)


# neighbours, fractions and exponents


_HALF_KEEPS_ZERO = not np.signbit(np.nextafter(np.float16(0.0), np.float16(-0.0)))
"""True if the neighbour of a zero towards a zero is the first of them, in half precision: so before NumPy 2.5."""


def nextafter(code: Code, a: Value, b: Value) -> Value:
    """The next number after ``a`` towards ``b``."""
    kind = SIGNED_BITS[a.dtype]
    unit, minus = code.const(kind, 1), code.const(kind, -1)
    nil = code.const(a.dtype, 0.0)
    whole = pattern(code, a)
    outward = code.op("xor", code.fcmp("olt", a, b), sign_bit(code, a))
    stepped = code.retype(code.op("add", whole, code.select(outward, unit, minus)), a.dtype)
    smallest = copysign(code, code.retype(unit, a.dtype), b)
    result = code.select(code.fcmp("oeq", a, nil), smallest, stepped)
    first = a.dtype == "f2" and _HALF_KEEPS_ZERO
    result = code.select(code.fcmp("oeq", a, b), a if first else b, result)
    result = code.select(is_nan(code, b), b, result)
    result = code.select(is_nan(code, a), a, result)
    code.flag(code.op("and", is_finite(code, a), is_inf(code, result)), OVERFLOW)
    return result


def spacing(code: Code, value: Value) -> Value:
    """The distance to the next number away from zero, with the sign of ``value``.

    Half precision differs in NumPy: there it is the distance to the next greater number.
    """
    dtype = value.dtype
    unit = code.const(SIGNED_BITS[dtype], 1)
    nil = code.const(dtype, 0.0)
    finite = is_finite(code, value)
    size = code.select(finite, magnitude(code, value), nil)
    following = code.retype(code.op("add", pattern(code, size), unit), dtype)
    is_zero = code.fcmp("oeq", size, nil)
    if dtype == "f2":
        inward = code.op("and", sign_bit(code, value), code.negate(is_zero))
        preceding = code.retype(code.op("sub", pattern(code, size), unit), dtype)
        high, low = code.select(inward, size, following), code.select(inward, preceding, size)
        gap = code.half(code.op("fsub", code.single(high), code.single(low)))
    else:
        gap = code.op("fsub", following, size)
        gap = code.select(is_zero, gap, copysign(code, gap, value))
    code.flag(is_inf(code, gap), OVERFLOW)
    if dtype == "f2":
        code.flag(code.negate(finite), INVALID)
    return code.select(finite, gap, code.const(dtype, math.nan))


def modf_fraction(code: Code, value: Value) -> Value:
    """The fraction, with the sign of ``value``."""
    infinite = is_inf(code, value)
    nil = code.const(value.dtype, 0.0)
    finite = code.select(infinite, nil, value)
    fraction = code.op("fsub", finite, code.intrinsic("trunc", finite))
    return copysign(code, fraction, value)


def _normal(code: Code, value: Value) -> tuple[Value, Value, Value]:
    """The value scaled to be normal, the shift of its exponent, and a mask of the values that have an exponent."""
    dtype = value.dtype
    mantissa, kind = MANTISSA[dtype], SIGNED_BITS[dtype]
    smallest = code.retype(code.const(kind, 1 << mantissa), dtype)
    tiny = code.fcmp("olt", code.intrinsic("fabs", value), smallest)
    scaled = code.op("fmul", value, code.const(dtype, 2.0 ** (mantissa + 2)))
    normal = code.select(tiny, scaled, value)
    shift = code.select(tiny, code.const(kind, mantissa + 2), code.const(kind, 0))
    nil = code.const(dtype, 0.0)
    plain = code.op("and", is_finite(code, value), code.fcmp("une", value, nil))
    return normal, shift, plain


def frexp_mantissa(code: Code, value: Value) -> Value:
    """A fraction of magnitude in [0.5, 1), or the value itself if it has no exponent."""
    dtype = value.dtype
    kind, mantissa = SIGNED_BITS[dtype], MANTISSA[dtype]
    normal, _, plain = _normal(code, value)
    half_exponent = (1 << (bits(dtype) - mantissa - 2)) - 2
    keep = code.const(kind, ~(mantissa_mask(dtype) & ~((1 << mantissa) - 1)))
    fraction = code.op("and", pattern(code, normal), keep)
    fraction = code.op("or", fraction, code.const(kind, half_exponent << mantissa))
    return code.select(plain, code.retype(fraction, dtype), value)


def frexp_exponent(code: Code, value: Value) -> Value:
    """The exponent that belongs to :func:`frexp_mantissa`."""
    dtype = value.dtype
    kind, mantissa = SIGNED_BITS[dtype], MANTISSA[dtype]
    normal, shift, plain = _normal(code, value)
    half_exponent = (1 << (bits(dtype) - mantissa - 2)) - 2
    whole = code.op("and", pattern(code, normal), code.const(kind, mantissa_mask(dtype)))
    exponent = code.op("lshr", whole, code.const(kind, mantissa))
    exponent = code.op("sub", exponent, code.op("add", shift, code.const(kind, half_exponent)))
    exponent = code.select(plain, exponent, code.const(kind, 0))
    return exponent if kind == "i4" else code.convert("trunc", exponent, "i4")


def ldexp(code: Code, value: Value, exponent: Value) -> Value:
    """``value * 2**exponent``, rounded once."""
    if itemsize(exponent.dtype) == 8:
        limit = code.const("i8", 1 << 20)
        exponent = code.intrinsic("smin", exponent, limit)
        exponent = code.intrinsic("smax", exponent, code.const("i8", -(1 << 20)))
        exponent = code.convert("trunc", exponent, "i4")
    elif itemsize(exponent.dtype) < 4:
        exponent = code.convert("sext" if is_signed(exponent.dtype) else "zext", exponent, "i4")
    kind = VALUE_TYPE[value.dtype]
    name = "ldexp" if value.dtype == "f8" else "ldexpf"
    code.module.declare(name, kind, f"{kind}, i32", "nounwind willreturn memory(none)")
    return code.each(name, value.dtype, value, exponent)
