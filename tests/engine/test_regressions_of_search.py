"""Programs that the search found atoll to get wrong once, cut down: each line is compared with NumPy."""

import numpy as np
import pytest

import atoll
from atoll import Block, Layout, Unstructured

from . import comparison
from .program import replay

pytestmark = [pytest.mark.timeout(240), pytest.mark.usefixtures("by_numpy")]

GRID = np.array([[1, -2, 3, 0], [4, 5, -1, 2], [0, 3, 3, -4]])

PROGRAMS = {
    "a scan by place into an array that others still read": """
        a1 = a0.astype('f4')
        a2 = a1 * 2
        a0.cumsum(0, 'f4', a1)
        a3 = np.take(a0, [0, 1, 1], 0, a0, 'clip')
        np.median(a0, 0, a1[0])""",
    "a cast is named before shapes": """
        a0 += np.ones(13)
        a0 /= a0.T
        np.copysign(a0, a0.T, out=a0)
        a0[1:, ::2] *= np.ones((2, 3))""",
    "an element takes no sequence": """
        a1 = a0[:1, :1].copy()
        a1[0, 0] = a1[0]
        a1[0, 0] = a1[:0]
        a1.astype('c16')[0, 0] = a1[0]""",
    "numbers of Python's are weak in joins": """
        a1 = np.concatenate([a0.astype('u8'), 4], axis=None)
        a2 = np.concatenate([a0.astype('f4'), 4.5], axis=None)
        a3 = np.append(a0.astype('f4'), 4.5)
        np.concatenate([a0, a0], out=3)""",
    "bytes of a read-only array are swapped in a copy": """
        a1 = np.diagonal(a0)
        a2 = a1.byteswap()
        a1.byteswap(True)
        a0.byteswap(inplace=True)""",
    "axes from the end, and of elements": """
        a1 = np.cumulative_sum(a0, axis=-1, include_initial=True)
        a2 = np.cumulative_prod(a0[:, :2], axis=-2, include_initial=True)
        a3 = np.take(np.array(5), [0, -1, 0], axis=0)
        a4 = np.take(np.array(5), np.arange(3), mode='wrap')
        np.partition(a0, 0, axis=3)
        np.ediff1d(a0 > 0)""",
    "a product without axes is an array": """
        a1 = np.tensordot(a0, a0, 2)
        a1[...] = 3
        np.add(a1, a1, out=a1)
        a2 = a1.flat[np.ravel(a1) > 0]
        a3 = np.vecdot(a0.astype('i2'), a0.astype('i2'))
        v = type(np.inner(a0[0], a0[1])).__name__""",
    "axes as lists, and axes that dots stand for": """
        a1 = np.einsum(a0, [1, ...], [..., 1])
        a1 += 1
        a2 = np.einsum(a0, [0, 1], a0, [2, 1])
        a3 = np.einsum('...i,...i', a0, a0)
        a4 = np.einsum('...i,i...->i', a0, a0.T)
        a5 = np.einsum('...,...', a0, a0[:1])
        a6 = np.einsum('j...,...', np.arange(3), a0)
        a7 = np.einsum('ij,jk,kl->il', a0 > 0, (a0 < 3).T, a0 * 0.5)
        np.einsum('i...', np.array(3))
        np.einsum('ij,jk', a0, a0)""",
    "edges of bins have the dtype of the data": """
        v = np.histogram(a0.astype('f4'), 5, (-5, 5))
        v = np.histogram_bin_edges(a0.astype('f4'), 4, (0, 2))""",
    "places to insert at have one axis": """
        np.insert(a0, np.array([[1, 2]]), 7)
        a1 = np.insert(a0, np.array([1, 2]), 7)""",
    "one number among sorted ones": """
        v = np.searchsorted(a0[0, :1], 0, sorter=np.argsort(a0[0, :1]))
        v = np.searchsorted(np.sort(a0[0]), 2)
        np.linalg.solve(np.eye(3), a0[:, 0].astype('f2'))""",
    "zeros are cut off by a view": """
        a1 = np.pad(a0, ((1, 2), (0, 1)))
        a2 = np.trim_zeros(a1)
        a2 += 5
        a3 = np.trim_zeros(a1, 'f', axis=0)
        a4 = np.trim_zeros(np.zeros((2, 3)))""",
    "an index that is broadcast away is checked": """
        a1 = a0[:0]
        a1[0, np.array([], int)]
        a0[9, np.array([], int)] = 1
        a2 = np.repeat(np.array(3), np.array([2]), axis=0)
        np.clip(a0 * 1j, -1, 2, out=a0)""",
    "what nobody may write to, and axes that are not there": """
        a1 = np.broadcast_to(a0[0], (2, 4))
        a1.flat[[0, -1]] = [1, 2]
        a1.flat[3] = 1
        np.fft.fft(a0[0] * 1.0, axis=2)
        np.fft.fft(a0 * 1.0, 4, axis=2)
        np.fft.irfft(a0 * 1.0, axis=-3)""",
    "indices of nothing among axes": """
        a1 = np.zeros((0, 2, 3))[np.array([], bool)]
        a2 = np.zeros((0, 2, 3))[:, np.array([1, 0])]
        a3 = np.zeros((2, 0, 3))[np.array([1, 1])] + 1""",
    "one number of many": """
        g = np.random.RandomState(7); v = (g.choice(5), g.choice(5, None), g.choice([1.5, 2], None))
        v = np.random.RandomState(7).choice(5, ())""",
    "views of nothing": """
        a1 = np.zeros((0, 3))
        a2 = a1[:, -1:3] + a1
        a1[:0, :] = a1[:0, :1]
        a3 = np.append(np.concatenate([a1, a1], axis=1), a1)
        a4 = np.outer(a0, a1)""",
}


