"""Operations that are looked at by themselves are left to NumPy once a line has shown it, with the same results."""

from __future__ import annotations

import gc
import linecache
import threading
import warnings

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.config import config
from atoll.front import native
from atoll.lazy.profiles import alone

from . import search, wider

N = 40_000
OFTEN = 40
needs_front = pytest.mark.skipif(native is None, reason="NumPy is called by the native front")


NUMPY = {"judged": 1, "margin": float("inf"), "ignored": (64, 256)}
"""By these limits recording never gains."""
KERNELS = {"judged": 1, "margin": 0.0}
"""By these it always does."""


@pytest.fixture(autouse=True)
def as_users_have_it():
    alone.sites.clear()
    gc.collect()  # as long as a world of several ranks is there, NumPy is called by the runtime alone
    with config(small=30_000), policy.limited(**NUMPY):
        yield
    alone.sites.clear()


def kernels_run():
    return np.stats().kernels_run


def arrays(seed=1):
    random = numpy.random.default_rng(seed)
    x, y = random.random(N) - 0.5, random.random(N) + 0.1
    return x, y


def looked_at(call, times=OFTEN):
    """The last result of a call that is looked at each time, and how many kernels the last half of them ran."""
    for turn in range(times):
        if turn == times // 2:
            before = kernels_run()
        result = call()
        np.sync()
    return result, kernels_run() - before


OPERATIONS = {
    "x + y": lambda m, x, y: x + y,
    "x - 2": lambda m, x, y: x - 2,
    "2 / y": lambda m, x, y: 2 / y,
    "-x": lambda m, x, y: -x,
    "abs(x)": lambda m, x, y: abs(x),
    "x > y": lambda m, x, y: x > y,
    "x <= 0.1": lambda m, x, y: x <= 0.1,
    "x * y + 1": lambda m, x, y: x * y + 1,
    "sqrt": lambda m, x, y: m.sqrt(y),
    "isnan": lambda m, x, y: m.isnan(x),
    "masks": lambda m, x, y: (x > 0.1) & (y < 0.5),
    "slices": lambda m, x, y: x[1:] - x[:-1],
    "reversed": lambda m, x, y: x[::-1] + y,
    "rows": lambda m, x, y: x.reshape(200, 200) + y[:200],
    "transposed": lambda m, x, y: x.reshape(200, 200).T * y.reshape(200, 200).T,
    "quotient": lambda m, x, y: (y > 0.4).astype("i4") // -7,
    "to single": lambda m, x, y: x.astype("f4"),
    "to integers": lambda m, x, y: y[::-1].astype("i8"),
    "to truth": lambda m, x, y: x.astype("?"),
    "largest": lambda m, x, y: m.maximum((x > 0).astype("i2"), 0),
    "across": lambda m, x, y: x.reshape(200, 200).T * y.reshape(200, 200),
}


@pytest.mark.slow
@needs_front
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_and_memory_are_those_of_numpy(name):
    operation = OPERATIONS[name]
    x, y = arrays()
    a, b = np.array(x), np.array(y)
    result, kernels = looked_at(lambda: operation(np, a, b))
    expected = operation(numpy, x, y)
    assert not kernels, "NumPy computes it"
    assert result.strides == expected.strides
    numpy.testing.assert_array_equal(numpy.asarray(result), expected, strict=True)


@needs_front
@pytest.mark.parametrize("code", "?bhilBHILfd")
def test_every_kind_of_number(code):
    x, y = arrays()
    x, y = (100 * x).astype(code), (100 * y).astype(code)
    a, b = np.array(x), np.array(y)
    result, kernels = looked_at(lambda: a * b)
    assert not kernels
    numpy.testing.assert_array_equal(numpy.asarray(result), x * y, strict=True)


def test_what_is_settled_by_no_definition_stays_with_kernels():
    x, y = arrays()
    a, b = np.array(x), np.array(y)
    for call in (
        lambda: np.exp(a),
        lambda: np.maximum(a, b),
        lambda: (a + 1j * b) * b,
        lambda: b.astype("u4"),
        lambda: a.astype("e"),
    ):
        _, kernels = looked_at(call)
        assert kernels


