"""The names: all of NumPy's are there, and the table says who computes what."""

from __future__ import annotations

import inspect
import warnings

import numpy
import pytest

import atoll
from atoll.config import config
from atoll.functions.public import numpy_function


def test_every_public_name_is_there():
    missing = [name for name in dir(numpy) if not name.startswith("_") and not hasattr(atoll, name)]
    assert missing == []


def test_coverage_knows_every_name():
    table = atoll.coverage()
    assert set(table.values()) <= {"native", "data", "numpy", "same"}
    assert table["sum"] == table["add"] == table["zeros"] == table["reshape"] == "native"
    assert table["sort"] == "native"
    assert table["median"] == "data"
    assert table["float64"] == "same"
    assert [name for name, kind in table.items() if kind == "numpy"] == []


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="module 'atoll' has no attribute 'nonsense'"):
        _ = atoll.nonsense


def test_functions_look_like_numpys():
    assert atoll.sum.__doc__ == numpy.sum.__doc__
    assert inspect.signature(atoll.mean) == inspect.signature(numpy.mean)
    assert atoll.add.__name__ == "add"
    assert atoll.add.nin == 2
    assert atoll.add.identity == 0
    assert isinstance(atoll.add, atoll.ufunc)
    assert repr(atoll.sin) == "<ufunc 'sin'>"


def test_one_warning_for_each_place():
    missing = numpy_function(numpy.median, "median", warns=True)

    def twice():
        for _ in range(2):
            missing(a)

    with config(small=0), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        a = atoll.arange(10.0)
        twice()
        atoll.sort(a)
    ours = [w for w in caught if w.category is atoll.errors.FallbackWarning]
    assert [w.filename for w in ours] == [__file__]
    assert "numpy.median" in str(ours[0].message)


def test_small_arrays_fall_back_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert atoll.gradient(atoll.arange(4.0)).tolist() == [1, 1, 1, 1]


def test_zeros_touch_no_memory():
    with config(small=1000):
        a = atoll.zeros((1 << 20, 1 << 14))
        assert float((a[4:8, 2:5] + 1).sum()) == 12