def program(text, start=GRID):
    return replay(3, {"a0": start.copy()}, [line.strip() for line in text.strip().split("\n")])


@pytest.mark.slow
@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_numpy(name):
    comparison.check(program(PROGRAMS[name]))


SHARED = [
    Layout((6,), "b", grid=(2,), size=4, ranks=range(4)),
    Layout((6,), [Unstructured([[0, 1, 2, 3], [3, 4, 5]])], size=4, ranks=(0, 1)),
    Layout((6,), [Unstructured([[2, 1, 0, 5, 4, 3]])], size=4),
    Layout((6,), [Unstructured([[2, 1, 0, 5, 4, 3]])], size=4, ranks=(1, 2)),
    Layout((6,), [Block((0, 0, 6, 6, 6))], size=4),
]


@pytest.mark.simulated(4)
@pytest.mark.parametrize("layout", SHARED, ids=str)
def test_elements_that_several_ranks_hold_count_once(layout):
    whole = np.arange(6.0)
    a = atoll.asarray(whole).redistribute(layout)
    assert np.asarray(a).tolist() == whole.tolist()
    assert (a.sum(), a.mean(), atoll.prod(a + 1), (a > 2).sum()) == (15, 2.5, 720, 3)
    assert (a @ a, np.dot(a, whole), a.var()) == (55, 55, whole.var())
    assert (a.argmax(), atoll.count_nonzero(a), a.max()) == (5, 5, 5)
    assert np.asarray(a.reshape(2, 3).sum(axis=0)).tolist() == [3, 5, 7]


@pytest.mark.simulated(4)
@pytest.mark.ranks(4)
@pytest.mark.parametrize("maps", ["bn", "cn", "nb"])
def test_elements_that_two_ranks_hold_count_once_flattened(maps):
    whole = np.arange(16.0).reshape(4, 4)
    grid = (1, 2) if maps == "nb" else (2, 1)
    a = atoll.asarray(whole).redistribute(Layout((4, 4), maps, grid=grid, size=4, ranks=range(4)))
    assert ((a.ravel() + 1).sum(), atoll.vdot(a, a), (a.reshape(2, 8) * 2).max()) == (136, 1240, 30)


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
def test_the_first_of_equal_elements_wins_in_listed_shares(size):
    whole = np.array([0.0, 3, 5, 4, -4, 5, -4])
    layout = Layout((7,), [Unstructured([[6, 5, 2, 0], [4, 1, 3]])], size=size)
    a = atoll.asarray(whole).redistribute(layout)
    assert (atoll.argmax(a), atoll.argmin(a)) == (2, 4)


WAYS = {
    "reshape": lambda np, a: a.reshape(6, 5) + 0,
    "ravel": lambda np, a: np.ravel(a) * 1,
    "mask": lambda np, a: a[a > 4],
    "lanes": lambda np, a: np.apply_along_axis(lambda x: x[::-1], 1, a),
    "transform": lambda np, a: np.fft.ifft(np.fft.fft(a, axis=1), axis=1).real.round(),
    "product": lambda np, a: np.dot(a, np.arange(10.0).reshape(2, 5).T),
    "positions": lambda np, a: np.argwhere(a > 4),
    "sorted": lambda np, a: np.sort(a, axis=None),
    "scan": lambda np, a: a.cumsum(),
}


@pytest.mark.simulated(1, 2, 3)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("name", WAYS)
def test_an_axis_that_one_rank_holds_in_another_order(name, size):
    whole = np.arange(30.0).reshape(2, 3, 5)
    rows = Block((0,) * size + (2,))
    layout = Layout(
        whole.shape, (rows, Unstructured([[2, 0, 1]]), "n"), grid=(size, 1, 1), size=size
    )
    a = atoll.asarray(whole).redistribute(layout)
    np.testing.assert_array_equal(np.asarray(WAYS[name](atoll, a)), WAYS[name](np, whole))


@pytest.mark.simulated(2)
@pytest.mark.ranks(2)
def test_one_element_is_counted_once(size):
    one = atoll.asarray(np.array([5, 5])).redistribute(Layout((2,), "b", size=size))[:1]
    assert np.asarray(atoll.bincount(one % 4)).tolist() == [0, 1]
    assert np.asarray(atoll.bincount(one.copy() % 4)).tolist() == [0, 1]


@pytest.mark.simulated(3)
@pytest.mark.ranks(3)
def test_listed_shares_take_values_that_lie_otherwise(size):
    scattered = Layout((4, 4), [Unstructured([[2], [0, 3], [1]]), None], size=size)
    a = atoll.zeros((4, 4)).redistribute(scattered)
    a[::-1] += atoll.arange(16).reshape((4, 4))
    expected = np.arange(16.0).reshape(4, 4)[::-1]
    assert np.asarray(a).tolist() == expected.tolist()
    whole = np.arange(12.0).reshape(3, 4)
    b = atoll.asarray(whole[:, 0]).redistribute(
        Layout((3,), [Unstructured([[2], [], [1, 0]])], size=size)
    )
    c = atoll.outer(atoll.asarray(whole), b)
    assert np.asarray(c).tolist() == np.outer(whole, whole[:, 0]).tolist()
