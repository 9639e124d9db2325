"""Dask's collections in and out on several ranks: each partition moves once, errors reach all."""

from __future__ import annotations

import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.config import config
from atoll.errors import ClusterError, ProtocolError

from .starting import dask_cluster, shared_dask

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.timeout(60)


def on_root(rank: int, make: Any) -> Any:
    """What only rank 0 makes: the others have no Dask client, and no collection."""
    return make() if rank == 0 else None


@pytest.mark.ranks(1, 2, 3)
def test_one_rank_has_the_client_and_all_get_their_part(rank: int, size: int) -> None:
    client = on_root(rank, lambda: distributed.Client(shared_dask().address))
    try:
        x = on_root(rank, lambda: da.random.random((60, 10), chunks=(7, 5)).persist())
        expected = atoll.world.communicator.bcast_object(on_root(rank, lambda: x.compute()))
        a = atoll.from_dask(x)
        assert a.shape == (60, 10)
        sizes = atoll.world.communicator.allgather_object(a.local.size)
        assert sum(sizes) == 600
        assert min(sizes) >= 600 // size - 2 * 7 * 10
        np.testing.assert_array_equal(np.asarray(a), expected)

        table = on_root(
            rank,
            lambda: dd.from_pandas(
                pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) / 2}), npartitions=5
            ).query("a > 7"),
        )
        b = atoll.from_dask(table)
        np.testing.assert_array_equal(
            np.asarray(b), np.stack([np.arange(8, 30), np.arange(8, 30) / 2], axis=1)
        )

        y = atoll.to_dask(a * 2)
        assert (y is None) == (rank > 0)
        if rank == 0:
            assert y.chunks == da.core.normalize_chunks(y.chunks, y.shape)
            np.testing.assert_array_equal(y.compute(), 2 * expected)
        again = atoll.from_dask(y)
        assert float(abs(again - 2 * a).max()) == 0
        del y
    finally:
        if client is not None:
            client.close()


@pytest.mark.ranks(2, 3)
def test_every_rank_may_have_a_client(rank: int, size: int) -> None:
    address = on_root(rank, lambda: shared_dask().address)
    address = atoll.world.communicator.bcast_object(address)
    with distributed.Client(address):
        # Random numbers, and every rank draws its own: those of the first rank count.
        x = da.random.random(50, chunks=6).persist()
        expected = atoll.world.communicator.bcast_object(x.compute())
        a = atoll.from_dask(x)
        np.testing.assert_array_equal(np.asarray(a), expected)
        cyclic = a.redistribute(atoll.Layout((50,), "c"))
        y = atoll.to_dask(cyclic)
        np.testing.assert_array_equal(y.compute(), expected)
        copies = atoll.to_dask(a.redistribute(atoll.Layout.replicated((50,), size)))
        np.testing.assert_array_equal(copies.compute(), expected)
        atoll.world.barrier()


@pytest.mark.ranks(2, 3)
def test_a_client_can_be_an_address_and_the_grid_can_have_two_axes(rank: int, size: int) -> None:
    address = atoll.world.communicator.bcast_object(on_root(rank, lambda: shared_dask().address))
    expected = np.arange(12 * 9).reshape(12, 9)
    x = on_root(rank, lambda: da.from_array(expected, chunks=((2, 6, 4), (3, 1, 5))))
    a = atoll.from_dask(x, client=address)
    np.testing.assert_array_equal(np.asarray(a), expected)
    assert a.local.size < expected.size


@pytest.mark.ranks(2, 3)
def test_without_a_cluster_each_rank_computes_its_part(rank: int, size: int) -> None:
    # Drawn once, on the last rank, though every rank computes.
    x = da.random.random((40, 3), chunks=(4, 3)) if rank == size - 1 else None
    a = atoll.from_dask(x)
    assert 0 < a.local.size < 120
    expected = x.compute() if x is not None else None
    expected = atoll.world.communicator.bcast_object(expected, size - 1)
    np.testing.assert_array_equal(np.asarray(a), expected)
    with pytest.raises(ClusterError, match=r"to_dask: no rank has a distributed.Client"):
        atoll.to_dask(a)


