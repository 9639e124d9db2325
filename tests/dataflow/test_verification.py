"""What verification costs: bytes that do not grow, circles found out by numbers or by gathering."""

from __future__ import annotations

import random
from enum import Enum

import numpy
import pytest

import atoll as np
from atoll import dataflow as df
from atoll.comm.simulated import run
from atoll.dataflow import cycles, verify
from atoll.dataflow.cycles import rehearse
from atoll.dataflow.messages import ends_of
from atoll.dataflow.records import ready_order, topological

from .test_random_graphs import play


class Way(Enum):
    THERE = 1
    BACK = 2


class Phase(df.Tag):
    """A tag without numbers or text."""

    def __init__(self, value) -> None:
        self.value = value


def independent(count: int, rank: int, size: int):
    x = df.make_placeholder("x", (1,))
    sends = [df.make_distributed_send(x, (rank + 1) % size, k) for k in range(count)]
    got = [df.make_distributed_recv((rank - 1) % size, k, (1,), float) for k in range(count)]
    return {"y": np.concatenate(got)}, sends


def ring_of(tag_of):
    """A chain of exchanges round the ring, each of which needs the last one."""

    def graph(count: int, rank: int, size: int):
        value, sends = df.make_placeholder("x", (1,)), []
        for k in range(count):
            sends.append(df.make_distributed_send(value + 1, (rank + 1) % size, tag_of(k)))
            value = df.make_distributed_recv((rank - 1) % size, tag_of(k), (1,), float) * 2
        return {"y": value}, sends

    return graph


def ball(tag_of):
    """Ranks 0 and 1 throw a ball to and fro; the others look on."""

    def graph(count: int, rank: int, size: int):
        value, sends = df.make_placeholder("x", (1,)), []
        for k in range(count if rank < 2 else 0):
            if k % 2 == rank:
                sends.append(df.make_distributed_send(value + 1, 1 - rank, tag_of(k)))
            else:
                value = df.make_distributed_recv(1 - rank, tag_of(k), (1,), float) * 2
        return {"y": value}, sends

    return graph


def line(count: int, rank: int, size: int):
    """Halos between neighbours that do not close to a ring: the ends send one way only."""
    value, sends = df.make_placeholder("x", (1,)), []
    for k in range(count):
        new = value * 1.0
        for way, other in (("left", rank - 1), ("right", rank + 1)):
            if 0 <= other < size:
                sends.append(df.make_distributed_send(value + 1, other, (way, k)))
                back = {"left": "right", "right": "left"}[way]
                new = new + df.make_distributed_recv(other, (back, k), (1,), float)
        value = new
    return {"y": value}, sends


def verified_bytes(graph, count: int) -> list[tuple[int, int]]:
    def program() -> tuple[int, int]:
        outputs, sends = graph(count, np.world.rank, np.world.size)
        partition = df.find_distributed_partition(None, outputs, sends=sends)
        traffic = np.world.communicator.traffic
        before = traffic.copy()
        df.verify_distributed_partition(None, partition)
        after = traffic.copy() - before
        assert after.messages_sent == 0
        return after.collectives, after.collective_bytes

    return run(3, program)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "many"),
    [
        (independent, 10_000),
        (ring_of(lambda k: k), 1000),
        (ring_of(lambda k: f"step-{k}"), 300),
        (ring_of(lambda k: Phase(chr(k + 65))), 100),  # levels: all ranks do alike
        (ball(lambda k: ("ball", k)), 300),
        (line, 300),
    ],
)
def test_bytes_of_verification_do_not_grow(graph, many: int) -> None:
    """Neither with independent messages nor with those that depend on each other."""
    few = verified_bytes(graph, 10)
    assert few == verified_bytes(graph, many)
    assert {collectives for collectives, _ in few} == {1}


def test_where_no_number_is_known_partners_rehearse_the_graph() -> None:
    def program(count: int):
        rank, size = np.world.rank, np.world.size
        outputs, sends = ball(lambda k: Phase(chr(200 - k)))(count, rank, size)
        partition = df.find_distributed_partition(None, outputs, sends=sends)
        before = np.world.communicator.traffic.copy()
        df.verify_distributed_partition(None, partition)
        return np.world.communicator.traffic.copy() - before

    for count in (10, 40):
        traffics = run(5, program, count)
        throwers = traffics[:2]
        assert all(traffic.messages_sent == 0 for traffic in traffics[2:])
        assert all(0 < traffic.messages_sent <= 2 * count for traffic in throwers)
        assert all(traffic.collectives <= count + 2 for traffic in throwers)
        assert all(traffic.collective_bytes <= 100 + 24 * (count + 2) for traffic in throwers)


