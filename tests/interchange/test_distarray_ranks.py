"""Arrays in and out by the protocol on several ranks: simulated ones, and real ones by MPI.

Tests that catch warnings run on real ranks only: the filters belong to the process.
"""

import array
import sys
import warnings

import numpy as np
import pytest

import atoll
from atoll.errors import LayoutError, ProtocolError, ProtocolWarning
from atoll.layout import Block, BlockAxis, Layout, Unstructured

from .distarray_descriptions import (
    LABELS,
    PADDED,
    ROWS,
    VALUES,
    block,
    cyclic,
    describe,
    eighteen_padded,
    eighteen_padded_by_1_0,
    padding_table,
    thirty_unstructured,
    two_by_ten,
    unstructured,
)


class Producer:
    """Another library's array: shows a dictionary."""

    def __init__(self, description):
        self.description = description

    def __distarray__(self):
        return self.description


def whole_of(a):
    """The global value of a dense array, put together from every rank's block."""
    parts = a.world.communicator.allgather_object((a.local.tolist(), a.dtype.str))
    whole = np.zeros(a.shape, a.dtype)
    for rank, (values, dtype) in enumerate(parts):
        held = np.array(values, dtype).reshape(a.layout.local_shape(rank))
        if held.size and a.ndim:
            whole[np.ix_(*(part.array() for part in a.layout.region(rank)))] = held
    return whole


# -- the texts' examples -------------------------------------------------------------------


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
def test_two_rows_of_ten(rank):
    a = atoll.from_distarray(Producer(two_by_ten(rank)), strict=True)
    assert a.shape == (2, 10)
    assert a.layout == Layout((2, 10), "bn", size=2)
    assert whole_of(a).tolist() == list(ROWS)


@pytest.mark.ranks(2)
def test_two_rows_of_ten_as_the_text_prints_them(rank):
    flat = two_by_ten(rank, flat=True)
    with pytest.raises(ProtocolError, match="describes 2 dimensions, the buffer has 1"):
        atoll.from_distarray(flat, strict=True)
    with pytest.warns(ProtocolWarning, match=r"reshaped to \(1, 10\)"):
        a = atoll.from_distarray(flat)
    assert whole_of(a).tolist() == list(ROWS)
    assert np.shares_memory(a.local, flat["buffer"])


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("show", [eighteen_padded, eighteen_padded_by_1_0])
def test_eighteen_padded(rank, show):
    description = show(rank)
    a = atoll.from_distarray(description, strict=True)
    assert a.shape == (18,)
    assert a.layout == Layout((18,), (Block(padding=(1, 1)),), size=2)
    assert a.layout.boundary(rank) == (((1, 0),), ((0, 1),))[rank]
    assert a.local_padded.tolist() == PADDED[rank]
    assert whole_of(a).tolist() == [*PADDED[0][:9], *PADDED[1][1:]]
    a.exchange_halos()
    assert a.local_padded.tolist()[-1 if rank == 0 else 0] == (PADDED[1][1], PADDED[0][8])[rank]
    assert atoll.to_distarray(a, "0.9.0")["dim_data"] == eighteen_padded(rank)["dim_data"]
    assert a.__distarray__()["dim_data"] == eighteen_padded_by_1_0(rank)["dim_data"]


@pytest.mark.ranks(3)
def test_thirty_unstructured(rank):
    with pytest.warns(ProtocolWarning, match="indices is a list"):
        a = atoll.from_distarray(thirty_unstructured(rank), strict=True)
    assert a.shape == (30,)
    whole = whole_of(a)
    for labels, values in zip(LABELS, VALUES):
        assert whole[labels].tolist() == values
    assert a.layout.locate((21,)) == (2, (3,))
    shown = a.__distarray__()
    assert shown["dim_data"][0]["indices"].tolist() == list(LABELS[rank])
    assert a.layout.is_dense


