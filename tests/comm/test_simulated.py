"""What only simulated ranks can do: clocks, faults, other orders, and seeing a deadlock."""

import contextvars
import threading

import numpy as np
import pytest

import atoll
from atoll.comm import simulated
from atoll.comm.simulated import Simulation
from atoll.errors import (
    CommunicationError,
    DeadlockError,
    DivergenceError,
    RankFailedError,
    WaitTimeoutError,
    WorldError,
)


def here():
    return atoll.world.communicator


def ring(rounds=3):
    """Pass numbers around, and add up what came; the same on every rank."""
    world = here()
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    value = np.array([float(world.rank)])
    for k in range(rounds):
        got = np.empty(1)
        world.exchange({right: value}, {left: got}, tag=k, what="ring")
        value = got + 1
    return float(world.allreduce(value)[0])


def ring_sum(size, rounds=3):
    return float(sum(range(size)) + size * rounds)


def test_results_come_by_rank_with_the_arguments():
    found = simulated.run(3, lambda a, b: (atoll.world.rank, atoll.world.size, a + b), 4, 5)
    assert found == [(0, 3, 9), (1, 3, 9), (2, 3, 9)]
    assert atoll.world.communicator.kind != "simulated"


def test_256_ranks():
    assert simulated.run(256, ring) == [ring_sum(256)] * 256


def test_many_exchanges_of_many_ranks():
    def everybody_with_everybody():
        world = here()
        got = {peer: np.empty(2, int) for peer in range(world.size)}
        world.exchange({peer: np.array([world.rank, peer]) for peer in got}, got)
        return all(got[peer].tolist() == [peer, world.rank] for peer in got)

    assert all(simulated.run(64, everybody_with_everybody))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rendezvous", [False, True])
def test_every_order_gives_the_same_result(seed, rendezvous):
    options = {"seed": seed, "rendezvous": rendezvous}
    assert simulated.run(5, ring, **options) == [ring_sum(5)] * 5


def arrivals():
    """On rank 0: the order in which one message from each other rank becomes visible."""
    world = here()
    if world.rank:
        world.send(np.zeros(1), 0)
        return None
    requests = [world.irecv(np.empty(1), peer) for peer in range(1, world.size)]
    order = []
    while len(order) < len(requests):
        for position in world.wait_some(requests):
            if position not in order:
                order.append(position)
    return order


def test_a_seed_reorders_messages_of_different_pairs_and_repeats_itself():
    orders = [simulated.run(5, arrivals, seed=seed)[0] for seed in range(20)]
    assert len(set(map(tuple, orders))) > 5
    assert orders == [simulated.run(5, arrivals, seed=seed)[0] for seed in range(20)]
    unseeded = [simulated.run(5, arrivals)[0] for _ in range(3)]
    assert unseeded == [[0, 1, 2, 3]] * 3


def test_a_seed_never_reorders_messages_of_one_pair_and_tag():
    def in_order():
        world = here()
        if world.rank == 0:
            for k in range(20):
                world.isend(np.array([k]), 1)
            return None
        got = [np.empty(1, int) for _ in range(20)]
        world.wait_all([world.irecv(array, 0) for array in got])
        return [int(array[0]) for array in got]

    for seed in range(10):
        assert simulated.run(2, in_order, seed=seed)[1] == list(range(20))


def test_an_eager_send_copies_and_a_rendezvous_does_not():
    def change_after_send():
        world = here()
        data = np.zeros(1)
        if world.rank == 0:
            request = world.isend(data, 1)
            data[0] = 5
            world.barrier()
            request.wait()
            return None
        world.barrier()
        return float(world.recv(data, 0)[0])

    assert simulated.run(2, change_after_send)[1] == 0
    assert simulated.run(2, change_after_send, rendezvous=True)[1] == 5


def send_first():
    world = here()
    other = 1 - world.rank
    world.send(np.zeros(4), other, 7, "the other half")
    world.recv(np.zeros(4), other, 7)


def test_a_program_that_relies_on_eager_sends_deadlocks_with_rendezvous():
    simulated.run(2, send_first)
    with pytest.raises(DeadlockError) as caught:
        simulated.run(2, send_first, rendezvous=True)
    text = str(caught.value)
    assert "rank 0: send to rank 1, tag 7 (the other half)" in text
    assert "rank 1: send to rank 0, tag 7 (the other half)" in text


def test_a_deadlock_is_told_at_once_to_every_rank_and_can_be_survived():
    def waits_in_a_circle():
        world = here()
        if world.rank == 2:
            return "over"
        try:
            world.recv(np.empty(1), (world.rank + 1) % 2, tag=4, what="halo of u")
        except DeadlockError as error:
            return str(error)

    with atoll.config(wait_abort=10_000):
        first, second, third = simulated.run(3, waits_in_a_circle)
    assert first == second
    assert "rank 0: receive from rank 1, tag 4 (halo of u)" in first
    assert "rank 1: receive from rank 0, tag 4 (halo of u)" in first
    assert "already over: rank 2" in first
    assert third == "over"