@pytest.mark.parametrize("seed", range(8))
def test_a_rehearsal_leaves_what_waits_in_a_cycle(seed: int) -> None:
    """Random parts of four ranks, some of which wait for each other, against the parts of all ranks on one."""

    def program() -> int:
        rank = np.world.rank
        dice = random.Random(seed)
        everybody: list[list] = [[([], [], []) for _ in range(5)] for _ in range(4)]
        for k in range(14):
            source, dest = dice.randrange(4), dice.randrange(4)
            key = (source, dest, b"%d" % k)
            everybody[source][dice.randrange(5)][1].append(key)
            everybody[dest][dice.randrange(5)][0].append(key)
        for units in everybody:
            for number in range(1, 5):
                units[number][2].extend(dice.sample(range(number), dice.randrange(2)))
        np.world.communicator.log.step(1, "a rehearsal")
        left = rehearse(np.world.communicator, everybody[rank], "a rehearsal")
        parts = {(r, k): unit for r, units in enumerate(everybody) for k, unit in enumerate(units)}
        sender = {key: part for part, (_, sends, _) in parts.items() for key in sends}
        needs = {
            (r, k): [*[(r, number) for number in own], *[sender[key] for key in receives]]
            for (r, k), (receives, _, own) in parts.items()
        }
        assert left == len(needs) - len(ready_order(needs))
        return left

    assert len(set(run(4, program))) == 1


@pytest.mark.simulated(3, distributes=False)
@pytest.mark.parametrize("first", [Way.THERE, 7, ("a", 1), Phase("x")])
def test_a_circle_is_found_whatever_the_tags(rank: int, size: int, first) -> None:
    got = df.make_distributed_recv((rank - 1) % size, first, (2,), float)
    sends = [df.make_distributed_send(got, (rank + 1) % size, first)]
    partition = df.find_distributed_partition(None, {"y": got + 1}, sends=sends)
    with pytest.raises(df.CommunicationCycleError):
        df.verify_distributed_partition(None, partition)


@pytest.mark.simulated(2, distributes=False)
def test_numbers_that_grow_on_one_rank_only_prove_nothing(rank: int, size: int) -> None:
    """Rank 0 answers 1 by 2, rank 1 answers 2 by 1: each alone, and by levels, looks harmless."""
    mine, theirs = (2, 1) if rank == 0 else (1, 2)
    got = df.make_distributed_recv(1 - rank, theirs, (2,), float)
    sends = [df.make_distributed_send(got, 1 - rank, mine)]
    partition = df.find_distributed_partition(None, {"y": got + 1}, sends=sends)
    order = topological(partition.parts)
    assert order is not None
    assert cycles.grows(order, cycles.numbers) == (rank == 0)
    assert cycles.levels(order, ends_of(partition, rank)) is not None
    with pytest.raises(df.CommunicationCycleError):
        df.verify_distributed_partition(None, partition)


def test_a_proof_agrees_with_what_gathering_finds() -> None:
    """On random graphs: where a guess proves that there is no circle, letting all run finds none."""

    def program(seed: int) -> bool:
        rank, size = np.world.rank, np.world.size
        _, sends, _, kept = play(seed, rank, size, 50)
        outputs = {name: value.node for name, value in kept.items()}
        partition = df.find_distributed_partition(None, outputs, sends=sends)
        total = np.world.communicator.allreduce(cycles.facts(partition, ends_of(partition, rank)))
        units = np.world.communicator.allgather_object(verify._units(partition, rank))
        assert not verify._circle(units)  # the game is played in order
        return cycles.prove(total)

    proven = [run(4, program, seed)[0] for seed in range(6)]
    assert all(proven)  # its tags have the number of the move in them


def test_the_atoms_of_tags() -> None:
    assert cycles.atoms(("halo", 3)) == ((1, "halo"), (0, 3))
    assert cycles.atoms("step-12b") == ((1, "step-"), (0, 12), (1, "b"))
    assert cycles.numbers(frozenset({"f", 4})) == ((0, 4),)
    assert cycles.numbers((None, (2.5, Way.BACK))) == ((0, 2.5),)
    assert cycles.atoms(float("nan")) == ((1, "float"),)
    assert cycles.atoms(Way.BACK) != cycles.atoms(Way.THERE)
    assert cycles.atoms(numpy.int64(3)) == ((0, 3),)
