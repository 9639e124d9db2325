"""Random layouts, shown by the protocol and read back: rules hold, nothing moves, nothing is lost."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from atoll.comm.single import SingleCommunicator
from atoll.comm.world import World
from atoll.errors import LayoutError, ProtocolError
from atoll.interchange.distarray import to_distarray
from atoll.interchange.distarray.layouts import layout_of
from atoll.layout import Block, BlockAxis, Cyclic, CyclicAxis, Layout, UnstructuredAxis, listed

from ..layout.strategies import layouts
from .distarray_descriptions import judged

MANY = settings(max_examples=100, deadline=None)
VERSIONS = st.sampled_from(["1.0.0", "0.10.0", "0.9.0"])


class Shown:
    """One rank's part of an array of global positions, with the padding filled by a tell-tale."""

    def __init__(self, layout, rank):
        self.layout, self.rank = layout, rank
        self.world = World(SingleCommunicator())
        self.world.rank = rank
        self.local_padded = np.full(layout.padded_shape(rank), -1, np.int64)
        if layout.local_size(rank):
            key = tuple(
                slice(left, left + count)
                for (left, _), count in zip(layout.halo(rank), layout.local_shape(rank))
            )
            whole = np.arange(layout.size).reshape(layout.shape)
            self.local_padded[key] = held(whole, layout, rank)

    def _evaluate(self):
        return None


def held(whole, layout, rank):
    if not layout.ndim:
        return whole
    return whole[np.ix_(*(part.array() for part in layout.region(rank)))]


def show(layout, version="1.0.0"):
    """What all ranks show of the array of global positions."""
    return [to_distarray(Shown(layout, rank), version) for rank in range(layout.processes)]


def read_back(descriptions):
    """The layout and each rank's owned part that a strict reader sees."""
    examination = judged(descriptions)
    assert examination.violations == (), "\n".join(map(str, examination.violations))
    layout = layout_of(examination.sections)
    parts = []
    for rank, description in enumerate(descriptions):
        block = description["buffer"]
        assert block.shape == layout.padded_shape(rank)
        widths, counts = layout.halo(rank), layout.local_shape(rank)
        parts.append(block[tuple(slice(left, left + n) for (left, _), n in zip(widths, counts))])
    return layout, parts


def check(layout, version):
    descriptions = show(layout, version)
    back, parts = read_back(descriptions)
    assert back.shape == layout.shape
    whole = np.arange(layout.size).reshape(layout.shape)
    for rank, part in enumerate(parts):
        assert back.local_shape(rank) == part.shape
        if part.size:
            np.testing.assert_array_equal(part, held(whole, back, rank))
            np.testing.assert_array_equal(
                np.sort(part.ravel()), np.sort(held(whole, layout, rank).ravel())
            )
        else:
            assert layout.local_size(rank) == 0 or back.local_size(rank) == 0
    return back


def attempted(layout, version):
    """What comes back, or the words in which the layout is refused."""
    try:
        return check(layout, version), ""
    except ProtocolError as error:
        return None, str(error)


def says_itself(layout):
    """True if the protocol can say this very layout, so that it comes back equal."""
    return (
        layout.is_row_major
        and (layout.is_replicated or (layout.copies == 1 and layout.cells == layout.processes))
        and not any(isinstance(axis, CyclicAxis) and axis.offset for axis in layout.axes)
    )


@MANY
@given(layouts(), VERSIONS)
def test_any_layout_is_shown_as_it_is_or_refused_by_name(layout, version):
    back, refusal = attempted(layout, version)
    if says_itself(layout):
        assert back == layout
    else:
        assert back is not None or ("not in row-major order" in refusal) == bool(layout.ndim)


@pytest.mark.slow
@MANY
@given(layouts(), st.data())
def test_slices_are_shown_as_what_they_are(layout, data):
    assume(layout.ndim and says_itself(layout))
    key = tuple(
        data.draw(
            st.one_of(st.slices(extent), st.integers(0, extent - 1) if extent else st.slices(0))
        )
        for extent in layout.shape
    )
    sliced = layout.sliced(key)
    back, refusal = attempted(sliced, "1.0.0")
    if back is None:
        # An element on part of the ranks, or a grid that is no product any more.
        assert ("not in row-major order" in refusal) == bool(sliced.ndim)
        assert sliced.ndim == 0 or not sliced.is_row_major or sliced.cells < sliced.processes


@MANY
@given(st.integers(1, 16), st.integers(0, 40), st.data())
def test_one_dimension_can_always_be_shown(processes, size, data):
    layout = data.draw(layouts((size,), processes))
    check(layout, data.draw(VERSIONS))
    check(layout.sliced(data.draw(st.slices(size))), data.draw(VERSIONS))


