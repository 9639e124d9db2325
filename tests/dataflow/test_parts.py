"""Parts: what is in them, in which order, and that they are the same whenever they are made."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import weakref
from enum import Enum
from pathlib import Path

import numpy
import pytest

import atoll as np
from atoll import dataflow as df
from atoll.comm.simulated import Simulation, run
from atoll.config import config
from atoll.dataflow.messages import tag_bytes

from .test_random_graphs import play


def exchange(rank: int, size: int, n: int = 6):
    """One exchange between neighbours, and work that does not need it."""
    u = df.make_placeholder("u", (n,))
    shared = u * u + 1
    left, right = (rank - 1) % size, (rank + 1) % size
    sends = [
        df.make_distributed_send(shared, left, "l"),
        df.make_distributed_send(-shared, right, "r"),
    ]
    a = df.make_distributed_recv(right, "l", (n,), float)
    b = df.make_distributed_recv(left, "r", (n,), float)
    outputs = {"inner": np.sqrt(shared) * 2, "sum": a + b + shared, "a": a}
    return df.find_distributed_partition(None, outputs, sends=sends)


def test_an_exchange_is_two_parts() -> None:
    partition = exchange(0, 3)
    first, second = partition.parts.values()
    assert not first.name_to_recv_node
    assert not first.needed_pids
    assert first.user_input_names == {"u"}
    assert [[s.dest_rank for s in sends] for sends in first.name_to_send_nodes.values()] == [
        [2],
        [1],
    ]
    assert set(first.name_to_send_nodes) < first.output_names
    assert "inner" in first.output_names
    assert {r.src_rank for r in second.name_to_recv_node.values()} == {1, 2}
    assert second.needed_pids == {first.pid}
    assert second.output_names == {"sum"}  # what was received is nobody's output
    assert not second.name_to_send_nodes
    received = set(second.name_to_recv_node)
    assert second.partition_input_names > received
    assert second.partition_input_names - received < first.output_names
    assert second.all_input_names() == second.partition_input_names
    assert partition.overall_output_names == ("inner", "sum", "a")


def test_without_communication_there_is_one_part() -> None:
    x = df.make_placeholder("x", 4)
    for outputs in ({"y": x + 1, "z": np.sort(x)}, {"x2": x}, {}):
        partition = df.find_distributed_partition(None, outputs)
        assert len(partition.parts) == 1
        found = df.execute_distributed_partition(
            partition, None, None, None, input_args={"x": numpy.arange(4.0)}
        )
        assert list(found) == list(outputs)


def test_a_stored_value_that_another_part_reads_is_an_output() -> None:
    x = df.make_placeholder("x", (3,))
    stored = (x + 1).tagged(df.ImplStored())
    y = df.staple_distributed_send(x, 0, "self", stored)
    got = df.make_distributed_recv(0, "self", (3,), float)
    partition = df.find_distributed_partition(None, {"z": y * got})
    first, second = partition.parts.values()
    (name,) = first.output_names - set(first.name_to_send_nodes)
    assert name in second.partition_input_names
    found = df.execute_distributed_partition(
        partition, None, None, None, input_args={"x": numpy.arange(3.0)}
    )
    numpy.testing.assert_array_equal(found["z"], (numpy.arange(3.0) + 1) * numpy.arange(3.0))


def test_a_send_has_the_value_as_it_was() -> None:
    x = df.make_placeholder("x", (3,))
    y = x + 0
    send = df.make_distributed_send(y, 0, "then")
    y[1:] = 7
    got = df.make_distributed_recv(0, "then", (3,), float)
    partition = df.find_distributed_partition(None, {"then": got, "now": y}, sends=[send])
    found = df.execute_distributed_partition(
        partition, None, None, None, input_args={"x": numpy.arange(3.0)}
    )
    assert found["then"].tolist() == [0, 1, 2]
    assert found["now"].tolist() == [0, 7, 7]


def test_independent_chains_do_not_wait_for_each_other() -> None:
    x = df.make_placeholder("x", (3,))
    sends, outputs = [], {}
    for chain in "ab":
        value = x
        for k in range(3):
            sends.append(df.make_distributed_send(value + 1, 0, (chain, k)))
            value = df.make_distributed_recv(0, (chain, k), (3,), float) * 2
        outputs[chain] = value
    partition = df.find_distributed_partition(None, outputs, sends=sends)
    for part in partition.parts.values():
        chains = {r.comm_tag[0] for r in part.name_to_recv_node.values()}
        chains |= {s.comm_tag[0] for sent in part.name_to_send_nodes.values() for s in sent}
        if part.name_to_recv_node:
            assert len(chains) == 1
    found = df.execute_distributed_partition(
        partition, None, None, None, input_args={"x": numpy.zeros(3)}
    )
    assert found["a"][0] == found["b"][0] == 14


class Colour(Enum):
    RED = 1


PROGRAM = """
import pickle, sys, numpy
from atoll import dataflow as df
tags = ["t", ("a", 1), frozenset({"x", "y", "zz"}), df.Tag, 7, (frozenset({1, "q"}), None)]
x = df.make_placeholder("x", (4,))
sends = [df.make_distributed_send(x * k, 0, tag) for k, tag in enumerate(tags)]
total = sum(df.make_distributed_recv(0, tag, (4,), float) for tag in tags)
partition = df.find_distributed_partition(None, {"total": total, "x": x + 1}, sends=sends)
numbered, following = df.number_distributed_tags(None, partition, 3)
facts = [(p.pid, sorted(p.needed_pids), sorted(p.output_names), sorted(p.partition_input_names),
          [(n, r.comm_tag) for n, r in p.name_to_recv_node.items()],
          [(n, [s.comm_tag for s in found]) for n, found in p.name_to_send_nodes.items()])
         for p in numbered.parts.values()]
