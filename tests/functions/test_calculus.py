"""Derivatives, polynomials, products and statistics of several variables, against NumPy."""

import warnings

import numpy as np
import pytest

import atoll
from atoll.config import config

EXPRESSIONS = """
np.gradient(a)
np.gradient(a,2.0)
np.gradient(a,1,2,3)
np.gradient(a,2,axis=1)
np.gradient(a,t,axis=1)
np.gradient(a,t,axis=1,edge_order=2)
np.gradient(a,axis=(0,-1),edge_order=2)
np.gradient(a,np.arange(6)*2,axis=1)
np.gradient(a[0,0])
np.gradient((a*10).astype('i4'),axis=0)
np.gradient(a.astype('f4'))
np.gradient(a,1,2)
np.gradient(a[:1])
np.polyval([1,2,3.5],a)
np.polyval([1,2],(a*10).astype('i8'))
np.polyval(np.array([1j,2]),a)
np.cross(a[...,:3],a[...,1:4])
np.cross(a[...,:3],[1.,2,3])
np.cross(a[:3],a[1:4],axis=0)
np.cross(a[:3],a[1:4],axisa=0,axisb=0)
np.cross(a[...,:2],a[...,1:4])
np.cov(a[0])
np.cov(a[0],rowvar=False)
np.cov(a[0],a[1],bias=True)
np.cov(a[0,0])
np.cov(a[0],ddof=0)
np.cov(a[0]+1j*a[1])
np.corrcoef(a[0])
np.corrcoef(a[0]+1j*a[1])
np.corrcoef(a[0,0],a[0,1])
np.cov(a[0],aweights=np.arange(5))
np.cov(a[0].astype('f4'),dtype='f4')
np.trace(a)
np.trace(a,1,2,0)
a.trace()
np.trace(a[0].astype('i2'))
np.trace(a[0,0])
"""


def outcome(module, expression):
    """The value, or the kind and text of the error."""
    numbers = np.random.default_rng(0)
    whole = numbers.random((7, 6, 5))
    places = np.cumsum(numbers.random(6) + 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(expression, {"np": module, "a": module.asarray(whole), "t": places})
        except (ValueError, TypeError) as error:
            return type(error), str(error)


def compare(expected, found):
    if isinstance(expected, tuple):
        assert type(found) is tuple
        assert len(found) == len(expected)
        for one, other in zip(expected, found):
            compare(one, other)
    elif isinstance(expected, (str, type)):
        assert found == expected
    else:
        expected, found = np.asarray(expected), np.asarray(found)
        assert found.dtype == expected.dtype
        close = 2e-6 if expected.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(found, expected, rtol=close, atol=close)


@pytest.mark.parametrize("expression", EXPRESSIONS.split("\n")[1:-1])
def test_expressions(expression):
    with config(small=0):
        compare(outcome(np, expression), outcome(atoll, expression))


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(3)
def test_all_of_them_on_ranks():
    for expression in EXPRESSIONS.split("\n")[1:-1]:
        compare(outcome(np, expression), outcome(atoll, expression))