@st.composite
def padded_axes(draw, processes):
    periodic = draw(st.booleans())
    counts = draw(st.lists(st.integers(0, 6), min_size=processes, max_size=processes))
    bounds = [0, *np.cumsum(counts).tolist()]
    widths = []
    for c in range(processes):
        before, after = counts[c - 1], counts[(c + 1) % processes]
        left = draw(st.integers(0, min(before, 3)))
        right = draw(st.integers(0, min(after, 3)))
        widths.append([left, right])
    if not periodic:
        widths[0][0] = draw(st.integers(0, counts[0]))
        widths[-1][1] = draw(st.integers(0, counts[-1] - (widths[0][0] if processes == 1 else 0)))
    return bounds[-1], Block(bounds, padding=[tuple(w) for w in widths], periodic=periodic)


@st.composite
def padded_layouts(draw):
    grid = draw(
        st.lists(st.integers(1, 4), min_size=1, max_size=3).filter(lambda g: np.prod(g) <= 16)
    )
    axes = [draw(padded_axes(count)) for count in grid]
    return Layout(
        [size for size, _ in axes], [one for _, one in axes], grid=grid, size=int(np.prod(grid))
    )


@MANY
@given(padded_layouts())
def test_padding_survives_0_9_whole(layout):
    assert check(layout, "0.9.0") == layout


@MANY
@given(padded_layouts())
def test_padding_in_1_0_is_what_1_0_can_say(layout):
    back = check(layout, "1.0.0")
    for axis, original in zip(back.axes, layout.axes):
        assert axis.bounds == original.bounds
        assert axis.periodic == original.periodic
        assert axis.ends == original.ends
        for c, (left, right) in enumerate(axis.halos or [(0, 0)] * axis.processes):
            last = c == axis.processes - 1
            before = 0 if c == 0 else original.padding(c - 1)[1]
            after = 0 if last else original.padding(c + 1)[0]
            assert left == min(original.padding(c)[0], before)
            assert right == min(original.padding(c)[1], after)


@MANY
@given(padded_layouts())
def test_every_buffer_is_a_view_and_ints_are_ints(layout):
    for rank in range(layout.processes):
        array = Shown(layout, rank)
        for version in ("1.0.0", "0.9.0"):
            shown = to_distarray(array, version)
            buffer = shown["buffer"]
            assert buffer.size == 0 or np.shares_memory(buffer, array.local_padded)
            assert type(shown["dim_data"]) is tuple
            for dictionary in shown["dim_data"]:
                assert type(dictionary) is dict
                assert all(type(v) in (int, str, bool, tuple) for v in dictionary.values())


@MANY
@given(st.integers(1, 6), st.integers(0, 30), st.integers(1, 4), st.data())
def test_cyclic_blocks_from_whichever_process_on(processes, size, block_size, data):
    order = data.draw(st.permutations(range(processes)))
    axis = CyclicAxis(size, processes, block_size)
    layout = Layout.of([axis], processes, np.argsort(order))
    (first, *_) = descriptions = show(layout)
    assert first["dim_data"][0]["dist_type"] == "c"
    starts = [d["dim_data"][0]["start"] for d in descriptions]
    assert starts == [k * block_size for k in order]
    back = check(layout, "1.0.0")
    assert back.axes == layout.axes
    for rank in range(processes):
        assert back.local_shape(rank) == layout.local_shape(rank)


@MANY
@given(st.integers(0, 40), st.integers(1, 8), st.integers(1, 8))
def test_blocks_are_cyclic_blocks_only_where_the_bounds_match(size, processes, block_size):
    for one in (Block(), Block("ceil")):
        shown = show(Layout((size,), (one,), grid=(processes,), size=processes))
        assert {d["dim_data"][0]["dist_type"] for d in shown} == {"b"}
    cyclic = show(Layout((size,), (Cyclic(block_size),), grid=(processes,), size=processes))
    assert {d["dim_data"][0]["dist_type"] for d in cyclic} == {"c"}


# -- single cases, by hand -------------------------------------------------------------------


def kinds(layout, version="1.0.0"):
    return [[d["dist_type"] for d in one["dim_data"]] for one in show(layout, version)]


def test_undistributed_axes_are_n_in_0_9_and_one_block_in_1_0():
    layout = Layout((4, 3), "bn", size=2)
    assert kinds(layout) == [["b", "b"]] * 2
    assert kinds(layout, "0.9.0") == [["b", "n"]] * 2
    assert show(layout, "0.9.0")[0]["dim_data"][1] == {"dist_type": "n", "size": 3}


def test_a_slice_of_blocks_is_an_irregular_block():
    shown = show(Layout((10,), size=3).sliced(slice(3, 9)))
    assert [(d["start"], d["stop"]) for one in shown for d in one["dim_data"]] == [
        (0, 1),
        (1, 4),
        (4, 6),
    ]


