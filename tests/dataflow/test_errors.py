"""Errors of users: the same one on every rank, soon, with ranks, tags and lines."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

import atoll as np
from atoll import dataflow as df


def everywhere(error: BaseException) -> None:
    """All ranks raise the same."""
    texts = np.world.communicator.allgather_object((type(error).__name__, str(error)))
    assert len(set(texts)) == 1, texts


def refused(outputs, sends, kind, *words) -> None:
    partition = df.find_distributed_partition(None, outputs, sends=sends)
    with pytest.raises(kind) as caught:
        df.verify_distributed_partition(None, partition)
    everywhere(caught.value)
    for word in words:
        assert word in str(caught.value)
    with pytest.raises(kind):
        df.execute_distributed_partition(
            partition, None, None, None, input_args={"x": numpy.zeros(3)}
        )


def placeholder():
    return df.make_placeholder("x", (3,))


several = pytest.mark.simulated(2, 3, distributes=False)
real = pytest.mark.ranks(2, 3, distributes=False)


@several
@real
def test_missing_send_on_one_rank(rank: int, size: int) -> None:
    x = placeholder()
    outputs = {"y": x + 1}
    if rank == 1:
        outputs["z"] = df.make_distributed_recv(0, ("lost", 4), (3,), float)
    refused(outputs, (), df.MissingSendError, "rank 1", "rank 0", "('lost', 4)", "test_errors.py:")


@several
@real
def test_missing_receive_on_one_rank(rank: int, size: int) -> None:
    x = placeholder()
    sends = [df.make_distributed_send(x, 0, "unasked")] if rank == 1 else []
    refused({"y": x + 1}, sends, df.MissingRecvError, "rank 1", "'unasked'", "test_errors.py:")


@several
@real
def test_duplicates_on_one_rank(rank: int, size: int) -> None:
    x = placeholder()
    other = (rank + 1) % size
    sends = [df.make_distributed_send(x, other, "a")]
    if rank == 1:
        sends.append(df.make_distributed_send(x * 2, other, "a"))
    y = df.make_distributed_recv((rank - 1) % size, "a", (3,), float)
    refused({"y": y}, sends, df.DuplicateSendError, "rank 1", "'a'", "test_errors.py:")


@several
def test_duplicate_receives_on_one_rank(rank: int, size: int) -> None:
    x = placeholder()
    sends = [df.make_distributed_send(x, (rank + 1) % size, "a")]
    y = df.make_distributed_recv((rank - 1) % size, "a", (3,), float)
    outputs = {"y": y}
    if rank == 0:
        outputs["again"] = df.make_distributed_recv((rank - 1) % size, "a", (3,), float) + 1
    refused(outputs, sends, df.DuplicateRecvError, "rank 0", "'a'")


@several
@real
@pytest.mark.parametrize(("shape", "dtype"), [((4,), float), ((3,), "f4"), ((3, 1), float)])
def test_shape_and_dtype(rank: int, size: int, shape, dtype) -> None:
    x = placeholder()
    sends = [df.make_distributed_send(x, (rank + 1) % size, "a")]
    wanted = (shape, dtype) if rank == 0 else ((3,), float)
    y = df.make_distributed_recv((rank - 1) % size, "a", *wanted)
    refused({"y": y}, sends, df.MessageMismatchError, "(3,)", str(shape), "test_errors.py:")


@several
def test_tags_that_cannot_travel(rank: int, size: int) -> None:
    x = placeholder()
    tag = (lambda: 0) if rank == 1 else "fine"
    sends = [df.make_distributed_send(x, (rank + 1) % size, tag)]
    y = df.make_distributed_recv((rank - 1) % size, "fine", (3,), float)
    refused({"y": y}, sends, df.CommunicationTagError, "rank 1", "lambda")
    partition = df.find_distributed_partition(None, {"y": y}, sends=sends)
    with pytest.raises(df.CommunicationTagError) as caught:
        df.number_distributed_tags(None, partition, 0)
    everywhere(caught.value)


@several
def test_a_rank_that_is_not_there(rank: int, size: int) -> None:
    x = placeholder()
    sends = [df.make_distributed_send(x, 99, "far")] if rank == 1 else []
    refused({"y": x + 1}, sends, df.MissingRecvError, "no rank 99")


@pytest.mark.simulated(1, 2, 3, distributes=False)
@real
def test_a_circle_of_the_user(rank: int, size: int) -> None:
    got = df.make_distributed_recv((rank - 1) % size, "round", (3,), float)
    sends = [df.make_distributed_send(got + 1, (rank + 1) % size, "round")]
    refused({"y": got}, sends, df.CommunicationCycleError, "'round'", "test_errors.py:")


@several
@real
def test_parts_made_by_hand_that_wait_in_a_circle(rank: int, size: int) -> None:
    x = placeholder()
    got = df.make_distributed_recv((rank - 1) % size, "a", (3,), float)
    sends = [df.make_distributed_send(x + 1, (rank + 1) % size, "a")]
    good = df.find_distributed_partition(None, {"y": got * 2}, sends=sends)
    df.verify_distributed_partition(None, good)
    first, second = good.parts.values()
    # all in one part, which would send only after it has received
    one = df.DistributedGraphPart(
        0,
        frozenset(),
        first.user_input_names,
        second.partition_input_names,
        first.output_names | second.output_names,
        second.name_to_recv_node,
        first.name_to_send_nodes,
    )
    bad = df.DistributedGraphPartition({0: one}, good.name_to_output, good.overall_output_names)
    with pytest.raises(df.PartitionInducedCycleError) as caught:
        df.verify_distributed_partition(None, bad)
    everywhere(caught.value)
    # needs that go round on one rank only
    parts = dict(good.parts)
    if rank == 1:
        parts[first.pid] = replace(first, needed_pids=frozenset([second.pid]))
        parts[second.pid] = replace(second, needed_pids=frozenset([first.pid]))
    worse = df.DistributedGraphPartition(parts, good.name_to_output, good.overall_output_names)
    with pytest.raises(df.PartitionInducedCycleError, match="rank 1") as caught:
        df.verify_distributed_partition(None, worse)
    everywhere(caught.value)


def test_looking_at_a_value_names_what_it_waits_for() -> None:
    y = placeholder() + 1
    with pytest.raises(df.DeferredValueError, match=r"the placeholder 'x', made at test_errors.py"):
        float(y.sum())
    assert repr(y) == "<dataflow array of shape (3,) and dtype float64>"
    with pytest.raises(df.DeferredValueError, match="depends on values"):
        np.nonzero(y)


@several
def test_arrays_on_ranks_do_not_mix(rank: int, size: int) -> None:
    x = placeholder()
    spread = np.ones(3 * size)
    with pytest.raises(df.MixedArraysError, match=r"a\.local"):
        x + spread[:3]
    with pytest.raises(df.MixedArraysError, match=r"a\.local"):
        np.sort(x + 0, axis=0).dot(spread[:3])
    partition = df.find_distributed_partition(None, {"y": x + 1})
    with pytest.raises(df.MixedArraysError, match="'x'"):
        df.execute_distributed_partition(partition, None, None, None, input_args={"x": spread})
    found = df.execute_distributed_partition(
        partition, None, None, None, input_args={"x": spread.local}
    )
    joined = np.from_local(found["y"])
    assert joined.shape == (3 * size,)
    assert (np.asarray(joined) == 2).all()


def test_inputs_are_checked() -> None:
    partition = df.find_distributed_partition(None, {"y": placeholder() + 1})
    with pytest.raises(TypeError, match="input_args lacks 'x'"):
        df.execute_distributed_partition(partition, None, None, None)
    with pytest.raises(ValueError, match=r"'x' has shape \(4,\)"):
        df.execute_distributed_partition(
            partition, None, None, None, input_args={"x": numpy.ones(4)}
        )
    with pytest.raises(ValueError, match="no name"):
        df.make_placeholder("not a name", (3,))
    with pytest.raises(ValueError, match="-1 is no rank"):
        df.make_distributed_recv(-1, "a", (3,), float)


def test_memory_that_others_see_takes_no_value_that_comes_later() -> None:
    memory = np.zeros(5)
    view = memory[1:]
    with pytest.raises(df.DeferredValueError, match="memory that others see"):
        memory[1:4] = placeholder()
    with pytest.raises(df.DeferredValueError, match="memory that others see"):
        view[:3] = placeholder()
    assert memory.tolist() == [0] * 5
