"""Positions of extremes along a row: ``argmin`` and ``argmax`` as the only operation.

Tracking a position with every element would double the work, and need many times the registers for small dtypes. So
the search computes positions only where it needs them. It reads a row in stretches that fit the first-level cache:

1. **look**: can any element of the stretch improve the result? This takes one comparison per element. The first
   stretch of a new row skips this step.
2. **extreme**: if so, compute the extreme element of the stretch, as ``minimum`` and ``maximum`` do.
3. **locate**: find the first element of the stretch that equals it. Its position becomes the result.

In random data few stretches pass the first step. In sorted data all do, and are read three times, twice from the
cache. Positions rise along a row, so the first of equal elements is the result. Reading an element twice does no harm:
the last vector of a row overlaps the one before it, and only rows shorter than a vector use masks.

Several rows of some length are read in turns (:mod:`.rows` says why). They skip the first step: the search computes
the extreme of each piece, and at the end of the row locates the best one in its piece, unless another row is better.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

from ... import policy
from ..spec import STEPS
from .arithmetic import is_nan, may_equal, may_exceed
from .body import Body, Row
from .builder import Code, Value, carried
from .fold import Fold
from .function import Head
from .memory import Place
from .types import KIND, itemsize

_EXTREMES = {"argmin": "minimum", "argmax": "maximum"}
RowOf = Callable[[str], Row]
Strands = Callable[[str], dict[int, Fold]]


class Seek:
    """Writes the search along a row. ``fresh`` tells whether nothing is known when a row begins."""

    def __init__(self, elements: Body, width: int, tail: int, fresh: bool) -> None:
        self.elements = elements
        self.body = elements.function
        self.folds = folds = elements.folds
        self.width = width
        self.tail = tail
        self.fresh = fresh
        self.extremes = copy(elements)
        self.extremes.folds = {
            number: Fold(fold.reduction._replace(op=_EXTREMES[fold.op]), width, silent=fold.silent)
            for number, fold in folds.items()
        }
        """The same body with folds of the extremes instead of their positions."""
        largest = max(itemsize(fold.parts[0]) for fold in folds.values())
        self.stretch = max(width, policy.limits.stretch // largest)

    def row(self, row: Row, count: str) -> None:
        """Seek among the ``count`` elements of a row, which has at least one."""
        body = self.body
        if self.width == 1:
            self._stretches(row, count)
            return

        def short() -> None:
            steps = body.op(f"add i64 {count}, {self.tail - 1}")
            steps = body.op(f"sdiv i64 {steps}, {self.tail}")
            body.loop("few", "0", steps, lambda number: self._few(row, number, count))

        wide = body.op(f"icmp sge i64 {count}, {self.width}")
        body.choose(wide, lambda: self._stretches(row, count), short)

    def _stretches(self, row: Row, count: str) -> None:
        """One stretch after the other."""
        body = self.body

        def stretch(number: str, start: str, stop: str) -> None:
            locate, after = body.name("locate"), body.name("located")
            if self.fresh:
                look = body.name("look")
                body.branch(body.op(f"icmp eq i64 {number}, 0"), locate, look)
                body.label(look)
                matters = self._look(row, start, stop, may_exceed)
            else:
                matters = self._may_matter(row, start, stop)
            body.branch(matters, locate, after)
            body.label(locate)
            code = self.elements.code(self.width)
            for which, lanes in self._extremes(row, start, stop).items():
                extreme = self._extreme(code, which, lanes)
                self._find(row, start, stop, which, extreme, self.folds[which])
            body.jump(after)
            body.label(after)

        self._pieces(count, self.stretch, stretch)

    def _pieces(self, count: str, size: int, inside: Callable[[str, str, str], None]) -> None:
        """``inside(number, start, stop)`` for pieces of whole vectors, the last of which may overlap
        the one before."""
        body = self.body
        main = body.op(f"and i64 {count}, {-self.width}")
        whole = body.op(f"sdiv i64 {body.op(f'add i64 {main}, {size - 1}')}, {size}")
        rest = body.op(f"zext i1 {body.op(f'icmp slt i64 {main}, {count}')} to i64")
        last = body.op(f"sub i64 {count}, {self.width}")

        def piece(number: str) -> None:
            begin = body.op(f"mul i64 {number}, {size}")
            within = body.op(f"icmp slt i64 {begin}, {main}")
            end = body.smaller(body.op(f"add i64 {begin}, {size}"), main)
            start = body.op(f"select i1 {within}, i64 {begin}, i64 {last}")
            inside(number, start, body.op(f"select i1 {within}, i64 {end}, i64 {count}"))

        body.loop("piece", "0", body.op(f"add i64 {whole}, {rest}"), piece)

    # several rows in turns

    def abreast(self, row_of: RowOf, ways: str, count: str, strands: Strands) -> None:
        """The ``count`` elements of each of ``ways`` rows, in turns: at least a vector of each.

        A strand holds the extreme so far, and the start of its piece. If other rows share the results,
        they are combined with the strand at the end, unless it cannot change them.
        """
        body, size = self.body, STEPS * self.width
        single, wide = self.elements.code(), self.elements.code(self.width)

        def begin(way: str) -> None:
            for fold in strands(way).values():
                fold.store(single, [fold.identity(single)[0], single.const("i8", 0)])

        def piece(_: str, start: str, stop: str) -> None:
            def stream(way: str) -> None:
                row = row_of(way)
                self.elements.begin_row(row)
                extremes = self._extremes(row, start, stop)
                for number, fold in strands(way).items():
                    best, at = fold.load(single)
                    lanes = extremes[number]
                    some = wide.any(may_exceed(wide, fold.op, wide.broadcast(best), lanes))
                    with body.when(some, "take"):
                        extreme = self._extreme(wide, number, lanes)
                        kept = is_nan(single, best)
                        where = single.select(kept, at, Value("i8", start))
                        fold.store(single, [single.select(kept, best, extreme), where])

            body.loop("stream", "0", ways, stream)

        def end(way: str) -> None:
            row = row_of(way)
            self.elements.begin_row(row)
            for number, fold in strands(way).items():
                best, at = fold.load(single)
                stop = body.smaller(body.op(f"add i64 {at.name}, {size}"), count)
                if self.fresh:
                    fold.begin(single)
                    self._find(row, at.name, stop, number, best, fold)
                    continue
                known = self.folds[number]
                matters = may_equal(single, known.op, known.load(single)[0], best)
                with body.when(matters.name, "find"):
                    self._find(row, at.name, stop, number, best, known)

        body.loop("begin", "0", ways, begin)
        self._pieces(count, size, piece)
        body.loop("end", "0", ways, end)

    # one stretch

    def _may_matter(self, row: Row, start: str, stop: str) -> str:
        """An ``i1``, true if elements may change results that other rows share."""
        return (
            self.elements.code()
            .either(
                self._later(row, start),
                lambda: Value("b1", self._look(row, start, stop, may_exceed)),
                lambda: Value("b1", self._look(row, start, stop, may_equal)),
            )
            .name
        )

    def _later(self, row: Row, start: str) -> str:
        """An ``i1``, true if element ``start`` comes later than the best of each fold. Then so do
        all that follow."""
        code = self.elements.code()
        later = ""
        for number, (_, position) in self.elements.scanned(Place(code, start), row).items():
            _, best = self.folds[number].load(code)
            after = code.icmp("sgt", position, best).name
            later = self.body.op(f"and i1 {later}, {after}") if later else after
        return later

    def _look(
        self, row: Row, start: str, stop: str, check: Callable[[Code, str, Value, Value], Value]
    ) -> str:
        """An ``i1``, true if elements ``start`` to ``stop`` may change the results of the folds."""
        body, code = self.body, self.elements.code(self.width)
        best = {number: fold.load(self.elements.code())[0] for number, fold in self.folds.items()}
        size = 8 * min(itemsize(fold.parts[0]) for fold in self.folds.values())

        def turn(index: str, hits: list[Value]) -> list[Value]:
            for number, new in self.elements.scanned(Place(code, index), row).items():
                better = check(code, self.folds[number].op, code.broadcast(best[number]), new[0])
                hits = [code.op("or", *hits, code.widened(better, size))]
            return hits

        nowhere = Value("b1", "zeroinitializer", wide=size)
        return code.any(*carried(body, "look", start, stop, self.width, [(code, nowhere)], turn))

    def _find(
        self, row: Row, start: str, stop: str, number: int, extreme: Value, fold: Fold
    ) -> None:
        """Join the first of the elements ``start`` to ``stop`` that is the extreme."""
        body, code = self.body, self.elements.code(self.width)
        lanes = code.broadcast(extreme)
        hit, miss, after = (body.name(hint) for hint in ("hit", "miss", "found"))
        loop = Head(body, "find", ("i64", start))
        matches = self._matches(Place(code, loop.index), row, number, lanes)
        body.branch(code.any(matches), hit, miss)
        body.label(miss)
        loop.end(self.width, stop)  # where no element counts, none is found
        body.jump(after)
        body.label(hit)
        self._join(row, fold, number, body.op(f"add i64 {loop.index}, {code.first(matches)}"))
        body.jump(after)
        body.label(after)

    def _extremes(self, row: Row, start: str, stop: str) -> dict[int, Value]:
        """The extreme of each lane of whole vectors, for each fold."""
        code = self.elements.code(self.width)
        begin = {fold: fold.identity(code) for fold in self.extremes.folds.values()}
        ends = self.extremes.vectors([row], start, stop, self.width, begin)
        return {number: ends[fold][0] for number, fold in self.extremes.folds.items()}

    def _extreme(self, code: Code, number: int, lanes: Value) -> Value:
        """The extreme of all lanes."""
        return self.extremes.folds[number].across(code, [lanes])[0]

    def _element(self, place: Place, row: Row, number: int) -> Value:
        """The input of a fold at ``place``."""
        return self.elements.scanned(place, row)[number][0]

    def _matches(self, place: Place, row: Row, number: int, extreme: Value) -> Value:
        """Mask of the elements that equal ``extreme``; NaN elements always match, since a NaN is the extreme."""
        code = place.code
        new = self._element(place, row, number)
        if KIND[new.dtype] == "f":
            matches = code.op("or", code.fcmp("oeq", new, extreme), is_nan(code, new))
        else:
            matches = code.icmp("eq", new, extreme)
        return matches

    def _join(self, row: Row, fold: Fold, number: int, index: str) -> None:
        """Join element ``index`` of the row."""
        code = self.elements.code()
        new = self.elements.scanned(Place(code, index), row)[number]
        fold.store(code, fold.combine(code, fold.load(code), new))

    def _few(self, row: Row, number: str, count: str) -> None:
        """Some elements of a row that has fewer than a vector; spare lanes repeat the first one."""
        body = self.body
        index = body.op(f"mul i64 {number}, {self.tail}")
        code = self.elements.code(self.tail)
        place = Place.of_last(code, index, count)
        for which, fold in self.folds.items():
            best = self._extreme(code, which, self._element(place, row, which))
            matches = self._matches(place, row, which, code.broadcast(best))
            with body.when(code.any(matches), "hit"):
                lane = code.first(matches)
                self._join(row, fold, which, body.op(f"add i64 {index}, {lane}"))
