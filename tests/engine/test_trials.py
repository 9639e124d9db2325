"""Loops are tried both ways, and go the one whose turns are shorter, whatever slices they have and where their operations stand."""

from __future__ import annotations

import gc

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.config import config
from atoll.front import native
from atoll.lazy import trials
from atoll.lazy.evaluate import _programs
from atoll.lazy.profiles import alone

pytestmark = pytest.mark.skipif(native is None, reason="NumPy is called by the native front")
N = 220


class Clock:
    """A time that passes with the turns of a loop: so much for one that NumPy computes, and more or less for each kernel instead."""

    def __init__(self):
        self.now = 0
        self.kernel = 0
        self.kernels = np.stats().kernels_run

    def __call__(self):
        return self.now

    def turn(self):
        """Let a turn end; whether it was recorded."""
        kernels, self.kernels = self.kernels, np.stats().kernels_run
        self.now += 30_000 + self.kernel * (self.kernels - kernels)
        return kernels != self.kernels


@pytest.fixture
def clock(monkeypatch):
    _programs.forget()
    gc.collect()  # as long as a world of several ranks is there, NumPy is called by the runtime alone
    trials.Loop.tried = None
    clock = Clock()
    monkeypatch.setattr(trials, "thread_time_ns", clock)
    with config(small=30_000), policy.limited(judged=2, ignored=(32, 64)):
        yield clock
    trials.Loop.tried = None
    alone.sites.clear()


def grid():
    return numpy.random.default_rng(3).random((N, N))


def same_slices(a, k):
    a *= 0.5
    a += 1.0


def other_slices(a, k):
    part = a[k % 40 :, k % 30 :]
    part -= numpy.float64(0.5) * part


def outer(a, k):
    m = np if type(a) is np.ndarray else numpy
    a[k % 40 :, k % 30 :] -= m.outer(a[k % 40 :, 3], a[5, k % 30 :])


def fewer_than_small(a, k):
    """A large part of the array, of fewer elements than go to NumPy otherwise."""
    part = a[60 + k % 10 :, 60:]
    part -= numpy.float64(0.5) * part


def spread(a, k):
    m = np if type(a) is np.ndarray else numpy
    a[:] = 0.25 * (a + m.add.outer(a[:, k % 40], a[k % 40]))


def two_traces(a, k):
    halved(a)
    np.sync()
    a += 1.0


def halved(a):
    a *= 0.5


STEPS = [same_slices, other_slices, outer, spread, two_traces]


def turns(clock, step, a, expected, count):
    """How many of the last turns were recorded."""
    recorded = []
    for k in range(count):
        step(a, k)
        step(expected, k)
        np.sync()
        recorded.append(clock.turn())
    numpy.testing.assert_array_equal(numpy.asarray(a.copy()), expected)
    return sum(recorded[-count // 2 :]) / (count // 2)


@pytest.mark.parametrize("step", STEPS)
def test_a_loop_goes_the_quicker_way_and_turns_when_that_changes(clock, step):
    expected = grid()
    a = np.array(expected)
    clock.kernel = 10_000
    assert turns(clock, step, a, expected, 320) < 0.5
    clock.kernel = -10_000
    assert turns(clock, step, a, expected, 320) > 0.5
    clock.kernel = 10_000
    assert turns(clock, step, a, expected, 320) < 0.5


def test_turns_that_need_memory_from_the_system_are_not_judged(clock):
    """What is touched for the first time takes longer, which says nothing of later turns."""
    expected = numpy.random.default_rng(3).random((500, 600))
    a, before, recorded, latest = np.array(expected), native.fresh(), [], []
    clock.kernel = 1_000_000
    for _ in range(40):
        fresh = native.fresh()
        latest = [*latest[-2:], a + 1.0]
        np.sync()
        clock.now += 10_000_000 * (native.fresh() - fresh)
        recorded.append(clock.turn())
    numpy.testing.assert_array_equal(numpy.asarray(latest[-1]), expected + 1.0)
    assert native.fresh() > before
    assert not any(recorded[30:])


def test_a_view_of_fewer_elements_than_go_to_numpy_is_tried_as_well(clock):
    expected = grid()
    a = np.array(expected)
    same_slices(a, 0)
    same_slices(expected, 0)
    np.sync()
    clock.turn()
    clock.kernel = 10_000
    assert turns(clock, fewer_than_small, a, expected, 320) < 0.5
    clock.kernel = -10_000
    assert turns(clock, fewer_than_small, a, expected, 320) > 0.5


def test_what_numpy_has_computed_is_written_by_numpy(clock):
    expected = grid()
    a = np.array(expected)
    clock.kernel = 10_000
    turns(clock, spread, a, expected, 120)
    evaluated = []
    for k in range(40):
        before = np.stats()
        spread(a, k)
        after = np.stats()
        evaluated.append(
            after.plans_made + after.plans_reused > before.plans_made + before.plans_reused
        )
        clock.turn()
    assert sum(evaluated) <= 20  # in trials


def test_what_would_take_numpy_longer_in_any_case_is_not_tried(clock):
    expected = grid()
    a = np.array(expected)
    clock.kernel = -29_990
    assert turns(clock, same_slices, a, expected, 100) == 1


def test_a_loop_whose_anchor_the_front_does_not_see_is_recorded(clock):
    """A function of atoll's that is composed of operations: NumPy cannot be called in its place."""
    expected = grid()
    a = np.array(expected)
    clock.kernel = 10_000
    for _ in range(100):
        b = np.nan_to_num(a)
        np.sync()
        clock.turn()
    numpy.testing.assert_array_equal(numpy.asarray(b), expected)
    assert trials.Loop.tried is None


def test_one_loop_is_tried_at_a_time_and_all_come_to_it(clock):
    expected = grid()
    a, b = np.array(expected), np.array(expected)
    clock.kernel = 10_000
    for _ in range(150):
        a *= 0.5
        np.sync()
        clock.turn()
    assert len({id(loop) for site in alone.sites.values() for loop in site.loops.values()}) == 1
    for _ in range(150):  # the first one has ended, perhaps while it was tried
        b += 1.0
        np.sync()
        last = clock.turn()
    assert not last


def test_a_failure_in_a_trial_changes_nothing(clock, monkeypatch):
    def fails(self):
        raise RuntimeError("a mistake")

    monkeypatch.setattr(trials.Loop, "_turned", fails)
    failures = np.stats().planning_failures
    expected = grid()
    a = np.array(expected)
    with config(debug=False):
        assert turns(clock, same_slices, a, expected, 60) == 1
    assert np.stats().planning_failures > failures
