"""Guards: what was calculated and compared on a sheet, for other numbers than those of the sheet."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.layout import symbolic
from atoll.layout.symbolic import Sheet, function, greatest, least


def distance(a: Any, b: Any) -> Any:
    """A calculation that takes the sign of a number."""
    return abs(a) - -b


CALCULATIONS: list[Any] = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, least, greatest, distance,
    lambda a, b: function(lambda n, m, by: n // by + m, a, b, 3),
]  # fmt: skip
COMPARISONS: list[Any] = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]  # fmt: skip


@pytest.fixture(params=["native", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards are run by C, or without it."""
    if request.param == "python":
        monkeypatch.setattr(symbolic, "native", None)
    elif symbolic.native is None:
        pytest.skip("there is no native front")


def calculated(numbers: list[Any], lines: list[Any]) -> tuple[list[Any], list[bool]]:
    """What some lines come to, each of which takes two of the numbers before it; and their comparisons."""
    numbers, outcomes = list(numbers), []
    for what, a, b, compare in lines:
        first, second = numbers[a % len(numbers)], numbers[b % len(numbers)]
        outcomes.append(compare(first, second))
        if what is distance:
            outcomes.append(first <= 0)
        numbers.append(what(first, second))
    return numbers, outcomes


LINES = st.tuples(
    st.sampled_from(CALCULATIONS), st.integers(0, 20), st.integers(0, 20), st.sampled_from(COMPARISONS)
)  # fmt: skip
NUMBERS = st.lists(st.integers(-9, 9), min_size=3, max_size=3)


@given(NUMBERS, st.lists(NUMBERS, max_size=4), st.lists(LINES, max_size=6), st.integers(-3, 3))
@settings(max_examples=150, deadline=None)
def test_a_guard_says_what_would_be_calculated_or_that_it_is_not_known(
    way: None, first: list[int], others: list[list[int]], lines: list[Any], constant: int
) -> None:
    sheet = Sheet()
    try:
        found, outcomes = calculated([*sheet.unknown(first), constant], lines)
    except ZeroDivisionError:
        return
    whole = slice(found[0], found[-1], 1)
    guard = sheet.guard([found, (tuple(found), [whole])])
    for numbers in [first, *others]:
        results = guard.results(numbers)
        try:
            known, compared = calculated([*numbers, constant], lines)
        except ZeroDivisionError:
            assert results is None
            continue
        if compared == outcomes:
            assert results == [known, (tuple(known), [slice(known[0], known[-1], 1)])]
        else:
            assert results is None


def test_a_guard_asks_functions_for_numbers(way: None) -> None:
    sheet = Sheet()
    (number,) = sheet.unknown([2])
    thing = sheet.thing("abc")
    found = function(lambda text, k, more: text.index("c") * k + len(more), thing, number, "de")
    guard = sheet.guard([found])
    assert guard.results([2], ["abc"]) == [found.value] == [6]
    assert guard.results([5], ["xxxc"]) == [17]
    with pytest.raises(ValueError, match="substring"):
        guard.results([5], ["none"])


def test_nothing_is_divided_that_no_result_needs(way: None) -> None:
    sheet = Sheet()
    a, b = sheet.unknown([6, 3])
    assert (a // b).value == 2
    assert sheet.guard([a + b]).results([1, 0]) == [1]


def test_numbers_that_c_has_no_integers_for_are_refused() -> None:
    if symbolic.native is None:
        pytest.skip("there is no native front")
    sheet = Sheet()
    (number,) = sheet.unknown([2])
    guard = sheet.guard([number * number + number])
    assert guard.results([3]) == [12]
    assert guard.results([1 << 32]) is None
    assert guard.results([1 << 64]) is None
    with pytest.raises(ValueError, match="9 numbers for the 3 places"):
        guard.results([3] * 9)
