"""How many Python functions the planner calls on a rank, and how many plans the first turns of a loop make."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import atoll as np
from atoll import front
from atoll.comm.simulated import Simulation
from atoll.lazy import planning


def laplace(u: Any, b: Any) -> float:
    """A step, and its change."""
    old = u.copy()
    u[1:-1, 1:-1] = (
        (u[0:-2, 1:-1] + u[2:, 1:-1]) * 0.3 + (u[1:-1, 0:-2] + u[1:-1, 2:]) * 0.4
    ) * 0.7
    change = (u - old).flat
    return float(numpy.sqrt(np.dot(change, change)))


def elimination(a: Any, b: Any, k: int = 0) -> float:
    """One column is eliminated."""
    a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k : k + 1, k + 1 :]
    np.sync()
    return 0.0


def addition(a: Any, b: Any) -> float:
    """A sum of two arrays."""
    a += b
    np.sync()
    return 0.0


def total(a: Any, b: Any) -> float:
    """A sum of all elements."""
    return float((a * b).sum())


CALLS: dict[Callable[..., float], int] = {
    laplace: 3_000,
    elimination: 1_450,
    addition: 490,
    total: 530,
}
"""Programs, and at most how many calls."""


@pytest.fixture(autouse=True)
def everything_is_recorded(by_numpy: None) -> Iterator[None]:
    with np.config(small=0, threads=1, everywhere=0):
        yield


def operands(layout: str) -> tuple[Any, Any]:
    """Two arrays on the ranks of the world."""
    generator = numpy.random.default_rng(5)
    made = [np.array(generator.random((60, 50)), layout=layout) for _ in range(2)]
    np.sync()
    return made[0], made[1]


@pytest.mark.parametrize("program", CALLS)
def test_calls_of_the_planner_on_ranks(
    program: Callable[..., float], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, counts = planning.planned, {0: 0, 1: 0}

    def counted(*given: Any) -> Any:
        def note(frame: Any, event: str, argument: Any) -> None:
            counts[np.world.rank] += event == "call" and frame.f_code.co_name != "_guarded"

        sys.setprofile(note)
        try:
            return planned(*given)
        finally:
            sys.setprofile(None)

    Simulation(2).run(lambda: program(*operands("bn")))  # imports modules
    monkeypatch.setattr(planning, "planned", counted)
    Simulation(2).run(lambda: program(*operands("bn")))
    assert min(counts.values()) > 0
    assert max(counts.values()) <= CALLS[program]


def plans_of(turns: Callable[..., Any], size: int) -> int:
    """The plans that each rank makes for some turns of a loop."""
    before = np.stats().plans_made
    Simulation(size).run(lambda: turns(*operands("bn")))
    made = np.stats().plans_made - before
    assert made % size == 0
    return made // size


@pytest.mark.skipif(front.native is None, reason="Python records each operation")
def test_a_loop_with_a_dot_product_has_one_plan() -> None:
    u = np.array(
        numpy.random.default_rng(5).random((61, 52))
    )  # a shape that the recorder has not met
    before = np.stats().plans_made
    for _ in range(4):
        laplace(u, u)
    assert np.stats().plans_made - before == 1


@pytest.mark.parametrize("size", [1, 2, 3])
def test_an_elimination_from_the_first_column_has_one_plan(size: int) -> None:
    assert plans_of(lambda a, b: [elimination(a, b, k) for k in range(4)], size) == 1
