"""What ranks compute together is told apart by name, shapes, axes and words, though it may need no message."""

import pytest

import atoll
from atoll.comm import simulated
from atoll.errors import DivergenceError

from . import line_pairs


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.parametrize(
    "kind", ["READ", "FOLDED", "ORDERED", "MADE", "WRITTEN", "MASKED", "OTHERWISE"]
)
def test_who_does_something_else_is_told(kind: str) -> None:
    with atoll.config(small=0, everywhere=0):
        assert line_pairs.unnoticed(getattr(line_pairs, kind)) == []


@pytest.mark.ranks(2, 3)
def test_an_assignment_with_another_index_names_both(rank, size):
    with atoll.world.split(0, rank):
        u = atoll.zeros((12, 12))
        u[1] = 2.0
        u[[3, 5, 7] if rank == 0 else [3, 5]] += 1.0
        with pytest.raises(DivergenceError, match=r"\[3, 5, 7\].*\[3, 5\]|\[3, 5\].*\[3, 5, 7\]"):
            float(u.sum())


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2)
@pytest.mark.parametrize("do", ["barrier", "split"])
def test_who_comes_to_a_barrier_or_a_split_alone_is_told(rank, size, do):
    with atoll.world.split(0, rank), atoll.config(wait_check=0.05):
        u = atoll.arange(36.0).reshape(6, 6) + 1
        alone = {"barrier": atoll.world.barrier, "split": lambda: atoll.world.split(0)}[do]
        with pytest.raises(DivergenceError, match=rf"world\.{do}\(\) at test_line_pairs.py"):
            alone() if rank == 0 else float(u.sum())


def computing(widths: tuple[int, int]) -> float:
    v = atoll.ones((6, widths[min(atoll.world.rank, 1)]))
    return float((v * 2).sum())


def test_other_shapes_at_one_line_are_named() -> None:
    with (
        atoll.config(small=0),
        pytest.raises(
            DivergenceError, match=r"ank 0 computes .*\(6, 7\).*rank 1 computes .*\(6, 8\)"
        ),
    ):
        simulated.run(2, computing, (7, 8))


def assigning() -> float:
    u = atoll.ones(40_000).reshape(200, 200)
    half = slice(0, 20_000) if atoll.world.rank == 0 else slice(20_000, 40_000)
    u.reshape(-1)[half] = 0
    return float(u.sum())


def test_other_elements_of_one_shape_are_named() -> None:
    with (
        atoll.config(everywhere=0),
        pytest.raises(DivergenceError, match=r"ank 0 .* from byte 0;.*rank 1 .* from byte 160000;"),
    ):
        simulated.run(2, assigning)


VALUES = """
u * 2.5 | u * 3.5
u + rows([0.5] * 12) | u + rows([1.5] * 12)
np.einsum('ij,j', u, rows([0.5] * 12)) | np.einsum('ij,j', u, rows([1.5] * 12))
np.add.at(u, [1, 2], 1.0) | np.add.at(u, [1, 2], 2.0)
np.clip(u, 1., 2.) | np.clip(u, 1., 3.)
u.std(0, ddof=1) | u.std(0, ddof=0)
"""


def test_the_debug_setting_compares_inexact_values_of_unequal_machines() -> None:
    with atoll.config(small=0):
        assert line_pairs.unnoticed(VALUES) == []
        assert line_pairs.unnoticed(VALUES, alike=False) == VALUES.strip().splitlines()
        with atoll.config(debug=True):
            assert line_pairs.unnoticed(VALUES, alike=False) == []
