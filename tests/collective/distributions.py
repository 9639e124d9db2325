"""Arrays on layouts of every kind, and what of theirs ranks hold at most."""

from __future__ import annotations

import numpy as np

import atoll
from atoll import Block, Cyclic, Layout

MAPS = ["bn", "nb", "bb", "cn", "cc", ("b", Cyclic(2)), (Cyclic(3), "n")]
LINES = ["b", "c", Cyclic(2)]


def normal(shape):
    """Normal deviates, the same for the same shape."""
    return np.random.default_rng(sum(shape)).normal(size=shape)


def put(whole, maps, size):
    """The array on the layout that the maps give, without going small."""
    maps = maps if isinstance(maps, (str, tuple)) else (maps,)
    layout = Layout(whole.shape, maps, size=size)
    return atoll.asarray(whole.copy()).redistribute(layout)


def uneven(whole, size):
    """Blocks along axis 0 of which the first has all but one row, and some have none."""
    length = len(whole)
    bounds = [0] + [max(length - 1, 0)] * (size - 1) + [length]
    maps = (Block(bounds), *"n" * (whole.ndim - 1))
    return atoll.asarray(whole.copy()).redistribute(Layout(whole.shape, maps, size=size))


def same(ours, theirs, rtol=1e-12):
    """Equal in shape, dtype and value, to rounding."""
    assert ours.dtype == theirs.dtype
    ours = np.asarray(ours)
    assert ours.shape == np.shape(theirs)
    if theirs.dtype.kind in "fc" and rtol:
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(ours, theirs)
