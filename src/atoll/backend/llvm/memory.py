"""Loads and stores between vector lanes and strided memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..spec import Operand
from .arithmetic import nonzero
from .builder import Code, Value
from .types import COMPONENT, MEMORY_TYPE, itemsize

_MANGLED = {"i32": "i32", "i64": "i64", "float": "f32", "double": "f64"}
"""Types of elements, as the names of intrinsics have them."""


@dataclass(slots=True)
class Place:
    """The elements that a stretch of code works on.

    ``index`` is the number of the first one in its row. At the end of a row there are fewer
    elements than lanes: then ``mask`` tells the real lanes, the others repeat the first
    element so that they can do no harm, and ``indices`` lists the number of each lane's element,
    if the code needs it.
    If not all elements are ``wanted``, the lanes of the others hold the value of element ``spare``,
    a wanted one, for the same reason.
    """

    code: Code
    index: str
    mask: Value | None = None
    indices: list[str] = field(default_factory=list)
    wanted: Value | None = None
    spare: str = ""

    @classmethod
    def of_last(cls, code: Code, index: str, stop: str, listed: bool = True) -> Place:
        """The elements of a row from ``index`` on, of which ``stop`` is the end: at most a vector."""
        left = code.function.op(f"sub i64 {stop}, {index}")
        lanes = code.broadcast(Value("i8", left))
        mask = code.icmp("slt", Value("i8", code.lane_numbers()), lanes)
        indices = [index] if listed else []
        for lane in range(1, code.width) if listed else ():
            real = code.function.op(f"icmp slt i64 {lane}, {left}")
            offset = code.function.op(f"select i1 {real}, i64 {lane}, i64 0")
            indices.append(code.function.op(f"add i64 {index}, {offset}"))
        return cls(code, index, mask, indices)


@dataclass(frozen=True, slots=True)
class Access:
    """An operand within a row: where the row starts, and its innermost stride in bytes."""

    operand: Operand
    row: str
    stride: str

    @property
    def unit(self) -> bool:
        """True if neighbours in a row are neighbours in memory."""
        return self.operand.inner == "unit"

    @property
    def parts(self) -> int:
        """Number of components of an element: 2 if it is complex, else 1."""
        return 2 if self.operand.dtype in COMPONENT else 1

    def masked(self, code: Code) -> bool:
        """True if the processor reads and writes some lanes of a vector of neighbours at once."""
        return (
            self.unit
            and self.parts == self.operand.run == 1
            and itemsize(self.operand.dtype) in (4, 8)
            and code.width > 1
            and code.machine.vector_bytes >= 32
        )

    def address(self, place: Place, index: str) -> str:
        """The address of element ``index`` of the row."""
        function = place.code.function
        if self.operand.inner == "zero":
            return self.row
        if self.unit:
            element = f"[{itemsize(self.operand.dtype)} x i8]"
            return function.op(f"getelementptr {element}, ptr {self.row}, i64 {index}")
        offset = function.op(f"mul i64 {index}, {self.stride}")
        return function.op(f"getelementptr i8, ptr {self.row}, i64 {offset}")

    def addresses(self, place: Place) -> list[str]:
        """The addresses of all lanes' elements."""
        if place.indices:
            return [self.address(place, index) for index in place.indices]
        function = place.code.function
        addresses = [self.address(place, place.index)]
        for _ in range(place.code.width - 1):
            step = f"getelementptr i8, ptr {addresses[-1]}, i64 {self.stride}"
            addresses.append(function.op(step))
        return addresses

    # loads

    def load(self, place: Place) -> Value:
        """The elements of ``place``."""
        code, dtype = place.code, self.operand.dtype
        if self.operand.inner == "zero":
            return code.broadcast(self.load_one(code, self.row))
        if self.unit and place.mask is None:
            parts = self._load_row(code, self.address(place, place.index))
        elif place.mask is not None and self.masked(code):
            parts = [self._load_masked(place, place.mask)]
        else:
            elements = [self._load_parts(code, address) for address in self.addresses(place)]
            kind = MEMORY_TYPE[dtype]
            parts = [code.join(kind, [e[p] for e in elements], 1) for p in range(self.parts)]
        value = self._from_memory(code, parts)
        if place.wanted is None:
            return value
        spare = code.broadcast(self.load_one(code, self.address(place, place.spare)))
        return code.select(place.wanted, value, spare)

    def load_one(self, code: Code, address: str) -> Value:
        """One element, in code of one lane."""
        single = Code(code.function, 1)
        return self._from_memory(single, self._load_parts(single, address))

    def _load_parts(self, code: Code, address: str) -> list[str]:
        function, kind = code.function, MEMORY_TYPE[self.operand.dtype]
        first = function.op(f"load {kind}, ptr {address}, align 1")
        if self.parts == 1:
            return [first]
        second = function.op(f"getelementptr {kind}, ptr {address}, i64 1")
        return [first, function.op(f"load {kind}, ptr {second}, align 1")]

    def _load_masked(self, place: Place, mask: Value) -> str:
        """Load the lanes of a mask; the others have the value of the first element."""
        code, kind = place.code, MEMORY_TYPE[self.operand.dtype]
        function, vector = code.function, code.lanes(kind)
        address, lanes, truths = (
            self.address(place, place.index),
            code.truth(mask),
            code.lanes("i1"),
        )
        name = f"llvm.masked.load.v{code.width}{_MANGLED[kind]}.p0"
        code.module.declare(name, vector, f"ptr, i32, {truths}, {vector}")
        first = code.broadcast_name(kind, function.op(f"load {kind}, ptr {address}, align 1"))
        return function.op(
            f"call {vector} @{name}(ptr {address}, i32 1, {truths} {lanes}, {vector} {first})"
        )

    def _load_row(self, code: Code, address: str) -> list[str]:
        kind = MEMORY_TYPE[self.operand.dtype]
        if code.width == 1:
            return self._load_parts(code, address)
        if self.parts == 1:
            return [code.function.op(f"load {code.lanes(kind)}, ptr {address}, align 1")]
        pairs = f"<{2 * code.width} x {kind}>"
        both = code.function.op(f"load {pairs}, ptr {address}, align 1")
        orders = [
            ", ".join(f"i32 {2 * lane + part}" for lane in range(code.width)) for part in (0, 1)
        ]
        select = f"shufflevector {pairs} {both}, {pairs} poison, <{code.width} x i32>"
        return [code.function.op(f"{select} <{order}>") for order in orders]

    def _from_memory(self, code: Code, parts: list[str]) -> Value:
        dtype = self.operand.dtype
        if dtype == "b1":
            return nonzero(code, Value("u1", parts[0]))
        return Value(dtype, parts[0], parts[1] if len(parts) == 2 else "")

    # stores

    def store(self, place: Place, value: Value, wanted: Value | None = None) -> None:
        """Write the elements of ``place``, or only the elements whose mask ``wanted`` is true."""
        code = place.code
        parts = self._to_memory(code, value)
        mask = place.mask
        if wanted is not None:
            mask = wanted if mask is None else code.op("and", mask, wanted)
        if self.operand.run > 1 and mask is None and code.width > 1:
            self._store_runs(place, parts)
        elif self.unit and place.mask is None and code.width > 1:
            if wanted is not None:
                parts = self._blend(place, wanted, parts)
            self._store_row(place, parts)
        elif place.mask is not None and self.masked(code):
            assert mask is not None
            self._store_masked(place, parts[0], mask)
        else:
            self._store_lanes(place, parts, mask)

    def _store_masked(self, place: Place, value: str, mask: Value) -> None:
        """Write the lanes of a mask."""
        code, kind = place.code, MEMORY_TYPE[self.operand.dtype]
        vector, truths = code.lanes(kind), code.lanes("i1")
        address, lanes = self.address(place, place.index), code.truth(mask)
        name = f"llvm.masked.store.v{code.width}{_MANGLED[kind]}.p0"
        code.module.declare(name, "void", f"{vector}, ptr, i32, {truths}")
        code.function.line(
            f"call void @{name}({vector} {value}, ptr {address}, i32 1, {truths} {lanes})"
        )

    def _blend(self, place: Place, wanted: Value, parts: list[str]) -> list[str]:
        """Values to write so that unwanted elements keep their old values."""
        code, part = place.code, COMPONENT.get(self.operand.dtype, self.operand.dtype)
        part = "u1" if part == "b1" else part
        old = self._load_row(code, self.address(place, place.index))
        return [
            code.select(wanted, Value(part, new), Value(part, was)).name
            for new, was in zip(parts, old)
        ]

    def store_one(self, code: Code, address: str, value: Value) -> None:
        """Write one element, in code of one lane."""
        self._store_parts(code, address, self._to_memory(code, value))

    def _to_memory(self, code: Code, value: Value) -> list[str]:
        if value.dtype == "b1":
            value = code.convert("zext", value, "u1")
        return [value.name, value.imag] if self.parts == 2 else [value.name]

    def _store_parts(self, code: Code, address: str, parts: list[str]) -> None:
        kind = MEMORY_TYPE[self.operand.dtype]
        for number, part in enumerate(parts):
            at = address
            if number:
                at = code.function.op(f"getelementptr {kind}, ptr {address}, i64 1")
            code.function.line(f"store {kind} {part}, ptr {at}, align 1")

    def _store_row(self, place: Place, parts: list[str]) -> None:
        code, kind = place.code, MEMORY_TYPE[self.operand.dtype]
        address = self.address(place, place.index)
        vector = code.lanes(kind)
        whole = parts[0]
        if self.parts == 2:
            order = ", ".join(f"i32 {lane}, i32 {code.width + lane}" for lane in range(code.width))
            whole = code.function.op(
                f"shufflevector {vector} {parts[0]}, {vector} {parts[1]}, <{2 * code.width} x i32> <{order}>"
            )
            vector = f"<{2 * code.width} x {kind}>"
        code.function.line(f"store {vector} {whole}, ptr {address}, align 1")

    def _store_runs(self, place: Place, parts: list[str]) -> None:
        """Store every element several times in a row, by whole vectors."""
        code, run, kind = place.code, self.operand.run, MEMORY_TYPE[self.operand.dtype]
        width, count = code.width, len(parts)
        vector, start = code.lanes(kind), self.addresses(place)[0]
        for number in range(run * count):
            places = [number * width + lane for lane in range(width)]
            lanes = [place // (run * count) + place % count * width for place in places]
            order = ", ".join(f"i32 {lane}" for lane in lanes)
            whole = code.function.op(
                f"shufflevector {vector} {parts[0]}, {vector} {parts[-1]}, <{width} x i32> <{order}>"
            )
            at = code.function.op(f"getelementptr {vector}, ptr {start}, i64 {number}")
            code.function.line(f"store {vector} {whole}, ptr {at}, align 1")

    def _store_lanes(self, place: Place, parts: list[str], mask: Value | None) -> None:
        code = place.code
        function, width, kind = code.function, code.width, MEMORY_TYPE[self.operand.dtype]
        several = place.indices or not self.unit
        addresses = self.addresses(place) if several else [self.address(place, place.index)]

        def write(lane: int, address: str) -> None:
            element = [code.slice(kind, part, width, lane, 1) for part in parts]
            for step in range(0, self.operand.run * itemsize(self.operand.dtype), size):
                at = f"getelementptr i8, ptr {address}, i64 {step}"
                self._store_parts(code, function.op(at) if step else address, element)

        size, lanes = itemsize(self.operand.dtype), "" if mask is None else code.truth(mask)
        for lane, address in enumerate(addresses):
            if lanes:
                with function.when(code.slice("i1", lanes, width, lane, 1), "write"):
                    write(lane, address)
            else:
                write(lane, address)
