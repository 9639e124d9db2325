"""Outputs, bases, classes and errors as NumPy has them, with large arrays (recorded) and small ones."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import atoll


@pytest.fixture(autouse=True, params=[0, 30000])
def threshold(request: pytest.FixtureRequest) -> Iterator[None]:
    with atoll.config(small=request.param):
        yield


def _outcome(call: Callable[[Any], Any], np: Any) -> Any:
    try:
        return numpy.asarray(call(np)).tolist()
    except Exception as error:
        return type(error), str(error)


class Odd:
    """An operand whose priority NumPy cannot read."""

    __array_priority__ = None

    def __radd__(self, other: Any) -> int:
        return 5


CALLS: dict[str, Callable[[Any], Any]] = {
    "accumulate out": lambda np: np.add.accumulate(np.arange(5.0), out=np.zeros(5)),
    "accumulate out in a tuple": lambda np: np.add.accumulate(np.arange(5.0), out=(np.zeros(5),)),
    "accumulate out narrower": lambda np: np.add.accumulate(np.arange(5.0), out=np.zeros(5, int)),
    "accumulate out shorter": lambda np: np.add.accumulate(np.arange(5.0), out=np.zeros(4)),
    "accumulate of no axis": lambda np: np.add.accumulate(np.array(3.0)),
    "reduceat out": lambda np: np.add.reduceat(np.arange(8.0), [0, 4, 1], out=np.zeros(3)),
    "reduceat out shorter": lambda np: np.add.reduceat(np.arange(8.0), [0, 4], out=np.zeros(3)),
    "reduceat out of range": lambda np: np.add.reduceat(np.arange(8.0), [0, 8]),
    "outer out narrower": lambda np: np.add.outer(
        np.arange(3.0), np.arange(2.0), out=np.zeros((3, 2), int)
    ),
    "reduce out ...": lambda np: np.add.reduce(np.ones((2, 3)), out=...),
    "conj into an out": lambda np: np.array([1 + 2j]).conj(np.zeros(1, complex)),
    "conj of strings": lambda np: np.array(["a"]).conj(),
    "an array no deeper than": lambda np: np.array([[1, 2]], ndmax=1),
    "resize to None": lambda np: np.zeros(3).resize(None),
    "a priority that is no number": lambda np: np.arange(3) + Odd(),
    "where of shapes that do not fit": lambda np: np.where(np.ones(3, bool), np.ones(2), 1),
    "reshape -1 twice": lambda np: np.ones((2, 3)).reshape(-1, -1),
    "a sequence for an element": lambda np: np.ones((2, 3)).__setitem__((0, 0), [1, 2]),
    "an array for an element": lambda np: np.ones((2, 3)).__setitem__((0, 0), np.ones(2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    assert _outcome(CALLS[name], atoll) == _outcome(CALLS[name], numpy)


def test_base_is_the_array_itself() -> None:
    np = atoll
    a = np.ones((4, 4), complex)
    views = [a[()], a[1:], a[1:][1:], a.T, a.reshape(16), a.ravel(), a.real, a.view(), a[..., None]]
    assert all(view.base is a for view in views)
    assert a.base is None
    del views
    view = a[1:]
    del a
    assert view.base is not None
    view[0] = 7
    assert complex(view.base[1, 0]) == 7


class Answers:
    """An object whose ``__array__`` answers with an array of atoll's."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


def test_array_protocol_may_answer_with_ours() -> None:
    np = atoll
    index = Answers(np.array([0, 2]))
    a = np.arange(5)
    assert a[index].tolist() == [0, 2]
    a[index] = Answers(np.array([7, 8]))
    assert a.tolist() == [7, 1, 8, 3, 4]
    assert (np.ones(2) + index).tolist() == [1, 3]
    assert np.asarray(index).tolist() == [0, 2]
    assert int(np.sum(index)) == 2


def _classes(np: Any) -> list[tuple[str, str]]:
    class Told(np.ndarray):  # type: ignore[misc]
        def __array_finalize__(self, parent: Any) -> None:
            self.info = getattr(parent, "info", "nobody")

    s = np.arange(6).view(Told)
    s.info = "me"
    made = [
        s.max(), s.sum(), s.mean(), s.argmax(), np.add.reduce(s), np.add.reduce(s.reshape(2, 3)),
        np.add.accumulate(s), np.multiply.outer(s, s), s.cumsum(), s.reshape(2, 3).any(axis=0),
        s.reshape(2, 3).argmin(axis=0), np.add.reduceat(s, [0, 2]),
    ]  # fmt: skip
    return [
        (type(one).__name__, one.info) if isinstance(one, Told) else ("a number", "")
        for one in made
    ]


def test_folds_keep_the_class() -> None:
    assert _classes(atoll) == _classes(numpy)


def test_casts_raise_at_the_call() -> None:
    for np in (numpy, atoll):
        a = np.array([1e308, 1.0])
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="in cast"):
            a.astype(np.float32)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="in reduce"):
            np.array([1e308, 1e308]).sum()


def test_out_of_memory_leaves_all_usable() -> None:
    np = atoll
    a = np.ones(1000) * 2
    for shape in ((1 << 45,), (1 << 30, 1 << 29)):
        with pytest.raises(MemoryError, match=r"out of memory.*float64|Unable to allocate"):
            np.empty(shape)
    with pytest.raises(ValueError, match=r"too big|Maximum allowed"):
        np.empty((1 << 40, 1 << 40))
    assert float(a.sum()) == 2000


def test_a_pickle_forgets_what_it_was_a_view_of() -> None:
    a = atoll.arange(6.0).reshape(2, 3)
    back = pickle.loads(pickle.dumps(a[:, 1:]))
    back[0] = 9
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert back.tolist() == [[9, 9], [4, 5]]
