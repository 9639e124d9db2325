"""Subclasses of ``atoll.ndarray``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

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


def _wrapping_classes(np: Any, log: list[Any]) -> list[type]:
    def told(context: Any) -> Any:
        return None if context is None else (context[0].__name__, len(context[1]), context[2])

    class Plain(np.ndarray):
        pass

    class Wraps(np.ndarray):
        __array_priority__ = 10

        def __array_wrap__(self, array: Any, context: Any = None, number: bool = False) -> Any:
            log.append((type(self).__name__, told(context), number, array is self))
            return super().__array_wrap__(array, context, number)

    class Answers(Wraps):
        def __array_wrap__(self, array: Any, context: Any = None, number: bool = False) -> Any:
            super().__array_wrap__(array, context, number)
            return "wrapped"

    class Old(np.ndarray):
        def __array_wrap__(self, array: Any, context: Any = None) -> Any:
            log.append((type(self).__name__, told(context)))
            return super().__array_wrap__(array, context)

    return [Plain, Wraps, Answers, Old]


WRAPPED: list[Callable[..., Any]] = [
    lambda np, a, x, o: np.add(a, x),
    lambda np, a, x, o: np.add(x, a, out=(None,)),
    lambda np, a, x, o: np.add(a, x, subok=False),
    lambda np, a, x, o: np.add(a, x, out=o),
    lambda np, a, x, o: np.add(x, x, out=a),
    lambda np, a, x, o: np.add(0, 0, a, where=False),
    lambda np, a, x, o: np.divmod(a, 2, out=(o, None)),
    lambda np, a, x, o: np.divmod(x, 2, None, a),
    lambda np, a, x, o: a + x,
    lambda np, a, x, o: 1 + a,
    lambda np, a, x, o: x - a,
    lambda np, a, x, o: -a,
    lambda np, a, x, o: divmod(a, 2),
    lambda np, a, x, o: a.__iadd__(x),
    lambda np, a, x, o: np.add.reduce(a),
    lambda np, a, x, o: np.add.reduce(a.reshape(-1, 1), axis=1),
    lambda np, a, x, o: a.sum(),
    lambda np, a, x, o: a.max(),
    lambda np, a, x, o: np.add.outer(a[:2], [1, 2]),
    lambda np, a, x, o: np.add.outer([1, 2], a[:2]),
    lambda np, a, x, o: np.add(a, 1, out=...),
    lambda np, a, x, o: np.add.reduce(a, 0, None, ...),
    lambda np, a, x, o: np.add.reduce(a, out=(...,)),
]


@pytest.mark.parametrize("size", [6, 40_000])
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("call", WRAPPED)
def test_results_are_wrapped_as_numpy_wraps_them(
    call: Callable[..., Any], which: int, size: int
) -> None:
    def outcome(np: Any) -> Any:
        log: list[Any] = []
        kind = _wrapping_classes(np, log)[which]
        a, x, o = (np.arange(float(size)) + 1).view(kind), np.arange(float(size)), np.zeros(size)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                result = call(np, a, x, o)
            except Exception as error:
                return type(error), str(error), log
        known = {id(a): "a", id(x): "x", id(o): "o"}
        results = result if isinstance(result, tuple) else (result,)
        texts = [(str(each.message), each.category) for each in warned]
        return [
            (known.get(id(each), type(each).__name__), numpy.asarray(each).tolist())
            for each in results
        ], log, texts  # fmt: skip

    assert outcome(atoll) == outcome(numpy)


def test_outer_refuses_classes_that_change_the_shape_of_a_view() -> None:
    def outcome(np: Any) -> Any:
        class Turned(np.ndarray):
            def __array_finalize__(self, parent: Any) -> None:
                if self.ndim == 3:
                    self.shape = (*self.shape, 1)

        try:
            np.add.outer(np.ones((2, 3)).view(Turned), [1, 2])
        except TypeError as error:
            return str(error)

    assert outcome(atoll) == outcome(numpy)
    assert outcome(numpy) is not None


def test_the_method_of_ufuncs_leaves_the_call_to_other_operands() -> None:
    class Other:
        def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
            return "other"

    for size in (6, 40_000):
        a = atoll.ones(size)
        assert a.__array_ufunc__(numpy.add, "__call__", a, Other()) is NotImplemented
        assert numpy.add(a, Other()) == "other" == atoll.add(a, Other())
