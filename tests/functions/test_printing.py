"""Text of arrays on ranks: NumPy's, without gathering what is not printed."""

import numpy as np
import pytest

import atoll

NUMBERS = np.random.default_rng(1)
ARRAYS = [
    NUMBERS.random((60, 70)),
    NUMBERS.random(5000),
    (NUMBERS.random((3, 40, 50)) * 1e6).astype("f4"),
    NUMBERS.integers(-5, 10**6, (1200, 2)),
    NUMBERS.random((4, 5, 6, 20)) > 0.5,
    NUMBERS.random((30, 40)) + 1j,
]
OPTIONS = [
    {},
    {"edgeitems": 1, "linewidth": 40},
    {"precision": 2, "suppress": True, "linewidth": 30},
    {"threshold": 10**9},
    {"legacy": "1.13"},
]


@pytest.mark.slow
@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_the_text_is_numpys(size):
    for whole in ARRAYS:
        a = atoll.array(whole)
        for options in OPTIONS[: 5 if size == 3 else 2]:
            with np.printoptions(**options):
                assert repr(a) == repr(whole)
                assert str(a.T) == str(whole.T)


@pytest.mark.ranks(2)
def test_only_the_ends_travel():
    a = atoll.array(ARRAYS[0])
    before = atoll.stats().bytes_moved
    repr(a)
    assert atoll.stats().bytes_moved - before < 1000  # all would be 16,800
