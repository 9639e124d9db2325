"""The choice of a grid against all grids there are."""

from __future__ import annotations

from itertools import product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from atoll import Layout
from atoll.layout.grids import best_grid, descending_factors, factorisations, surface


@given(st.lists(st.integers(1, 14), min_size=1, max_size=3), st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_no_grid_is_better(extents: list[int], processes: int) -> None:
    shape = tuple(extents)
    chosen = best_grid(shape, processes)
    every = [
        grid
        for grid in product(range(1, processes + 1), repeat=len(shape))
        if prod(grid) <= processes
    ]

    def busy(grid: tuple[int, ...]) -> int:
        return prod(map(min, grid, shape))

    most = max(map(busy, every))
    assert busy(chosen) == most
    if prod(chosen) == most:
        rivals = [g for g in every if prod(g) == busy(g) == most]
        assert chosen == min(rivals, key=lambda g: (surface(shape, g), tuple(-c for c in g)))


def test_all_factors_are_found_once() -> None:
    divisors = [d for d in range(1, 361) if 360 % d == 0]
    every = list(factorisations(360, 3))
    assert every == sorted(f for f in product(divisors, repeat=3) if prod(f) == 360)
    found = list(descending_factors(360, 3))
    assert len(found) == len(set(found))
    assert set(found) == {tuple(sorted(f, reverse=True)) for f in every}
    assert list(descending_factors(1, 0)) == list(factorisations(1, 0)) == [()]
    assert list(descending_factors(5, 0)) == list(factorisations(5, 0)) == []


def test_many_axes_and_many_processes_are_no_burden() -> None:
    assert best_grid((2,) * 16, 1024) == (2,) * 10 + (1,) * 6
    assert best_grid((7,) * 12, 720) == (5, 3, 3, 2, 2, 2, 2, *(1,) * 5)
    assert best_grid((1000, 1000), 99991) == (330, 303)


def test_arrays_of_nearly_one_shape_are_cut_along_the_same_axes() -> None:
    for shape in ((200, 200), (200, 199), (199, 200), (188, 200)):
        assert Layout.default(shape, 2).grid == (2, 1)
        assert Layout.default(shape, 4).grid == (2, 2)
    assert Layout.default((150, 200), 2).grid == Layout((150, 200), size=2).grid == (1, 2)
    assert Layout.default((15, 16), 16).grid == (4, 4)
    assert Layout.default((15, 16), 17).grid == best_grid((15, 16), 17)
    assert Layout.default((1, 1), 4).is_replicated
    assert Layout.default((0, 5), 4) == Layout((0, 5), size=4)
