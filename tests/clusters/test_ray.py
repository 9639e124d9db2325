"""Ray's object references in and out, on a real cluster, at one and several ranks."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import atoll
from atoll.config import config
from atoll.errors import ClusterError, ProtocolError
from atoll.interchange.ray import by_position, gather

from .starting import ROOT, clean_environment, shared_ray

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.timeout(120)


def connect(address: str) -> None:
    ray.init(address=address, log_to_driver=False, logging_level="error")


@pytest.fixture
def connection() -> Iterator[str]:
    address = shared_ray().address
    connect(address)
    yield address
    ray.shutdown()


WHOLE = np.arange(60.0).reshape(6, 10)
ROWS, COLUMNS = (0, 1, 4, 6), (0, 4, 10)


def tiles() -> list[list[Any]]:
    """The references of the tiles of ``WHOLE``, as nested lists."""
    return [
        [
            ray.put(WHOLE[ROWS[i] : ROWS[i + 1], COLUMNS[j] : COLUMNS[j + 1]].copy())
            for j in range(2)
        ]
        for i in range(3)
    ]


def test_references_become_an_array_in_whatever_form_they_come(connection: str) -> None:
    refs = tiles()
    flat = [ref for row in refs for ref in row]
    table = np.empty((3, 2), object)
    table[:] = refs
    places = {place: refs[place[0]][place[1]] for place in product(range(3), range(2))}
    for form in (refs, flat, table, places):
        a = atoll.from_ray(form, (6, 10), (3, 2))
        np.testing.assert_array_equal(np.asarray(a), WHOLE)
    a[0, 0] = 99
    assert ray.get(refs[0][0])[0, 0] == 0


def test_the_wrapper_speaks_the_protocol(connection: str) -> None:
    shown = atoll.RayPartitions(tiles(), (6, 10), (3, 2)).__partitioned__
    assert set(shown) == {"shape", "partition_tiling", "partitions", "get"}
    node = ray.util.get_node_ip_address()
    for (i, j), one in shown["partitions"].items():
        assert isinstance(one["data"], ray.ObjectRef)
        assert one["start"] == (ROWS[i], COLUMNS[j])
        assert [address for address, _ in one["location"]] == [node]
        assert shown["get"](one["data"]).shape == one["shape"]
    copy = pickle.loads(pickle.dumps(shown))
    assert (
        sum(part.sum() for part in copy["get"]([p["data"] for p in copy["partitions"].values()]))
        == 1770
    )
    np.testing.assert_array_equal(np.asarray(atoll.from_partitioned(shown)), WHOLE)


def test_locations_are_asked_for_object_by_object(
    connection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray aborts a process that asks for objects of several owners at once, though seldom."""
    asked: list[int] = []
    ask = ray.experimental.get_object_locations

    def counted(refs: list[Any], *further: Any) -> Any:
        asked.append(len(refs))
        return ask(refs, *further)

    @ray.remote(num_cpus=0)
    def owner() -> list[Any]:
        return [ray.put(WHOLE[3:].copy())]

    monkeypatch.setattr(ray.experimental, "get_object_locations", counted)
    a = atoll.from_ray([ray.put(WHOLE[:3].copy()), *ray.get(owner.remote())], (6, 10), (2, 1))
    np.testing.assert_array_equal(np.asarray(a), WHOLE)
    assert asked == [1, 1]


def test_frames_and_results_of_tasks_arrive(connection: str) -> None:
    pd = pytest.importorskip("pandas")

    @ray.remote(num_cpus=0)
    def make(k: int) -> Any:
        return pd.DataFrame({"a": np.arange(3.0) + k, "b": np.zeros(3)})

    a = atoll.from_ray([make.remote(0), make.remote(10)], (6, 2), (2, 1))
    np.testing.assert_array_equal(np.asarray(a)[:, 0], [0, 1, 2, 10, 11, 12])


def test_an_array_goes_out_and_returns(connection: str) -> None:
    with config(small=0):
        made = atoll.to_ray(atoll.asarray(WHOLE) * 2)
    assert (made.shape, made.partition_tiling) == ((6, 10), (1, 1))
    np.testing.assert_array_equal(ray.get(made.refs[0, 0]), 2 * WHOLE)
    np.testing.assert_array_equal(np.asarray(atoll.from_ray(made)), 2 * WHOLE)


