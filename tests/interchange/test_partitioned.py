"""The ``__partitioned__`` protocol in and out, on one rank and on several."""

from __future__ import annotations

import pickle
import warnings
import weakref

import numpy as np
import pytest

import atoll
from atoll import Block, Cyclic, Layout
from atoll.comm.dry_run import dry_run_world
from atoll.errors import BufferTypeError, ClusterError, ProtocolError, ProtocolWarning
from atoll.interchange.partitioned.assembly import dealt

WHOLE = np.arange(35.0).reshape(7, 5)
FULL = np.arange(64.0).reshape(8, 8)


@pytest.fixture(autouse=True)
def strict_about_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProtocolWarning)
        warnings.filterwarnings("ignore", "partitioned: P13")
        yield


def rows(owners, rank, size, **changes):
    """The text's third example with CPU as the device: four strips of rows, owned by ranks."""
    owners = [owner % size for owner in owners]
    partitions = {
        (k, 0): {
            "start": (2 * k, 0),
            "shape": (2, 8),
            "data": FULL[2 * k : 2 * k + 2].copy() if owner == rank else None,
            "location": [("1.1.1.1", 100 + owner, "kDLCPU:0")],
        }
        for k, owner in enumerate(owners)
    }
    held = [(k, 0) for k, owner in enumerate(owners) if owner == rank]
    made = {
        "shape": (8, 8),
        "partition_tiling": (4, 1),
        "partitions": partitions,
        "get": len,
        "locals": held,
    }
    return {**made, **changes}


def by_number(handles):
    """The strips or tiles whose names are asked for."""
    return [FULL[h].copy() for h in handles]


def references(tiling, shape, get=by_number):
    """Partitions of a cluster: the handles are the places, as slices of ``FULL``."""
    partitions = {}
    for position in np.ndindex(*tiling):
        start = tuple(k * n for k, n in zip(position, shape))
        key = tuple(slice(a, a + n) for a, n in zip(start, shape))
        location = [(f"1.1.1.{sum(position)}", 7755737)]
        partitions[position] = {"start": start, "shape": shape, "data": key, "location": location}
    whole = tuple(k * n for k, n in zip(tiling, shape))
    return {"shape": whole, "partition_tiling": tiling, "partitions": partitions, "get": get}


def layouts(size):
    yield Layout((7, 5), "bn", size=size)
    yield Layout((7, 5), "nb", size=size)
    yield Layout((7, 5), [Cyclic(2), None], size=size)
    yield Layout.default((7, 5), size)
    if size > 1:
        bounds = (0, 0, *[5] * (size - 2), 7)
        yield Layout((7, 5), [Block(bounds), None], size=size)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 4, 5)
def test_out_and_in_again_over_the_same_memory(size):
    for layout in layouts(size):
        a = atoll.array(WHOLE).redistribute(layout)
        shown = a.__partitioned__
        assert atoll.check_partitioned(shown) == []
        before = atoll.stats()
        b = atoll.from_partitioned(shown, copy=False)
        after = atoll.stats()
        assert (after.created, after.bytes_moved) == (before.created, before.bytes_moved)
        np.testing.assert_array_equal(np.asarray(b), WHOLE)
        assert b.local.size == 0 or np.shares_memory(a.local, b.local)
        b += 1
        np.testing.assert_array_equal(np.asarray(a), WHOLE + 1)
        a *= 2
        np.testing.assert_array_equal(np.asarray(b), 2 * (WHOLE + 1))
        np.testing.assert_array_equal(np.asarray(atoll.from_partitioned(a)), 2 * (WHOLE + 1))
        c = atoll.from_partitioned(a, copy=True)
        c[...] = 0
        np.testing.assert_array_equal(np.asarray(a), 2 * (WHOLE + 1))


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
def test_what_is_shown(rank, size):
    layout = Layout((7, 5), "bn", size=size)
    a = atoll.array(WHOLE).redistribute(layout)
    shown = pickle.loads(pickle.dumps(a.__partitioned__))
    assert shown["shape"] == (7, 5)
    assert shown["partition_tiling"] == (size, 1)
    assert shown["locals"] == [(rank, 0)]
    for position, one in shown["partitions"].items():
        assert one["start"] == tuple(part.values.start for part in layout.region(position[0]))
        assert one["shape"] == layout.local_shape(position[0])
        assert (one["data"] is None) == (position[0] != rank)
        ((address, process, device),) = one["location"]
        assert (type(address), type(process), device) == (str, int, "kDLCPU")
    mine = shown["partitions"][rank, 0]["data"]
    np.testing.assert_array_equal(shown["get"]([mine, mine])[1], a.local)
    assert shown["get"](mine) is mine
    heat = atoll.to_partitioned(a, dialect="heat")
    assert [one["location"] for one in heat["partitions"].values()] == [[r] for r in range(size)]
    with pytest.raises(ValueError, match="'heat'"):
        atoll.to_partitioned(a, dialect="torch")


