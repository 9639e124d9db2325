"""Sums of negative zeros are what they are in NumPy: sums that begin with zero."""

import numpy
import pytest

import atoll as np
from atoll.config import config


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(1,), (9,), (40_000,), (300, 70), (3, 5000)], ids=str)
def test_a_sum_of_negative_zeros_is_zero(shape, dtype):
    a = numpy.full(shape, complex(-0.0, -0.0) if dtype == "c16" else -0.0, dtype)
    with config(small=0):
        for axis in (None, *range(len(shape))):
            for name in ("sum", "mean"):
                found = getattr(np, name)(np.array(a), axis=axis)
                assert (
                    numpy.asarray(found).tobytes() == getattr(numpy, name)(a, axis=axis).tobytes()
                )