def test_bad_input_is_refused_by_name(connection: str) -> None:
    refs = tiles()

    @ray.remote(num_cpus=0, max_retries=0)
    def fail() -> None:
        raise ArithmeticError("not today")

    wrong = [[refs[0][0], refs[0][1]], [refs[1][0], refs[2][1]]]
    mixed = [ray.put(np.zeros(2)), ray.put(np.zeros(2, np.float32))]
    for given, kind, message in (
        ((refs,), TypeError, "need the shape of the whole"),
        ((refs, (6, 10), (2, 2)), ProtocolError, "P4: there are 6 references for a grid of"),
        (
            (["a", "b"], (4,), (2,)),
            ClusterError,
            "a handle must be a ray.ObjectRef, not a str: 'a'",
        ),
        ((refs, (6, 11), (3, 2)), ProtocolError, r"P5: .* shape \(6, 10\); .* \(6, 11\)"),
        ((wrong, (6, 10), (2, 2)), ProtocolError, r"P6 position \(1, 1\)"),
        ((mixed, (4,), (2,)), ProtocolError, "P7"),
        (([refs[0][0]], (4,), (1,)), ProtocolError, "P3 position"),
        (
            ([fail.remote(), refs[0][0]], (4,), (2,)),
            ClusterError,
            r"\(0,\): ArithmeticError: not today",
        ),
        ((None,), TypeError, "no rank gave references"),
        ((refs, "ab", (3, 2)), TypeError, "shape is 'ab'"),
    ):
        with pytest.raises(kind, match=message):
            atoll.from_ray(*given)


def test_without_a_cluster_it_says_so() -> None:
    shared_ray()
    ref = ray.ObjectRef(os.urandom(28))
    with pytest.raises(ClusterError, match=r"from_ray: this process is not connected to Ray"):
        atoll.from_ray([ref], (3,), (1,))
    with pytest.raises(ClusterError, match=r"get: this process is not connected"):
        gather([ref])
    with pytest.raises(ClusterError, match=r"to_ray: no rank is connected"):
        atoll.to_ray(np.ones(3))


def test_an_object_that_never_comes_is_given_up(connection: str) -> None:
    @ray.remote(num_cpus=0, resources={"unobtainable": 1})
    def never() -> None:
        return None

    ref = never.remote()
    with (
        config(wait_abort=0.5),
        pytest.raises(ClusterError, match=r"nothing moved .* 1 of 1 objects"),
    ):
        atoll.from_ray([ref], (3,), (1,))
    ray.cancel(ref)


def test_forms_that_are_no_grid() -> None:
    with pytest.raises(ProtocolError, match=r"P4: position \(1,\) has no reference"):
        by_position({(0,): None}, (2,))
    with pytest.raises(ProtocolError, match=r"P4: position \(5,\) has a reference outside"):
        by_position({(0,): None, (5,): None}, (1,))


def test_a_cluster_that_dies_is_noticed() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "tests.clusters.lose_ray"],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    said = made.stdout.splitlines()
    assert [line.split(":")[0] for line in said] == ["from_ray", "from_ray", "to_ray", "get"], made
    for line in said:
        assert re.search(r"the head of the Ray cluster at .* is lost", line), made


@pytest.mark.ranks(2, 3)
def test_one_rank_is_connected_and_all_get_their_part(rank: int, size: int) -> None:
    if rank == 0:
        connect(shared_ray().address)
    try:
        refs = tiles() if rank == 0 else None
        a = atoll.from_ray(refs, (6, 10), (3, 2)) if rank == 0 else atoll.from_ray(None)
        assert 0 < a.local.size < 60
        np.testing.assert_array_equal(np.asarray(a), WHOLE)
        assert ray.is_initialized() is (rank == 0)
        with pytest.raises(ProtocolError, match=r"rank 0: .*P5"):
            atoll.from_ray(refs, (6, 11), (3, 2))

        made = atoll.to_ray(a + 1)
        assert ray.is_initialized()
        assert made.shape == (6, 10)
        parts = made.__partitioned__["partitions"]
        assert len(parts) == size
        for one in parts.values():
            first, shape = one["start"], one["shape"]
            region = tuple(slice(a, a + n) for a, n in zip(first, shape))
            np.testing.assert_array_equal(ray.get(one["data"], timeout=20), (WHOLE + 1)[region])
        again = atoll.from_ray(made if rank == 1 else None)
        assert float(abs(again - a - 1).max()) == 0
        atoll.world.barrier()
    finally:
        ray.shutdown()
