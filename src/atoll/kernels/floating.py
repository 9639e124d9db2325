"""Floating-point ufuncs that take more than one instruction."""

from __future__ import annotations

import math

from .arithmetic import copysign, is_nan, mantissa_mask, pattern, sign_bit
from .builder import Code, Value, is_signed
from .types import MANTISSA, SIGNED_BITS, VALUE_TYPE, bits, itemsize


def sign(code: Code, value: Value) -> Value:
    """-1, 0 or 1; NaN for NaN."""
    nil = code.const(value.dtype, 0.0)
    up, down = code.fcmp("ogt", value, nil), code.fcmp("olt", value, nil)
    result = code.select(is_nan(code, value), value, nil)
    result = code.select(down, code.const(value.dtype, -1.0), result)
    return code.select(up, code.const(value.dtype, 1.0), result)


def reciprocal(code: Code, value: Value) -> Value:
    """``1 / value``."""
    return code.op("fdiv", code.const(value.dtype, 1.0), value)


def square(code: Code, value: Value) -> Value:
    """``value * value``."""
    return code.op("fmul", value, value)


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
    import struct

    single = [struct.unpack("f", struct.pack("f", x))[0] for x in (a, b)]
    return float(single[0] / single[1])


def is_finite(code: Code, value: Value) -> Value:
    """Neither infinite nor NaN."""
    return code.fcmp("one", code.intrinsic("fabs", value), code.const(value.dtype, math.inf))


def is_inf(code: Code, value: Value) -> Value:
    """Infinite, of either sign."""
    return code.fcmp("oeq", code.intrinsic("fabs", value), code.const(value.dtype, math.inf))


def heaviside(code: Code, value: Value, at_zero: Value) -> Value:
    """0, ``at_zero`` or 1 by the sign of ``value``."""
    nil, one = code.const(value.dtype, 0.0), code.const(value.dtype, 1.0)
    result = code.select(code.fcmp("olt", value, nil), nil, one)
    result = code.select(code.fcmp("oeq", value, nil), at_zero, result)
    return code.select(is_nan(code, value), value, result)


# division with remainder


def fmod(code: Code, a: Value, b: Value) -> Value:
    """The remainder with the sign of the dividend."""
    return code.libm("fmod", a, b)


def _divmod(code: Code, a: Value, b: Value, rest: Value) -> tuple[Value, Value]:
    """Floored quotient and remainder from the truncated remainder, for ``b`` that is not zero."""
    dtype = a.dtype
    nil, one = code.const(dtype, 0.0), code.const(dtype, 1.0)
    quotient = code.op("fdiv", code.op("fsub", a, rest), b)
    some = code.fcmp("une", rest, nil)
    differ = code.op("xor", code.fcmp("olt", b, nil), code.fcmp("olt", rest, nil))
    adjust = code.op("and", some, differ)
    remainder = code.op("fadd", rest, code.select(adjust, b, code.const(dtype, -0.0)))
    remainder = code.select(some, remainder, copysign(code, nil, b))
    quotient = code.op("fsub", quotient, code.select(adjust, one, nil))
    floored = code.intrinsic("floor", quotient)
    above = code.fcmp("ogt", code.op("fsub", quotient, floored), code.const(dtype, 0.5))
    floored = code.op("fadd", floored, code.select(above, one, code.const(dtype, -0.0)))
    negative = code.op("xor", sign_bit(code, a), sign_bit(code, b))
    signed_zero = code.select(negative, code.const(dtype, -0.0), nil)
    exists = code.fcmp("une", quotient, nil)
    return code.select(exists, floored, signed_zero), remainder


def _is_zero(code: Code, value: Value) -> Value:
    return code.fcmp("oeq", value, code.const(value.dtype, 0.0))


def floor_divide(code: Code, a: Value, b: Value) -> Value:
    """The quotient, rounded down; ``a / b`` where ``b`` is zero."""
    zero = _is_zero(code, b)
    one = code.const(a.dtype, 1.0)
    safe = code.select(zero, one, b)
    dividend = code.select(zero, one, a)
    floored = _divmod(code, dividend, safe, fmod(code, dividend, safe))[0]
    by_zero = code.op("fdiv", a, code.select(zero, b, one))
    return code.select(zero, by_zero, floored)


