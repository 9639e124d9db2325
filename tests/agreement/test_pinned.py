"""A rank's block that was handed out stays where it is, and shows all that is done, as it is done."""

from __future__ import annotations

import numpy
import pytest

import atoll as np

WAYS = {
    "local": lambda a: a.local,
    "distarray": lambda a: numpy.asarray(a.__distarray__()["buffer"]),
}


def mine(a, whole):
    """What this rank has of the whole."""
    return whole[numpy.ix_(*[part.array() for part in a.layout.region(np.world.rank)])]


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 4)
@pytest.mark.parametrize("way", ["local", "distarray"])
@pytest.mark.parametrize("maps", ["bn", "bb", "cn"])
def test_what_is_done_shows_at_once(way, maps, size):
    whole = numpy.arange(96.0).reshape(12, 8)
    a = np.asarray(whole.copy()).redistribute(np.Layout(whole.shape, maps, size=size))
    before = a * 2  # still to be computed when the block is handed out
    block = WAYS[way](a)
    address = block.__array_interface__["data"][0]
    numpy.testing.assert_array_equal(block, mine(a, whole))
    for change in ("x += 1", "x[2:5] = 7", "x[1:] = x[:-1].copy()", "x[x > 50] = 0", "x *= x"):
        exec(change, {"x": a})
        exec(change, {"x": whole})
        numpy.testing.assert_array_equal(block, mine(a, whole), err_msg=change)  # nobody looks at a
    assert WAYS[way](a).__array_interface__["data"][0] == address
    numpy.testing.assert_array_equal(numpy.asarray(before), numpy.arange(96.0).reshape(12, 8) * 2)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 4)
@pytest.mark.parametrize("maps", ["bn", "bb", "cn"])
def test_operations_read_what_is_there_at_the_call(maps, size):
    whole = numpy.arange(96.0).reshape(12, 8)
    a = np.asarray(whole.copy()).redistribute(np.Layout(whole.shape, maps, size=size))
    block = a.local
    doubled, shifted = a * 2, a[1:] - a[:-1]
    total = a.sum()
    block[...] = -1
    assert float(total) == whole.sum()
    numpy.testing.assert_array_equal(numpy.asarray(doubled), whole * 2)
    numpy.testing.assert_array_equal(numpy.asarray(shifted), whole[1:] - whole[:-1])
    assert float(a.sum()) == -96
