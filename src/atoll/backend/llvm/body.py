"""The body of a kernel: its instructions for one run of elements of a row."""

from __future__ import annotations

from dataclasses import dataclass, field

from ... import policy
from ..spec import STREAMS, Instruction, KernelSpec, Operand, whole
from .builder import Code, Value, carried
from .fold import Fold, with_nans
from .function import Function
from .kernel import Layout
from .memory import Access, Place
from .schedule import ELEMENT, NEST, ROW, Schedule
from .types import VALUE_TYPE
from .ufuncs import perform


@dataclass(slots=True)
class Row:
    """A row: its operands, the indices of the outer axes, the index of its first element, the number of elements that its
    folds took before it, and the values that are constant along it."""

    accesses: list[Access]
    indices: list[str]
    first: str
    before: str = "0"
    values: dict[int, Value] = field(default_factory=dict)


class Body:
    """Writes the instructions of ``spec`` into ``function``.

    ``folds`` are the reductions with accumulators of their own; others are folded into their
    operands element by element.
    """

    def __init__(
        self,
        spec: KernelSpec,
        function: Function,
        soft_flags: str,
        schedule: Schedule,
        folds: dict[int, Fold],
    ) -> None:
        self.spec = spec
        self.function = function
        self.folds = folds
        self._soft_flags = soft_flags
        self._schedule = schedule
        self._layout = Layout.of(spec)
        self._origins: list[str] = []
        self._constants: dict[int, Value] = {}
        numbers = [n for n in schedule.members[NEST] if spec.body[n].op == "scalar"]
        self._reloaded = frozenset(
            numbers if STREAMS * len(numbers) > policy.limits.registers else ()
        )
        """Scalars in excess of the registers: each is read from the block at its use."""

    def code(self, width: int = 1) -> Code:
        """Code of some width in the function."""
        return Code(self.function, width, self._soft_flags)

    def begin(self) -> None:
        """Compute the values that are constant in the nest."""
        layout, axes, function = self._layout, range(self.spec.ndim), self.function
        if any(instruction.op == "index" for instruction in self.spec.body):
            self._origins = [function.word(layout.origins + axis) for axis in axes]
        nothing = Row([], [], "")
        self._emit(NEST, Place(self.code(), ""), nothing, self._constants)

    def begin_row(self, row: Row) -> None:
        """Compute the values that are constant along a row."""
        row.values |= self._constants
        self._emit(ROW, Place(self.code(), "0"), row, row.values)

    # elements

    def by_lane(self, row: Row, code: Code) -> bool:
        """True if some lanes of a vector at the end of a row are read, written, or numbered one by one."""
        return any(instruction.op == "index" for instruction in self.spec.body) or any(
            not access.masked(code) for access in row.accesses if access.operand.inner != "zero"
        )

    def vectors(
        self,
        rows: list[Row],
        start: str,
        stop: str,
        width: int,
        begin: dict[Fold, list[Value]],
        last: bool = False,
    ) -> dict[Fold, list[Value]]:
        """The body on elements ``start`` to ``stop`` of every one of ``rows``, ``width`` at a time; there is at least one.

        ``begin`` holds the accumulators in registers; the result is their values at the end. The ``last`` elements of a
        row are done by masked vectors, whose width divides that of the others.
        """
        function, code, half = self.function, self.code(width), Code(self.function, width // 2)
        listed = last and self.by_lane(rows[0], code)
        apart = {fold: half.nowhere(fold.dtype) for fold in begin if fold.quick and len(rows) == 1}
        """Masks of the NaNs seen, for folds of extremes that are quicker without NaNs."""
        kept: list[tuple[Code, Value]] = []
        for fold, values in begin.items():
            kept += [(Code(function, fold.lanes), value) for value in values]
            kept += [(half, apart[fold])] if fold in apart else []

        def turn(index: str, values: list[Value]) -> list[Value]:
            place = Place.of_last(code, index, stop, listed) if last else Place(code, index)
            left = iter(values)
            state = {
                fold: [next(left) for _ in range(len(some) + (fold in apart))]
                for fold, some in begin.items()
            }
            results = self.elements(place, rows, state)
            return [value for fold in begin for value in results[fold]]

        hint = "tail" if last else "vector"
        ends, results = iter(carried(function, hint, start, stop, width, kept, turn)), {}
        for fold, some in begin.items():
            results[fold] = [next(ends) for _ in some]
            if fold in apart:
                (best,) = results[fold]
                results[fold] = [with_nans(Code(function, fold.lanes), best, next(ends), width)]
        return results

    def elements(
        self, place: Place, rows: list[Row], state: dict[Fold, list[Value]]
    ) -> dict[Fold, list[Value]]:
        """The body on the elements of ``place`` in every one of ``rows``, reductions included.

        ``state`` holds the accumulators that are in registers; the result is their new values.
        """
        sums: dict[int, list[Value]] = {}
        for row in rows:
            values: dict[int, Value] = {}
            if self._schedule.guard >= 0:
                self._compute_all(self._schedule.decides, place, row, values)
                self._where_wanted(place, row, values)
                others = [n for n in self._schedule.others if n not in values]
                self._compute_all(others, place, row, values)
            else:
                self._emit(ELEMENT, place, row, values)
            for number in range(len(self.spec.reductions)):
                if number in self.folds:
                    fold = self.folds[number]
                    new = self._folded(place, row, values, number, fold)
                    if fold in state and len(state[fold]) > len(fold.parts):
                        best, nans = state[fold]
                        quick = fold.add_quickly(place.code, best, nans, new[0])
                        state = state | {fold: list(quick)}
                    elif fold in state:
                        state = state | {fold: fold.add_pieces(place.code, state[fold], new)}
                    else:
                        index = self.function.op(f"add i64 {place.index}, {row.before}")
                        fold.add_in_memory(place.code, index, new, place.mask)
                else:
                    self._fold_in_memory(place, row, values, number, sums)
        for number, parts in sums.items():
            fold = Fold(self.spec.reductions[number], place.code.width)
            for slot, result in zip(self.slots(number), fold.result(place.code, parts)):
                rows[-1].accesses[slot].store(place, result)
        return state

    def _where_wanted(self, place: Place, row: Row, values: dict[int, Value]) -> None:
        """Compute the values stored under a mask, and skip vectors without a wanted element.

        Unwanted elements must raise no flags. So if some elements of a vector are wanted, one of them
        replaces the unwanted ones in all values that are loaded, or were kept before their memory was overwritten.
        """
        schedule, code, function = self._schedule, place.code, self.function
        wanted = mask = self._value(place, row, values, schedule.guard)
        if place.mask is not None:
            wanted = code.op("and", mask, place.mask)
        rest = [n for n in schedule.guarded if n not in values]

        def every(masked: bool = True) -> None:
            self._compute_all(rest, place, row, dict(values), masked)

        def mixed() -> None:
            lane = code.first(wanted)
            spare = function.op(f"add i64 {place.index}, {lane}")
            careful = Place(code, place.index, place.mask, place.indices, wanted, spare)
            known = {schedule.guard: mask}
            for n in schedule.kept:
                known[n] = code.select(
                    wanted, values[n], code.broadcast(code.lane(values[n], lane))
                )
            left = [n for n in schedule.guarded if n not in known]
            self._compute_all(left, careful, row, known)

        with function.when(code.any(wanted), "wanted"):
            if code.width == 1 or schedule.harmless:
                every()
            elif schedule.twice and place.mask is None:
                function.choose(code.all(wanted), lambda: every(masked=False), mixed)
            else:
                mixed()

    def scanned(self, place: Place, row: Row) -> dict[int, list[Value]]:
        """The input of each fold, for a body without other work; positions of more than one
        lane are computed only if they are used."""
        values: dict[int, Value] = {}
        self._emit(ELEMENT, place, row, values)
        return {
            number: self._folded(place, row, values, number, fold)
            for number, fold in self.folds.items()
        }

    def _folded(
        self, place: Place, row: Row, values: dict[int, Value], number: int, fold: Fold
    ) -> list[Value]:
        """The input of reduction ``number``."""
        reduction = self.spec.reductions[number]
        numbers = [self._schedule.counts[number] if fold.counts else reduction.value]
        numbers += [reduction.position] * (reduction.position >= 0)
        return fold.prepare(place.code, *[self._value(place, row, values, n) for n in numbers])

    def slots(self, number: int) -> list[int]:
        """The operands that a partial reduction folds into: its value, and its position."""
        reduction = self.spec.reductions[number]
        return [reduction.operand] + [reduction.operand + 1] * (reduction.position >= 0)

    def _fold_in_memory(
        self,
        place: Place,
        row: Row,
        values: dict[int, Value],
        number: int,
        sums: dict[int, list[Value]],
    ) -> None:
        """One step of a reduction whose results lie along the row; ``sums`` holds them so far."""
        code = place.code
        fold = Fold(self.spec.reductions[number], code.width)
        if number not in sums:
            old = [row.accesses[slot].load(place) for slot in self.slots(number)]
            sums[number] = fold.prepare(code, *old)
        new = self._folded(place, row, values, number, fold)
        sums[number] = fold.combine(code, sums[number], new)

    # instructions

    def _value(self, place: Place, row: Row, values: dict[int, Value], number: int) -> Value:
        """Value ``number`` in the lanes of ``place``."""
        if number not in values:
            if number in self._reloaded:
                value = self._scalar(whole(self.spec.body[number].args[0]))
            else:
                value = row.values[number]
            values[number] = place.code.broadcast(value)
        return values[number]

    def _emit(self, level: int, place: Place, row: Row, values: dict[int, Value]) -> None:
        """Compute the instructions of ``level`` into ``values``."""
        numbers = [n for n in self._schedule.members[level] if n not in self._reloaded]
        self._compute_all(numbers, place, row, values)

    def _compute_all(
        self,
        numbers: list[int],
        place: Place,
        row: Row,
        values: dict[int, Value],
        masked: bool = True,
    ) -> None:
        """Compute these instructions into ``values``; stores without their masks if asked."""
        for number in numbers:
            instruction = self.spec.body[number]
            if instruction.op == "store":
                value, *mask = [
                    self._value(place, row, values, whole(a))
                    for a in instruction.args[1 : 3 if masked else 2]
                ]
                access = row.accesses[whole(instruction.args[0])]
                access.store(place, value, mask[0] if mask else None)
            else:
                values[number] = self._compute(place, row, values, instruction)

    def _compute(
        self, place: Place, row: Row, values: dict[int, Value], instruction: Instruction
    ) -> Value:
        op = instruction.op
        if op == "const":
            return place.code.const(instruction.dtype, instruction.args[0])
        if op == "scalar":
            return self._scalar(whole(instruction.args[0]))
        if op == "load":
            return row.accesses[whole(instruction.args[0])].load(place)
        if op == "index":
            index = self._index(place, row, whole(instruction.args[0]))
            if place.wanted is None or instruction.args[0] != self.spec.ndim - 1:
                return index
            spare = self._index(Place(self.code(), place.spare), row, whole(instruction.args[0]))
            return place.code.select(place.wanted, index, place.code.broadcast(spare))
        arguments = [self._value(place, row, values, whole(a)) for a in instruction.args]
        return perform(place.code, instruction, arguments)

    def _scalar(self, slot: int) -> Value:
        word = self._layout.scalars + 2 * slot
        address = self.function.op(f"getelementptr i64, ptr %block, i64 {word}")
        return Access(Operand(self.spec.scalars[slot]), address, "0").load_one(self.code(), address)

    def _index(self, place: Place, row: Row, axis: int) -> Value:
        function, code = self.function, place.code

        def at(index: str) -> str:
            return function.op(f"add i64 {self._origins[axis]}, {index}")

        if axis != self.spec.ndim - 1:
            return Value("i8", at(row.indices[axis]))
        if place.indices:
            names = [at(function.op(f"add i64 {row.first}, {index}")) for index in place.indices]
            return Value("i8", code.join(VALUE_TYPE["i8"], names, 1))
        start = at(function.op(f"add i64 {row.first}, {place.index}"))
        if code.width == 1:
            return Value("i8", start)
        lanes = Value("i8", code.lane_numbers())
        return code.op("add", Value("i8", code.broadcast_name("i64", start)), lanes)
