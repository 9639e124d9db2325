"""Operations on few numbers by the loops of NumPy's ufuncs: every bit, every warning and every stride is NumPy's."""

from __future__ import annotations

import operator
import random
import warnings
import zlib

import numpy
import pytest

import atoll

TYPES = ("f8", "f4", "i8", "i4", "u1", "?", "c16")
BINARY = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "and_",
    "or_",
    "xor",
    "lshift",
    "lt",
    "le",
    "eq",
    "ne",
    "gt",
    "ge",
    "pow",
)
UNARY = ("neg", "pos", "abs", "invert")
FUNCTIONS = ("add", "maximum", "minimum", "hypot", "arctan2", "fmod", "sqrt", "exp", "log", "square", "sign", "isnan", "floor", "tanh",
             "logical_and", "greater", "copysign", "reciprocal", "conjugate", "left_shift", "power")  # fmt: skip
SHAPES = (
    (1,),
    (7,),
    (40,),
    (3, 5),
    (6, 1),
    (1, 6),
    (2, 3, 4),
    (4, 1, 3),
    (2, 2, 2, 3),
    (2, 1, 2, 2, 2),
    (0, 3),
    (),
)
SPECIAL = (0.0, -0.0, 1.0, numpy.inf, -numpy.inf, numpy.nan, 1e308, 5e-324)


def array(r, shape, kind):
    """An array of any strides, with rare values among others."""
    rng = numpy.random.default_rng(r.randrange(1 << 30))
    long = [n * r.choice((1, 1, 2)) + r.choice((0, 0, 1)) for n in shape]
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = numpy.asarray(rng.random(long) * 10 - 3).astype(kind)
        if kind in ("f8", "f4", "c16") and r.random() < 0.3:
            values[rng.random(long) < 0.2] = r.choice(SPECIAL)
    key = tuple([slice(0, 2 * n, 2) if m >= 2 * n > 2 else slice(n) for n, m in zip(shape, long)])
    values = values[key]
    if r.random() < 0.2:
        values = values[::-1] if values.ndim else values
    if r.random() < 0.2:
        values = values.copy("F")
    return (
        values
        if isinstance(values, numpy.ndarray) and values.shape == shape
        else numpy.ones(shape, kind)
    )


def cases(seed, count):
    r = random.Random(seed)
    for _ in range(count):
        shape, kind = r.choice(SHAPES), r.choice(TYPES)
        x = array(r, shape, kind)
        other = (
            shape
            if r.random() < 0.6
            else tuple([n if r.random() < 0.6 else 1 for n in shape])[r.randrange(2) :]
        )
        y = array(r, other, kind if r.random() < 0.85 else r.choice(TYPES))
        if r.random() < 0.3:
            y = r.choice(
                (
                    2,
                    2.5,
                    -1,
                    0,
                    0.0,
                    True,
                    1 << 60,
                    1 << 53,
                    300,
                    numpy.float64(3.0),
                    numpy.float32(2.0),
                    numpy.int64(5),
                    1j,
                )
            )
        yield r, x, y


