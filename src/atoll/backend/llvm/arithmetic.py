"""Casts, comparisons, extremes and complex arithmetic, as NumPy does them on this machine."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from .builder import Code, Value, is_signed
from .types import COMPONENT, KIND, SIGNED_BITS, VALUE_TYPE, bits, itemsize, smallest

# casts


def cast(code: Code, value: Value, dtype: str) -> Value:
    """``astype(dtype, casting='unsafe')``."""
    source = value.dtype
    if source == dtype:
        return value
    kind, source_kind = KIND[dtype], KIND[source]
    if kind == "c":
        part = COMPONENT[dtype]
        if source_kind == "c":
            return code.complex(
                cast(code, code.real(value), part), cast(code, code.imag(value), part)
            )
        return code.complex(cast(code, value, part), code.const(part, 0.0))
    if kind == "b":
        return nonzero(code, value)
    if source_kind == "c":
        return cast(code, code.real(value), dtype)
    if source_kind == "b":
        if kind == "f":
            return code.select(value, code.const(dtype, 1.0), code.const(dtype, 0.0))
        return code.convert("zext", value, dtype)
    if source_kind == "f":
        return (
            _float_to_float(code, value, dtype)
            if kind == "f"
            else _float_to_integer(code, value, dtype)
        )
    if kind == "f":
        wide = "f4" if dtype == "f2" else dtype
        result = code.convert("sitofp" if is_signed(source) else "uitofp", value, wide)
        return code.half(result) if dtype == "f2" else result
    if itemsize(source) == itemsize(dtype):
        return Value(dtype, value.name)
    if itemsize(source) > itemsize(dtype):
        return code.convert("trunc", value, dtype)
    return code.convert("sext" if is_signed(source) else "zext", value, dtype)


def nonzero(code: Code, value: Value) -> Value:
    """The truth value of a number; NaN is true."""
    kind = KIND[value.dtype]
    if kind == "b":
        return value
    if kind == "c":
        return code.op("or", nonzero(code, code.real(value)), nonzero(code, code.imag(value)))
    if kind == "f":
        return code.fcmp("une", value, code.const(value.dtype, 0.0))
    return code.icmp("ne", value, code.const(value.dtype, 0))


def _float_to_float(code: Code, value: Value, dtype: str) -> Value:
    if itemsize(value.dtype) < itemsize(dtype):
        value = code.single(value)
        return value if dtype == "f4" else code.convert("fpext", value, dtype)
    if dtype != "f2":
        return code.convert("fptrunc", value, dtype)
    if value.dtype == "f4":
        return code.half(value)
    # Rounding twice would be wrong: the first rounding is made one to odd, after which the
    # second is right.
    near = code.convert("fptrunc", value, "f4")
    back = code.convert("fpext", near, "f8")
    pattern = code.retype(near, "i4")
    above = code.fcmp("ogt", code.intrinsic("fabs", back), code.intrinsic("fabs", value))
    below = code.op("sub", pattern, code.const("i4", 1))
    odd = code.op("or", code.select(above, below, pattern), code.const("i4", 1))
    exact = code.fcmp("ueq", back, value)
    return code.half(code.retype(code.select(exact, pattern, odd), "f4"))


def _float_to_integer(code: Code, value: Value, dtype: str) -> Value:
    """Conversion to an integer; out of range, the result of the processor's conversion by way of the size that C uses."""
    by_size = {"i8": "i8", "u4": "i8"} if value.dtype == "f2" else {"i8": "i8"}
    value = code.single(value)
    if dtype == "u8" or (dtype == "u4" and "u4" not in by_size):
        # Upper halves by way of the signed type, as compilers do it where there is no other way.
        signed = "i" + dtype[1:]
        limit = code.const(value.dtype, 2.0 ** (bits(dtype) - 1))
        large = code.fcmp("oge", value, limit)
        reduced = code.op("fsub", value, code.select(large, limit, code.const(value.dtype, 0.0)))
        result = code.freeze(code.convert("fptosi", reduced, signed))
        top = code.select(large, code.const(signed, smallest(signed)), code.const(signed, 0))
        return Value(dtype, code.op("xor", result, top).name)
    via = by_size.get(dtype, "i4")
    result = code.freeze(code.convert("fptosi", value, via))
    if itemsize(via) == itemsize(dtype):
        return Value(dtype, result.name)
    return code.convert("trunc", result, dtype)


