"""Expressions of thousands of operations: no walk over them may call itself."""

import numpy as np
import pytest

import atoll
from atoll.config import config


@pytest.fixture(autouse=True)
def large():
    with config(small=0):
        yield


def chain(x, length):
    for _ in range(length):
        x = x * 1.0009765625
    return x


@pytest.mark.parametrize("length", [190, 450, 3000])
def test_a_chain(length):
    assert float(chain(atoll.ones((4, 50)), length)[1, 2]) == chain(np.float64(1), length)


@pytest.mark.parametrize("length", [190, 3000])
def test_a_flattened_chain_that_is_summed(length):
    total = chain(atoll.ones((4, 50)).reshape(-1), length).sum()
    assert float(total) == pytest.approx(200 * chain(1.0, length))


def test_a_chain_of_views():
    x, y = atoll.ones(400), np.ones(400)
    for _ in range(350):
        x, y = x[:-1] * 1.5, y[:-1] * 1.5
    np.testing.assert_array_equal(np.asarray(x), y)


def test_a_chain_that_is_assigned():
    x = atoll.ones((40, 50))
    x[1:-1] = chain(atoll.ones((40, 50)), 250)[1:-1] * 2
    assert float(x[5, 5]) == 2 * chain(1.0, 250)
    assert float(x[0, 0]) == 1


@pytest.mark.parametrize("form", ["text", "dot", "svg"])
def test_a_chain_is_shown(form):
    a = atoll.ones(60)
    a._evaluate()
    x = a
    for _ in range(500):
        x = x * 0.5 + a
    assert len(atoll.graph.show(x, form=form)) > 1000
    assert atoll.explain(x).groups
