"""Sorted lines and axes on ranks, and what is different in them."""

import numpy as np
import pytest

import atoll

from .distributions import LINES, MAPS, normal, put, same, uneven


def lines():
    whole = normal((53,))
    holes = whole.copy()
    holes[::7] = np.nan
    return {
        "different": whole,
        "few": np.round(whole),
        "equal": np.zeros(40),
        "NaN": holes,
        "integers": (whole * 9).astype(np.int16),
        "truth": whole > 0,
        "short": whole[:3],
        "sorted": np.sort(whole),
        "backwards": np.sort(whole)[::-1].copy(),
        "complex": np.round(whole) + 1j * np.round(whole[::-1]),
    }


@pytest.mark.simulated(1, 7)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("name", lines())
def test_lines(name, size):
    a = lines()[name]
    for ours in (*[put(a, line, size) for line in LINES], uneven(a, size)):
        same(atoll.sort(ours), np.sort(a), 0)
        same(atoll.argsort(ours, kind="stable"), np.argsort(a, kind="stable"), 0)
        same(atoll.unique(ours), np.unique(a), 0)
        found = atoll.unique(ours, return_counts=True, return_index=True)
        for mine, theirs in zip(found, np.unique(a, return_counts=True, return_index=True)):
            same(mine, theirs, 0)
        copy = ours[::-1].copy()
        copy.sort()
        same(copy, np.sort(a), 0)
        same(ours, a, 0)
        if name != "complex":
            same(atoll.searchsorted(np.sort(a)[:9], ours), np.searchsorted(np.sort(a)[:9], a), 0)


@pytest.mark.simulated(1, 4)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_axes(maps, size):
    a = normal((8, 9))
    ours = put(a, maps, size)
    for axis in (0, 1, None):
        same(atoll.sort(ours, axis), np.sort(a, axis), 0)
        same(ours.argsort(axis), a.argsort(axis), 0)
    ours.sort(0)
    same(ours, np.sort(a, 0), 0)
    same(atoll.unique(atoll.round(ours)), np.unique(np.round(a)), 0)


@pytest.mark.simulated(8)
def test_equal_elements_are_divided_evenly(rank, size):
    from atoll.collective import Section, even_line, ordered, sorting

    line = even_line(8000, size)
    made = []
    original = sorting.uneven_line

    def noted(counts):
        made.append(counts)
        return original(counts)

    sorting.uneven_line = noted
    try:
        block = np.zeros(1000)
        values, places = ordered(Section(block, line, atoll.world.communicator))
    finally:
        sorting.uneven_line = original
    assert made[-1].max() <= 2000
    assert (places.block == np.arange(rank * 1000, rank * 1000 + 1000)).all()
    assert values.layout == line
    assert atoll.zeros(100, layout=even_line(100, size)).sum() == 0
