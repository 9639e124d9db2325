"""How often NumPy calls the methods of foreign objects, with which arguments, and what it makes of them: atoll does the same.

Each statement runs with an object ``f`` of some of the classes below, in NumPy and in atoll, with small and with recorded arrays.
Calls, results, errors with their texts, and what the arrays are afterwards are compared.
"""

from __future__ import annotations

import re
import warnings

import numpy
import pytest

import atoll
from atoll.config import config

OPERATIONS = """
a + f; f + a; a - f; f * a; a @ f; f @ a; a ** f; f ** a; a / f; a // f; a % f; divmod(a, f); divmod(f, a); a == f;
a != f; a < f; f < a; a >= f; i & f; f & i; i << f; i | f; a += f; a -= f; a *= f; a /= f; a //= f; a %= f; a **= f;
a @= f; i &= f; i |= f; i ^= f; i <<= f; i >>= f; a[1:] += f; a[::2] += f; v += f; m @= f
"""
"""Operators and their in-place forms."""

UFUNCS = """
np.add(a, f); np.add(f, a); np.add(f, f); np.add(a, b, out=f); np.add(a, b, f); np.add(a, b, out=(f,));
np.sin(a, out=f); np.sin(a, f); np.add(a, b, where=f, out=c); np.add(a, f, out=c); np.add(f, f, out=c);
np.add(a, f, c); np.divmod(a, f); np.divmod(a, b, out=(f, None)); np.divmod(a, b, out=(None, f)); np.matmul(m, f);
np.matmul(m, m, out=f); np.add.reduce(f); np.add.reduce(a, out=f); np.add.reduce(m, 0, out=f);
np.add.reduce(m, 0, None, f); np.add.reduce(a, where=f); np.add.reduce(a, initial=f);
np.add.reduce(a, 0, None, f, True); np.add.reduce(a, keepdims=f); np.add.reduce(a, out=(f,));
np.add.reduce(a, out=f, keepdims=True, initial=1.0, where=True); np.multiply.reduce(a, out=f);
np.maximum.reduce(a, out=f); np.logical_and.reduce(a, out=f); np.maximum.reduce(m, axis=1, out=f, keepdims=False);
np.add.accumulate(a, out=f); np.add.accumulate(f); np.add.accumulate(a, 0, None, f);
np.add.accumulate(a, axis=0, dtype=float, out=f); np.add.reduceat(a, [0, 2], out=f); np.add.reduceat(f, [0, 2]);
np.add.reduceat(a, f); np.add.reduceat(a, [0, 1], 0, None, f); np.add.at(a, [0, 1], f); np.add.at(a, f, 1);
np.add.at(f, [0], 1); np.add.outer(a, f); np.add.outer(f, a); np.add.outer(a, b, out=f); np.negative.at(a, f);
np.add(a, b, dtype=f); np.add(a, 1, f); np.add(1, 2, out=f); np.add(a, f, casting='same_kind');
np.add(a, f, dtype=float); np.add(a, b, casting='safe', out=f); np.add(a, f, out=c, where=w);
np.add(a, b, out=f, where=w); np.equal(a, f); np.sqrt(f); np.maximum(a, f); np.frexp(f); np.modf(a, out=(f, None));
np.add([1.0, f], a); np.add(a, [f])
"""
"""Calls of ufuncs and their methods."""

ASSIGNMENTS = """
a[:] = f; a[...] = f; a[1:3] = f; a[0] = f; a[-1] = f; a[w] = f; a[k] = f; m[0] = f; m[:, 0] = f; m[0, 0] = f;
m[:] = f; a[:] = [f]*len(a); a[:2] = [f, f]; a[f] = 1; a[f] = b[f]; a[f]; a[f:]; a[:f]; a[::f]; a[f:f:f]; m[f];
m[f, f]; m[f, 0]; m[f:, f:]; m[0, f]; m[[0], f]; m[..., f]; m[None, f]; a[f:] = 1; a[f:f:f] = 2; m[f, f] = 2;
m[f, f:] = 3; a[[f]]; a[(f,)]; a[:f] += 1; a[f] += 1; a.flat[f]; a.flat[f] = 2; a.flat[f:]; a.flat[f:] = 1;
a.flat = f; a.flat[:] = f; a.fill(f); a.item(f); a.put(f, 1); a.put([0], f); a.put([0, 1], f); i[:] = f; i[0] = f;
z[:] = f; z[0] = f; ob[:] = f; ob[0] = f; ob[0:2] = f; s['x'] = f; a.real = f; z.imag = f; v[:] = f; v[0] = f;
a[f, ...]; a[..., f] = 1; bo[:] = f; bo[0] = f; st[0] = f; f in a; del a[f]; a.shape = f; a.shape = (f, -1)
"""
"""Indices and assigned values."""

