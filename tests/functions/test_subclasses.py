"""Subclasses of ``atoll.ndarray``."""

from __future__ import annotations

import numpy
import pytest

import atoll
from atoll.config import config


class Tagged(atoll.ndarray):
    """An array with a tag that results inherit."""

    def __new__(cls, values, tag=None):
        made = atoll.asarray(values).view(cls)
        made.tag = tag
        return made

    def __array_finalize__(self, parent):
        if parent is not None:
            self.tag = getattr(parent, "tag", None)


@pytest.fixture(params=(0, 30_000), autouse=True)
def small(request):
    with config(small=request.param):
        yield


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a[1:], lambda a: a + 1, lambda a: 1 + a, lambda a: a.T, lambda a: a.copy(), lambda a: a.reshape(-1),
        lambda a: a.sum(axis=0), lambda a: -a, lambda a: atoll.sin(a), lambda a: numpy.sin(a), lambda a: a.astype("f4"),
        lambda a: atoll.zeros_like(a), lambda a: a > 1, lambda a: a.ravel(), lambda a: a.cumsum(), lambda a: a * a,
    ],
)  # fmt: skip
def test_results_are_of_the_class_and_know_their_parent(make):
    a = Tagged(numpy.arange(6.0).reshape(2, 3), "t")
    result = make(a)
    assert type(result) is Tagged
    assert result.tag == "t"


def test_views_of_a_subclass_alias():
    a = Tagged(atoll.arange(4.0), "t")
    b = a[1:]
    b[0] = 9
    a += 1
    assert type(a) is Tagged
    assert b.tolist() == [10, 3, 4]
    assert type(a.view(atoll.ndarray)) is atoll.ndarray
    assert repr(a) == "Tagged([ 1., 10.,  3.,  4.])"


def test_what_is_of_the_class_already_is_not_made_again():
    a = Tagged(numpy.arange(6.0), "t")
    assert atoll.asanyarray(a) is a
    assert atoll.array(a, copy=None, subok=True) is a
    assert atoll.asanyarray(a, dtype="f4").tag == "t"
    assert atoll.array(a, subok=True) is not a


def test_a_subclass_may_take_ufuncs_over():
    class Loud(atoll.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            inputs = [x.view(atoll.ndarray) if isinstance(x, Loud) else x for x in inputs]
            if "out" in options:
                options["out"] = tuple(o.view(atoll.ndarray) for o in options["out"])
            return ufunc.__name__, getattr(ufunc, method)(*inputs, **options)

    a = atoll.arange(3.0).view(Loud)
    assert (a + 1)[0] == "add"
    assert (1 - a)[0] == "subtract"
    assert numpy.exp(a)[0] == "exp"
    assert atoll.multiply(a, 2)[0] == "multiply"


def test_constructor_of_a_subclass():
    class Plain(atoll.ndarray):
        pass

    assert type(Plain((2, 2))) is Plain
    assert type(Plain((2,), "f8", bytearray(16)) + 1) is Plain


@pytest.mark.parametrize("name", ["S", "Plain", "WithALongName"])
def test_several_lines_are_indented_as_numpy_does(name):
    def texts(np):
        kind = type(name, (np.ndarray,), {})
        arrays = [np.arange(4).reshape(2, 2), np.arange(40) * 1000003, np.zeros((0, 3), "f4")]
        arrays += [np.arange(30000.0).reshape(10, 3000), np.array(3.5)]
        return [repr(a.view(kind)) for a in arrays]

    for small in (0, 10**6):
        with config(small=small):
            assert texts(atoll) == texts(numpy)
