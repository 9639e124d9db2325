"""What values decide, all ranks do: a warning or an error of one rank's element is given by all, once, as NumPy gives it."""

import warnings
from contextlib import ExitStack

import numpy
import pytest

import atoll
from atoll.comm.simulated import run


def ends(x, value, other=2.0):
    """Arrays with a value in place of the first or the last element; ``x`` is which."""
    array = numpy.full(24, other)
    array[x] = value
    return array


def refusing(x, y=0.0):
    if x != x or y != y:
        raise KeyError("no number")
    return x + y


def stored(dtype, value, key, write):
    def operation(np, x):
        z, a = np.zeros(24, dtype), np.array(ends(x, value))
        write(np, z, a, key)
        return z

    return operation


def assign(np, z, a, key):
    z[key] = a[key]


def add(np, z, a, key):
    z[key] += a[key]


def copy(np, z, a, key):
    np.copyto(z[key], a[key], casting="unsafe")


def chosen(np, x, value):
    generator = np.random.default_rng(1)
    return generator.choice(24, 5, p=np.array(ends(x, value, 1 / 24)))


def rows(x, value):
    return ends(x, value).reshape(4, 6)


def lost(x):
    """A row of NaN, the first or the last one."""
    array = numpy.full((4, 6), 2.0)
    array[x] = numpy.nan
    return array


ALL, PART = slice(None), slice(1 - 24, None)
OPERATIONS = {
    "sqrt": lambda np, x: np.sqrt(np.array(ends(x, -1.0))),
    "sum of roots": lambda np, x: np.sqrt(np.array(ends(x, -1.0))).sum(),
    "element": lambda np, x: (1 / np.array(ends(x, 0.0)))[x],
    "divide": lambda np, x: 1 / np.array(ends(x, 0.0)),
    "two lines": lambda np, x: np.log(np.array(ends(x, 0.0))) + np.sqrt(np.array(ends(x, -1.0))),
    "max of exp": lambda np, x: np.exp(np.array(ends(x, 1e4))).max(),
    "dot": lambda np, x: np.dot(np.array(ends(x, 1e200)), np.array(ends(x, 1e200))),
    "norm": lambda np, x: np.linalg.norm(np.array(ends(x, 1e200))),
    "maximum": lambda np, x: np.maximum(np.array(ends(x, numpy.nan)), 0).sum(),
    "mean": lambda np, x: np.mean(np.array(ends(x, 1e308, 1e308))),
    "mean of rows": lambda np, x: np.mean(np.array(rows(x, 1e308)) * 1e10, axis=1),
    "mean of nothing": lambda np, x: np.array(ends(x, 1.0))[:0].mean(),
    "floor_divide": lambda np, x: np.array(ends(x, 5).astype(int)) // np.array(ends(x, 0).astype(int)),
    "integer power": lambda np, x: np.array(ends(x, 5).astype(int)) ** np.array(ends(x, -1).astype(int)),
    "to integers": lambda np, x: np.array(ends(x, numpy.nan)).astype(int),
    "to float32": lambda np, x: np.array(ends(x, 1e200)).astype("f4"),
    "matmul": lambda np, x: np.array(rows(x, 1e200)) @ np.array(rows(x, 1e200)).T,
    "scan": lambda np, x: np.cumsum(np.array(ends(x, 2.0**1023, 2.0**1019))),
    "nanmedian": lambda np, x: np.nanmedian(np.array(lost(x)), axis=1),
    "nanmean": lambda np, x: np.nanmean(np.array(lost(x)), axis=1),
    "user's fold": lambda np, x: np.frompyfunc(refusing, 2, 1).reduce(np.array(ends(x, numpy.nan))),
    "user's scan": lambda np, x: np.frompyfunc(refusing, 2, 1).accumulate(np.array(ends(x, numpy.nan))).astype(float),
    "user's elements": lambda np, x: np.frompyfunc(refusing, 1, 1)(np.array(ends(x, numpy.nan))).astype(float),
    "vectorize": lambda np, x: np.vectorize(refusing)(np.array(ends(x, numpy.nan))),
    "user's rows": lambda np, x: np.apply_along_axis(lambda row: refusing(row.sum()), 1, np.array(rows(x, numpy.nan))),
    "digitize": lambda np, x: np.digitize(np.array(ends(x, 3.0)), np.array(ends(-1, numpy.nan))),
    "digitize by nan": lambda np, x: np.digitize(np.array(ends(x, 3.0)), np.array(ends(0, numpy.nan))),
    "choice by nan": lambda np, x: chosen(np, x, numpy.nan),
    "choice by less than nothing": lambda np, x: chosen(np, x, -1.0),
    "choice by too much": lambda np, x: chosen(np, x, 1.0),
    **{
        f"{write.__name__} {'all' if key == ALL else 'part'} {dtype}": stored(dtype, value, key, write)
        for write in (assign, add, copy)
        for key in (ALL, PART)
        for dtype, value in (("f4", 1e200), ("i8", numpy.nan))
        if write is not add or dtype == "f4"
    },
}  # fmt: skip


def outcome(np, operation, x, kind, rule):
    """What an operation raises or gives, and what it warns or tells of; not the name of NumPy's loop that met it."""
    told = []
    globals().pop("__warningregistry__", None)
    with ExitStack() as stack:
        seen = stack.enter_context(warnings.catch_warnings(record=True)) if kind else []
        if kind == "filter":
            warnings.simplefilter(rule)
        elif kind == "errstate":
            warnings.simplefilter("always")
        if kind != "filter" and rule:
            stack.callback(numpy.seterrcall, numpy.seterrcall(lambda *what: told.append(what)))
            stack.enter_context(numpy.errstate(all=rule))
        try:
            found = numpy.asarray(operation(np, x)).tolist()
        except (RuntimeWarning, FloatingPointError, ValueError, KeyError) as error:
            found = type(error), str(error).partition(" in ")[0]
    mine = [w for w in seen if not issubclass(w.category, atoll.errors.FallbackWarning)]
    given = [(w.category, str(w.message).partition(" in ")[0]) for w in mine]
    return repr((found, given, told))


def differing(kind, rule):
    """The operations whose outcome is not NumPy's, and both outcomes."""
    wrong = {}
    for name, operation in OPERATIONS.items():
        for x in (0, -1):
            mine = outcome(atoll, operation, x, kind, rule)
            theirs = outcome(numpy, operation, x, kind, rule)
            if mine != theirs:
                wrong[name, x] = mine, theirs
    return wrong


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("rule", ["error", "always", "default", "once", "ignore"])
def test_under_filters(rule):
    assert differing("filter", rule) == {}


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("rule", ["raise", "call", "warn", "ignore"])
def test_under_rules_of_numpy(rule):
    assert differing("errstate", rule) == {}


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("rule", ["", "raise"])
def test_on_simulated_ranks(size, rule):
    """Simulated ranks share the filters: these are set around all of them."""

    def program():
        with atoll.config(small=0, everywhere=0):
            return differing("", rule)

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert run(size, program) == [{}] * size
