"""Table of ufuncs: the code generator for each kind of number, and the flags that it may raise.

To add an elementwise function, add a row. The kinds are those of the first operand's dtype
(``b`` truth value, ``i`` signed, ``u`` unsigned, ``f`` floating, ``c`` complex). Half precision
is computed in single precision and rounded, except in rows marked ``half``, which work on its
bits. Flags are letters: ``d`` divide by zero, ``o`` overflow, ``u`` underflow, ``i`` invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..flags import DIVIDE, INVALID, OVERFLOW, UNDERFLOW
from ..spec import DTYPES, Instruction, KernelSpec, rounds
from . import floating, integers, transcendental
from .arithmetic import (
    cast,
    compare,
    complex_product,
    copysign,
    divide_complex,
    fmax,
    fmin,
    is_finite,
    is_inf,
    is_nan,
    maximum,
    minimum,
    multiply_complex,
    nonzero,
    sign_bit,
)
from .builder import Code, Value
from .types import COMPONENT, KIND

Emission = Callable[..., Value]

_LETTERS = {"d": DIVIDE, "o": OVERFLOW, "u": UNDERFLOW, "i": INVALID}


@dataclass(frozen=True, slots=True)
class Row:
    """One ufunc, and the flags it may raise for floating, complex and other kinds."""

    inputs: int
    emissions: Mapping[str, Emission]
    flags: int = 0
    complex_flags: int = 0
    integer_flags: int = 0
    half: bool = False


def _letters(text: str) -> int:
    return sum(_LETTERS[letter] for letter in text)


def _row(
    inputs: int,
    flags: str = "",
    *,
    complex_flags: str | None = None,
    integer_flags: str = "",
    half: bool = False,
    **kinds: Emission,
) -> Row:
    table = {kind: emission for group, emission in kinds.items() for kind in group}
    others = _letters(flags if complex_flags is None else complex_flags)
    return Row(inputs, table, _letters(flags), others, _letters(integer_flags), half)


# small emissions


def _op(instruction: str) -> Emission:
    return lambda code, *values: code.op(instruction, *values)


def _intrinsic(name: str) -> Emission:
    return lambda code, *values: code.intrinsic(name, *values)


def _named(emission: Emission, name: str) -> Emission:
    return lambda code, *values: emission(code, name, *values)


def _libm(name: str) -> Emission:
    return _named(transcendental.plain, name)


def _parts(emission: Emission) -> Emission:
    """Apply a real function to both parts of complex values."""

    def both(code: Code, *values: Value) -> Value:
        real = emission(code, *(code.real(value) for value in values))
        return code.complex(real, emission(code, *(code.imag(value) for value in values)))

    return both


def _either_part(instruction: str, emission: Emission) -> Emission:
    """Combine the results of a function for both parts of a complex value."""
    return lambda code, value: code.op(
        instruction, emission(code, code.real(value)), emission(code, code.imag(value))
    )


def _same(code: Code, value: Value) -> Value:
    return value


def _truth(number: int) -> Emission:
    return lambda code, value: code.const("b1", number)


def _compare(relation: str) -> Emission:
    return _named(compare, relation)


def _logical(instruction: str) -> Emission:
    return lambda code, a, b: code.op(instruction, nonzero(code, a), nonzero(code, b))


def _logical_not(code: Code, value: Value) -> Value:
    return code.negate(nonzero(code, value))


def _size(code: Code, value: Value) -> Value:
    return transcendental.hypot(code, code.real(value), code.imag(value))


def _clip(code: Code, value: Value, low: Value, high: Value) -> Value:
    return minimum(code, maximum(code, value, low), high)


def _edge(relation: str) -> Emission:
    return lambda code, limit: transcendental.edge_of_size(code, limit, relation)


UFUNCS: dict[str, Row] = {
    # arithmetic
    "add": _row(2, "oui", b=_op("or"), iu=_op("add"), f=_op("fadd"), c=_parts(_op("fadd"))),
    "subtract": _row(2, "oui", iu=_op("sub"), f=_op("fsub"), c=_parts(_op("fsub"))),
    "multiply": _row(2, "oui", b=_op("and"), iu=_op("mul"), f=_op("fmul"), c=multiply_complex),
    "divide": _row(2, "doui", f=_op("fdiv"), c=divide_complex),
    "floor_divide": _row(
        2, "doui", integer_flags="do", iu=integers.floor_divide, f=floating.floor_divide
    ),
    "remainder": _row(2, "i", integer_flags="d", iu=integers.remainder, f=floating.remainder),
    "fmod": _row(2, "i", integer_flags="d", iu=integers.fmod, f=floating.fmod),
    "divmod.0": _row(
        2, "doui", integer_flags="do", iu=integers.floor_divide, f=floating.divmod_quotient
    ),
    "divmod.1": _row(
        2, "i", integer_flags="do", iu=integers.divmod_remainder, f=floating.remainder
    ),
    "power": _row(2, "doui", iu=integers.power, f=transcendental.power),
    "float_power": _row(2, "doui", f=transcendental.power),
    "negative": _row(
        1,
        iu=lambda code, a: code.op("sub", code.const(a.dtype, 0), a),
        f=_op("fneg"),
        c=_parts(_op("fneg")),
    ),
    "positive": _row(1, iufc=_same),
    "absolute": _row(1, b=_same, iu=integers.absolute, f=_intrinsic("fabs"), c=_size),
    "fabs": _row(1, f=_intrinsic("fabs")),
    "sign": _row(1, iu=integers.sign, f=floating.sign),
    "square": _row(
        1,
        "oui",
        iu=lambda code, a: code.op("mul", a, a),
        f=lambda code, a: code.op("fmul", a, a),
        c=lambda code, a: multiply_complex(code, a, a),
    ),
    "reciprocal": _row(
        1,
        "doui",
        integer_flags="di",
        iu=integers.reciprocal,
        f=lambda code, a: code.op("fdiv", code.const(a.dtype, 1.0), a),
    ),
    "sqrt": _row(1, "i", f=_intrinsic("sqrt")),
    "conjugate": _row(
        1, iuf=_same, c=lambda code, a: code.complex(code.real(a), code.op("fneg", code.imag(a)))
    ),
    "clip": _row(3, biuf=_clip),
    # rounding
    "rint": _row(1, f=_intrinsic("nearbyint")),
    "floor": _row(1, biu=_same, f=_intrinsic("floor")),
    "ceil": _row(1, biu=_same, f=_intrinsic("ceil")),
    "trunc": _row(1, biu=_same, f=_intrinsic("trunc")),
    # exponentials and logarithms
    "exp": _row(1, "ou", f=_named(transcendental.exponential, "exp")),
    "exp2": _row(1, "ou", f=_named(transcendental.exponential, "exp2")),
    "expm1": _row(1, "ou", f=_named(transcendental.exponential, "expm1")),
    "log": _row(1, "di", f=_named(transcendental.logarithm, "log")),
    "log2": _row(1, "di", f=_named(transcendental.logarithm, "log2")),
    "log10": _row(1, "di", f=_named(transcendental.logarithm, "log10")),
    "log1p": _row(1, "dui", f=_named(transcendental.logarithm, "log1p")),
    "logaddexp": _row(2, "oui", f=_named(transcendental.add_exponentials, "exp")),
    "logaddexp2": _row(2, "oui", f=_named(transcendental.add_exponentials, "exp2")),
    "cbrt": _row(1, f=_libm("cbrt")),
    "hypot": _row(2, "ou", f=transcendental.hypot),
    # trigonometry
    "sin": _row(1, "ui", f=_named(transcendental.periodic, "sin")),
    "cos": _row(1, "i", f=_named(transcendental.periodic, "cos")),
    "tan": _row(1, "ui", f=_named(transcendental.periodic, "tan")),
    "arcsin": _row(1, "ui", f=_named(transcendental.inverse, "asin")),
    "arccos": _row(1, "i", f=_named(transcendental.inverse, "acos")),
    "arctan": _row(1, "u", f=_libm("atan")),
    "arctan2": _row(2, "u", f=transcendental.arctan2),
    "sinh": _row(1, "ou", f=_named(transcendental.hyperbolic, "sinh")),
    "cosh": _row(1, "o", f=_named(transcendental.hyperbolic, "cosh")),
    "tanh": _row(1, "u", f=transcendental.tanh),
    "arcsinh": _row(1, "u", f=_libm("asinh")),
    "arccosh": _row(1, "i", f=transcendental.arccosh),
    "arctanh": _row(1, "dui", f=transcendental.arctanh),
    "deg2rad": _row(1, "u", f=floating.to_radians),
    "rad2deg": _row(1, "ou", f=floating.to_degrees),
    # integers and bits
    "gcd": _row(2, iu=integers.gcd),
    "lcm": _row(2, iu=integers.lcm),
    "bitwise_and": _row(2, biu=_op("and")),
    "bitwise_or": _row(2, biu=_op("or")),
    "bitwise_xor": _row(2, biu=_op("xor")),
    "invert": _row(
        1, b=_logical_not, iu=lambda code, a: code.op("xor", a, code.const(a.dtype, -1))
    ),
    "left_shift": _row(2, iu=integers.left_shift),
    "right_shift": _row(2, iu=integers.right_shift),
    "bitwise_count": _row(1, iu=integers.bitwise_count),
    # comparisons and truth
    "greater": _row(2, complex_flags="i", biufc=_compare("gt")),
    "greater_equal": _row(2, complex_flags="i", biufc=_compare("ge")),
    "less": _row(2, complex_flags="i", biufc=_compare("lt")),
    "less_equal": _row(2, complex_flags="i", biufc=_compare("le")),
    "equal": _row(2, biufc=_compare("eq")),
    "not_equal": _row(2, biufc=_compare("ne")),
    "logical_and": _row(2, biufc=_logical("and")),
    "logical_or": _row(2, biufc=_logical("or")),
    "logical_xor": _row(2, biufc=_logical("xor")),
    "logical_not": _row(1, biufc=_logical_not),
    "maximum": _row(2, biufc=maximum),
    "minimum": _row(2, biufc=minimum),
    "fmax": _row(2, biufc=fmax),
    "fmin": _row(2, biufc=fmin),
    "isfinite": _row(1, biu=_truth(1), f=is_finite, c=_either_part("and", is_finite)),
    "isinf": _row(1, biu=_truth(0), f=is_inf, c=_either_part("or", is_inf)),
    "isnan": _row(1, biu=_truth(0), fc=is_nan),
    # the structure of floating-point numbers
    "signbit": _row(
        1,
        i=lambda code, a: code.icmp("slt", a, code.const(a.dtype, 0)),
        f=sign_bit,
        half=True,
    ),
    "copysign": _row(2, f=copysign, half=True),
    "nextafter": _row(2, "o", f=floating.nextafter, half=True),
    "spacing": _row(1, "oi", f=floating.spacing, half=True),
    "modf.0": _row(1, f=floating.modf_fraction),
    "modf.1": _row(1, f=_intrinsic("trunc")),
    "frexp.0": _row(1, f=floating.frexp_mantissa),
    "frexp.1": _row(1, f=floating.frexp_exponent),
    "ldexp": _row(2, "ou", f=floating.ldexp),
    "heaviside": _row(2, f=floating.heaviside),
    # instructions that simplify.py writes
    "inverse": _row(1, iu=integers.inverse),
    "floor_divide.by": _row(3, integer_flags="do", iu=integers.floor_divide_by),
    "remainder.by": _row(3, integer_flags="d", iu=integers.remainder_by),
    "divmod.0.by": _row(3, integer_flags="do", iu=integers.floor_divide_by),
    "divmod.1.by": _row(3, integer_flags="do", iu=integers.divmod_remainder_by),
    "absolute.from": _row(1, f=_edge("oge")),
    "absolute.above": _row(1, f=_edge("ogt")),
    "absolute.less": _row(3, c=_named(transcendental.compare_size, "less")),
    "absolute.less_equal": _row(3, c=_named(transcendental.compare_size, "less_equal")),
    "absolute.greater": _row(3, c=_named(transcendental.compare_size, "greater")),
    "absolute.greater_equal": _row(3, c=_named(transcendental.compare_size, "greater_equal")),
}

UFUNCS |= {"degrees": UFUNCS["rad2deg"], "radians": UFUNCS["deg2rad"]}


def emission(name: str, kind: str) -> Emission:
    """Code generator of a ufunc for operands of a kind."""
    row = UFUNCS.get(name)
    if row is None or kind not in row.emissions:
        raise ValueError(f"kernels: {name} is not supported for numbers of kind {kind!r}")
    return row.emissions[kind]


def supported(name: str, inputs: Sequence[str], output: str = "") -> bool:
    """True if kernels can compute the ufunc ``name`` by the loop with these dtypes.

    ``inputs`` are the dtypes of NumPy's loop, ``output`` that of its result; outputs of a ufunc with
    several go by names such as ``divmod.0``.
    """
    row = UFUNCS.get(name)
    dtypes = (*inputs, output) if output else tuple(inputs)
    if row is None or len(inputs) != row.inputs or not all(map(DTYPES.__contains__, dtypes)):
        return False
    if KIND[inputs[0]] not in row.emissions:
        return False
    product = name in ("multiply", "square") and inputs[0] in COMPONENT
    return not product or complex_product(inputs[0]) != "unknown"


def perform(code: Code, instruction: Instruction, values: list[Value]) -> Value:
    """The value of an instruction that computes."""
    op = instruction.op
    if op == "cast":
        return cast(code, values[0], instruction.dtype)
    if op in ("real", "imag", "complex", "where"):
        write: Emission = getattr(code, "select" if op == "where" else op)
        return write(*values)
    if op != "call":
        raise ValueError(f"kernels: there is no instruction {op!r}")
    emit = emission(instruction.name, KIND[values[0].dtype])
    if not UFUNCS[instruction.name].half:
        values = [code.single(value) for value in values]
    result = emit(code, *values)
    return code.half(result) if instruction.dtype == "f2" and result.dtype == "f4" else result


def can_flag(spec: KernelSpec) -> tuple[int, ...]:
    """For each instruction, the flags that it may raise: bits 1 divide by zero, 2 overflow,
    4 underflow, 8 invalid, as in NumPy."""
    return tuple(_flags(spec, instruction) for instruction in spec.body)


def _flags(spec: KernelSpec, instruction: Instruction) -> int:
    if instruction.op == "cast":
        source = spec.body[int(instruction.args[0].real)].dtype
        return _cast_flags(source, instruction.dtype)
    if instruction.op != "call":
        return 0
    row = UFUNCS.get(instruction.name)
    if row is None:
        return 0
    source = spec.body[int(instruction.args[0].real)].dtype
    if KIND[source] not in "fc":
        return row.integer_flags
    if KIND[source] == "c":
        return row.complex_flags
    rounded = OVERFLOW | UNDERFLOW if instruction.dtype == "f2" and not row.half else 0
    return row.flags | rounded


def _cast_flags(source: str, target: str) -> int:
    kinds = KIND[source] + KIND[target]
    if source == target:
        return 0
    if kinds[0] not in "fc":
        return OVERFLOW if target == "f2" else 0
    if kinds[1] in "iu":
        return INVALID
    if kinds[1] == "b":
        return 0
    return OVERFLOW | UNDERFLOW | INVALID


def flags_of(spec: KernelSpec) -> int:
    """All flags that a kernel may raise."""
    flags = 0
    for raised in can_flag(spec):
        flags |= raised
    for reduction in spec.reductions:
        if rounds(reduction):
            flags |= OVERFLOW | UNDERFLOW | INVALID
        flags |= _cast_flags(spec.body[reduction.value].dtype, reduction.dtype)
    return flags
