"""Ranks that run two variants of a program end in a divergence, or each sees the numbers of its own: nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import atoll
from atoll.comm.simulated import run
from atoll.errors import DivergenceError

from ..cli.commands import atoll as command
from . import program_pairs


@pytest.mark.slow
@pytest.mark.usefixtures("by_numpy")
@pytest.mark.parametrize("evaluated", [False, True], ids=["pending", "evaluated"])
@pytest.mark.parametrize("table", ["ARRAYS", "NUMBERS", "ORDERS", "FUNCTIONS"])
def test_no_pair_gives_a_wrong_number(table: str, evaluated: bool) -> None:
    pairs = getattr(program_pairs, table).strip().splitlines()
    assert program_pairs.wrong(pairs, 3 if evaluated else 2, evaluated=evaluated) == []


@pytest.mark.slow
@pytest.mark.usefixtures("by_numpy")
@pytest.mark.parametrize("size", [2, 3])
def test_no_random_pair_gives_a_wrong_number(size: int) -> None:
    pairs = [program_pairs.a_pair(seed) for seed in range(60)]
    assert program_pairs.wrong(pairs, size) == []


SCRIPT = """
import numpy
import atoll as np
rank = np.world.rank
n = 2_000_000
pressure = np.array(numpy.full(n, 100.0))
temperature = np.array(numpy.full(n, 200.0))
{program}
"""

PROGRAMS = {
    "another array": "v = pressure.mean() if rank == 0 else temperature.mean()\nprint('seen', v)",
    "a look of one rank": "if rank == 0: print('seen', pressure.sum())\nprint('seen', temperature.sum())",
    "another number": "x = pressure * (2.0 + rank)\nprint('seen', x.sum())",
    "another element": "x = pressure * numpy.array([1.0, 2.0])[rank]\nprint('seen', x.max())",
    "another small array": "x = pressure.reshape(2, -1).T * numpy.array([1.0, 2.0 + rank])\nprint('seen', x.max())",
    "another order": "p, t = (pressure.max(), temperature.max())[:: 1 - 2 * rank]\n"
    "q = pressure.sum() if rank else temperature.sum()\nprint('seen', q)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_on_processes(name: str, tmp_path: Path) -> None:
    script = tmp_path / "variant.py"
    script.write_text(SCRIPT.format(program=PROGRAMS[name]))
    outcome = command("run", "-n", "2", str(script), ATOLL_WAIT_CHECK="0.2")
    assert outcome.code == 1, outcome
    assert "seen" not in outcome.output, outcome
    assert "DivergenceError: ranks have diverged" in outcome.errors, outcome
    assert "variant.py:8" in outcome.errors or "variant.py:9" in outcome.errors, outcome


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize("change", ["a[3] = 5", "a += 1", "a.local[...] = 5", "a.sort()"])
def test_a_changed_copy_is_another_array(change: str, rank: int) -> None:
    with atoll.world.split(0):
        a = atoll.arange(400.0) + 1
        b = a.copy()
        atoll.sync()
        exec(change)
        atoll.sync()

        def one_of_two() -> float:
            return float(a.sum() if rank else b.sum())

        with pytest.raises(DivergenceError, match="different arrays"):
            one_of_two()


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_equal_numbers_of_all_kinds_are_no_divergence(rank: int) -> None:
    """Numbers that each rank works out by itself, and reads of what all have on some ranks only."""
    with atoll.config(small=30, everywhere=100):
        looks(rank)


def looks(rank: int) -> None:
    rng = numpy.random.default_rng(3)
    a, right = atoll.arange(600.0).reshape(60, 10) + 1, numpy.arange(600.0).reshape(60, 10) + 1
    for step in range(4):
        weights = rng.random(10)
        means, columns = a.mean(0), right.mean(0)
        if rank == step % 2:
            assert str(means * 2)
        number = float(a.max()) ** 0.5 + numpy.nan_to_num(numpy.nan)
        a = a * weights - means / 3 + number * numpy.float32(0.1) + (step if rank < 9 else 0)
        right = right * weights - columns / 3 + right.max() ** 0.5 * numpy.float32(0.1) + step
        a[step] = numpy.nan
        right[step] = numpy.nan
        a = atoll.nan_to_num(a * complex(1, 0)).real
        right = numpy.nan_to_num(right)
    numpy.testing.assert_allclose(numpy.asarray(a), right)


def growing(size: int) -> float:
    """An array of a length that only one rank makes for itself does no harm."""
    a = atoll.ones(size)
    if atoll.world.rank == 0:
        atoll.array(numpy.zeros(size + 1))
    return float((a * 2).sum())


def test_an_array_that_one_rank_makes_and_drops() -> None:
    with atoll.config(small=0, everywhere=0):
        assert run(2, growing, 100) == [200.0, 200.0]