from atoll.dataflow.messages import tag_bytes
print(facts, following, [tag_bytes(tag) for tag in tags])
"""


@pytest.mark.slow
def test_the_same_for_every_hash_seed() -> None:
    texts = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment, capture_output=True, text=True, check=True, timeout=50,
        )  # fmt: skip
        texts.add(done.stdout)
    assert len(texts) == 1
    assert "] 9 [" in texts.pop()  # six tags from 3 on


def test_tags_that_are_equal_have_equal_bytes() -> None:
    equal = [(1, 1.0), (True, 1), ((1, "a"), (1.0, "a")), (frozenset("abc"), frozenset("cba"))]
    for one, other in equal:
        assert tag_bytes(one) == tag_bytes(other)
    different = ["1", 1, b"1", ("1",), (("1",),), "", (), frozenset(), None, int, Colour, Colour.RED,
                 numpy.dtype("f8"), Path("1"), 1.5, 1j, ("a", "b"), ("ab",), (("a",), "b")]  # fmt: skip
    assert len({tag_bytes(tag) for tag in different}) == len(different)


def test_partitions_compare_and_pickle() -> None:
    one, other = exchange(1, 3), exchange(1, 3)
    assert one == other
    assert one != exchange(1, 3, 7)
    assert one != exchange(2, 3)
    x = df.make_placeholder("x", (4, 4))
    y = np.linalg.inv(x[::2, 1:3].T + np.eye(2)) @ np.ones(2)
    y = np.where(y > 0, y, y.sum(axis=0, keepdims=True))
    single = df.find_distributed_partition(None, {"y": y, "x": x})
    value = numpy.random.default_rng(0).normal(size=(4, 4))
    for partition, inputs in ((single, {"x": value}), (exchange(0, 1), {"u": numpy.arange(6.0)})):
        again = pickle.loads(pickle.dumps(partition))
        assert again == partition
        before, after = (
            df.execute_distributed_partition(p, None, None, None, input_args=inputs)
            for p in (partition, again)
        )
        assert list(before) == list(after)
        for name, array in before.items():
            numpy.testing.assert_array_equal(array, after[name])


def test_twenty_elementwise_nodes_are_one_kernel() -> None:
    with config(small=0):
        x = df.make_placeholder("x", (1000,))
        y = x
        for k in range(10):
            y = np.sqrt(y * y + k)
        partition = df.find_distributed_partition(None, {"y": y})
        given = {"x": numpy.linspace(0, 1, 1000)}
        df.execute_distributed_partition(partition, None, None, None, input_args=given)
        before = np.stats()
        found = df.execute_distributed_partition(partition, None, None, None, input_args=given)
        assert np.stats().kernels_run - before.kernels_run == 1
        assert np.stats().kernels_compiled == before.kernels_compiled
    expected = given["x"]
    for k in range(10):
        expected = numpy.sqrt(expected * expected + k)
    numpy.testing.assert_allclose(found["y"], expected, rtol=1e-13)


def test_work_goes_on_while_a_message_travels() -> None:
    """The sender is late by 5 s, the work takes 4 s: 5 s in all, on the ranks' own clocks."""

    def program() -> float:
        rank, communicator = np.world.rank, np.world.communicator
        x = df.make_placeholder("x", (3,))
        got = df.make_distributed_recv(1 - rank, "m", (3,), float)
        sends = [df.make_distributed_send(x + 1, 1 - rank, "m")]
        partition = df.find_distributed_partition(None, {"heavy": x * 3, "y": got * 2}, sends=sends)
        df.verify_distributed_partition(None, partition)
        programs = df.generate_code_for_partition(partition)
        x2 = partition.parts[0]
        assert "heavy" in x2.output_names

        def slow(**inputs):
            communicator.advance(4.0)
            return programs[0](**inputs)

        before = communicator.clock
        if rank == 1:
            communicator.advance(5.0)
        df.execute_distributed_partition(
            partition, {**programs, 0: slow if rank == 0 else programs[0]}, None, None,
            input_args={"x": numpy.zeros(3)},
        )  # fmt: skip
        return communicator.clock - before

    times = Simulation(2).run(program)
    assert times[0] == 5.0


