"""Large results of small arrays, which ranks divide though every rank has the operands."""

from __future__ import annotations

import threading
from contextvars import copy_context

import numpy
import pytest

import atoll
from atoll.comm.world import current_world
from atoll.errors import DivergenceError

from .test_undivided_arrays import traffic, usual, usually

N = 20


def line():
    return numpy.random.default_rng(3).integers(1, 128, N) / 128


def distances(np, x):
    return x[:, None] - x[None, :]


def products(np, x):
    return np.multiply(x[:, None], x)


def outer(np, x):
    return np.outer(x, x)


def choices(np, x):
    return np.where(x[:, None] > x, x, 0.25)


def of_a_list(np, x):
    return x[:, None] * [1.0, 2.0, 3.0, 4.0]


SPREADS = [distances, products, outer, choices, of_a_list]


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.simulated(4, 30)
@pytest.mark.parametrize("spread", SPREADS, ids=lambda spread: spread.__name__)
@usually
def test_a_large_result_of_small_arrays_lies_on_the_ranks(spread, size):
    for turn in range(4):
        x = atoll.array(line() * (turn + 1)) * 1
        ours, theirs = spread(atoll, x), spread(numpy, line() * (turn + 1))
        assert x.layout.is_replicated
        assert (size == 1) == ours.layout.is_replicated
        numpy.testing.assert_array_equal(numpy.asarray((ours * 2).sum(axis=1)), (theirs * 2).sum(1))
        numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)
        assert float(ours.max()) == theirs.max()


@pytest.mark.ranks(2, 3)
@usually
def test_an_array_on_every_rank_takes_it_without_a_message():
    current_world().communicator.log.undivided.add((N, N))
    whole, expected = atoll.array(numpy.ones((N, N))), numpy.ones((N, N))
    current_world().communicator.log.undivided.clear()
    assert whole.layout.is_replicated
    x, y = atoll.array(line()), line()
    atoll.sync()
    before = traffic()
    for k in range(N - 3):
        whole[k:] -= 2 * (x[k:, None] * x)
        expected[k:] -= 2 * (y[k:, None] * y)
    atoll.sync()
    after = traffic()
    assert after[0] == before[0]
    assert after[1] - before[1] <= 1  # of the last sync
    assert whole.layout.is_replicated
    numpy.testing.assert_array_equal(numpy.asarray(whole), expected)


@pytest.mark.ranks(2, 3)
@usually
def test_a_line_whose_result_every_rank_needs_divides_no_more():
    log = current_world().communicator.log
    log.undivided.add((N, N))
    whole = atoll.array(numpy.ones((N, N)))
    log.undivided.clear()
    x, layouts = atoll.array(line()), []
    for _ in range(3):
        spread = x[:, None] * x
        layouts.append(spread.layout.is_replicated)
        whole[...] = spread + 1
    assert layouts == [False, True, True]
    numpy.testing.assert_array_equal(numpy.asarray(whole), numpy.outer(line(), line()) + 1)


@pytest.mark.ranks(2, 3)
def test_what_the_program_and_the_ranks_have_decided_holds():
    with usual():
        x = atoll.array(line())
        with atoll.config(everywhere=N * N + 1):
            assert (x[:, None] * x).layout.is_replicated
        current_world().communicator.log.undivided.add((N, N))
        assert (x[:, None] * x).layout.is_replicated
        assert not (x[:, None, None] * x[:, None] * x).layout.is_replicated
    with usual(pieces=N * N):
        x = atoll.array(line())
        assert (x[:, None] * x).layout.is_replicated


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.simulated(3)
@usually
def test_a_value_that_two_results_need_is_stored_from_the_second_turn_on():
    x, stored = atoll.array(line()), []
    for _ in range(5):
        near = atoll.sqrt(abs(x[:, None] - x) + 1)
        first = float((near * 2).sum())
        stored.append(near._cell.node.value is not None)
        second = float((near * 3).sum())
        expected = numpy.sqrt(abs(line()[:, None] - line()) + 1).sum()
        numpy.testing.assert_allclose([first / 2, second / 3], expected, rtol=1e-12)
    assert stored == [False, True, True, True, True]


