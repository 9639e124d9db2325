"""What ranks send each other does not depend on when they collect garbage."""

from __future__ import annotations

import gc

import pytest

import atoll as np
from atoll import policy
from atoll.comm.simulated import run
from atoll.lazy import pending


@pytest.fixture(autouse=True)
def collect_what_is_made_here():
    """The garbage of the test alone is looked for, not all that earlier tests have made."""
    gc.collect()
    gc.freeze()


class Holder:
    """A garbage cycle that has arrays."""

    def __init__(self, *arrays: object) -> None:
        self.arrays = arrays
        self.me = self


def cycles(rank: int) -> float:
    """Cycles hold old versions, views and pending values; each rank collects them when it likes."""
    a = np.zeros((24, 5))
    a[0] = 1.0
    total = 0.0
    for step in range(12):
        temporary = np.zeros((24, 5))
        temporary[2:-2] = a[4:] - a[:-4]
        shifted = temporary[1:] + temporary[:-1]
        Holder(temporary, shifted, a[1:], a * step)
        a[1:-1] = (a[2:] + a[:-2]) / 2 + shifted[1:]
        Holder(a.copy() if step % 3 == 0 else a, [a.T])
        if rank == step % 3:
            gc.collect()
        a[-1] = step
        del temporary, shifted
        total += float(a.sum())
    return total


def shared(rank: int) -> float:
    """One array that a cycle and a variable hold: it dies of the one on some ranks, of the other on others."""
    total = 0.0
    for step in range(6):
        a = np.ones((16, 4))
        a[3:5] = step
        b = a[1:] * a[:-1]
        Holder(a)
        if rank % 2 == 0:
            gc.collect()
        del a
        if rank % 2:
            gc.collect()
        a = b + 1
        a[2:4] = b[:2]
        Holder(a)
        a[5] = 0
        total += float((a[1:] - a[:-1]).max()) + float(b.sum())
    return total


def allocating(rank: int) -> float:
    """Ranks make different numbers of Python objects, so automatic collections come at different times."""
    kept = []
    a = np.arange(40.0)
    total = 0.0
    for step in range(30):
        Holder(a, a[1:])
        kept += [[k] for k in range(400 * rank)]
        old = a.copy()
        a[1:-1] = (a[2:] + a[:-2]) / 2 + step
        total += float(abs(a - old).max())
    return total + 0.0 * len(kept)


def synchronised(rank: int) -> float:
    """sync() computes what all ranks have, not what only one has yet to collect."""
    total = 0.0
    for step in range(6):
        a = np.arange(30.0) + step
        Holder(a[1:] * 2, a + 5)
        if rank == 1:
            gc.collect()
        b = a[1:] - a[:-1]
        a[2] = 7
        np.sync()
        total += float(b.sum() + a.sum())
    return total


def by_columns_and_rows(rank: int) -> float:
    """An assigned array that only garbage holds is read where it does not lie: were it not stored on the ranks
    that have collected it, these would ask for other elements."""
    f = (np.arange(256.0) % 11).reshape(16, 16).redistribute(np.Layout((16, 16), "nb"))
    e = (np.arange(256.0) % 7).reshape(16, 16).redistribute(np.Layout((16, 16), "bn"))
    total = 0.0
    for step in range(4):
        t = e * step
        t[2:-2] = e[4:] - e[:-4]
        d = f + t
        Holder(t)
        del t
        if rank % 2 == 0:
            gc.collect()
        total += float(d.sum())
    return total


def old_versions(rank: int) -> float:
    """Only garbage has the old version of what is assigned to: were it overwritten on the ranks that have
    collected it, the assignment would be a loop of its own there, with a message of its own."""
    a = (np.arange(256.0) % 5).reshape(16, 16).redistribute(np.Layout((16, 16), "bn"))
    b = (np.arange(256.0) % 7).reshape(16, 16).redistribute(np.Layout((16, 16), "bn"))
    total = 0.0
    for step in range(4):
        Holder(a.copy())
        if rank % 2 == 0:
            gc.collect()
        c = b * step
        c[:-1] = b[1:] * 2
        a[4:8] = b[6:10]
        total += float((a + c).sum())
    return total


def taken_for_another(rank: int) -> float:
    """What some ranks have yet to collect looks like what all have; it is older on some, newer on others."""
    x = np.arange(40.0)
    total = 0.0
    for step in range(3):
        kept = []
        for number in (2.0, 3.0, 4.0):
            scaled = x * (number + step)
            made = np.cumsum(scaled) + scaled[::-1]
            if number == 3:
                kept.append(made)
            elif rank % 2 == (number == 2):
                Holder(made)
            del made, scaled
        np.sync()
        total += float(kept[0][3:9].sum() + kept[0].max())
    return total


PROGRAMS = [
    cycles,
    shared,
    allocating,
    synchronised,
    by_columns_and_rows,
    old_versions,
    taken_for_another,
]


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(3)
def test_collecting_at_different_times_changes_nothing(program, rank, size):
    automatic = gc.isenabled()
    if program is not allocating:
        gc.disable()
    try:
        found = program(rank)
    finally:
        if automatic:
            gc.enable()
    with np.world.split(rank):
        assert found == pytest.approx(program(0), rel=1e-12)


@pytest.mark.parametrize("held", [policy.limits.held, 4000, 600])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_plans_are_the_same(program, held):
    """Ranks also look at the same steps at what pending work keeps alive: once they have stored as many bytes as they may hold."""

    def noted():
        with np.config(small=0), policy.limited(held=held):
            value = program(np.world.rank)
            log = np.world.communicator.log
            return log.hash, log.number, value

    found = run(3, noted)
    assert found[0][:2] == found[1][:2] == found[2][:2]
    assert found[0][1] > 3


@pytest.mark.ranks(2)
def test_what_values_share_is_computed_once(rank, size):
    a = np.arange(64.0)
    np.sync()
    shared = np.exp(a / 64)
    one, two = shared + 1, shared * 2
    before = np.stats().kernels_run
    np.sync()
    assert np.stats().kernels_run == before + 1
    del shared
    assert one.sum() > 64
    assert two.sum() > 128


@pytest.mark.slow
@pytest.mark.simulated(3)
def test_values_are_computed_one_by_one_where_some_ranks_have_more(rank, size):
    a = np.arange(64.0)
    np.sync()
    shared = np.exp(a / 64)
    kept = [shared + 1, shared * 2]
    if rank == 1:
        Holder(np.sqrt(shared))  # garbage that the others never had a reason to keep
    else:
        np.sqrt(shared)
    np.sync()
    assert kept[0].sum() + kept[1].sum() > 192


@pytest.mark.ranks(2, 3)
def test_garbage_may_go_while_ranks_agree(rank):
    x = np.arange(40.0)
    np.sync()
    Holder(np.cumsum(x * 2) + x[::-1])
    kept = np.cumsum(x * 3) + x[1]
    before = pending.agree

    def agree(*args):
        found = before(*args)
        if rank == 0:
            gc.collect()
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pending, "agree", agree)
        np.sync()
    assert float(kept[5]) == 46.0