def test_a_collective_that_one_rank_leaves_out_is_a_deadlock():
    def forgets():
        if atoll.world.rank != 1:
            here().barrier("end of step")

    with pytest.raises(DeadlockError, match=r"rank 0: barrier \(end of step\)"):
        simulated.run(3, forgets)


def test_ranks_that_call_different_collectives_are_told():
    def diverges():
        world = here()
        world.barrier()
        if world.rank == 1:
            world.barrier()
        else:
            world.allreduce(np.zeros(3))

    with pytest.raises(DivergenceError) as caught:
        simulated.run(3, diverges)
    text = str(caught.value)
    assert "collective number 2" in text
    assert "barrier" in text
    assert "allreduce(sum of float64 (3,))" in text


def test_the_first_exception_ends_all_and_names_its_rank():
    cleaned = []

    def fails():
        try:
            if atoll.world.rank == 2:
                raise KeyError("wrong key")
            here().recv(np.empty(1), 2)
        finally:
            cleaned.append(atoll.world.rank)

    with pytest.raises(KeyError, match="wrong key") as caught:
        simulated.run(4, fails)
    assert "raised on simulated rank 2 of 4" in caught.value.__notes__
    assert sorted(cleaned) == [0, 1, 2, 3]


def test_the_others_learn_why_they_end():
    seen = {}

    def fails():
        if atoll.world.rank == 1:
            raise ValueError("no good")
        try:
            here().barrier("together")
        except RankFailedError as error:
            seen[atoll.world.rank] = str(error)
            raise

    with pytest.raises(ValueError, match="no good"):
        simulated.run(3, fails)
    assert set(seen) <= {0, 2}
    assert all("rank 1 has failed: ValueError: no good" in text for text in seen.values())
    assert "barrier (together)" in seen[0]


def test_abort_ends_all_with_its_message():
    def aborts():
        if atoll.world.rank == 1:
            here().abort(3, "out of fuel")
        here().barrier()

    with pytest.raises(RankFailedError, match=r"rank 1 called abort\(3\): out of fuel"):
        simulated.run(3, aborts)


def test_a_dropped_rank_is_noticed_by_who_needs_it():
    def survives():
        try:
            return ring()
        except CommunicationError as error:
            return str(error)

    results = simulated.run(4, survives, drop={2: 3})
    assert results[2] is None
    assert "rank 2 has died (at its operation 3)" in results[3]
    assert all(isinstance(result, str) for result in (results[0], results[1], results[3]))


def test_a_dropped_rank_ends_the_run_unless_somebody_cares():
    with pytest.raises(RankFailedError, match="rank 1 has died"):
        simulated.run(3, ring, drop={1: 1})
    with pytest.raises(RankFailedError, match="rank 0 has died"):
        simulated.run(3, lambda: here().bcast(np.zeros(1), 0), drop={0: 1})


def test_what_a_dropped_rank_has_sent_still_arrives():
    def sends_two():
        world = here()
        if world.rank == 0:
            world.send(np.array([1]), 1)
            world.send(np.array([2]), 1)
            return None
        got = [int(world.recv(np.empty(1, int), 0)[0])]
        with pytest.raises(RankFailedError, match="rank 0 has died"):
            world.recv(np.empty(1, int), 0)
        return got

    assert simulated.run(2, sends_two, drop={0: 2})[1] == [1]


def test_a_dropped_rank_runs_no_more_communication():
    def tries_again():
        world = here()
        try:
            world.isend(np.zeros(1), 0)
        finally:
            world.isend(np.ones(1), 0)

    simulation = Simulation(1, drop={0: 1})
    assert simulation.run(tries_again) == [None]
    assert simulation.traffic[0].messages_sent == 0


def test_a_virtual_clock_shows_overlap():
    def step(overlap):
        world = here()
        other = 1 - world.rank
        got = np.empty(8)
        requests = [world.irecv(got, other), world.isend(np.zeros(8), other)]
        if overlap:
            world.advance(3.0)
            world.wait_all(requests)
        else:
            world.wait_all(requests)
            world.advance(3.0)
        return world.clock

    assert simulated.run(2, step, True, latency=2.0) == [3.0, 3.0]
    assert simulated.run(2, step, False, latency=2.0) == [5.0, 5.0]
    assert simulated.run(2, step, True, latency=4.0) == [4.0, 4.0]


def test_latency_may_depend_on_the_pair_and_the_size():
    def gather_times():
        world = here()
        if world.rank:
            world.advance(world.rank * 0.1)
            world.send(np.zeros(world.rank * 100), 0)
            return world.clock
        got = [np.empty(peer * 100) for peer in range(1, world.size)]
        requests = [world.irecv(array, peer + 1) for peer, array in enumerate(got)]
        times = []
        for request in requests:
            request.wait()
            times.append(round(world.clock, 6))
        return times

    found = simulated.run(3, gather_times, latency=lambda s, d, n: s + n * 1e-3)
    assert found[0] == [1.9, 3.8]
    assert found[1:] == [0.1, 0.2]


