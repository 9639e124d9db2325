"""Code at some vector width: operations on values, written as LLVM IR.

Kernels are vectorised here, by hand so to speak, not by LLVM's loop vectoriser: a
:class:`Code` of width ``w`` turns every operation on a value into one on ``w`` lanes, each
lane being one element. That makes the code independent of cost models and of run-time checks
for overlap, fixes the order of every sum, gives the last elements of a row the same
instructions as all others, and compiles in a fraction of the time.

A :class:`Value` is an operand or a result in the body of a kernel; it carries a dtype and the
names of its LLVM values (two for a complex one). Widths are not part of a value: code of
width 1 is used where a value is the same for a whole row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..flags import OVERFLOW
from .function import Function, Head
from .machine import vector_lanes, vector_name
from .types import COMPONENT, KIND, VALUE_TYPE, itemsize, literal

_PURE = "nounwind willreturn memory(none)"


_PREDICATES = {
    "olt": (17, 1), "ole": (18, 2), "ogt": (30, 14), "oge": (29, 13),
    "ult": (25, 9), "ule": (26, 10), "ugt": (22, 6), "uge": (21, 5),
}  # fmt: skip
"""Numbers of comparisons in AVX instructions: quiet, signalling."""


@dataclass(frozen=True, slots=True)
class Value:
    """``name`` holds the lanes of a value of ``dtype``; ``imag`` those of its imaginary part.

    ``number`` is the value itself where it is a constant of the kernel. A truth value in vector code
    may be ``wide``: then a lane is an integer of ``wide`` bits, all of them zero or all one, which is
    the result of comparisons on processors without mask registers. Only :class:`Code` uses that.
    """

    dtype: str
    name: str
    imag: str = ""
    number: int | float | complex | None = None
    wide: int = 0


class Code:
    """Operations on values of ``width`` lanes, appended to a function."""

    def __init__(self, function: Function, width: int, soft_flags: str = "") -> None:
        self.function = function
        self.module = function.module
        self.machine = function.module.machine
        self.width = width
        self._soft_flags = soft_flags
        self._widens = width > 1 and self.machine.vector_bytes <= 32

    # types and constants

    def lanes(self, scalar: str) -> str:
        """The LLVM type of ``width`` lanes of the type ``scalar``."""
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def type(self, dtype: str) -> str:
        """The LLVM type of a value (or of a part of a complex one)."""
        return self.lanes(VALUE_TYPE[dtype])

    def kind(self, value: Value) -> str:
        """The LLVM type of this value (or of a part of it): a truth value may be wide."""
        return self.truth_type(value) if value.dtype == "b1" else self.type(value.dtype)

    def spread(self, scalar: str, text: str) -> str:
        """The constant ``text`` of LLVM type ``scalar`` in all lanes."""
        return text if self.width == 1 else f"splat ({scalar} {text})"

    def const(self, dtype: str, number: int | float | complex) -> Value:
        """A constant."""
        if dtype in COMPONENT:
            part = COMPONENT[dtype]
            whole = complex(number)
            real, imag = self.const(part, whole.real), self.const(part, whole.imag)
            return Value(dtype, real.name, imag.name, whole)
        assert not isinstance(number, complex)
        text = literal(dtype, number)
        return Value(dtype, self.spread(VALUE_TYPE[dtype], text), "", number)

    def broadcast(self, value: Value) -> Value:
        """``width`` copies of a value of one lane."""
        if value.number is not None:
            return self.const(value.dtype, value.number)
        if self.width == 1:
            return value
        if value.dtype == "b1" and self._widens:
            size = 64 if self.width <= 16 else 32 if self.width <= 32 else 8
            lane = self.function.op(f"sext i1 {value.name} to i{size}")
            return Value("b1", self.broadcast_name(f"i{size}", lane), wide=size)
        imag = self.broadcast_name(VALUE_TYPE[value.dtype], value.imag) if value.imag else ""
        return Value(value.dtype, self.broadcast_name(VALUE_TYPE[value.dtype], value.name), imag)

    def broadcast_name(self, scalar: str, name: str) -> str:
        """``width`` copies of the LLVM value ``name``."""
        if self.width == 1:
            return name
        kind = self.lanes(scalar)
        first = self.function.op(f"insertelement {kind} poison, {scalar} {name}, i64 0")
        return self.function.op(
            f"shufflevector {kind} {first}, {kind} poison, <{self.width} x i32> zeroinitializer"
        )

    # truth values

    def nowhere(self, dtype: str) -> Value:
        """False in every lane, as comparisons of numbers of ``dtype`` have it."""
        return Value("b1", "zeroinitializer", wide=8 * itemsize(dtype) if self._widens else 0)

    def truth_type(self, value: Value) -> str:
        """The LLVM type of a truth value."""
        return self.lanes(f"i{value.wide or 1}")

    def truth(self, value: Value) -> str:
        """The lanes of a truth value as LLVM's ``i1``."""
        if not value.wide:
            return value.name
        return self.function.op(
            f"icmp slt {self.lanes(f'i{value.wide}')} {value.name}, zeroinitializer"
        )

    def widened(self, value: Value, size: int) -> Value:
        """A truth value in lanes of ``size`` bits."""
        if value.wide == size:
            return value
        kind = self.lanes(f"i{size}")
        if value.number is not None:
            text = self.spread(f"i{size}", "-1" if value.number else "0")
            return Value("b1", text, wide=size)
        old = self.lanes(f"i{value.wide}") if value.wide else self.lanes("i1")
        instruction = "trunc" if value.wide > size else "sext"
        return Value(
            "b1", self.function.op(f"{instruction} {old} {value.name} to {kind}"), wide=size
        )

    def _compared(self, text: str, size: int) -> Value:
        """The truth value of a comparison of lanes of ``size`` bits."""
        value = Value("b1", self.function.op(text))
        return self.widened(value, size) if self._widens else value

    def _bitwise(self, instruction: str, a: Value, b: Value) -> Value:
        size = max(a.wide, b.wide)
        if not size:
            text = f"{instruction} {self.lanes('i1')} {a.name}, {b.name}"
            return Value("b1", self.function.op(text))
        a, b = self.widened(a, size), self.widened(b, size)
        text = f"{instruction} {self.lanes(f'i{size}')} {a.name}, {b.name}"
        return Value("b1", self.function.op(text), wide=size)

    def negate(self, mask: Value) -> Value:
        """The other truth value."""
        return self._bitwise("xor", mask, Value("b1", self.spread("i1", "true"), number=1))

    # operations

    def op(self, instruction: str, *values: Value, dtype: str = "") -> Value:
        """A plain LLVM instruction on values of one dtype, such as ``fadd``."""
        if values[0].dtype == "b1":
            return self._bitwise(instruction, *values)
        names = ", ".join(value.name for value in values)
        text = f"{instruction} {self.type(values[0].dtype)} {names}"
        return Value(dtype or values[0].dtype, self.function.op(text))

    def icmp(self, relation: str, a: Value, b: Value) -> Value:
        """Compare integers, or truth values as unsigned numbers."""
        if a.dtype == "b1":
            a, b = self.convert("zext", a, "u1"), self.convert("zext", b, "u1")
        text = f"icmp {relation} {self.type(a.dtype)} {a.name}, {b.name}"
        return self._compared(text, 8 * itemsize(a.dtype))

    def fcmp(self, relation: str, a: Value, b: Value, signals: bool = False) -> Value:
        """Compare floating-point values; a quiet NaN raises no flag, as in NumPy.

        An ordinary ordered comparison becomes a signalling instruction, so this method writes
        ordered comparisons in a form that is quiet by definition. ``signals`` asks for the flag.
        """
        a, b = self.single(a), self.single(b)
        kind, size = self.type(a.dtype), 8 * itemsize(a.dtype)
        if relation in ("oeq", "une", "ord", "uno", "one", "ueq"):
            return self._compared(f"fcmp {relation} {kind} {a.name}, {b.name}", size)
        if self._widens and self.machine.isa == "d":
            return self._compare_avx(_PREDICATES[relation][signals], a, b)
        mask, form, suffix = self.lanes("i1"), "fcmps" if signals else "fcmp", self.suffix(a.dtype)
        x, y = a.name, b.name
        alone = self.width == 1 and self.machine.isa == "e" and size >= 32
        if alone:  # one comparison after the other would wait for bits of a register that their results share
            lanes = 128 // size
            vector, mask, suffix = f"<{lanes} x {kind}>", f"<{lanes} x i1>", f"v{lanes}{suffix}"
            x, y = [
                self.function.op(f"insertelement {vector} zeroinitializer, {kind} {name}, i64 0")
                for name in (x, y)
            ]
            kind = vector
        name = f"llvm.experimental.constrained.{form}.{suffix}"
        self.module.declare(name, mask, f"{kind}, {kind}, metadata, metadata")
        text = f'{kind} {x}, {kind} {y}, metadata !"{relation}", metadata !"fpexcept.strict"'
        call = f"call {mask} @{name}({text})"
        if alone:
            call = f"extractelement {mask} {self.function.op(call)}, i64 0"
        return self._compared(call, size)

    def _compare_avx(self, predicate: int, a: Value, b: Value) -> Value:
        """A comparison by its number in the instruction, register by register."""
        scalar, size = VALUE_TYPE[a.dtype], 8 * itemsize(a.dtype)
        lanes = 256 // size
        vector, whole = f"<{lanes} x {scalar}>", f"<{lanes} x i{size}>"
        name = f"llvm.x86.avx.cmp.{'ps' if size == 32 else 'pd'}.256"
        self.module.declare(name, vector, f"{vector}, {vector}, i8 immarg")
        pieces = []
        for start in range(0, self.width, lanes):
            x, y = (self.slice(scalar, v.name, self.width, start, lanes) for v in (a, b))
            mask = self.function.op(
                f"call {vector} @{name}({vector} {x}, {vector} {y}, i8 {predicate})"
            )
            pieces.append(self.function.op(f"bitcast {vector} {mask} to {whole}"))
        if self.width < lanes:
            return Value("b1", self.slice(f"i{size}", pieces[0], lanes, 0, self.width), wide=size)
        return Value("b1", self.join(f"i{size}", pieces, lanes), wide=size)

    def select(self, mask: Value, a: Value, b: Value) -> Value:
        """``a`` where the mask is true, else ``b``."""
        if a.dtype == "b1":
            return self.op("or", self.op("and", mask, a), self.op("and", self.negate(mask), b))
        kind = self.type(a.dtype)
        if self._widens:
            mask = self.widened(mask, 8 * itemsize(COMPONENT.get(a.dtype, a.dtype)))
        chosen = self.truth(mask)

        def lanes(x: str, y: str) -> str:
            return self.function.op(f"select {self.lanes('i1')} {chosen}, {kind} {x}, {kind} {y}")

        return Value(a.dtype, lanes(a.name, b.name), lanes(a.imag, b.imag) if a.imag else "")

    def convert(self, instruction: str, value: Value, dtype: str) -> Value:
        """An LLVM conversion, such as ``sitofp``."""
        if value.wide:
            value = self.widened(value, 8 * itemsize(dtype))
            ones = Value(dtype, self.spread(VALUE_TYPE[dtype], "1"))
            return self.op("and", Value(dtype, value.name), ones)
        text = f"{instruction} {self.type(value.dtype)} {value.name} to {self.type(dtype)}"
        return Value(dtype, self.function.op(text))

    def retype(self, value: Value, dtype: str) -> Value:
        """The same bits as another dtype of the same size."""
        if VALUE_TYPE[value.dtype] == VALUE_TYPE[dtype]:
            return Value(dtype, value.name)
        return self.convert("bitcast", value, dtype)

    def freeze(self, value: Value) -> Value:
        """Fix the value of a result that LLVM leaves undefined."""
        return self.op("freeze", value)

    def suffix(self, dtype: str) -> str:
        """The ending of an overloaded intrinsic's name."""
        scalar = VALUE_TYPE[dtype]
        scalar = {"half": "f16", "float": "f32", "double": "f64"}.get(scalar, scalar)
        return scalar if self.width == 1 else f"v{self.width}{scalar}"

    def intrinsic(self, name: str, *values: Value, extra: str = "") -> Value:
        """An overloaded LLVM intrinsic on values of one dtype; ``extra`` ends its arguments."""
        kind = self.type(values[0].dtype)
        full = f"llvm.{name}.{self.suffix(values[0].dtype)}"
        ending = [extra] if extra else []
        types = [kind] * len(values) + [text.split()[0] for text in ending]
        self.module.declare(full, kind, ", ".join(types))
        arguments = ", ".join([f"{kind} {value.name}" for value in values] + ending)
        return Value(values[0].dtype, self.function.op(f"call {kind} @{full}({arguments})"))

    # parts of complex values, and half precision

    def real(self, value: Value) -> Value:
        """The real part of a complex value."""
        number = None if value.number is None else complex(value.number).real
        return Value(COMPONENT[value.dtype], value.name, "", number)

    def imag(self, value: Value) -> Value:
        """The imaginary part of a complex value."""
        number = None if value.number is None else complex(value.number).imag
        return Value(COMPONENT[value.dtype], value.imag, "", number)

    def complex(self, real: Value, imag: Value) -> Value:
        """A complex value."""
        return Value({"f4": "c8", "f8": "c16"}[real.dtype], real.name, imag.name)

    def single(self, value: Value) -> Value:
        """A half-precision value in single precision; any other value unchanged."""
        if value.dtype != "f2":
            return value
        if value.number is not None:
            return self.const("f4", float(value.number.real))
        return self.convert("fpext", value, "f4") if self.machine.half else widen_half(self, value)

    def half(self, value: Value) -> Value:
        """A single-precision value rounded to half precision."""
        return (
            self.convert("fptrunc", value, "f2") if self.machine.half else narrow_half(self, value)
        )

    # lanes

    def slice(self, kind: str, name: str, width: int, start: int, count: int) -> str:
        """Lanes ``start : start + count`` of an LLVM vector of ``width`` lanes of ``kind``.

        Lanes past the end repeat the first one.
        """
        if width == 1:
            if count == 1:
                return name
            return Code(self.function, count).broadcast_name(kind, name)
        if count == 1:
            return self.function.op(f"extractelement <{width} x {kind}> {name}, i64 {start}")
        wanted = [start + lane if start + lane < width else start for lane in range(count)]
        if wanted == list(range(width)):
            return name
        indices = ", ".join(f"i32 {lane}" for lane in wanted)
        vector = f"<{width} x {kind}>"
        return self.function.op(
            f"shufflevector {vector} {name}, {vector} poison, <{count} x i32> <{indices}>"
        )

    def join(self, kind: str, names: list[str], width: int) -> str:
        """One LLVM vector from several of ``width`` lanes each."""
        while len(names) > 1:
            vector = f"<{width} x {kind}>" if width > 1 else kind
            pairs = list(zip(names[::2], names[1::2]))
            if width == 1:
                pair, op = f"<2 x {kind}>", self.function.op
                firsts = [op(f"insertelement {pair} poison, {kind} {a}, i64 0") for a, _ in pairs]
                names = [
                    op(f"insertelement {pair} {first}, {kind} {b}, i64 1")
                    for first, (_, b) in zip(firsts, pairs)
                ]
            else:
                indices = ", ".join(f"i32 {lane}" for lane in range(2 * width))
                names = [
                    self.function.op(
                        f"shufflevector {vector} {a}, {vector} {b}, <{2 * width} x i32> <{indices}>"
                    )
                    for a, b in pairs
                ]
            width *= 2
        return names[0]

    def either(
        self, condition: str, first: Callable[[], Value], second: Callable[[], Value]
    ) -> Value:
        """The first value if the ``i1`` is true, else the second; only the chosen one is computed."""
        choices = self.function.choose(condition, first, second)
        value = choices[0][0]
        name = self.function.phi(
            self.kind(value), *[(choice.name, block) for choice, block in choices]
        )
        return Value(value.dtype, name, wide=value.wide)

    def halves(self, value: Value) -> tuple[Value, Value]:
        """The first and the second half of the lanes of a real value."""
        kind, half = VALUE_TYPE[value.dtype], self.width // 2
        low, high = (self.slice(kind, value.name, self.width, start, half) for start in (0, half))
        return Value(value.dtype, low), Value(value.dtype, high)

    def lane_numbers(self) -> str:
        """The constant vector of the numbers of lanes."""
        numbers = ", ".join(f"i64 {lane}" for lane in range(self.width))
        return f"<{numbers}>" if self.width > 1 else "0"

    def each(self, function: str, dtype: str, *values: Value) -> Value:
        """The scalar function ``@function`` on every lane."""
        result = VALUE_TYPE[dtype]
        results = []
        for lane in range(self.width):
            inputs = []
            for value in values:
                kind = VALUE_TYPE[value.dtype]
                inputs.append(f"{kind} {self.slice(kind, value.name, self.width, lane, 1)}")
            results.append(self.function.op(f"call {result} @{function}({', '.join(inputs)})"))
        return Value(dtype, self.join(result, results, 1))

    def declare_libm(self, name: str, dtype: str, arity: int) -> str:
        """Declare the scalar form of a function of C; its name."""
        scalar, kind = name + ("f" if dtype == "f4" else ""), VALUE_TYPE[dtype]
        self.module.declare(scalar, kind, ", ".join([kind] * arity), _PURE)
        return scalar

    def libm(self, name: str, *values: Value) -> Value:
        """The mathematical function ``name`` of C, by its vector form where there is one.

        The vector form serves every width, padded where it must be, so that a value does
        not depend on its place.
        """
        dtype = values[0].dtype
        size, kind = itemsize(dtype), VALUE_TYPE[dtype]
        vector = vector_name(self.machine.isa, name, size, len(values)) if self.machine.isa else ""
        if vector not in self.machine.functions:
            return self.each(self.declare_libm(name, dtype, len(values)), dtype, *values)
        count = vector_lanes(self.machine.isa, size)
        packed = f"<{count} x {kind}>"
        self.module.declare(vector, packed, ", ".join([packed] * len(values)), _PURE)
        pieces = []
        for start in range(0, self.width, count):
            inputs = [
                f"{packed} {self.slice(kind, v.name, self.width, start, count)}" for v in values
            ]
            pieces.append(self.function.op(f"call {packed} @{vector}({', '.join(inputs)})"))
        if self.width < count:
            return Value(dtype, self.slice(kind, pieces[0], count, 0, self.width))
        return Value(dtype, self.join(kind, pieces, count))

    def any(self, mask: Value) -> str:
        """An ``i1``, true if the mask is true in any lane."""
        if self.width == 1:
            return self.truth(mask)
        scalar = f"i{mask.wide or 1}"
        name = f"llvm.vector.reduce.or.v{self.width}{scalar}"
        self.module.declare(name, scalar, self.lanes(scalar))
        some = self.function.op(f"call {scalar} @{name}({self.lanes(scalar)} {mask.name})")
        return self.function.op(f"icmp ne {scalar} {some}, 0") if mask.wide else some

    def all(self, mask: Value) -> str:
        """An ``i1``, true if the mask is true in all lanes."""
        missing = self.any(self.negate(mask))
        return self.function.op(f"xor i1 {missing}, true")

    def first(self, mask: Value) -> str:
        """The number of the first lane in which the mask is true; it is in one."""
        if self.width == 1:
            return "0"
        bits = f"i{self.width}"
        self.module.declare(f"llvm.cttz.{bits}", bits, f"{bits}, i1")
        whole = self.function.op(f"bitcast {self.lanes('i1')} {self.truth(mask)} to {bits}")
        lane = self.function.op(f"call {bits} @llvm.cttz.{bits}({bits} {whole}, i1 true)")
        return lane if self.width == 64 else self.function.op(f"zext {bits} {lane} to i64")

    def lane(self, value: Value, lane: str) -> Value:
        """The value in lane number ``lane``, an ``i64``, as code of one lane has it."""
        if self.width == 1:
            return value
        kind = "i1" if value.dtype == "b1" else VALUE_TYPE[value.dtype]
        name = self.truth(value) if value.dtype == "b1" else value.name
        parts = [
            self.function.op(f"extractelement {self.lanes(kind)} {part}, i64 {lane}")
            for part in (name, value.imag)
            if part
        ]
        return Value(value.dtype, parts[0], parts[1] if len(parts) == 2 else "")

    def count(self, mask: Value) -> str:
        """Number of lanes in which the mask is true, as an ``i64``."""
        if self.width == 1:
            return self.function.op(f"zext i1 {mask.name} to i64")
        bits = f"i{self.width}"
        whole = self.function.op(f"bitcast {self.lanes('i1')} {self.truth(mask)} to {bits}")
        if self.width < 64:
            whole = self.function.op(f"zext {bits} {whole} to i64")
        self.module.declare("llvm.ctpop.i64", "i64", "i64")
        return self.function.op(f"call i64 @llvm.ctpop.i64(i64 {whole})")

    def flag(self, mask: Value, flag: int) -> None:
        """Report ``flag`` if the mask is true in any lane."""
        raised = self.any(mask)
        wanted = self.function.op(f"select i1 {raised}, i32 {flag}, i32 0")
        old = self.function.op(f"load i32, ptr {self._soft_flags}")
        new = self.function.op(f"or i32 {old}, {wanted}")
        self.function.line(f"store i32 {new}, ptr {self._soft_flags}")


