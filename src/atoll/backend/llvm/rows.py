"""Rows: vectors, blocks of a sum, the remainder, and several rows at once.

A row is done by vectors of ``width`` elements, and the rest by short masked ones with the same
instructions. Where sums are rounded, a row is cut into *blocks*, after each of which the
accumulators are pushed (:mod:`.fold`). A vector is never wider than the accumulators of such a sum, so where
its blocks end depends on the length of the row only.
Short rows have vectors of powers of two of elements instead, since masks would take longer; where a kernel is made for one extent,
it needs no tests of which.

Memory that is read from one end to the other comes more slowly than it might: a processor fetches ahead,
but not far, and begins anew with every page. It follows several such *streams* at once. So small
bodies that only fold read :data:`STREAMS` of them in turns, some 16 vectors from each at a visit:

* rows of which each has a result of its own, *side by side* (:meth:`Rows.abreast`);
* the quarters of a long row (:meth:`Rows._quarters`).

Each stream has a *strand*, accumulators of its own. A quarter is a power of two of blocks, so the
pairwise sum of the row equals that of the quarters' sums: the number of streams does not affect
the result.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import reduce

from ..spec import QUARTER, STEPS, STREAMS
from .body import Body, Row
from .builder import Code
from .extreme_positions import Seek, Strands
from .fold import Fold
from .memory import Place
from .schedule import Schedule


class Rows:
    """Writes the loops along rows."""

    def __init__(self, elements: Body, schedule: Schedule) -> None:
        self.elements = elements
        self.folds = elements.folds
        self.function = elements.function
        self.schedule = schedule
        self.width = schedule.width
        self.ordered = ""
        """Name of an ``i1`` that demands elements one by one, if operands may overlap."""

    def row(self, rows: list[Row], count: str) -> None:
        """The ``count`` elements of a row, or of several rows at once."""
        function = self.function
        if self.schedule.spec.row > 0:
            self._fixed(rows)
            return
        with function.when(function.op(f"icmp sgt i64 {count}, 0"), "row"):
            for row in rows:
                self.elements.begin_row(row)
            if self.ordered and self.width > 1:
                function.choose(
                    self.ordered,
                    lambda: self._vectors(rows, count, 1),
                    lambda: self._vectors(rows, count, self.width),
                )
            else:
                self._vectors(rows, count, self.width)

    def _fixed(self, rows: list[Row]) -> None:
        """Rows of the extent that the kernel is made for: a few vectors of powers of two of elements, without a loop or a mask."""
        extent = self.schedule.spec.row

        def vectors(width: int) -> None:
            start = 0
            while start < extent:
                width = min(width, 1 << (extent - start).bit_length() - 1)
                self.elements.elements(Place(self.elements.code(width), str(start)), rows, {})
                start += width

        for row in rows:
            self.elements.begin_row(row)
        if self.ordered and self.width > 1:
            self.function.choose(self.ordered, lambda: vectors(1), lambda: vectors(self.width))
        else:
            vectors(self.width)

    def _vectors(self, rows: list[Row], count: str, width: int) -> None:
        """A row by vectors of ``width`` elements, and the rest of it by masked ones."""
        function = self.function
        if self.schedule.seeks:
            self._seek(width).row(rows[0], count)
            return
        if self.schedule.settles:
            count = function.op(f"select i1 {self.settled()}, i64 0, i64 {count}")
        start, main = "0", count
        if width > 1 and rows[0].before != "0":
            start, main = self._head(rows, count, width)
        elif width > 1:
            main = function.op(f"and i64 {count}, {-width}")
        if self.schedule.quarters:
            start = self._quarters(rows[0], main)
        if self._blocked():
            self._blocks(rows, start, main, width)
        elif self.schedule.settles:
            self._until_settled(rows, main, width)
        else:
            self._stretch(rows, start, main, width)
        if self.schedule.spec.row:
            self._halves(rows, main, count, width)
        elif width > 1:
            with function.when(function.op(f"icmp slt i64 {main}, {count}"), "rest"):
                self._rest(rows, main, count)
        if rows[0].before == "0":
            self._end_row(count)

    def _halves(self, rows: list[Row], start: str, stop: str, width: int) -> None:
        """The remaining elements of a short row, fewer than ``width``: by vectors of half of it, of a quarter, and so on."""
        function = self.function
        while width > 1:
            width //= 2
            some = function.op(f"and i64 {stop}, {width}")
            with function.when(function.op(f"icmp ne i64 {some}, 0"), "half"):
                self.elements.elements(Place(self.elements.code(width), start), rows, {})
            start = function.op(f"add i64 {start}, {some}")

    def _head(self, rows: list[Row], count: str, width: int) -> tuple[str, str]:
        """Fold the first elements of a row that continues the order of an earlier one, up to a whole vector of accumulators. The
        result has the start and end of the whole vectors."""
        function = self.function
        missing = function.op(f"sub i64 0, {rows[0].before}")
        head = function.smaller(function.op(f"and i64 {missing}, {width - 1}"), count)
        with function.when(function.op(f"icmp sgt i64 {head}, 0"), "head"):
            self._rest(rows, "0", head)
            self._advance(rows[0], "0", head)
        whole = function.op(f"and i64 {function.op(f'sub i64 {count}, {head}')}, {-width}")
        return head, function.op(f"add i64 {head}, {whole}")

    def _seek(self, width: int) -> Seek:
        return Seek(self.elements, width, self.schedule.fresh)

    def _blocked(self) -> list[Fold]:
        return [fold for fold in self.folds.values() if fold.blocked]

    def _blocks(self, rows: list[Row], first: str, main: str, width: int) -> None:
        """Stretches that end where the accumulators of some sum have taken ``STEPS`` additions each."""
        function, blocked = self.function, self._blocked()

        def block(start: str) -> tuple[str]:
            stop = main
            for fold in blocked:
                left = function.op(f"sub i64 {STEPS}, {function.op(f'load i64, ptr {fold.steps}')}")
                number = function.op(f"add i64 {start}, {rows[0].before}")
                over = function.op(f"and i64 {number}, {fold.lanes - 1}")
                room = function.op(
                    f"sub i64 {function.op(f'mul i64 {left}, {fold.lanes}')}, {over}"
                )
                stop = function.smaller(function.op(f"add i64 {start}, {room}"), stop)
            self._stretch(rows, start, stop, width)
            self._advance(rows[0], start, stop)
            return (stop,)

        function.advance("block", first, main, block)

    def _advance(self, row: Row, start: str, stop: str) -> None:
        """Count the additions that all accumulators have taken between two places of a row."""
        function = self.function
        first, last = (function.op(f"add i64 {place}, {row.before}") for place in (start, stop))
        for fold in self._blocked():
            shift = fold.lanes.bit_length() - 1
            begun, done = (function.op(f"lshr i64 {place}, {shift}") for place in (first, last))
            fold.advance(self.elements.code(), function.op(f"sub i64 {done}, {begun}"))

    def _end_row(self, count: str) -> None:
        """Count an addition if the last elements of a row fill only some of the accumulators."""
        function = self.function
        for fold in self._blocked():
            left = function.op(f"and i64 {count}, {fold.lanes - 1}")
            some = function.op(f"zext i1 {function.op(f'icmp ne i64 {left}, 0')} to i64")
            fold.advance(self.elements.code(), some)

    # several streams

    def _folding(self, folds: dict[int, Fold]) -> Rows:
        """The same into other accumulators."""
        other = copy(self)
        other.elements = copy(self.elements)
        other.folds = other.elements.folds = folds
        return other

    def visit(self) -> int:
        """Number of elements read from a stream before the turn of the next one."""
        blocked = self._blocked()
        return STEPS * max(self.width, min([fold.lanes for fold in blocked], default=0))

    def abreast(
        self, row_of: Callable[[str], Row], ways: str, count: str, strands: Strands
    ) -> None:
        """The ``count`` elements of each of ``ways`` rows, in turns.

        ``row_of`` begins the row of a stream and ``strands`` its folds, which have begun.
        """
        if self.schedule.seeks:
            results = strands if self.schedule.fresh else lambda way: self.folds
            self._seek(self.width).rows(row_of, ways, count, self.visit(), strands, results)
            return
        function = self.function
        main = function.op(f"and i64 {count}, {-self.width}")

        def visit(start: str) -> None:
            stop = function.smaller(function.op(f"add i64 {start}, {self.visit()}"), main)

            def stream(way: str) -> None:
                strand, row = begin(way)
                strand._stretch([row], start, stop, self.width)
                strand._advance(row, start, stop)

            function.loop("stream", "0", ways, stream)

        def begin(way: str) -> tuple[Rows, Row]:
            return self._folding(strands(way)), row_of(way)

        def end(way: str) -> None:
            strand, row = begin(way)
            strand._rest([row], main, count)

        function.loop("visit", "0", main, visit, self.visit())
        with function.when(function.op(f"icmp slt i64 {main}, {count}"), "rests"):
            function.loop("end", "0", ways, end)

    def _quarters(self, row: Row, main: str) -> str:
        """As much of a row as makes whole quarters, four at a time; where the rest begins.

        That needs sums that nothing has been added to since the last block, and as many blocks
        as four quarters have, or a multiple of that.
        """
        function, code = self.function, self.elements.code()
        blocked = {number: fold for number, fold in self.folds.items() if fold.blocked}
        blocks = all(
            fold.lanes == self.width and fold.lanes * STEPS == self.visit()
            for fold in blocked.values()
        )
        four = STREAMS * QUARTER
        whole = function.op(f"and i64 {main}, {-four}")
        for fold in blocked.values():
            aligned = fold.aligned(function, four // (STEPS * fold.lanes))
            whole = function.op(f"select i1 {aligned}, i64 {whole}, i64 0")

        def strands(way: str) -> dict[int, Fold]:
            return {
                number: fold.strand(function, way) if fold.blocked else fold
                for number, fold in self.folds.items()
            }

        def quarters(begin: str) -> None:
            def fresh(way: str) -> None:
                for number in blocked:
                    strands(way)[number].begin(code)

            function.loop("fresh", "0", str(STREAMS), fresh)

            def visit(offset: str) -> None:
                first = function.op(f"add i64 {begin}, {offset}")

                def stream(way: str) -> None:
                    strand = self._folding(strands(way))
                    shift = function.op(f"mul i64 {way}, {QUARTER}")
                    start = function.op(f"add i64 {first}, {shift}")
                    stop = function.op(f"add i64 {start}, {self.visit()}")
                    strand._stretch([row], start, stop, self.width, blocks)
                    if not blocks:
                        strand._advance(row, start, stop)

                function.loop("stream", "0", str(STREAMS), stream)

            function.loop("visit", "0", str(QUARTER), visit, self.visit())
            for fold in blocked.values():
                fold.join(code, STREAMS, QUARTER // (STEPS * fold.lanes))

        function.loop("quarters", "0", whole, quarters, four)
        return whole

    # folds that one element decides

    def settled(self) -> str:
        """An ``i1``, true if no further element can change any result."""
        settled = [fold.settled(self.elements.code()) for fold in self.folds.values()]
        return reduce(lambda a, b: self.function.op(f"and i1 {a}, {b}"), settled)

    def _until_settled(self, rows: list[Row], main: str, width: int) -> None:
        """A row by stretches, each followed by a test for an early end."""
        function = self.function

        def settling(start: str) -> tuple[str]:
            stop = function.smaller(function.op(f"add i64 {start}, {STEPS * width}"), main)
            self._stretch(rows, start, stop, width)
            return (function.op(f"select i1 {self.settled()}, i64 {main}, i64 {stop}"),)

        function.advance("settling", "0", main, settling)

    def _stretch(
        self, rows: list[Row], start: str, stop: str, width: int, block: bool = False
    ) -> None:
        """Elements ``start`` to ``stop``, a multiple of ``width`` of them, by whole vectors.

        Accumulators that a vector fills stay in registers; others are small and stay in the
        first-level cache, each touched once in ``lanes`` elements. Where the stretch is one ``block``, sums are
        pushed from registers, without the way through their memory.
        """
        function = self.function
        kept = [fold for fold in self.folds.values() if width % fold.lanes == 0]
        with function.when(function.op(f"icmp slt i64 {start}, {stop}"), "vectors"):
            wide = {fold: Code(function, fold.lanes) for fold in kept}
            pushed = [fold for fold in kept if block and fold.blocked]
            begin = {
                fold: fold.identity(wide[fold]) if fold in pushed else fold.load(wide[fold])
                for fold in kept
            }
            for fold, values in self.elements.vectors(rows, start, stop, width, begin).items():
                if fold in pushed:
                    fold.push(function, values)
                else:
                    fold.store(wide[fold], values)

    def _rest(self, rows: list[Row], start: str, stop: str) -> None:
        """The remaining elements of a row, fewer than a vector."""
        if self.schedule.tail == 1:
            self._stretch(rows, start, stop, 1)
        else:
            self.elements.vectors(rows, start, stop, self.schedule.tail, {}, last=True)
