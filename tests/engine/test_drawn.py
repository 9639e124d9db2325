"""A fixed few of the programs that ``search.py`` draws by the thousand, on one process, on 2 to 16 simulated ranks, and
on real ones, on layouts of every kind."""

from __future__ import annotations

import random

import pytest

from atoll.comm import simulated

from . import checking, further, wider
from .forgetful import forgetting

pytestmark = [pytest.mark.timeout(240), pytest.mark.usefixtures("by_numpy")]


def drawn(seed, *, ranks):
    return wider.draw(seed, 14, exports=not ranks, ranks=ranks, kind=further.Further)


def test_one_process():
    for seed in range(20_000, 20_060):
        checking.check(drawn(seed, ranks=False))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(3))
def test_simulated_ranks(block):
    for seed in range(21_000 + block, 21_012, 3):
        size = random.Random(seed).randint(2, 16)
        program = drawn(seed, ranks=True)
        simulated.run(size, checking.check, program, seed=seed, rendezvous=seed % 2 == 1)


@pytest.mark.ranks(2, 3)
def test_ranks(rank):
    for seed in range(22_000, 22_006):
        checking.check(drawn(seed, ranks=True))


def test_simulated_ranks_whose_memos_forget():
    for seed in (
        23_022,
        23_042,
        23_043,
        23_044,
    ):  # some of which part if tables let two equal views live
        size = random.Random(seed).randint(2, 4)
        with forgetting(seed):
            simulated.run(size, checking.check, drawn(seed, ranks=True), seed=seed)


@pytest.mark.ranks(2, 3)
def test_ranks_whose_memos_forget(rank):
    """One rank has forgotten what the others remember."""
    with forgetting(rank):
        for seed in range(24_000, 24_004):
            checking.check(drawn(seed, ranks=True))