@pytest.mark.simulated(4)
def test_the_padding_table(rank):
    a = atoll.from_distarray(padding_table(rank), strict=True)
    assert a.shape == (28,)
    assert [a.layout.halo(r)[0] for r in range(4)] == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert a.layout.boundary(0) == ((4, 0),)
    assert len(a.local) == (10, 5, 6, 7)[rank]
    assert a.__distarray__()["dim_data"] == padding_table(rank)["dim_data"]
    a.local_padded[...] = -1
    a.local[...] = a.layout.region(rank)[0].array()
    a.exchange_halos()
    assert a.local_padded.tolist() == padding_table(rank)["buffer"].tolist()


@pytest.mark.simulated(6)
def test_ranks_are_row_major(rank):
    i, j = divmod(rank, 3)
    buffer = np.full((2, 4), rank)
    description = describe(
        buffer, block(2 * i, 2 * i + 2, 4, 2, i), block(4 * j, 4 * j + 4, 12, 3, j)
    )
    a = atoll.from_distarray(description, strict=True)
    assert a.layout.coordinates(rank) == (i, j)
    assert a.layout.rank_at((i, j)) == i * 3 + j == rank


@pytest.mark.simulated(2)
def test_the_alias(rank):
    a = atoll.from_distarray(
        describe(np.zeros((3, 5)), block(3 * rank, 3 * rank + 3, 6, 2, rank), {})
    )
    assert a.layout == Layout((6, 5), "bn", size=2)


# -- memory ------------------------------------------------------------------------------


@pytest.mark.simulated(1, 4, 16)
@pytest.mark.ranks(2, 3)
def test_nothing_is_copied_and_writes_are_seen_both_ways(rank, size):
    mine = np.arange(12.0).reshape(4, 3) + 100 * rank
    a = atoll.from_local(mine)
    shown = a.__distarray__()
    assert np.shares_memory(shown["buffer"], mine)
    b = atoll.from_distarray(Producer(shown), strict=True)
    assert b.layout == a.layout == Layout((4 * size, 3), "bn", size=size)
    b.local[0, 0] = -1
    assert mine[0, 0] == a.local[0, 0] == -1
    mine[1, 1] = -2
    assert b.local[1, 1] == shown["buffer"][1, 1] == -2
    memoryview(shown["buffer"])[2, 2] = -3
    assert mine[2, 2] == -3


BUFFERS = {
    "bytes": lambda: b"\1\2\3\4",
    "bytearray": lambda: bytearray(b"\1\2\3\4"),
    "array.array": lambda: array.array("d", [1, 2, 3, 4]),
    "memoryview": lambda: memoryview(bytearray(b"\1\2\3\4")),
    "Fortran order": lambda: np.asfortranarray(np.arange(12.0).reshape(4, 3)),
    "negative strides": lambda: np.arange(8)[::-2],
    "float16": lambda: np.arange(4, dtype="f2"),
    "bool": lambda: np.array([True, False, True, False]),
    "complex": lambda: np.arange(4) * 1j,
    "struct": lambda: np.zeros(4, [("a", "i4"), ("b", "f8", 2)]),
    "longdouble": lambda: np.arange(4, dtype=np.longdouble),
    "big endian": lambda: np.arange(4, dtype=">i4"),
    "text": lambda: np.array(["a", "bc", "d", "e"]),
}


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("name", BUFFERS)
def test_buffers_of_every_kind(rank, name):
    buffer = BUFFERS[name]()
    view = buffer if isinstance(buffer, np.ndarray) else np.asarray(memoryview(buffer))
    alias = [{}] * (view.ndim - 1)
    a = atoll.from_distarray(
        describe(buffer, block(4 * rank, 4 * rank + 4, 8, 2, rank), *alias), strict=True
    )
    assert a.dtype == view.dtype
    assert a.local.flags.writeable == (name != "bytes")
    assert a.local.strides == view.strides
    np.testing.assert_array_equal(a.local, view)
    assert np.shares_memory(a.local, view)
    back = a.__distarray__()["buffer"]
    assert np.shares_memory(back, view)
    assert memoryview(back).readonly == (name == "bytes")
    if name != "bytes":
        a.local[1] = a.local[3]
        np.testing.assert_array_equal(view[1], view[3])