def test_messages_arrive_in_virtual_order_whoever_ran_first():
    def first_of_two():
        world = here()
        if world.rank == 0:
            requests = [world.irecv(np.empty(1), 1), world.irecv(np.empty(1), 2)]
            return (world.wait_some(requests)[0], world.clock)
        world.advance(5.0 if world.rank == 1 else 1.0)
        world.send(np.zeros(1), 0)
        return None

    assert simulated.run(3, first_of_two)[0] == (1, 1.0)


def test_looking_moves_a_virtual_clock_only_while_there_is_nothing_else_to_do():
    def polls():
        world = here()
        if world.rank == 1:
            world.advance(7.0)
            world.send(np.zeros(1), 0)
            return None
        request = world.irecv(np.empty(1), 1)
        seen = []
        while not request.test():
            seen.append(world.clock)
            if len(seen) < 4:
                world.advance(1.0)
        return seen, world.clock

    seen, end = simulated.run(2, polls, latency=0.5)[0]
    assert seen[:4] == [0.0, 1.0, 2.0, 3.0]
    assert end == 7.5


def test_collectives_take_virtual_time():
    def reduces():
        world = here()
        world.advance(float(world.rank))
        world.allreduce(np.zeros(1))
        return world.clock

    assert simulated.run(4, reduces, latency=0.25) == [3.5] * 4
    assert simulated.run(4, lambda: here().barrier(), latency=0.0) == [None] * 4


def test_a_broadcast_does_not_wait_for_the_late():
    def broadcasts():
        world = here()
        world.advance(10.0 if world.rank == 1 else 0.0)
        world.bcast(np.zeros(1), 0)
        return world.clock

    assert simulated.run(3, broadcasts) == [0.0, 10.0, 0.0]
    assert simulated.run(3, broadcasts, rendezvous=True) == [10.0, 10.0, 10.0]


def test_polling_for_what_never_comes_ends_with_the_limit():
    def polls():
        with atoll.config(wait_abort=0.1):
            request = here().irecv(np.empty(1), 0, 8, "nothing")
            while not request.test():
                assert not request.done

    with pytest.raises(WaitTimeoutError, match=r"receive from rank 0, tag 8 \(nothing\)"):
        simulated.run(1, polls)


def test_traffic_and_clocks_by_rank():
    def sends_to_zero():
        world = here()
        world.advance(world.rank)
        if world.rank:
            world.send(np.zeros(world.rank), 0)
        else:
            for peer in range(1, world.size):
                world.recv(np.zeros(peer), peer)

    simulation = Simulation(3)
    simulation.run(sends_to_zero)
    assert [traffic.bytes_sent for traffic in simulation.traffic] == [0, 8, 16]
    assert simulation.traffic[0].messages_received == 2
    assert simulation.clocks == [2.0, 1.0, 2.0]
    with pytest.raises(RuntimeError, match="runs once"):
        simulation.run(sends_to_zero)


def test_each_rank_has_its_own_settings_and_context():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(5)

    def changes():
        assert variable.get() == 5
        variable.set(atoll.world.rank)
        atoll.config.small = 100 + atoll.world.rank
        here().barrier()
        return variable.get(), atoll.config.small

    before = atoll.config.small
    assert simulated.run(3, changes) == [(0, 100), (1, 101), (2, 102)]
    assert (variable.get(), atoll.config.small) == (5, before)


def test_a_world_belongs_to_the_thread_of_its_rank():
    def lends():
        world, caught = atoll.world.split(0), []

        def borrow():
            try:
                world.communicator.isend(np.zeros(1), 0)
            except WorldError as error:
                caught.append(str(error))

        thread = threading.Thread(target=borrow, name="borrower")
        thread.start()
        thread.join()
        return caught

    (caught,) = simulated.run(1, lends)
    assert len(caught) == 1
    assert "borrower" in caught[0]


def test_a_simulation_inside_a_simulation():
    def outer():
        inner = simulated.run(3, ring)
        return inner, float(here().allreduce(np.ones(1))[0])

    assert simulated.run(2, outer) == [([ring_sum(3)] * 3, 2.0)] * 2


def test_objects_are_not_shared_between_ranks():
    def changes():
        shared = here().bcast_object([1], 0)
        shared.append(atoll.world.rank)
        return here().allgather_object(shared)

    assert simulated.run(2, changes)[1] == [[1, 0], [1, 1]]


def test_the_dtype_of_a_message_must_be_that_of_the_array():
    def mixes():
        if atoll.world.rank == 0:
            here().send(np.zeros(2), 1)
        else:
            here().recv(np.zeros(2, int), 0)

    with pytest.raises(CommunicationError, match="2 elements of float64"):
        simulated.run(2, mixes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drop": {3: 1}}, "no rank 3"),
        ({"drop": {0: 0}}, "operation number 0"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        simulated.run(2, ring, **options)
    with pytest.raises(ValueError, match="at least one rank"):
        simulated.run(0, ring)
