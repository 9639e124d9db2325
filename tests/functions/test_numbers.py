"""A number is NumPy's number: of the same class, and equal, whatever the size of the array and wherever it lies."""

from __future__ import annotations

import json
import math
import pickle
import statistics
import struct
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest

import atoll
from atoll.config import config

SMALL = 60
"""Up to here arrays are small; the test has some of fewer elements, and some of more."""
DTYPES = "?bBhHiIlLefdFD"
"""Not ``longlong``: where it has as many bytes as ``long``, arrays take the one for the other."""

NUMBERS = {
    "sum": lambda np, a: a.sum(),
    "sum of a function": lambda np, a: np.sum(a),
    "sum of all axes": lambda np, a: a.sum(axis=tuple(range(a.ndim))),
    "sum of a dtype": lambda np, a: a.sum(dtype=complex),
    "sum from": lambda np, a: a.sum(initial=3),
    "sum where": lambda np, a: a.sum(where=a != a.flat[0]),
    "sum of the last axis": lambda np, a: a.ravel().sum(-1),
    "sum along, then all": lambda np, a: a.sum(0).sum(),
    "sum of an expression": lambda np, a: (a * a).sum(),
    "reduce": lambda np, a: np.add.reduce(a, axis=None),
    "prod": lambda np, a: (a[:2] != 0).prod(),
    "mean": lambda np, a: a.mean(),
    "mean of a dtype": lambda np, a: a.mean(dtype="D"),
    "std": lambda np, a: a.std(),
    "var": lambda np, a: a.var(ddof=1),
    "min": lambda np, a: a.min(),
    "max": lambda np, a: np.max(a),
    "ptp": lambda np, a: np.ptp(a),
    "any": lambda np, a: a.any(),
    "all": lambda np, a: np.all(a),
    "argmax": lambda np, a: a.argmax(),
    "argmin": lambda np, a: np.argmin(a),
    "count_nonzero": lambda np, a: np.count_nonzero(a),
    "median": lambda np, a: np.median(a),
    "percentile": lambda np, a: np.percentile(a, 30),
    "quantile": lambda np, a: np.quantile(a, 0.5),
    "average": lambda np, a: np.average(a),
    "weighted": lambda np, a: np.average(a, weights=abs(a) + 1),
    "nansum": lambda np, a: np.nansum(a),
    "nanmean": lambda np, a: np.nanmean(a),
    "nanstd": lambda np, a: np.nanstd(a),
    "nanvar": lambda np, a: np.nanvar(a),
    "nanmax": lambda np, a: np.nanmax(a),
    "nanmin": lambda np, a: np.nanmin(a),
    "nanprod": lambda np, a: np.nanprod(a[:1]),
    "dot": lambda np, a: a.ravel().dot(a.ravel()),
    "dot of a function": lambda np, a: np.dot(a.ravel(), a.ravel()),
    "@": lambda np, a: a.ravel() @ a.ravel(),
    "vdot": lambda np, a: np.vdot(a, a),
    "inner": lambda np, a: np.inner(a.ravel(), a.ravel()),
    "vecdot": lambda np, a: np.vecdot(a.ravel(), a.ravel()),
    "norm": lambda np, a: np.linalg.norm(a),
    "norm 1": lambda np, a: np.linalg.norm(a.ravel(), 1),
    "norm inf": lambda np, a: np.linalg.norm(a.ravel(), np.inf),
    "vector_norm": lambda np, a: np.linalg.vector_norm(a),
    "trace": lambda np, a: np.trace(a),
    "trapezoid": lambda np, a: np.trapezoid(a.ravel()),
    "element": lambda np, a: a[1, 2],
    "element of a line": lambda np, a: a.ravel()[-1],
    "element of an expression": lambda np, a: (a + a)[1, 2],
    "item": lambda np, a: a.item(3),
    "flat": lambda np, a: a.flat[4],
    "element, then a ufunc": lambda np, a: np.exp(a[0, 1]),
    "no axes": lambda np, a: a[0, 1, ...],
    "no axes, reshaped": lambda np, a: a.ravel()[:1].reshape(()),
    "no axes, then a ufunc": lambda np, a: np.negative(a[0, 1, ...] + a[0, 0, ...]),
    "tensordot": lambda np, a: np.tensordot(a, a, 2),
    "einsum": lambda np, a: np.einsum("ij,ij->", a, a),
    "allclose": lambda np, a: np.allclose(a, a),
    "array_equal": lambda np, a: np.array_equal(a, a),
    "extremes are far": lambda np, a: np.max(a) - np.min(a) if a.dtype != bool else np.max(a),
    "a power of a number": lambda np, a: np.max(a) ** 2,
    "kept": lambda np, a: a.sum(keepdims=True),
    "axis": lambda np, a: a.max(axis=0),
}  # fmt: skip


