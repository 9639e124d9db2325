"""Errors of users: the same one on every rank, soon, with ranks, tags and lines."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

import atoll as np
from atoll import dataflow as df
from atoll.comm.simulated import Simulation
from atoll.errors import RankFailedError


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
@real
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
@real
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
    with pytest.raises(TypeError, match=r"input_args must .* and lacks 'x'"):
        df.execute_distributed_partition(partition, None, None, None)
    with pytest.raises(ValueError, match=r"'x' has shape \(4,\)"):
        df.execute_distributed_partition(
            partition, None, None, None, input_args={"x": numpy.ones(4)}
        )
    with pytest.raises(ValueError, match="must be an identifier"):
        df.make_placeholder("not a name", (3,))
    with pytest.raises(ValueError, match="src_rank is -1; a rank must"):
        df.make_distributed_recv(-1, "a", (3,), float)


def test_memory_that_others_see_takes_no_value_that_comes_later() -> None:
    memory = np.zeros(5)
    view = memory[1:]
    with pytest.raises(df.DeferredValueError, match="memory that others see"):
        memory[1:4] = placeholder()
    with pytest.raises(df.DeferredValueError, match="memory that others see"):
        view[:3] = placeholder()
    assert memory.tolist() == [0] * 5


# Errors while the graph runs ----------------------------------------------------------------------


def chain(rank: int, size: int, programs_fail_on: int, calls: list[int]):
    """Three exchanges in a row; the second part of one rank raises while ``calls`` is empty."""
    x = placeholder()
    value, sends = x, []
    for k in range(3):
        sends.append(df.make_distributed_send(value + 1, (rank + 1) % size, k))
        value = df.make_distributed_recv((rank - 1) % size, k, (3,), float) * 2
    partition = df.find_distributed_partition(None, {"y": value}, sends=sends)
    programs = dict(df.generate_code_for_partition(partition))
    second = list(partition.parts)[1]
    works = programs[second]

    def fails(**inputs):
        if rank == programs_fail_on and not calls:
            calls.append(1)
            raise ArithmeticError("no root of -1 here")
        return works(**inputs)

    programs[second] = fails
    return partition, programs


def execute(partition, programs, value, **options):
    return df.execute_distributed_partition(
        partition, programs, None, None, input_args={"x": value}, **options
    )["y"]


@pytest.mark.simulated(1, 2, 3, 5, distributes=False)
@pytest.mark.ranks(3, distributes=False)
def test_an_error_in_a_program_is_raised_by_all(rank: int, size: int) -> None:
    failing = size - 1
    partition, programs = chain(rank, size, failing, [])
    with pytest.raises(ArithmeticError, match="no root of -1 here") as caught:
        execute(partition, programs, numpy.zeros(3))
    everywhere(caught.value)
    assert str(caught.value).startswith(f"rank {failing}: ") or size == 1
    # no message is left over: the same partition runs again, with the right messages
    for start in (0.0, 5.0):
        found = execute(partition, programs, numpy.full(3, start))
        assert found.tolist() == [((start + 1) * 2 + 1) * 4 + 2] * 3


@several
@real
def test_wrong_inputs_on_one_rank_are_raised_by_all(rank: int, size: int) -> None:
    partition, programs = chain(rank, size, -1, [])
    spread = np.ones(3 * size)
    for given, kind, words in (
        (numpy.zeros(4), ValueError, "rank 1: the input 'x' has shape"),
        (spread, df.MixedArraysError, "rank 1: .*'x' lies on several ranks"),
    ):
        with pytest.raises(kind, match=words) as caught:
            execute(partition, programs, given if rank == 1 else numpy.zeros(3))
        everywhere(caught.value)
    with pytest.raises(TypeError, match=r"rank 1: .*input_args must .* lacks 'x'") as caught:
        df.execute_distributed_partition(
            partition, programs, None, None, input_args={} if rank == 1 else {"x": numpy.zeros(3)}
        )
    everywhere(caught.value)
    assert execute(partition, programs, numpy.zeros(3)).tolist() == [14.0] * 3


@several
def test_a_lacking_program_on_one_rank_is_raised_by_all(rank: int, size: int) -> None:
    partition, programs = chain(rank, size, -1, [])
    if rank == 1:
        del programs[0]
    with pytest.raises(
        ValueError, match=r"rank 1: .*must have a program for each part, and has none for \[0\]"
    ) as caught:
        execute(partition, programs, numpy.zeros(3))
    everywhere(caught.value)


class OddError(Exception):
    """An error that takes no text."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one, two)