def test_partitions_among_a_million_ranks_are_worked_out_one_by_one():
    with dry_run_world(654_321, 10**6):
        shown = atoll.zeros(
            (8000, 4000), layout=Layout((8000, 4000), "bb", size=10**6)
        ).__partitioned__
    partitions, own = shown["partitions"], shown["locals"]
    assert len(partitions) == 10**6
    assert partitions[own[0]]["data"].shape == partitions[own[0]]["shape"]
    assert partitions[own[0]] is partitions[own[0]]
    assert next(iter(partitions)) == (0, 0)
    assert (own[0][0], 5) in partitions
    for position in [(-1, 0), (10**6, 0), (0,), 3, (0.5, 0)]:
        assert position not in partitions


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_a_replicated_array_is_one_partition(size):
    a = atoll.array(WHOLE).redistribute(Layout.replicated((7, 5), size))
    shown = a.__partitioned__
    assert list(shown["partitions"]) == shown["locals"] == [(0, 0)]
    assert len(shown["partitions"][0, 0]["location"]) == size
    b = atoll.from_partitioned(shown, copy=False)
    assert b.layout.is_replicated
    np.testing.assert_array_equal(np.asarray(b), WHOLE)


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
def test_layouts_that_are_no_grid_of_rectangles(size):
    held = [np.arange(0, 7, 2), np.arange(1, 7, 2)]
    a = atoll.array(np.arange(7.0)).redistribute(
        Layout((7,), [atoll.Unstructured(held)], size=size)
    )
    with pytest.raises(ProtocolError, match=r"axis 0 is unstructured.*redistribute"):
        _ = a.__partitioned__
    b = atoll.arange(200_000.0).redistribute(Layout((200_000,), [Cyclic(1)], size=size))
    with pytest.raises(ProtocolError, match=r"axis 0 is cyclic in blocks of 1.*redistribute"):
        atoll.to_partitioned(b)


@pytest.mark.parametrize(
    ("owners", "kinds"),
    [
        ([0, 1, 0, 1], "c"),
        ([0, 0, 1, 1], "b"),
        ([1, 0, 0, 1], "u"),
        ([2, 2, 0, 1], "b"),
        ([0, 1, 1, 2], "b"),
    ],
)
@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 3)
def test_several_partitions_for_a_rank(rank, size, owners, kinds):
    a = atoll.from_partitioned(rows(owners, rank, size))
    np.testing.assert_array_equal(np.asarray(a), FULL)
    if size == 3:
        assert a.layout.axes[0].kind == kinds
    np.testing.assert_array_equal(np.asarray(a * 2), FULL * 2)


@pytest.mark.ranks(2)
@pytest.mark.simulated(2)
def test_adjoining_views_of_one_array_are_not_copied(rank, size):
    mine = FULL[4 * rank : 4 * rank + 4].copy()
    given = rows([0, 0, 1, 1], rank, size)
    for k in (0, 1):
        given["partitions"][2 * rank + k, 0]["data"] = mine[2 * k : 2 * k + 2]
    a = atoll.from_partitioned(given, copy=False)
    a += 1
    np.testing.assert_array_equal(mine, FULL[4 * rank : 4 * rank + 4] + 1)
    with pytest.raises(BufferTypeError, match="copy=False"):
        atoll.from_partitioned(rows([0, 0, 1, 1], rank, size), copy=False)


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
def test_partitions_that_no_layout_can_describe_move_once(rank, size):
    owner = {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 1}
    partitions = {
        (i, j): {
            "start": (4 * i, 4 * j),
            "shape": (4, 4),
            "data": FULL[4 * i : 4 * i + 4, 4 * j : 4 * j + 4].copy() if who == rank else None,
            "location": [("1.1.1.1", who)],
        }
        for (i, j), who in owner.items()
    }
    given = {
        "shape": (8, 8),
        "partition_tiling": (2, 2),
        "partitions": partitions,
        "get": len,
        "locals": [position for position, who in owner.items() if who == rank],
    }
    with pytest.raises(BufferTypeError, match="must move"):
        atoll.from_partitioned(given, copy=False)
    np.testing.assert_array_equal(np.asarray(atoll.from_partitioned(given)), FULL)