def remainder(code: Code, a: Value, b: Value) -> Value:
    """The remainder with the sign of the divisor; NaN where that is zero."""
    zero = _is_zero(code, b)
    rest = fmod(code, a, b)
    one = code.const(a.dtype, 1.0)
    dividend, inside = code.select(zero, one, a), code.select(zero, one, rest)
    return code.select(zero, rest, _divmod(code, dividend, code.select(zero, one, b), inside)[1])


def divmod_quotient(code: Code, a: Value, b: Value) -> Value:
    """The first result of ``divmod``, whose flags include those of the remainder."""
    zero = _is_zero(code, b)
    rest = fmod(code, a, b)
    one = code.const(a.dtype, 1.0)
    dividend, inside = code.select(zero, one, a), code.select(zero, one, rest)
    floored = _divmod(code, dividend, code.select(zero, one, b), inside)[0]
    by_zero = code.op("fdiv", a, code.select(zero, b, one))
    return code.select(zero, by_zero, floored)


# sums of logarithms


def logaddexp(code: Code, a: Value, b: Value) -> Value:
    """``log(exp(a) + exp(b))``."""
    return _add_exponentials(code, a, b, "exp", 1.0, math.log(2.0))


def logaddexp2(code: Code, a: Value, b: Value) -> Value:
    """``log2(2**a + 2**b)``."""
    return _add_exponentials(code, a, b, "exp2", 1.0 / math.log(2.0), 1.0)


def _add_exponentials(
    code: Code, a: Value, b: Value, exp: str, scale: float, double: float
) -> Value:
    dtype = a.dtype
    nil = code.const(dtype, 0.0)
    # Equal operands, which may be infinite, are not subtracted from each other.
    equal = code.fcmp("oeq", a, b)
    difference = code.op("fsub", code.select(equal, nil, a), code.select(equal, nil, b))
    larger = code.select(code.fcmp("ogt", difference, nil), a, b)
    gap = code.op("fneg", code.intrinsic("fabs", difference))
    rest = code.libm("log1p", code.libm(exp, gap))
    if scale != 1.0:
        rest = code.op("fmul", rest, code.const(dtype, scale))
    rest = code.select(equal, code.const(dtype, double), rest)
    return code.select(is_nan(code, difference), difference, code.op("fadd", larger, rest))


# neighbours, fractions and exponents


def nextafter(code: Code, a: Value, b: Value) -> Value:
    """The next number after ``a`` towards ``b``."""
    kind = SIGNED_BITS[a.dtype]
    one, minus = code.const(kind, 1), code.const(kind, -1)
    nil = code.const(a.dtype, 0.0)
    whole = pattern(code, a)
    outward = code.op("xor", code.fcmp("olt", a, b), sign_bit(code, a))
    stepped = code.retype(code.op("add", whole, code.select(outward, one, minus)), a.dtype)
    smallest = copysign(code, code.retype(one, a.dtype), b)
    result = code.select(code.fcmp("oeq", a, nil), smallest, stepped)
    result = code.select(code.fcmp("oeq", a, b), b, result)
    result = code.select(is_nan(code, b), b, result)
    return code.select(is_nan(code, a), a, result)


def spacing(code: Code, value: Value) -> Value:
    """The distance to the next number away from zero, with the sign of ``value``."""
    kind = SIGNED_BITS[value.dtype]
    size = code.intrinsic("fabs", value)
    following = code.retype(code.op("add", pattern(code, size), code.const(kind, 1)), value.dtype)
    if value.dtype == "f2":
        gap = code.half(code.op("fsub", code.single(following), code.single(size)))
    else:
        finite = is_finite(code, value)
        nil = code.const(value.dtype, 0.0)
        gap = code.op("fsub", code.select(finite, following, nil), code.select(finite, size, nil))
    result = copysign(code, gap, value)
    return code.select(is_finite(code, value), result, code.const(value.dtype, math.nan))


def modf_fraction(code: Code, value: Value) -> Value:
    """The fraction, with the sign of ``value``."""
    infinite = is_inf(code, value)
    nil = code.const(value.dtype, 0.0)
    finite = code.select(infinite, nil, value)
    fraction = code.op("fsub", finite, code.intrinsic("trunc", finite))
    return copysign(code, fraction, value)


def modf_whole(code: Code, value: Value) -> Value:
    """The whole number."""
    return code.intrinsic("trunc", value)


def _normal(code: Code, value: Value) -> tuple[Value, Value, Value]:
    """A number that is not subnormal, what was added to its exponent, and whether it has one."""
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
    """A fraction of size in [0.5, 1), or the value where it has no exponent."""
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