def test_nothing_is_left_to_numpy_where_nothing_is_small():
    x, y = arrays()
    a, b = np.array(x), np.array(y)
    with config(small=0):
        _, kernels = looked_at(lambda: a + b)
        assert kernels == OFTEN // 2


@needs_front
def test_what_becomes_part_of_something_larger_is_recorded_again():
    a, b = map(np.array, arrays())

    def step(alone):
        s = a + b
        if alone:
            np.sync()
            return s
        t = np.exp(-s * s) * np.sin(s) + s
        del s
        return t

    _, kernels = looked_at(lambda: step(True))
    assert not kernels
    with policy.limited(**KERNELS):
        for _ in range(600):
            step(False)
            np.sync()
    found = step(False)
    assert "7 operations recorded" in str(np.explain(found)), "the sum is a part of the loop again"


def test_a_value_that_is_never_looked_at_is_recorded():
    a, b = map(np.array, arrays())
    call = lambda: a + b  # noqa: E731
    looked_at(call)
    for _ in range(2000):
        call()
    result = call()
    assert "pending" in str(np.explain(result))


@pytest.mark.parametrize("shared", [False, True])
def test_in_place(shared):
    x, y = arrays()
    a, b = np.array(x), np.array(y)
    kept = []

    def step():
        nonlocal a
        if shared:
            kept[:] = [a.copy()]
        a += b
        return a

    expected = x.copy()
    for _ in range(OFTEN):
        before = expected.copy()
        expected += y
        step()
        np.sync()
        if shared:
            numpy.testing.assert_array_equal(numpy.asarray(kept[0].copy()), before)
    numpy.testing.assert_array_equal(numpy.asarray(a), expected)


@needs_front
def test_in_place_leaves_numpy():
    a, b = map(np.array, arrays())

    def step():
        nonlocal a
        a *= b
        return a

    _, kernels = looked_at(step)
    assert not kernels


def test_views_see_what_is_done_in_place():
    x, y = arrays()
    a, b = np.array(x), np.array(y)
    view = a[::-1]

    def step():
        nonlocal a
        a -= b

    for _ in range(OFTEN):
        step()
        np.sync()
        x -= y
    numpy.testing.assert_array_equal(numpy.asarray(view.copy()), x[::-1])


def test_memory_that_is_known_outside():
    x, y = arrays()
    a, b = np.array(x), np.array(y)
    outside = a.local
    call = lambda: a + b  # noqa: E731
    for turn in range(OFTEN):
        outside[:] = turn
        found = numpy.asarray(call())
        outside[:] = -1
        numpy.testing.assert_array_equal(found, turn + y)


def test_results_own_their_memory():
    x, y = arrays()
    a, b = np.array(x), np.array(y)
    made = []
    for _ in range(OFTEN):
        made.append(a + b)
        np.sync()
    made[-1][:] = 0
    made[-2] += 1
    numpy.testing.assert_array_equal(numpy.asarray(made[-3]), x + y)
    numpy.testing.assert_array_equal(numpy.asarray(made[-2]), x + y + 1)
    assert numpy.asarray(made[-1]).sum() == 0


def test_warnings_name_the_line_of_the_program():
    a = np.array(arrays()[0])
    call = lambda: 1.0 / (a - a)  # noqa: E731
    with np.errstate(all="ignore"):
        for _ in range(OFTEN):
            call()
            np.sync()
    for _ in range(OFTEN):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
            np.sync()
        assert [str(one.message) for one in caught] == ["divide by zero encountered in divide"]
        assert caught[0].filename == __file__
        assert "call = lambda" in linecache.getline(__file__, caught[0].lineno)


def test_errors_are_raised_as_the_rules_say():
    a = np.array(arrays()[0])
    call = lambda: 1.0 / a  # noqa: E731
    looked_at(call)
    a[3] = 0.0
    np.sync()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        call()
    with np.errstate(divide="ignore"):
        assert numpy.asarray(call())[3] == numpy.inf


def test_numbers_that_are_still_to_be_looked_at():
    x, _ = arrays()
    a = np.array(x)
    largest = a.max()
    float(largest)
    for call, expected in (
        (lambda: largest * a, x.max() * x),
        (lambda: a - largest, x - x.max()),
        (lambda: a > largest, x > x.max()),
    ):
        result, _ = looked_at(call)
        numpy.testing.assert_array_equal(numpy.asarray(result), expected, strict=True)


