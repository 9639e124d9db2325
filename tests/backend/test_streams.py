"""Rows that are read in several streams: the results do not show it."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import Loop, same
from .samples import ordinary

ROUNDED = ("f2", "f4", "f8", "c8", "c16")
EXTREMES = ("minimum", "maximum", "fmin", "fmax")
WHOLE = ("add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor")


def line_by(x, names, chunk, stored=False, threads=1):
    """The partial results of a line; a store in the same loop keeps it in one stream."""
    loop = Loop(x.shape)
    value = loop.load(x)
    for name in names:
        loop.reduce(name, x.dtype.str[1:], value)
    if stored:
        loop.store(np.empty_like(x), value)
    return loop.run(chunk, threads)[1]


def rows_by(x, names, chunk=None, stored=False):
    """The results of each row."""
    loop = Loop(x.shape)
    value = loop.load(x)
    found = []
    for name in names:
        identity = getattr(np, name).identity
        out = x[:, :1].copy() if identity is None else np.array([[identity]] * len(x))
        found.append(out.astype(x.dtype))
        target = loop.operand(found[-1], "rw")
        loop.reduce(name, x.dtype.str[1:], value, (1,), target)
    if stored:
        loop.store(np.empty_like(x), value)
    loop.run(chunk)
    return found


@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("length", [32_767, 32_768, 70_001, 131_072 + 40])
def test_sums_of_a_line(dtype, length):
    x = ordinary(dtype, length)
    for chunk in (length, 32_768, 50_000):
        plain = line_by(x, ["add"], chunk, stored=True)
        assert same(line_by(x, ["add"], chunk)[0], plain[0])
        assert same(line_by(x, ["add"], chunk, threads=2)[0], plain[0])


@pytest.mark.parametrize("dtype", ROUNDED)
def test_sums_and_products_of_rows(dtype):
    names = ("add", "multiply")
    for count in (1, 3, 4, 9):
        for length in (511, 512, 1000, 4099, 33_000):
            x = ordinary(dtype, count * length).reshape(count, length)
            x = (x / abs(x)).astype(dtype)  # so that no product grows
            plain = rows_by(x, names, stored=True)
            for chunk in (count, 5):
                assert all(map(same, rows_by(x, names, chunk), plain)), (count, length)
            alone = [rows_by(row[np.newaxis], names) for row in x]
            for one, whole in zip(zip(*alone, strict=True), plain, strict=True):
                assert same(np.concatenate(one), whole), (count, length)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("length", [512, 5000, 40_000])
def test_extremes(dtype, length):
    random = np.random.default_rng(3)
    for special in ([], [np.nan], [np.inf, -np.inf], [np.nan, np.inf, -0.0, 0.0]):
        x = ordinary(dtype, 6 * length).reshape(6, length)
        if x.dtype.kind == "f":
            for row in x[1:5] if special else ():
                row[random.integers(0, length, 3)] = random.choice(special, 3)
        elif special:
            continue
        line = x.reshape(-1)
        partials, rows = line_by(line, EXTREMES, 33_000), rows_by(x, EXTREMES)
        for name, partial, row in zip(EXTREMES, partials, rows, strict=True):
            fold = getattr(np, name).reduce
            np.testing.assert_array_equal(fold(partial), fold(line), name)
            np.testing.assert_array_equal(row[:, 0], fold(x, axis=1), name)


@pytest.mark.parametrize("dtype", ["i1", "u4", "i8", "u8"])
def test_whole_numbers(dtype):
    x = ordinary(dtype, 5 * 9001).reshape(5, 9001)
    line = x.reshape(-1)
    for name, partial, row in zip(
        WHOLE, line_by(line, WHOLE, 36_000), rows_by(x, WHOLE), strict=True
    ):
        fold = getattr(np, name).reduce
        assert fold(partial, dtype=dtype) == fold(line, dtype=dtype), name
        np.testing.assert_array_equal(row[:, 0], fold(x, axis=1, dtype=dtype), name)


def test_every_nan_is_found():
    x = np.ones((4, 600))
    for place in range(0, x.size, 41):
        y = x.copy()
        y.flat[place] = np.nan
        (row,) = rows_by(y, ["minimum"])
        assert np.array_equal(np.isnan(row[:, 0]), np.isnan(y).any(axis=1)), place


def positions_by(x, name):
    """The position of the extreme of each row, and of all."""
    loop = Loop(x.shape)
    value = loop.load(x)
    column = loop.index(1)
    extremes = np.full((len(x), 1), EXTREME[name](x.dtype), x.dtype)
    found = np.full((len(x), 1), 2**63 - 1)
    target = loop.operand(extremes, "rw")
    loop.operand(found, "rw")
    loop.reduce(name, x.dtype.str[1:], value, (1,), target, column)
    loop.run(5)
    whole = Loop(x.shape)
    value = whole.load(x)
    row, column = whole.index(0), whole.index(1)
    width = whole.const(x.shape[1], "i8")
    place = whole.call("add", "i8", whole.call("multiply", "i8", row, width), column)
    whole.reduce(name, x.dtype.str[1:], value, position=place)
    best, where = whole.run(7, threads=2)[1]
    ties = np.flatnonzero((best == getattr(best, name[3:])()) | (best != best))
    nans = [k for k in ties if best[k] != best[k]]
    return found[:, 0], min(where[k] for k in (nans or ties))


def least(dtype):
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def greatest(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


EXTREME = {"argmin": least, "argmax": greatest}


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("length", [512, 515, 4099])
def test_positions(dtype, length):
    random = np.random.default_rng(4)
    for numbers in (3, 100):  # many ties, and few
        x = random.integers(0, numbers, (11, length)).astype(dtype)
        x[2] = EXTREME["argmin"](x.dtype)
        x[3] = EXTREME["argmax"](x.dtype)
        x[4, -1] = 101
        x[5] = np.sort(x[5])
        x[6] = np.sort(x[6])[::-1]
        for nans in ([], [(7, 0)], [(8, length - 1), (9, 300), (9, 301)]):
            if nans and x.dtype.kind != "f":
                continue
            for place in nans:
                x[place] = np.nan
            for name in EXTREME:
                rows, place = positions_by(x, name)
                np.testing.assert_array_equal(rows, getattr(x, name)(axis=1))
                assert place == getattr(x, name)(), name
