"""Halos travel while the interior computes: on virtual clocks, the longer of both counts, not the sum."""

from math import prod

import numpy as np
import pytest

import atoll
from atoll import Layout
from atoll.backend.numpy import NumpyStep
from atoll.comm.simulated import Simulation
from atoll.config import config
from atoll.exchange.schedule import Exchange

N = 100
SECONDS_PER_ELEMENT = 1 / (N * N)
"""Each rank has N x N elements, so its share takes about a second."""


@pytest.fixture
def computing_takes_time(monkeypatch, by_numpy):
    run = NumpyStep.run

    def run_in_time(step, state):
        elements = prod(step.launch.extents)
        atoll.world.communicator.advance(elements * SECONDS_PER_ELEMENT)
        run(step, state)

    monkeypatch.setattr(NumpyStep, "run", run_in_time)


def step(u):
    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    u._cell.settle()  # what looking at it does, but asks nobody


def relaxed(size, steps, late, letters="bn"):
    """The grid after some steps of which the given rank begins the first late, and this rank's time."""
    shape = (N * size, N) if letters == "bn" else (N, N * size)
    for first in (True, False):
        u = atoll.zeros(shape, layout=Layout(shape, letters, size=size))
        u[0] = 1.0
        u[:, 0] = 2.0
        atoll.sync()
        if first:  # then the ranks know that all of them have the plan
            step(u)
    communicator = atoll.world.communicator
    communicator.barrier()
    start = communicator.clock
    rank, seconds = late
    if communicator.rank == rank:
        communicator.advance(seconds)
    for _ in range(steps):
        step(u)
    return communicator.clock - start, np.asarray(u)


def expected(shape, steps):
    u = np.zeros(shape)
    u[0] = 1.0
    u[:, 0] = 2.0
    for _ in range(steps):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return u


@pytest.mark.parametrize("letters", ["bn", "nb"])
@pytest.mark.parametrize("latency", [0.0, 0.5, 0.9, 2.5])
def test_a_step_takes_the_longer_of_computing_and_messages(computing_takes_time, letters, latency):
    steps = 3
    with config(small=0):
        found = Simulation(3, latency=latency).run(relaxed, 3, steps, (0, 0.0), letters)
    for seconds, grid in found:
        longer = max(1.0, latency)
        assert steps * longer * 0.95 <= seconds <= steps * longer * 1.1
        np.testing.assert_array_equal(grid, expected(grid.shape, steps))


def test_a_late_neighbour_is_waited_for_while_the_interior_computes(computing_takes_time):
    with config(small=0):
        found = Simulation(2, latency=0.1).run(relaxed, 2, 1, (1, 0.8))
    (seconds, grid), (late, _) = found
    assert 0.95 <= seconds <= 1.1  # and not 0.9 more
    assert 1.75 <= late <= 1.9
    np.testing.assert_array_equal(grid, expected(grid.shape, 1))


def test_one_message_slower_than_the_others_delays_only_who_needs_it(computing_takes_time):
    def latency(source, destination, nbytes):
        return 1.7 if (source, destination) == (0, 1) else 0.2

    with config(small=0):
        found = Simulation(4, latency=latency).run(relaxed, 4, 1, (0, 0.0))
    seconds = [one for one, _ in found]
    assert 1.65 <= seconds[1] <= 1.85
    assert all(0.95 <= seconds[rank] <= 1.1 for rank in (0, 2, 3))


def test_waiting_before_computing_would_be_noticed(computing_takes_time, monkeypatch):
    begin = Exchange.begin

    def begin_and_wait(exchange, state):
        begin(exchange, state)
        exchange.finish(state)

    monkeypatch.setattr(Exchange, "begin", begin_and_wait)
    with config(small=0):
        found = Simulation(2, latency=0.9).run(relaxed, 2, 1, (0, 0.0))
    assert min(seconds for seconds, _ in found) >= 1.85