@pytest.mark.slow
def test_partitioning_does_not_communicate_or_grow_with_the_ranks() -> None:
    """What it costs a rank is counted in calls, which no other load changes."""

    def program() -> int:
        rank, size = np.world.rank, np.world.size
        x = df.make_placeholder("x", (10,))
        value, sends = x, []
        for k in range(30):
            sends.append(df.make_distributed_send(value, (rank + 1) % size, k))
            value = value + df.make_distributed_recv((rank - 1) % size, k, (10,), float)
        before = np.world.communicator.traffic.copy()
        calls = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        df.find_distributed_partition(None, {"y": value}, sends=sends)
        sys.setprofile(None)
        assert np.world.communicator.traffic.copy() == before
        return calls

    few, many = run(4, program), run(256, program)
    assert min(few) > 100
    assert max(many) < 1.1 * min(few)


@pytest.mark.slow
def test_long_and_branching_graphs() -> None:
    x = df.make_placeholder("x", (2,))
    value = x
    for _ in range(100_000):
        value = value + 1.0
    ladder = x
    for _ in range(40):
        ladder = ladder + ladder
    partition = df.find_distributed_partition(None, {"chain": value, "ladder": ladder})
    assert len(partition.parts) == 1
    found = df.execute_distributed_partition(
        partition, None, None, None, input_args={"x": numpy.ones(2)}
    )
    assert found["chain"][0] == 100_001
    assert found["ladder"][0] == 2.0**40


def test_functions_that_numpy_runs() -> None:
    x = df.make_placeholder("x", (4, 4))
    values = numpy.random.default_rng(5).normal(size=(4, 4))
    order = np.argsort(x, axis=1)
    low, vectors = np.linalg.eigh(x @ x.T)
    sorted_x = x.copy()
    sorted_x.sort(axis=0)
    framed = np.zeros((6, 6))
    framed[1:-1, 1:-1] = x
    added = np.ones((4, 4))
    added += x
    outputs = {
        "order": order,
        "taken": np.take_along_axis(x, order, 1),
        "low": low,
        "again": vectors @ np.diag(low) @ vectors.T,
        "picked": x[[0, 2]],
        "element": x[1, 2] + 1,
        "nan": np.nanmax(x),
        "sorted": sorted_x,
        "median": np.median(x, axis=0),
        "cumsum": np.cumsum(x, axis=0),
        "framed": framed,
        "added": added,
    }
    partition = df.find_distributed_partition(None, outputs)
    found = df.execute_distributed_partition(partition, None, None, None, input_args={"x": values})
    numpy.testing.assert_array_equal(found["taken"], numpy.sort(values, axis=1))
    numpy.testing.assert_array_equal(found["order"], numpy.argsort(values, axis=1))
    numpy.testing.assert_allclose(found["again"], values @ values.T, atol=1e-12)
    numpy.testing.assert_array_equal(found["picked"], values[[0, 2]])
    assert found["element"] == values[1, 2] + 1
    numpy.testing.assert_array_equal(found["framed"], numpy.pad(values, 1))
    numpy.testing.assert_array_equal(found["added"], values + 1)
    assert found["nan"] == values.max()
    numpy.testing.assert_array_equal(found["sorted"], numpy.sort(values, axis=0))
    numpy.testing.assert_allclose(found["median"], numpy.median(values, axis=0))
    numpy.testing.assert_allclose(found["cumsum"], numpy.cumsum(values, axis=0))


def test_memory_is_let_go_when_it_was_read() -> None:
    """A long chain of exchanges holds a few of its values at a time."""
    n, rounds = 100_000, 12
    value, sends = df.make_placeholder("x", (n,)), []
    for k in range(rounds):
        sends.append(df.make_distributed_send(value * 0.5, 0, k))
        value = df.make_distributed_recv(0, k, (n,), float) + 1
    partition = df.find_distributed_partition(None, {"y": value}, sends=sends)
    program = df.generate_code_for_partition(partition)
    alive: list[weakref.ref] = []
    most = 0

    def watched(call):
        def run_it(**inputs):
            nonlocal most
            found = call(**inputs)
            alive.extend(weakref.ref(array) for array in found.values())
            most = max(most, sum(one() is not None for one in alive))
            return found

        return run_it

    watched_programs = {pid: watched(call) for pid, call in program.items()}
    found = df.execute_distributed_partition(
        partition, watched_programs, None, None, input_args={"x": numpy.zeros(n)}
    )
    expected = 0.0
    for _ in range(rounds):
        expected = expected * 0.5 + 1
    assert found["y"][0] == expected
    assert len(alive) >= rounds
    assert most <= 3


def test_sends_that_wait_for_their_receives() -> None:
    """No order of ranks, and no MPI that keeps large messages back, makes a graph wait for ever."""

    def program() -> None:
        rank, size = np.world.rank, np.world.size
        given, sends, _, kept = play(11, rank, size, 60)
        outputs = {name: value.node for name, value in kept.items()}
        partition = df.find_distributed_partition(None, outputs, sends=sends)
        found = df.execute_distributed_partition(
            partition, None, None, None, input_args={"x": given}
        )
        for name, value in kept.items():
            numpy.testing.assert_allclose(found[name], value.number, rtol=1e-12)

    for seed in range(3):
        Simulation(4, rendezvous=True, seed=seed).run(program)