def outcome(function, *operands):
    """The bits of a result, or of the error, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = function(*operands)
        except Exception as error:
            return type(error).__name__, str(error)
    result = numpy.asarray(result)
    kind = numpy.dtype(f"V{result.itemsize}")
    bits = numpy.ascontiguousarray(result).view(kind).tolist() if result.ndim else result.tobytes()
    if result.dtype.kind in "fc":  # the sign of what is no number is not defined
        bits = [repr(v) for v in numpy.ravel(result).tolist()]
    return result.dtype, result.shape, bits, sorted({str(w.message) for w in told})


def compared(name, function, x, y, count):
    ours = [
        atoll.asarray(v.copy(order="K")) if isinstance(v, numpy.ndarray) else v for v in (x, y)
    ][:count]
    ours[0] = atoll.asarray(x)
    if count == 2 and isinstance(y, numpy.ndarray):
        ours[1] = atoll.asarray(y)
    theirs = [x, y][:count]
    mine = outcome(function, *ours)
    assert mine == outcome(function, *theirs), (name, x.dtype, x.shape, x.strides, y)
    if isinstance(mine[0], numpy.dtype):
        with numpy.errstate(all="ignore"):
            assert function(*ours).strides == function(*theirs).strides


@pytest.mark.parametrize("seed", range(6))
def test_operators(seed):
    for r, x, y in cases(seed, 500):
        name = r.choice(BINARY)
        compared(name, getattr(operator, name), x, y, 2)
        name = r.choice(UNARY)
        compared(name, getattr(operator, name), x, y, 1)


@pytest.mark.parametrize("seed", range(4))
def test_reflected_operators(seed):
    for r, x, _ in cases(seed, 300):
        number = r.choice(
            (
                2,
                2.5,
                0,
                numpy.float64(3.0),
                numpy.float64(0.0),
                numpy.float32(2.0),
                numpy.int64(5),
                numpy.complex128(1j),
            )
        )
        name = r.choice(BINARY)
        function = getattr(operator, name)
        compared(name, lambda a, function=function, number=number: function(number, a), x, x, 1)


@pytest.mark.parametrize("seed", range(6))
def test_functions(seed):
    for r, x, y in cases(seed, 400):
        name = r.choice(FUNCTIONS)
        ufunc = getattr(numpy, name)

        def called(*operands, name=name):
            return getattr(atoll if isinstance(operands[0], atoll.ndarray) else numpy, name)(
                *operands
            )

        compared(name, called, x, y, ufunc.nin)


@pytest.mark.parametrize("seed", range(6))
def test_in_place_operators(seed):
    names = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "iand", "ior", "ixor", "ipow")
    for r, x, y in cases(seed, 500):
        function = getattr(operator, r.choice(names))
        base = numpy.concatenate([x.ravel(), x.ravel()])
        first, second = base.copy(), base.copy()
        shift = r.choice((0, 1)) if x.size > 1 else 0
        window = slice(shift, shift + x.size)
        if r.random() < 0.3:  # memory that overlaps
            overlap = slice(0, x.size)
            mine = outcome(function, atoll.asarray(first)[window], atoll.asarray(first)[overlap])
            theirs = outcome(function, second[window], second[overlap])
        else:
            mine = outcome(
                function,
                atoll.asarray(first)[window].reshape(x.shape),
                atoll.asarray(y) if isinstance(y, numpy.ndarray) else y,
            )
            theirs = outcome(function, second[window].reshape(x.shape), y)
        assert mine == theirs, (function, x, y)
        if isinstance(
            mine[0], numpy.dtype
        ):  # how far NumPy comes before an error is its own affair
            assert first.tobytes() == second.tobytes() or numpy.array_equal(
                first, second, equal_nan=x.dtype.kind in "fc"
            )


def test_elements_that_share_memory():
    for np in (numpy, atoll):
        base = numpy.arange(8.0)
        view = np.asarray(numpy.lib.stride_tricks.as_strided(base, (3, 3), (8, 8)))
        view *= 1.0
        assert base.tolist() == list(range(8))


@pytest.mark.parametrize("kind", ["ignore", "warn", "raise"])
def test_what_errstate_says(kind):
    def told(np):
        with np.errstate(all=kind), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            x = np.array([1.0, 0.0, 1e308])
            try:
                values = [x / 0.0, x * 1e300, np.sqrt(-x), np.log(x)]
                x *= 1e300
                return [str(v) for v in [*values, x]], [str(w.message) for w in seen]
            except FloatingPointError as error:
                return str(error), x.tolist()

    assert told(atoll) == told(numpy)


@pytest.mark.parametrize("seed", range(4))
def test_products(seed):
    r = random.Random(seed)
    for _ in range(400):
        m, n, p = (r.choice((0, 1, 1, 2, 3, 8, 17)) for _ in range(3))
        kind = r.choice(TYPES)
        x, y = (
            array(r, shape if all(shape) else (1,) * len(shape), kind)
            for shape in (r.choice(((n,), (m, n))), r.choice(((n,), (n, p))))
        )
        if r.random() < 0.2:
            y = x.T
        called = [operator.matmul, lambda a, b: (atoll if isinstance(a, atoll.ndarray) else numpy).matmul(a, b)]  # fmt: skip
        compared("matmul", r.choice(called), x, y, 2)


KEYS = (0, -1, slice(1, 3), slice(None, None, -1), slice(0, 0), ..., None)


def at_hand(np, x):
    """An array that has its memory; a large one keeps it."""
    return np.array(x).copy()


def pending(np, x):
    """One that is computed before it is assigned to."""
    return np.where(np.array(x) == np.array(x), np.array(x), np.array(x))


def assigned(a, key, value, given, forwards):
    """What an array has in memory once a value, or an array, or a part of it is put into a part of it."""
    atoll.sync()
    if value == "column":
        a[..., 0] = a[..., -1]
    elif value == "other":
        a[forwards : len(a) - 1 + forwards] = a[1 - forwards : len(a) - forwards]
    elif value == "itself":
        a[key] = a[key]
    else:
        a[key] = given if value == "array" else value
    return zlib.crc32(numpy.asarray(a).tobytes())


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_assignments(seed, large):
    """To elements and regions, of numbers and of arrays, also those that overlap."""
    r = random.Random(seed)
    for _ in range(80 if large else 400):
        shape, kind = r.choice([s for s in SHAPES if 0 not in s and s]), r.choice(TYPES)
        x = array(r, shape, kind)
        if large:
            x = numpy.concatenate([x] * (2 * atoll.config.small // x.size + 1))
        key = tuple(r.choice(KEYS) for _ in range(r.randrange(1, x.ndim + 1)))
        key = key[0] if len(key) == 1 else key
        value = r.choice((2, 2.5, True, numpy.bool_(True), -1, 1 << 60, 300, numpy.float64(0.1), 1j, numpy.nan, numpy.float32(1.5),
                          "itself", "column", "other", "array"))  # fmt: skip
        given = array(r, r.choice([shape, shape[1:], (1,)]), r.choice((kind, kind, "f8")))
        forwards, made = r.random() < 0.5, r.choice((at_hand, pending))
        told = [
            outcome(assigned, made(np, x), key, value, np.array(given), forwards)
            for np in (numpy, atoll)
        ]
        assert told[0] == told[1], (x.dtype, x.shape, key, value, given.dtype, given.shape)


def test_what_may_not_be_written_to():
    for np in (numpy, atoll):
        a = np.zeros((4, 4))
        a.flags.writeable = False
        for key in (1, (1, 2), slice(2)):
            with pytest.raises(ValueError, match="assignment destination is read-only"):
                a[key] = 1.0
        assert not a.any()
