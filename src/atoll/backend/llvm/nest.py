"""The loop nest: from a specification to the text of an LLVM module.

The function of a kernel clears the processor's floating-point flags, runs its chunks and
adds the flags that it finds to the block. Inside, plain loops lead to rows, the innermost
axis. A row is done by vectors of ``width`` elements, and the rest by short masked ones with
the same instructions. Values that are the same for a whole row are computed once before it,
and those that are the same for the whole nest at the start.

Reductions of the whole nest keep their accumulators (:mod:`.fold`) from row to row of a chunk; where they round, they
take the elements in the order, and the chunks, in which they would lie in one row, so that neither the
number of axes nor where rows end is seen in a result;
those of innermost axes begin and end with the loops over these axes; those of outer axes
only are added to their operand element by element.

Folds of truth values by ``and`` and ``or`` end as soon as one element has decided them, if
the nest does no other work: within a row, for the chunks of a call, and, by a bit of the block's
first word, for other threads.

Operands that may overlap written memory require their elements in order, one
by one. The kernel tests for overlap when it starts; if operands overlap, rows are done
by vectors of one element.
"""

from __future__ import annotations

from collections.abc import Callable

from ... import policy
from ..flags import INVALID
from ..spec import QUARTER, STREAMS, KernelSpec, Operand, is_full
from .body import Body, Row
from .fold import Fold
from .function import Function, Module
from .kernel import Layout, define_entry, define_overlap
from .machine import Machine
from .memory import Access
from .rows import Rows
from .schedule import Schedule
from .simplify import simplified
from .types import SETTLED, itemsize
from .ufuncs import flags_of

_LINE = 64


def build(spec: KernelSpec, name: str, machine: Machine) -> str:
    """The LLVM text of the kernel ``name``: ``void name(ptr block, i64 first, i64 last)``."""
    return Nest(spec, name, machine).text()


