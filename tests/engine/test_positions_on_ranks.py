"""``argmin`` and ``argmax`` along the axes of arrays on ranks: each rank finds the positions in the rows that it has whole."""

from __future__ import annotations

import numpy
import pytest

import atoll

SHAPES = [(7, 5), (1, 4), (30, 3), (5, 4, 6), (300, 70), (3000, 8), (6, 3000)]


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.simulated(4)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("maps", ["b", "nb", "c", "default"])
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_positions_are_numpys_in_every_layout(shape, maps, name, size):
    whole = numpy.random.default_rng(1).integers(0, 4, shape).astype(float)
    whole[0, 0] = numpy.nan
    ours = atoll.array(whole)
    if maps != "default":
        layout = maps + "n" * (len(shape) - len(maps))
        ours = ours.redistribute(atoll.Layout(shape, layout, size=size))
    for axis in (None, *range(len(shape)), -1):
        for keepdims in (False, True):
            expected = getattr(numpy, name)(whole * 2, axis=axis, keepdims=keepdims)
            found = getattr(atoll, name)(ours * 2, axis=axis, keepdims=keepdims)
            numpy.testing.assert_array_equal(numpy.asarray(found), expected)
            numpy.testing.assert_array_equal(numpy.asarray(found + 1), expected + 1)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
def test_positions_in_rows_lie_with_the_rows():
    a = atoll.array(numpy.random.default_rng(2).random((120, 8)))
    atoll.sync()
    before = atoll.stats().messages
    labels = a.argmin(axis=1)
    atoll.sync()
    assert atoll.stats().messages == before
    assert labels.layout == a.layout.reduced((1,))
    assert a.argmin(axis=0).shape == (8,)
