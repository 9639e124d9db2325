"""Arguments that are no arrays of atoll's: NumPy lets objects answer by their own methods, and keeps the classes of its own."""

from __future__ import annotations

import re
import warnings

import numpy
import pytest

import atoll as np
from atoll.context import warn


class Answers:
    """Has a method for every name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **options: (name, args, sorted(options))

    def __getitem__(self, key):
        return "item", key

    ndim = 1


CALLS = {
    name: (lambda m, a, name=name: getattr(m, name)(a))
    for name in (
        "all", "any", "amax", "amin", "argmax", "argmin", "argsort", "around", "cumprod", "cumsum", "diagonal", "flip", "max",
        "mean", "min", "nonzero", "prod", "ptp", "ravel", "round", "squeeze", "std", "sum", "trace", "transpose", "var",
    )
} | {
    "clip": lambda m, a: m.clip(a, 1, 2),
    "reshape": lambda m, a: m.reshape(a, -1),
    "swapaxes": lambda m, a: m.swapaxes(a, 0, 1),
    "take": lambda m, a: m.take(a, [0]),
    "repeat": lambda m, a: m.repeat(a, 2),
    "sum by name": lambda m, a: m.sum(a=a),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_an_object_answers_by_its_own_method(name):
    given = Answers()
    try:
        theirs = CALLS[name](numpy, given)
    except Exception as error:
        with pytest.raises(type(error)):
            CALLS[name](np, given)
        return
    ours = CALLS[name](np, given)
    assert ours == theirs if type(theirs) is tuple else ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("name", CALLS)
def test_frames_stay_frames(name):
    pandas = pytest.importorskip("pandas")
    for kind in (pandas.Series, pandas.Index):
        given = kind([3.0, 1.0, 2.0])
        try:
            theirs = CALLS[name](numpy, given)
        except Exception as error:
            with pytest.raises(type(error)):
                CALLS[name](np, given)
            continue
        ours = CALLS[name](np, given)
        if type(theirs) is numpy.ndarray:
            assert numpy.array_equal(numpy.asarray(ours), theirs)
        elif not isinstance(theirs, tuple):
            assert type(ours) is type(theirs)
            assert numpy.all(ours == theirs)


class Lengths(numpy.ndarray):
    """A class of NumPy's arrays that a program has made."""


def masked(n):
    return numpy.ma.array(numpy.arange(n * 1.0), mask=numpy.arange(n) % 3 == 0)


WITH_CLASSES = {
    name: (lambda m, a, b, name=name: getattr(m, name)([a, b]))
    for name in ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack")
} | {
    "repeat": lambda m, a, b: m.repeat(b, 2),
    "take": lambda m, a, b: m.take(b, m.arange(4)),
    "append": lambda m, a, b: m.append(a, b),
    "where": lambda m, a, b: m.where(b > 2, b, a),
    "add": lambda m, a, b: a + b,
    "sum by name": lambda m, a, b: m.sum(a=b),
    "sort": lambda m, a, b: m.sort(b),
    "cumsum": lambda m, a, b: m.cumsum(b),
    "diff": lambda m, a, b: m.diff(b),
    "round": lambda m, a, b: m.round(b / 3, 1),
    "clip": lambda m, a, b: m.clip(b, 1, a.max() - 2),
    "mask over an array": lambda m, a, b: m.ma.array(a, mask=a < 2) * a,
    "masked and filled": lambda m, a, b: m.ma.masked_where(a > 5, a).filled(0) + a,
}


@pytest.mark.parametrize("small", [0, 30000])
@pytest.mark.parametrize("kind", [masked, lambda n: numpy.arange(n * 1.0).view(Lengths)])
@pytest.mark.parametrize("name", WITH_CLASSES)
def test_classes_of_numpys_stay_at_any_size(name, kind, small):
    theirs = WITH_CLASSES[name](numpy, numpy.arange(9.0), kind(9))
    with np.config(small=small):
        ours = WITH_CLASSES[name](np, np.arange(9.0), kind(9))
        assert isinstance(ours, numpy.ma.MaskedArray) == isinstance(theirs, numpy.ma.MaskedArray)
        assert (type(ours) is Lengths) == (type(theirs) is Lengths)
        assert ours.tolist() == theirs.tolist()


class Compiled:
    """A function of elements that is no ufunc of NumPy's, and asks arrays as ufuncs do: of Numba, for one."""

    def __call__(self, *values, out=None):
        for value in values:
            if hasattr(type(value), "__array_ufunc__") and not isinstance(value, numpy.ndarray):
                return value.__array_ufunc__(self, "__call__", *values, out=out)
        assert all(
            type(value) in (numpy.ndarray, float) for value in (*values, out)[: 3 - (out is None)]
        )
        return numpy.add(*values, out=out)


@pytest.mark.parametrize("small", [0, 30000])
def test_ufuncs_of_other_libraries(small):
    with np.config(small=small):
        a, out = np.arange(9.0) * 2, np.zeros(9)
        assert (Compiled()(a, 1.0) == numpy.arange(9.0) * 2 + 1).all()
        Compiled()(1.0, a, out=out)
        assert out.tolist() == (a + 1).tolist()
        with pytest.raises(TypeError, match="needs a ufunc"):
            a.__array_ufunc__(Compiled(), "reduce", a)


@pytest.mark.parametrize("small", [0, 30000])
def test_a_negative_stride_is_not_for_dlpack(small):
    with np.config(small=small):
        a = np.arange(12.0).reshape(3, 4)
        with pytest.raises(BufferError, match=r"\(-32, 8\) are negative.*a\.copy"):
            a[::-1].__dlpack__()
        for shown in (a[::-1].copy(), a.T, a[:, ::2]):
            assert numpy.from_dlpack(shown).tolist() == shown.tolist()
        assert a[::-1].to_numpy().tolist() == a[::-1].tolist()
        assert type(a.to_numpy()) is numpy.ndarray


def test_filters_of_warnings_can_be_copied():
    """As scikit-learn copies them for the threads of its models."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warn.come_first()
        copied = list(warnings.filters)
        warnings.resetwarnings()
        for action, text, category, module, line in copied:
            given = {"message": text, "module": module}
            words = {
                key: value if isinstance(value, str) else value.pattern
                for key, value in given.items()
                if value is not None
            }
            assert all(re.compile(word) for word in words.values())
            warnings.filterwarnings(action, category=category, lineno=line, append=True, **words)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            (np.arange(3.0) / 0).tolist()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("default", append=True)
            warnings.warn("from elsewhere", UserWarning, stacklevel=1)
        assert len(seen) == 1