def carried(
    function: Function,
    hint: str,
    start: str,
    stop: str,
    step: int,
    begin: Sequence[tuple[Code, Value]],
    turn: Callable[[str, list[Value]], list[Value]],
) -> list[Value]:
    """Carry values through a loop of at least one turn: ``values = turn(index, values)`` for ``start``, ``start + step``
    and so on below ``stop``. The values at the end, of which ``begin`` has the first ones."""
    kinds = [(code.kind(v), name) for code, v in begin for name in (v.name, v.imag) if name]
    loop = Head(function, hint, ("i64", start), *kinds)
    names = iter(loop.names[1:])
    values = [
        replace(v, name=next(names), imag=next(names) if v.imag else "", number=None)
        for _, v in begin
    ]
    values = turn(loop.index, values)
    loop.end(step, stop, *[name for v in values for name in (v.name, v.imag) if name])
    return values


def widen_half(code: Code, value: Value) -> Value:
    """Half to single precision by integer arithmetic, for processors that cannot convert."""
    pattern = code.convert("zext", Value("u2", code.retype(value, "i2").name), "i4")
    size = code.op("and", pattern, code.const("i4", 0x7FFF))
    shifted = code.op("shl", size, code.const("i4", 13))
    # Multiplying moves the exponent, of subnormal numbers too.
    scaled = code.op("fmul", code.retype(shifted, "f4"), code.const("f4", 2.0**112))
    special = code.icmp("sge", size, code.const("i4", 0x7C00))
    infinite = code.op("or", shifted, code.const("i4", 0x7F800000))
    whole = code.select(special, infinite, code.retype(scaled, "i4"))
    sign = code.op("shl", code.op("and", pattern, code.const("i4", 0x8000)), code.const("i4", 16))
    return code.retype(code.op("or", whole, sign), "f4")


