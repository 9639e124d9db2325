"""Reductions over all axes and over some, with positions, and how accurate sums are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .harness import Loop, code, same
from .samples import ordinary

FOLDS = ("add", "multiply", "minimum", "maximum", "fmin", "fmax")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")


def fold(ufunc, partials):
    """What the caller makes of partials."""
    return getattr(np, ufunc).reduce(partials, dtype=partials.dtype)


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u8"])
def test_integers(dtype):
    for length in (1, 7, 64, 1000):
        x = ordinary(dtype, length)
        loop = Loop(x.shape)
        value = loop.load(x)
        for name in FOLDS + BITS:
            loop.reduce(name, dtype, value)
        for chunk in (length, 13):
            _, partials = loop.run(chunk, threads=2)
            with np.errstate(all="ignore"):
                for name, partial in zip(FOLDS + BITS, partials, strict=True):
                    assert fold(name, partial) == getattr(np, name).reduce(x, dtype=dtype), name


def test_truth():
    for x in (np.ones(90, bool), np.zeros(90, bool), ordinary("b1", 90)):
        loop = Loop(x.shape)
        value = loop.load(x)
        names = ("logical_and", "logical_or", "bitwise_and", "bitwise_or", "bitwise_xor", "add")
        for name in names:
            loop.reduce(name, "b1", value)
        _, partials = loop.run(chunk=11)
        for name, partial in zip(names, partials, strict=True):
            assert partial.dtype == bool
            assert fold(name, partial) == getattr(np, name).reduce(x, dtype=bool), name


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_extremes_of_floats(dtype):
    for nans in ([], [3], [0, 77], list(range(80))):
        x = ordinary(dtype, 80)
        x[5] = np.inf
        x[nans] = np.nan
        loop = Loop(x.shape)
        value = loop.load(x)
        names = ("minimum", "maximum", "fmin", "fmax")
        for name in names:
            loop.reduce(name, dtype, value)
        flags, partials = loop.run(chunk=33)
        assert flags == 0
        for name, partial in zip(names, partials, strict=True):
            expected = getattr(np, name).reduce(x)
            assert np.array_equal(fold(name, partial), expected, equal_nan=True)


def exact(x):
    return sum(map(Fraction, x.ravel().tolist()))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_are_as_accurate_as_numpys(dtype):
    generator = np.random.default_rng(3)
    for scale in ("uniform", "signed", "wide"):
        ours, theirs = [], []
        for length in (100, 1000, 5000, 40000):
            x = generator.uniform(0, 1, length)
            if scale == "signed":
                x -= 0.5
            elif scale == "wide":
                x = np.exp(20 * x)
            x = x.astype(dtype)
            loop = Loop(x.shape)
            loop.reduce("add", dtype, loop.load(x))
            total = loop.run()[1][0][0]
            true, size = exact(x), float(np.abs(x.astype("f8")).sum())
            ours.append(abs(float(Fraction(float(total)) - true)) / size)
            theirs.append(abs(float(Fraction(float(x.sum())) - true)) / size)
        epsilon = float(np.finfo(dtype).eps)
        assert (
            math.sqrt(sum(e * e for e in ours))
            <= 2 * math.sqrt(sum(e * e for e in theirs)) + epsilon
        )


def test_a_long_sum_of_equal_numbers():
    x = np.full(4_000_000, 0.1, "f4")
    loop = Loop(x.shape)
    loop.reduce("add", "f4", loop.load(x))
    total = loop.run()[1][0][0]
    assert abs(total / (4_000_000 * float(np.float32(0.1))) - 1) < 3e-7


def test_a_sum_does_not_depend_on_what_is_fused():
    """Wide code with accumulators in registers and narrow code with them in memory add alike."""
    x = ordinary("f8", 777)
    plain = Loop(x.shape)
    plain.reduce("add", "f8", plain.load(x))
    rich = Loop(x.shape)
    value = rich.load(x)
    rich.reduce("add", "f8", value)
    out = np.empty((30, 777))
    for row in out:
        value = rich.call("sin", "f8", value)
        rich.store(row, value)
    expected = plain.run(chunk=500)[1][0]
    assert same(rich.run(chunk=500)[1][0], expected)
    for threads in (1, 2):
        assert same(plain.run(chunk=500, threads=threads)[1][0], expected)


def test_signed_zeros_and_nothing():
    loop = Loop((5,))
    x = np.full(5, -0.0)
    loop.reduce("add", "f8", loop.load(x))
    assert math.copysign(1, loop.run()[1][0][0]) == -1


@pytest.mark.parametrize("dtype", ["c8", "c16", "f2"])
def test_sums_of_other_kinds(dtype):
    x = ordinary(dtype, 3000).reshape(30, 100)
    loop = Loop(x.shape)
    loop.reduce("add", dtype, loop.load(x))
    _, (partial,) = loop.run(chunk=7)
    assert partial.dtype == x.dtype
    tolerance = {"c8": 1e-5, "c16": 1e-13, "f2": 2e-2}[dtype]
    expected = x.astype("c16").sum()
    assert abs(partial.astype("c16").sum() - expected) <= tolerance * np.abs(x.astype("c16")).sum()


def test_complex_products():
    x = np.exp(1j * np.arange(50.0))
    loop = Loop(x.shape)
    loop.reduce("multiply", "c16", loop.load(x))
    _, (partial,) = loop.run(chunk=20)
    assert np.isclose(np.multiply.reduce(partial), np.multiply.reduce(x))


@pytest.mark.parametrize("dtype", ["i4", "u8", "f4", "f8"])
@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_positions(dtype, op):
    cases = [
        ordinary(dtype, 5000),
        ordinary(dtype, 203),
        np.zeros(50, dtype),
        np.arange(99).astype(dtype)[::-1].copy(),
    ]
    if dtype[0] == "f":
        with_nan = ordinary(dtype, 150)
        with_nan[[40, 90, 149]] = np.nan
        cases += [with_nan, np.full(20, np.inf, dtype), np.full(20, -np.inf, dtype)]
    for x in cases:
        loop = Loop(x.shape)
        value = loop.load(x)
        loop.reduce(op, dtype, value, position=loop.index(0))
        for chunk in (37, 3000):
            flags, (values, positions) = loop.run(chunk)
            assert flags == 0
            expected = [getattr(np, op)(x[s : s + chunk]) + s for s in range(0, len(x), chunk)]
            assert positions.tolist() == expected
            assert same(values, x[expected])
        rows = np.stack([x, x[::-1], x])
        backwards = Loop(rows.shape)  # later rows have smaller positions, and win ties
        first = backwards.call("multiply", "i8", backwards.index(0), backwards.const(-len(x), "i8"))
        place = backwards.call("add", "i8", first, backwards.index(1))
        backwards.reduce(op, dtype, backwards.load(rows), position=place)
        _, (_, positions) = backwards.run(origins=[-2, 0])
        assert positions[0] == getattr(np, op)(rows[::-1])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "u8", "f2", "f4", "f8", "b1"])
def test_positions_in_rows_of_any_length(dtype):
    """Ties, the last element of vectors that overlap, NaN, strides, several folds."""
    for length in (1, 2, 7, 8, 15, 16, 17, 63, 65, 200, 2049, 9000):
        x = ordinary(dtype, 5 * length).reshape(5, length)
        x[1] = x[1, 0]
        x[2, -1:] = True if dtype == "b1" else 99
        x[3] = np.sort(x[3])
        if dtype[0] == "f":
            x[0, length // 2 :: 3] = np.nan
        wide = np.repeat(x, 2, axis=1)
        for array in (x, wide[:, ::2], wide[:, ::-2]):
            loop = Loop(array.shape)
            value, place = loop.load(array), loop.index(1)
            lows, highs, places = [], [], []
            for op, best in (("argmin", lows), ("argmax", highs)):
                worst = np.array([np.nanmax(array) if op == "argmin" else np.nanmin(array)] * 5)
                best.append(worst.astype(array.dtype)[:, None])
                places.append(np.full((5, 1), np.iinfo("i8").max))
                number = loop.operand(best[0], "rw")
                loop.operand(places[-1], "rw")
                loop.reduce(op, dtype, value, (1,), operand=number, position=place)
            flags, _ = loop.run(chunk=2, threads=2)
            assert flags == 0
            for op, found in zip(("argmin", "argmax"), places, strict=True):
                assert found[:, 0].tolist() == getattr(np, op)(array, axis=1).tolist()
            chunks = Loop(array.shape)
            chunks.reduce("argmax", dtype, chunks.load(array), position=chunks.index(1))
            _, (_, found) = chunks.run(chunk=1)
            assert found.tolist() == array.argmax(axis=1).tolist()


def test_positions_along_an_axis():
    x = ordinary("f8", 77).reshape(7, 11)
    x[2, 5] = x[4, 5] = np.nan
    for axis in (0, 1):
        kept = 1 - axis
        shape = (1, 11) if axis == 0 else (7, 1)
        values, places = np.full(shape, np.inf), np.full(shape, np.iinfo("i8").max)
        loop = Loop(x.shape)
        value, position = loop.load(x), loop.index(axis)
        number = loop.operand(values, "rw")
        loop.operand(places, "rw")
        loop.reduce("argmin", "f8", value, (axis,), operand=number, position=position)
        loop.run()
        assert np.array_equal(places.ravel(), x.argmin(axis))
        assert np.array_equal(values.ravel(), x.min(axis), equal_nan=True)
        assert kept != axis


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_axes(data):
    """Every choice of axes, wanted elements, memory orders and chunks, folded into an operand."""
    ndim = data.draw(st.integers(2, 4))
    shape = tuple(data.draw(st.integers(1, 40 if axis == ndim - 1 else 6)) for axis in range(ndim))
    axes = data.draw(st.sets(st.integers(0, ndim - 1), max_size=ndim - 1))
    dtype = data.draw(st.sampled_from(["i4", "f8", "c8", "u1"]))
    names = {"c8": ["add"], "f8": ["add", "minimum", "fmax"]}.get(
        dtype, ["add", "maximum", "multiply"]
    )
    name = data.draw(st.sampled_from(names))
    x = ordinary(dtype, math.prod(shape)).reshape(shape)
    if data.draw(st.booleans()):
        x = np.asfortranarray(x)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    initial = ordinary(dtype, math.prod(kept), 8).reshape(kept)
    out = initial.copy()
    mask = ordinary("b1", x.size, 4).reshape(shape) if data.draw(st.booleans()) else None
    loop = Loop(shape)
    value = loop.load(x)
    number = loop.operand(out, "rw")
    neutral = {"add": 0, "multiply": 1, "maximum": 0 if dtype[0] == "u" else np.iinfo("i4").min}
    neutral |= {"minimum": np.inf, "fmax": -np.inf}
    chosen, wanted = x, value
    if mask is not None:
        chosen = np.where(mask, x, np.dtype(dtype).type(neutral[name]))
        wanted = loop.where(loop.load(mask), value, loop.const(neutral[name], dtype))
    loop.reduce(name, dtype, wanted, tuple(sorted(axes)), operand=number)
    loop.reduce("add", "f8", loop.cast(value, "f8"))
    _, partials = loop.run(chunk=shape[0] if 0 in axes else data.draw(st.integers(1, shape[0])))
    ufunc = getattr(np, name)
    with np.errstate(all="ignore"):
        expected = ufunc(
            initial, ufunc.reduce(chosen, axis=tuple(axes), keepdims=True, dtype=dtype)
        )
    if dtype in ("f8", "c8"):
        assert np.allclose(out, expected, 1e-4 if dtype == "c8" else 1e-9, 1e-3)
    else:
        assert np.array_equal(out, expected)
    assert np.allclose(partials[0].sum(), x.real.astype("f8").sum(), 1e-9, 1e-6)


def test_several_reductions_of_one_body():
    x = ordinary("f8", 4000).reshape(40, 100)
    single = x.astype("f4")
    loop = Loop(x.shape)
    value, low = loop.load(x), loop.load(single)
    loop.reduce("add", "f8", value)
    loop.reduce("add", "f4", low)
    loop.reduce("maximum", "f8", value)
    loop.reduce(
        "add", "i8", loop.cast(loop.call("greater", "b1", value, loop.const(0.0, "f8")), "i8")
    )
    _, partials = loop.run(chunk=3, threads=2)
    assert [code(p.dtype) for p in partials] == ["f8", "f4", "f8", "i8"]
    assert np.isclose(partials[0].sum(), x.sum())
    assert np.isclose(partials[1].sum(dtype="f8"), x.sum(), 1e-4)
    assert partials[2].max() == x.max()
    assert partials[3].sum() == (x > 0).sum()


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1", "f8"])
def test_sums_of_truth_values_are_counts(dtype):
    """Of masks as they are, strided, and of comparisons; in rows, in all, at every length."""
    for length in (1, 5, 63, 64, 65, 130, 1000):
        whole = ordinary("b1", 6 * length).reshape(3, 2 * length)
        numbers = ordinary("f4", 3 * length).reshape(3, length)
        for mask in (whole[:, :length], whole[:, ::2], whole[::-1, ::-2]):
            loop = Loop(mask.shape)
            value = loop.cast(loop.load(mask), dtype)
            above = loop.call("less", "b1", loop.const(0.0, "f4"), loop.load(numbers))
            loop.reduce("add", dtype, value)
            loop.reduce("add", dtype, loop.cast(above, dtype))
            _, partials = loop.run(chunk=2, threads=2)
            for found, truths in zip(partials, (mask, numbers > 0), strict=True):
                assert fold("add", found) == truths.astype(dtype).sum(dtype=dtype)
            rows = Loop(mask.shape)
            totals = np.array([[3], [0], [1]], dtype)
            into = rows.operand(np.broadcast_to(totals, mask.shape), "rw")
            rows.reduce("add", dtype, rows.cast(rows.load(mask), dtype), (1,), into)
            expected = totals[:, 0] + mask.sum(axis=1).astype(dtype)
            rows.run(chunk=1)
            assert same(totals[:, 0], expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_one_element_decides(threads):
    """``and`` and ``or`` stop at the element that settles them, wherever it is."""
    for length in (1, 63, 64, 1025, 5000):
        for place in {0, length // 2, length - 1}:
            for kind in (False, True):
                x = np.full((3, length), kind)
                x[1, place] = not kind
                for array in (x, x[:, ::-1], np.repeat(x, 2, axis=1)[:, ::2], x.astype("f4")):
                    loop = Loop(array.shape)
                    value = loop.load(array)
                    if array.dtype != bool:
                        value = loop.cast(value, "b1")
                    names = [f"logical_{'or' if not kind else 'and'}"]
                    names += ["logical_and", "logical_or"] * (length == 63)
                    for name in names:
                        loop.reduce(name, "b1", value)
                    flags, partials = loop.run(chunk=1, threads=threads)
                    assert flags == 0
                    for name, found in zip(names, partials, strict=True):
                        assert fold(name, found) == getattr(np, name).reduce(array, axis=None)


def test_what_may_warn_is_looked_at_to_the_end():
    x = np.ones(5000, "f4")
    x[4999] = 0
    loop = Loop(x.shape)
    inverse = loop.call("divide", "f4", loop.const(1.0, "f4"), loop.load(x))
    loop.reduce("logical_or", "b1", loop.cast(inverse, "b1"))
    flags, (found,) = loop.run(chunk=100)
    assert flags == 1
    assert found.all()
