"""The names: all of NumPy's are there, and the table says who computes what."""

from __future__ import annotations

import importlib
import inspect
import pickle
import subprocess
import sys
import warnings

import numpy
import pytest

import atoll
from atoll.array import OWN
from atoll.config import config
from atoll.functions.public import collective, numpy_function


def test_every_public_name_is_there():
    missing = [name for name in dir(numpy) if not name.startswith("_") and not hasattr(atoll, name)]
    assert missing == []


def test_coverage_knows_every_name():
    table = atoll.coverage()
    assert set(table.values()) <= {"native", "data", "numpy", "same"}
    assert table["sum"] == table["add"] == table["zeros"] == table["reshape"] == "native"
    assert table["nonzero"] == "native"
    assert table["sort"] == table["median"] == "data"
    assert table["float64"] == "same"
    assert [name for name, kind in table.items() if kind == "numpy"] == []


LATE = """
import numpy, atoll
from atoll.lazy.registry import registry
assert registry.find(numpy.linalg.solve) is atoll.linalg.solve
assert registry.find(numpy.fft.rfft) is atoll.fft.rfft
assert registry.find(numpy.sort) is atoll.sort
assert type(numpy.fft.fft(atoll.ones(8))) is type(numpy.linalg.inv(atoll.eye(2))) is atoll.ndarray
"""


def test_numpys_functions_are_found_before_our_modules_are_used():
    subprocess.run([sys.executable, "-c", LATE], timeout=50, check=True)


def test_a_function_of_numpys_has_one_implementation():
    with pytest.raises(ValueError, match=r"sort.* has an implementation already"):
        collective(numpy.sort)(lambda a: a)
    assert atoll.functions.names["sort"] is atoll.sort


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


WALK = """
import pkgutil, sys, warnings
import numpy, atoll
from types import ModuleType
warnings.simplefilter("ignore")
LEFT_OUT = {"core", "distutils", "f2py", "tests", "conftest"}  # deprecated names, or compilers
def walk(package):
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        words = found.name.split(".")[1:]
        if any(word.startswith("_") or word in LEFT_OUT for word in words):
            continue
        try:
            exec(f"import {found.name}")
        except ImportError:
            continue
        yield ".".join(words)
        if found.ispkg:
            yield from walk(sys.modules[found.name])
aliases = [name for name in dir(numpy) if isinstance(getattr(numpy, name), ModuleType)]
names = sorted({*walk(numpy), *(n for n in aliases if n not in LEFT_OUT and n[0] != "_")})
assert {"lib.stride_tricks", "polynomial.chebyshev", "ma.extras", "typing", "emath"} <= set(names)
for name in names:
    original = numpy
    for word in name.split("."):
        original = getattr(original, word)
    exec(f"import atoll.{name} as module")
    package, _, last = f"atoll.{name}".rpartition(".")
    exec(f"from {package} import {last} as attribute")
    assert module is attribute is sys.modules[f"atoll.{name}"], name
    assert original.__spec__.name == original.__name__, f"{name} was changed"
    if module is not original:
        missing = [n for n in dir(original) if n[0] != "_" and not hasattr(module, n)]
        assert not missing and module.__name__ == f"atoll.{name}", (name, missing)
        exec(f"from atoll.{name} import *")
assert [n for n in sys.modules if n.startswith("atoll.ma.")] and atoll.ma is numpy.ma
assert not [n for n in sys.modules if getattr(sys.modules[n], "__file__", None)
            and sys.modules[n].__file__.startswith(numpy.__path__[0])
            and sys.modules[n].__name__.startswith("atoll.")]
"""


@pytest.mark.slow
def test_every_public_submodule_is_imported_by_a_statement():
    subprocess.run([sys.executable, "-c", WALK], check=True, timeout=60)


@pytest.mark.parametrize("name", ["nothing", "ma.nothing", "lib.nothing", "ops.nothing"])
def test_modules_that_are_nowhere_are_errors(name):
    with pytest.raises(ModuleNotFoundError, match=f"No module named 'atoll.{name}'"):
        importlib.import_module(f"atoll.{name}")


