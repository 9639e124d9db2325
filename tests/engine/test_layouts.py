"""NumPy's answers on every kind of layout, at any number of ranks."""

import numpy as np
import pytest

import atoll
from atoll import Cyclic, Layout

pytestmark = pytest.mark.timeout(240)  # many programs: on a busy machine a minute is too short

MAPS = ["bn", "nb", "bb", "cn", "cc", "nc", ("b", Cyclic(2)), (Cyclic(3), "n")]


@pytest.fixture
def whole():
    return np.arange(42.0).reshape(6, 7)


def scattered(whole, maps, size):
    layout = Layout(whole.shape, maps, size=size)
    array = atoll.asarray(whole.copy()).redistribute(layout)
    assert size == 1 or array.layout == layout
    return array


def same(ours, theirs):
    ours = np.asarray(ours)
    assert ours.shape == np.shape(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


@pytest.mark.slow
@pytest.mark.simulated(1, 2, 3, 4, 7)
@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_values_and_views(whole, maps, size):
    a = scattered(whole, maps, size)
    same(a, whole)
    same(a + a[::-1, ::-1], whole + whole[::-1, ::-1])
    same(a[1:, 1:] - a[:-1, :-1], whole[1:, 1:] - whole[:-1, :-1])
    same(a.T * 2, whole.T * 2)
    same(a.reshape(7, 6) + 1, whole.reshape(7, 6) + 1)
    same(atoll.diagonal(a) * 2, whole.diagonal() * 2)
    same(a[2] * a[:, 3:4], whole[2] * whole[:, 3:4])
    assert a[2, 3] == whole[2, 3]
    assert repr(a) == repr(whole)


@pytest.mark.simulated(1, 2, 3, 4, 7)
@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_reductions(whole, maps, size):
    a = scattered(whole, maps, size)
    for axis in (None, 0, 1, (0, 1)):
        same(a.sum(axis=axis), whole.sum(axis=axis))
        same(a.max(axis=axis), whole.max(axis=axis))
        same(a.mean(axis=axis), whole.mean(axis=axis))
    assert a.argmax() == whole.argmax()
    assert a.argmin() == 0
    same(a[::2, 1:].sum(), whole[::2, 1:].sum())


@pytest.mark.simulated(1, 2, 3, 4, 7)
@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_assignment(whole, maps, size):
    a = scattered(whole, maps, size)
    b = whole.copy()
    a[1:4, ::2] = a[2:5, ::2]
    b[1:4, ::2] = b[2:5, ::2]
    same(a, b)
    a[a > 20] = 0
    b[b > 20] = 0
    same(a, b)
    a[:, 1] += a[:, 2]
    b[:, 1] += b[:, 2]
    same(a, b)
    a[0] = np.arange(7)
    b[0] = np.arange(7)
    same(a, b)


@pytest.mark.simulated(1, 2, 3, 4)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_functions_by_numpy(whole, maps, size):
    a = scattered(whole, maps, size)
    same(a @ a.T, whole @ whole.T)
    same(np.sort(a, axis=1), np.sort(whole, axis=1))
    same(atoll.concatenate([a, a]), np.concatenate([whole, whole]))
    same(atoll.where(a > 10, a, -a), np.where(whole > 10, whole, -whole))
    same(atoll.linalg.norm(a), np.linalg.norm(whole))


@pytest.mark.simulated(2, 3, 4, 7)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_aligned_operands_move_nothing(whole, maps, size):
    a = scattered(whole, maps, size)
    b = scattered(whole, maps, size)
    before = atoll.stats().bytes_moved
    c = a * b + a / 2
    c += a
    atoll.sync()
    assert atoll.stats().bytes_moved == before
    same(c, whole * whole + whole / 2 + whole)


@pytest.mark.simulated(4)
@pytest.mark.ranks(2, 3)
def test_the_laplace_step_sends_one_row_to_each_neighbour(rank, size):
    n = 24
    u = atoll.zeros((n, n), layout=Layout((n, n), "bn", size=size))
    u[0] = 1.0
    atoll.sync()
    before = atoll.stats()
    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    atoll.sync()
    neighbours = 1 if rank in (0, size - 1) else 2
    after = atoll.stats()
    assert after.messages - before.messages == neighbours
    assert after.bytes_moved - before.bytes_moved == neighbours * (n - 2) * 8
    v = np.zeros((n, n))
    v[0] = 1.0
    v[1:-1, 1:-1] = (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]) / 4
    same(u, v)


@pytest.mark.simulated(2, 3)
@pytest.mark.ranks(2)
def test_unseeded_generators_agree(size):
    drawn = np.asarray(atoll.random.default_rng().random((12, 5)))
    assert scattered(drawn, "bn", size).shape == (12, 5)
    every = atoll.world.communicator.allgather(drawn)
    assert (every == drawn).all()