def values(shape, dtype):
    found = numpy.random.default_rng(7).integers(0, 5, shape)
    return (found - 2 if numpy.dtype(dtype).kind in "ifc" else found).astype(dtype)


def outcome(np, find, array):
    try:
        with numpy.errstate(all="ignore"):
            return find(np, array)
    except Exception as error:
        return type(error)


def told(found):
    """The class of a result; a class of ours stands for NumPy's array."""
    return numpy.ndarray if isinstance(found, atoll.ndarray) else type(found)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.simulated(1, 3)
def test_numbers_are_those_of_numpy(name, size):
    with config(small=SMALL, everywhere=0):
        for shape in ((5, 4), (9, 13)):
            for dtype in DTYPES if size == 1 else "?bfD":
                theirs = values(shape, dtype)
                ours = atoll.array(theirs)
                expected = outcome(numpy, NUMBERS[name], theirs)
                found = outcome(atoll, NUMBERS[name], ours)
                where = (name, shape, dtype, expected, found)
                assert told(found) is told(expected), where
                if isinstance(expected, type):
                    assert found is expected, where
                    continue
                assert getattr(found, "dtype", None) == getattr(expected, "dtype", None), where
                assert numpy.shape(found) == numpy.shape(expected), where
                close = 1e-2 if dtype == "e" else 1e-5
                numpy.testing.assert_allclose(
                    numpy.asarray(found), numpy.asarray(expected), rtol=close, err_msg=str(where)
                )


@pytest.mark.ranks(3)
def test_numbers_are_those_of_numpy_on_ranks():
    with config(small=SMALL, everywhere=0):
        theirs = values((9, 13), "d")
        ours = atoll.array(theirs)
        for name, find in NUMBERS.items():
            expected, found = outcome(numpy, find, theirs), outcome(atoll, find, ours)
            assert told(found) is told(expected), (name, expected, found)


@pytest.mark.parametrize("shape", [(4,), (400,)])
@pytest.mark.simulated(1)
@pytest.mark.simulated(2, distributes=False)
def test_python_takes_numbers(shape):
    with config(small=SMALL, everywhere=0):
        a = atoll.arange(float(shape[0]))
        total, count, first = a.sum(), (a > 1).sum(), a.argmin()
        whole = numpy.arange(float(shape[0]))
        assert isinstance(total, float)
        assert isinstance(total, numpy.float64)
        assert json.dumps([total, a.mean()]) == json.dumps([whole.sum(), whole.mean()])
        assert Decimal(total) == Decimal(whole.sum())
        assert Fraction(total) == Fraction(whole.sum())
        assert statistics.mean([total, a.max()]) == statistics.mean([whole.sum(), whole.max()])
        assert struct.unpack("<dq", struct.pack("<dq", total, count)) == (whole.sum(), count)
        assert math.sqrt(total) == math.sqrt(whole.sum())
        assert list(range(first, 2)) == [0, 1]
        assert f"{total:.3f} %d %s" % (count, total) == (
            f"{whole.sum():.3f} %d %s" % (shape[0] - 2, whole.sum())
        )
        assert {total: 1}[float(whole.sum())] == 1
        assert pickle.loads(pickle.dumps(total)) == total
        assert [10, 20][int(first)] == [10, 20][first] == 10
        assert repr(total) == repr(whole.sum())
        assert type(total + 1) is type(total * count) is numpy.float64
        total.flags  # noqa: B018
        assert isinstance(max(total, 3.0), float)


def assigned(np, dtype, key, number):
    array = np.zeros(400, dtype)
    try:
        array[key] = number
    except OverflowError as error:
        return type(error)
    return numpy.asarray(array)


