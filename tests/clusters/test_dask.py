"""Dask's collections in and out, on a real cluster, in one process; and without a cluster."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.config import config
from atoll.errors import ClusterError, ProtocolError
from atoll.interchange.dask import gather

from .starting import dask_cluster, shared_dask

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def cluster_address() -> str:
    return shared_dask().address


@pytest.fixture
def client(cluster_address: str) -> Iterator[Any]:
    with distributed.Client(cluster_address) as client:
        yield client


def table(rows: int = 10) -> Any:
    columns = {"a": np.arange(rows, dtype=float), "b": np.arange(rows) / 4}
    return dd.from_pandas(pd.DataFrame(columns), npartitions=3)


ARRAYS = {
    "one axis": lambda: da.arange(40, chunks=7),
    "uneven chunks": lambda: da.from_array(
        np.arange(60.0).reshape(6, 10), chunks=((1, 3, 2), (4, 6))
    ),
    "three axes": lambda: da.from_array(np.arange(60).reshape(3, 4, 5), chunks=(2, 2, 2)),
    "a task graph": lambda: (da.ones((20, 30), chunks=8) + da.arange(30, chunks=30)).T,
    "booleans": lambda: da.arange(40, chunks=7) > 17,
    "no axis": lambda: da.arange(10, chunks=3).sum(),
    "no elements": lambda: da.zeros((0, 4), chunks=2),
    "unknown chunks": lambda: (lambda x: x[x % 3 == 0])(da.arange(40, chunks=7)),
    "values of a frame": lambda: table().query("a > 3").values,
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("where", ["cluster", "here"])
def test_an_array_arrives(name: str, where: str, request: pytest.FixtureRequest) -> None:
    if where == "cluster":
        request.getfixturevalue("client")
    x = ARRAYS[name]()
    expected = np.asarray(x.compute())
    a = atoll.from_dask(x)
    assert isinstance(a, atoll.ndarray)
    assert (a.shape, a.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(np.asarray(a), expected)


@pytest.mark.parametrize("where", ["cluster", "here"])
def test_a_frame_arrives_as_rows_and_columns(where: str, request: pytest.FixtureRequest) -> None:
    if where == "cluster":
        request.getfixturevalue("client")
    some = table()
    some = some[some.a > 2]
    np.testing.assert_array_equal(np.asarray(atoll.from_dask(some)), some.compute().to_numpy())
    np.testing.assert_array_equal(np.asarray(atoll.from_dask(some.b)), np.arange(3, 10) / 4)


@pytest.mark.slow
def test_what_arrives_is_the_programs_own(client: Any) -> None:
    x = client.persist(da.zeros(20, chunks=5))
    a = atoll.from_dask(x)
    a[3] = 7
    assert float(a.sum()) == 7
    assert float(x.sum().compute()) == 0


def test_the_cluster_forgets_what_nobody_wants(client: Any) -> None:
    atoll.from_dask(da.random.random((30, 30), chunks=10))
    atoll.to_dask(np.ones(50))
    deadline = time.monotonic() + 10
    while any(client.who_has().values()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(client.who_has().values())


def test_a_client_or_an_address_can_be_given(cluster_address: str) -> None:
    x = da.arange(12, chunks=5)
    with pytest.raises(ValueError, match=r"No (global )?client"):
        distributed.Client.current()
    assert int(atoll.from_dask(x, client=cluster_address).sum()) == 66
    with distributed.Client(cluster_address, set_as_default=False) as client:
        assert int(atoll.from_dask(x, client=client).sum()) == 66
        y = atoll.to_dask(np.arange(12), client=client)
        assert client.compute(y.sum()).result() == 66


@pytest.mark.slow
def test_the_connections_of_a_call_are_closed(client: Any, cluster_address: str) -> None:
    def connected() -> list[str]:
        return client.run_on_scheduler(lambda dask_scheduler: sorted(dask_scheduler.clients))

    before = connected()
    atoll.from_dask(da.ones(5, chunks=2), client=cluster_address)
    bad = da.ones(5, chunks=2).map_blocks(failing, dtype=float, meta=np.empty(0))
    with pytest.raises(ClusterError, match="ArithmeticError"):
        atoll.from_dask(bad, client=cluster_address)
    deadline = time.monotonic() + 10
    while connected() != before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert connected() == before


def test_the_wrapper_speaks_the_protocol(client: Any) -> None:
    x = da.from_array(np.arange(60.0).reshape(6, 10), chunks=((1, 3, 2), (4, 6)))
    shown = atoll.DaskPartitions(x).__partitioned__
    assert set(shown) == {"shape", "partition_tiling", "partitions", "get"}
    assert (shown["shape"], shown["partition_tiling"]) == ((6, 10), (3, 2))
    processes = set(client.run(os.getpid).values())
    for (i, j), one in shown["partitions"].items():
        assert isinstance(one["data"], distributed.Future)
        assert one["start"] == ((0, 1, 4)[i], (0, 4)[j])
        data = shown["get"](one["data"])
        assert data.shape == one["shape"]
        np.testing.assert_array_equal(data, x.blocks[i, j].compute())
        assert one["location"]
        assert {address for address, _ in one["location"]} == {"127.0.0.1"}
        assert {process for _, process in one["location"]} <= processes
    copy = pickle.loads(pickle.dumps(shown))
    handles = [one["data"] for one in copy["partitions"].values()]
    assert sum(part.sum() for part in copy["get"](handles)) == x.sum().compute()


def test_the_wrapper_of_a_frame_asks_for_lengths(client: Any) -> None:
    some = table()
    shown = atoll.DaskPartitions(some[some.a > 3]).__partitioned__
    assert (shown["shape"], shown["partition_tiling"]) == ((6, 2), (3, 1))
    assert [shown["partitions"][k, 0]["shape"] for k in range(3)] == [(0, 2), (3, 2), (3, 2)]
    assert isinstance(shown["get"]([shown["partitions"][1, 0]["data"]])[0], pd.DataFrame)


@pytest.mark.parametrize("value", [np.arange(12.0).reshape(3, 4), np.float32(3), np.zeros((0, 2))])
@pytest.mark.parametrize("where", ["cluster", "here"])
def test_an_array_goes_out_and_returns(value, where, request: pytest.FixtureRequest) -> None:
    if where == "cluster":
        request.getfixturevalue("client")
    with config(small=0):
        x = atoll.to_dask(atoll.asarray(value))
        assert isinstance(x, da.Array)
        assert (x.shape, x.dtype) == (value.shape, value.dtype)
        np.testing.assert_array_equal(x.compute(), value)
        np.testing.assert_array_equal(np.asarray(atoll.from_dask(x)), value)


def test_out_is_a_copy_on_a_cluster_and_the_memory_itself_without(cluster_address: str) -> None:
    with config(small=0):
        a = atoll.zeros(10)
        here = atoll.to_dask(a)
        with distributed.Client(cluster_address):
            there = atoll.to_dask(a)
            a[3] = 5
            assert there.sum().compute() == 0
        assert here.sum().compute() == 5


def test_large_blocks_are_cut_and_dealt_out(client: Any) -> None:
    a = atoll.arange(100_000.0).reshape(100, 1000)
    with dask.config.set({"array.chunk-size": "80kB"}):
        x = atoll.to_dask(a)
    assert x.chunks == ((10,) * 10, (1000,))
    held = client.who_has(distributed.futures_of(x))
    assert len(set(held.values())) == 2
    np.testing.assert_array_equal(x.compute(), np.asarray(a))


# What cannot be taken


def failing(block: Any) -> Any:
    raise ArithmeticError(f"no {block.shape} today")


def unlike(block: Any, block_info: Any = None) -> Any:
    return block.astype(np.float32) if block_info[0]["chunk-location"] == (1,) else block


BAD = {
    "no collection": (lambda: 5, TypeError, "from_dask: a builtins.int is no dask.array"),
    "nothing": (lambda: None, TypeError, "no rank gave a Dask array"),
    "different columns": (
        lambda: table().assign(c=1),
        ProtocolError,
        "P7.*a: float64, b: float64, c: int64.*astype",
    ),
    "no dtype of NumPy's": (
        lambda: dd.from_pandas(pd.DataFrame({"word": ["a", "b"]}), npartitions=1),
        ProtocolError,
        "D1: column word has dtype",
    ),
    "a task that fails": (
        lambda: da.arange(10, chunks=4).map_blocks(failing, dtype=float, meta=np.empty(0)),
        ClusterError,
        "ArithmeticError.*no .* today",
    ),
    "chunks of different dtypes": (
        lambda: da.ones(10, chunks=4).map_blocks(unlike, dtype=float),
        ProtocolError,
        "P7",
    ),
    "chunks of another shape than said": (
        lambda: da.ones(10, chunks=4).map_blocks(lambda block: block[1:], dtype=float),
        ProtocolError,
        r"P8",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("where", ["cluster", "here"])
def test_bad_input_is_refused_by_name(
    name: str, where: str, request: pytest.FixtureRequest
) -> None:
    if where == "cluster":
        request.getfixturevalue("client")
    make, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        atoll.from_dask(make())


def test_foreign_handles_and_clients_are_refused(client: Any) -> None:
    with pytest.raises(ClusterError, match=r"must be a distributed.Future, not a str: 'nothing'"):
        gather(["nothing"])
    with pytest.raises(TypeError, match="or an address, not an int"):
        atoll.from_dask(da.ones(3), client=5)
    with pytest.raises(TypeError, match="not a str"):
        atoll.to_dask(np.ones(3), client="tcp://127.0.0.1:9")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(ClusterError, match=r"no connection to the scheduler at tcp://127.0.0.1:9"),
    ):
        atoll.from_dask(da.ones(3), client="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_cluster_that_dies_is_noticed() -> None:
    cluster = dask_cluster(1)
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        client = distributed.Client(cluster.address)
        try:
            x = client.persist(da.random.random(100, chunks=50))
            shown = atoll.DaskPartitions(x).__partitioned__
            cluster.kill()
            with pytest.raises(ClusterError, match=r"scheduler at tcp://127.0.0.1.* lost"):
                shown["get"]([shown["partitions"][0,]["data"]])
            with pytest.raises(ClusterError, match="lost"):
                atoll.from_dask(x)
            with pytest.raises(ClusterError, match="lost"):
                atoll.to_dask(np.ones(3))
        finally:
            client.close()


@pytest.mark.slow
def test_a_cluster_where_nothing_moves_is_given_up() -> None:
    cluster = dask_cluster(0)
    try:
        with distributed.Client(cluster.address), config(wait_abort=4):
            with pytest.raises(ClusterError, match=r"nothing moved.*3 of 3 partitions.*no workers"):
                atoll.from_dask(da.ones(6, chunks=2))
            with pytest.raises(ClusterError, match="has no workers"):
                atoll.to_dask(np.ones(3))
    finally:
        cluster.close()


@pytest.mark.slow
def test_a_worker_that_dies_is_made_up_for_where_dask_can() -> None:
    cluster = dask_cluster(1)
    try:
        with distributed.Client(cluster.address) as client, config(wait_abort=40):
            computed = client.persist(da.arange(20, chunks=5))
            sent = atoll.to_dask(np.arange(20))
            distributed.wait([computed, sent])
            (process,) = client.run(os.getpid).values()
            os.kill(process, signal.SIGKILL)
            (lost,) = distributed.futures_of(sent)
            deadline = time.monotonic() + 10
            while lost.status == "finished" and time.monotonic() < deadline:
                time.sleep(0.02)
            with pytest.raises(ClusterError, match=r"cancelled, or its only copy|CancelledError"):
                atoll.from_dask(sent)
            # The nanny starts another worker, and the scheduler has the chunks made again.
            np.testing.assert_array_equal(np.asarray(atoll.from_dask(computed)), np.arange(20))
    finally:
        cluster.close()
