"""Every ufunc in every loop against NumPy: bit for bit, or within 4 units in the last place."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from atoll.backend.llvm.transcendental import _LIMITS
from atoll.backend.llvm.ufuncs import supported

from .harness import Loop, code, same
from .samples import NUMPY_CODES, operands

INEXACT = {
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "arctan2",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "cbrt",
    "hypot",
    "power",
    "float_power",
    "logaddexp",
    "logaddexp2",
}
ALIASES = {
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "atan2",
    "pow",
    "mod",
    "true_divide",
    "degrees",
    "radians",
    "bitwise_not",
    "conj",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_right_shift",
}
EXTREMES = {"maximum", "minimum", "fmax", "fmin"}  # which zero of two, NumPy leaves open
NOT_NATIVE = {  # for complex operands only
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cos", "cosh", "exp", "exp2",
    "expm1", "float_power", "log", "log10", "log1p", "log2", "power", "reciprocal", "rint", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh",
}  # fmt: skip


def loops():
    """(input dtypes) -> [(ufunc, number of the output, output dtype)]."""
    found = {}
    for name in sorted(set(dir(np)) - ALIASES):
        ufunc = getattr(np, name)
        if not isinstance(ufunc, np.ufunc) or ufunc.signature:
            continue
        seen = set()
        for types in ufunc.types:
            letters = types.replace("->", "")
            inputs = tuple(NUMPY_CODES.get(letter, "") for letter in types.split("->")[0])
            if any(letter not in NUMPY_CODES for letter in letters) or inputs in seen:
                continue
            seen.add(inputs)
            for number, letter in enumerate(types.split("->")[1]):
                found.setdefault(inputs, []).append((name, number, NUMPY_CODES[letter]))
    return found


LOOPS = loops()


def kernel_name(name, number):
    return name if getattr(np, name).nout == 1 else f"{name}.{number}"


def distance(a, b):
    """Units in the last place between floating-point arrays; NaNs are equal."""
    whole = np.dtype(f"i{a.dtype.itemsize}")
    lowest = int(np.iinfo(whole).min)
    numbers = [x.view(whole).astype(object) for x in (a, b)]
    ordered = [np.where(n < 0, lowest - n, n) for n in numbers]
    apart = np.abs(ordered[0] - ordered[1])
    apart[np.isnan(a) & np.isnan(b)] = 0
    return apart


@functools.cache
def inputs_of(dtypes):
    return operands(dtypes)


def arguments(name, dtypes):
    arrays = list(inputs_of(dtypes))
    if name == "power" and dtypes[1][0] == "i":
        arrays[1] = np.abs(arrays[1] % 60)
    return arrays


@pytest.mark.slow
@pytest.mark.parametrize("dtypes", sorted(LOOPS), ids=".".join)
def test_values(dtypes):
    """All ufuncs that have a loop on these dtypes, a few to a kernel."""
    rows = [row for row in LOOPS[dtypes] if supported(kernel_name(*row[:2]), dtypes, row[2])]
    missing = {row[0] for row in LOOPS[dtypes]} - {row[0] for row in rows}
    assert missing <= (NOT_NATIVE if dtypes[0][0] == "c" else set())
    for start in range(0, len(rows), 8):
        some = rows[start : start + 8]
        length = len(arguments(some[0][0], dtypes)[0])
        loop, results = Loop((length,)), []
        loaded = {}
        for name, number, dtype in some:
            arrays = arguments(name, dtypes)
            key = tuple(id(array) for array in arrays)
            if key not in loaded:
                loaded[key] = [loop.load(array) for array in arrays]
            out = np.empty(length, dtype)
            loop.store(out, loop.call(kernel_name(name, number), dtype, *loaded[key]))
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(*arrays)
            results.append((name, out, expected[number] if type(expected) is tuple else expected))
        loop.run()
        for name, out, expected in results:
            assert code(expected.dtype) == code(out.dtype)
            if name in INEXACT or (name == "absolute" and dtypes[0][0] == "c"):
                far = np.flatnonzero(distance(out, expected) > 4)
                if name.startswith("logaddexp"):  # logarithms near 1 lose what cancels
                    far = [k for k in far if not np.isclose(out[k], expected[k], 1e-14, 1e-14)]
                    far = [k for k in far if out.dtype != np.float32]
                assert not len(far), (name, [(out[k], expected[k]) for k in far[:5]])
            elif name in EXTREMES:
                assert np.array_equal(out, expected, equal_nan=dtypes[0][0] in "fc"), name
            else:
                assert same(out, expected), name


def test_accuracy_against_a_wider_type():
    """Single precision against double, double against extended: 4 units at most."""
    generator = np.random.default_rng(5)
    positive = generator.uniform(1e-3, 50, 4001)
    for dtype, wide in (("f4", np.float64), ("f8", np.longdouble)):
        x = positive.astype(dtype)
        loop, pairs = Loop(x.shape), []
        value = loop.load(x)
        for name in ("exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cbrt", "log2", "arctan"):
            out = np.empty_like(x)
            loop.store(out, loop.call(name, dtype, value))
            pairs.append((name, out, getattr(np, name)(x.astype(wide))))
        loop.run()
        for name, out, exact in pairs:
            error = np.abs(out - exact) / np.spacing(np.abs(out))
            assert error.max() < 4, name


def test_huge_angles():
    x = np.array([1e300, 1e22, -1e18, 12345678901234567.0, 2.0**1000, np.inf, 3e7])
    out = np.empty_like(x), np.empty_like(x)
    loop = Loop(x.shape)
    value = loop.load(x)
    loop.store(out[0], loop.call("sin", "f8", value))
    loop.store(out[1], loop.call("cos", "f8", value))
    loop.run()
    with np.errstate(invalid="ignore"):
        assert distance(out[0], np.sin(x)).max() <= 4
        assert distance(out[1], np.cos(x)).max() <= 4


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_arguments_beside_those_whose_results_are_known(dtype):
    """Where guards begin to put in results, and special numbers among others, in every lane."""
    names = "exp", "exp2", "expm1", "tanh", "sinh", "cosh"
    ends = [limit for limits in _LIMITS.values() for limit in limits[dtype]]
    ends += [19.0, 39.9, 40.0, 88.0, 90.0, 709.0, 711.0, np.inf, np.nan, 0.0]
    ends = list(np.array(ends, dtype))
    near = [
        np.nextafter(end, np.dtype(dtype).type(side)) for end in ends for side in (-np.inf, np.inf)
    ]
    special = np.array(ends + near, dtype)
    x = np.concatenate([np.append(special, -special), np.repeat(np.array(0.5, dtype), 200)])
    np.random.default_rng(6).shuffle(x)
    loop, outs = Loop(x.shape), [np.empty_like(x) for _ in names]
    value = loop.load(x)
    for name, out in zip(names, outs, strict=True):
        loop.store(out, loop.call(name, dtype, value))
    loop.run()
    for name, out in zip(names, outs, strict=True):
        with np.errstate(all="ignore"):
            assert distance(out, getattr(np, name)(x)).max() <= 4, name


def test_clip_is_a_ufunc_too():
    for dtype in ("i4", "u1", "f4", "f8"):
        x, low, high = (a[::7] for a in operands((dtype, dtype, dtype)))
        x, low, high = (np.ascontiguousarray(a) for a in (x, low, high))
        out = np.empty_like(x)
        loop = Loop(x.shape)
        loop.store(out, loop.call("clip", dtype, loop.load(x), loop.load(low), loop.load(high)))
        loop.run()
        nan = np.isnan(x) | np.isnan(low) | np.isnan(high) if dtype[0] == "f" else x != x
        expected = np.clip(x, low, high)
        assert np.array_equal(out[~nan], expected[~nan])
        assert np.array_equal(np.isnan(out.astype(float)), np.isnan(expected.astype(float)))


def test_constant_integer_powers():
    x = np.arange(-20, 21)
    outs = [np.empty_like(x) for _ in range(6)]
    loop = Loop(x.shape)
    value = loop.load(x)
    for exponent, out in enumerate(outs):
        loop.store(out, loop.call("power", "i8", value, loop.const(exponent, "i8")))
    loop.run()
    for exponent, out in enumerate(outs):
        assert np.array_equal(out, x**exponent)


def test_what_is_not_supported():
    assert not supported("exp", ("c16",), "c16")
    assert not supported("matmul", ("f8", "f8"), "f8")
    assert not supported("add", ("f8", "f16"), "f8")
    assert not supported("add", ("f8",), "f8")
    assert supported("divmod.1", ("i4", "i4"), "i4")
    assert supported("absolute", ("c8",), "f4")
