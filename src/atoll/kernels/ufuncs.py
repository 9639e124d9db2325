"""What each ufunc is made of: one row of a table per ufunc.

A row is a function of the code that is being written and the values of the inputs, which
already have the dtypes of NumPy's loop. Rows say for which kinds of dtype they hold; a ufunc
or a kind without a row runs as NumPy on the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import arithmetic as form
from .builder import DIVIDE, OVERFLOW, Code, Value, is_signed
from .probe import complex_product
from .types import COMPONENT, KIND, MANTISSA, bits

Emit = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Row:
    """``kinds`` lists the kinds of the first input for which ``emit`` is right."""

    kinds: str
    emit: Emit
    half: bool = True
    """Whether half precision is computed in single precision and rounded once."""


def _plain(integer: str, floating: str, truth: str = "") -> Emit:
    def emit(code: Code, a: Value, b: Value) -> Value:
        kind = KIND[a.dtype]
        if kind == "b":
            return code.op(truth, a, b)
        if kind == "c":
            real = code.op(floating, code.real(a), code.real(b))
            return code.complex(real, code.op(floating, code.imag(a), code.imag(b)))
        return code.op(floating if kind == "f" else integer, a, b)

    return emit


def _multiply(code: Code, a: Value, b: Value) -> Value:
    if KIND[a.dtype] == "c":
        return form.multiply_complex(code, a, b)
    return _plain("mul", "fmul", "and")(code, a, b)


def _divide(code: Code, a: Value, b: Value) -> Value:
    if KIND[a.dtype] == "c":
        return form.divide_complex(code, a, b)
    return code.op("fdiv", a, b)


def _compare(relation: str) -> Emit:
    def emit(code: Code, a: Value, b: Value) -> Value:
        return form.compare(code, relation, a, b)

    return emit


def _logical(operation: str) -> Emit:
    def emit(code: Code, a: Value, b: Value) -> Value:
        return code.op(operation, form.nonzero(code, a), form.nonzero(code, b))

    return emit


def _invert(code: Code, a: Value) -> Value:
    if KIND[a.dtype] == "b":
        return code.negate(a)
    return code.op("xor", a, code.const(a.dtype, -1))


def _left_shift(code: Code, a: Value, b: Value) -> Value:
    inside = code.icmp("ult", b, code.const(b.dtype, bits(a.dtype)))
    nil = code.const(a.dtype, 0)
    shifted = code.op("shl", a, code.select(inside, b, nil))
    return code.select(inside, shifted, nil)


def _right_shift(code: Code, a: Value, b: Value) -> Value:
    inside = code.icmp("ult", b, code.const(b.dtype, bits(a.dtype)))
    if is_signed(a.dtype):
        return code.op("ashr", a, code.select(inside, b, code.const(a.dtype, bits(a.dtype) - 1)))
    nil = code.const(a.dtype, 0)
    return code.select(inside, code.op("lshr", a, code.select(inside, b, nil)), nil)


def _safe_divisor(code: Code, a: Value, b: Value) -> tuple[Value, Value, Value | None]:
    """A divisor that no division traps on, where the real one was zero, and where it overflows."""
    zero = code.icmp("eq", b, code.const(b.dtype, 0))
    code.flag(zero, DIVIDE)
    one = code.const(b.dtype, 1)
    safe = code.select(zero, one, b)
    if not is_signed(a.dtype):
        return safe, zero, None
    smallest = code.icmp("eq", a, code.const(a.dtype, -(1 << (bits(a.dtype) - 1))))
    overflow = code.op("and", smallest, code.icmp("eq", b, code.const(b.dtype, -1)))
    return code.select(overflow, one, safe), zero, overflow


def _floor_divide(code: Code, a: Value, b: Value) -> Value:
    if KIND[a.dtype] == "f":
        return _float_divmod(code, a, b)[0]
    safe, zero, overflow = _safe_divisor(code, a, b)
    nil = code.const(a.dtype, 0)
    if overflow is None:
        return code.select(zero, nil, code.op("udiv", a, safe))
    code.flag(overflow, OVERFLOW)
    quotient = code.op("sdiv", a, safe)
    rest = code.op("sub", a, code.op("mul", quotient, safe))
    differ = code.icmp("slt", code.op("xor", a, safe), nil)
    down = code.op("and", differ, code.icmp("ne", rest, nil))
    floored = code.select(down, code.op("sub", quotient, code.const(a.dtype, 1)), quotient)
    return code.select(zero, nil, floored)


def _remainder(code: Code, a: Value, b: Value) -> Value:
    if KIND[a.dtype] == "f":
        return _float_divmod(code, a, b)[1]
    safe, zero, overflow = _safe_divisor(code, a, b)
    nil = code.const(a.dtype, 0)
    if overflow is None:
        return code.select(zero, nil, code.op("urem", a, safe))
    rest = code.op("srem", a, safe)
    differ = code.icmp("slt", code.op("xor", rest, safe), nil)
    wrong = code.op("and", differ, code.icmp("ne", rest, nil))
    return code.select(zero, nil, code.select(wrong, code.op("add", rest, safe), rest))


def _fmod(code: Code, a: Value, b: Value) -> Value:
    if KIND[a.dtype] == "f":
        return _c_fmod(code, a, b)
    safe, zero, overflow = _safe_divisor(code, a, b)
    rest = code.op("urem" if overflow is None else "srem", a, safe)
    return code.select(zero, code.const(a.dtype, 0), rest)


def _c_fmod(code: Code, a: Value, b: Value) -> Value:
    name = "fmodf" if a.dtype == "f4" else "fmod"
    kind = {"f4": "float", "f8": "double"}[a.dtype]
    code.module.declare(name, kind, f"{kind}, {kind}", "nounwind willreturn memory(none)")
    return code.each(name, a.dtype, a, b)


def _float_divmod(code: Code, a: Value, b: Value) -> tuple[Value, Value]:
    """Floor division and remainder by way of ``fmod``, corrected as Python corrects them."""
    dtype = a.dtype
    nil, one = code.const(dtype, 0.0), code.const(dtype, 1.0)
    zero = code.fcmp("oeq", b, nil)
    rest = _c_fmod(code, a, code.select(zero, one, b))
    quotient = code.op("fdiv", code.op("fsub", a, rest), code.select(zero, one, b))
    has_rest = code.fcmp("une", rest, nil)
    differ = code.op("xor", code.fcmp("olt", b, nil), code.fcmp("olt", rest, nil))
    adjust = code.op("and", has_rest, differ)
    fixed = code.select(adjust, code.op("fadd", rest, b), code.select(has_rest, rest, form.copysign(code, nil, b)))
    lowered = code.select(adjust, code.op("fsub", quotient, one), quotient)
    floor = code.intrinsic("floor", lowered)
    over = code.fcmp("ogt", code.op("fsub", lowered, floor), code.const(dtype, 0.5))
    floor = code.select(over, code.op("fadd", floor, one), floor)
    plain = code.op("fdiv", a, code.select(zero, nil, one))
    signed_zero = form.copysign(code, nil, code.op("fdiv", a, code.select(zero, one, b)))
    floor = code.select(code.fcmp("une", lowered, nil), floor, signed_zero)
    floor = code.select(zero, plain, floor)
    # the remainder by zero is fmod's own NaN, and raises what that raises
    return floor, code.select(zero, _c_fmod(code, a, code.select(zero, b, one)), fixed)


def _negative(code: Code, a: Value) -> Value:
    kind = KIND[a.dtype]
    if kind == "f":
        return code.op("fneg", a)
    if kind == "c":
        return code.complex(code.op("fneg", code.real(a)), code.op("fneg", code.imag(a)))
    return code.op("sub", code.const(a.dtype, 0), a)


def _absolute(code: Code, a: Value) -> Value:
    kind = KIND[a.dtype]
    if kind == "f":
        return code.intrinsic("fabs", a)
    if kind == "c":
        return code.libm("hypot", code.real(a), code.imag(a))
    if kind in "ub":
        return a
    negative = code.icmp("slt", a, code.const(a.dtype, 0))
    return code.select(negative, _negative(code, a), a)


def _sign(code: Code, a: Value) -> Value:
    dtype, kind = a.dtype, KIND[a.dtype]
    nil, one = code.const(dtype, 0), code.const(dtype, 1)
    if kind == "f":
        below = code.select(code.fcmp("olt", a, nil), code.const(dtype, -1.0), code.select(code.fcmp("oeq", a, nil), nil, a))
        return code.select(code.fcmp("ogt", a, nil), one, below)
    positive = code.icmp("ne" if kind == "u" else "sgt", a, nil)
    if kind == "u":
        return code.select(positive, one, nil)
    return code.select(positive, one, code.select(code.icmp("slt", a, nil), code.const(dtype, -1), nil))


def _square(code: Code, a: Value) -> Value:
    return _multiply(code, a, a)


def _reciprocal(code: Code, a: Value) -> Value:
    return code.op("fdiv", code.const(a.dtype, 1.0), a)


def _conjugate(code: Code, a: Value) -> Value:
    if KIND[a.dtype] != "c":
        return a
    return code.complex(code.real(a), code.op("fneg", code.imag(a)))


def _intrinsic(name: str) -> Emit:
    def emit(code: Code, a: Value) -> Value:
        return a if KIND[a.dtype] in "iub" else code.intrinsic(name, a)

    return emit


def _libm(name: str) -> Emit:
    def emit(code: Code, *values: Value) -> Value:
        return code.libm(name, *values)

    return emit


def _scaled(factor: float) -> Emit:
    def emit(code: Code, a: Value) -> Value:
        return code.op("fmul", a, code.const(a.dtype, factor))

    return emit


def _of_parts(single: Callable[[Code, Value], Value], joined: str) -> Emit:
    """A question about a number, asked of both parts of a complex one."""

    def emit(code: Code, a: Value) -> Value:
        kind = KIND[a.dtype]
        if kind == "c":
            return code.op(joined, single(code, code.real(a)), single(code, code.imag(a)))
        if kind != "f":
            return code.const("b1", joined == "and")
        return single(code, a)

    return emit


def _exponent(code: Code, value: Value) -> tuple[Value, Value]:
    whole = form.pattern(code, value)
    inside = code.op("and", whole, code.const(whole.dtype, form.mantissa_mask(value.dtype)))
    infinite = form.mantissa_mask(value.dtype) & ~((1 << MANTISSA[value.dtype]) - 1)
    return inside, code.const(whole.dtype, infinite)


def _is_finite(code: Code, value: Value) -> Value:
    inside, infinite = _exponent(code, value)
    return code.icmp("slt", inside, infinite)


def _is_infinite(code: Code, value: Value) -> Value:
    inside, infinite = _exponent(code, value)
    return code.icmp("eq", inside, infinite)


def _is_nan(code: Code, value: Value) -> Value:
    inside, infinite = _exponent(code, value)
    return code.icmp("sgt", inside, infinite)


def _signbit(code: Code, a: Value) -> Value:
    return form.sign_bit(code, a)


def _clip(code: Code, a: Value, low: Value, high: Value) -> Value:
    return form.minimum(code, form.maximum(code, a, low), high)


def _identity(code: Code, a: Value) -> Value:
    return a


_COMPARED = {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
_FUNCTIONS = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
    "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "cbrt": "cbrt", "arctan2": "atan2", "hypot": "hypot",
    "power": "pow", "float_power": "pow",
}  # fmt: skip
_DEGREES = 180.0 / 3.141592653589793

TABLE: dict[str, Row] = {
    "add": Row("biufc", _plain("add", "fadd", "or")),
    "subtract": Row("iufc", _plain("sub", "fsub")),
    "multiply": Row("biufc", _multiply),
    "divide": Row("fc", _divide),
    "floor_divide": Row("iuf", _floor_divide),
    "remainder": Row("iuf", _remainder),
    "fmod": Row("iuf", _fmod),
    "divmod.0": Row("iuf", _floor_divide),
    "divmod.1": Row("iuf", _remainder),
    "negative": Row("iufc", _negative),
    "positive": Row("iufc", _identity),
    "absolute": Row("biufc", _absolute),
    "fabs": Row("f", _absolute),
    "sign": Row("iuf", _sign),
    "square": Row("iufc", _square),
    "reciprocal": Row("f", _reciprocal),
    "conjugate": Row("iufc", _conjugate),
    "sqrt": Row("f", _intrinsic("sqrt")),
    "floor": Row("biuf", _intrinsic("floor")),
    "ceil": Row("biuf", _intrinsic("ceil")),
    "trunc": Row("biuf", _intrinsic("trunc")),
    "rint": Row("f", _intrinsic("rint")),
    "deg2rad": Row("f", _scaled(1.0 / _DEGREES), half=False),
    "radians": Row("f", _scaled(1.0 / _DEGREES), half=False),
    "rad2deg": Row("f", _scaled(_DEGREES), half=False),
    "degrees": Row("f", _scaled(_DEGREES), half=False),
    "bitwise_and": Row("biu", _plain("and", "", "and")),
    "bitwise_or": Row("biu", _plain("or", "", "or")),
    "bitwise_xor": Row("biu", _plain("xor", "", "xor")),
    "invert": Row("biu", _invert),
    "left_shift": Row("iu", _left_shift),
    "right_shift": Row("iu", _right_shift),
    "logical_and": Row("biufc", _logical("and")),
    "logical_or": Row("biufc", _logical("or")),
    "logical_xor": Row("biufc", _logical("xor")),
    "logical_not": Row("biufc", lambda code, a: code.negate(form.nonzero(code, a))),
    "maximum": Row("biufc", form.maximum),
    "minimum": Row("biufc", form.minimum),
    "fmax": Row("biufc", form.fmax),
    "fmin": Row("biufc", form.fmin),
    "isnan": Row("biufc", _of_parts(_is_nan, "or")),
    "isinf": Row("biufc", _of_parts(_is_infinite, "or")),
    "isfinite": Row("biufc", _of_parts(_is_finite, "and")),
    "signbit": Row("f", _signbit),
    "copysign": Row("f", form.copysign),
    "clip": Row("iuf", _clip),
}
TABLE |= {name: Row("biufc", _compare(relation)) for name, relation in _COMPARED.items()}
TABLE |= {name: Row("f", _libm(function)) for name, function in _FUNCTIONS.items()}
_KEEPS_HALF = frozenset({"isnan", "isinf", "isfinite", "signbit", "copysign", "positive", "negative", "absolute", "fabs", *_COMPARED})


def supported(name: str, inputs: tuple[str, ...], output: str) -> bool:
    """Whether the ufunc has a row for these dtypes of its loop."""
    row = TABLE.get(name)
    if row is None or any(dtype not in KIND for dtype in (*inputs, output)):
        return False
    kinds = {KIND[dtype] for dtype in inputs}
    if not kinds <= set(row.kinds):
        return False
    if "f2" in inputs and not row.half:
        return False
    if "c" in kinds and name in ("multiply", "divide", "square"):
        return all(complex_product(dtype) != "unknown" for dtype in inputs)
    if name == "absolute" and kinds == {"c"}:
        return output in COMPONENT.values()
    return True


def emit(code: Code, name: str, values: list[Value], dtype: str) -> Value:
    """The ufunc on values that have the dtypes of its loop."""
    row = TABLE[name]
    if name in _KEEPS_HALF or not any(value.dtype == "f2" for value in values):
        return row.emit(code, *values)
    result = row.emit(code, *[code.single(value) for value in values])
    return code.half(result) if dtype == "f2" and result.dtype == "f4" else result