@pytest.mark.ranks(2, 3)
@usually
def test_pending_operands_that_one_rank_has_read_do_not_matter(rank):
    x, y = atoll.array(line()), line()
    for _ in range(4):
        x, y = x * 1.5 - 0.25, y * 1.5 - 0.25
        if rank == 0:
            assert x[0] == y[0]
        numpy.testing.assert_array_equal(numpy.asarray(x[:, None] - x), y[:, None] - y)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(3)
def test_ranks_with_other_operands_are_told(rank):
    with atoll.world.split(0, rank), usual(small=10):
        x = atoll.array(line() + rank)
        assert x.layout.is_replicated
        with pytest.raises(DivergenceError, match="a large result"):
            float((x[:, None] - x).max())


@pytest.mark.ranks(2, 3)
@usually
def test_forces_between_pairs_come_to_all_ranks_and_the_pairs_stay_divided():
    p, q = atoll.array(line()) * 1, line()
    v, w = p * 0, q * 0
    for _ in range(4):
        apart, theirs = p - p[:, None], q - q[:, None]
        assert not apart.layout.is_replicated
        v += (apart * 0.5).sum(axis=1)
        w += (theirs * 0.5).sum(axis=1)
        p, q = p + v, q + w
        assert v.layout.is_replicated
    numpy.testing.assert_allclose(numpy.asarray(p), q, rtol=1e-12)


def pairs(x, y):
    return x[:, None] - y


@pytest.mark.ranks(2)
@usually
def test_a_line_divides_larger_results_than_those_that_all_ranks_needed():
    log = current_world().communicator.log
    x = atoll.array(line())
    log.undivided.add((N, 3))
    whole = atoll.array(numpy.ones((N, 3)))
    log.undivided.clear()
    whole[...] = pairs(x, x[:3] * 1)
    assert pairs(x, x[:3] * 1).layout.is_replicated
    assert not pairs(x, x).layout.is_replicated


@pytest.mark.ranks(2)
@usually
def test_other_threads_than_the_first_divide_nothing():
    x, found = atoll.array(line()), []

    def work():
        spread = x[:, None] - x
        found.append((spread.layout.is_replicated, float(spread.max())))

    threads = [threading.Thread(target=copy_context().run, args=(work,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(True, line().max() - line().min())] * 3
    assert not (x[:, None] - x).layout.is_replicated


@pytest.mark.ranks(2)
@usually
def test_a_reference_that_one_rank_has_does_not_change_what_ranks_store(rank):
    x, kept = atoll.array(numpy.arange(300.0)), []
    assert not x.layout.is_replicated
    for k in range(12):
        y = x + k
        atoll.sync()
        near = atoll.sqrt(y)
        if k >= 5:
            assert float((near * 2).sum()) > 0
        thrice = near * 3
        if rank == 0 and k == 5:
            kept.append(y)
        del y
        atoll.sync()
        assert float(thrice.max()) == 3 * numpy.sqrt(299.0 + k)
        kept.clear()


@pytest.mark.ranks(2, 3)
@usually
def test_an_array_on_every_rank_stays_there_at_each_turn(size):
    v, w = atoll.array(line()) * 1, line()
    divided = atoll.zeros(N, layout=atoll.Layout((N,), size=size)) + 1
    for _ in range(4):
        v += divided * 0.5
        w += 0.5
        assert v.layout.is_replicated
    numpy.testing.assert_array_equal(numpy.asarray(v), w)


@pytest.mark.ranks(3)
@usually
def test_what_ranks_have_stored_in_one_world_is_not_stored_in_another(rank):
    def program(k):
        y = atoll.sqrt(atoll.arange(300.0) + k)
        return float((y * 2).sum()), float((y * 3).sum())

    with atoll.world.split(int(rank < 2), rank):  # the third rank is alone
        for k in range(4):
            program(k)
    for k in range(6):
        expected = numpy.sqrt(numpy.arange(300.0) + k).sum()
        numpy.testing.assert_allclose(program(k), [2 * expected, 3 * expected], rtol=1e-12)
