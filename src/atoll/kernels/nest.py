"""The loop nest: from a specification to the text of an LLVM module.

The function of a kernel clears the processor's floating-point flags, runs its chunks and
adds the flags that it finds to the block. Inside, plain loops lead to rows, the innermost
axis. A row is done by vectors of ``width`` elements, and what is left by short masked ones with
the same instructions. Values that are the same for a whole row are computed once before it,
and those that are the same for the whole nest at the start.

Reductions of the whole nest keep their accumulators (:mod:`.fold`) from row to row of a chunk;
those of innermost axes begin and end with the loops over these axes; those of outer axes
only are added to their operand element by element.

Folds of truth values by ``and`` and ``or`` are over as soon as one element has decided them, if
nothing else is done on the way: within a row, for the chunks of a call, and, by a bit of the block's
first word, for other threads.

Operands that may overlap something that is written would need their elements in order, one
by one. Whether they really do is seen when the kernel starts; if so, rows are done
by vectors of one element.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from .block import Layout, is_full
from .body import Body, Row
from .builder import SETTLED, Code, Function, Module, Value
from .entry import define_entry
from .fold import STEPS, Fold
from .levels import Analysis
from .machine import Machine
from .memory import Access, Place
from .overlap import conflicting_pairs, define_overlap
from .seeking import Seek
from .simplify import simplified
from .spec import KernelSpec, Operand
from .types import itemsize
from .ufuncs import flags_of

_LINE = 64
_TILE = 64
_BATCH = 4
_SETTLING = 16


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
        self.analysis = Analysis(spec, machine.vector_bytes)
        self.width = self.analysis.width
        lanes = 1 if self.analysis.seeks else self.width
        self.folds = {
            number: Fold(reduction, lanes, number in self.analysis.counts)
            for number, reduction in enumerate(spec.reductions)
            if self.inner in reduction.axes
        }
        self.pairs = conflicting_pairs(spec)
        self.body = Function(
            self.module,
            f"define internal i32 @{name}.nest(ptr %block, i64 %first, i64 %last) noinline",
        )
        self.soft_flags = self.body.allocate("i32", 4)
        self.chunk = ""
        self.ordered = ""
        self.extents: list[str] = []
        self.strides: list[list[str]] = []
        self.elements = Body(spec, self.body, self.soft_flags, self.analysis, self.folds)

    def text(self) -> str:
        """The module."""
        self._nest()
        define_entry(self.module, self.name, flags_of(self.spec))
        if self.pairs:
            largest = max(itemsize(operand.dtype) for operand in self.spec.operands)
            define_overlap(self.module, self.layout, largest)
        self.module.definitions[self.name + ".nest"] = self.body.text()
        return self.module.text()

    # loops

    def _nest(self) -> None:
        body, layout, spec = self.body, self.layout, self.spec
        body.line(f"store i32 0, ptr {self.soft_flags}")
        self.chunk = self.elements.word(layout.chunk)
        self.extents = [self.elements.word(layout.extents + axis) for axis in range(spec.ndim)]
        self.strides = [
            [self.elements.word(layout.strides + k * spec.ndim + axis) for axis in range(spec.ndim)]
            for k in range(len(spec.operands))
        ]
        pointers = [
            self.elements.word(layout.pointers + k, "ptr") for k in range(len(spec.operands))
        ]
        for fold in self.folds.values():
            fold.allocate(body)
        for written, other in self.pairs:
            found = body.op(f"call i1 @overlap(ptr %block, i64 {written}, i64 {other})")
            self.ordered = body.op(f"or i1 {self.ordered}, {found}") if self.ordered else found
        self.elements.begin()
        if self.analysis.settles:
            self._begin_settling()
        self._loop("chunk", "%first", "%last", lambda chunk: self._chunk(chunk, pointers))
        flags = body.op(f"load i32, ptr {self.soft_flags}")
        if self.analysis.settles:
            settled = body.op(f"select i1 {self._settled()}, i32 {SETTLED}, i32 0")
            flags = body.op(f"or i32 {flags}, {settled}")
        body.line(f"ret i32 {flags}")

    def _loop(self, hint: str, start: str, stop: str, inside: Callable[[str], None]) -> None:
        """``for i in range(start, stop): inside(i)``."""
        body = self.body
        before = body.block
        head, work, after = (body.name(hint) for _ in range(3))
        counter = "%" + body.name()
        body.jump(head)
        body.label(head)
        at = len(body.lines)
        body.lines.append("")
        body.branch(body.op(f"icmp slt i64 {counter}, {stop}"), work, after)
        body.label(work)
        inside(counter)
        following = body.op(f"add nsw i64 {counter}, 1")
        body.lines[at] = (
            f"  {counter} = phi i64 [ {start}, %{before} ], [ {following}, %{body.block} ]"
        )
        body.jump(head)
        body.label(after)

    def _smaller(self, a: str, b: str) -> str:
        return self.body.op(f"select i1 {self.body.op(f'icmp slt i64 {a}, {b}')}, i64 {a}, i64 {b}")

    def _chunk(self, chunk: str, pointers: list[str]) -> None:
        body = self.body
        start = body.op(f"mul i64 {chunk}, {self.chunk}")
        stop = self._smaller(body.op(f"add i64 {start}, {self.chunk}"), self.extents[0])
        if not self.analysis.settles:
            self._begin_folds(0)
        self._axis(0, start, stop, pointers, [])
        partial = self.layout.partials
        for number, reduction in enumerate(self.spec.reductions):
            if is_full(reduction, self.spec.ndim):
                code, fold = self.elements.code(), self.folds[number]
                for value in fold.result(code, fold.finish(code)):
                    offset = body.op(f"mul i64 {chunk}, {itemsize(value.dtype)}")
                    array = self.elements.word(partial, "ptr")
                    address = body.op(f"getelementptr i8, ptr {array}, i64 {offset}")
                    Access(Operand(value.dtype), address, "0").store_one(code, address, value)
                    partial += 1

    def _axis(
        self, axis: int, start: str, stop: str, pointers: list[str], indices: list[str]
    ) -> None:
        """Loop over ``axis`` and those inside it; ``indices`` are the current ones outside."""
        if axis == self.inner:
            if axis == 0:
                pointers = [self._step(p, start, s[0]) for p, s in zip(pointers, self.strides)]
            count = self.body.op(f"sub i64 {stop}, {start}")
            self._row([self._at(pointers, start, indices)], count)
            return

        if axis == self.inner - 1 and self._tiles():
            self._tile(start, stop, pointers, indices)
            return
        if axis == self.inner - 1 and self._batched():
            self._batches(start, stop, pointers, indices)
            return

        def inside(index: str) -> None:
            moved = [self._step(p, index, s[axis]) for p, s in zip(pointers, self.strides)]
            self._begin_folds(axis + 1)
            self._axis(axis + 1, "0", self.extents[axis + 1], moved, [*indices, index])
            self._end_folds(axis + 1, moved)

        self._loop(f"axis{axis}.", start, stop, inside)

    def _step(self, pointer: str, index: str, stride: str) -> str:
        offset = self.body.op(f"mul i64 {index}, {stride}")
        return self.body.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def _tiles(self) -> bool:
        """Whether the two innermost axes may be done by tiles: no result may hang on whole rows."""
        return any(operand.inner == "any" for operand in self.spec.operands) and not any(
            self._scope(number) == self.inner for number in self.folds
        )

    def _tile(self, start: str, stop: str, pointers: list[str], indices: list[str]) -> None:
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
        if self.ordered:
            across = body.op(f"and i1 {across}, {body.op(f'xor i1 {self.ordered}, true')}")
        extent = self.extents[inner]
        width = body.op(f"select i1 {across}, i64 {_TILE}, i64 {extent}")
        width = body.op(f"call i64 @llvm.smax.i64(i64 {width}, i64 1)")
        self.module.declare("llvm.smax.i64", "i64", "i64, i64")
        whole_tiles = body.op(f"add i64 {extent}, {body.op(f'sub i64 {width}, 1')}")
        tiles = body.op(f"sdiv i64 {whole_tiles}, {width}")

        def tile(number: str) -> None:
            first = body.op(f"mul i64 {number}, {width}")
            count = self._smaller(body.op(f"sub i64 {extent}, {first}"), width)
            begin = [self._step(p, first, s[inner]) for p, s in zip(pointers, self.strides)]

            def row(index: str) -> None:
                moved = [self._step(p, index, s[inner - 1]) for p, s in zip(begin, self.strides)]
                self._row([self._at(moved, first, [*indices, index])], count)

            self._loop("line", start, stop, row)

        self._loop("tile", "0", tiles, tile)

    def _size(self, stride: str) -> str:
        self.module.declare("llvm.abs.i64", "i64", "i64, i1")
        return self.body.op(f"call i64 @llvm.abs.i64(i64 {stride}, i1 false)")

    # reductions around rows

    def _scope(self, number: int) -> int:
        """The outermost axis of the innermost run of axes that reduction ``number`` folds."""
        axis = self.inner
        while axis - 1 in self.spec.reductions[number].axes:
            axis -= 1
        return axis

    def _begin_with_rows(self) -> bool:
        """Whether all folds begin anew with each row."""
        return all(self._scope(number) == self.inner for number in self.folds)

    def _begin_folds(self, axis: int) -> None:
        for number, fold in self.folds.items():
            if self._scope(number) == axis:
                fold.begin(self.elements.code())

    def _end_folds(self, axis: int, pointers: list[str]) -> None:
        code = self.elements.code()
        for number, fold in self.folds.items():
            reduction = self.spec.reductions[number]
            if self._scope(number) != axis or is_full(reduction, self.spec.ndim):
                continue
            new = fold.finish(code)
            slots = self.elements.slots(number)
            accesses = [Access(self.spec.operands[slot], pointers[slot], "0") for slot in slots]
            old = [access.load_one(code, access.row) for access in accesses]
            before = fold.prepare(code, old[0], old[1] if len(old) == 2 else None)
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

    def _row(self, rows: list[Row], count: str) -> None:
        """The elements of a row, or of several rows at once."""
        body = self.body
        some, after = body.name("row"), body.name("row.done")
        body.branch(body.op(f"icmp sgt i64 {count}, 0"), some, after)
        body.label(some)
        for row in rows:
            self.elements.begin_row(row)
        if self.ordered:
            slow, fast, joined = body.name("ordered"), body.name("free"), body.name("joined")
            body.branch(self.ordered, slow, fast)
            body.label(slow)
            self._vectors(rows, count, 1)
            body.jump(joined)
            body.label(fast)
            self._vectors(rows, count, self.width)
            body.jump(joined)
            body.label(joined)
        else:
            self._vectors(rows, count, self.width)
        body.jump(after)
        body.label(after)

    def _batched(self) -> bool:
        """Whether rows are taken several at a time: all of them fold into the same results."""
        reductions = self.spec.reductions
        return (
            bool(reductions)
            and not self.folds
            and not self.pairs
            and self.analysis.folds_only
            and all(self.inner - 1 in reduction.axes for reduction in reductions)
        )

    def _batches(self, start: str, stop: str, pointers: list[str], indices: list[str]) -> None:
        """The two innermost axes, several rows at a time.

        Each vector of results is loaded and stored once for all of them, and memory is read in
        several streams. The order in which an element is folded stays the same.
        """
        body, inner = self.body, self.inner
        count = body.op(f"sub i64 {stop}, {start}")
        batches = body.op(f"sdiv i64 {count}, {_BATCH}")

        def rows(first: str, number: int) -> None:
            found = []
            for offset in range(number):
                index = body.op(f"add i64 {first}, {offset}")
                moved = [self._step(p, index, s[inner - 1]) for p, s in zip(pointers, self.strides)]
                found.append(self._at(moved, "0", [*indices, index]))
            self._row(found, self.extents[inner])

        def batch(number: str) -> None:
            first = body.op(f"mul i64 {number}, {_BATCH}")
            rows(body.op(f"add i64 {start}, {first}"), _BATCH)

        self._loop("batch", "0", batches, batch)
        done = body.op(f"mul i64 {batches}, {_BATCH}")
        self._loop("row", body.op(f"add i64 {start}, {done}"), stop, lambda index: rows(index, 1))

    def _vectors(self, rows: list[Row], count: str, width: int) -> None:
        """A row by vectors of ``width`` elements, and the rest of it by masked ones."""
        body = self.body
        if self.analysis.seeks:
            tail, fresh = self.analysis.tail, self._begin_with_rows()
            Seek(self.elements, self.folds, width, tail, fresh, self._loop).row(rows[0], count)
            return
        if self.analysis.settles:
            count = body.op(f"select i1 {self._settled()}, i64 0, i64 {count}")
        main = body.op(f"and i64 {count}, {-width}") if width > 1 else count
        blocked = [fold for fold in self.folds.values() if fold.blocked]
        if blocked:
            self._blocks(rows, main, width, blocked)
        elif self.analysis.settles:
            self._until_settled(rows, main, width)
        else:
            self._stretch(rows, "0", main, width)
        if width == 1:
            return
        rest, done = body.name("rest"), body.name("rest.done")
        body.branch(body.op(f"icmp slt i64 {main}, {count}"), rest, done)
        body.label(rest)
        if self.analysis.tail == 1:
            self._stretch(rows, main, count, 1)
        else:
            self._tail(rows, main, count)
        for fold in blocked:
            fold.advance(self.elements.code(), "1")
        body.jump(done)
        body.label(done)

    def _blocks(self, rows: list[Row], main: str, width: int, blocked: list[Fold]) -> None:
        """Stretches short enough that no accumulator takes more than ``STEPS`` additions."""
        body = self.body
        unit = max(width, min(fold.lanes for fold in blocked))
        before = body.block
        head, work, after = (body.name("block") for _ in range(3))
        start = "%" + body.name()
        body.jump(head)
        body.label(head)
        at = len(body.lines)
        body.lines.append("")
        body.branch(body.op(f"icmp slt i64 {start}, {main}"), work, after)
        body.label(work)
        room = ""
        for fold in blocked:
            left = body.op(f"sub i64 {STEPS}, {body.op(f'load i64, ptr {fold.steps}')}")
            room = self._smaller(left, room) if room else left
        whole_block = body.op(f"add i64 {start}, {body.op(f'mul i64 {room}, {unit}')}")
        stop = self._smaller(whole_block, main)
        self._stretch(rows, start, stop, width)
        length = body.op(f"sub i64 {stop}, {start}")
        for fold in blocked:
            steps = body.op(f"add i64 {length}, {fold.lanes - 1}")
            fold.advance(self.elements.code(), body.op(f"sdiv i64 {steps}, {fold.lanes}"))
        body.lines[at] = f"  {start} = phi i64 [ 0, %{before} ], [ {stop}, %{body.block} ]"
        body.jump(head)
        body.label(after)

    # folds that one element decides

    def _begin_settling(self) -> None:
        """Begin the folds once for all chunks of a call, where another call has settled them so.

        What is known of one chunk may as well be said of the next: the results are the same.
        """
        body, code = self.body, self.elements.code()
        self._begin_folds(0)
        flags = body.op("load atomic i64, ptr %block monotonic, align 8")
        known = body.op(f"icmp ne i64 {body.op(f'and i64 {flags}, {SETTLED}')}, 0")
        settle, begin = body.name("settle"), body.name("begin")
        body.branch(known, settle, begin)
        body.label(settle)
        for fold in self.folds.values():
            fold.settle(code)
        body.jump(begin)
        body.label(begin)

    def _settled(self) -> str:
        """An ``i1``: whether no further element can change any result."""
        found = [fold.settled(self.elements.code()) for fold in self.folds.values()]
        return reduce(lambda a, b: self.body.op(f"and i1 {a}, {b}"), found)

    def _until_settled(self, rows: list[Row], main: str, width: int) -> None:
        """A row by stretches, after each of which it may be over."""
        body = self.body
        before = body.block
        head, work, after = (body.name("settling") for _ in range(3))
        start = "%" + body.name()
        body.jump(head)
        body.label(head)
        at = len(body.lines)
        body.lines.append("")
        body.branch(body.op(f"icmp slt i64 {start}, {main}"), work, after)
        body.label(work)
        stop = self._smaller(body.op(f"add i64 {start}, {_SETTLING * width}"), main)
        self._stretch(rows, start, stop, width)
        following = body.op(f"select i1 {self._settled()}, i64 {main}, i64 {stop}")
        body.lines[at] = f"  {start} = phi i64 [ 0, %{before} ], [ {following}, %{body.block} ]"
        body.jump(head)
        body.label(after)

    def _stretch(self, rows: list[Row], start: str, stop: str, width: int) -> None:
        """Elements ``start`` to ``stop``, a multiple of ``width`` of them, by whole vectors.

        Accumulators that a vector fills stay in registers; others are small and stay in the
        first-level cache, each touched once in ``lanes`` elements.
        """
        body = self.body
        code = self.elements.code(width)
        kept = [fold for fold in self.folds.values() if width % fold.lanes == 0]
        wide = {fold: Code(body, fold.lanes) for fold in kept}
        entry, loop, leave, after = (body.name("vector") for _ in range(4))
        body.branch(body.op(f"icmp slt i64 {start}, {stop}"), entry, after)
        body.label(entry)
        loaded = {fold: fold.load(wide[fold]) for fold in kept}
        body.jump(loop)
        body.label(loop)
        index = "%" + body.name()
        at = len(body.lines)
        body.lines.append("")
        state = {}
        for fold in kept:
            state[fold] = [Value(v.dtype, "%" + body.name()) for v in loaded[fold]]
            body.lines.extend([""] * len(loaded[fold]))
        results = self.elements.elements(Place(code, index), rows, state)
        following = body.op(f"add nuw nsw i64 {index}, {width}")
        again = body.op(f"icmp slt i64 {following}, {stop}")
        body.lines[at] = (
            f"  {index} = phi i64 [ {start}, %{entry} ], [ {following}, %{body.block} ]"
        )
        for fold in kept:
            for old, held, new in zip(loaded[fold], state[fold], results[fold]):
                at += 1
                body.lines[at] = (
                    f"  {held.name} = phi {wide[fold].type(old.dtype)} "
                    f"[ {old.name}, %{entry} ], [ {new.name}, %{body.block} ]"
                )
        body.branch(again, loop, leave)
        body.label(leave)
        for fold in kept:
            fold.store(wide[fold], results[fold])
        body.jump(after)
        body.label(after)

    def _tail(self, rows: list[Row], start: str, stop: str) -> None:
        """The last elements of a row, by masked vectors."""
        body, width = self.body, self.analysis.tail
        code = self.elements.code(width)
        before = body.block
        loop, after = body.name("tail"), body.name("tail")
        body.jump(loop)
        body.label(loop)
        index = "%" + body.name()
        at = len(body.lines)
        body.lines.append("")
        left = body.op(f"sub i64 {stop}, {index}")
        numbers = ", ".join(f"i64 {lane}" for lane in range(width))
        lanes = code.broadcast(Value("i8", left))
        mask = code.icmp("slt", Value("i8", f"<{numbers}>"), lanes)
        indices = [index]
        for lane in range(1, width):
            real = body.op(f"icmp slt i64 {lane}, {left}")
            offset = body.op(f"select i1 {real}, i64 {lane}, i64 0")
            indices.append(body.op(f"add i64 {index}, {offset}"))
        self.elements.elements(Place(code, index, mask, indices), rows, {})
        following = body.op(f"add nsw i64 {index}, {width}")
        body.lines[at] = (
            f"  {index} = phi i64 [ {start}, %{before} ], [ {following}, %{body.block} ]"
        )
        body.branch(body.op(f"icmp slt i64 {following}, {stop}"), loop, after)
        body.label(after)
