"""A value that every rank will have may be looked at on some ranks only."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.comm.simulated import run
from atoll.errors import DivergenceError

from ..cli.commands import atoll

SIZES = (1, 2, 3, 4)


def smoothed(a):
    old = a.copy()
    a[1:-1] = (a[2:] + a[:-2]) / 2
    return old


def start():
    a = np.zeros((40, 3))
    a[0] = 1.0
    return a


def expected(steps):
    a = numpy.zeros((40, 3))
    a[0] = 1.0
    found = []
    for _ in range(steps):
        old = a.copy()
        a[1:-1] = (a[2:] + a[:-2]) / 2
        found.append(numpy.sqrt(((a - old) ** 2).sum()))
    return found


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(*SIZES)
def test_who_looks_at_a_sum_may_change(rank, size):
    a = start()
    seen = []
    for step, right in enumerate(expected(8)):
        old = smoothed(a)
        error = np.sqrt(((a - old) ** 2).sum(keepdims=True))
        if rank == step % size or step == 5:
            assert str(error)
            assert error.item() == pytest.approx(right)
        seen.append(error)
    assert [error.item() for error in seen] == pytest.approx(expected(8))


def extremes(rank, a):
    low, high = a.min(keepdims=True), a.max(keepdims=True)
    if rank == 0:
        assert low.item() <= high.item()


def another_line(rank, a):
    total = a.sum(keepdims=True)
    if rank == 0:
        assert total.item() > 0
    high = a.max(keepdims=True)
    if rank == 1:
        assert high.item() == 1.0


def in_a_loop(rank, a):
    found = []
    for row in range(4):
        found.append(a[row].sum(keepdims=True))
        if rank == row:
            assert found[-1].item() >= 0
    assert sum(found).item() > 0


def along_an_axis(rank, a):
    with np.config(small=8):
        columns = np.sum(a, axis=0)
    position = a.argmax(keepdims=True)
    if rank == 0:
        assert str(columns)
    assert position.item() == 0


def before_a_sort(rank, a):
    total = a.sum(keepdims=True)
    if rank == 0:
        str(total)
    b = np.sort(a, axis=0)
    mean = a.mean(keepdims=True)
    if rank == 1:
        str(mean)
    b[3, 1] = 7
    norm = np.linalg.norm(b, keepdims=True)
    if rank == 0:
        assert norm > 7
    assert b[3, 1] == 7


def statistics(rank, a):
    spread, deviation = np.ptp(a, keepdims=True), a.std(keepdims=True)
    if rank == 0:
        assert spread == 1.0
    assert deviation > 0


def other_communication(rank, a):
    total = a.sum(keepdims=True)
    if rank == 0:
        assert total.item() > 0
    np.world.barrier()
    highest = a.max(keepdims=True)
    if rank == 0:
        assert highest == 1.0
    with np.world.split(0):
        inner = np.ones(10).sum(keepdims=True)
        if rank == 0:
            assert inner == 10
    count = np.count_nonzero(a > 0.5, keepdims=True)
    if rank == 0:
        assert count > 0
    np.sync()


def before_much_work(rank, a):
    """What is too heavy to wait is computed at the same operation by who has looked and by who has not."""
    heavy = a
    for _ in range(250):
        heavy = np.sin(heavy) + 1
    a[1:] = heavy[1:]
    total = a.sum(keepdims=True)
    if rank == 0:
        assert total.item() > 0
    for _ in range(100):
        a = np.cos(a) + 1
    assert a.max() > 0


PROGRAMS = [
    extremes, another_line, in_a_loop, along_an_axis, before_a_sort, statistics, other_communication,
    before_much_work,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(*SIZES)
def test_looks_of_one_rank(program, rank):
    a = start()
    for _ in range(3):
        smoothed(a)
        program(rank, a)
    assert a.sum() > 3


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(3)
def test_looks_at_what_every_rank_has(rank):
    with np.config(small=4):
        own = np.arange(3.0) * 2  # small: on every rank
        a = start()
        if rank == 0:
            assert str(own) == "[0. 2. 4.]"
        b = a * own
        columns = b.sum(axis=0)
        weights = columns * 2 + own
        if rank == 1:
            assert str(weights)
        assert ((a * weights).sum(keepdims=True)).item() == pytest.approx(
            2 * 4 + 4 + 4 * 4 - 4, abs=20
        )


@pytest.mark.ranks(2, distributes=True)
@pytest.mark.simulated(2, 3)
def test_a_part_that_lies_on_ranks_is_still_for_all(rank):
    with np.world.split(0, rank):
        a = start()
        total = a.sum(keepdims=True)

        def part():
            if rank == 0:
                str(a * 2)
            return ((a * 3).max(keepdims=True) + total).item()

        with pytest.raises(
            DivergenceError,
            match=r"test_reads_on_some_ranks.py:\d+.*test_reads_on_some_ranks.py:\d+",
        ):
            part()


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(3)
def test_a_look_costs_no_message_and_no_kernel(rank, size):
    a = start()

    def counts(looks):
        before = np.stats()
        for _ in range(6):
            old = smoothed(a)
            error = ((a - old) ** 2).sum(keepdims=True)
            if looks:
                error.item()
        np.sync()
        after = np.stats()
        return after.messages - before.messages, after.kernels_run - before.kernels_run

    counts(True)
    everybody = counts(True)
    assert counts(False) == counts(rank == 0) == everybody


def test_the_steps_are_the_same_on_all_ranks():
    def noted():
        rank = np.world.rank
        with np.config(small=0):
            a = start()
            for step in range(5):
                old = smoothed(a)
                error = ((a - old) ** 2).sum(keepdims=True)
                if step % 3 == rank:
                    str(error)
            np.sync()
            log = np.world.communicator.log
            return log.hash, log.number

    found = run(3, noted)
    assert found[0] == found[1] == found[2]


@pytest.mark.ranks(2, distributes=True)
@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize(
    "number",
    [lambda a: a.sum(), lambda a: a @ a, lambda a: a.std(), lambda a: a.argmax(), lambda a: a[3]],
    ids=["sum", "dot", "std", "argmax", "element"],
)
def test_a_number_is_for_all_ranks(number, rank):
    with np.world.split(0, rank):
        a = np.arange(400.0) + 1
        total = number(a)
        if rank == 0:
            assert total >= 0  # a number that is there may be printed by one rank

        def one_sided():
            if rank == 0:
                str(number(a * 2))
            return a.max()

        with pytest.raises(
            DivergenceError,
            match=r"test_reads_on_some_ranks.py:\d+.*test_reads_on_some_ranks.py:\d+",
        ):
            one_sided()


LAST = """
import atoll as np
np.config.small = 0
a = np.ones(1000)
a[3:7] = 5
total = (a * 2).sum(keepdims=True)
if np.world.rank == {rank}:
    assert str(total) == "[2032.]", str(total)
