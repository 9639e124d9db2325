"""``errstate``: what floating-point errors do inside it, and to work recorded before it."""

from __future__ import annotations

import warnings

import numpy
import pytest

import atoll
from atoll.config import config


@pytest.fixture(params=(0, 30_000), autouse=True)
def small(request):
    with config(small=request.param):
        yield


def test_raise_raises_at_the_call():
    a = atoll.array([1.0, 0.0])
    with atoll.errstate(divide="raise"):
        with pytest.raises(FloatingPointError, match="divide by zero"):
            1 / a
        with pytest.raises(FloatingPointError):
            atoll.log(a)
        b = a.copy()
        with pytest.raises(FloatingPointError):
            b /= a * 0
    assert a.tolist() == [1, 0]


def test_ignore_ignores_what_is_recorded_inside():
    a = atoll.array([1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with atoll.errstate(all="ignore"):
            b = 1 / a
        assert b.tolist() == [1, float("inf")]


def test_work_from_before_keeps_its_own_rules():
    a = atoll.array([1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = 1 / a
        with atoll.errstate(all="raise"):
            assert b[1] == numpy.inf


def test_as_a_decorator_and_globally():
    @atoll.errstate(invalid="raise")
    def root(x):
        return atoll.sqrt(x)

    a = atoll.array([-1.0])
    with pytest.raises(FloatingPointError):
        root(a)
    old = atoll.seterr(invalid="raise")
    try:
        with pytest.raises(FloatingPointError):
            atoll.sqrt(a)
    finally:
        atoll.seterr(**old)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert numpy.isnan(atoll.sqrt(a)[0])


def test_sync_evaluates_everything():
    a = atoll.arange(5.0) + 1
    b = a * 2
    atoll.sync()
    assert all(x._np is not None or x._cell.node.value is not None for x in (a, b))