FUNCTIONS = """
np.array(f); np.asarray(f); np.asanyarray(f); np.ascontiguousarray(f); np.array([f, f]); np.array(f, dtype=float);
np.array(f, dtype='f4'); np.asarray(f, copy=False); np.array(f, copy=True); np.array(f, ndmin=2);
np.asarray(f, dtype=int); np.array(f, dtype=object); np.array(f, order='F'); np.require(f); np.asfortranarray(f);
np.array(f, subok=True); np.sum(f); np.sum(a, out=f); np.sum(a, where=f); np.sum(a, initial=f); np.mean(f);
np.mean(a, out=f); np.max(f); np.max(a, out=f); np.std(f); np.std(a, out=f); np.prod(a, out=f); np.any(a, out=f);
np.argmax(f); np.argmax(a, out=f); np.cumsum(f); np.cumsum(a, out=f); a.sum(out=f); a.mean(out=f); a.cumsum(out=f);
a.sum(where=f); a.max(out=f); a.argmax(out=f); a.std(out=f); a.round(out=f); a.round(f); a.clip(f, 3); a.clip(0, f);
a.clip(0, 1, out=f); np.clip(f, 0, 1); np.clip(a, 0, 1, out=f); np.round(f); np.round(a, f); np.round(a, out=f);
np.concatenate([a, f]); np.concatenate([f, a]); np.concatenate([a, b], out=f); np.vstack([a, f]); np.hstack([f, a]);
np.append(a, f); np.insert(a, 0, f); np.insert(a, f, 0); np.delete(a, f); np.where(w, a, f); np.where(f, a, b);
np.where(w, f, f); np.choose(k, [a, f]); np.copyto(a, f); np.copyto(f, a); np.copyto(a, b, where=f);
np.copyto(a, f, where=w); np.copyto(a, f, casting='unsafe'); np.copyto(i, f); np.copyto(a, src=f);
np.copyto(dst=a, src=f, where=w); np.array_equal(a, f); np.array_equal(f, a); np.array_equal(f, f);
np.array_equal(a, f, equal_nan=True); np.array_equiv(a, f); np.array_equiv(f, a); np.may_share_memory(a, f);
np.may_share_memory(f, a); np.may_share_memory(f, f); np.shares_memory(a, f); np.shares_memory(f, a);
np.shares_memory(a, f, max_work=1); np.shares_memory(a, b, max_work=f); np.isclose(a, f); np.isclose(f, a);
np.allclose(a, f); np.allclose(a, b, f); np.dot(a, f); np.dot(f, a); np.dot(a, b, out=f); np.dot(m, m, f); a.dot(f);
np.inner(a, f); np.outer(a, f); np.outer(f, a); np.vdot(a, f); np.tensordot(a, f, 1); np.einsum('i,i->', a, f);
np.einsum('i,i->i', a, b, out=f); np.kron(a, f); np.matmul(a, f); np.convolve(a, f); np.correlate(f, a);
np.interp(f, a, b); np.interp(a, b, f); np.searchsorted(a, f); np.searchsorted(f, a); a.searchsorted(f);
np.digitize(a, f); np.histogram(f); np.histogram(a, bins=f); np.bincount(f); np.bincount(k, weights=f); np.unique(f);
np.sort(f); np.argsort(f); np.partition(f, 1); np.median(f); np.percentile(a, f); np.percentile(f, 50);
np.take(a, f); np.take(f, [0]); a.take(f); a.take([0], out=f); np.take(a, [0], out=f); np.take(a, [0], f);
np.put(a, [0], f); np.put(a, f, 0); np.put(f, [0], 1); np.putmask(a, f, 0); np.putmask(a, w, f); np.place(a, f, [1]);
np.place(a, w, f); np.extract(f, a); np.extract(w, f); np.compress(f, a); np.compress(w, a, out=f); a.compress(f);
np.nonzero(f); np.flatnonzero(f); np.count_nonzero(f); np.argwhere(f); np.reshape(f, -1); np.reshape(a, f);
a.reshape(f); a.reshape(f, -1); np.ravel(f); np.transpose(f); np.squeeze(f); np.expand_dims(f, 0);
np.expand_dims(a, f); np.swapaxes(f, 0, 0); np.moveaxis(m, f, 0); np.broadcast_to(f, (2, 6)); np.broadcast_to(a, f);
np.broadcast_arrays(a, f); np.tile(f, 2); np.repeat(f, 2); np.repeat(a, f); a.repeat(f); np.roll(f, 1); np.flip(f);
np.rot90(m, f); np.pad(f, 1); np.split(f, 2); np.diff(f); np.gradient(f); np.trapezoid(f); np.trapezoid(a, f);
np.cov(f); np.average(a, weights=f); np.average(f); np.ptp(f); np.ptp(a, out=f); np.trace(f); np.trace(m, out=f);
np.diag(f); np.diagonal(m, f); np.tril(f); np.tril(m, f); np.triu_indices_from(f); np.meshgrid(a, f); np.ix_(a, f);
np.zeros_like(f); np.ones_like(f); np.full_like(f, 2); np.full(3, f); np.full(f, 3); np.zeros(f); np.ones((f, 2));
np.arange(f); np.arange(0, f); np.linspace(0, f, 5); np.linspace(f, 9, 5); np.linspace(0, 1, f); np.eye(f);
np.identity(f); np.tri(f); np.indices((f, 2)); np.fromiter(f, float); np.frombuffer(f); np.logspace(0, f, 3);
np.result_type(a, f); np.can_cast(f, float); np.min_scalar_type(f); np.iscomplexobj(f); np.isrealobj(f);
np.isreal(f); np.iscomplex(f); np.isposinf(f); np.isposinf(a, f); np.isscalar(f); np.isfortran(f); np.real(f);
np.imag(f); np.angle(f); np.real_if_close(f); np.nan_to_num(f); np.fix(f); np.fix(a, f); np.sinc(f); np.i0(f);
np.unwrap(f); np.nansum(f); np.nanmax(f); np.nanmean(a, out=f); np.nansum(a, out=f); np.nanmedian(f); np.isin(a, f);
np.isin(f, a); np.intersect1d(a, f); np.union1d(a, f); np.setdiff1d(f, a); np.ndim(f); np.shape(f); np.size(f);
np.size(a, f); np.linalg.norm(f); np.linalg.solve(m, f); np.linalg.inv(f); np.linalg.det(f); np.fft.fft(f);
np.fft.fft(a, n=f); np.fft.fft(a, out=f); np.polyfit(a, f, 1); np.polyval([1, 2], f); np.vander(f);
np.apply_along_axis(np.sum, 0, f); np.apply_over_axes(np.sum, f, 0); np.vectorize(lambda x: x)(f);
np.frompyfunc(lambda x: x, 1, 1)(f); np.frompyfunc(lambda x, y: 1, 2, 1)(a, f); np.piecewise(a, [f], [1]);
np.piecewise(f, [w], [1]); np.ravel_multi_index(([0], f), (9, 90000)); np.unravel_index(f, (9, 90000));
np.take_along_axis(a, f, 0); np.put_along_axis(a, k, f, 0); np.fill_diagonal(m, f); np.resize(f, 4); np.resize(a, f);
np.array_split(f, 2); np.lexsort((a, f)); np.atleast_1d(f); np.atleast_2d(a, f); np.column_stack([a, f]);
np.block([a, f]); np.cumulative_sum(f); np.astype(f, float); np.astype(a, f); a.astype(f); a.view(f); np.sum([f]);
np.sum(f, axis=0); np.sum(f, 0); np.lib.stride_tricks.as_strided(f); np.lib.stride_tricks.sliding_window_view(a, f);
list(np.ndindex(f)); np.asarray(a, like=f); np.zeros(3, like=f); np.array([1], like=f); np.arange(3, like=f);
np.einsum('ij->i', f); np.packbits(f); np.isnan(f); np.abs(f); np.random.default_rng(0).choice(f);
np.random.default_rng(0).normal(f); np.random.default_rng(0).permutation(f); np.random.default_rng(0).shuffle(f);
np.trim_zeros(f); np.ediff1d(a, f); np.asarray_chkfinite(f); np.sort(a, axis=f); np.array(a, dtype=f);
np.repeat(a, [f] * len(a)); a.reshape((f, -1)); a.swapaxes(f, 0); m.transpose(f, 0); m.transpose((f, 0));
np.searchsorted(a, a, sorter=f); np.random.default_rng(0).integers(f); np.vecdot(a, f); np.strings.upper(f);
np.char.upper(f); np.nonzero(a > f); np.unstack(f)
"""
"""Functions and methods."""