def test_submodules_cost_nothing_until_somebody_asks():
    late = "('atoll.ma', 'numpy.ma', 'html', 'json')"
    program = f"""
import sys, numpy
before = set(sys.modules)
import atoll
print([n for n in sys.modules if n.startswith({late}) and n not in before])"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stdout.decode().strip() == "[]"


def test_views_by_strides_are_views_of_ours():
    from atoll.lib.stride_tricks import as_strided

    with config(small=0):
        a = atoll.arange(1000.0) * 2
        as_strided(a, (10, 10), (8, 8))[0] = 7
        assert a[:12].tolist() == [7.0] * 10 + [20.0, 22.0]


def test_removed_names_say_what_to_use_instead():
    with pytest.raises(
        AttributeError, match=r"`np.float_` was removed .* Use `np.float64` instead"
    ):
        _ = atoll.float_


@pytest.mark.parametrize("name", ["linalg", "random", "fft", "char", "lib.stride_tricks", "emath"])
def test_what_a_namespace_lacks_is_an_error_that_names_it(name):
    module = importlib.import_module(f"atoll.{name}")
    with pytest.raises(AttributeError, match=f"module 'atoll.{name}' has no attribute 'nonsense'"):
        _ = module.nonsense


def test_listings_have_public_names_only():
    def public(thing):
        return {name for name in dir(thing) if not name.startswith("__")}

    own = {*atoll.OWN}
    assert public(atoll) == {name for name in dir(numpy) if name[0] != "_"} | own
    assert {"ma", "polynomial", "linalg"} < public(atoll)
    assert all(hasattr(atoll, name) for name in own)
    for name in ("linalg", "random", "lib", "typing"):
        assert public(getattr(atoll, name)) == {n for n in dir(getattr(numpy, name)) if n[0] != "_"}


@pytest.mark.parametrize("small", [0, 100])
def test_arrays_list_public_names_only(small):
    class Own(atoll.ndarray):
        _mine = 1

    def public(array):
        return {name for name in dir(array) if not name.startswith("__")}

    with config(small=small):
        a, b = atoll.ones((3, 3)), atoll.ones((3, 3)).view(Own)
    b.more = 2
    ours = {name for name in OWN if not name.startswith("__")}
    numpys = {name for name in public(numpy.ones((3, 3))) if name[0] != "_"}
    assert public(a) == numpys | ours
    assert public(b) == public(a) | {"_mine", "more"}
    assert all(hasattr(a, name) for name in dir(a))


def test_an_array_in_an_annotation_is_ours():
    from atoll.typing import ArrayLike, NDArray

    assert ArrayLike is numpy.typing.ArrayLike
    assert NDArray[atoll.float64].__origin__ is atoll.ndarray
    assert NDArray[atoll.float64].__args__[1] == numpy.dtype[numpy.float64]


def test_signatures_are_numpys():
    for name in ("sum", "reshape", "astype", "take", "__array__", "view"):
        ours = inspect.signature(getattr(atoll.ndarray, name))
        try:
            assert ours == inspect.signature(getattr(numpy.ndarray, name))
        except ValueError:  # NumPy's methods have none before 2.4
            assert "self" in ours.parameters
    for name in ("dot", "where", "copyto"):
        for text in ("__signature__", "__text_signature__"):
            theirs = getattr(getattr(numpy, name), text, None)
            assert getattr(getattr(atoll, name), text, None) == theirs


ROOMS = ["", "linalg", "fft", "random", "lib.stride_tricks", "strings"]


def parameters(function):
    """The names that a function takes, without those that only take the rest."""
    rest = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    told = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in told if parameter.kind not in rest]


@pytest.mark.parametrize("room", ROOMS)
def test_parameters_are_numpys(room):
    """Programs ask for them, to pass on what a function takes."""
    for name in dir(importlib.import_module(f"numpy.{room}".rstrip("."))):
        theirs = getattr(importlib.import_module(f"numpy.{room}".rstrip(".")), name)
        if name.startswith("_") or isinstance(theirs, type) or not callable(theirs):
            continue
        try:
            wanted = parameters(theirs)
        except ValueError:
            continue
        ours = parameters(getattr(importlib.import_module(f"atoll.{room}".rstrip(".")), name))
        assert [own for own in ours if own != "layout"] == wanted, name


def test_the_module_of_old_random_functions_has_ours():
    module = importlib.import_module("atoll.random.mtrand")
    assert atoll.random.mtrand is module
    assert module.RandomState is atoll.random.RandomState
    rows = atoll.arange(12.0).reshape(6, 2)
    theirs = numpy.arange(12.0).reshape(6, 2)
    module.RandomState(1).shuffle(rows)
    numpy.random.RandomState(1).shuffle(theirs)
    assert (numpy.asarray(rows) == theirs).all()


@pytest.mark.parametrize("room", ROOMS)
def test_functions_can_be_pickled(room):
    """By their names, as NumPy's: a pool of processes is given them."""
    module = importlib.import_module(f"atoll.{room}".rstrip("."))
    for name in dir(module):
        value = getattr(module, name)
        if getattr(value, "__wrapped__", None) and not name.startswith("_"):
            assert pickle.loads(pickle.dumps(value)) is value, name


def test_classes_have_a_say_in_what_is_made_like_them():
    class Own(atoll.ndarray):
        def __array_function__(self, func, types, args, kwargs):
            return super().__array_function__(func, types, args, kwargs).view(Own)

    like = atoll.array(1).view(Own)
    for make in (atoll.array, atoll.ones, atoll.arange, atoll.asfortranarray, atoll.identity):
        assert type(make(3, like=like)) is Own
        assert type(make(3, like=atoll.array(1))) is atoll.ndarray
        with pytest.raises(TypeError, match="`like` argument must be"):
            make(3, like=1)
    assert type(atoll.frombuffer(b"8 bytes.", like=like)) is Own


FIRST_USES = """
import sys
import threading
import numpy
import atoll as np

sys.setswitchinterval(1e-6)
start = threading.Barrier(8)
failed = []
seen = set()

def use():
    try:
        start.wait(60)
        a = np.arange(9.0).reshape(3, 3) + np.eye(3)
        seen.add(float(np.linalg.norm(a)))
        seen.add(float(np.fft.fft(a)[0, 0].real))
        seen.add(float(np.linalg.eigvals(a).real.sum()))
        seen.add(float(np.random.default_rng(0).random()))
        seen.add(float(np.polynomial.polynomial.polyval(2.0, [1, 2])))
        np.char.upper(numpy.array(["a"])), np.ma.masked_array([1]), np.emath.sqrt(-1), np.testing.assert_equal(1, 1)
    except BaseException as error:
        failed.append(repr(error))

threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(60)
assert not failed, failed
assert len(seen) <= 6, seen
"""


@pytest.mark.slow
def test_threads_may_be_the_first_to_use_a_module_together() -> None:
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", FIRST_USES], capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