@several
@real
def test_errors_of_odd_classes_and_messages_without_bytes(rank: int, size: int) -> None:
    x = placeholder()
    none = df.make_placeholder("none", (0,))
    sends = [
        df.make_distributed_send(none, 1, "nothing") if rank == 0 else None,
        df.make_distributed_send(x, 1, "large") if rank == 0 else None,
    ]
    outputs = {"y": x + 1}
    if rank == 1:
        outputs["n"] = df.make_distributed_recv(0, "nothing", (0,), float)
        outputs["l"] = df.make_distributed_recv(0, "large", (3,), float) + 1
    partition = df.find_distributed_partition(None, outputs, sends=[s for s in sends if s])
    programs = dict(df.generate_code_for_partition(partition))

    def fails(**inputs):
        raise OddError(1, 2)

    if rank == 0:
        programs[0] = fails
    given = {"x": numpy.zeros(3), "none": numpy.zeros(0)}
    with pytest.raises(RankFailedError, match=r"OddError: \(1, 2\)") as caught:
        df.execute_distributed_partition(partition, programs, None, None, input_args=given)
    everywhere(caught.value)


@several
@real
def test_a_part_whose_dtype_depends_on_values(rank: int, size: int) -> None:
    x = df.make_placeholder("x", (2, 2))
    sends = [df.make_distributed_send(np.linalg.eigvals(x), (rank + 1) % size, "ring")]
    value = df.make_distributed_recv((rank - 1) % size, "ring", (2,), float)
    partition = df.find_distributed_partition(None, {"y": value}, sends=sends)
    programs = df.generate_code_for_partition(partition)
    turn = numpy.array([[0.0, -1.0 if rank == 0 else 1.0], [1.0, 0.0]])
    with pytest.raises(
        ValueError, match=r"complex128 for .* which is sent as .* float64"
    ) as caught:
        execute(partition, programs, turn)
    everywhere(caught.value)


def test_operations_on_values_of_a_dtype_that_numpy_chooses_late() -> None:
    x = df.make_placeholder("x", (2, 2))
    partition = df.find_distributed_partition(None, {"y": np.linalg.eigvals(x) * 2})
    programs = df.generate_code_for_partition(partition)
    assert execute(partition, programs, numpy.array([[0.0, 1], [1, 0]])).tolist() == [2, -2]
    with pytest.raises(ValueError, match=r"eigvals.* at test_errors.py:\d+ gave complex128 for"):
        execute(partition, programs, numpy.array([[0.0, -1], [1, 0]]))


@several
@real
def test_without_agreement_only_those_fail_who_need_the_result(rank: int, size: int) -> None:
    """A line of ranks: what comes before the failed one goes on, what comes after does not."""
    x = placeholder()
    value, sends = x, []
    if rank:
        value = df.make_distributed_recv(rank - 1, "down", (3,), float)
    if rank + 1 < size:
        sends.append(df.make_distributed_send(value + 1, rank + 1, "down"))
    partition = df.find_distributed_partition(None, {"y": value + x}, sends=sends)
    programs = dict(df.generate_code_for_partition(partition))

    def fails(**inputs):
        raise ArithmeticError("broken")

    failing = max(1, size - 2)
    if rank == failing:
        programs[max(programs)] = fails
    if rank < failing:
        assert execute(partition, programs, numpy.zeros(3), agree=False).tolist() == [rank] * 3
        return
    with pytest.raises(ArithmeticError if rank == failing else RankFailedError) as caught:
        execute(partition, programs, numpy.zeros(3), agree=False)
    if rank > failing:
        assert f"rank {rank - 1} could not compute what rank {rank}" in str(caught.value)
        assert "_recv_0" in str(caught.value)


def test_an_error_ends_a_wait_at_once() -> None:
    """On the ranks' own clocks, nobody waits longer than the failing rank took."""

    def program() -> float:
        rank, size = np.world.rank, np.world.size
        partition, programs = chain(rank, size, 0, [])
        before = np.world.communicator.clock
        with pytest.raises(ArithmeticError):
            execute(partition, programs, numpy.zeros(3))
        return np.world.communicator.clock - before

    assert Simulation(16).run(program) == [0.0] * 16