def statements(text):
    return [part.strip() for part in text.replace("\n", " ").split(";") if part.strip()]


SYMBOLS = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
OPERATORS = [f"__{side}{name}__" for side in ("", "r", "i") for name in SYMBOLS] + [
    "__divmod__", "__rdivmod__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__",
]  # fmt: skip


def shown(value):
    """What a method was given, the same for both libraries."""
    if isinstance(value, (tuple, list)):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {name: shown(value[name]) for name in sorted(value)}
    if isinstance(value, (numpy.ndarray, atoll.ndarray)):
        return "array", value.dtype.str, value.shape
    if value is None or isinstance(value, (int, float, complex, str, numpy.generic)):
        return repr(value)
    return getattr(value, "__name__", type(value).__name__).replace("ndarray", "array")


def methods_of(np, n):
    """The methods of each class of foreign objects, or what they answer."""

    def array(make):
        return lambda dtype=None, copy=None: make()

    def values():
        return numpy.arange(float(n))

    operators = dict.fromkeys(OPERATORS, "an answer")
    own = {"__array__": array(values)}
    asked = {"__array_ufunc__": "an answer"}
    functions = {"__array_function__": "an answer"}
    declining = {"__array_ufunc__": lambda *args, **options: NotImplemented}
    return {
        "Plain": own,
        "NoArguments": {"__array__": values},
        "Ours": {"__array__": array(lambda: np.arange(float(n)))},
        "Short": {"__array__": array(lambda: values()[:5])},
        "Zero": {"__array__": array(lambda: numpy.array(3.0))},
        "Mask": {"__array__": array(lambda: numpy.arange(n) % 3 == 0)},
        "Raises": {"__array__": array(lambda: ValueError("mine"))},
        "RaisesType": {"__array__": array(lambda: TypeError("mine"))},
        "Prior": dict(**own, **operators),
        "Hidden": operators,
        "HiddenArray": own,
        "Override": dict(**asked, **operators),
        "Declines": dict(**declining, **operators),
        "Functions": dict(**functions, **own),
        "Both": dict(**functions, **asked, **own),
        "Operators": operators,
        "Wraps": dict(**own, __array_wrap__="wrapped"),
        "Sequence": {"__len__": n, "__getitem__": lambda k: list(range(n))[k]},
        "Index": {"__index__": 1},
        "IndexRaises": {"__index__": lambda: ValueError("mine")},
        "Number": {"__index__": 2, "__int__": 2, "__float__": 2.0},
        "Float": {"__float__": 1.5},
        "Interface": {},
    }