# comparisons

_SIGNED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
_UNSIGNED = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "eq": "eq", "ne": "ne"}
_FLOATING = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}


def compare(code: Code, relation: str, a: Value, b: Value) -> Value:
    """``a relation b`` with NumPy's order of complex numbers and of mixed 64-bit integers."""
    kind = KIND[a.dtype]
    if kind == "c":
        return _compare_complex(code, relation, a, b)
    if kind == "f":
        return code.fcmp(_FLOATING[relation], a, b)
    if is_signed(a.dtype) != is_signed(b.dtype) and "b" not in (kind, KIND[b.dtype]):
        return _compare_mixed(code, relation, a, b)
    return code.icmp((_SIGNED if kind == "i" else _UNSIGNED)[relation], a, b)


def _compare_mixed(code: Code, relation: str, a: Value, b: Value) -> Value:
    plain = code.icmp(_UNSIGNED[relation], a, b)
    first_signed = is_signed(a.dtype)
    signed = a if first_signed else b
    negative = code.icmp("slt", signed, code.const(signed.dtype, 0))
    answer = relation == "ne" or relation in (("lt", "le") if first_signed else ("gt", "ge"))
    return code.select(negative, code.const("b1", answer), plain)


def _compare_complex(code: Code, relation: str, a: Value, b: Value) -> Value:
    ar, ai, br, bi = code.real(a), code.imag(a), code.real(b), code.imag(b)
    if relation == "eq":
        return code.op("and", code.fcmp("oeq", ar, br), code.fcmp("oeq", ai, bi))
    if relation == "ne":
        return code.op("or", code.fcmp("une", ar, br), code.fcmp("une", ai, bi))
    # NumPy leaves the flag that comparing a NaN raises.
    strict, nil = _FLOATING[relation[0] + "t"], code.const(ar.dtype, 0.0)
    before = code.fcmp(strict, ar, br, signals=True)
    ordered = code.op("and", code.fcmp("ord", ai, bi), before)
    equal = code.fcmp("oeq", ar, br)
    ai, bi = code.select(equal, ai, nil), code.select(equal, bi, nil)
    tie = code.op("and", equal, code.fcmp(_FLOATING[relation], ai, bi, signals=True))
    return code.op("or", ordered, tie)


def is_nan(code: Code, value: Value) -> Value:
    """True if a value is not a number."""
    if KIND[value.dtype] == "c":
        return code.fcmp("uno", code.real(value), code.imag(value))
    if KIND[value.dtype] == "f":
        return code.fcmp("uno", value, value)
    return code.const("b1", 0)


def is_finite(code: Code, value: Value) -> Value:
    """Neither infinite nor NaN."""
    return code.fcmp("one", magnitude(code, value), code.const(value.dtype, math.inf))


def is_inf(code: Code, value: Value) -> Value:
    """Infinite, of either sign."""
    return code.fcmp("oeq", magnitude(code, value), code.const(value.dtype, math.inf))


# extremes


def _extreme(code: Code, relation: str, a: Value, b: Value, winner: str) -> Value:
    mask = compare(code, relation, a, b)
    if KIND[a.dtype] in "fc":
        mask = code.op("or", mask, is_nan(code, a if winner == "nan" else b))
    return code.select(mask, a, b)


def minimum(code: Code, a: Value, b: Value) -> Value:
    """The smaller value; NaN if either is."""
    return _extreme(code, "lt", a, b, "nan")


def maximum(code: Code, a: Value, b: Value) -> Value:
    """The greater value; NaN if either is."""
    return _extreme(code, "gt", a, b, "nan")


