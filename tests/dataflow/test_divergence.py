"""Ranks that part between executions of graphs, or in a collective of objects, are told so."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import dataflow as df
from atoll.errors import CommunicationError


def ring(factor: int) -> df.DistributedGraphPartition:
    """To the next rank, from the one before."""
    rank, size = np.world.rank, np.world.size
    arrived = df.make_distributed_recv((rank - 1) % size, "ring", (4,), float)
    x = df.make_placeholder("x", (4,))
    send = df.make_distributed_send(factor * x, (rank + 1) % size, "ring")
    return df.find_distributed_partition(None, {"arrived": arrived}, sends=[send])


def execute(partition: df.DistributedGraphPartition, agree: bool) -> numpy.ndarray:
    rank = float(np.world.rank)
    given = {"x": numpy.full(4, rank + 1)}
    return df.execute_distributed_partition(
        partition, None, None, None, input_args=given, agree=agree
    )["arrived"]


def told(rank: int, caught: pytest.ExceptionInfo[CommunicationError]) -> None:
    """Both lines are named, or another rank was told before."""
    assert "ranks have diverged" in str(caught.value) or "deadlock" in str(caught.value), (
        caught.value
    )
    assert "test_divergence.py:" in str(caught.value)


@pytest.mark.parametrize("agree", [True, False])
@pytest.mark.ranks(2, 3, distributes=False)
@pytest.mark.simulated(2, 3, distributes=False)
def test_graphs_in_another_order_do_not_take_each_others_messages(rank, size, agree):
    with np.world.split(0), np.config(wait_check=0.1):
        one, other = ring(10), ring(100)
        before = (rank - 1) % size + 1
        for partition, factor in ((one, 10), (other, 100)) * 2:
            assert (execute(partition, agree) == factor * before).all()
        first, second = (one, other) if rank else (other, one)

        def swapped():
            execute(first, agree)
            execute(second, agree)
            np.world.barrier()

        with pytest.raises(CommunicationError) as caught:
            swapped()
        told(rank, caught)


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
def test_a_graph_and_something_else_part(rank):
    with np.world.split(0), np.config(small=0, wait_check=0.1):
        graph, a = ring(2), np.arange(8.0)
        execute(graph, True)
        with pytest.raises(CommunicationError) as caught:
            execute(graph, True) if rank else float(a.sum())
        told(rank, caught)


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(2, distributes=False)
def test_the_seed_of_one_rank_parts(rank):
    with np.world.split(0), np.config(small=0, wait_check=0.1):
        a = np.arange(8.0)
        assert np.random.default_rng().random() >= 0
        with pytest.raises(CommunicationError) as caught:
            np.random.default_rng() if rank else float(a.sum())
        told(rank, caught)