@pytest.mark.parametrize("dtype", "bBhHiIqQ")
@pytest.mark.simulated(1, 2)
def test_numbers_that_do_not_fit_are_assigned_as_numpy_does(dtype):
    numbers = [numpy.uint8(200), numpy.uint32(3 * 10**9), numpy.int64(-1), numpy.int16(1000)]
    numbers += [numpy.int64(2**40 + 3), numpy.float64(7.5), numpy.uint64(2**63), 300, True]
    with config(small=SMALL, everywhere=0):
        for number in [*numbers, atoll.max(atoll.arange(400)).astype("u4")]:
            for key in (3, slice(None), slice(2, 50), numpy.arange(0, 300, 7)):
                found, expected = [assigned(np, dtype, key, number) for np in (atoll, numpy)]
                numpy.testing.assert_equal(found, expected, err_msg=f"{number!r} {key}")


@pytest.mark.parametrize("dtype", ["f", "d", "F"])
@pytest.mark.parametrize("n", [10, 500])
@pytest.mark.simulated(1)
@pytest.mark.simulated(2, distributes=False)
def test_isclose_takes_numbers_as_weak_as_they_are(n, dtype):
    near = numpy.float32(2) + numpy.arange(-n, n).astype("f") * numpy.float32(3e-7)
    near = near.astype(dtype)
    others = [2.0, 2, numpy.float32(2), numpy.float64(2), numpy.array(2.0), near[::-1].copy()]
    with config(small=SMALL, everywhere=0):
        a = atoll.array(near)
        for other in others:
            for tolerances in ((1e-5, 1e-8), (numpy.float64(1e-5), 0.0), (0, 1e-4), (0.0, 2.3e-5)):
                for x, y in ((a, other), (other, a)):
                    one, two = [near if v is a else v for v in (x, y)]
                    found = atoll.isclose(x, y, *tolerances)
                    expected = numpy.isclose(one, two, *tolerances)
                    numpy.testing.assert_array_equal(numpy.asarray(found), expected)


@pytest.mark.parametrize("x_and", [-1, 2.5, 300, True, numpy.float32(3), 1j])
@pytest.mark.simulated(1, 2)
def test_select_converts_numbers_as_arrays(x_and):
    def both(np, x):
        return np.select([x > 3], [x], x_and)

    def first(np, x):
        return np.select([x > 3], [x_and], x)

    with config(small=SMALL, everywhere=0):
        for dtype in "BQbqfd":
            for n in (10, 500):
                whole = numpy.arange(n).astype(dtype)
                for find in (both, first):
                    found = outcome(atoll, find, atoll.array(whole))
                    expected = outcome(numpy, find, whole)
                    assert getattr(found, "dtype", found) == getattr(expected, "dtype", expected)
                    if not isinstance(expected, type):
                        numpy.testing.assert_array_equal(numpy.asarray(found), expected)


def test_the_class_of_a_number_does_not_depend_on_what_came_before():
    with config(small=0):
        for kind in ("q", "Q"):
            atoll.ones((7, 11, 13), kind).sum()
            atoll.sum(atoll.ones((7, 11, 13), kind), axis=0)[0, 0]
        for kind in "bBiIlL":
            a = atoll.ones((7, 11, 13), kind)
            whole = numpy.ones((7, 11, 13), kind)
            for name in ("sum", "prod", "max"):
                assert type(getattr(a, name)()) is type(getattr(whole, name)())
            assert type(a.sum(0)[0, 0]) is type(whole.sum(0)[0, 0])


def test_a_loop_with_changing_numbers_plans_once():
    with config(small=0):
        a = atoll.arange(500.0)
        for turn in range(12):
            if turn == 4:
                before = atoll.stats()
            factor = 1.0 / (a @ a)
            a += factor * a
            a *= 1.0 + 1.0 / a.max()
        after = atoll.stats()
        assert (after.plans_made, after.kernels_compiled) == (
            before.plans_made,
            before.kernels_compiled,
        )


def test_a_call_is_explained_and_not_made():
    with config(small=0):
        a = atoll.arange(500.0)
        atoll.sync()
        before = atoll.stats()
        told = atoll.explain(lambda: (a * 2).sum())
        assert atoll.stats().kernels_run == before.kernels_run
        assert told.launches[0].reductions == ("add",)
        assert (a * 2).sum() == 499 * 500
