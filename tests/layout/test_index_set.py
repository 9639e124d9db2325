"""Index sets in closed form against the same sets as explicit lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import LayoutError, LayoutIndexError
from atoll.layout.index_set import EMPTY, IndexSet, Listed, Range, listed
from atoll.layout.pattern import Pattern, block_cyclic, comb

LIMIT = 60


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    start, stop = draw(st.integers(-5, LIMIT)), draw(st.integers(-5, LIMIT))
    return Range(start, stop, draw(st.sampled_from([1, 1, 2, 3, 5, 7, -1, -2])))


@st.composite
def combs(draw: st.DrawFn) -> IndexSet:
    width = draw(st.integers(1, 9))
    period = draw(st.integers(width, 25))
    low, high = draw(st.integers(-10, LIMIT)), draw(st.integers(-10, 3 * LIMIT))
    start, step = draw(st.integers(-30, 30)), draw(st.sampled_from([1, 1, 1, 2, 3]))
    return block_cyclic(width, period, start, low, high, draw(st.integers(-5, 5)), step)


@st.composite
def runs(draw: st.DrawFn) -> IndexSet:
    period = draw(st.integers(4, 30))
    cuts = sorted(draw(st.sets(st.integers(0, period), min_size=2, max_size=8)))
    starts, stops = np.array(cuts[:-1][::2]), np.array(cuts[1:][::2])
    low, high = draw(st.integers(-10, LIMIT)), draw(st.integers(-10, 2 * LIMIT))
    step, origin = draw(st.sampled_from([1, 1, 2, 3])), draw(st.integers(-20, 20))
    repeat = draw(st.sampled_from([period, None]))
    return comb(starts + origin, stops + origin, repeat, low, high, origin, step)


@st.composite
def lists(draw: st.DrawFn) -> Listed:
    values = draw(st.lists(st.integers(-5, LIMIT), unique=True, max_size=12))
    return Listed(np.array(values, dtype=np.int64))


sets = st.one_of(ranges(), combs(), runs(), lists())


@given(sets)
@settings(max_examples=200, deadline=None)
def test_reading_agrees_with_the_list(chosen: IndexSet) -> None:
    values = chosen.array().tolist()
    assert list(chosen) == values
    assert len(chosen) == len(values) == len(set(values))
    assert [chosen.global_of(i) for i in range(len(values))] == values
    assert [chosen[i] for i in range(len(values))] == values
    assert [chosen.local_of(v) for v in values] == list(range(len(values)))
    everything = np.arange(-70, 4 * LIMIT)
    assert chosen.contains(everything).tolist() == np.isin(everything, values).tolist()
    assert [i for i in everything.tolist() if i in chosen] == sorted(
        v for v in values if -70 <= v < 4 * LIMIT
    )
    places = np.arange(len(values))
    assert chosen.global_of(places).tolist() == values
    assert chosen.local_of(chosen.array()).tolist() == places.tolist()
    if values:
        assert (chosen.lowest, chosen.highest) == (min(values), max(values))
    assert chosen.is_contiguous == (
        values == list(range(values[0], values[0] + len(values))) if values else True
    )


@given(sets)
@settings(max_examples=200, deadline=None)
def test_the_key_takes_the_set(chosen: IndexSet) -> None:
    values = chosen.array().tolist()
    if values and min(values) >= 0:
        assert np.arange(4 * LIMIT * 3)[chosen.key].tolist() == values


@given(sets, st.integers(-20, 20))
@settings(max_examples=120, deadline=None)
def test_shift_and_reverse(chosen: IndexSet, by: int) -> None:
    values = chosen.array()
    assert chosen.shifted(by).array().tolist() == (values + by).tolist()
    assert chosen.shifted(by).shifted(-by) == chosen
    assert chosen.reversed().array().tolist() == values[::-1].tolist()


@given(sets, sets)
@settings(max_examples=300, deadline=None)
def test_intersection(one: IndexSet, other: IndexSet) -> None:
    expected = sorted(set(one) & set(other))
    assert (one & other).array().tolist() == expected
    assert (other & one).array().tolist() == expected


@given(sets, st.integers(-5, 2 * LIMIT), st.integers(-5, 2 * LIMIT))
@settings(max_examples=120, deadline=None)
def test_clipped(chosen: IndexSet, start: int, stop: int) -> None:
    assert chosen.clipped(start, stop).array().tolist() == sorted(
        v for v in chosen if start <= v < stop
    )


slices = st.slices(LIMIT) | st.builds(
    slice, st.integers(-70, 70), st.integers(-70, 70), st.sampled_from([-7, -3, -2, -1, 1, 2, 3, 4])
)


@given(sets, slices)
@settings(max_examples=300, deadline=None)
def test_slicing(chosen: IndexSet, key: slice) -> None:
    selected = range(LIMIT)[key]
    image, where = chosen.sliced(selected)
    assert sorted(image) == [j for j, i in enumerate(selected) if i in chosen]
    assert [chosen[local] for local in where] == [selected[j] for j in image]
    if not isinstance(chosen, Listed):
        values = list(chosen)
        order = list(where) if values != sorted(values) else list(image)
        assert order == sorted(order)
        if isinstance(chosen, Range) or key.step in (None, 1, -1):
            assert isinstance(where, Range)


@given(sets, sets)
@settings(max_examples=250, deadline=None)
def test_positions_and_select_are_inverse(whole: IndexSet, other: IndexSet) -> None:
    part = whole & other
    where = whole.positions(part)
    assert [whole[local] for local in where] == list(part)
    assert whole.select(where).array().tolist() == part.array().tolist()


@given(combs(), combs(), combs())
@settings(max_examples=150, deadline=None)
def test_equal_sets_made_on_different_ways(one: IndexSet, two: IndexSet, three: IndexSet) -> None:
    left, right = (one & two) & three, one & (two & three)
    assert left.array().tolist() == right.array().tolist()
    assert (one & two) == (two & one)
    assert one.clipped(-999, 9999) == one
    if len(one) > 1:
        values = one.array()
        clipped = one.clipped(int(values[1]), int(values[-1]) + 1)
        assert clipped == one.clipped(int(values[0]) + 1, int(values[-1]) + 1)
        assert hash(clipped) == hash(one.clipped(int(values[0]) + 1, int(values[-1]) + 1))


def test_closed_forms_stay_closed() -> None:
    n = 10**12
    cyclic = block_cyclic(64, 64 * 1000, 0, 0, n)
    other = block_cyclic(1000, 3000, 0, 0, n)
    assert isinstance(cyclic, Pattern)
    both = cyclic & other
    assert isinstance(both, Pattern)
    assert len(both.offsets) < 500
    window = 64 * 3000
    brute = np.arange(window)[(np.arange(window) % 64000 < 64) & (np.arange(window) % 3000 < 1000)]
    assert both.clipped(0, window).array().tolist() == brute.tolist()
    assert len(both) == n // window * len(brute) + len(both.clipped(n // window * window, n))
    assert isinstance(Range(7, n, 3) & Range(2, n, 5), Range)
    thirds = cyclic & Range(0, n, 3)
    assert isinstance(thirds, Pattern)
    assert len(thirds.offsets) <= 3
    assert isinstance(cyclic.clipped(65, 64 * 1000 + 3), Range)
    assert isinstance(block_cyclic(1, 7, 3, 0, n), Range)


def test_wide_runs_of_coprime_periods_are_solved_not_listed() -> None:
    one = block_cyclic(3, 1009, 5, 0, 10**15)
    two = block_cyclic(4, 1013, 7, 0, 10**15)
    both = one & two
    assert isinstance(both, Pattern)
    assert len(both.offsets) == 6
    values = both.clipped(0, 4 * 1009 * 1013).array()
    every = np.arange(4 * 1009 * 1013)
    brute = every[((every - 5) % 1009 < 3) & ((every - 7) % 1013 < 4)]
    assert values.tolist() == brute.tolist()


def test_what_is_not_there_is_an_error_with_rule_and_value() -> None:
    with pytest.raises(LayoutIndexError, match=r"global index 12 is not in Range\(0, 10, 2\)"):
        Range(0, 10, 2).local_of(12)
    with pytest.raises(
        IndexError, match=r"local index 5 is not in range\(5\) of Range\(0, 10, 2\)"
    ):
        Range(0, 10, 2).global_of(5)
    with pytest.raises(LayoutError, match="local index -1"):
        Listed(np.array([4, 2, 7])).global_of(np.array([0, -1]))
    with pytest.raises(LayoutIndexError, match="global index 3 is not in"):
        Listed(np.array([4, 2, 7])).local_of(np.array([4, 3]))
    with pytest.raises(LayoutIndexError, match="global index 1 is not"):
        Range(0, 10, 2).positions(Range(1, 10, 4))


def test_representation_and_hash() -> None:
    assert repr(Range(2, 9)) == "Range(2, 9)"
    assert repr(Range(2, 9, 3)) == "Range(2, 9, 3)"
    assert repr(Listed(np.array([3, 1, 2]))) == "Listed([3, 1, 2])"
    assert "40 indices" in repr(Listed(np.arange(40) ** 2))
    assert Range(0, 9, 4) == Range(0, 12, 4)
    assert hash(Range(0, 9, 4)) == hash(Range(0, 12, 4))
    assert listed([3, 5, 7]) == Range(3, 9, 2)
    assert listed([]) == EMPTY == Range(5, 2)
    assert Listed(np.array([3, 1])) == Listed(np.array([3, 1])) != Listed(np.array([1, 3]))
    assert len({Listed(np.array([3, 1])), Listed(np.array([3, 1]))}) == 1