def foreign_class(np, log, n, name):
    """A class whose methods note each call."""

    def noting(name, answer):
        def method(self, *args, **options):
            log.append((name, shown(args), shown(options)))
            result = answer(*args, **options) if callable(answer) else answer
            if isinstance(result, Exception):
                raise result
            return result

        return method

    each = type(
        name, (), {key: noting(key, answer) for key, answer in methods_of(np, n)[name].items()}
    )
    memory = numpy.arange(float(n))
    if name == "Interface":
        each.__array_interface__ = property(lambda self: memory.__array_interface__)
    if name.startswith("Hidden"):
        each.__array_ufunc__ = None
    if name == "Prior":
        each.__array_priority__ = 10.0
    return each


def snapshot(value):
    if isinstance(value, (numpy.ndarray, atoll.ndarray)):
        array = numpy.asarray(value)
        objects = (
            [type(item).__name__ for item in array.ravel()]
            if array.dtype == object
            else repr(array.tolist())
        )
        return type(value).__name__, array.dtype.str, array.shape, objects
    if isinstance(value, (tuple, list)):
        return [snapshot(item) for item in value]
    if value is None or isinstance(
        value, (int, float, complex, str, bytes, numpy.generic, numpy.dtype)
    ):
        return repr(value)
    return type(value).__name__


