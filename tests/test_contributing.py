"""The examples of docs/contributors/operations.md: entries made from outside the package, on one rank and on three."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest

import atoll as np
from atoll.functions.ufuncs import ufuncs
from atoll.graph.op import TABLE
from atoll.ops.folds import FOLDS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "contributors" / "operations.md"


@pytest.fixture
def added():
    """What the page's examples define; the entries are taken out again."""
    before = [dict(table) for table in (FOLDS, TABLE, ufuncs)]
    space: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(example, space)
    yield space
    for table, old in zip((FOLDS, TABLE, ufuncs), before, strict=True):
        table.clear()
        table.update(old)


def arrays():
    return numpy.linspace(-3, 3, 420).reshape(60, 7), np.linspace(-3, 3, 420).reshape(60, 7)


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(1, 3)
def test_a_ufunc(added, size):
    plain, a = arrays()
    softplus = added["softplus"]
    expected = numpy.logaddexp(2 * plain, 0)
    made = softplus(2 * a) + 1
    assert "pending" in str(np.explain(made))
    numpy.testing.assert_array_equal(numpy.asarray(made), expected + 1)
    out = np.zeros_like(a)
    assert softplus(2 * a, out=out) is out
    numpy.testing.assert_array_equal(numpy.asarray(out), expected)
    whole = np.asarray(numpy.arange(12)) + 0
    assert softplus(whole).dtype == numpy.exp(numpy.arange(12)).dtype
    assert softplus(0.0) == numpy.logaddexp(0.0, 0.0)


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(1, 3)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_a_reduction(added, size, axis):
    plain, a = arrays()
    made = np.logaddexp.reduce(a + 1, axis=axis)
    numpy.testing.assert_allclose(
        numpy.asarray(made), numpy.logaddexp.reduce(plain + 1, axis=axis), rtol=1e-13
    )
    if axis == 0:
        assert "logaddexp" in str(np.explain(np.logaddexp.reduce(a + 2, axis=axis)))


@pytest.mark.simulated(1, 3)
def test_a_reduction_that_kernels_have_no_code_for(added, size):
    plain, a = numpy.arange(1, 41).reshape(20, 2), np.arange(1, 41).reshape(20, 2)
    for axis in (0, 1):
        made = numpy.asarray(np.lcm.reduce(a, axis=axis))
        numpy.testing.assert_array_equal(made, numpy.lcm.reduce(plain, axis=axis))
    for axes in (None, (0, 1)):
        with pytest.raises(ValueError, match="not reorderable"):
            np.lcm.reduce(a, axis=axes)


@pytest.mark.simulated(3)
def test_a_reduction_is_not_gathered(added, size):
    _, a = arrays()
    before = np.stats().gathered
    numpy.asarray(np.logaddexp.reduce(a, axis=1).local)
    float(np.logaddexp.reduce(a, axis=None))
    assert np.stats().gathered == before


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(1, 3)
def test_a_function_that_ranks_compute_together(added, size):
    plain, a = numpy.arange(700) ** 2, np.arange(700) ** 2
    made = added["count_residues_of"](a + 1, 7)
    if size > 1:
        assert "count_residues(7)" in str(np.explain(made))
    expected = numpy.bincount((plain + 1) % 7, minlength=7)
    numpy.testing.assert_array_equal(numpy.asarray(made), expected)
    numpy.testing.assert_array_equal(numpy.asarray(made * 2), expected * 2)