class Nest:
    """The code generator of one kernel."""

    def __init__(self, spec: KernelSpec, name: str, machine: Machine) -> None:
        spec = simplified(spec)
        self.spec = spec
        self.name = name
        self.layout = Layout.of(spec)
        self.module = Module(machine)
        self.inner = spec.ndim - 1
        self.schedule = Schedule(spec, machine.vector_bytes)
        lanes = 1 if self.schedule.seeks else self.schedule.width
        silent = not flags_of(spec) & INVALID
        self.folds = {
            number: Fold(spec.reductions[number], lanes, number in self.schedule.counts, silent)
            for number in self.schedule.scopes
        }
        self.body = Function(
            self.module,
            f"define internal i32 @{name}.nest(ptr %block, i64 %first, i64 %last) noinline",
        )
        self.soft_flags = self.body.allocate("i32", 4)
        self.chunk = ""
        self.extents: list[str] = []
        self.strides: list[list[str]] = []
        self.elements = Body(spec, self.body, self.soft_flags, self.schedule, self.folds)
        self.rows = Rows(self.elements, self.schedule)

    def text(self) -> str:
        """The module."""
        self._nest()
        define_entry(self.module, self.name, flags_of(self.spec))
        if self.schedule.pairs:
            largest = max(itemsize(operand.dtype) for operand in self.spec.operands)
            define_overlap(self.module, self.layout, largest)
        return self.module.text()

    # loops

    def _nest(self) -> None:
        body, layout, spec = self.body, self.layout, self.spec
        body.line(f"store i32 0, ptr {self.soft_flags}")
        self.chunk = body.word(layout.chunk)
        self.extents = [body.word(layout.extents + axis) for axis in range(spec.ndim)]
        self.strides = [
            [body.word(layout.strides + k * spec.ndim + axis) for axis in range(spec.ndim)]
            for k in range(len(spec.operands))
        ]
        if spec.row > 0:
            self.extents[self.inner] = str(spec.row)
        pointers = [body.word(layout.pointers + k, "ptr") for k in range(len(spec.operands))]
        for fold in self.folds.values():
            fold.allocate(body, STREAMS if self.schedule.streams else int(self.schedule.seeks))
        for written, other in self.schedule.pairs:
            overlap = body.op(f"call i1 @overlap(ptr %block, i64 {written}, i64 {other})")
            if self.rows.ordered:
                overlap = body.op(f"or i1 {self.rows.ordered}, {overlap}")
            self.rows.ordered = overlap
        self.elements.begin()
        if self.schedule.settles:
            self._begin_settling()
        body.loop("chunk", "%first", "%last", lambda chunk: self._chunk(chunk, pointers))
        flags = body.op(f"load i32, ptr {self.soft_flags}")
        if self.schedule.settles:
            settled = body.op(f"select i1 {self.rows.settled()}, i32 {SETTLED}, i32 0")
            flags = body.op(f"or i32 {flags}, {settled}")
        body.end(self.name + ".nest", f"i32 {flags}")

    def _chunk(self, chunk: str, pointers: list[str]) -> None:
        body = self.body
        total = self.extents[0]
        for extent in self.extents[1:] if self.schedule.flat else ():
            total = body.op(f"mul i64 {total}, {extent}")
        start = body.op(f"mul i64 {chunk}, {self.chunk}")
        stop = body.smaller(body.op(f"add i64 {start}, {self.chunk}"), total)
        if not self.schedule.settles:
            self._begin_folds(0)
        if self.schedule.flat:
            self._pieces(start, stop, pointers)
        else:
            self._axis(0, start, stop, pointers, [])
        partial = self.layout.partials
        for number, reduction in enumerate(self.spec.reductions):
            if is_full(reduction, self.spec.ndim):
                code, fold = self.elements.code(), self.folds[number]
                for value in fold.result(code, fold.finish(code)):
                    offset = body.op(f"mul i64 {chunk}, {itemsize(value.dtype)}")
                    array = body.word(partial, "ptr")
                    address = body.op(f"getelementptr i8, ptr {array}, i64 {offset}")
                    Access(Operand(value.dtype), address, "0").store_one(code, address, value)
                    partial += 1

    def _pieces(self, start: str, stop: str, pointers: list[str]) -> None:
        """Elements ``start`` to ``stop`` in the order of all: the rows that they belong to, or parts of them."""
        body, inner = self.body, self.inner
        extent = self.extents[inner]
        end = body.op(f"add i64 {stop}, {body.op(f'sub i64 {extent}, 1')}")

        def piece(number: str) -> None:
            indices: list[str] = []
            rest = number
            for size in reversed(self.extents[1:inner]):
                indices.insert(0, body.op(f"urem i64 {rest}, {size}"))
                rest = body.op(f"udiv i64 {rest}, {size}")
            indices.insert(0, rest)
            moved = pointers
            for axis, index in enumerate(indices):
                moved = self._moved(moved, index, axis)
            row = body.op(f"mul i64 {number}, {extent}")
            before = body.op(f"sub i64 {start}, {row}")
            first = body.larger(before, "0")
            last = body.smaller(body.op(f"sub i64 {stop}, {row}"), extent)
            part = self._at(self._moved(moved, first, inner), first, indices)
            part.before = body.op(f"sub i64 {first}, {before}")
            self.rows.row([part], body.op(f"sub i64 {last}, {first}"))

        some = body.larger(extent, "1")
        first_row = body.op(f"udiv i64 {start}, {some}")
        body.loop("piece", first_row, body.op(f"udiv i64 {end}, {some}"), piece)

    def _axis(
        self, axis: int, start: str, stop: str, pointers: list[str], indices: list[str]
    ) -> None:
        """Loop over ``axis`` and the axes inside it; ``indices`` are the current indices of the outer axes."""
        body = self.body
        if axis == self.inner:
            if axis == 0:
                pointers = [self._step(p, start, s[0]) for p, s in zip(pointers, self.strides)]
            count = body.op(f"sub i64 {stop}, {start}")
            row = self._at(pointers, start, indices)
            row.before = self._before(indices)
            self.rows.row([row], count)
            return

        def inside(index: str) -> None:
            moved = self._moved(pointers, index, axis)
            self._begin_folds(axis + 1)
            self._axis(axis + 1, "0", self.extents[axis + 1], moved, [*indices, index])
            self._end_folds(axis + 1, moved, self.folds)

        order = self.schedule.order if axis == self.inner - 1 else "rows"
        if order == "tiles":
            self._tiles(start, stop, pointers, indices)
        elif order == "batches":
            self._batches(start, stop, pointers, indices)
        elif order == "streams":
            self._streams(start, stop, pointers, indices, inside)
        else:
            body.loop(f"axis{axis}.", start, stop, inside)

    def _moved(self, pointers: list[str], index: str, axis: int) -> list[str]:
        """The pointers at ``index`` of an axis."""
        return [self._step(p, index, s[axis]) for p, s in zip(pointers, self.strides)]

    def _step(self, pointer: str, index: str, stride: str) -> str:
        offset = self.body.op(f"mul i64 {index}, {stride}")
        return self.body.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def _tiles(self, start: str, stop: str, pointers: list[str], indices: list[str]) -> None:
        """The two innermost axes, cut along the inner one if some operand runs across its memory.

        Such an operand shares its cache lines between neighbouring rows; tiles are narrow enough
        for the lines to stay until the next row comes.
        """
        body, inner = self.body, self.inner
        across = "false"
        for operand, strides in zip(self.spec.operands, self.strides):
            if operand.inner == "any":
                sizes = [self._size(strides[axis]) for axis in (inner, inner - 1)]
                far = body.op(f"icmp uge i64 {sizes[0]}, {_LINE}")
                near = body.op(f"icmp ult i64 {sizes[1]}, {_LINE}")
                across = body.op(f"or i1 {across}, {body.op(f'and i1 {far}, {near}')}")
        if self.rows.ordered:
            across = body.op(f"and i1 {across}, {body.op(f'xor i1 {self.rows.ordered}, true')}")
        extent = self.extents[inner]
        width = body.op(f"select i1 {across}, i64 {policy.limits.vector}, i64 {extent}")
        width = body.larger(width, "1")

        def tile(first: str) -> tuple[str]:
            count = body.smaller(body.op(f"sub i64 {extent}, {first}"), width)
            begin = self._moved(pointers, first, inner)

            def row(index: str) -> None:
                moved = self._moved(begin, index, inner - 1)
                self.rows.row([self._at(moved, first, [*indices, index])], count)

            body.loop("line", start, stop, row)
            return (body.op(f"add i64 {first}, {width}"),)

        body.advance("tile", "0", extent, tile)

    def _size(self, stride: str) -> str:
        self.module.declare("llvm.abs.i64", "i64", "i64, i1")
        return self.body.op(f"call i64 @llvm.abs.i64(i64 {stride}, i1 false)")

    # reductions around rows

    def _before(self, indices: list[str]) -> str:
        """Number of elements that rounded folds of several rows took before this row: they continue the last row."""
        scopes = {self.schedule.scopes[number] for number in self.schedule.rounded}
        scope = scopes.pop() if len(scopes) == 1 else 0
        if not 0 < scope < self.inner:
            return "0"
        rows = "0"
        for axis in range(scope, self.inner):
            outside = self.body.op(f"mul i64 {rows}, {self.extents[axis]}")
            rows = self.body.op(f"add i64 {outside}, {indices[axis]}")
        return self.body.op(f"mul i64 {rows}, {self.extents[self.inner]}")

    def _streams(
        self,
        start: str,
        stop: str,
        pointers: list[str],
        indices: list[str],
        single: Callable[[str], None],
    ) -> None:
        """The two innermost axes, several rows at a time.

        Short rows are not worth it, long ones are read in several streams anyway.
        """
        body, inner = self.body, self.inner
        extent = self.extents[inner]
        short = body.op(f"icmp slt i64 {extent}, {self.rows.visit()}")
        long = body.op(f"icmp sge i64 {extent}, {STREAMS * QUARTER}")

        def group(first: str) -> None:
            ways = body.smaller(body.op(f"sub i64 {stop}, {first}"), str(STREAMS))

            def index(way: str) -> str:
                return body.op(f"add i64 {first}, {way}")

            def strands(way: str) -> dict[int, Fold]:
                return {number: fold.strand(body, way) for number, fold in self.folds.items()}

            def row_of(way: str) -> Row:
                at = index(way)
                row = self._at(self._moved(pointers, at, inner - 1), "0", [*indices, at])
                self.elements.begin_row(row)
                return row

            def begin(way: str) -> None:
                for fold in strands(way).values():
                    fold.begin(self.elements.code())

            def end(way: str) -> None:
                moved = self._moved(pointers, index(way), inner - 1)
                self._end_folds(inner, moved, strands(way))

            if not self.schedule.seeks:
                body.loop("begin", "0", ways, begin)
            self.rows.abreast(row_of, ways, extent, strands)
            if self.schedule.fresh:
                body.loop("end", "0", ways, end)

        body.choose(
            body.op(f"or i1 {short}, {long}"),
            lambda: body.loop("row", start, stop, single),
            lambda: body.loop("group", start, stop, group, STREAMS),
        )

    def _begin_folds(self, axis: int) -> None:
        for number, fold in self.folds.items():
            if self.schedule.scopes[number] == axis:
                fold.begin(self.elements.code())

    def _end_folds(self, axis: int, pointers: list[str], folds: dict[int, Fold]) -> None:
        code = self.elements.code()
        for number, fold in folds.items():
            reduction = self.spec.reductions[number]
            if self.schedule.scopes[number] != axis or is_full(reduction, self.spec.ndim):
                continue
            new = fold.finish(code)
            slots = self.elements.slots(number)
            accesses = [Access(self.spec.operands[slot], pointers[slot], "0") for slot in slots]
            old = [access.load_one(code, access.row) for access in accesses]
            before = fold.prepare(code, *old)
            results = fold.result(code, fold.combine(code, before, new))
            for value, access in zip(results, accesses):
                access.store_one(code, access.row, value)

    # rows

    def _at(self, pointers: list[str], first: str, indices: list[str]) -> Row:
        """The row that starts at ``pointers``."""
        accesses = [
            Access(operand, pointer, strides[self.inner])
            for operand, pointer, strides in zip(self.spec.operands, pointers, self.strides)
        ]
        return Row(accesses, indices, first)

    def _batches(self, start: str, stop: str, pointers: list[str], indices: list[str]) -> None:
        """The two innermost axes, several rows at a time. The order in which an element is folded stays the same."""
        body, inner = self.body, self.inner
        whole = body.op(f"and i64 {body.op(f'sub i64 {stop}, {start}')}, {-STREAMS}")
        middle = body.op(f"add i64 {start}, {whole}")

        def rows(first: str, number: int) -> None:
            batch = []
            for offset in range(number):
                index = body.op(f"add i64 {first}, {offset}")
                moved = self._moved(pointers, index, inner - 1)
                batch.append(self._at(moved, "0", [*indices, index]))
            self.rows.row(batch, self.extents[inner])

        body.loop("batch", start, middle, lambda first: rows(first, STREAMS), STREAMS)
        body.loop("row", middle, stop, lambda index: rows(index, 1))

    # folds that one element decides

    def _begin_settling(self) -> None:
        """Begin the folds once for all chunks of a call, where another call has settled them so.

        The settled result of one chunk is valid for the next as well.
        """
        body, code = self.body, self.elements.code()
        self._begin_folds(0)
        flags = body.op("load atomic i64, ptr %block monotonic, align 8")
        known = body.op(f"icmp ne i64 {body.op(f'and i64 {flags}, {SETTLED}')}, 0")
        with body.when(known, "settle"):
            for fold in self.folds.values():
                fold.settle(code)
