"""Sums and products have the same bits whatever else is computed in the same loops."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.config import config

SHAPES = [(300, 7), (300, 300), (3, 300, 91), (513, 129), (2, 3, 40_000), (3, 300, 3, 40)]


def companions(a, wide, other):
    """What may share the loops of a fold of ``a``: by its name, the fold's operand and what else is wanted."""
    view = wide[tuple([slice(0, n) for n in a.shape])]
    return {
        "what is stored": (a, [a + view, a * 2]),
        "what takes away nothing": (a + 0 * view, []),
        "one number for each row": (a, [a * view[..., :1]]),
        "sums over axes": (a, [a.sum(axis=0), a.sum(axis=-1), a.sum()]),
        "extremes over axes": (a, [abs(a).max(axis=0), abs(a).min()]),
        "positions": (a, [abs(a).argmax(axis=0), abs(a).argmax()]),
        "indices": (a, [a * np.arange(a.shape[-1])]),
        "another order in memory": (a, [other * 2, other.sum(), other.sum(axis=0)]),
        "another size of numbers": (a, [a.astype("f4" if a.dtype == "f8" else "c16").sum()]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_folds_do_not_show_what_shares_their_loops(shape, dtype):
    random = numpy.random.default_rng(5)
    x = (random.random(shape) - 0.3).astype(dtype)
    wide = random.random([n + 3 for n in shape]).astype(dtype)
    ndim = len(shape)
    choices = [None, 0, ndim - 1, tuple(range(1, ndim)), (0, ndim - 1)]
    with config(small=0):
        for axis in dict.fromkeys(choices):
            alone = numpy.asarray(np.array(x).sum(axis=axis))
            inputs = x, wide, numpy.asfortranarray(x)
            for name in companions(*map(np.array, inputs)):
                operand, others = companions(*map(np.array, inputs))[name]
                found = operand.sum(axis=axis)
                np.sync()
                assert numpy.asarray(found).tobytes() == alone.tobytes(), (axis, name)
                del others


@pytest.mark.simulated(1, 2, 3)
def test_sums_on_ranks_do_not_show_it_either(rank):
    x = numpy.random.default_rng(5).random((301, 207)) - 0.3
    with config(small=0, everywhere=0):
        a, wide = np.array(x), np.array(numpy.pad(x, 3))
        alone = float(a.sum())
        view = wide[3:-3, 3:-3]
        total, product, other = (a + 0 * view).sum(), a * view, a.sum(axis=0)
        np.sync()
        assert float(total) == alone
        del product, other
