"""``bincount`` of values on ranks: few bins are added up by one message, many by their owners."""

from __future__ import annotations

import numpy
import pytest

import atoll

random = numpy.random.default_rng(4)
MANY = random.integers(0, 1000, 5000)
VALUES = {
    "one value": numpy.array([3]),
    "few values": random.integers(0, 8, 2),
    "few bins": random.integers(0, 8, 5000),
    "many bins": MANY,
    "more bins than values": random.integers(0, 100_000, 100),
    "one large value": numpy.array([0] * 99 + [100_000]),
    "bytes": random.integers(0, 200, 300).astype("u1"),
    "a negative value on one rank": numpy.array([5] * 50 + [-1] + [3] * 49),
    "negative values": numpy.array([-3, -1, -200_000]),
    "unsigned integers": numpy.array([1, 2, 3], "u8"),
}


def answer(function, *args):
    """The result, or the error, of a call."""
    try:
        return function(*args)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.simulated(4, 20)
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("minlength", [0, 3, 2000, -1])
@pytest.mark.parametrize("kind", [None, float, int])
def test_counts_and_errors_are_numpys(values, minlength, kind):
    weights = None if kind is None else numpy.random.default_rng(5).integers(1, 9, len(values))
    weights = weights if kind in (None, int) else weights / 8
    ours = [
        atoll.array(each, layout="b") if each is not None else None for each in (values, weights)
    ]
    expected = answer(numpy.bincount, values, weights, minlength)
    found = answer(atoll.bincount, *ours, minlength)
    if isinstance(expected, tuple):
        assert found == expected
        return
    found = numpy.asarray(found)
    assert found.dtype == expected.dtype
    numpy.testing.assert_array_equal(found, expected)


@pytest.mark.ranks(2, 3)
def test_few_bins_take_one_joint_step_and_no_message():
    values = atoll.array(MANY)
    with atoll.config(everywhere=4000):
        atoll.bincount(values)
        before = atoll.stats().messages, atoll.world.communicator.traffic.collectives
        counts = atoll.bincount(values)
        after = atoll.stats().messages, atoll.world.communicator.traffic.collectives
    assert (after[0] - before[0], after[1] - before[1]) == (0, 1)
    numpy.testing.assert_array_equal(numpy.asarray(counts), numpy.bincount(MANY))
