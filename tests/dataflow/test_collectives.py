"""Collectives as nodes."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import dataflow as df
from atoll.comm.dry_run import dry_run_world


@pytest.mark.ranks(1, 2, 3, distributes=False)
@pytest.mark.simulated(1, 2, 3, 5, 8, 13, distributes=False)
def test_collectives(rank: int, size: int) -> None:
    everybody = [numpy.random.default_rng(r).normal(size=6) for r in range(size)]
    tables = [numpy.arange(size * 2.0).reshape(size, 2) + 100 * r for r in range(size)]
    x = df.make_placeholder("x", (6,))
    table = df.make_placeholder("table", (size, 2))
    total = df.make_distributed_allreduce(x, "norm")
    outputs = {
        "normal": x / total,
        "total": total,
        "largest": df.make_distributed_allreduce(x.max(), "norm", "max"),
        "positive": df.make_distributed_allreduce(x > 0, "p", "land"),
        "all": df.make_distributed_allgather(x[:2], "g"),
        "rows": df.make_distributed_alltoall(table, "t"),
    }
    partition = df.find_distributed_partition(None, outputs)
    found = df.execute_distributed_partition(
        partition, None, None, None, input_args={"x": everybody[rank], "table": tables[rank]}
    )
    total_expected = sum(everybody)
    numpy.testing.assert_allclose(found["total"], total_expected, rtol=1e-13)
    numpy.testing.assert_allclose(found["normal"], everybody[rank] / total_expected, rtol=1e-12)
    assert found["largest"] == max(x.max() for x in everybody)
    numpy.testing.assert_array_equal(
        found["positive"], numpy.all([x > 0 for x in everybody], axis=0)
    )
    numpy.testing.assert_array_equal(found["all"], numpy.stack([x[:2] for x in everybody]))
    numpy.testing.assert_array_equal(found["rows"], numpy.stack([t[rank] for t in tables]))
    bits = np.world.communicator.allgather(found["total"])
    assert (bits == bits[0]).all()


@pytest.mark.parametrize("size", [100, 10_000, 1_000_000])
def test_messages_grow_with_the_logarithm_of_the_ranks(size: int) -> None:
    """Counted on one rank of a world that does not exist."""
    with dry_run_world(size // 3, size) as world:
        x = df.make_placeholder("x", (2,))
        outputs = {
            "total": df.make_distributed_allreduce(x, "t", mpi_communicator=world),
            "all": df.make_distributed_allgather(x, "a", mpi_communicator=world),
        }
        parts = df.find_distributed_partition(None, outputs).parts.values()
        rounds = (size - 1).bit_length()
        assert sum(len(part.name_to_recv_node) for part in parts) <= 2 * rounds + 1
        assert sum(len(part.name_to_send_nodes) for part in parts) <= 2 * rounds + 1
        assert len(parts) <= 2 * rounds + 2


def test_bad_arguments_are_named() -> None:
    x = df.make_placeholder("x", (3, 2))
    with pytest.raises(ValueError, match=r"must be one of sum, .* not 'mean'"):
        df.make_distributed_allreduce(x, "t", "mean")
    with pytest.raises(ValueError, match="a row for each of the 1 ranks"):
        df.make_distributed_alltoall(x, "t")
