"""The ends of rows: read and written by masks, or one by one, with the same values, and nothing beyond them."""

import numpy as np
import pytest

import atoll
from atoll import policy

pytestmark = pytest.mark.compiled
DTYPES = ["f8", "f4", "i8", "i4", "i2", "u1", "c16", "?"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tail", [1, 2, 8])
def test_rows_of_any_length_end_where_they_should(dtype, tail):
    with atoll.config(small=0, kernel_cache="off"), policy.limited(part_vector=tail):
        for length in (1, 2, 3, 7, 8, 9, 17, 31, 33, 63, 65):
            whole = (np.arange(3 * (length + 2)) % 2).reshape(3, -1).astype(dtype)
            ours = atoll.array(whole)
            ours[:, 1:-1] = ours[:, 1:-1] + ours[:, :-2] * ours[:, 2:]
            right = whole.copy()
            right[:, 1:-1] = right[:, 1:-1] + right[:, :-2] * right[:, 2:]
            np.testing.assert_array_equal(np.asarray(ours), right)
            apart = atoll.array(whole)
            apart[:, 1:-1:2] = apart[:, 1:-1:2] + apart[:, ::2][:, : (length + 1) // 2]
            right = whole.copy()
            right[:, 1:-1:2] = right[:, 1:-1:2] + right[:, ::2][:, : (length + 1) // 2]
            np.testing.assert_array_equal(np.asarray(apart), right)


@pytest.mark.parametrize("registers", [0, 1, 12, 24, 1000])
def test_numbers_and_registers_change_no_bit(registers):
    x = np.linspace(0.1, 2, 77)

    def f(np, x):
        y = x
        for k in range(30):
            y = y * (k * 0.01) + x / (k + 1.5)
        return np.exp(-y) + y

    with atoll.config(small=0, kernel_cache="off"), policy.limited(registers=registers):
        ours = np.asarray(f(atoll, atoll.array(x)))
    with atoll.config(small=0, kernel_cache="off"):
        np.testing.assert_array_equal(ours, np.asarray(f(atoll, atoll.array(x))))
    np.testing.assert_allclose(ours, f(np, x), rtol=1e-13)
