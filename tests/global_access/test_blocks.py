"""Blocks, owners, tasks and groups: what a rank has, and who does what."""

from itertools import chain

import numpy as np
import pytest

import atoll
from atoll import Block, Cyclic, Layout
from atoll.errors import DivergenceError, LayoutError, WorldError

REF = np.arange(70.0).reshape(7, 10)


def spread(ref, layout=None):
    return atoll.asarray(ref).redistribute(layout or Layout.default(ref.shape))


def together(mine):
    """The numbers of all ranks, in order."""
    return sorted(chain.from_iterable(atoll.world.communicator.allgather_object(mine)))


@pytest.mark.ranks(1, 3)
@pytest.mark.simulated(4)
def test_access_shows_the_block_and_gives_it_back(rank, size):
    maps = ["bn", "nb", [Cyclic(2), None], [Block(padding=(1, 1)), None], "nn"]
    for kind in maps[:-2] if size > 3 else maps:
        a, ref = spread(REF, Layout((7, 10), kind)), REF.copy()
        before = a + 1
        with a.access() as block:
            assert block.shape == a.layout.local_shape(rank)
            block *= 2
            assert a[3, 4] == 2 * ref[3, 4]
        np.testing.assert_array_equal(np.asarray(a), 2 * ref)
        np.testing.assert_array_equal(np.asarray(before), ref + 1)
        if size > 1 and a.layout.cells > 1:
            assert not a._cell.held(), "the program does not hold the memory any more"
        with a[1:6:2].T.access() as block:
            block += 1
        ref *= 2
        ref[1:6:2] += 1
        np.testing.assert_array_equal(np.asarray(a), ref)


@pytest.mark.ranks(3)
@pytest.mark.simulated(1, 4)
def test_what_ranks_own(rank, size):
    for kind in ("bn", "nb", [Cyclic(2), None], "nn"):
        a = spread(REF, Layout((7, 10), kind))
        keys = atoll.distribution(a)
        assert len(keys) == size
        whole, mine = np.asarray(a), a.local
        for owner, key in enumerate(keys):
            if key is not None and all(isinstance(part, slice) for part in key):
                assert owner != rank or np.array_equal(whole[key], mine)
        for row in range(-7, 7):
            assert a.owns(row) == all(rank in a.layout.owners((row % 7, k)) for k in range(10))
        assert a.owns((slice(3, 3), slice(None)))
        assert a.owns(...) == (size == 1 or kind == "nn")
    with atoll.onesided(a) as g:
        for key in filter(None, atoll.distribution(a)):
            assert g.get(key).size


@pytest.mark.ranks(1, 3)
@pytest.mark.simulated(4)
def test_padding_of_one_axis_or_side(rank, size):
    layout = Layout(
        (8, 9),
        [Block(padding=(1, 2), periodic=True), Block(padding=(1, 1))],
        grid=(2, size // 2) if size > 1 else (1, 1),
    )
    if layout.coordinates(rank) is None or size == 3:
        layout = Layout(
            (9, 9), [Block(padding=(1, 2), periodic=True), Block(padding=(1, 1))], grid=(size, 1)
        )
    ref = np.arange(float(np.prod(layout.shape))).reshape(layout.shape)
    full = spread(ref, layout).exchange_halos()
    for axis in (0, 1, -1):
        for side in (None, "left", "right"):
            a = spread(ref, layout)
            a.local_padded[...] = np.where(np.isin(a.local_padded, a.local), a.local_padded, -1)
            a.local[...] = full.local
            a.exchange_halos(axis, side)
            inside = list(layout.inside(rank))
            changed = np.zeros(a.local_padded.shape, bool)
            changed[tuple(inside)] = True
            along, extent = inside[axis], a.local_padded.shape[axis]
            if side != "right":
                changed[(*inside[: axis % 2], slice(0, along.start), *inside[axis % 2 + 1 :])] = (
                    True
                )
            if side != "left":
                changed[
                    (*inside[: axis % 2], slice(along.stop, extent), *inside[axis % 2 + 1 :])
                ] = True
            np.testing.assert_array_equal(a.local_padded[changed], full.local_padded[changed])
    with pytest.raises(ValueError, match="side"):
        a.exchange_halos(0, "up")
    with pytest.raises(ValueError, match="needs an axis"):
        a.exchange_halos(side="left")
    with pytest.raises(ValueError, match="axis 2"):
        a.exchange_halos(2)


@pytest.mark.ranks(1, 3, distributes=False)
@pytest.mark.simulated(5, distributes=False)
def test_each_task_is_done_by_one_rank(rank, size):
    for count, chunk in [(0, 1), (1, 1), (40, 1), (41, 7)]:
        mine = list(atoll.tasks(count, chunk))
        assert mine == sorted(mine)
        assert together(mine) == list(range(count))
    for k in atoll.tasks(10**9):  # a rank may leave, and begin others
        if k > 3:
            break
    assert together(list(atoll.tasks(3))) == [0, 1, 2]
    with pytest.raises(ValueError, match="0 or more tasks"):
        atoll.tasks(-1)
    if size > 1:
        words = r"tasks\(\d, 1\) at .*, rank \d tasks"
        with atoll.world.split(0), pytest.raises(DivergenceError, match=words):
            atoll.tasks(rank)


@pytest.mark.ranks(4)
@pytest.mark.simulated(5)
def test_groups_compute_apart_and_copy_between_each_other(rank, size):
    color = rank % 2
    part = atoll.world.split(color)
    a = b = None
    with part:
        if color:
            b = atoll.zeros((7, 10))
            with atoll.onesided(b) as g:
                g.accumulate(..., 1)
            assert b.sum() == 70 * part.size
        else:
            a = spread(REF) * 2
            assert sum(part.communicator.allgather_object(len(list(atoll.tasks(9))))) == 9
    atoll.copy_between(a, b)
    with part:
        whole = np.asarray(a if b is None else b)
    np.testing.assert_array_equal(whole, 2 * REF)
    view = None if b is None else b[::-1, 2:5]
    atoll.copy_between(view, None if a is None else a[:, 7:])
    if a is not None:
        with part:
            np.testing.assert_array_equal(np.asarray(a)[:, 7:], 2 * REF[::-1, 2:5])
    with part:
        small = atoll.asarray(np.arange(4.0) + color)
    atoll.copy_between(*((small, None) if color else (None, small)))
    assert small.tolist() == [1, 2, 3, 4]
    with pytest.raises(LayoutError, match="has shape"):
        atoll.copy_between(a, None if b is None else b[1:])
    with pytest.raises(TypeError, match="do not fit"):
        atoll.copy_between(a, None if b is None else b.astype(int))
    if rank < 2:
        b = None
    with pytest.raises(WorldError, match="the ranks of its group, and only they"):
        atoll.copy_between(a, b)
    with pytest.raises(WorldError, match="has passed a target"):
        atoll.copy_between(a, None)
