"""Code of the program that NumPy calls: as often as NumPy would, with the same errors.

A call of NumPy's must not be repeated in another way once it may have called code of the program.
"""

import numpy
import pytest

import atoll as np


class Calls:
    """A function of the program that counts its calls, and raises an error at one of them."""

    def __init__(self, raises_at, error):
        self.count, self.raises_at, self.error = 0, raises_at, error

    def called(self):
        self.count += 1
        if self.count == self.raises_at:
            raise self.error(f"in call {self.count}")

    def one(self, value):
        self.called()
        return value * 2

    def two(self, a, b):
        self.called()
        return a + b

    def row(self, values, *more):
        self.called()
        return values.sum() if not more else values.sum(more[0], keepdims=True)

    def grid(self, *axes):
        self.called()
        return axes[0] * 2.0

    def numbers(self, n):
        for k in range(n):
            self.called()
            yield float(k)


class Number:
    """A number of the program, whose operators count."""

    def __init__(self, value, calls):
        self.value, self.calls = value, calls

    def __add__(self, other):
        self.calls.called()
        return Number(self.value + getattr(other, "value", other), self.calls)

    __radd__ = __add__

    def __lt__(self, other):
        self.calls.called()
        return self.value < getattr(other, "value", other)

    def __gt__(self, other):
        self.calls.called()
        return self.value > getattr(other, "value", other)

    def __eq__(self, other):
        self.calls.called()
        return self.value == getattr(other, "value", other)

    def __hash__(self):
        return hash(self.value)

    def __float__(self):
        self.calls.called()
        return float(self.value)

    def sqrt(self):
        self.calls.called()
        return self


def numbers(lib, calls, values):
    objects = numpy.array([Number(float(value), calls) for value in values], object)
    return lib.asarray(objects)


