"""Two small arrays that are broadcast to a large one: recorded, so that the large one need never be stored."""

from __future__ import annotations

import numpy
import pytest

import atoll as np

N = 200


@pytest.fixture(autouse=True)
def _small():
    with np.config(small=N * N):
        yield


def is_pending(array):
    """True if an array is recorded and has no value yet."""
    return array._np is None and array._cell.node.value is None


WAYS = {
    "an operator": lambda np, a, b: a[:, None] * b,
    "a difference of points": lambda np, a, b: a.reshape(-1, 2)[:, None] - b.reshape(-1, 2)[None],
    "a comparison": lambda np, a, b: a[:, None] < b,
    "a ufunc": lambda np, a, b: np.maximum(a[:, None], b),
    "an outer product": lambda np, a, b: np.outer(a, b),
    "the method of a ufunc": lambda np, a, b: np.subtract.outer(a, b),
    "a number of each": lambda np, a, b: (a[:, None] + 1) ** 2 / (b + 2),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_broadcast_to_a_large_array_is_recorded(way):
    x, y = numpy.random.default_rng(3).random((2, 2 * N))
    a, b = np.array(x), np.array(y)
    result, expected = WAYS[way](np, a, b), WAYS[way](numpy, x, y)
    assert is_pending(result)
    a[:], b[:] = 7, 8  # it has the elements of before
    numpy.testing.assert_array_equal(numpy.asarray(result), expected, strict=True)


def test_a_result_that_is_folded_is_never_stored():
    a = np.array(numpy.random.default_rng(4).random(4 * N))
    before = np.stats()
    total = float((a[:, None] * a).sum())
    after = np.stats()
    assert after.kernels_run > before.kernels_run
    assert after.created == before.created
    numpy.testing.assert_allclose(total, numpy.asarray(a).sum() ** 2)


@pytest.mark.parametrize(
    "shapes", [((N, 1), (N - 1,)), ((N,), (N,)), ((N, 1), (1, 1)), ((0, 1), (N,))]
)
def test_what_stays_small_is_computed_at_the_call(shapes):
    x, y = [numpy.ones(shape) for shape in shapes]
    result = np.array(x) + np.array(y)
    assert result._np is not None
    numpy.testing.assert_array_equal(numpy.asarray(result), x + y, strict=True)


def test_shapes_that_do_not_fit_raise_the_error_of_numpy():
    a, b = np.ones((N, 2)), np.ones((N, 3))
    with pytest.raises(ValueError, match="could not be broadcast together"):
        a + b
    with pytest.raises(ValueError, match="could not be broadcast together"):
        np.less(a, b)


def test_dtypes_without_kernels_are_left_to_numpy():
    x = numpy.arange(2 * N).astype(object)
    result = np.array(x)[:, None] * np.array(x)
    assert result[3, 4] == 12
    numpy.testing.assert_array_equal(numpy.asarray(result), x[:, None] * x)
