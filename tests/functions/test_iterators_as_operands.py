"""``a.flat`` as an argument stands for the elements of ``a`` in C order; nothing else of ``a`` is seen or changed."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import atoll

SHAPES = [(3, 4), (90, 100), (220, 230), (0, 3), ()]
"""Small, of medium size, large, empty, and of no axis."""

CALLS: dict[str, Any] = {
    "dot": lambda np, a, b: np.dot(a.flat, b.flat),
    "dot of one": lambda np, a, b: np.dot(*[a.flat] * 2),
    "vdot": lambda np, a, b: np.vdot(a.flat, b.ravel()),
    "inner": lambda np, a, b: np.inner(a.ravel(), b.flat),
    "sum": lambda np, a, b: np.sum(a.flat),
    "mean": lambda np, a, b: np.mean(a.flat, keepdims=True),
    "any": lambda np, a, b: np.any(a.flat),
    "count": lambda np, a, b: np.count_nonzero(a.flat),
    "reduce": lambda np, a, b: np.add.reduce(a.flat),
    "sqrt": lambda np, a, b: np.sqrt(a.flat),
    "add": lambda np, a, b: np.add(a.flat, b.flat),
    "number": lambda np, a, b: np.multiply(2, b.flat),
    "where": lambda np, a, b: np.negative(a.ravel(), where=(a > 1).flat, out=np.zeros(a.size)),
    "out": lambda np, a, b: np.add(a.flat, b.flat, out=np.zeros(a.size)),
    "into itself": lambda np, a, b: (np.add(a.ravel(), 1, out=a.reshape(-1)), np.sum(a.flat))[1],
    "copied": lambda np, a, b: np.asarray(a.flat),
    "raveled": lambda np, a, b: np.ravel(a.flat),
    "sorted": lambda np, a, b: np.sort(b.flat),
}


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("form", ["whole", "turned", "pending"])
def test_the_elements_are_read_in_order(name: str, form: str, shape: tuple[int, ...]) -> None:
    results: Any = []
    for np in (numpy, atoll):
        a: Any = np.arange(float(numpy.prod(shape))).reshape(shape)
        b = np.cos(a)
        a, b = {
            "whole": (a, b),
            "turned": (a.T, b.T),
            "pending": (np.asarray(a * 2 + 1), np.asarray(b - a)),
        }[form]
        result = CALLS[name](np, a, b)
        a[...] = -5  # a result never shows the array
        results.append((numpy.asarray(result), numpy.asarray(a), numpy.asarray(b)))
    for expected, actual in zip(*results, strict=True):
        assert actual.shape == expected.shape
        assert actual.dtype == expected.dtype
        numpy.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_a_ufunc_does_not_write_through_an_iterator(shape: tuple[int, ...]) -> None:
    for np in (numpy, atoll):
        a: Any = np.zeros(shape)
        with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
            np.add(a, 1, out=a.flat)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
            np.add(a, 1, a.flat)  # type: ignore[call-overload]
        assert not a.any()


def test_an_iterator_over_an_array_of_a_subclass_gives_plain_elements() -> None:
    class Mine(atoll.ndarray):  # type: ignore[misc]
        pass

    mine = atoll.arange(12.0).reshape(3, 4).view(Mine)
    assert type(atoll.sqrt(mine.flat)) is atoll.ndarray
    assert atoll.dot(mine.flat, mine.flat) == 506