def fmin(code: Code, a: Value, b: Value) -> Value:
    """The smaller value; the other one if one is NaN."""
    return _extreme(code, "le", a, b, "number")


def fmax(code: Code, a: Value, b: Value) -> Value:
    """The greater value; the other one if one is NaN."""
    return _extreme(code, "ge", a, b, "number")


def combine_position(code: Code, op: str, old: list[Value], new: list[Value]) -> list[Value]:
    """The better of two (value, position) pairs: NaN first, then the extreme, then the earlier."""
    value, position = new
    best, at = old
    take = compare(code, "lt" if op == "argmin" else "gt", value, best)
    tie = compare(code, "eq", value, best)
    if KIND[value.dtype] == "f":
        nan, best_nan = is_nan(code, value), is_nan(code, best)
        take = code.op("or", take, code.op("and", nan, code.negate(best_nan)))
        tie = code.op("or", tie, code.op("and", nan, best_nan))
    earlier = code.icmp("slt", position, at)
    take = code.op("or", take, code.op("and", tie, earlier))
    return [code.select(take, value, best), code.select(take, position, at)]


def may_exceed(code: Code, op: str, best: Value, value: Value) -> Value:
    """Mask that is true if :func:`combine_position` may take ``value``, which comes later than ``best``: cheaper than an
    exact test, and never false if the value is taken."""
    if KIND[value.dtype] == "f":
        return code.fcmp("ult" if op == "argmin" else "ugt", value, best)
    return compare(code, "lt" if op == "argmin" else "gt", value, best)


# complex arithmetic


@functools.cache
def complex_product(dtype: str) -> str:
    """NumPy's rounding of complex products: ``plain``, ``fused``, or ``unknown``.

    ``plain`` rounds the four products and the two sums; ``fused`` rounds one product of each
    part and then a multiply-add. Kernels do not support complex multiplication of unknown rounding.
    """
    kind = np.dtype(dtype)
    part = np.dtype(kind.type(0).real.dtype)
    generator = np.random.default_rng(20240229)
    samples = generator.standard_normal((4, 64)).astype(part)
    a, b = np.empty(64, kind), np.empty(64, kind)
    a.real, a.imag, b.real, b.imag = samples
    for form in ("plain", "fused"):
        expected = np.array([_product(form, part, *row) for row in samples.T], kind)
        if np.array_equal(expected, a * b):
            return form
    return "unknown"


def _product(form: str, part: np.dtype[np.generic], *numbers: float) -> complex:
    ar, ai, br, bi = (Fraction(float(number)) for number in numbers)

    def rounded(value: Fraction) -> Fraction:
        return Fraction(float(part.type(float(value))))

    if form == "plain":
        real = rounded(ar * br) - rounded(ai * bi)
        imag = rounded(ar * bi) + rounded(ai * br)
    else:
        real = ar * br - rounded(ai * bi)
        imag = ar * bi + rounded(ai * br)
    return complex(float(rounded(real)), float(rounded(imag)))


def multiply_complex(code: Code, a: Value, b: Value) -> Value:
    """The product, with the roundings of the installed NumPy."""
    ar, ai, br, bi = code.real(a), code.imag(a), code.real(b), code.imag(b)
    form = complex_product(a.dtype)
    if form == "plain":
        real = code.op("fsub", code.op("fmul", ar, br), code.op("fmul", ai, bi))
        imag = code.op("fadd", code.op("fmul", ar, bi), code.op("fmul", ai, br))
    else:
        cross = code.op("fneg", code.op("fmul", ai, bi))
        real = code.intrinsic("fma", ar, br, cross)
        imag = code.intrinsic("fma", ar, bi, code.op("fmul", ai, br))
    return code.complex(real, imag)


