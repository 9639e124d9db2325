"""From a specification to the text of one function: the loops, and the body at two widths.

The function runs over a range of chunks. In each chunk the outer loops count through the
outer axes, and for every row the innermost loop runs twice: over whole vectors, and over the
elements that are left, one at a time with the same instructions. Reductions of the whole nest
keep their accumulators (:mod:`.fold`) from row to row of a chunk; those of the innermost axis
alone are folded for each row and then joined to the operand that collects them; those of
outer axes only are added to their operand element by element, like NumPy does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from . import ufuncs
from .arithmetic import cast
from .block import Layout, is_full
from .builder import Code, Function, Module, Value
from .fold import STEPS, Fold
from .machine import Machine
from .spec import Instruction, KernelSpec, Operand, Reduction
from .types import COMPONENT, MEMORY_TYPE, VALUE_TYPE, itemsize

_FLAGS_X86 = ((4, 1), (8, 2), (16, 4), (1, 8))
_FLAGS_ARM = ((2, 1), (4, 2), (8, 4), (1, 8))


@dataclass(slots=True)
class _Row:
    """What is fixed during a row: its pointers, its length, and the first index along it."""

    pointers: list[str]
    strides: list[str]
    indices: list[str]
    start: str
    stop: str
    folds: list[tuple[Fold, Reduction]] = field(default_factory=list)


class Nest:
    """Writes the function of one kernel."""

    def __init__(self, spec: KernelSpec, name: str, machine: Machine) -> None:
        self.spec = spec
        self.name = name
        self.layout = Layout.of(spec)
        self.module = Module(machine)
        self.function = Function(self.module, f"define void @{name}(ptr %block, i64 %first, i64 %last)")
        self.soft_flags = ""
        self.width = self._width(machine)
        self.folds = [Fold(r, self.width) for r in spec.reductions]
        self.full = [(f, r) for f, r in zip(self.folds, spec.reductions) if is_full(r, spec.ndim)]
        inner = spec.ndim - 1
        rest = [(f, r) for f, r in zip(self.folds, spec.reductions) if not is_full(r, spec.ndim)]
        self.by_row = [(f, r) for f, r in rest if inner in r.axes]
        self.by_element = [(f, r) for f, r in rest if inner not in r.axes]

    def _width(self, machine: Machine) -> int:
        """Elements per step: a few registers' worth for short bodies, fewer for long ones."""
        spec = self.spec
        sizes = [itemsize(COMPONENT.get(i.dtype, i.dtype)) for i in spec.body if i.op not in ("store", "index")]
        widest = max(sizes, default=8)
        if any(i.op == "index" for i in spec.body):
            widest = 8
        lanes = max(1, machine.vector_bytes // widest)
        strided = any(o.inner == "any" for o in spec.operands)
        work = sum(1 for i in spec.body if i.op in ("call", "cast", "where"))
        functions = sum(1 for i in spec.body if i.op == "call" and i.name in ufuncs._FUNCTIONS)
        several = 1 if strided or functions or work > 48 else 2 if work > 16 else 4
        width = lanes * several
        needed = max([Fold(r, width).lanes for r in spec.reductions if Fold(r, width).rounds], default=1)
        return max(width, needed)

    # text

    def text(self) -> str:
        """The module."""
        function = self.function
        layout, spec = self.layout, self.spec
        self.soft_flags = function.allocate("i32", 4)
        function.line(f"store i32 0, ptr {self.soft_flags}")
        self.module.declare("feclearexcept", "i32", "i32", "nounwind")
        self.module.declare("fetestexcept", "i32", "i32", "nounwind")
        every = sum(bit for bit, _ in self._flag_bits())
        function.op(f"call i32 @feclearexcept(i32 {every})")
        self.chunk = self._word(layout.chunk)
        self.extents = [self._word(layout.extents + k) for k in range(spec.ndim)]
        self.pointers = [self._word(layout.pointers + k, "ptr") for k in range(layout.operands)]
        self.strides = [
            [self._word(layout.strides + k * spec.ndim + axis) for axis in range(spec.ndim)]
            for k in range(layout.operands)
        ]
        self.origins = [self._word(layout.origins + axis) for axis in range(spec.ndim)]
        self.steps = [self._word(layout.steps + axis) for axis in range(spec.ndim)]
        self.partials = [self._word(layout.partials + k, "ptr") for k in range(len(layout.partial_dtypes))]
        self.scalars = [self._scalar(k, dtype) for k, dtype in enumerate(spec.scalars)]
        for fold in self.folds:
            fold.allocate(function)
        self._loop("%first", "%last", self._one_chunk)
        self._report_flags()
        function.line("ret void")
        self.module.definitions[self.name] = function.text()
        return self.module.text()

    def _flag_bits(self) -> tuple[tuple[int, int], ...]:
        return _FLAGS_ARM if self.module.machine.arm else _FLAGS_X86

    def _word(self, index: int, kind: str = "i64") -> str:
        address = self.function.op(f"getelementptr i64, ptr %block, i64 {index}")
        return self.function.op(f"load {kind}, ptr {address}")

    def _scalar(self, number: int, dtype: str) -> Value:
        function = self.function
        address = function.op(f"getelementptr i64, ptr %block, i64 {self.layout.scalars + 2 * number}")
        return self._load_one(Code(function, 1, self.soft_flags), address, dtype)

    def _load_one(self, code: Code, address: str, dtype: str) -> Value:
        function = self.function
        kind = MEMORY_TYPE[dtype]
        first = function.op(f"load {kind}, ptr {address}, align 1")
        if dtype in COMPONENT:
            beside = function.op(f"getelementptr {kind}, ptr {address}, i64 1")
            return Value(dtype, first, function.op(f"load {kind}, ptr {beside}, align 1"))
        if dtype == "b1":
            return Value("b1", function.op(f"icmp ne i8 {first}, 0"))
        return Value(dtype, first)

    def _store_one(self, address: str, value: Value) -> None:
        function = self.function
        kind = MEMORY_TYPE[value.dtype]
        name = function.op(f"zext i1 {value.name} to i8") if value.dtype == "b1" else value.name
        function.line(f"store {kind} {name}, ptr {address}, align 1")
        if value.imag:
            beside = function.op(f"getelementptr {kind}, ptr {address}, i64 1")
            function.line(f"store {kind} {value.imag}, ptr {beside}, align 1")

    def _report_flags(self) -> None:
        function = self.function
        every = sum(bit for bit, _ in self._flag_bits())
        raised = function.op(f"call i32 @fetestexcept(i32 {every})")
        total = function.op(f"load i32, ptr {self.soft_flags}")
        for bit, ours in self._flag_bits():
            one = function.op(f"and i32 {raised}, {bit}")
            found = function.op(f"icmp ne i32 {one}, 0")
            flag = function.op(f"select i1 {found}, i32 {ours}, i32 0")
            total = function.op(f"or i32 {total}, {flag}")
        wide = function.op(f"zext i32 {total} to i64")
        any_flag = function.op(f"icmp ne i32 {total}, 0")
        tell, end = function.name("tell"), function.name("end")
        function.branch(any_flag, tell, end)
        function.label(tell)
        function.op(f"atomicrmw or ptr %block, i64 {wide} monotonic")
        function.jump(end)
        function.label(end)

    # loops

    def _loop(self, start: str, stop: str, body: object) -> None:
        """``for i in range(start, stop): body(i)``."""
        function = self.function
        head, inside, done = function.name("head"), function.name("body"), function.name("done")
        before = function.block
        function.jump(head)
        function.label(head)
        index = "%" + function.name("i")
        at = len(function.lines)
        function.lines.append("")
        more = function.op(f"icmp slt i64 {index}, {stop}")
        function.branch(more, inside, done)
        function.label(inside)
        body(index)  # type: ignore[operator]
        following = function.op(f"add nsw i64 {index}, 1")
        function.lines[at] = f"  {index} = phi i64 [ {start}, %{before} ], [ {following}, %{function.block} ]"
        function.jump(head)
        function.label(done)

    def _one_chunk(self, chunk: str) -> None:
        function = self.function
        code = Code(function, 1, self.soft_flags)
        low = function.op(f"mul nsw i64 {chunk}, {self.chunk}")
        past = function.op(f"add nsw i64 {low}, {self.chunk}")
        inside = function.op(f"icmp slt i64 {past}, {self.extents[0]}")
        high = function.op(f"select i1 {inside}, i64 {past}, i64 {self.extents[0]}")
        for fold, _ in self.full:
            fold.begin(code)
        self._axis(0, low, high, list(self.pointers), [])
        slot = 0
        for fold, reduction in self.full:
            for value in fold.result(code, fold.finish(code)):
                size = itemsize(value.dtype)
                offset = function.op(f"mul i64 {chunk}, {size}")
                address = function.op(f"getelementptr i8, ptr {self.partials[slot]}, i64 {offset}")
                self._store_one(address, value)
                slot += 1
            if reduction.position < 0:
                continue

    def _axis(self, axis: int, low: str, high: str, pointers: list[str], indices: list[str]) -> None:
        if axis == self.spec.ndim - 1:
            self._row(_Row(pointers, [s[axis] for s in self.strides], indices, low, high))
            return

        def body(index: str) -> None:
            moved = []
            for pointer, strides in zip(pointers, self.strides):
                offset = self.function.op(f"mul nsw i64 {index}, {strides[axis]}")
                moved.append(self.function.op(f"getelementptr i8, ptr {pointer}, i64 {offset}"))
            self._axis(axis + 1, "0", self.extents[axis + 1], moved, [*indices, index])

        self._loop(low, high, body)

    def _row(self, row: _Row) -> None:
        function = self.function
        narrow = Code(function, 1, self.soft_flags)
        for fold, _ in self.by_row:
            fold.begin(narrow)
        folds = [*self.full, *self.by_row]
        wide = Code(function, self.width, self.soft_flags)
        count = function.op(f"sub nsw i64 {row.stop}, {row.start}")
        whole = function.op(f"and i64 {count}, {-self.width}")
        middle = function.op(f"add nsw i64 {row.start}, {whole}")
        if any(fold.blocked for fold, _ in folds):
            self._blocks(row, wide, folds, whole)
        else:
            self._vectors(row, wide, folds, row.start, middle)
        if self.width > 1:
            self._rest(row, narrow, folds, middle)
        for fold, reduction in self.by_row:
            address = row.pointers[reduction.operand]
            old = fold.prepare(narrow, self._load_one(narrow, address, reduction.dtype), None)
            total = fold.combine(narrow, old, fold.finish(narrow))
            self._store_one(address, fold.result(narrow, total)[0])

    def _blocks(self, row: _Row, wide: Code, folds: list[tuple[Fold, Reduction]], whole: str) -> None:
        """Whole vectors, in blocks after which the sums of the accumulators are put aside."""
        function = self.function
        block = max(self.width, min(STEPS * fold.lanes for fold, _ in folds if fold.blocked))
        block -= block % self.width
        blocks = function.op(f"sdiv i64 {whole}, {block}")
        partial = function.op(f"mul nsw i64 {blocks}, {block}")
        uneven = function.op(f"icmp slt i64 {partial}, {whole}")
        extra = function.op(f"zext i1 {uneven} to i64")
        number = function.op(f"add nsw i64 {blocks}, {extra}")
        top = function.op(f"add nsw i64 {row.start}, {whole}")

        def one(index: str) -> None:
            offset = function.op(f"mul nsw i64 {index}, {block}")
            low = function.op(f"add nsw i64 {row.start}, {offset}")
            past = function.op(f"add nsw i64 {low}, {block}")
            full = function.op(f"icmp slt i64 {past}, {top}")
            high = function.op(f"select i1 {full}, i64 {past}, i64 {top}")
            self._vectors(row, wide, folds, low, high)
            done = function.op(f"sub nsw i64 {high}, {low}")
            for fold, _ in folds:
                if fold.blocked:
                    fold.advance(wide, function.op(f"sdiv i64 {done}, {fold.lanes}"))

        self._loop("0", number, one)

    def _vectors(self, row: _Row, wide: Code, folds: list[tuple[Fold, Reduction]], low: str, high: str) -> None:
        """A loop over whole vectors, with the accumulators in registers."""
        function = self.function
        starts = [fold.load(Code(function, fold.lanes)) for fold, _ in folds]
        head, inside, done = function.name("head"), function.name("vector"), function.name("done")
        before = function.block
        function.jump(head)
        function.label(head)
        index = "%" + function.name("j")
        names = [["%" + function.name("a") for _ in values] for values in starts]
        at = len(function.lines)
        function.lines.extend([""] * (1 + sum(map(len, names))))
        more = function.op(f"icmp slt i64 {index}, {high}")
        function.branch(more, inside, done)
        function.label(inside)
        values = self._body(row, wide, index)
        results = []
        for (fold, reduction), held, start in zip(folds, names, starts):
            old = [Value(v.dtype, name) for v, name in zip(start, held)]
            new = self._prepared(wide, fold, reduction, values)
            results.append(fold.add_pieces(wide, old, new))
        following = function.op(f"add nsw i64 {index}, {self.width}")
        function.lines[at] = f"  {index} = phi i64 [ {low}, %{before} ], [ {following}, %{function.block} ]"
        place = at + 1
        for (fold, _), held, start, result in zip(folds, names, starts, results):
            for name, first, last in zip(held, start, result):
                kind = Code(function, fold.lanes).type(first.dtype)
                function.lines[place] = (
                    f"  {name} = phi {kind} [ {first.name}, %{before} ], [ {last.name}, %{function.block} ]"
                )
                place += 1
        function.jump(head)
        function.label(done)
        for (fold, _), held, start in zip(folds, names, starts):
            fold.store(Code(function, fold.lanes), [Value(v.dtype, name) for v, name in zip(start, held)])

    def _prepared(self, code: Code, fold: Fold, reduction: Reduction, values: list[Value]) -> list[Value]:
        value = values[reduction.value]
        position = values[reduction.position] if reduction.position >= 0 else None
        new = fold.prepare(code, value, position)
        if reduction.mask >= 0:
            neutral = fold.identity(code)
            new = [code.select(values[reduction.mask], a, b) for a, b in zip(new, neutral)]
        return new

    def _rest(self, row: _Row, narrow: Code, folds: list[tuple[Fold, Reduction]], middle: str) -> None:
        function = self.function

        def one(index: str) -> None:
            values = self._body(row, narrow, index)
            for fold, reduction in folds:
                new = self._prepared(narrow, fold, reduction, values)
                place = function.op(f"sub nsw i64 {index}, {row.start}")
                fold.add_in_memory(narrow, place, new, None)

        self._loop(middle, row.stop, one)
        for fold, _ in folds:
            if fold.blocked:
                fold.advance(narrow, "1")

    # the body

    def _body(self, row: _Row, code: Code, index: str) -> list[Value]:
        """All instructions for ``code.width`` elements from ``index`` on."""
        values: list[Value] = []
        for instruction in self.spec.body:
            values.append(self._instruction(row, code, index, instruction, values))
        for fold, reduction in self.by_element:
            number = reduction.operand
            operand = self.spec.operands[number]
            old = fold.prepare(code, self._load(row, code, index, number, operand), None)
            new = self._prepared(code, fold, reduction, values)
            total = fold.result(code, fold.combine(code, old, new))[0]
            self._store(row, code, index, number, operand, total)
        return values

    def _instruction(self, row: _Row, code: Code, index: str, one: Instruction, values: list[Value]) -> Value:
        op = one.op
        if op == "load":
            number = _whole(one.args[0])
            return self._load(row, code, index, number, self.spec.operands[number])
        if op == "scalar":
            return code.broadcast(self.scalars[_whole(one.args[0])])
        if op == "const":
            return code.const(one.dtype, one.args[0])
        if op == "index":
            return self._index(row, code, index, _whole(one.args[0]))
        args = [values[_whole(a)] for a in one.args] if op != "store" else []
        if op == "cast":
            return cast(code, args[0], one.dtype)
        if op == "call":
            return ufuncs.emit(code, one.name, args, one.dtype)
        if op == "where":
            return code.select(args[0], args[1], args[2])
        if op == "real":
            return code.real(args[0])
        if op == "imag":
            return code.imag(args[0])
        if op == "complex":
            return code.complex(args[0], args[1])
        number = _whole(one.args[0])
        operand = self.spec.operands[number]
        value = values[_whole(one.args[1])]
        if len(one.args) == 3:
            old = self._load(row, code, index, number, operand)
            value = code.select(values[_whole(one.args[2])], value, old)
        self._store(row, code, index, number, operand, value)
        return value

    def _index(self, row: _Row, code: Code, index: str, axis: int) -> Value:
        function = self.function
        inner = axis == self.spec.ndim - 1
        place = index if inner else row.indices[axis]
        scaled = function.op(f"mul nsw i64 {place}, {self.steps[axis]}")
        first = function.op(f"add nsw i64 {self.origins[axis]}, {scaled}")
        value = code.broadcast(Value("i8", first))
        if not inner or code.width == 1:
            return value
        step = code.broadcast(Value("i8", self.steps[axis]))
        lanes = ", ".join(f"i64 {k}" for k in range(code.width))
        offsets = code.op("mul", step, Value("i8", f"<{lanes}>"))
        return code.op("add", value, offsets)

    def _address(self, row: _Row, index: str, number: int, operand: Operand) -> str:
        function = self.function
        pointer = row.pointers[number]
        if operand.inner == "zero":
            return pointer
        if operand.inner == "unit":
            size = itemsize(operand.dtype)
            offset = function.op(f"mul nsw i64 {index}, {size}")
        else:
            offset = function.op(f"mul nsw i64 {index}, {row.strides[number]}")
        return function.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def _load(self, row: _Row, code: Code, index: str, number: int, operand: Operand) -> Value:
        function = self.function
        dtype = operand.dtype
        address = self._address(row, index, number, operand)
        width = code.width
        if width == 1 or operand.inner == "zero":
            return code.broadcast(self._load_one(code, address, dtype))
        if operand.inner == "any":
            return self._gather(row, code, address, number, dtype)
        kind = MEMORY_TYPE[dtype]
        if dtype in COMPONENT:
            pair = function.op(f"load <{2 * width} x {kind}>, ptr {address}, align 1")
            return Value(dtype, self._every_other(kind, pair, width, 0), self._every_other(kind, pair, width, 1))
        name = function.op(f"load <{width} x {kind}>, ptr {address}, align 1")
        if dtype == "b1":
            name = function.op(f"icmp ne <{width} x i8> {name}, zeroinitializer")
        return Value(dtype, name)

    def _every_other(self, kind: str, pair: str, width: int, first: int) -> str:
        lanes = ", ".join(f"i32 {2 * k + first}" for k in range(width))
        vector = f"<{2 * width} x {kind}>"
        return self.function.op(f"shufflevector {vector} {pair}, {vector} poison, <{width} x i32> <{lanes}>")

    def _gather(self, row: _Row, code: Code, address: str, number: int, dtype: str) -> Value:
        function = self.function
        parts: list[list[str]] = [[], []]
        narrow = Code(function, 1, self.soft_flags)
        for lane in range(code.width):
            offset = function.op(f"mul nsw i64 {row.strides[number]}, {lane}")
            one = self._load_one(narrow, function.op(f"getelementptr i8, ptr {address}, i64 {offset}"), dtype)
            parts[0].append(one.name)
            parts[1].append(one.imag)
        kind = VALUE_TYPE[dtype]
        imag = code.join(kind, parts[1], 1) if dtype in COMPONENT else ""
        return Value(dtype, code.join(kind, parts[0], 1), imag)

    def _store(self, row: _Row, code: Code, index: str, number: int, operand: Operand, value: Value) -> None:
        function = self.function
        width = code.width
        address = self._address(row, index, number, operand)
        if width == 1:
            self._store_one(address, value)
            return
        dtype = operand.dtype
        kind = MEMORY_TYPE[dtype]
        if operand.inner != "unit":
            for lane in range(width):
                offset = function.op(f"mul nsw i64 {row.strides[number]}, {lane}")
                place = function.op(f"getelementptr i8, ptr {address}, i64 {offset}")
                of_lane = [
                    function.op(f"extractelement {code.type(dtype)} {part}, i64 {lane}") if part else ""
                    for part in (value.name, value.imag)
                ]
                self._store_one(place, Value(dtype, *of_lane))
            return
        if dtype in COMPONENT:
            lanes = ", ".join(f"i32 {k}, i32 {k + width}" for k in range(width))
            vector = f"<{width} x {kind}>"
            pair = function.op(
                f"shufflevector {vector} {value.name}, {vector} {value.imag}, <{2 * width} x i32> <{lanes}>"
            )
            function.line(f"store <{2 * width} x {kind}> {pair}, ptr {address}, align 1")
            return
        name = value.name
        if dtype == "b1":
            name = function.op(f"zext <{width} x i1> {name} to <{width} x i8>")
        function.line(f"store <{width} x {kind}> {name}, ptr {address}, align 1")


def _whole(number: int | float | complex) -> int:
    assert isinstance(number, int)
    return number