@pytest.mark.simulated(2, distributes=False)
def test_dates_are_a_type_error_on_every_rank(rank):
    description = describe(
        np.zeros(3, "M8[s]" if rank else "i8"), block(3 * rank, 3 * rank + 3, 6, 2, rank)
    )
    with pytest.raises(TypeError, match=r"T3 rank 1: the buffer has dtype datetime64\[s\]"):
        atoll.from_distarray(description)
    a = atoll.from_local(np.zeros(3, "M8[s]"))
    with pytest.raises(TypeError, match=r"dtype datetime64\[s\] has no buffer export"):
        a.__distarray__()


@pytest.mark.simulated(3)
def test_the_producer_may_be_gone(rank):
    def produced():
        return Producer(describe(np.full(4, rank), block(4 * rank, 4 * rank + 4, 12, 3, rank)))

    a = atoll.from_distarray(produced())
    assert a.local.tolist() == [rank] * 4


# -- every distribution --------------------------------------------------------------------


@pytest.mark.simulated(4)
def test_empty_sections(rank):
    stops = (3, 3, 8, 8)
    starts = (0, 3, 3, 8)
    n = stops[rank] - starts[rank]
    a = atoll.from_distarray(
        describe(np.full(n, rank), block(starts[rank], stops[rank], 8, 4, rank)), strict=True
    )
    assert whole_of(a).tolist() == [0] * 3 + [2] * 5
    b = a[4:6]
    assert b.__distarray__()["dim_data"][0]["start"] == (0, 0, 0, 2)[rank]
    assert atoll.check_distarray(b) == []