class Producer:
    """Something with the property; ``raising`` is what it raises."""

    def __init__(self, given, raising=None):
        self.given, self.raising = given, raising

    @property
    def __partitioned__(self):
        if self.raising:
            raise self.raising
        return self.given


class Caller(Producer):
    def __partitioned__(self):
        return self.given


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 4)
def test_handles_are_fetched_by_one_rank_each(rank, size):
    asked = []

    def get(handles):
        asked.extend(handles)
        return by_number(handles)

    a = atoll.from_partitioned(references((4, 2), (2, 4), get))
    np.testing.assert_array_equal(np.asarray(a), FULL)
    every = atoll.world.communicator.allgather_object(len(asked))
    assert sum(every) == 8
    assert max(every) - min(every) <= 4
    one = references((4,), (2,), lambda handle: FULL[0][handle])  # knows single handles only
    np.testing.assert_array_equal(np.asarray(atoll.from_partitioned(one)), FULL[0])


def test_what_is_fetched_is_let_go_once_it_is_in_the_block(monkeypatch):
    monkeypatch.setattr("atoll.interchange.partitioned.assembly.BATCH", 8)
    living, most = [], []

    def get(handles):
        found = by_number(handles)
        living.extend(map(weakref.ref, found))
        most.append(sum(ref() is not None for ref in living))
        return found

    a = atoll.from_partitioned(references((8, 4), (1, 2), get))
    np.testing.assert_array_equal(a, FULL)
    assert len(most) == 8
    assert max(most) <= 8, "more than two batches at once"
    assert not any(ref() is not None for ref in living)


def test_handles_go_to_the_nearest_rank():
    ranks = [("10.0.0.1", 1), ("10.0.0.2", 1), ("10.0.0.2", 2)]
    places = {
        (0,): (("10.0.0.2", 2),),
        (1,): (("10.0.0.1", 9),),
        (2,): (("10.0.0.2", 9),),
        (3,): (("10.0.0.7", 9),),
    }
    found = dealt((4,), places, ranks)
    assert (found[0,], found[1,]) == ((2,), (0,))
    assert found[2,][0] in (1, 2)


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(1, 3, distributes=False)
def test_what_get_raises_is_raised_on_all_ranks(rank, size):
    def broken(handles):
        if rank == 0:
            raise OSError("the node is gone")
        return by_number(handles)

    with pytest.raises(ClusterError, match="OSError: the node is gone"):
        atoll.from_partitioned(references((4, 1), (2, 8), broken))
    with pytest.raises(ProtocolError, match="P12: get was called with"):
        atoll.from_partitioned(references((8, 1), (1, 8), lambda handles: by_number(handles) * 2))
    with pytest.raises(ProtocolError, match=r"P8 position \(\d, 0\)"):
        atoll.from_partitioned(references((4, 1), (2, 8), lambda h: [FULL[:1] for _ in h]))
    mixed = lambda h: [FULL[k].astype("f4" if k[0].start else "f8") for k in h]  # noqa: E731
    with pytest.raises(ProtocolError, match="P7"):
        atoll.from_partitioned(references((4, 1), (2, 8), mixed))


@pytest.mark.ranks(2)
@pytest.mark.simulated(1)
def test_producers(rank, size):
    given = rows([0, 1, 2, 0], rank, size)
    np.testing.assert_array_equal(np.asarray(atoll.from_partitioned(Producer(given))), FULL)
    with pytest.warns(ProtocolWarning, match="method"):
        np.testing.assert_array_equal(np.asarray(atoll.from_partitioned(Caller(given))), FULL)
    for source, message in (
        (Producer(given, OSError("no")), "P1: __partitioned__ raised OSError: no"),
        (Producer(3), "P1: __partitioned__ is an int; it must be a dict"),
        (3, "P1: an int has no property __partitioned__"),
    ):
        with pytest.raises(ProtocolError, match=message):
            atoll.from_partitioned(source)


def partition(given, position=(1, 0), **changes):
    """``given`` with one partition changed."""
    made = {**given, "partitions": {k: dict(v) for k, v in given["partitions"].items()}}
    made["partitions"][position].update(changes)
    return made


