"""A fixed few of the random programs that ``search.py`` draws by the thousand: on one process, on 2 to 16 simulated ranks, and
on real ones, on layouts of every kind.

Most run with NumPy as the executor of every loop (``backend/numpy``): what they test is
recording, planning and messages, thousands of times. Some run with compiled kernels.
"""

from __future__ import annotations

import random
from functools import cache

import pytest

from atoll.comm import simulated

from . import comparison, nested_statements, statements
from .cache_loss import forgetting

pytestmark = pytest.mark.timeout(240)  # many programs: on a busy machine a minute is too short


@cache
def drawn(seed, lines=14, *, ranks):
    return statements.draw(
        seed, lines, exports=not ranks, ranks=ranks, kind=nested_statements.NestedStatements
    )


def check_again(seeds, *, ranks):
    """Programs that run several times: at the fourth their traces are recognised without a walk."""
    for seed in seeds:
        program = drawn(seed, 8, ranks=ranks)
        for _ in range(5):
            comparison.check(program)


@pytest.mark.parametrize("block", range(3))
def test_one_process(block, by_numpy):
    for seed in range(20_000 + 60 * block, 20_060 + 60 * block):
        comparison.check(drawn(seed, ranks=False))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(6))
def test_more_programs_on_one_process(block, by_numpy):
    for seed in range(150 * block, 150 * block + 150):
        comparison.check(drawn(seed, ranks=False))


def test_one_process_with_kernels():
    for seed in range(5000, 5040):
        comparison.check(drawn(seed, ranks=False))


@pytest.mark.simulated(2, 3, 5)
def test_simulated_ranks(size, by_numpy):
    for seed in range(12):
        comparison.check(drawn(seed, 8, ranks=True))


@pytest.mark.slow
@pytest.mark.simulated(2, 3, 4, 7, 16)
@pytest.mark.parametrize("block", range(3))
def test_more_programs_on_simulated_ranks(block, size, by_numpy):
    count = 12 if size < 5 else 5  # what ranks do takes turns in one process
    for seed in range(21_000 + block * count, 21_000 + block * count + count):
        comparison.check(drawn(seed, 8, ranks=True))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(3))
def test_simulated_ranks_in_any_order(block, by_numpy):
    for seed in range(21_000 + block, 21_012, 3):
        size = random.Random(seed).randint(2, 16)
        program = drawn(seed, ranks=True)
        simulated.run(size, comparison.check, program, seed=seed, rendezvous=seed % 2 == 1)


@pytest.mark.ranks(2, 3)
def test_ranks(rank, by_numpy):
    for seed in range(22_000, 22_030):
        comparison.check(drawn(seed, 8, ranks=True))


@pytest.mark.ranks(2)
def test_ranks_with_kernels(rank):
    for seed in range(9100, 9106):
        comparison.check(drawn(seed, 8, ranks=True))


@pytest.mark.slow
def test_traces_that_come_again(by_numpy):
    check_again(range(12_000, 12_060), ranks=False)


def test_traces_that_come_again_with_kernels():
    check_again(range(12_100, 12_105), ranks=False)


@pytest.mark.simulated(2, 3)
def test_traces_that_come_again_on_simulated_ranks(by_numpy):
    check_again(range(12_200, 12_205), ranks=True)


@pytest.mark.ranks(2, 3)
def test_traces_that_come_again_on_ranks(rank, by_numpy):
    check_again(range(12_300, 12_306), ranks=True)


def test_simulated_ranks_whose_memos_forget(by_numpy):
    for seed in (23_022, 23_042, 23_043, 23_044):
        # some of which part if tables let two equal views live
        size = random.Random(seed).randint(2, 4)
        with forgetting(seed):
            simulated.run(size, comparison.check, drawn(seed, ranks=True), seed=seed)


@pytest.mark.ranks(2, 3)
def test_ranks_whose_memos_forget(rank, by_numpy):
    """One rank has forgotten what the others remember."""
    with forgetting(rank):
        for seed in range(24_000, 24_004):
            comparison.check(drawn(seed, ranks=True))
