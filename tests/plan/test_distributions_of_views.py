"""Where views lie: with the owners of their elements, however they are found."""

from __future__ import annotations

import random

import numpy
import pytest

from atoll.graph.geometry import dense
from atoll.layout import Layout
from atoll.ops import placement


def owners(layout):
    """The rank that owns each element."""
    found = [layout.owners(index)[0] for index in numpy.ndindex(layout.shape)]
    return numpy.array(found).reshape(layout.shape)


def part_of(pick, extent):
    start = pick.randrange(extent)
    return slice(start, pick.randint(start + 1, extent), pick.choice((1, 1, 2)))


def some_view(pick, base, array):
    """Slices, elements, new axes and transposes, of a geometry and of an array alike."""
    view = base
    for _ in range(pick.randint(1, 3)):
        key = []
        for extent in view.shape:
            kind = pick.random()
            if kind < 0.2:
                key.append(pick.randrange(extent))
            elif kind < 0.3:
                key.append(slice(None, None, -1))
            else:
                key.append(slice(None) if kind < 0.5 else part_of(pick, extent))
            if pick.random() < 0.15:
                key.append(None)
        view, array = view.index((*key, ...)), array[(*key, ...)]
    if view.ndim > 1 and pick.random() < 0.4:
        order = list(range(view.ndim))
        pick.shuffle(order)
        view = view.derived(("t", *order), lambda shadow: shadow.transpose(order))
        array = array.transpose(order)
    return view, array


@pytest.mark.parametrize("seed", range(6))
def test_views_lie_with_their_elements(seed):
    pick = random.Random(seed)
    for _ in range(150):
        shape = tuple([pick.randint(1, 6) for _ in range(pick.randint(1, 3))])
        maps = "".join([pick.choice("bbn") for _ in shape])
        size = pick.choice((2, 3, 4)) if "b" in maps else 1
        layout = Layout(shape, maps, size=size)
        view, expected = some_view(pick, dense(shape, numpy.dtype(float)), owners(layout))
        if view.axes is None or not view.ndim:
            continue
        found = placement._layout_of_view(layout, view)
        assert found.shape == view.shape
        assert numpy.array_equal(owners(found), expected), (layout, view)
