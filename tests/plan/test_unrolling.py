"""Short inner loops that are unrolled: the same bits as those of loops that are not."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.lazy import evaluation

ROWS = 2500
FEW = 150
"""Rows of which too few are there for loops to be unrolled."""

EXPRESSIONS = {
    "sum": lambda np, a, w, c: a.sum(-1),
    "prod": lambda np, a, w, c: a.prod(-1),
    "mean": lambda np, a, w, c: a.mean(-1, keepdims=True),
    "var": lambda np, a, w, c: a.var(-1),
    "max": lambda np, a, w, c: a.max(-1),
    "fmin": lambda np, a, w, c: np.fmin.reduce(a, -1),
    "argmax": lambda np, a, w, c: a.argmax(-1),
    "argmin": lambda np, a, w, c: (a * 2).argmin(-1),
    "any": lambda np, a, w, c: (a > c).any(-1),
    "count": lambda np, a, w, c: (a > w).sum(-1),
    "broadcast": lambda np, a, w, c: a * w - c,
    "distance": lambda np, a, w, c: ((a - c) ** 2).sum(-1),
    "shares": lambda np, a, w, c: a / a.sum(-1, keepdims=True),
    "index": lambda np, a, w, c: a * np.arange(a.shape[-1], dtype=a.dtype) + w,
    "masked": lambda np, a, w, c: np.where(a > w, a, c),
    "functions": lambda np, a, w, c: np.exp(-np.abs(a * w)) + np.arctan(c),
    "several": lambda np, a, w, c: (a.sum(-1) + a.max(-1)) * (a - c).min(-1),
    "columns": lambda np, a, w, c: (a[:, ::-1] * c).sum(-1) + a[:, 0],
}


def shifted(np, a, w, c):
    a = a.copy()
    a[:, 1:] = a[:, :-1] * w
    return a


def in_place(np, a, w, c):
    a = a.copy()
    a *= w
    a[:, 1:] += c[1:]
    a[:, 0] -= w[:, 0]
    return a


EXPRESSIONS |= {"in_place": in_place, "shifted": shifted}


def operands(dtype, length):
    random = numpy.random.default_rng(length)
    arrays = [
        random.integers(-40, 40, shape).astype(dtype) / numpy.dtype(dtype).type(8)
        for shape in ((ROWS, length), (ROWS, 1), length)
    ]
    if numpy.dtype(dtype).kind == "f":
        arrays[0][::7, 0] = numpy.nan
        arrays[0][::5, -1] = -0.0
        arrays[0][1::11] = -0.0
        arrays[0][2::13] = -numpy.inf
        return [array * random.random(array.shape).astype(dtype) for array in arrays]
    return [array.astype(dtype) for array in arrays]


def bits(result):
    result = numpy.ascontiguousarray(numpy.asarray(result))
    return result.dtype, result.shape, result.tobytes()


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize(
    ("dtype", "length"), [("f8", 3), ("f4", 7), ("i4", 2), ("f8", 16), ("f4", 23), ("i4", 11)]
)
def test_the_bits_of_rows_that_are_not_unrolled(name, dtype, length):
    assert length * FEW < policy.limits.short <= length * ROWS
    compute = EXPRESSIONS[name]
    arrays = operands(dtype, length)
    with np.config(small=0), numpy.errstate(all="ignore"):
        a, w, c = map(np.array, arrays)
        long = compute(np, a, w, c)
        short = compute(np, a[:FEW].copy(), w[:FEW].copy(), c)
        assert bits(long[:FEW]) == bits(short)
        expected = compute(numpy, *arrays)
    close = numpy.testing.assert_allclose
    close(
        numpy.asarray(long),
        expected,
        1e-4 if dtype == "f4" else 1e-12,
        1e-4 if dtype == "f4" else 1e-12,
    )


def test_that_loops_are_unrolled():
    with np.config(small=0):
        a = np.ones((ROWS, 3))
        b = (a * np.ones((ROWS, 1)) - np.ones(3)).sum(-1)
        launch = np.explain(b).launches[-1]
    assert len(launch.extents) == 1, str(launch)


def product(rows, length, steps=0):
    """An expression with a kernel of its own for each number of steps."""
    value = np.array(numpy.ones((rows, length))) * np.array(numpy.ones(length))
    for _ in range(steps):
        value = value * 2 - 1
    return value


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("length", "kernel"), [(3, "its own"), (13, "short"), (22, "short"), (25, "long")]
)
def test_which_rows_share_a_kernel(length, kernel):
    assert 3 <= policy.limits.registers // 2 < 13 < 24 <= policy.limits.registers < 25
    with np.config(small=0, kernel_cache="off"):
        numpy.asarray(product(ROWS, length, length))
        for rows, columns, known in [
            (ROWS + 1, length, True),
            (ROWS, length + 2, kernel != "its own"),
            (ROWS, length + 31, kernel == "long"),
            (FEW, length, kernel == "long"),
        ]:
            launch = np.explain(product(rows, columns, length)).launches[-1]
            assert (len(launch.extents), launch.compiled) == (2, known)


def test_that_slow_functions_fill_vectors():
    with np.config(small=0):
        loops = [len(np.explain(np.exp(product(ROWS, n))).launches[-1].extents) for n in (3, 10)]
    assert loops == [1, 2]


def folded_down(np, a, w, c):
    """Folds of the rows of a few columns, alone and with others."""
    total = (a * w).sum(0) + a.max(0)
    return [
        a.sum(0),
        a.mean(0),
        total,
        (a - c).var(0),
        (a > w).sum(0),
        a[::-1].sum(0),
        (a * w).sum(),
    ]


@pytest.mark.parametrize(
    ("dtype", "rows", "columns"),
    [("f8", 200_000, 3), ("f4", 3001, 7), ("c16", 5000, 2), ("f8", 3001, 11), ("f4", 3001, 23)],
)
def test_columns_whose_loops_are_not_unrolled(monkeypatch, dtype, rows, columns):
    random = numpy.random.default_rng(7)
    arrays = [random.random(shape).astype(dtype) for shape in ((rows, columns), (rows, 1), columns)]
    if dtype == "c16":
        arrays[0] += 1j
    results = []
    for unrolled, fixed in ((8, 24), (1, 1)):
        monkeypatch.setattr(evaluation, "_programs", evaluation._Programs())
        with policy.limited(part_vector=unrolled, registers=fixed), np.config(small=0):
            results.append(list(map(bits, folded_down(np, *map(np.array, arrays)))))
    assert results[0] == results[1]


def test_that_a_column_is_folded_as_a_row():
    a = numpy.random.default_rng(3).random((ROWS, 5))
    with np.config(small=0):
        columns = [np.array(a[:, k].copy()).sum() for k in range(5)]
        assert bits(np.array(a).sum(0)) == bits(columns)
