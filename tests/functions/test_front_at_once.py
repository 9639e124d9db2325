"""What NumPy does at once with large arrays in memory, without a step of Python's: index arrays, folds, random numbers."""

import re
import sys

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.front import native
from atoll.lazy import shared_calls

N = 40_000
DRAWN = numpy.random.default_rng(5)
X, Y, INDICES = DRAWN.random(N), DRAWN.random(N), DRAWN.integers(-N, N, N)
M, ROWS, MASK = DRAWN.random((400, 100)), DRAWN.integers(0, 400, 500), DRAWN.random(400) < 0.9
TABLE = DRAWN.random(300)

pytestmark = pytest.mark.skipif(
    native is None, reason="the native front was not built, or is left out"
)


def put(y, index, value):
    y[index] = value
    return y


READS = {
    "elements": lambda n, x, y, i, m: x[i],
    "in another shape": lambda n, x, y, i, m: x[i.reshape(200, -1)],
    "of a small table": lambda n, x, y, i, m: n.array(TABLE)[i % 300],
    "rows": lambda n, x, y, i, m: m[n.array(ROWS)],
    "columns": lambda n, x, y, i, m: m[:, n.array(ROWS) % 100],
    "pairs": lambda n, x, y, i, m: m[i % 400, i % 100],
    "rows under a mask": lambda n, x, y, i, m: m[n.array(MASK)],
    "columns under a mask": lambda n, x, y, i, m: (m + 1)[:, n.array(MASK[:100])],
    "written under a mask of rows": lambda n, x, y, i, m: put(m * 2, n.array(MASK), 1.0),
    "written under a mask of columns": lambda n, x, y, i, m: put(m * 2, (slice(None), (m * 2).sum(axis=0) > 400), 1.0),
    "written under a mask of all": lambda n, x, y, i, m: put(m * 2, m * 3 > 1, 1.0),
    "looked up": lambda n, x, y, i, m: n.interp(x * 2, n.array(numpy.sort(TABLE)), n.array(TABLE)),
    "counted and added": lambda n, x, y, i, m: n.bincount(i % 7, x * 2, minlength=9) + n.bincount((i * i % 7).ravel(), minlength=9),
    "written numbers": lambda n, x, y, i, m: put(y, i, 2.0),
    "written elements": lambda n, x, y, i, m: put(y, i, x),
    "its own elements": lambda n, x, y, i, m: put(y, i, y),
    "written to a copy": lambda n, x, y, i, m: put(y.copy(), i, y) - y,
    "added": lambda n, x, y, i, m: put(y, i, y[i] + x[i]),
    "pending": lambda n, x, y, i, m: put(y * 2, i + 0, x + 1)[i - 0],
    "counted": lambda n, x, y, i, m: n.array([n.count_nonzero(i % 3), n.count_nonzero(x > 0.5)]),
    "truths": lambda n, x, y, i, m: n.array([(x > 0.9).any(), n.all(i), (m > 0.99).any(axis=1).sum()]),
    "extremes of integers": lambda n, x, y, i, m: i.reshape(200, -1).max(axis=1) - i.reshape(-1, 200).min(0, keepdims=True) * i.max(),
    "sums of integers": lambda n, x, y, i, m: n.cumsum(i.reshape(200, -1), axis=1) + i.reshape(200, -1).cumsum(-1) * i.cumsum()[7],
    "products of integers": lambda n, x, y, i, m: n.cumprod(i.reshape(200, -1).T, -1) + n.cumsum(i.astype("i2").reshape(200, -1).T, 1),
    "positions": lambda n, x, y, i, m: n.array([x.argmax(), n.argmin(y), n.argmax(m)]),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("again", [1, 3])
def test_elements_and_folds_are_numpys(name, again):
    for _ in range(again):
        expected = READS[name](numpy, X.copy(), Y.copy(), INDICES, M)
        found = READS[name](np, np.array(X), np.array(Y), np.array(INDICES), np.array(M))
        assert type(found) is np.ndarray
        result = numpy.asarray(found)
        assert result.dtype == expected.dtype
        assert result.strides == expected.strides or not result.flags.c_contiguous
        assert (result == expected).all()


def test_errors_and_read_only_memory_are_numpys():
    x, far = np.array(X), np.array(INDICES + 2 * N)
    with pytest.raises(IndexError, match="out of bounds"):
        x[far]
    with pytest.raises(IndexError, match="out of bounds"):
        x[far] = 1.0
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[np.array(INDICES)] = 1.0
    assert (numpy.asarray(x) == X).all()


def test_writing_at_indices_leaves_views_and_copies_right():
    x, i = np.array(X), np.array(INDICES)
    row, copy, held = x[5:9], x.copy(), numpy.asarray(x)
    x[i] = 0.0
    assert (held == numpy.asarray(x)).all()
    assert (numpy.asarray(copy) == X).all()
    assert (numpy.asarray(row) == numpy.asarray(x)[5:9]).all()
    later = x + 1
    x[i] = 7.0
    assert later.max() <= 2.0


def _entered(call):
    """Which functions of atoll's Python run in a call."""
    names = []

    def note(frame, event, argument):
        if event == "call" and "/atoll/" in frame.f_code.co_filename:
            names.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


def test_python_is_not_entered():
    x, y, i, m, g = (
        np.array(X),
        np.array(Y),
        np.array(INDICES),
        np.array(M),
        np.random.default_rng(1),
    )
    b, rows, lines = np.array(X > 0.5), np.array(ROWS), np.array(INDICES.reshape(200, -1))
    np.sync()
    calls = (
        lambda: x[i], lambda: m[rows], lambda: y.__setitem__(i, x), lambda: y.__setitem__(i, 1.0),
        lambda: np.count_nonzero(b), lambda: b.any(), lambda: np.all(b, axis=0), lambda: x.argmax(),
        lambda: lines.max(axis=1), lambda: np.min(i), lambda: np.cumsum(lines, axis=1), lambda: i.cumsum(),
        lambda: g.random(N), lambda: g.integers(0, 9, size=N), lambda: g.normal(0, 1, (200, 200)), lambda: g.permutation(9),
        lambda: g.choice(5, 3), lambda: g.normal(0, 1, numpy.int64(5)),
    )  # fmt: skip
    ignored = {"test_python_is_not_entered", "threads", "<lambda>"}
    for call in calls:
        call()  # the geometries of large results are made when they are first met
    entered = [set(_entered(call)) - ignored for call in calls]
    assert entered == [set()] * len(entered)


@pytest.mark.slow
def test_python_computes_only_what_is_pending():
    x, m, t, columns = np.array(X), np.array(M), np.array(TABLE), np.array(MASK[:100])
    ordered = np.sort(t)
    calls = (
        lambda: np.interp(x * 2, ordered, t), lambda: np.bincount((x * 2).astype(int)), lambda: np.digitize(x * 2, ordered),
        lambda: np.bincount(ROWS), lambda: np.searchsorted(ROWS, x), lambda: np.linalg.svd(m), lambda: np.linalg.slogdet(m[:100]),
        lambda: (m * 2)[:, columns], lambda: (m * 2).__setitem__((slice(None), columns), 1.0),
    )  # fmt: skip
    for call in calls * 3:
        call()
    general = {"by_numpy", "get", "put", "at_once"}
    assert [set(_entered(call)) & general for call in calls] == [set()] * len(calls)


@pytest.mark.slow
def test_arrays_of_numpys_are_read_as_they_are():
    line = numpy.arange(6.0)
    for function in (
        np.bincount,
        np.sort,
        np.ediff1d,
        np.real_if_close,
        np.linalg.pinv,
        np.unique_counts,
    ):
        numpys = (
            numpy.linalg.pinv if function is np.linalg.pinv else getattr(numpy, function.__name__)
        )
        for given in (line.astype(int), line.reshape(2, 3), line[::2]):
            try:
                expected = numpys(given)
            except Exception as error:
                with pytest.raises(type(error), match=re.escape(str(error))):
                    function(given)
                continue
            found = function(given)
            assert type(found).__name__ == type(expected).__name__
            for one, other in zip(found, expected, strict=True):
                assert (numpy.asarray(one) == other).all()
    found = np.linalg.svd(np.array(M))
    assert isinstance(found, type(numpy.linalg.svd(M)))
    assert all(type(part) is np.ndarray for part in found)


@pytest.mark.parametrize("stream", ["PCG64", "MT19937"])
def test_random_numbers_are_numpys(stream):
    ours = np.random.Generator(getattr(np.random, stream)(3))
    theirs = numpy.random.Generator(getattr(numpy.random, stream)(3))
    draws = (
        lambda g: g.random(5), lambda g: g.random((300, 300)), lambda g: g.random(), lambda g: g.uniform(1, 2, size=N),
        lambda g: g.integers(3), lambda g: g.integers(0, 1 << 40, N), lambda g: g.normal(size=(2, 3)), lambda g: g.poisson(3, 40),
        lambda g: g.permutation(50), lambda g: g.permutation([1, 2, 3]), lambda g: g.choice(9, 4, replace=False),
        lambda g: g.choice([1.5, 2.5]), lambda g: g.random(N, dtype="f4"), lambda g: g.gamma(2.0, 1.0, None),
        lambda g: g.normal(0, 1, numpy.int64(4)),
    )  # fmt: skip
    for draw in draws * 2:
        found, expected = draw(ours), draw(theirs)
        assert type(found) is (
            np.ndarray if isinstance(expected, numpy.ndarray) else type(expected)
        )
        assert (numpy.asarray(found) == expected).all()
    out = np.empty(N)
    assert ours.random(out=out) is out
    assert (numpy.asarray(out) == theirs.random(N)).all()
    with pytest.raises(ValueError, match="scale"):
        ours.normal(0, -1, N)
    ours.random(3)
    theirs.random(3)
    assert ours.bit_generator.state["bit_generator"] == theirs.bit_generator.state["bit_generator"]


def test_longer_lines_of_other_numbers_have_streams_of_their_own():
    """Where a rank draws its own part, one process draws the same: natively as in Python."""
    first, second = np.random.default_rng(2), np.random.default_rng(2)
    first.random(), second.random()
    native_way = first.normal(size=70_000)
    python_way = np.random.Generator.normal._python(second, size=70_000)
    assert (numpy.asarray(native_way) == numpy.asarray(python_way)).all()


OUTPUTS = {
    "by place": lambda n, x, y, w: n.add(x, y, w),
    "by name": lambda n, x, y, w: n.multiply(x, y, out=w),
    "by name, of one": lambda n, x, y, w: n.sqrt(x, out=w),
    "of a number": lambda n, x, y, w: n.subtract(x, 2.0, out=w),
    "of itself": lambda n, x, y, w: n.add(w, y, out=w),
    "in a tuple": lambda n, x, y, w: n.add(x, y, out=(w,)),
    "of a function": lambda n, x, y, w: n.clip(x, 0.2, 0.8, out=w),
    "a product": lambda n, x, y, w: n.outer(x[:200], y[:200], w.reshape(200, -1)).base,
}


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("part", [slice(None), slice(1, -1)], ids=["whole", "part"])
def test_outputs_are_written_to_and_nothing_else(name, part):
    """In a loop, too, whose operations are timed both ways, and computed by NumPy from then on."""
    call, size = OUTPUTS[name], N if name == "a product" else len(X[part])
    expected = numpy.ones(N)
    call(numpy, X[part][:size], Y[part][:size], expected if name == "a product" else expected[part])
    x, y = np.array(X), np.array(Y)
    for turn in range(250):
        w = x * 0.0 + 1.0
        copy, base = w.copy(), w if name == "a product" else w[part]
        result = call(np, x[part][:size], y[part][:size], base)
        assert result is base
        assert (float(copy[5]), float(w[5])) == (1.0, expected[5])
        if turn % 50 == 0:
            assert (numpy.asarray(w) == expected).all()


@pytest.mark.parametrize("call", [np.modf, np.frexp])
def test_one_of_two_outputs(call):
    x = np.array(X)
    for _ in range(150):
        w = x * 0.0
        copy = w.copy()
        first, _second = call(x, w)
        assert first is w
        assert (float(copy[5]), float(w[5])) == (0.0, float(getattr(numpy, call.__name__)(X[5])[0]))


def test_calls_are_shared_by_threads_where_numpy_is_called_at_once(monkeypatch):
    calls = []
    together = shared_calls._together
    monkeypatch.setattr(
        shared_calls, "_together", lambda some: calls.append(len(some)) or together(some)
    )
    m = np.array(M)
    with np.config(threads=2), policy.limited(chunk=1000):
        np.sort(m)
    assert calls == [2]
    with np.config(threads=1), policy.limited(chunk=1000):
        np.sort(m)
    assert calls == [2]


@pytest.mark.slow
def test_results_with_names_are_computed_once():
    m, i = np.array(DRAWN.random((2100, 20))), np.array(INDICES)
    np.sync()
    for call in (lambda: np.linalg.svd(m), lambda: np.linalg.qr(m), lambda: np.unique_counts(i)):
        result = call()
        assert hasattr(result, "_fields")
        assert "by_numpy" not in _entered(call)
        assert all(type(part) is np.ndarray for part in result)