CASES = {
    "frompyfunc": lambda lib, x, c: lib.frompyfunc(c.one, 1, 1)(x),
    "frompyfunc of two": lambda lib, x, c: lib.frompyfunc(c.two, 2, 1)(x, x),
    "frompyfunc with a number": lambda lib, x, c: lib.frompyfunc(c.two, 2, 1)(x, 2.0),
    "reduce": lambda lib, x, c: lib.frompyfunc(c.two, 2, 1).reduce(x),
    "accumulate": lambda lib, x, c: lib.frompyfunc(c.two, 2, 1).accumulate(x),
    "reduceat": lambda lib, x, c: lib.frompyfunc(c.two, 2, 1).reduceat(x, [0, 3]),
    "outer": lambda lib, x, c: lib.frompyfunc(c.two, 2, 1).outer(x[:8], x[:8]),
    "at": lambda lib, x, c: lib.frompyfunc(c.one, 1, 1).at(x.astype(object), [0, 1, 2, 3]),
    "vectorize": lambda lib, x, c: lib.vectorize(c.one)(x),
    "vectorize to floats": lambda lib, x, c: lib.vectorize(c.one, otypes=[float])(x),
    "vectorize with a cache": lambda lib, x, c: lib.vectorize(c.one, cache=True)(x),
    "vectorize by a signature": lambda lib, x, c: lib.vectorize(c.row, signature="(n)->()")(
        x.reshape(-1, 2)
    ),
    "apply_along_axis": lambda lib, x, c: lib.apply_along_axis(c.row, 1, x.reshape(-1, 2)),
    "apply_over_axes": lambda lib, x, c: lib.apply_over_axes(c.row, x.reshape(-1, 2, 2), [0, 1, 2]),
    "piecewise": lambda lib, x, c: lib.piecewise(x, [x < 3, x >= 3], [c.one, c.one]),
    "fromfunction": lambda lib, x, c: lib.fromfunction(c.grid, x.shape),
    "fromiter": lambda lib, x, c: lib.fromiter(c.numbers(x.size), float),
    "sort": lambda lib, x, c: lib.sort(numbers(lib, c, x[:8].tolist())),
    "argsort": lambda lib, x, c: lib.argsort(numbers(lib, c, x[:8].tolist())),
    "sort in place": lambda lib, x, c: numbers(lib, c, x[:8].tolist()).sort(),
    "unique": lambda lib, x, c: lib.unique(numbers(lib, c, x[:8].tolist())),
    "searchsorted": lambda lib, x, c: lib.searchsorted(numbers(lib, c, x[:8].tolist()), x[:8]),
    "add": lambda lib, x, c: lib.add(x[:8], numbers(lib, c, x[:8].tolist())),
    "operator": lambda lib, x, c: x[:8] + numbers(lib, c, x[:8].tolist()),
    "reflected": lambda lib, x, c: numbers(lib, c, x[:8].tolist()) + x[:8],
    "with one": lambda lib, x, c: x[:8] + Number(1.0, c),
    "one with": lambda lib, x, c: Number(1.0, c) + x[:8],
    "equal": lambda lib, x, c: x[:8] == numbers(lib, c, x[:8].tolist()),
    "sum": lambda lib, x, c: lib.sum(numbers(lib, c, x[:8].tolist())),
    "cumsum": lambda lib, x, c: lib.cumsum(numbers(lib, c, x[:8].tolist())),
    "max": lambda lib, x, c: lib.max(numbers(lib, c, x[:8].tolist())),
    "sqrt": lambda lib, x, c: lib.sqrt(numbers(lib, c, x[:8].tolist())),
    "where": lambda lib, x, c: lib.where(x[:8] > 2, x[:8], numbers(lib, c, x[:8].tolist())),
    "concatenate": lambda lib, x, c: lib.concatenate(
        [x[:8], numbers(lib, c, x[:8].tolist())]
    ).astype(float),
    "astype": lambda lib, x, c: numbers(lib, c, x[:8].tolist()).astype(float),
    "assignment": lambda lib, x, c: x.__setitem__(slice(0, 8), numbers(lib, c, range(8))),
    "assignment of a list": lambda lib, x, c: x.__setitem__(
        slice(0, 3), [Number(k, c) for k in range(3)]
    ),
    "assignment of one": lambda lib, x, c: x.__setitem__(2, Number(3.0, c)),
    "copyto": lambda lib, x, c: lib.copyto(x[:8], numbers(lib, c, range(8)), casting="unsafe"),
    "put": lambda lib, x, c: lib.put(x, [0, 1, 2], numbers(lib, c, range(3)).astype(float)),
    "fill": lambda lib, x, c: x.fill(Number(3.0, c)),
    "full_like": lambda lib, x, c: lib.full_like(x, Number(3.0, c)),
    "array": lambda lib, x, c: lib.array([Number(k, c) for k in range(8)], float),
    "array_function": lambda lib, x, c: lib.concatenate([x[:8], Foreign(c)]),
    "array_ufunc": lambda lib, x, c: lib.add(x[:8], Ufunc(c)),
    "array_ufunc of an operator": lambda lib, x, c: x[:8] + Ufunc(c),
    "formatter": lambda lib, x, c: lib.array2string(
        x[:8], formatter={"float_kind": lambda v: str(c.one(v))}
    ),
}


class Foreign:
    """An object with a say in functions of NumPy's."""

    def __init__(self, calls):
        self.calls = calls

    def __array_function__(self, function, types, args, options):
        self.calls.called()
        self.calls.called()
        self.calls.called()
        return function.__name__


class Ufunc(Foreign):
    """An object with a say in ufuncs."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return self.__array_function__(ufunc, (), inputs, options)


def outcome(lib, case, make, raises_at, error):
    """How often the code was called, and what came of it."""
    calls = Calls(raises_at, error)
    try:
        result = CASES[case](lib, make(lib), calls)
    except Exception as raised:
        return calls.count, type(raised), str(raised)
    return calls.count, None, numpy.shape(result)


def computed(lib):
    array = lib.sqrt(lib.arange(100_000.0) ** 2)
    array[5] = 5  # its values are there
    float(array[7])
    return array


ARRAYS = {
    "small": lambda lib: lib.arange(8.0),
    "short view": lambda lib: computed(lib)[:8],
    "strided view": lambda lib: computed(lib)[::12_500],
    "view of a pending array": lambda lib: lib.sqrt(lib.arange(100_000.0) ** 2)[:8],
    "large": lambda lib: lib.arange(32_000.0) + 0,
}


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")
def test_code_of_the_program_is_called_as_often_as_by_numpy(case, array):
    make = ARRAYS[array]
    for raises_at in (0, 3):
        for error in (ValueError, TypeError, MemoryError, OverflowError, AttributeError)[
            : 5 if raises_at else 1
        ]:
            wanted = outcome(numpy, case, make, raises_at, error)
            assert outcome(np, case, make, raises_at, error) == wanted, (raises_at, error)
