"""Graphs that send and receive, executed and compared with NumPy."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import dataflow as df
from atoll.lazy.evaluation import _programs


def execute(partition, **inputs):
    return df.execute_distributed_partition(partition, None, None, None, input_args=inputs)


@pytest.mark.ranks(1, 2, 3, distributes=False)
@pytest.mark.simulated(1, 2, 3, 16, distributes=False)
def test_ring(rank: int, size: int) -> None:
    x = df.make_placeholder("x", (5,))
    arrived = df.make_distributed_recv((rank - 1) % size, "ring", (5,), float)
    z = df.staple_distributed_send(2 * x + 1, (rank + 1) % size, "ring", arrived + x)
    partition = df.find_distributed_partition(np.world, {"z": 3 * z, "arrived": arrived})
    for step in range(3):
        got = execute(partition, x=numpy.arange(5.0) + rank + step)
        there = 2 * (numpy.arange(5.0) + (rank - 1) % size + step) + 1
        numpy.testing.assert_array_equal(got["arrived"], there)
        numpy.testing.assert_array_equal(got["z"], 3 * (there + numpy.arange(5.0) + rank + step))


@pytest.mark.ranks(2, 3, distributes=False)
@pytest.mark.simulated(1, 2, 4, distributes=False)
def test_periodic_halo_in_two_dimensions(rank: int, size: int) -> None:
    whole = numpy.random.default_rng(3).normal(size=(4 * size, 6))
    u = df.make_placeholder("u", (4, 6))
    up, down = (rank - 1) % size, (rank + 1) % size
    sends = [
        df.make_distributed_send(u[0], up, ("up", 0)),
        df.make_distributed_send(u[-1], down, ("down", 0)),
    ]
    below = df.make_distributed_recv(down, ("up", 0), (6,), float)
    above = df.make_distributed_recv(up, ("down", 0), (6,), float)
    padded = np.concatenate([above[None], u, below[None]])
    new = (padded[:-2] + padded[2:] + np.roll(u, 1, 1) + np.roll(u, -1, 1)) / 4
    partition = df.find_distributed_partition(None, {"new": new}, sends=sends)
    expected = whole
    mine = whole[4 * rank : 4 * rank + 4]
    for _ in range(3):
        expected = (
            numpy.roll(expected, 1, 0)
            + numpy.roll(expected, -1, 0)
            + numpy.roll(expected, 1, 1)
            + numpy.roll(expected, -1, 1)
        ) / 4
        mine = execute(partition, u=mine)["new"]
    numpy.testing.assert_allclose(mine, expected[4 * rank : 4 * rank + 4], rtol=1e-13)


@pytest.mark.ranks(2, 3, distributes=False)
@pytest.mark.simulated(1, 2, 3, distributes=False)
def test_one_value_goes_to_everybody(rank: int, size: int) -> None:
    x = df.make_placeholder("x", (3,))
    shared = x * x
    sends = [df.make_distributed_send(shared, r, "all") for r in range(size)]
    got = [df.make_distributed_recv(r, "all", (3,), float) for r in range(size)]
    partition = df.find_distributed_partition(
        None, {f"from_{r}": one for r, one in enumerate(got)}, sends=sends
    )
    found = execute(partition, x=numpy.arange(3.0) + rank)
    for r in range(size):
        numpy.testing.assert_array_equal(found[f"from_{r}"], (numpy.arange(3.0) + r) ** 2)
    senders = [part for part in partition.parts.values() if part.name_to_send_nodes]
    assert len(senders) == 1
    assert len(senders[0].name_to_send_nodes) == 1  # one value, sent size times


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
def test_ping_pong_with_one_side_waiting(rank: int, size: int) -> None:
    rounds = 6
    value = df.make_placeholder("x", (4,))
    sends = []
    for k in range(rounds):
        if k % 2 == rank:
            sends.append(df.make_distributed_send(value + 1, 1 - rank, ("ball", k)))
        else:
            value = df.make_distributed_recv(1 - rank, ("ball", k), (4,), float) * 2
    partition = df.find_distributed_partition(None, {"value": value}, sends=sends)
    got = execute(partition, x=numpy.ones(4))["value"]
    ball = 1.0
    last = {}
    for k in range(rounds):
        ball = (ball + 1) * 2
        last[1 - k % 2] = ball
    numpy.testing.assert_array_equal(got, numpy.full(4, last[rank]))
    assert execute(partition, x=numpy.zeros(4))["value"][0] != got[0]


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
def test_large_messages_both_ways(rank: int, size: int) -> None:
    n = 300_000
    x = df.make_placeholder("x", n)
    send = df.make_distributed_send(x + 1, 1 - rank, "big")
    got = df.make_distributed_recv(1 - rank, "big", n, float)
    partition = df.find_distributed_partition(None, {"d": got - x}, sends=[send])
    found = execute(partition, x=numpy.full(n, float(rank)))["d"]
    assert (found == (1 - rank) + 1 - rank).all()


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
def test_numbers_and_nothing_travel(rank: int, size: int) -> None:
    x = df.make_placeholder("x", (7,))
    none = df.make_placeholder("none", (0, 3), "i4")
    sends = [
        df.make_distributed_send(x.sum(), 1 - rank, "sum"),
        df.make_distributed_send(none, 1 - rank, "none"),
        df.make_distributed_send(x > 3, 1 - rank, "where"),
    ]
    total = df.make_distributed_recv(1 - rank, "sum", (), float)
    nothing = df.make_distributed_recv(1 - rank, "none", (0, 3), "i4")
    where = df.make_distributed_recv(1 - rank, "where", (7,), bool)
    outputs = {"z": x * total, "nothing": nothing, "count": where.sum()}
    partition = df.find_distributed_partition(None, outputs, sends=sends)
    found = execute(partition, x=numpy.arange(7.0) + rank, none=numpy.empty((0, 3), "i4"))
    other = numpy.arange(7.0) + 1 - rank
    numpy.testing.assert_array_equal(found["z"], (numpy.arange(7.0) + rank) * other.sum())
    assert found["nothing"].shape == (0, 3)
    assert found["count"] == (other > 3).sum()


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
def test_small_messages_to_one_rank_travel_together(rank: int, size: int) -> None:
    x = df.make_placeholder("x", (8,))
    order = list(range(12))
    if rank:
        order.reverse()
    sends = [df.make_distributed_send(x * k, 1 - rank, f"m{k}") for k in order]
    got = {f"g{k}": df.make_distributed_recv(1 - rank, f"m{k}", (8,), float) for k in range(12)}
    partition = df.find_distributed_partition(None, got, sends=sends)
    execute(partition, x=numpy.zeros(8))
    before = np.stats().messages
    found = execute(partition, x=numpy.full(8, rank + 1.0))
    assert np.stats().messages - before == 1
    for k in range(12):
        numpy.testing.assert_array_equal(found[f"g{k}"], numpy.full(8, k * (2.0 - rank)))


@pytest.mark.simulated(1, 2, distributes=False)
def test_what_goes_in_is_not_copied(rank: int, size: int) -> None:
    x = df.make_placeholder("x", (4,))
    data = numpy.arange(4.0)
    wrapped = df.make_data_wrapper(data)
    partition = df.find_distributed_partition(None, {"same": x, "data": wrapped, "y": x + wrapped})
    assert len(partition.parts) == 1
    (part,) = partition.parts.values()
    assert part.output_names == {"y"}
    given = numpy.ones(4)
    found = execute(partition, x=given)
    assert found["same"] is given
    data[:] = 5  # wrapped data is read when the graph is run
    numpy.testing.assert_array_equal(execute(partition, x=given)["y"], numpy.full(4, 6.0))


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
def test_mpi_communicators_and_users_programs(rank: int, size: int) -> None:
    x = df.make_placeholder("x", (4,))
    send = df.make_distributed_send(x, 1 - rank, df.Tag)
    got = df.make_distributed_recv(1 - rank, df.Tag, (4,), float)
    outputs = df.make_dict_of_named_arrays({"y": got + 1})
    partition = df.find_distributed_partition(np.world.comm, outputs, sends=[send])
    numbered, following = df.number_distributed_tags(np.world.comm, partition, 17)
    assert following == 18
    programs = df.generate_code_for_partition(numbered)
    calls = []

    def counted(program):
        def call(**inputs):
            calls.append(sorted(inputs))
            return program(**inputs)

        return call

    programs = {pid: counted(program) for pid, program in programs.items()}
    found = df.execute_distributed_partition(
        numbered,
        programs,
        None,
        np.world.comm,
        allocator=None,
        input_args={"x": numpy.full(4, rank)},
    )
    numpy.testing.assert_array_equal(found["y"], numpy.full(4, 2.0 - rank))
    assert len(calls) == len(numbered.parts)


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
@pytest.mark.parametrize("count", [1, 3])
def test_messages_arrive_in_memory_of_an_allocator(rank: int, size: int, count: int) -> None:
    x = df.make_placeholder("x", (6,), "f4")
    sends = [df.make_distributed_send(x * k, 1 - rank, k) for k in range(count)]
    got = {f"g{k}": df.make_distributed_recv(1 - rank, k, (6,), "f4") for k in range(count)}
    partition = df.find_distributed_partition(None, got, sends=sends)
    given: list[bytearray] = []

    def allocator(nbytes: int) -> bytearray:
        given.append(bytearray(nbytes + 3))
        return given[-1]

    def run(**options):
        return df.execute_distributed_partition(
            partition, None, "a queue", None, input_args={"x": numpy.full(6, 2, "f4")}, **options
        )

    for _ in range(2):
        found = run(allocator=allocator)
        for k in range(count):
            assert found[f"g{k}"].tolist() == [2.0 * k] * 6
            assert numpy.may_share_memory(found[f"g{k}"], numpy.frombuffer(given[-1], "u1"))
    assert len(given) == 2  # small messages travel together
    for bad, words in ((lambda n: b"\0" * n, "read-only"), (lambda n: bytearray(1), "of 1 bytes")):
        with pytest.raises(ValueError, match=rf"allocator\(\d+\) gave memory that is {words}"):
            run(allocator=bad)


@pytest.mark.ranks(1, 2, distributes=False)
@pytest.mark.simulated(1, 3, distributes=False)
def test_receives_precede_and_sends_follow_the_computation_of_their_part(
    rank: int, size: int
) -> None:
    """What happens in which order: each part after all that it receives, each send after its part."""
    happened: list[tuple[str, object]] = []
    x = df.make_placeholder("x", (3,))
    value, sends = x, []
    for k in range(4):
        sends.append(df.make_distributed_send(value + 1, (rank + 1) % size, k))
        value = df.make_distributed_recv((rank - 1) % size, k, (3,), float) * 2 + x
    partition = df.find_distributed_partition(None, {"y": value}, sends=sends)
    programs = df.generate_code_for_partition(partition)

    def noted(pid, program):
        def call(**inputs):
            happened.append(("part", pid))
            return program(**inputs)

        return call

    communicator = np.world.communicator

    def isend(array, dest, tag=0, what=""):
        happened.append(("send", what))
        return type(communicator).isend(communicator, array, dest, tag, what)

    watched = {pid: noted(pid, program) for pid, program in programs.items()}
    df.execute_distributed_partition(
        partition, watched, None, None, input_args={"x": numpy.ones(3)}
    )
    happened.clear()
    communicator.isend = isend
    try:
        df.execute_distributed_partition(
            partition, watched, None, None, input_args={"x": numpy.ones(3)}
        )
    finally:
        del communicator.isend
    place = {one: k for k, one in enumerate(happened)}
    assert len(place) == len(happened)  # each part once, each message once
    for pid, part in partition.parts.items():
        for name in part.name_to_send_nodes:
            if size > 1:
                assert place["send", f"dataflow: {name}"] > place["part", pid]
        for needed in part.needed_pids:
            assert place["part", needed] < place["part", pid]
        for receive in part.name_to_recv_node.values():  # the ring is symmetrical
            sender = next(
                other.pid
                for other in partition.parts.values()
                for found in other.name_to_send_nodes.values()
                if any(send.comm_tag == receive.comm_tag for send in found)
            )
            assert place["part", sender] < place["part", pid]


@pytest.mark.simulated(2, distributes=False)
def test_equal_partitions_are_planned_once(rank: int, size: int) -> None:
    """A graph that is made anew, with the same structure, finds its programs and kernels."""

    def made():
        x = df.make_placeholder("x", (50,))
        send = df.make_distributed_send(np.sqrt(x) * 3 + 1, 1 - rank, "t")
        got = df.make_distributed_recv(1 - rank, "t", (50,), float)
        return df.find_distributed_partition(None, {"y": got - x}, sends=[send])

    first = execute(made(), x=numpy.arange(50.0))["y"]
    before = np.stats().kernels_compiled
    known = len(_programs.programs)
    again = execute(made(), x=numpy.arange(50.0))["y"]
    assert np.stats().kernels_compiled == before
    assert len(_programs.programs) == known
    numpy.testing.assert_array_equal(first, again)