def outcome(np, statement, kind, n):
    log = []
    foreign = foreign_class(np, log, n, kind)
    square = statement.startswith(("np.linalg", "m @=", "np.matmul", "np.dot(m"))
    names = {
        "np": np, "a": np.arange(float(n)), "b": np.ones(n), "c": np.zeros(n), "i": np.arange(n), "z": np.arange(n) * 1j,
        "m": np.eye(6) if square else np.arange(n * 6.0).reshape(6, n), "w": np.arange(n) % 2 == 0, "k": np.arange(n) % 2,
        "v": np.arange(2.0 * n)[::2], "ob": np.array([None] * n, object), "s": np.zeros(n, [("x", float)]),
        "bo": np.zeros(n, bool), "st": np.array(["a"] * n), "f": foreign(),
    }  # fmt: skip
    log.clear()
    error = result = None
    try:
        try:
            code = compile(statement, "<statement>", "eval")
        except SyntaxError:
            code = compile(statement, "<statement>", "exec")
        result = eval(code, names)
    except Exception as problem:
        text = re.sub("0x[0-9a-f]+", "", str(problem))
        error = (
            problem,
            text.replace("atoll.ndarray", "ndarray").replace("numpy.ndarray", "ndarray"),
        )
    calls = list(log)
    after = {name: snapshot(names[name]) for name in ("a", "b", "c", "i", "m", "z", "v", "ob")}
    return error, calls, snapshot(result), after


FEW = (
    "Plain",
    "Ours",
    "Raises",
    "Hidden",
    "Override",
    "Declines",
    "Functions",
    "Sequence",
    "Index",
    "Interface",
)


SHARE = 6
"""Each statement runs with one class of as many, the next statement with the next ones, so that each class meets all kinds of them."""


def compare(statement, n, turn, text=True, few=False):
    kinds = FEW if few else tuple(methods_of(numpy, n))
    for kind in kinds[turn % SHARE :: SHARE]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error, *expected = outcome(numpy, statement, kind, n)
            problem, *got = outcome(atoll, statement, kind, n)
        where = statement, kind
        if error is None or problem is None:
            assert problem is error, where
        else:
            names = [one.__name__ for one in type(problem[0]).__mro__]
            assert type(error[0]).__name__ in names, (where, error, problem)
            if text and "Concatenation" not in error[1]:  # what Python says of a sequence
                assert problem[1] == error[1], where
        if not text:  # ranks may ask for another dtype
            got[0], expected[0] = [[call[0] for call in calls] for calls in (got[0], expected[0])]
        for ours, theirs in zip(got, expected, strict=True):
            assert ours == theirs, where


@pytest.mark.parametrize("small", [0, 30_000])
@pytest.mark.parametrize(
    ("turn", "statement"),
    list(enumerate(statements(OPERATIONS + ";" + UFUNCS + ";" + ASSIGNMENTS + ";" + FUNCTIONS))),
)
def test_methods_of_foreign_objects_are_called_as_numpy_calls_them(turn, statement, small):
    with config(small=small):
        compare(statement, 6, turn + (small > 0), few=statement in FUNCTIONS)


@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize(
    ("turn", "statement"),
    list(enumerate(s for s in statements(f"{OPERATIONS};{ASSIGNMENTS}") if ".put(" not in s)),
)
def test_methods_of_foreign_objects_are_called_as_numpy_calls_them_on_ranks(rank, turn, statement):
    compare(statement, 6, turn, text=False, few=True)


class Values:
    """Shows its own memory."""

    def __init__(self, n):
        self.values = numpy.zeros(n)

    def __array__(self, dtype=None, copy=None):
        return self.values


@pytest.mark.parametrize("n", [6, 50_000])
@pytest.mark.parametrize(
    "name", ["asarray", "ravel", "atleast_1d", "squeeze", "reshape", "transpose"]
)
def test_what_shows_the_memory_of_a_foreign_object_writes_to_it(name, n):
    given = Values(n)
    result = getattr(atoll, name)(given, *[-1] * (name == "reshape"))
    result += 1
    assert given.values[0] == 1
    given.values[1] = 7
    assert result[1] == 7