def divide_complex(code: Code, a: Value, b: Value) -> Value:
    """The quotient by Smith's method; dividing by zero divides both parts by zero."""
    part = COMPONENT[a.dtype]
    ar, ai, br, bi = code.real(a), code.imag(a), code.real(b), code.imag(b)
    size_r, size_i = code.intrinsic("fabs", br), code.intrinsic("fabs", bi)
    nil, unit = code.const(part, 0.0), code.const(part, 1.0)
    by_real = code.fcmp("oge", size_r, size_i, signals=True)
    zero = code.op("and", code.fcmp("oeq", size_r, nil), code.fcmp("oeq", size_i, nil))
    large = code.select(zero, unit, code.select(by_real, br, bi))
    small = code.select(by_real, bi, br)
    ratio = code.op("fdiv", small, large)
    scale = code.op("fdiv", unit, code.op("fadd", large, code.op("fmul", small, ratio)))
    # Operands of a division by zero stay out of these products: infinity times zero is invalid.
    x = code.select(zero, nil, code.select(by_real, ar, ai))
    y = code.select(zero, nil, code.select(by_real, ai, ar))
    real = code.op("fmul", code.op("fadd", x, code.op("fmul", y, ratio)), scale)
    product = code.op("fmul", x, ratio)
    minuend, subtrahend = code.select(by_real, y, product), code.select(by_real, product, y)
    imag = code.op("fmul", code.op("fsub", minuend, subtrahend), scale)
    divisor = code.select(zero, nil, unit)
    real = code.select(zero, code.op("fdiv", ar, divisor), real)
    imag = code.select(zero, code.op("fdiv", ai, divisor), imag)
    return code.complex(real, imag)


# functions of the C library, and bits of floating-point values


def one_by_one(code: Code, name: str, done: Value, result: Value, *arguments: Value) -> Value:
    """``result``, with the lanes that are not ``done`` computed by the scalar function ``name`` of C."""
    function, dtype = code.function, result.dtype
    kind, vector = VALUE_TYPE[dtype], code.type(dtype)
    scalar = code.declare_libm(name, dtype, len(arguments))
    left = code.negate(done)
    wanted, before, current = code.truth(left), function.block, result.name
    with function.when(code.any(left), "special"):
        for lane in range(code.width):
            start = function.block
            with function.when(code.slice("i1", wanted, code.width, lane, 1), "lane"):
                inputs = [
                    f"{kind} {code.slice(kind, v.name, code.width, lane, 1)}" for v in arguments
                ]
                value = function.op(f"call {kind} @{scalar}({', '.join(inputs)})")
                if code.width > 1:
                    insert = f"insertelement {vector} {current}, {kind} {value}, i64 {lane}"
                    value = function.op(insert)
                end = function.block
            current = function.phi(vector, (current, start), (value, end))
        last = function.block
    return Value(dtype, function.phi(vector, (result.name, before), (current, last)))


def pattern(code: Code, value: Value) -> Value:
    """The bits of a floating-point value as a signed integer."""
    return code.retype(value, SIGNED_BITS[value.dtype])


def sign_bit(code: Code, value: Value) -> Value:
    """True if the sign bit is set."""
    whole = pattern(code, value)
    return code.icmp("slt", whole, code.const(whole.dtype, 0))


def copysign(code: Code, value: Value, sign: Value) -> Value:
    """``value`` with the sign of ``sign``."""
    if value.dtype != "f2":
        return code.intrinsic("copysign", value, sign)
    lowest = code.const("i2", smallest("i2"))
    taken = code.op("and", pattern(code, sign), lowest)
    return code.retype(code.op("or", pattern(code, magnitude(code, value)), taken), "f2")


def magnitude(code: Code, value: Value) -> Value:
    """The absolute value; of half precision by its bits, as not all processors compute with it."""
    if value.dtype != "f2":
        return code.intrinsic("fabs", value)
    rest = code.const("i2", mantissa_mask("f2"))
    return code.retype(code.op("and", pattern(code, value), rest), "f2")


def mantissa_mask(dtype: str) -> int:
    """All bits of a floating-point value but its sign."""
    return (1 << (bits(dtype) - 1)) - 1