def narrow_half(code: Code, value: Value) -> Value:
    """Single to half precision, to the nearest, ties to even."""
    pattern = code.retype(value, "i4")
    size = code.op("and", pattern, code.const("i4", 0x7FFFFFFF))
    odd = code.op("and", code.op("lshr", size, code.const("i4", 13)), code.const("i4", 1))
    rounded = code.op("add", size, code.const("i4", ((15 - 127) << 23) + 0xFFF))
    normal = code.op("lshr", code.op("add", rounded, odd), code.const("i4", 13))
    # Adding one half lets the processor round subnormal results.
    small = code.icmp("slt", size, code.const("i4", 0x38800000))
    tiny = code.select(small, size, code.const("i4", 0))
    sum_ = code.op("fadd", code.retype(tiny, "f4"), code.const("f4", 0.5))
    subnormal = code.op("sub", code.retype(sum_, "i4"), code.const("i4", 0x3F000000))
    large = code.icmp("sge", size, code.const("i4", 0x477FF000))
    infinite = code.icmp("sge", size, code.const("i4", 0x7F800000))
    code.flag(code.op("and", large, code.negate(infinite)), OVERFLOW)
    nan = code.icmp("sgt", size, code.const("i4", 0x7F800000))
    special = code.select(nan, code.const("i4", 0x7E00), code.const("i4", 0x7C00))
    result = code.select(large, special, code.select(small, subnormal, normal))
    sign = code.op("and", code.op("lshr", pattern, code.const("i4", 16)), code.const("i4", 0x8000))
    whole = code.convert("trunc", code.op("or", result, sign), "i2")
    return code.retype(whole, "f2")


def is_signed(dtype: str) -> bool:
    """True if ``dtype`` is a signed integer."""
    return KIND[dtype] == "i"