def without(given, position):
    return {**given, "partitions": {k: v for k, v in given["partitions"].items() if k != position}}


BROKEN = [
    (lambda d: {**d, "shape": (9, 8)}, "P5", "add up to"),
    (lambda d: {**d, "shape": (7, 8)}, "P5", "overlap"),
    (lambda d: {**d, "shape": (8,)}, "P3", "differ in length"),
    (lambda d: {**d, "shape": "ab"}, "P3", "not a tuple of integers"),
    (lambda d: {**d, "partition_tiling": (5, 1)}, "P4", r"\(4, 0\): it is missing"),
    (lambda d: {**d, "partition_tiling": (4, 0)}, "P3", "least"),
    (lambda d: {**d, "partitions": [1]}, "P4", "must be a dict"),
    (lambda d: without(d, (2, 0)), "P4", r"\(2, 0\): it is missing"),
    (lambda d: {**d, "partitions": {**d["partitions"], "x": {}}}, "P4", "no position"),
    (lambda d: partition(d, shape=(3, 8)), "P5", "add up to"),
    (
        lambda d: partition(references((2, 2), (4, 4)), (1, 1), shape=(4, 3)),
        "P6",
        "must be regular",
    ),
    (lambda d: partition(d, start=(2,)), "P3", "differ in length"),
    (lambda d: partition(d, location=5.5), "P9", "5.5"),
    (lambda d: partition(d, location=[("a",)]), "P9", "'a'"),
    (lambda d: partition(d, location=[("1.1.1.1", 7, "kDLOneAPI:0")]), "P10", "kDLOneAPI"),
    (lambda d: {**d, "locals": [(9, 9)]}, "P2", r"\(9, 9\)"),
    (lambda d: {**d, "locals": []}, "A2", "no rank has it"),
    (lambda d: {**d, "get": 3}, "P12", "not a callable"),
    (lambda d: {k: v for k, v in d.items() if k != "get"}, "P1", "no get"),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
@pytest.mark.simulated(1, 2, 3, distributes=False)
@pytest.mark.ranks(2, 3, distributes=False)
def test_every_rank_gets_the_same_refusal(rank, size, number):
    change, rule, words = BROKEN[number]
    given = change(rows([0, 1, 2, 0], rank, size))
    found = atoll.check_partitioned(given)
    assert any(v.rule in rule.split("|") for v in found), found
    texts = [str(v) for v in found]
    assert atoll.world.communicator.allgather_object(texts) == [texts] * size
    with pytest.raises(ProtocolError, match=words):
        atoll.from_partitioned(given)


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(3, distributes=False)
def test_what_is_wrong_on_one_rank_only(rank, size):
    given = rows([0, 1, 2, 0], rank, size)
    for change, words in (
        (lambda: {**given, "shape": (8, 9)}, "on rank 0|rank 1"),
        (lambda: None, "a NoneType has no property"),
        (lambda: {k: v for k, v in given.items() if k != "locals"}, "locals|no place|P14"),
        (lambda: partition(given, (1, 0), data=[1, 2]), "D1|P12"),
        (lambda: partition(given, (1, 0), data=FULL[:2].astype("f4")), "P7"),
        (lambda: partition(given, (1, 0), data=None), "P14"),
        (lambda: partition(given, (1, 0), data=np.array([["a"]], object)), "D1"),
        (lambda: {**given, "locals": [[[0], 0]]}, "P2.*no position"),
    ):
        with pytest.raises(ProtocolError, match=words):
            atoll.from_partitioned(change() if rank == 1 else given)


@pytest.mark.ranks(2)
def test_deviations_with_a_clear_meaning(rank, size):
    given = rows([0, 1, 2, 0], rank, size)
    for change, words in (
        (lambda: {**given, "get": lambda x: x}, "P13"),
        (lambda: partition(given, (1, 0), location=[1]), "P9"),
        (lambda: partition(given, (1, 0), location=("1.1.1.1", 3)), "P9"),
        (lambda: partition(given, (1, 0), start=(3, 0)), "P5"),
        (lambda: {**given, "shape": [8, 8]}, "P3"),
    ):
        with pytest.warns(ProtocolWarning, match=words):
            a = atoll.from_partitioned(change())
        np.testing.assert_array_equal(np.asarray(a), FULL)
        assert words in {v.rule for v in atoll.check_partitioned(change())}
    stale = rows([0, 1, 1, 1], rank, 2) if size == 2 else None
    if stale is not None:
        for k, n in enumerate((1, 3, 2, 2)):
            stale["partitions"][k, 0]["shape"] = (n, 8)
            stale["partitions"][k, 0]["start"] = (sum((1, 3, 2, 2)[:k]), 0)
        with pytest.warns(ProtocolWarning, match="stale"):
            np.testing.assert_array_equal(np.asarray(atoll.from_partitioned(stale)), FULL)


class Shown:
    """Memory by one of the ways there are."""

    def __init__(self, array, way):
        self.array, self.way = array, way
        if way == "interface":
            self.__array_interface__ = array.__array_interface__

    def __array__(self, dtype=None, copy=None):
        return self.array


class Tensor:
    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("make", [Tensor, memoryview, lambda a: Shown(a, "array")])
def test_memory_of_others(make):
    mine = FULL.copy()
    given = {
        "shape": (8, 8),
        "partition_tiling": (1, 1),
        "partitions": {
            (0, 0): {"start": (0, 0), "shape": (8, 8), "data": make(mine), "location": []}
        },
        "get": len,
        "locals": [(0, 0)],
    }
    a = atoll.from_partitioned(given, copy=False)
    a[0, 0] = 77
    assert mine[0, 0] == 77
    mine[1, 1] = 78
    assert a[1, 1] == 78
    given["partitions"][0, 0]["data"] = Tensor(mine, (2, 0))
    with pytest.raises(ProtocolError, match=r"P10.*kDLCUDA"):
        atoll.from_partitioned(given)


def test_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2, 3], "y": [4.0, 5, 6]})
    given = {
        "shape": (3, 2),
        "partition_tiling": (1, 1),
        "partitions": {
            (0, 0): {"start": (0, 0), "shape": (3, 2), "data": "frame", "location": [("", 1)]}
        },
        "get": lambda handles: [frame for _ in handles],
    }
    with pytest.warns(ProtocolWarning, match="P13"):
        a = atoll.from_partitioned(given)
    np.testing.assert_array_equal(np.asarray(a), frame.to_numpy())