@pytest.mark.ranks(2, 3)
def test_fewer_partitions_than_ranks_are_shared_out(rank: int, size: int) -> None:
    address = atoll.world.communicator.bcast_object(on_root(rank, lambda: shared_dask().address))
    for expected in (np.arange(20.0).reshape(10, 2), np.array(7), np.zeros((0, 3))):
        x = on_root(rank, lambda value=expected: da.from_array(value, chunks=-1))
        for where in ({"client": address}, {}):
            a = atoll.from_dask(x, **where)
            assert (a.shape, a.dtype) == (expected.shape, expected.dtype)
            assert a.local.size < max(expected.size, 2)
            np.testing.assert_array_equal(np.asarray(a), expected)
            b = a + 1
            np.testing.assert_array_equal(np.asarray(b), expected + 1)


@pytest.mark.ranks(2, 3)
def test_a_description_that_was_pickled_is_taken(rank: int, size: int) -> None:
    address = atoll.world.communicator.bcast_object(on_root(rank, lambda: shared_dask().address))
    expected = np.arange(60).reshape(12, 5)
    with distributed.Client(address):
        keeps = on_root(rank, lambda: atoll.DaskPartitions(da.from_array(expected, chunks=(3, 5))))
        pickled = atoll.world.communicator.bcast_object(
            on_root(rank, lambda: pickle.dumps(keeps.__partitioned__))
        )
        a = atoll.from_partitioned(pickle.loads(pickled))
        assert 0 < a.local.size < 60
        np.testing.assert_array_equal(np.asarray(a), expected)
        atoll.world.barrier()


def failing(block: Any) -> Any:
    raise ArithmeticError("not today")


@pytest.mark.ranks(2, distributes=False)
def test_bad_input_is_refused_on_all_ranks(rank: int, size: int) -> None:
    address = atoll.world.communicator.bcast_object(on_root(rank, lambda: shared_dask().address))
    for make, kind, message in (
        (lambda: "a word", TypeError, "rank 0: from_dask: a builtins.str is no dask.array"),
        (lambda: None, TypeError, "from_dask: no rank gave"),
        (
            lambda: dd.from_pandas(pd.DataFrame({"a": [1], "b": [1.0]}), npartitions=1),
            ProtocolError,
            "P7: the columns must have one dtype",
        ),
        (
            lambda: da.ones(10, chunks=2).map_blocks(failing, dtype=float, meta=np.empty(0)),
            ClusterError,
            "ArithmeticError: not today",
        ),
        (
            lambda: da.ones(10, chunks=2).map_blocks(
                lambda b, block_id: b.astype("f4") if block_id == (4,) else b, dtype=float
            ),
            ProtocolError,
            "P7",
        ),
    ):
        with pytest.raises(kind, match=message):
            atoll.from_dask(on_root(rank, make), client=address)


@pytest.mark.ranks(2, distributes=False)
def test_a_cluster_that_dies_is_noticed_on_all_ranks(rank: int, size: int) -> None:
    cluster = on_root(rank, lambda: dask_cluster(1))
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), config(wait_abort=20):
        client = on_root(rank, lambda: distributed.Client(cluster.address))
        try:
            x = on_root(rank, lambda: client.persist(da.ones(100, chunks=10)))
            if rank == 0:
                distributed.wait(x)
                cluster.kill()
            with pytest.raises(
                ClusterError, match=r"rank [01]: .*(lost|no connection to the scheduler)"
            ):
                atoll.from_dask(x)
            with pytest.raises(ClusterError, match=r"lost|no connection"):
                atoll.to_dask(atoll.ones(10))
        finally:
            if client is not None:
                client.close()


def slow(block: Any) -> Any:
    time.sleep(30)
    return block


@pytest.mark.ranks(2, distributes=False)
def test_a_cluster_that_dies_while_all_wait_is_noticed(rank: int, size: int) -> None:
    cluster = on_root(rank, lambda: dask_cluster(1))
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        client = on_root(rank, lambda: distributed.Client(cluster.address))
        try:
            killing = threading.Timer(1.5, lambda: cluster.kill() if cluster else None)
            killing.start()
            x = on_root(
                rank, lambda: da.ones(4, chunks=2).map_blocks(slow, dtype=float, meta=np.empty(0))
            )
            with pytest.raises(ClusterError, match=r"rank 0: .*scheduler at .* lost"):
                atoll.from_dask(x)
            killing.join()
        finally:
            if client is not None:
                client.close()
