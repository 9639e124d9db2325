"""How arrays meet NumPy, copies, pickles and other libraries."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import warnings

import numpy
import pytest

import atoll
from atoll.config import config

SMALL = (0, 30_000)


@pytest.fixture(params=SMALL, autouse=True)
def small(request):
    with config(small=request.param):
        yield request.param


def test_numpy_functions_come_to_ours():
    a = atoll.arange(12.0).reshape(3, 4)
    for result in (
        numpy.sum(a, axis=0),
        numpy.concatenate([a, a]),
        numpy.sin(a),
        numpy.where(a > 3, a, 0),
    ):
        assert type(result) is atoll.ndarray
    assert numpy.add.reduce(a).tolist() == numpy.arange(12.0).reshape(3, 4).sum(0).tolist()
    assert numpy.linalg.norm(a) == pytest.approx(22.494443758403985)


def test_a_function_without_an_implementation_still_answers():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = numpy.gradient(atoll.arange(5.0) ** 2)
    assert type(result) is atoll.ndarray
    assert result.tolist() == [1, 2, 4, 6, 7]


def test_asarray_of_a_numpy_array_shares_its_memory():
    x = numpy.arange(40000.0)
    a = atoll.asarray(x)
    x[3] = 99
    assert a[3] == 99
    assert (a + 1)[3] == 100
    a[4] = 7
    assert x[4] == 7
    b = a * 2
    x[3] = 0
    assert b[3] == 198
    assert atoll.array(x)[3] == 0
    assert not atoll.shares_memory(atoll.array(x), a)


def test_numpy_sees_the_memory_itself():
    a = atoll.arange(40000.0)
    x = numpy.asarray(a)
    a += 1
    assert x[0] == 1
    a.local[1] = 50
    assert a[1] == x[1] == 50


def test_mixed_operands():
    a, x = atoll.arange(5.0), numpy.arange(5.0)
    for result in (a + x, x + a, x * a, numpy.float64(2) * a, a - numpy.float32(1)):
        assert type(result) is atoll.ndarray
    x += a
    assert type(x) is numpy.ndarray
    assert x.tolist() == [0, 2, 4, 6, 8]
    numpy.add(x, a, out=x)
    assert x.tolist() == [0, 3, 6, 9, 12]


def test_other_types_may_take_over():
    class Greedy:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "mine"

    class Polite:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return ufunc.__name__, type(inputs[0]).__name__

    a = atoll.arange(3.0)
    assert a + Greedy() == "mine"
    assert (a + Polite())[0] == "add"
    assert atoll.multiply(a, Polite())[0] == "multiply"


def test_pickles_and_copies():
    a = atoll.arange(12.0).reshape(3, 4).T
    for b in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        assert type(b) is atoll.ndarray
        assert b.tolist() == a.tolist()
        b[0] = 5
        assert a[0, 0] == 0
    s = pickle.loads(pickle.dumps(a.sum()))
    assert type(s) is numpy.float64
    assert s == 66
    assert pickle.loads(pickle.dumps(atoll.add)) is atoll.add


def test_dlpack_shows_the_memory():
    a = atoll.arange(6.0)
    x = numpy.from_dlpack(a)
    a[0] = 42
    assert x[0] == 42
    assert atoll.from_dlpack(x).tolist() == a.tolist()


def test_the_constructor():
    memory = bytearray(48)
    a = atoll.ndarray((2, 3), "f8", memory)
    a[:] = 1
    assert numpy.frombuffer(memory).tolist() == [1] * 6
    assert atoll.ndarray((2, 2)).shape == (2, 2)
    assert atoll.ndarray((2,), "i4", b"\1\0\0\0\2\0\0\0").tolist() == [1, 2]


def test_scalars_are_numpy_scalars_to_everyone():
    s = atoll.arange(4.0).sum()
    assert isinstance(s, float)
    assert isinstance(s, numpy.float64)
    assert not isinstance(s, atoll.ndarray)
    assert math.sqrt(s + 3) == 3
    assert {s: 1}[6.0] == 1
    assert f"{s:.2f} {s}" == "6.00 6.0"
    assert repr(s) == "np.float64(6.0)"
    t = s
    t += 1
    assert (s, t) == (6, 7)
    assert [0, 1, 2][atoll.argmax(atoll.array([1, 3, 2]))] == 1


def test_structured_arrays_and_their_fields():
    a = atoll.zeros(4, [("x", "f8"), ("y", "i4")])
    a["x"] = atoll.arange(4.0)
    x = a["x"]
    x *= 2
    assert a["x"].tolist() == [0, 2, 4, 6]
    assert a[1]["x"] == 2


def test_masked_arrays_stay_masked():
    m = numpy.ma.array([1.0, 2, 3], mask=[0, 1, 0])
    assert atoll.sum(m) == 4
    assert isinstance(atoll.sqrt(m), numpy.ma.MaskedArray)
    assert isinstance(atoll.expand_dims(m, 0), numpy.ma.MaskedArray)


def test_objects_strings_and_dates_are_numpys():
    a = atoll.array(["b", "a"])
    assert atoll.sort(a).tolist() == ["a", "b"]
    o = atoll.array([1, None], dtype=object)
    o[1] = 3
    assert (o + 1).tolist() == [2, 4]
    d = atoll.arange("2000-01", "2000-04", dtype="M8[M]")
    assert str(d[1]) == "2000-02"
    assert (d == d).all()
    assert ((a == "a").tolist(), (a != 3).tolist()) == ([False, True], [True, True])


def test_a_generator_of_random_numbers_gives_our_arrays():
    a = atoll.random.default_rng(3).normal(size=(2, 3))
    assert type(a) is atoll.ndarray
    assert a.tolist() == numpy.random.default_rng(3).normal(size=(2, 3)).tolist()
    atoll.random.seed(1)
    numpy.random.seed(1)
    assert type(atoll.random.rand(2)) is atoll.ndarray
    numpy.random.seed(1)
    b = atoll.arange(10)
    atoll.random.default_rng(0).shuffle(b)
    assert sorted(b.tolist()) == list(range(10))
    assert b.tolist() != list(range(10))


def test_modules_can_be_imported_by_name():
    program = (
        "from atoll.linalg import norm, solve\n"
        "from atoll.random import default_rng\n"
        "import atoll.fft as fft\n"
        "import atoll as np\n"
        "from atoll.testing import assert_allclose\n"
        "assert_allclose(fft.ifft(fft.fft(np.arange(4.0))).real, np.arange(4.0), atol=1e-12)\n"
        "print(norm(solve(np.eye(2), np.array([3.0, 4.0]))), type(default_rng(0).random(2)).__module__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["5.0", "atoll.array"]


class Sparse:
    """An object that wants operators for itself, but knows arrays of NumPy's only, as SciPy's matrices do."""

    __array_priority__ = 10.1

    def __radd__(self, other):
        return ("sum", other.sum()) if type(other) is numpy.ndarray else NotImplemented

    def __rmatmul__(self, other):
        return ("product", other.sum()) if type(other) is numpy.ndarray else NotImplemented


@pytest.mark.parametrize("n", [4, 40_000])
def test_who_wants_operators_but_knows_numpy_only_is_given_its_arrays(n):
    a = atoll.ones(n)
    assert a + Sparse() == ("sum", n)
    assert a @ Sparse() == ("product", n)
    with pytest.raises(TypeError, match="unsupported operand"):
        a - Sparse()


def test_functions_of_numpys_modules_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = numpy.fft.fftshift(atoll.arange(40_000))
    assert int(found[0]) == 20_000


class _Converting:
    kind = numpy.float64


def _by_local(kind, a):
    return kind(a)


def _by_expression(kind, rows):
    return kind(rows["a"][0:][::1])


SCALAR_CALLS = {
    "a name": _by_local,
    "an attribute of a module": lambda kind, a: numpy.float64(a),
    "an attribute of an object": lambda kind, a: _Converting.kind(a),
    "a name of an outer function": lambda kind, a: (lambda b: kind(b))(a),
    "an expression": lambda kind, a: _by_expression(kind, {"a": a}),
}


@pytest.mark.parametrize("n", [5, 60_000])
@pytest.mark.parametrize("call", SCALAR_CALLS.values(), ids=SCALAR_CALLS)
def test_classes_of_scalars_give_arrays_to_write_to(call, n):
    """``numpy.float64(a)`` is ``a`` itself in NumPy."""
    for _ in range(2):
        a = atoll.arange(float(n)) + 1
        given = call(numpy.float64, a)
        given += 1
        given[0] = 7
        assert float(a[0]) == 7
        assert float(a[-1]) == n + 1
        for library in (numpy.asarray(a), numpy.asarray(a, float), numpy.asarray(a, dtype=float)):
            assert not library.flags.writeable
    a.flags.writeable = False
    assert not call(numpy.float64, a).flags.writeable


@pytest.mark.parametrize("n", [3, 20_000])
def test_iterators_write_into_arrays(n):
    a = atoll.arange(2.0 * n).reshape(2, n)
    pending = a + 1
    with atoll.nditer(a, op_flags=["readwrite"]) as turns:
        for x in turns:
            x[...] = 2 * x
        assert isinstance(turns, atoll.nditer)
    assert float(a[1, -1]) == 2 * (2 * n - 1)
    assert float(pending[1, -1]) == 2 * n
    with atoll.nditer(
        [a, None], ["external_loop"], [["readonly"], ["writeonly", "allocate"]]
    ) as turns:
        for x, y in turns:
            y[...] = x - 1
        assert turns.operands[1][1, -1] == 2 * (2 * n - 1) - 1
        assert not turns.operands[0].flags.writeable


def test_arrays_of_numpys_are_arrays():
    """What libraries give a program is what it asks for with ``isinstance``."""

    class Own(atoll.ndarray):
        pass

    assert isinstance(numpy.arange(3), atoll.ndarray)
    assert issubclass(numpy.matrix, atoll.ndarray)
    assert not isinstance(numpy.float64(1), atoll.ndarray)
    assert not isinstance(numpy.arange(3), Own)
    assert (
        type(atoll.asanyarray(numpy.arange(3)))
        is type(atoll.asarray(numpy.arange(3)))
        is atoll.ndarray
    )
    assert type(atoll.array(numpy.arange(3), subok=True)) is atoll.ndarray
    assert type(atoll.sum(numpy.ones((2, 2)), axis=0)) is atoll.ndarray