class Grid(np.ndarray):
    """A class of a user's."""


def test_classes_of_users():
    x, y = arrays()
    a, b = np.array(x), np.array(y).view(Grid)
    for call, expected in (
        (lambda: a + b, x + y),
        (lambda: b - a, y - x),
        (lambda: b * 2, y * 2),
        (lambda: -b, -y),
        (lambda: b.astype("f4"), y.astype("f4")),
    ):
        result, _ = looked_at(call)
        assert type(result) is Grid
        numpy.testing.assert_array_equal(numpy.asarray(result), expected, strict=True)


def test_a_small_array_beside_a_large_one():
    x, y = arrays()
    a, row = np.array(x.reshape(200, 200)), np.array(y[:200])
    for call, expected in (
        (lambda: a + row, x.reshape(200, 200) + y[:200]),
        (lambda: row - a, y[:200] - x.reshape(200, 200)),
    ):
        result, _ = looked_at(call)
        numpy.testing.assert_array_equal(numpy.asarray(result), expected, strict=True)


@pytest.mark.slow
def test_whole_numbers_in_place_by_a_class_of_users():
    x = (100 * arrays()[0]).astype("i8")
    a, b = np.array(x), np.array(x).view(Grid)

    def step():
        nonlocal b
        b += a
        return b

    for _ in range(OFTEN):
        step()
        np.sync()
    assert type(b) is Grid
    numpy.testing.assert_array_equal(numpy.asarray(b), (OFTEN + 1) * x)


def test_threads():
    x, y = arrays()
    wrong = []

    def work():
        a, b = np.array(x), np.array(y)
        for turn in range(200):
            found = numpy.asarray(a * b)
            if turn % 50 == 0 and not (found == x * y).all():
                wrong.append(turn)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


@pytest.mark.slow
@pytest.mark.simulated(2, 3)
def test_ranks_record_everything():
    with config(small=1000):
        a = np.arange(N) * 1.0
        b = np.ones(N)
        for _ in range(30):
            c = a + b
            np.sync()
        assert not any(profile.loops for profile in alone.sites.values())
        assert float(c.sum()) == N * (N + 1) / 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_some_times(seed):
    with config(backend="numpy"):
        search.eagerly(wider.draw(seed, 14, exports=True, ranks=False, kind=wider.Wider))


def test_views_of_what_numpy_has_made():
    r = arrays()[0].reshape(200, 200)
    a = np.array(r)
    rows, turned, flat = a[2:], a.T, a.reshape(-1)
    part = rows[1:]
    a += 1
    r = r + 1
    part[0] = 9
    turned[5] = 7
    flat[3] = 5
    r[3] = 9
    r.T[5] = 7
    r.reshape(-1)[3] = 5
    for view, expected in (
        (a, r),
        (rows, r[2:]),
        (turned, r.T),
        (flat, r.reshape(-1)),
        (part, r[3:]),
    ):
        numpy.testing.assert_array_equal(
            numpy.asarray(np.exp(view)), numpy.asarray(np.exp(np.array(expected)))
        )
        numpy.testing.assert_array_equal(numpy.asarray(view), expected)
    assert rows.base is a
    assert part.base is a


def test_an_array_that_is_recorded_keeps_its_views():
    r = arrays()[0].reshape(200, 200)
    a = np.array(r)
    rows = a[1:]
    s = np.exp(a)  # from here on it is recorded
    rows *= 2
    a[0] = 0
    expected = r.copy()
    expected[1:] *= 2
    expected[0] = 0
    numpy.testing.assert_array_equal(numpy.asarray(a), expected)
    numpy.testing.assert_array_equal(numpy.asarray(rows), expected[1:])
    numpy.testing.assert_array_equal(numpy.asarray(s), numpy.asarray(np.exp(np.array(r))))


@needs_front
def test_memory_is_that_of_results_that_have_ended():
    a, b = map(np.array, arrays())
    looked_at(lambda: a + b)
    call = lambda: a + b  # noqa: E731
    looked_at(call)
    addresses = {numpy.asarray(call()).__array_interface__["data"][0] for _ in range(20)}
    assert len(addresses) < 10