def test_a_strided_slice_of_blocks_is_an_irregular_block_too():
    assert kinds(Layout((10,), size=3).sliced(slice(None, None, 3))) == [["b"]] * 3


def test_a_reversed_block_is_a_list_of_indices():
    shown = show(Layout((5,), size=2).sliced(slice(None, None, -1)))
    assert [d["indices"].tolist() for one in shown for d in one["dim_data"]] == [[2, 3, 4], [0, 1]]
    assert all(d["one_to_one"] for one in shown for d in one["dim_data"])


def test_a_plane_of_the_grid_leaves_the_others_empty():
    plane = Layout((4, 6), "bb", grid=(2, 2), size=4).sliced(3)
    shown = show(plane)
    assert [d["dist_type"] for one in shown for d in one["dim_data"]] == ["b"] * 4
    assert [(d["start"], d["stop"]) for one in shown for d in one["dim_data"]] == [
        (0, 0),
        (0, 0),
        (0, 3),
        (3, 6),
    ]


def test_copies_are_indices_held_twice():
    summed = Layout((4, 6), "bb", grid=(2, 2), size=4).reduced(0)
    shown = show(summed)
    assert [d["indices"].tolist() for one in shown for d in one["dim_data"]] == [
        [0, 1, 2],
        [3, 4, 5],
    ] * 2
    assert not any(d["one_to_one"] for one in shown for d in one["dim_data"])


def test_a_transposed_grid_that_is_no_row_is_refused_by_name():
    layout = Layout((4, 6), "bb", grid=(2, 3), size=6).transposed()
    with pytest.raises(ProtocolError, match=r"\[0, 3, 1, 4, 2, 5\] of the grid \(3, 2\)"):
        show(layout)
    assert kinds(Layout((4, 6), "bn", size=4).transposed()) == [["b", "b"]] * 4


def test_counted_outer_padding_of_a_periodic_axis():
    axis = BlockAxis(12, (0, 6, 12), ((0, 1), (1, 0)), (1, 1), periodic=True)
    layout = Layout.of([axis], 2, [0, 1])
    assert check(layout, "1.0.0") == layout
    shown = show(layout, "0.9.0")
    assert [d["size"] for one in shown for d in one["dim_data"]] == [10, 10]
    assert [(d["start"], d["stop"], d["padding"]) for one in shown for d in one["dim_data"]] == [
        (0, 5, (1, 1)),
        (5, 10, (1, 1)),
    ]
    back, parts = read_back(shown)
    assert back.axes[0] == BlockAxis(10, (0, 5, 10), ((1, 1), (1, 1)), (0, 0), True)
    assert [part.tolist() for part in parts] == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]


def test_periodic_padding_that_does_not_fit_is_refused():
    axis = BlockAxis(3, (0, 1, 3), None, (2, 1), periodic=True)
    with pytest.raises(LayoutError, match="outer padding"):
        show(Layout.of([axis], 2, [0, 1]), "0.9.0")


def test_labels_keep_their_size():
    axis = UnstructuredAxis(4, tuple(map(listed, ([-7, 40], [3, 1]))), True, labels=True)
    layout = Layout.of([axis], 2, [0, 1])
    shown = [to_distarray(Bare(np.arange(2.0), layout, rank))["dim_data"][0] for rank in range(2)]
    assert [d["indices"].tolist() for d in shown] == [[-7, 40], [3, 1]]
    assert [d["size"] for d in shown] == [4, 4]


class Bare(Shown):
    def __init__(self, block, layout, rank):
        self.local_padded, self.layout = block, layout
        self.world = World(SingleCommunicator())
        self.world.rank = rank


@pytest.mark.parametrize("version", ["0.8.0", "2.0.0", "1.0", "1", None, "0.9", "a.b.c"])
def test_versions_that_are_not_written_are_refused(version):
    with pytest.raises(ProtocolError, match=r"must be 1\.x\.y, .*atoll writes"):
        to_distarray(Shown(Layout((4,), size=1), 0), version)


def test_dates_have_no_buffer():
    with pytest.raises(TypeError, match=r"dtype datetime64\[s\] has no buffer export"):
        to_distarray(Bare(np.zeros(3, "M8[s]"), Layout((3,), size=1), 0))


def test_the_listed_indices_cannot_be_written_through():
    reversed_axis = UnstructuredAxis(4, (listed([3, 1, 0, 2]),), True)
    layout = Layout.of([reversed_axis], 1, [0])
    indices = to_distarray(Shown(layout, 0))["dim_data"][0]["indices"]
    with pytest.raises(ValueError, match="read-only"):
        indices[0] = 0
