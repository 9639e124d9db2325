"""Positions of extremes along a row: ``argmin`` and ``argmax`` as the only operation.

Tracking a position with every element would double the work, and need many times the registers for small dtypes. So
the search reads a row in *pieces* of whole vectors:

1. It computes the extreme element of each piece, as ``minimum`` and ``maximum`` do, and notes it with the start of its
   piece if it is better than those before.
2. At the end of the row it *finds* the first element of the best piece that equals the extreme, unless that cannot
   change a result that other rows share. Its position becomes the result.

Positions rise along a row, so the first of equal elements is the result. Reading an element twice does no harm: the last
vector of a row overlaps the one before it. Rows shorter than a vector are done one element after the other. Several rows
of some length are read in turns (:mod:`.rows` says why).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

from ..spec import STEPS
from .arithmetic import is_nan, may_exceed
from .body import Body, Row
from .builder import Value, carried
from .fold import Fold
from .function import Head
from .memory import Place
from .types import KIND

_EXTREMES = {"argmin": "minimum", "argmax": "maximum"}
RowOf = Callable[[str], Row]
Strands = Callable[[str], dict[int, Fold]]


class Seek:
    """Writes the search along rows. ``fresh`` tells whether nothing is known when a row begins."""

    def __init__(self, elements: Body, width: int, fresh: bool) -> None:
        self.elements = elements
        self.body = elements.function
        self.folds = folds = elements.folds
        self.width = width
        self.fresh = fresh
        self.extremes = copy(elements)
        self.extremes.folds = {
            number: Fold(fold.reduction._replace(op=_EXTREMES[fold.op]), width, silent=fold.silent)
            for number, fold in folds.items()
        }
        """The same body with folds of the extremes instead of their positions."""

    def row(self, row: Row, count: str) -> None:
        """Seek among the ``count`` elements of a row, which has at least one."""
        body = self.body

        def strands(way: str) -> dict[int, Fold]:
            return {number: fold.strand(body, way) for number, fold in self.folds.items()}

        if self.width == 1:
            self._singly(row, count)
            return
        size = 2 * STEPS * self.width
        body.choose(
            body.op(f"icmp sge i64 {count}, {self.width}"),
            lambda: self.rows(lambda way: row, "1", count, size, strands, lambda way: self.folds),
            lambda: self._singly(row, count),
        )

    def _singly(self, row: Row, count: str) -> None:
        """One element after the other."""
        code, folds = self.elements.code(), self.folds
        begin = [(code, value) for fold in folds.values() for value in fold.load(code)]

        def turn(index: str, values: list[Value]) -> list[Value]:
            best = iter(values)
            inputs = self.elements.scanned(Place(code, index), row)
            return [
                value
                for number, fold in folds.items()
                for value in fold.combine(code, [next(best), next(best)], inputs[number])
            ]

        ends = iter(carried(self.body, "single", "0", count, 1, begin, turn))
        for fold in folds.values():
            fold.store(code, [next(ends), next(ends)])

    def rows(
        self, row_of: RowOf, ways: str, count: str, size: int, strands: Strands, results: Strands
    ) -> None:
        """The ``count`` elements of each of ``ways`` rows, in turns, by pieces of ``size``: at least a vector of each.

        A strand holds the extreme so far, and the start of its piece. The first one is joined to the ``results`` at the end.
        """
        body = self.body
        single, wide = self.elements.code(), self.elements.code(self.width)

        def begin(way: str) -> None:
            for fold in strands(way).values():
                fold.store(single, [fold.identity(single)[0], single.const("i8", 0)])

        def piece(start: str, stop: str) -> None:
            def stream(way: str) -> None:
                row = row_of(way)
                for number, lanes in self._extremes(row, start, stop).items():
                    fold = strands(way)[number]
                    best, at = fold.load(single)
                    some = wide.any(may_exceed(wide, fold.op, wide.broadcast(best), lanes))
                    with body.when(some, "take"):
                        extreme = self.extremes.folds[number].across(wide, [lanes])[0]
                        kept = is_nan(single, best)
                        where = single.select(kept, at, Value("i8", start))
                        fold.store(single, [single.select(kept, best, extreme), where])

            body.loop("stream", "0", ways, stream)

        def end(way: str) -> None:
            row = row_of(way)
            for number, strand in strands(way).items():
                best, at = strand.load(single)
                result = results(way)[number]
                if self.fresh:
                    result.begin(single)
                    self._find(row, at.name, number, best, result)
                    continue
                old = result.load(single)
                first = self.elements.scanned(Place(single, at.name), row)[number][1]
                joined = result.combine(single, old, [best, first])
                with body.when(single.icmp("eq", joined[1], first).name, "find"):
                    self._find(row, at.name, number, best, result)

        body.loop("begin", "0", ways, begin)
        self._pieces(count, size, piece)
        body.loop("end", "0", ways, end)

    def _pieces(self, count: str, size: int, inside: Callable[[str, str], None]) -> None:
        """``inside(start, stop)`` for pieces of whole vectors, the last of which may overlap the one before."""
        body = self.body
        main = body.op(f"and i64 {count}, {-self.width}")
        last = body.op(f"sub i64 {count}, {self.width}")

        def piece(start: str) -> tuple[str]:
            within = body.op(f"icmp slt i64 {start}, {main}")
            stop = body.smaller(body.op(f"add i64 {start}, {size}"), main)
            stop = body.op(f"select i1 {within}, i64 {stop}, i64 {count}")
            inside(body.op(f"select i1 {within}, i64 {start}, i64 {last}"), stop)
            return (stop,)

        body.advance("piece", "0", count, piece)

    def _extremes(self, row: Row, start: str, stop: str) -> dict[int, Value]:
        """The extreme of each lane of whole vectors, for each fold."""
        code = self.elements.code(self.width)
        begin = {fold: fold.identity(code) for fold in self.extremes.folds.values()}
        ends = self.extremes.vectors([row], start, stop, self.width, begin)
        return {number: ends[fold][0] for number, fold in self.extremes.folds.items()}

    def _find(self, row: Row, start: str, number: int, extreme: Value, result: Fold) -> None:
        """Join the first element from ``start`` on that is the extreme; there is one in the piece. NaN elements always match,
        since a NaN is the extreme."""
        body, code, single = self.body, self.elements.code(self.width), self.elements.code()
        lanes = code.broadcast(extreme)
        hit, miss = body.name("hit"), body.name("miss")
        loop = Head(body, "find", ("i64", start))
        new = self.elements.scanned(Place(code, loop.index), row)[number][0]
        if KIND[new.dtype] == "f":
            matches = code.op("or", code.fcmp("oeq", new, lanes), is_nan(code, new))
        else:
            matches = code.icmp("eq", new, lanes)
        body.branch(code.any(matches), hit, miss)
        body.label(miss)
        loop.carry(body.op(f"add i64 {loop.index}, {self.width}"))
        body.jump(loop.label)
        body.label(hit)
        index = body.op(f"add i64 {loop.index}, {code.first(matches)}")
        inputs = self.elements.scanned(Place(single, index), row)[number]
        result.store(single, result.combine(single, result.load(single), inputs))
