"""Runs that repeat with a period: block-cyclic ownership and its slices.

:mod:`atoll.layout.index_set` explains the algebra; :func:`comb` and :func:`block_cyclic` make patterns and bring them
to their simplest form.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from math import gcd, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from .index_set import (
    EMPTY,
    IndexSet,
    Indices,
    Key,
    Listed,
    Range,
    ascending,
    is_index,
    listed,
    meet,
)

_set = object.__setattr__


@dataclass(frozen=True, slots=True)
class Pattern(IndexSet):
    """Runs that repeat with a period, cut off at both ends.

    Made by :func:`block_cyclic`, by slicing and by intersection, which bring it to its
    simplest form; ``extent`` counts the places of the comb from the first index to the last.
    """

    first: int
    step: int
    period: int
    offsets: tuple[int, ...]
    widths: tuple[int, ...]
    lead: int
    extent: int
    before: tuple[int, ...] = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        widths, end = self.widths, self.lead + self.extent
        if len(widths) == 1:
            width = widths[0]
            turns, rest = divmod(end, self.period)
            _set(self, "before", (0, width))
            _set(self, "size", turns * width + (rest if rest < width else width) - self.lead)
        else:
            _set(self, "before", (0, *accumulate(widths)))
            turns, rest = divmod(end, self.period)
            run = bisect_right(self.offsets, rest) - 1
            inside = self.before[run] + min(rest - self.offsets[run], widths[run])
            _set(self, "size", turns * self.before[-1] + inside - self.lead)

    def __len__(self) -> int:
        return self.size

    def __contains__(self, index: object) -> bool:
        if not is_index(index):
            return False
        place, rest = divmod(index.__index__() - self.first, self.step)
        if rest or not 0 <= place < self.extent:
            return False
        rest = (place + self.lead) % self.period
        run = bisect_right(self.offsets, rest) - 1
        return rest - self.offsets[run] < self.widths[run]

    def contains(self, indices: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        place = np.asarray(indices, dtype=np.int64) - self.first
        inside = np.ones(place.shape, dtype=np.bool_)
        if self.step != 1:
            inside = place % self.step == 0
            place = place // self.step
        inside &= (place >= 0) & (place < self.extent)
        rest = (place + self.lead) % self.period
        if len(self.offsets) == 1:
            return inside & (rest < self.widths[0])
        offsets = np.asarray(self.offsets)
        run = np.searchsorted(offsets, rest, side="right") - 1
        inside &= rest - offsets[run] < np.asarray(self.widths)[run]
        return inside

    def _global(self, local: Any) -> Any:
        place = local + self.lead if self.lead else local
        turns = place // self.before[-1]
        rest = place - turns * self.before[-1]
        place = turns * self.period + rest
        if len(self.offsets) > 1:
            run = np.searchsorted(np.asarray(self.before), rest, side="right") - 1
            place += (np.asarray(self.offsets) - np.asarray(self.before[:-1]))[run]
        if self.step != 1:
            place *= self.step
        place += self.first - self.step * self.lead
        return place

    def _local(self, index: Any) -> Any:
        place = index - self.first
        if self.step != 1:
            place //= self.step
        place += self.lead
        turns = place // self.period
        rest = place - turns * self.period
        result = turns * self.before[-1] + rest - self.lead
        if len(self.offsets) > 1:
            offsets = np.asarray(self.offsets)
            run = np.searchsorted(offsets, rest, side="right") - 1
            result += (np.asarray(self.before[:-1]) - offsets)[run]
        return result

    def array(self) -> Indices:
        indices: Indices = self._global(np.arange(self.size, dtype=np.int64))
        return indices

    @property
    def lowest(self) -> int:
        return self.first

    @property
    def highest(self) -> int:
        return self.first + self.step * (self.extent - 1)

    @property
    def is_contiguous(self) -> bool:
        return False

    @property
    def key(self) -> Key:
        return self.array()

    def _numbered(self, first: int, step: int) -> Pattern:
        return Pattern(first, step, self.period, self.offsets, self.widths, self.lead, self.extent)

    def shifted(self, by: int) -> Pattern:
        return self._numbered(self.first + by, self.step)

    def scaled(self, step: int, offset: int) -> IndexSet:
        if step < 0:
            return listed(self.array() * step + offset)
        return self._numbered(self.first * step + offset, self.step * step)

    def divided(self, step: int, offset: int) -> IndexSet:
        if step < 0 or self.step % step:
            return Listed(self.array()).divided(step, offset)
        return self._numbered((self.first - offset) // step, self.step // step)

    def reversed(self) -> IndexSet:
        return listed(self.array()[::-1])

    def intersection(self, other: IndexSet) -> IndexSet:
        if isinstance(other, Listed):
            return other.intersection(self)
        if isinstance(other, Range):
            selected = ascending(other.values)
            return Range.of(selected).select(self.image(selected))
        assert isinstance(other, Pattern)
        if self.step == 1 and other.step == 1:
            return _combs(self, other)
        # Both live on progressions: go to the progression they share, and come back.
        mine = range(self.first, self.highest + 1, self.step)
        shared = meet(mine, range(other.first, other.highest + 1, other.step))
        common = self.image(shared).intersection(other.image(shared))
        return Range.of(shared).select(common)

    def clipped(self, start: int, stop: int) -> IndexSet:
        if self.step == len(self.widths) == 1:
            low, high = max(start, self.first), min(stop, self.first + self.extent)
            return block_cyclic(self.widths[0], self.period, self.first - self.lead, low, high)
        return self.intersection(Range(start, stop))

    def image(self, selected: range) -> IndexSet:
        if not selected:
            return EMPTY
        if selected.step < 0:
            return _reflected(self.image(selected[::-1]), len(selected) - 1)
        shared = meet(range(self.first, self.highest + 1, self.step), selected)
        if not shared:
            return EMPTY
        # Place of the comb at shared[z] is start + stride * z; selected[j] is shared[z] for
        # j = origin + step * z.
        start = (shared[0] - self.first) // self.step + self.lead
        stride = shared.step // self.step
        origin = (shared[0] - selected.start) // selected.step
        step = shared.step // selected.step
        count = len(shared)
        if stride == 1 and len(self.offsets) == 1:
            return block_cyclic(self.widths[0], self.period, -start, 0, count, origin, step)
        common = gcd(stride, self.period)
        turns = stride // common
        first_turn, last_turn = start // self.period, (start + stride * (count - 1)) // self.period
        period: int | None = self.period // common
        if last_turn - first_turn < turns:
            turns, period = last_turn - first_turn + 1, None
        bases = (np.arange(first_turn, first_turn + turns, dtype=np.int64) * self.period)[:, None]
        starts = bases + np.asarray(self.offsets, dtype=np.int64)
        stops = starts + np.asarray(self.widths, dtype=np.int64)
        return comb(
            _ceiling(starts.ravel() - start, stride),
            _ceiling(stops.ravel() - start, stride),
            period, 0, count, origin, step,
        )  # fmt: skip

    def positions(self, subset: IndexSet) -> IndexSet:
        count = len(subset)
        if not count:
            return EMPTY
        if isinstance(subset, Range):
            if subset.step < 0:
                return self.positions(subset.reversed()).reversed()
            if count > 1 and subset.step % (self.step * self.period) == 0:
                first, last = self.local_of(subset.start), self.local_of(subset.highest)
                return Range(first, last + 1, (last - first) // (count - 1))
        if not isinstance(subset, Listed):
            first, last = self.local_of(subset.lowest), self.local_of(subset.highest)
            if last - first == count - 1:
                return Range(first, last + 1)
        # A window of the subset that is whole periods of both moves the positions by a
        # fixed amount: list the positions of one window only.
        window = self.step * self.period
        if isinstance(subset, Pattern):
            window = lcm(window, subset.step * subset.period)
        elif isinstance(subset, Range):
            window = lcm(window, subset.step)
        if not isinstance(subset, Listed) and 2 * window <= subset.highest - subset.lowest:
            period = window // (self.step * self.period) * self.before[-1]
            part = self.local_of(subset.clipped(subset.lowest, subset.lowest + window).array())
            return comb(part, part + 1, period, first, last + 1)
        return listed(self.local_of(subset.array()))

    def select(self, positions: IndexSet) -> IndexSet:
        if isinstance(positions, Range) and positions.is_contiguous and len(positions):
            low = self.global_of(positions.lowest)
            return self.clipped(low, self.global_of(positions.highest) + 1)
        if not len(positions):
            return EMPTY
        return listed(self.global_of(positions.array()))


def _reflected(values: IndexSet, total: int) -> IndexSet:
    """The indices ``total - i``, ascending."""
    if isinstance(values, Range):
        mirrored = range(total - values.start, total - values.stop, -values.step)
        return Range.of(mirrored[::-1])
    assert isinstance(values, Pattern)
    offsets, widths = np.asarray(values.offsets), np.asarray(values.widths)
    starts = (values.lead - offsets - widths + 1)[::-1]
    return comb(
        starts, starts + widths[::-1], values.period, 1 - values.extent, 1,
        total - values.first, values.step,
    )  # fmt: skip


def block_cyclic(
    width: int, period: int, start: int, low: int, high: int, origin: int = 0, step: int = 1
) -> IndexSet:
    """``origin + step * v`` for ``v`` in ``[low, high)`` with ``(v - start) % period < width``."""
    lead = 0
    if width < period:
        rest = (low - start) % period
        if rest < width:
            lead = rest
        else:
            low += period - rest
        rest = (high - 1 - start) % period
        if rest >= width:
            high -= rest - width + 1
    extent = high - low
    if extent <= 0:
        return EMPTY
    first = origin + step * low
    if width >= period or lead + extent <= width:
        return Range.of(range(first, origin + step * (high - 1) + 1, step))
    if lead + extent <= period + width:
        # Two runs: several combs have them, take the one that cuts as little as it can.
        left, right = width - lead, lead + extent - period
        period = period - lead if right <= left else period + right - width
        width, lead = (left, 0) if right <= left else (right, right - left)
    if width == 1:
        return Range.of(range(first, origin + step * (high - 1) + 1, step * period))
    return Pattern(first, step, period, (0,), (width,), lead, extent)


def comb(
    starts: Indices, stops: Indices, period: int | None, low: int, high: int, origin: int = 0, step: int = 1
) -> IndexSet:  # fmt: skip
    """The runs ``[start, stop)``, repeated every ``period``, cut to ``[low, high)``.

    The runs are given in ascending order and lie within one period; ``None`` means that
    they do not repeat. Index ``v`` of the comb stands for ``origin + step * v``.
    """
    starts, stops = _merge(starts, stops, period)
    if period is not None and len(starts):
        if len(starts) == 1:
            width = int(stops[0] - starts[0])
            return block_cyclic(width, period, int(starts[0]), low, high, origin, step)
        starts, stops, period = _smallest_period(starts, stops, period)
        if len(starts) == 1:
            return comb(starts, stops, period, low, high, origin, step)
    if period is None:
        starts, stops = np.maximum(starts, low), np.minimum(stops, high)
        kept = starts < stops
        return _finite(starts[kept], stops[kept], origin, step)
    if not len(starts):
        return EMPTY
    widths, base = stops - starts, int(starts[0])
    if int(widths.max()) == 1:
        shared = gcd(period, *np.diff(starts).tolist())
        if shared > 1:
            places = (starts - base) // shared
            low, high = -((base - low) // shared), -((base - high) // shared)
            origin, step = origin + step * base, step * shared
            return comb(places, places + 1, period // shared, low, high, origin, step)
    # Begin at the run that holds the first index at or after low, end with the last index.
    begin = int(np.searchsorted(stops, base + (low - base) % period, "right"))
    turn = (low - base) // period * period
    starts = np.concatenate([starts[begin:], starts[:begin] + period]) + turn
    widths = np.concatenate([widths[begin:], widths[:begin]])
    base = int(starts[0])
    lead = max(low - base, 0)
    rest = (high - 1 - base) % period
    last = int(np.searchsorted(starts - base, rest, "right")) - 1
    high -= max(rest - int(starts[last]) + base - int(widths[last]) + 1, 0)
    extent = high - base - lead
    if extent <= 2 * period:
        return _finite(*_expand(starts, starts + widths, period, low, high), origin, step)
    offsets = tuple((starts - base).tolist())
    first = origin + step * (base + lead)
    return Pattern(first, step, period, offsets, tuple(widths.tolist()), lead, extent)


def _finite(starts: Indices, stops: Indices, origin: int, step: int) -> IndexSet:
    """The simplest form of runs that do not repeat."""
    if not len(starts):
        return EMPTY
    first, low, high = int(starts[0]), int(starts[0]), int(stops[-1])
    if len(starts) == 1:
        return Range.of(range(origin + step * low, origin + step * (high - 1) + 1, step))
    widths = stops - starts
    if len(starts) == 2:
        left, right = (int(w) for w in widths)
        period = int(starts[1]) - low + max(right - left, 0)
        start = int(starts[1]) - period
        return block_cyclic(max(left, right), period, start, low, high, origin, step)
    period, width = int(starts[2] - starts[1]), int(widths[1:-1].max())
    regular = bool((np.diff(starts[1:]) == period).all() and (widths[1:-1] == width).all())
    if regular and width < period and int(widths[0]) <= width and int(widths[-1]) <= width:
        start = int(starts[1]) - period
        if int(stops[0]) == start + width:
            return block_cyclic(width, period, start, low, high, origin, step)
    if int(widths.max()) == 1:
        shared = gcd(*np.diff(starts).tolist())
        if shared > 1:
            places = (starts - first) // shared
            places, ends = _merge(places, places + 1, None)
            return _finite(places, ends, origin + step * first, step * shared)
    return Pattern(
        origin + step * first, step, high - low,
        tuple((starts - first).tolist()), tuple(widths.tolist()), 0, high - low,
    )  # fmt: skip


def _combs(a: Pattern, b: Pattern) -> IndexSet:
    """The intersection of two patterns of step one."""
    low, high = max(a.first, b.first), min(a.highest, b.highest) + 1
    if high <= low:
        return EMPTY
    period = lcm(a.period, b.period)
    shared = gcd(a.period, b.period)
    window = min(high - low, period)
    listing = window // a.period * len(a.offsets) + window // b.period * len(b.offsets)
    pairs = len(a.offsets) * len(b.offsets)
    solving = pairs + (len(b.widths) * sum(a.widths) + len(a.widths) * sum(b.widths)) // shared
    base_a, base_b = a.first - a.lead, b.first - b.lead
    modulus = b.period // shared
    if listing <= solving or modulus > 1 << 31 or period > 1 << 60:
        runs = []
        for comb_of, base in ((a, base_a), (b, base_b)):
            starts = np.asarray(comb_of.offsets, dtype=np.int64) + base
            ends = starts + np.asarray(comb_of.widths, dtype=np.int64)
            runs += [*_expand(starts, ends, comb_of.period, low, low + window)]
        return comb(*_overlap(*runs), period if window == period else None, low, high)
    # A run of a that starts d after one of b recurs once in each common period.
    starts_found, stops_found = [], []
    inverse = pow(a.period // shared, -1, modulus)
    for offset_a, width_a in zip(a.offsets, a.widths):
        for offset_b, width_b in zip(b.offsets, b.widths):
            start_a = base_a + offset_a
            apart = start_a - base_b - offset_b
            least = 1 - width_a + (apart - 1 + width_a) % shared
            distance = np.arange(least, width_b, shared, dtype=np.int64)
            turns = (distance - apart) // shared % modulus * inverse % modulus
            start = start_a + turns * a.period
            stop = np.minimum(start + width_a, start - distance + width_b)
            start = np.maximum(start, start - distance)
            turn = (start - low) // period * period
            starts_found.append(start - turn)
            stops_found.append(stop - turn)
    starts, stops = np.concatenate(starts_found), np.concatenate(stops_found)
    order = np.argsort(starts)
    return comb(starts[order], stops[order], period, low, high)


# Lists of runs ``[start, stop)``, as arrays: in ascending order, without overlap.


def _ceiling(values: Indices, divisor: int) -> Indices:
    """``values / divisor``, rounded up."""
    return -(-values // divisor)


def _merge(starts: Indices, stops: Indices, period: int | None) -> tuple[Indices, Indices]:
    """Drop empty runs and join those that touch, also across the end of a period."""
    kept = starts < stops
    if not kept.all():
        starts, stops = starts[kept], stops[kept]
    if len(starts) > 1:
        apart = starts[1:] != stops[:-1]
        if not apart.all():
            starts = starts[np.concatenate([[True], apart])]
            stops = stops[np.concatenate([apart, [True]])]
    if period is not None and len(starts) > 1 and int(stops[-1]) == int(starts[0]) + period:
        joined = int(stops[0]) + period
        starts, stops = starts[1:], stops[1:].copy()
        stops[-1] = joined
    return starts, stops


def _smallest_period(starts: Indices, stops: Indices, period: int) -> tuple[Indices, Indices, int]:
    """The same repeating runs with the shortest period that describes them."""
    count = len(starts)
    for part in range(1, count // 2 + 1):
        if count % part or period * part % count:
            continue
        shorter = period * part // count
        moved = starts[part:] - starts[:-part] == shorter
        if moved.all() and (stops[part:] - stops[:-part] == shorter).all():
            return starts[:part], stops[:part], shorter
    return starts, stops, period


def _expand(
    starts: Indices, stops: Indices, period: int, low: int, high: int
) -> tuple[Indices, Indices]:
    """The repeating runs inside ``[low, high)``, one by one."""
    first, last = (low - int(stops[-1])) // period, (high - int(starts[0])) // period
    bases = (np.arange(first, last + 1, dtype=np.int64) * period)[:, None]
    begins = np.maximum((bases + starts).ravel(), low)
    ends = np.minimum((bases + stops).ravel(), high)
    kept = begins < ends
    return begins[kept], ends[kept]


def _overlap(
    starts: Indices, stops: Indices, other_starts: Indices, other_stops: Indices
) -> tuple[Indices, Indices]:
    """The runs that two lists have in common."""
    first = np.searchsorted(other_stops, starts, side="right")
    last = np.searchsorted(other_starts, stops, side="left")
    counts = np.maximum(last - first, 0)
    mine = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
    other = first[mine] + within
    return np.maximum(starts[mine], other_starts[other]), np.minimum(
        stops[mine], other_stops[other]
    )
