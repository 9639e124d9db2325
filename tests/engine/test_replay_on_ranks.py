"""Programs that ranks run together again and again: natively, with the values and the errors of the first time."""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

import numpy
import pytest

import atoll as np
from atoll import front
from atoll.comm.persistent import PersistentBuffers
from atoll.errors import DivergenceError

pytestmark = pytest.mark.skipif(front.native is None, reason="the native front was not built")
PACKAGE = str(Path(np.__file__).parent)
COMMUNICATION = str(Path(np.__file__).parent / "comm")
CALLS = 3
"""Functions of Python that a step enters, with one exchange and one reduction: one, and two more where it waits for messages."""


@pytest.fixture(autouse=True)
def _divided():
    with np.config(small=0):
        yield


def start(n=60):
    u = np.zeros((n, n))
    u[0] = numpy.linspace(0, 1, n)
    return u


def step(u, factor=0.25):
    """A step of Laplace's equation."""
    old = u.copy()
    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * factor
    change = (u - old).ravel()
    return float(np.dot(change, change))


def entered(work):
    """The functions of the package that are entered, but those of communicators, where a wait takes any number of calls."""
    names, apart = [], []

    def note(frame, event, _):
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE) or event not in ("call", "return"):
            return
        if code.co_filename.startswith(COMMUNICATION):
            (apart.append if event == "call" else apart.remove)(code)
        elif not apart and event == "call":
            names.append(code.co_qualname)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.ranks(2)
def test_a_steady_step_enters_few_functions(rank):
    u = start(200)  # of which no view is short: Python counts how often those are read
    for _ in range(50):
        step(u)
    before = np.stats()
    found = min([entered(lambda: step(u)) for _ in range(20)], key=len)
    after = np.stats()
    assert not {"_compute", "Program.run"} & {*found}
    assert 0 < len(found) <= CALLS, " ".join(found)
    assert after.plans_reused - before.plans_reused == 20
    assert after.plans_made == before.plans_made
    assert after.messages - before.messages == 20
    assert after.bytes_moved > before.bytes_moved


def expected(v):
    """What NumPy makes of a step."""
    old = v.copy()
    v[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) * 0.25
    return ((v - old) ** 2).sum()


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("late", [False, True])
def test_values_are_those_of_numpy(rank, size, late):
    """True if the ranks come together, or wait for each other longer than C tests their messages."""
    u, v = start(), numpy.array(start())
    for turn in range(30):
        if late and turn % size == rank:
            time.sleep(0.005)
        numpy.testing.assert_allclose(step(u), expected(v), rtol=1e-12)
    numpy.testing.assert_array_equal(numpy.asarray(u), v)


@pytest.mark.ranks(2, 3)
def test_sums_that_overflow_between_ranks_are_warned_of(rank):
    u = np.zeros((60, 60))
    u[0, 0] = u[-1, -1] = 1.0

    def total(factor):
        return float((u * factor).sum())

    def overflow():
        for _ in range(10):
            assert total(2.0) == 4.0
        assert "_compute" not in entered(lambda: total(2.0))
        assert total(1.5e308) == numpy.inf

    with pytest.warns(RuntimeWarning, match="overflow"):
        overflow()


@pytest.mark.ranks(2, 3)
def test_messages_that_a_failed_run_has_left_are_ended_first(rank):
    def sets():
        known = [each for each in gc.get_objects() if isinstance(each, PersistentBuffers)]
        return {id(each): each for each in known}

    before, u, v = sets(), start(), numpy.array(start())
    for turn in range(12):
        if turn == 8:
            for number, each in sets().items():
                if number not in before:
                    each.begin()
                    before[number] = each
        assert step(u) == pytest.approx(expected(v), rel=1e-12)
    numpy.testing.assert_array_equal(numpy.asarray(u), v)
    assert not any(each.under_way for each in before.values())


OTHERS = {
    "a number": lambda u, v: step(u, 0.125),
    "an operation": lambda u, v: float((u * u).sum()),
    "an array": lambda u, v: step(v),
}


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("other", OTHERS)
def test_ranks_that_diverge_at_such_a_step_get_an_error(rank, size, other):
    with np.world.split(0, rank):
        u, v = start(), start()
        for _ in range(10):
            step(u)
            step(v)
        assert "_compute" not in entered(lambda: step(u))
        last = OTHERS[other] if rank else lambda u, v: step(u)
        with pytest.raises(DivergenceError, match="ranks have diverged"):
            last(u, v)


@pytest.mark.ranks(2)
def test_warnings_of_one_rank_are_given_by_all(rank):
    a = np.arange(1.0, 4001.0)
    for k in range(20):
        a[0] = -1.0 if k > 15 else 1.0
        total = np.log(a[:4000])
        if k > 15:
            with pytest.warns(RuntimeWarning, match="invalid value"):
                float(total.sum())
        else:
            float(total.sum())
