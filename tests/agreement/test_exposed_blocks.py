"""A rank's block that was handed out stays where it is, and shows all that is done, as it is done.

The memory of what every rank has may be handed out on one rank alone, which must change nothing for the others.
"""

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


SHOWN_ALONE = {
    "asarray": numpy.asarray,
    "local": lambda r: r.local,
    "ctypes": lambda r: numpy.ctypeslib.as_array(
        r.ctypes.data_as(numpy.ctypeslib.ctypes.POINTER(numpy.ctypeslib.ctypes.c_double)), r.shape
    ),
    "data": lambda r: numpy.asarray(r.data),
}
LINES = """x = d + r; y = x + r
x = d * (r * 2)
x = np.where(d > r, d, r)
x = np.concatenate([d, r[None]])
d += r; d *= r
d[3:5] = r
d[d > r] = 0
d[:, r > 3] = 1.5
r += 1; x = d - r; r[3] = 9
r[:] = d[7]; x = d + r
r[2:] = d.sum(0)[2:]; x = d + r
r += d.sum(0); x = d + r; r += 1
r[r > 2] = r[r > 2] * 2; x = d * r
np.sum(d, axis=0, out=r); x = d - r
t = r.sum(); x = (d + r).max(0); r += t
x = np.cumsum(d + r, axis=0)
x = np.sort(d + r, axis=0)
x = d @ r
for k in range(3): x = d * 0.5 + r; r = x[0] + r; d = x
for k in range(3): t = d.mean(0); r[...] = r * 0.5 + t; d = d - r; x = d""".splitlines()


@pytest.mark.simulated(1, 2, 3)
@pytest.mark.parametrize("way", SHOWN_ALONE)
def test_what_one_rank_shows_of_an_array_that_all_have_decides_nothing(way, rank, size):
    with np.config(everywhere=11):
        for line in LINES:
            shown_alone(SHOWN_ALONE[way], line, rank == size - 1)


def shown_alone(show, line, here):
    """Run a line with NumPy's arrays and with ours, of which a rank shows the memory of one before."""
    arrays = {}
    for module in (numpy, np):
        d = (module.arange(180.0) % 17).reshape(18, 10)
        names = arrays[module] = {"np": module, "d": d, "r": module.linspace(0, 5, 10) * 1.5}
        kept = names["r"]
        if module is numpy:
            original = kept
        else:
            np.sync()
            shown = show(kept) if here else None
        exec(line, names)
    for name in ("d", "r", "x"):
        if name in arrays[np]:
            found = numpy.asarray(arrays[np][name])
            numpy.testing.assert_allclose(found, arrays[numpy][name], 1e-12, err_msg=line)
    numpy.testing.assert_allclose(numpy.asarray(kept), original, 1e-12, err_msg=line)
    if here:
        numpy.testing.assert_allclose(shown, original, 1e-12, err_msg=line)
