"""Mathematical functions whose vector forms need guarding.

The vector functions of glibc give good values everywhere, but at some special arguments they
raise flags that the mathematics does not: ``acos(nan)`` invalid, ``exp(-1e308)`` overflow, and at
many they take ten times as long: NaN, infinities, zeros of logarithms, what underflows. The
guards here hand them harmless arguments instead, put in the known results, and report the
flags that are due. The guarded lanes depend on values only, never on their position.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..flags import DIVIDE, INVALID, OVERFLOW, UNDERFLOW
from .arithmetic import copysign, is_finite, is_inf, is_nan, one_by_one, pattern
from .builder import Code, Value
from .types import MANTISSA

_LIMITS = {
    "exp": {"f4": (-104.0, 89.0), "f8": (-746.0, 710.0)},
    "exp2": {"f4": (-151.0, 128.0), "f8": (-1076.0, 1024.0)},
    "expm1": {"f4": (-40.0, 89.0), "f8": (-80.0, 710.0)},
}
"""The largest argument whose exponential takes its limit at minus infinity, and the smallest with an infinite one."""
_LARGEST_POWER = {"f4": 120.0, "f8": 1000.0}


def _guarded(
    code: Code,
    name: str,
    value: Value,
    ordinary: Value,
    other: Callable[[], Value],
    harmless: float = 0.0,
) -> Value:
    """The function ``name`` of C where its argument is ``ordinary``, else ``other``."""

    def careful() -> Value:
        argument = code.select(ordinary, value, code.const(value.dtype, harmless))
        return code.select(ordinary, plain(code, name, argument), other())

    return code.either(code.any(code.negate(ordinary)), careful, lambda: plain(code, name, value))


def exponential(code: Code, name: str, value: Value) -> Value:
    """``exp``, ``exp2`` or ``expm1``."""
    dtype = value.dtype
    low, high = (code.const(dtype, limit) for limit in _LIMITS[name][dtype])
    infinity, least = code.const(dtype, math.inf), -1.0 if name == "expm1" else 0.0
    above, below = code.fcmp("oge", value, high), code.fcmp("ole", value, low)

    def other() -> Value:
        code.flag(code.op("and", above, code.fcmp("olt", value, infinity)), OVERFLOW)
        if not least:
            finite = code.fcmp("ogt", value, code.const(dtype, -math.inf))
            code.flag(code.op("and", below, finite), UNDERFLOW)
        result = code.select(above, infinity, value)
        return code.select(below, code.const(dtype, least), result)

    ordinary = code.op("and", code.fcmp("ogt", value, low), code.fcmp("olt", value, high))
    return _guarded(code, name, value, ordinary, other)


def logarithm(code: Code, name: str, value: Value) -> Value:
    """``log``, ``log2``, ``log10`` or ``log1p``."""
    dtype = value.dtype
    edge = code.const(dtype, -1.0 if name == "log1p" else 0.0)

    def other() -> Value:
        at_edge, below = code.fcmp("oeq", value, edge), code.fcmp("olt", value, edge)
        code.flag(at_edge, DIVIDE)
        code.flag(below, INVALID)
        result = code.select(at_edge, code.const(dtype, -math.inf), value)
        return code.select(below, code.const(dtype, math.nan), result)

    infinity = code.const(dtype, math.inf)
    ordinary = code.op("and", code.fcmp("ogt", value, edge), code.fcmp("olt", value, infinity))
    return _guarded(code, name, value, ordinary, other, 1.0)


def periodic(code: Code, name: str, value: Value) -> Value:
    """``sin``, ``cos`` or ``tan``."""
    return _undefined_beyond(code, name, value, "olt", math.inf)


def inverse(code: Code, name: str, value: Value) -> Value:
    """``asin`` or ``acos``."""
    return _undefined_beyond(code, name, value, "ole", 1.0)


def _undefined_beyond(code: Code, name: str, value: Value, relation: str, limit: float) -> Value:
    size = code.intrinsic("fabs", value)
    ordinary = code.fcmp(relation, size, code.const(value.dtype, limit))

    def other() -> Value:
        beyond = code.op("and", code.negate(ordinary), code.negate(is_nan(code, value)))
        code.flag(beyond, INVALID)
        return code.select(beyond, code.const(value.dtype, math.nan), value)

    return _guarded(code, name, value, ordinary, other, 0.5)


def tanh(code: Code, value: Value) -> Value:
    """The hyperbolic tangent."""
    unit = code.const(value.dtype, 1.0)
    ordinary = code.fcmp("olt", code.intrinsic("fabs", value), code.const(value.dtype, 40.0))

    def other() -> Value:
        return code.select(is_nan(code, value), value, copysign(code, unit, value))

    return _guarded(code, "tanh", value, ordinary, other)


def plain(code: Code, name: str, *values: Value) -> Value:
    """The C function ``name``, with a guard against NaN for the oldest vector forms."""
    if code.machine.isa == "b" and len(values) == 1:
        return _unless_nan(code, name, *values)
    return code.libm(name, *values)


def _unless_nan(code: Code, name: str, value: Value) -> Value:
    nan = is_nan(code, value)
    result = code.libm(name, code.select(nan, code.const(value.dtype, 0.5), value))
    return code.select(nan, value, result)


def arctan2(code: Code, a: Value, b: Value) -> Value:
    """The angle of a point. Where both numbers are zero, or infinite, the vector form divides one by the other."""
    dtype = a.dtype
    unit, nil, infinity = (code.const(dtype, number) for number in (1.0, 0.0, math.inf))
    sizes = [code.intrinsic("fabs", value) for value in (a, b)]
    zero = code.op("and", *[code.fcmp("oeq", size, nil) for size in sizes])
    endless = code.op("and", *[code.fcmp("oeq", size, infinity) for size in sizes])
    special = code.op("or", zero, endless)
    result = code.libm("atan2", code.select(special, unit, a), code.select(special, unit, b))
    behind = code.fcmp("olt", copysign(code, unit, b), nil)
    straight = code.select(behind, code.const(dtype, math.pi), nil)
    slanting = code.select(
        behind, code.const(dtype, 0.75 * math.pi), code.const(dtype, 0.25 * math.pi)
    )
    known = copysign(code, code.select(zero, straight, slanting), a)
    return code.select(special, known, result)


def arccosh(code: Code, value: Value) -> Value:
    """The positive number with this hyperbolic cosine."""
    dtype = value.dtype
    unit, infinity = code.const(dtype, 1.0), code.const(dtype, math.inf)
    inside = code.op("and", code.fcmp("ogt", value, unit), code.fcmp("olt", value, infinity))
    # The largest numbers would overflow inside: acosh(x) = acosh(x / 2**k) + k * log(2) there.
    bits = 64 if dtype == "f4" else 512
    argument = code.select(inside, value, code.const(dtype, 2.0))
    huge = code.fcmp("ogt", argument, code.const(dtype, 2.0 ** (bits * 3 // 2)))
    scale = code.select(huge, code.const(dtype, 0.5**bits), unit)
    argument = code.op("fmul", argument, scale)
    more = code.select(huge, code.const(dtype, bits * math.log(2.0)), code.const(dtype, 0.0))
    result = code.op("fadd", code.libm("acosh", argument), more)
    below = code.fcmp("olt", value, unit)
    code.flag(below, INVALID)
    at_one = code.fcmp("oeq", value, unit)
    other = code.select(at_one, code.const(dtype, 0.0), value)
    other = code.select(below, code.const(dtype, math.nan), other)
    return code.select(inside, result, other)


def arctanh(code: Code, value: Value) -> Value:
    """The number with this hyperbolic tangent."""
    dtype = value.dtype
    unit, size = code.const(dtype, 1.0), code.intrinsic("fabs", value)

    def other() -> Value:
        at_one = code.fcmp("oeq", size, unit)
        code.flag(at_one, DIVIDE)
        code.flag(code.fcmp("ogt", size, unit), INVALID)
        limit = copysign(code, code.const(dtype, math.inf), value)
        return code.select(at_one, limit, code.const(dtype, math.nan))

    return _guarded(code, "atanh", value, code.fcmp("olt", size, unit), other, 0.5)


def hyperbolic(code: Code, name: str, value: Value) -> Value:
    """``sinh`` or ``cosh``: near the end of their range, where the vector functions overflow inside, one by one."""
    dtype = value.dtype
    size = code.intrinsic("fabs", value)
    end, beyond = (88.0, 90.0) if dtype == "f4" else (709.0, 711.0)
    inside = code.fcmp("olt", size, code.const(dtype, end))

    def other() -> Value:
        infinity = code.const(dtype, math.inf)
        huge = code.fcmp("oge", size, code.const(dtype, beyond))
        code.flag(code.op("and", huge, code.fcmp("olt", size, infinity)), OVERFLOW)
        known = infinity if name == "cosh" else copysign(code, infinity, value)
        known = code.select(huge, known, value)
        result = code.libm(name, code.select(inside, value, code.const(dtype, 0.0)))
        result = code.select(inside, result, known)
        settled = code.op("or", inside, code.op("or", huge, is_nan(code, value)))
        return one_by_one(code, name, settled, result, value)

    return code.either(code.any(code.negate(inside)), other, lambda: code.libm(name, value))


def hypot(code: Code, a: Value, b: Value) -> Value:
    """``sqrt(a*a + b*b)`` without overflow on the way."""
    dtype = a.dtype
    if dtype == "f4":
        wide = [code.convert("fpext", value, "f8") for value in (a, b)]
        squares = [code.op("fmul", value, value) for value in wide]
        root = code.intrinsic("sqrt", code.op("fadd", *squares))
        result = code.convert("fptrunc", root, "f4")
        return _hypot_of_special(code, a, b, result)
    return _quick_hypot(code, a, b)


def _hypot_of_special(code: Code, a: Value, b: Value, result: Value) -> Value:
    """``result``, replaced by infinity or NaN for infinite or NaN operands."""
    infinite = code.op("or", is_inf(code, a), is_inf(code, b))
    result = code.select(code.fcmp("uno", a, b), code.const(a.dtype, math.nan), result)
    return code.select(infinite, code.const(a.dtype, math.inf), result)


def extraordinary(code: Code, a: Value, b: Value) -> Value:
    """Mask of the lanes whose larger number is too small or too large for the plain sum of squares."""
    x, y = (pattern(code, code.intrinsic("fabs", value)) for value in (a, b))
    larger = code.select(code.icmp("slt", x, y), y, x)
    tiny = code.icmp("slt", larger, code.const("i8", (1023 - 450) << 52))
    huge = code.icmp("sgt", larger, code.const("i8", (1023 + 500) << 52))
    return code.op("or", tiny, huge)


def sum_of_squares(code: Code, a: Value, b: Value) -> Value:
    """``a*a + b*b``."""
    return code.op("fadd", code.op("fmul", a, a), code.op("fmul", b, b))


def _quick_hypot(code: Code, a: Value, b: Value) -> Value:
    """The root of the sum of squares, unscaled if all lanes are of ordinary size, else scaled.

    Both give the same bits for ordinary lanes: their scale is one, and the squares that the scaled form
    leaves out are too small to change the sum.
    """
    special = code.any(extraordinary(code, a, b))

    def scaled() -> Value:
        return _hypot_of_special(code, a, b, _scaled_hypot(code, a, b))

    def quick() -> Value:
        return code.intrinsic("sqrt", sum_of_squares(code, a, b))

    return code.either(special, scaled, quick)


def _scaled_hypot(code: Code, a: Value, b: Value) -> Value:
    unit, nil = code.const("f8", 1.0), code.const("f8", 0.0)
    x, y = code.intrinsic("fabs", a), code.intrinsic("fabs", b)
    less = code.fcmp("olt", x, y)
    large, small = code.select(less, y, x), code.select(less, x, y)
    high = code.fcmp("ogt", large, code.const("f8", 2.0**500))
    low = code.fcmp("olt", large, code.const("f8", 2.0**-450))
    scale = code.select(low, code.const("f8", 2.0**600), unit)
    scale = code.select(high, code.const("f8", 2.0**-600), scale)
    back = code.select(low, code.const("f8", 2.0**-600), unit)
    back = code.select(high, code.const("f8", 2.0**600), back)
    # An operand too small to matter is left out before its square underflows.
    matters = code.fcmp("oge", small, code.op("fmul", large, code.const("f8", 2.0**-60)))
    large, small = code.op("fmul", large, scale), code.op("fmul", small, scale)
    small = code.select(matters, small, nil)
    total = code.op("fadd", code.op("fmul", large, large), code.op("fmul", small, small))
    return code.op("fmul", code.intrinsic("sqrt", total), back)


_SIZES = {"less": "olt", "less_equal": "ole", "greater": "ogt", "greater_equal": "oge"}
_SMALLEST, _LARGEST = 2.0**-400, 2.0**400
_AROUND = 4


def edge_of_size(code: Code, limit: Value, relation: str) -> Value:
    """The smallest number whose rounded root is in ``relation`` to ``limit``, if that is ordinary."""
    limit = code.select(_is_ordinary(code, limit), limit, code.const("f8", 1.0))
    square = pattern(code, code.op("fmul", limit, limit))
    edge = code.retype(code.op("add", square, code.const("i8", _AROUND)), "f8")
    for step in range(_AROUND - 1, -_AROUND - 1, -1):
        below = code.retype(code.op("add", square, code.const("i8", step)), "f8")
        inside = code.fcmp(relation, code.intrinsic("sqrt", below), limit)
        edge = code.select(inside, below, edge)
    return edge


def _is_ordinary(code: Code, limit: Value) -> Value:
    above = code.fcmp("oge", limit, code.const("f8", _SMALLEST))
    return code.op("and", above, code.fcmp("ole", limit, code.const("f8", _LARGEST)))


def compare_size(code: Code, name: str, value: Value, limit: Value, edge: Value) -> Value:
    """The comparison ``name`` of ``absolute(value)`` and ``limit``, by the :func:`edge_of_size`.

    Rounded roots never fall as their arguments rise, so the arguments whose rounded root is less
    than ``limit`` are those below a number that is found once for the whole nest.
    """
    a, b = code.real(value), code.imag(value)
    special = code.op("or", extraordinary(code, a, b), code.negate(_is_ordinary(code, limit)))

    def scaled() -> Value:
        return code.fcmp(_SIZES[name], hypot(code, a, b), limit)

    def quick() -> Value:
        relation = "olt" if name.startswith("less") else "oge"
        return code.fcmp(relation, sum_of_squares(code, a, b), edge)

    return code.either(code.any(special), scaled, quick)


def power(code: Code, base: Value, exponent: Value) -> Value:
    """``base ** exponent``.

    Vectors hold the sizes of finite, nonzero bases and exponents that cannot overflow; the sign of
    the result is put in afterwards. Lanes with anything else are few, and the C library does
    them one by one.
    """
    dtype = base.dtype
    nil, unit = code.const(dtype, 0.0), code.const(dtype, 1.0)
    limit = code.const(dtype, _LARGEST_POWER[dtype])
    size = code.intrinsic("fabs", exponent)
    bounded = code.select(code.fcmp("olt", size, limit), size, limit)
    plain = code.fcmp("olt", code.op("fmul", bounded, _magnitude(code, base)), limit)
    plain = code.op("and", plain, is_finite(code, base))
    plain = code.op("and", plain, code.fcmp("une", base, nil))
    size = code.select(plain, code.intrinsic("fabs", base), unit)
    result = code.libm("pow", size, code.select(plain, exponent, unit))
    negative = code.op("and", plain, code.fcmp("olt", base, nil))
    integral = code.fcmp("oeq", code.intrinsic("trunc", exponent), exponent)
    half = code.op("fmul", exponent, code.const(dtype, 0.5))
    even = code.fcmp("oeq", code.intrinsic("trunc", half), half)
    turned = code.select(even, result, code.op("fneg", result))
    undefined = code.op("and", negative, code.negate(integral))
    code.flag(undefined, INVALID)
    turned = code.select(integral, turned, code.const(dtype, math.nan))
    result = code.select(negative, turned, result)
    return one_by_one(code, "pow", plain, result, base, exponent)


def _magnitude(code: Code, value: Value) -> Value:
    """A bound of ``abs(log2(abs(value)))``, from the exponent alone."""
    dtype = value.dtype
    mantissa, bias = MANTISSA[dtype], 127 if dtype == "f4" else 1023
    whole = pattern(code, code.intrinsic("fabs", value))
    exponent = code.op("lshr", whole, code.const(whole.dtype, mantissa))
    if dtype == "f8":
        exponent = code.convert("trunc", exponent, "i4")
    exponent = code.op("sub", exponent, code.const("i4", bias))
    size = code.intrinsic("fabs", code.convert("sitofp", exponent, dtype))
    return code.op("fadd", size, code.const(dtype, 1.0))


def add_exponentials(code: Code, name: str, a: Value, b: Value) -> Value:
    """``log(exp(a) + exp(b))``, or the same to base 2 for ``exp2``."""
    dtype, two = a.dtype, math.log(2.0)
    scale, double = (1.0, two) if name == "exp" else (1.0 / two, 1.0)
    nil = code.const(dtype, 0.0)
    # Equal operands, which may be infinite, are not subtracted from each other.
    equal = code.fcmp("oeq", a, b)
    difference = code.op("fsub", code.select(equal, nil, a), code.select(equal, nil, b))
    larger = code.select(code.fcmp("ogt", difference, nil, signals=True), a, b)
    gap = code.op("fneg", code.intrinsic("fabs", difference))
    gap = code.select(is_nan(code, gap), nil, gap)
    rest = plain(code, "log1p", exponential(code, name, gap))
    if scale != 1.0:
        rest = code.op("fmul", rest, code.const(dtype, scale))
    rest = code.select(equal, code.const(dtype, double), rest)
    return code.select(is_nan(code, difference), difference, code.op("fadd", larger, rest))