"""


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_the_last_line_may_be_a_look_of_one_rank(rank: int, tmp_path: Path) -> None:
    script = tmp_path / "last.py"
    script.write_text(LAST.format(rank=rank))
    outcome = atoll("run", "-n", "2", str(script), ATOLL_WAIT_CHECK="0.2")
    assert outcome.code == 0, outcome


RULES = """
import numpy
import atoll as np
a = np.arange(9000.0) - 5
before = np.world.communicator.traffic.collectives
for k in range(3):
    with np.errstate(divide="ignore"):
        b = 1 / (a - k)
    if np.world.rank == 1:
        with np.errstate(all="ignore"):
            assert float(np.log(-abs(b)).max()) != 0
    assert float(b[5 + k]) == numpy.inf
assert np.world.communicator.traffic.collectives == before
c = np.ones(10**6)
with np.errstate(invalid="ignore"):
    assert float((c - 1).sum()) == 0
assert np.world.communicator.traffic.collectives > before
"""


@pytest.mark.slow
def test_rules_for_errors_are_each_ranks_own_until_an_array_is_divided(tmp_path: Path) -> None:
    script = tmp_path / "rules.py"
    script.write_text(RULES)
    outcome = atoll("run", "-n", "2", str(script), ATOLL_WAIT_CHECK="0.2")
    assert outcome.code == 0, outcome
    assert "Warning" not in outcome.errors, outcome


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1)
def test_a_loop_that_nobody_looks_into_is_computed_turn_by_turn(rank):
    a, runs = start(), []
    for _ in range(12):
        a[1:-1] = (a[2:] + a[:-2]) / 2
        a[0] += 1
        runs.append(np.stats().kernels_run)
    turns = [after - before for before, after in pairwise(runs[3:])]
    assert min(turns) > 0
    assert a.sum() > 3


@pytest.mark.ranks(2)
@pytest.mark.simulated(2, 3)
def test_heavy_numbers_are_computed_in_each_turn():
    with policy.limited(pending=3):
        for _ in range(3):
            a = np.arange(40.0) * 2 + 1 - 3
            few = (a[5, ...] * 2 + 1, np.where(a[6, ...] > 0, a[7, ...], 0.0), a[8:9].sum())
            assert list(map(float, few)) == [17.0, 12.0, 14.0]


def totals(module, shape, *, looks):
    """Numbers of rows of what changes in each turn, which this rank may look at before."""
    x = module.ones(shape) + module.arange(float(shape[0] * shape[1])).reshape(shape) * 1e-5
    found = []
    for k in range(30):
        x = x * 1.0001 + 0.001
        if looks and k % 3 == 0:
            float(x[0, 5])
        first, second = x[1], x[2]
        y = 1 / (first + 2) * first + second / 3
        stacked = module.stack([y, first, second])
        squares = (stacked * stacked[::-1]).sum(axis=0)
        found += [float(y.sum()), float(squares.mean()), float(module.dot(first, second))]
        found.append(float(module.linalg.norm(squares)))
    return found


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.parametrize("shape", [(16, 3000), (8, 4500), (20, 9000), (300, 200)], ids=str)
def test_a_look_of_one_rank_changes_no_bit(shape, rank):
    with np.config(small=30_000, everywhere=None):
        unseen = totals(np, shape, looks=False)
        assert totals(np, shape, looks=rank == 0) == unseen
        numpy.testing.assert_allclose(unseen, totals(numpy, shape, looks=False), rtol=1e-12)
