"""What a view shows of an array on ranks is brought together without the rest of the array."""

import numpy as np
import pytest

import atoll
from atoll.context import statistics

from .distributions import normal, put, uneven

VIEWS = {
    "a row": lambda a: a[3],
    "a column": lambda a: a[:, 5],
    "every third": lambda a: a[1::3, ::-2],
    "turned": lambda a: a.T[2:7],
    "a new axis": lambda a: a[4:6, None, 3:],
    "nothing": lambda a: a[7:7],
    "a diagonal": lambda a: a.diagonal(1),
    "of a line": lambda a: a.ravel()[30:75],
    "parts of numbers": lambda a: (a + 1j).real[2:5],
}


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("maps", ["bn", "cc", "uneven"])
def test_a_view_is_brought_without_the_rest(name, maps, size):
    whole = normal((40, 30))
    a = uneven(whole, size) if maps == "uneven" else put(whole, maps, size)
    theirs = VIEWS[name](whole)
    view = VIEWS[name](a)
    before = statistics.stats().gathered
    ours = np.asarray(view)
    assert statistics.stats().gathered - before <= theirs.nbytes
    np.testing.assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype
    assert not ours.flags.writeable
    assert (ours * 1).strides == (theirs * 1).strides
    np.testing.assert_array_equal(np.asarray(a), whole)


@pytest.mark.simulated(3)
def test_what_numpy_is_given_is_the_view(size):
    whole = normal((3000,))
    a = put(whole, "b", size)
    before = statistics.stats().gathered
    np.testing.assert_array_equal(np.asarray(atoll.diag(a[5:9])), np.diag(whole[5:9]))
    assert a[5:9].tolist() == whole[5:9].tolist()
    assert statistics.stats().gathered - before <= 500