@pytest.mark.simulated(4)
@pytest.mark.parametrize("start", ["canonical", "size"])
def test_cyclic_with_an_empty_section(rank, start):
    first = rank * 2 if rank < 3 or start == "canonical" else 5
    values = np.arange(5)[np.arange(5) // 2 == rank]
    a = atoll.from_distarray(describe(values, cyclic(first, 5, 4, rank, block_size=2)), strict=True)
    assert whole_of(a).tolist() == list(range(5))
    assert a.__distarray__()["dim_data"][0]["start"] == 2 * rank


@pytest.mark.simulated(3)
@pytest.mark.ranks(3)
def test_rotated_block_cyclic(rank):
    turn = (rank + 1) % 3
    values = np.arange(11)[np.arange(11) // 2 % 3 == turn]
    description = describe(values, cyclic(2 * turn, 11, 3, rank, block_size=2))
    a = atoll.from_distarray(description, strict=True)
    assert whole_of(a).tolist() == list(range(11))
    assert a.__distarray__()["dim_data"] == description["dim_data"]


@pytest.mark.simulated(3)
def test_zero_dimensions_are_replicated(size):
    value = np.array(2.5)
    a = atoll.from_distarray(describe(value), strict=True)
    assert (a.shape, a.size, a.ndim) == ((), 1, 0)
    assert a.layout.is_replicated
    assert a.__distarray__()["dim_data"] == ()
    a.local[...] = 4
    assert value == 4
    atoll.from_local(np.zeros(3))


@pytest.mark.simulated(3)
def test_undistributed_on_several_ranks_is_replicated(size):
    a = atoll.from_distarray(describe(np.arange(4.0), {}), strict=True)
    assert a.layout == Layout.replicated((4,), size)
    assert atoll.check_distarray(a) == []
    assert atoll.check_distarray(atoll.to_distarray(a, "0.9.0")) == []
    assert atoll.to_distarray(a, "0.9.0")["dim_data"] == ({"dist_type": "n", "size": 4},)
    atoll.from_local(np.zeros(3))


@pytest.mark.simulated(2)
def test_labels_are_kept_and_dense_questions_refused(rank):
    labels = ([-7, 40], [3, 1])[rank]
    a = atoll.from_distarray(
        describe(np.array(labels) * 1.0, unstructured(np.array(labels), 4, 2, rank))
    )
    assert not a.layout.is_dense
    assert a.layout.locate((40,)) == (0, (1,))
    assert a.__distarray__()["dim_data"][0]["indices"].tolist() == labels
    with pytest.raises(LayoutError, match="labels"):
        a[1:3]


@pytest.mark.simulated(2)
def test_indices_held_twice(rank):
    held = ([0, 1, 2], [2, 3])[rank]
    a = atoll.from_distarray(
        describe(np.array(held), unstructured(np.array(held), 4, 2, rank)), strict=True
    )
    assert a.layout.owners((2,)) == (0, 1)
    assert a.layout == Layout((4,), (Unstructured(([0, 1, 2], [2, 3])),), size=2)


@pytest.mark.ranks(4)
def test_old_grids_of_column_major_ranks_come_in_leniently(rank):
    j, i = divmod(rank, 2)
    buffer = np.add.outer(np.arange(3) * 10 + 30 * i, np.arange(2) + 2 * j)
    description = describe(
        buffer, block(3 * i, 3 * i + 3, 6, 2, i), block(2 * j, 2 * j + 2, 4, 2, j)
    )
    with pytest.raises(ProtocolError, match="row-major"):
        atoll.from_distarray(description, strict=True)
    with pytest.warns(ProtocolWarning, match="not in row-major order"):
        a = atoll.from_distarray(description)
    np.testing.assert_array_equal(whole_of(a), np.add.outer(np.arange(6) * 10, np.arange(4)))
    with pytest.raises(ProtocolError, match="not in row-major order"):
        a.__distarray__()


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
def test_counted_outer_padding_is_filled_by_the_exchange(rank):
    buffer = np.full(7, -1.0)
    start, stop = ((0, 7), (5, 12))[rank]
    padding = ((1, 1), (1, 1))[rank]
    a = atoll.from_distarray(
        describe(buffer, block(start, stop, 12, 2, rank, padding=padding, periodic=True)),
        strict=True,
    )
    assert a.shape == (12,)
    assert a.layout.axes[0] == BlockAxis(12, (0, 6, 12), ((0, 1), (1, 0)), (1, 1), True)
    a.local[...] = np.arange(6 * rank, 6 * rank + 6)
    a.exchange_halos()
    assert buffer.tolist() == ([10, 1, 2, 3, 4, 5, 6], [5, 6, 7, 8, 9, 10, 1])[rank]


@pytest.mark.simulated(16, 64)
@pytest.mark.parametrize("version", ["1.0.0", "0.9.0"])
def test_many_ranks_in_a_grid(rank, size, version):
    side = int(size**0.5)
    rows = Block(padding=(2, 2), periodic=True)
    layout = Layout((5 * side + 1, 3 * side), (rows, "c"), grid=(side, side), size=size)
    a = atoll.from_local(np.full(layout.padded_shape(rank), -1), layout)
    a.local[...] = np.add.outer(
        *(part.array() * (1, 1000)[i] for i, part in enumerate(layout.region(rank)))
    )
    shown = atoll.to_distarray(a, version)
    assert atoll.check_distarray(shown) == []
    back = atoll.from_distarray(shown, strict=True)
    assert np.shares_memory(back.local, a.local)
    np.testing.assert_array_equal(back.local, a.local)
    assert back.layout.region(rank) == layout.region(rank)
    back.exchange_halos()
    if version == "0.9.0":
        assert back.layout == layout
        assert (back.local_padded != -1).all()


# -- views -----------------------------------------------------------------------------------

KEYS = [
    np.s_[2:9],
    np.s_[::2],
    np.s_[::-1],
    np.s_[-2:1:-3, ::2],
    np.s_[3:, 1],
    np.s_[:, ::-1],
    np.s_[5, :],
    np.s_[0:0],
    np.s_[None, 1:],
]


@pytest.mark.simulated(1, 4, 5)
@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_views_are_shown_over_the_same_memory(rank, size, key):
    layout = Layout((11, 4), "bn", size=size)
    whole = np.arange(44.0).reshape(11, 4)
    mine = whole[layout.region(rank)[0].key].copy()
    view = atoll.from_local(mine, layout)[key]
    assert atoll.check_distarray(view) == []
    shown = view.__distarray__()
    assert shown["buffer"].size == 0 or np.shares_memory(shown["buffer"], mine)
    back = atoll.from_distarray(shown, strict=True)
    np.testing.assert_array_equal(whole_of(back), whole[key])


@pytest.mark.simulated(4)
@pytest.mark.parametrize("maps", ["cn", "bn"])
def test_transposes(rank, maps):
    layout = Layout((8, 3), maps, size=4)
    mine = np.add.outer(layout.region(rank)[0].array() * 10, np.arange(3))
    a = atoll.from_local(mine, layout).T
    back = atoll.from_distarray(a, strict=True)
    assert np.shares_memory(back.local, mine)
    np.testing.assert_array_equal(whole_of(back), np.add.outer(np.arange(3), np.arange(8) * 10))


# -- what is wrong ---------------------------------------------------------------------------


@pytest.mark.simulated(1, 3, distributes=False)
@pytest.mark.ranks(3, distributes=False)
def test_the_wrong_number_of_ranks_says_how_to_start_the_right_one(rank):
    description = describe(np.zeros(5), block(0, 5, 10, 2, 0))
    with pytest.raises(ProtocolError, match=r"needs 2 ranks.*atoll run -n 2"):
        atoll.from_distarray(description)


@pytest.mark.simulated(3, distributes=False)
@pytest.mark.ranks(3, distributes=False)
@pytest.mark.parametrize("broken", [0, 1, 2])
@pytest.mark.parametrize(
    "wrong",
    [
        None,
        object(),
        {"__version__": "1.0.0"},
        Producer(3),
        describe(np.zeros(4), {"dist_type": "b"}),
        describe(np.zeros(4), block(0, 9, 9, 3, 0)),
        describe(np.zeros((4, 2)), {}),
    ],
    ids=lambda w: type(w).__name__,
)
def test_one_broken_rank_is_an_error_on_all_and_nobody_waits(rank, broken, wrong):
    right = describe(np.zeros(4), block(4 * rank, 4 * rank + 4, 12, 3, rank))
    found = atoll.check_distarray(wrong if rank == broken else right)
    everywhere = atoll.world.communicator.allgather_object(found)
    assert found
    assert everywhere == [found] * 3
    with pytest.raises(ProtocolError) as caught:
        atoll.from_distarray(wrong if rank == broken else right, strict=True)
    assert list(caught.value.violations) == found


@pytest.mark.ranks(2, distributes=False)
def test_notes_are_warnings_on_every_rank_at_the_callers_line(rank):
    description = describe(np.zeros(3), block(3 * rank, 3 * rank + 3, 6, 2, rank))
    if rank:
        description["dim_data"][0]["color"] = "red"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        atoll.check_distarray(description)
    assert len({str(w.message) for w in caught}) == 1
    assert "(rank 1)" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.ranks(1, distributes=False)
@pytest.mark.parametrize("name", ["distarray", "partitioned"])
@pytest.mark.parametrize("action", ["from", "check"])
def test_notes_are_warnings_at_the_line_of_the_call(name, action):
    entry = {"start": (1,), "shape": (3,), "data": np.zeros(3), "location": [("", 1)]}
    grid = {"shape": (3,), "partition_tiling": (1,), "partitions": {(0,): entry}, "locals": [(0,)]}
    if name == "distarray":
        source = describe(np.zeros(3), {**block(0, 3, 3, 1, 0), "color": "red"})
    else:
        source = {**grid, "get": len}
    call = getattr(atoll, f"{action}_{name}")
    options = {"strict": False} if action == "check" else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno + 1
        call(source, **options)
    assert {(w.filename, w.lineno) for w in caught} == {(__file__, line)}


@pytest.mark.simulated(4)
def test_a_group_of_ranks_holds_an_array_of_its_own(rank):
    group = atoll.world.group([1, 3])
    if group is None:
        return
    here = group.rank
    description = describe(np.full(2, here), block(2 * here, 2 * here + 2, 4, 2, here))
    a = atoll.from_distarray(description, comm=group)
    assert a.world == group
    assert a.layout.processes == 2
    assert atoll.check_distarray(a, comm=group) == []


@pytest.mark.ranks(2)
def test_an_mpi4py_communicator_is_understood(rank):
    comm = atoll.world.comm
    description = describe(np.full(2, rank), block(2 * rank, 2 * rank + 2, 4, 2, rank))
    assert atoll.check_distarray(description, comm=comm) == []
    a = atoll.from_distarray(description, comm=comm)
    assert a.world.comm.size == 2