def test_the_texts_first_example():
    whole = np.arange(64)
    given = {
        "shape": (64,),
        "partition_tiling": (4,),
        "partitions": {
            (k,): {
                "start": (16 * k,),
                "shape": (16,),
                "data": f"ref{k}",
                "location": [(f"1.1.1.{k + 1}", 7755737 + k)],
            }
            for k in range(4)
        },
        "get": Store(whole),
    }
    assert atoll.check_partitioned(given) == []
    np.testing.assert_array_equal(np.asarray(atoll.from_partitioned(given)), whole)


class Store:
    """A ``get`` that pickles."""

    def __init__(self, whole):
        self.whole = whole

    def __call__(self, handles):
        return [self.whole[16 * int(h[3:]) : 16 * int(h[3:]) + 16] for h in handles]


@pytest.mark.simulated(1, 2, 3)
def test_the_texts_second_example(size):
    given = references((2, 2), (4, 4))
    assert {v.rule for v in atoll.check_partitioned(given)} == set()
    np.testing.assert_array_equal(np.asarray(atoll.from_partitioned(given)), FULL)


@pytest.mark.simulated(1, 3, distributes=False)
def test_an_array_without_axes_has_one_partition_of_its_own_memory(rank, size):
    array = atoll.from_local(np.array(3.0)) if size == 1 else atoll.asarray(np.array(3.0))
    shown = array.__partitioned__
    handle = shown["partitions"][()]["data"]
    assert shown["get"](handle) is handle
    assert shown["get"]([handle])[0] is handle
    handle[...] = 5
    assert float(array) == 5
    assert float(atoll.from_partitioned(array)) == 5
    for wrong in ("data", 3, {}, None):
        with pytest.raises(ProtocolError, match="get"):
            shown["get"](wrong)


@pytest.mark.simulated(2, distributes=False)
def test_copies_of_a_partition_have_one_shape(rank, size):
    entry = {"start": (0,), "shape": (2,), "data": np.zeros(2 - rank), "location": [("", 1)]}
    shown = {"shape": (2,), "partition_tiling": (1,), "partitions": {(0,): entry}, "locals": [(0,)]}
    with pytest.raises(ProtocolError, match=r"P8.*rank 1: its data has shape \(1,\)"):
        atoll.from_partitioned({**shown, "get": len})
