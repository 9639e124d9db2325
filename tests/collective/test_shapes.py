"""Shapes that mix axes, and joins, on every kind of layout: NumPy's answers, and what moves."""

import numpy as np
import pytest

import atoll

from .distributions import MAPS, normal, put, same, uneven


@pytest.mark.slow
@pytest.mark.simulated(1, 7)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_reshapes(maps, size):
    a = normal((6, 8))
    for ours in (put(a, maps, size), uneven(a, size)):
        for shape in ((8, 6), (48,), (2, 3, 8), (3, 2, 2, 4), (4, 12), (1, 48), (6, 8)):
            same(ours.reshape(shape) + 1, a.reshape(shape) + 1, 0)
        same(ours.ravel(), a.ravel(), 0)
        same(ours.T.ravel() * 2, a.T.ravel() * 2, 0)
        same(ours.reshape(8, 6, order="F"), a.reshape(8, 6, order="F"), 0)
        same(ours[1:, ::2].reshape(4, 5) + 0, a[1:, ::2].reshape(4, 5) + 0, 0)
        same(ours.reshape(-1)[3:40:5] + 0, a.reshape(-1)[3:40:5] + 0, 0)
        same(ours.reshape(8, 6).T[1:3] + 0, a.reshape(8, 6).T[1:3] + 0, 0)
        same(ours.ravel().sum(), a.ravel().sum())
        same(ours.flatten().reshape(2, 24).T + 0, a.flatten().reshape(2, 24).T + 0, 0)
        same(atoll.diagonal(ours, 1) * 1, a.diagonal(1) * 1, 0)
        same(np.float64(ours.flat[17]), a.flat[17])
    both = a + 1j * a[::-1]
    ours = put(both, maps, size)
    same(ours.real + ours.imag, both.real + both.imag, 0)


@pytest.mark.simulated(1, 4)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_a_reshape_is_a_view_that_may_be_written_through(maps, size):
    a, ours = normal((6, 8)), put(normal((6, 8)), maps, size)
    for x in (a, ours):
        x.reshape(-1)[3:40:5] = 7
        x.reshape(4, 12)[1] = np.arange(12)
        x.reshape(48)[5:11] = x[0, :6]
        x.ravel()[-4:] += 100
        x.flat[20:24] = -1
        np.diagonal(a).sum()
    same(ours, a, 0)


@pytest.mark.simulated(1, 4)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_joins(maps, size):
    a = normal((6, 8))
    results = []
    for module, x in ((np, a), (atoll, put(a, maps, size))):
        results.append([
            module.concatenate([x, x[:2], x]), module.concatenate([x, x[:, ::2]], axis=1),
            module.stack([x, x + 1], axis=1), module.vstack([x, x[0]]), module.hstack([x, x[:, :1]]),
            *module.split(x, 3), *module.array_split(x, 3, axis=1), module.flip(x), module.rot90(x),
            module.roll(x, 3), module.roll(x, (2, -3), (0, 1)), module.pad(x, ((1, 2), (0, 3))),
            module.tile(x, 2), module.tile(x, (2, 1, 3)), module.repeat(x, 3, axis=0),
            module.repeat(x, 2), module.append(x, x), module.arange(48.0).reshape(6, 8) + x,
        ])  # fmt: skip
    for mine, theirs in zip(*reversed(results), strict=True):
        same(mine, theirs, 0)


@pytest.mark.simulated(3)
def test_joins_under_rules_that_raise(size):
    a = normal((6, 8))
    ours = put(a, "bn", size)
    with np.errstate(all="raise"):
        same(atoll.concatenate([ours, ours]), np.concatenate([a, a]))
        same(atoll.stack([ours, ours], -1), np.stack([a, a], -1))
        same(atoll.roll(ours, 1, 0), np.roll(a, 1, 0))
        narrow = ours.astype(np.float32)
        same(atoll.concatenate([ours, narrow]), np.concatenate([a, a.astype(np.float32)]))


@pytest.mark.slow
@pytest.mark.simulated(1, 4)
@pytest.mark.ranks(3)
def test_arrays_of_numpys_keep_their_memory_order(size):
    whole = np.arange(60.0).reshape(5, 3, 4)
    for a in (np.asfortranarray(whole), whole.transpose(1, 0, 2).copy("K"), whole[:, ::2].T, whole):
        for options in ({}, {"order": "C"}, {"order": "F"}, {"dtype": np.float32}):
            mine, theirs = atoll.array(a, **options), np.array(a, **options)
            assert mine.strides == theirs.strides
            same(mine.ravel("K"), theirs.ravel("K"), 0)
            same(mine.reshape(-1, order="A") * 2, theirs.reshape(-1, order="A") * 2, 0)
            same((mine + 1).ravel("K"), (theirs + 1).ravel("K"), 0)
            same(mine, theirs, 0)
