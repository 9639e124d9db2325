"""The native recorder and evaluation: the same nodes, values, warnings and errors as by Python, and no Python at a steady step."""

from __future__ import annotations

import gc
import threading
import warnings
from contextlib import contextmanager

import numpy
import pytest

import atoll as np
from atoll import front, policy
from atoll.backend.memory import pool

from ..functions.test_front import program
from .test_steady_turns import entered, start, step

pytestmark = pytest.mark.skipif(front.native is None, reason="the native front was not built")


@contextmanager
def native(wanted):
    """Record natively, or by Python."""
    before = front.native.record(wanted)
    try:
        yield
    finally:
        front.native.record(before)


@pytest.fixture(autouse=True)
def _large():
    with np.config(small=0):
        yield


OPERATIONS = {
    "two arrays": lambda a, b: a + b,
    "a view and an array": lambda a, b: a[1:] * b[:-1],
    "a view twice": lambda a, b: a[::2] * a[::2],
    "numbers": lambda a, b: 2 - a / numpy.float32(3),
    "one array": lambda a, b: -abs(a),
    "functions": lambda a, b: np.sqrt(np.maximum(a, b)),
    "comparisons": lambda a, b: (a < b) & (a[::-1] >= 1),
    "methods": lambda a, b: a.T + b.reshape(12, 12).transpose(1, 0).ravel().reshape((12, 12)),
    "copies": lambda a, b: a.copy() + b[1:2].copy(),
    "rows": lambda a, b: a[3] + b[:, 4] - a[None, -2],
    "powers": lambda a, b: a**2 + b**-1 * a**3 - b**0.5 / (a * 4 + 1).astype("i8") ** 2,
    "choices": lambda a, b: np.where(a > b, a, 0.0) + np.where(b[:1] < 0.5, a[::2][:1], b),
    "rolls": lambda a, b: (
        np.roll(a, 1, 0) + np.roll(b, -2, axis=1) + np.roll(a[1:, 1:], 3, 0)[0, 0]
    ),
    "compositions": lambda a, b: (
        a.mean(0)
        - np.var(b, axis=1) * np.std(a, 0, keepdims=True)
        + np.clip(a, 0.25, 0.5).sum(1, keepdims=True)
    ),
    "joins": lambda a, b: (
        np.concatenate([a[1:], b[:1]])
        + np.pad(a[1:-1, 1:-1], 1)
        + np.concatenate((a, a), axis=1)[:, ::2]
    ),
    "new arrays": lambda a, b: (
        np.zeros((12, 12))
        + np.ones((12, 1)) * np.full(12, 3.5)
        + np.zeros_like(a)
        + np.full_like(b, -0.0)
    ),
    "conversions": lambda a, b: (
        (4 * a).astype("i4") + (a > b).astype(float) + a.astype(numpy.float32)
    ),
    "functions of folds": lambda a, b: np.sum(a, axis=0) - np.max(b, 0),
    "folds": lambda a, b: a.sum(0) + a.sum(axis=1) - b.max(0),
}


def test_recipes_tell_arguments_apart():
    """The same call with other numbers, signs, dtypes, axes and arrays records other operations."""
    a, b = (np.array(numpy.random.default_rng(k).random((12, 12)) - 0.5) for k in (1, 2))
    plain = numpy.asarray(a).copy(), numpy.asarray(b).copy()
    calls = [
        lambda m, a, b: m.full((12, 12), 0.0),
        lambda m, a, b: m.full((12, 12), -0.0),
        lambda m, a, b: m.full((12, 12), 0),
        lambda m, a, b: m.full((12, 12), False),
        lambda m, a, b: m.zeros((12, 12), "i4"),
        lambda m, a, b: m.zeros((12, 12), bool),
        lambda m, a, b: a.mean(1, keepdims=True),
        lambda m, a, b: a.mean(1, keepdims=False),
        lambda m, a, b: m.roll(a, 1, 0),
        lambda m, a, b: m.roll(a, 1, 1),
        lambda m, a, b: m.clip(a, -0.1, 0.1),
        lambda m, a, b: m.clip(a, -0.2, 0.1),
        lambda m, a, b: m.concatenate([a, a]),
        lambda m, a, b: m.concatenate([a, b]),
        lambda m, a, b: m.concatenate([b, a]),
        lambda m, a, b: (a * 100).astype("i2"),
        lambda m, a, b: (a * 100).astype("i8"),
        lambda m, a, b: (a < b).sum(0),
        lambda m, a, b: (a > b).mean(axis=0),
        lambda m, a, b: m.ones(()),
        lambda m, a, b: m.zeros_like(a, shape=()),
        lambda m, a, b: a[3, 4:5].reshape(()).astype("f4"),
        lambda m, a, b: a.mean() + m.var(b, ddof=1),
        lambda m, a, b: m.std(a * b, axis=(0, 1)) * (a < b).mean(),
        lambda m, a, b: m.mean(a, 0, out=b[3]),
        lambda m, a, b: m.clip(a, -1, 0.3, out=b),
        lambda m, a, b: a.astype(float, copy=False),
    ]
    for turn in range(4):
        for call in calls:
            found, expected = call(np, a, b), call(numpy, *plain)
            assert numpy.isscalar(found) == numpy.isscalar(expected)
            found = numpy.asarray(found)
            numpy.testing.assert_allclose(found, expected, 1e-14, 1e-14, strict=True)
            numpy.testing.assert_array_equal(numpy.signbit(found), numpy.signbit(expected))
        numpy.testing.assert_array_equal(b, plain[1])
        a[turn] *= 2.0  # other values: nothing of the calls may be remembered
        plain[0][turn] *= 2.0


def test_small_operands_are_taken_as_they_are():
    """What is written into a small array later does not change what was recorded before."""
    with np.config(small=100):
        a, row = np.array(numpy.arange(144.0).reshape(12, 12)), np.array(numpy.ones(12))
        for turn in range(4):
            result = a * row - row[:, None]
            before = row._np.copy()
            row[turn] = 100.0
            expected = numpy.asarray(a) * before - before[:, None]
            numpy.testing.assert_array_equal(numpy.asarray(result), expected)
        with np.config(small=0):
            assert entered(lambda: a * row - row[:, None], 3) == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_same_nodes(name):
    operation = OPERATIONS[name]
    a, b = (np.array(numpy.random.default_rng(k).random((12, 12))) for k in (1, 2))

    def recorded():
        result = operation(a, b)
        node = result._cell.node
        return (
            np.graph.show(result),
            node.weight,
            node.site,
            result.shape,
            result.strides,
            node.mark or node.marked(),
        )

    recorded(), recorded()
    with native(False):
        expected = recorded()
    assert recorded() == expected
    numpy.testing.assert_allclose(
        operation(a, b), operation(numpy.asarray(a), numpy.asarray(b)), rtol=1e-14
    )


def assigned(np, turns):
    a = np.array(numpy.arange(144.0).reshape(12, 12))
    b = a * 2
    seen = []
    for k in range(turns):
        a[1:-1] = b[:-2]
        a[:, 2:] += a[:, :-2]
        b *= 0.5
        b[2:] -= a[:-2] * 0.125
        a[::2] = 3
        a += b
        c = a.copy()
        a[1] = c[2]
        c[:] = b
        if k % 4 == 3:
            seen.append(float(c.sum()))
        seen.append(c[k % 12, 1])
        a *= 0.25
    return seen, numpy.array(a), numpy.array(b)


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("small", [0, 30, 130])
def test_assignments(wanted, small):
    with np.config(small=small), native(wanted):
        ours, numpys = assigned(np, 40), assigned(numpy, 40)
    for mine, theirs in zip(ours, numpys, strict=True):
        numpy.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    def runs(wanted):
        with native(wanted), np.config(small=(0, 50, 300)[seed % 3]):
            return [program(np, seed) for _ in range(3)]

    for mine, theirs in zip(runs(True), runs(False), strict=True):
        for a, b in zip(mine, theirs, strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(a), numpy.asarray(b))


def test_what_is_alive_chooses_the_program():
    def turn(keep):
        a = u + 1.0
        b = a * 2.0
        total = float(b.sum())
        if keep == "a":
            kept.append(a)
        elif keep == "b":
            kept.append(b)
        return total

    u, kept = start(), []
    base = numpy.array(u)
    for k in range(120):
        assert turn(("a", "b", "")[k % 3]) == pytest.approx(((base + 1) * 2).sum())
    for array, expected in zip(kept, [base + 1, (base + 1) * 2] * 40, strict=True):
        numpy.testing.assert_array_equal(array, expected)


def test_memory_of_a_held_array_is_never_given_to_another():
    u, held = start(), []
    for k in range(200):
        step(u)
        if k % 7 == 0:
            held.append((u.copy(), numpy.array(u)))
    for ours, numpys in held:
        numpy.testing.assert_array_equal(ours, numpys)


@pytest.mark.slow
def test_memory_that_waits_goes_back_to_the_pool():
    gc.collect()
    before = pool.usage()
    u = start()
    for _ in range(300):
        step(u)
    del u
    gc.collect()
    assert pool.usage().buffers == before.buffers
    assert pool.usage().used == before.used


def test_warnings_name_the_line():
    u = np.array(numpy.ones((40, 40)))

    def turn():
        return float((1.0 / u).sum())

    for _ in range(200):
        turn()
    u[3, 3] = 0.0
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            turn()
        assert [str(w.message) for w in caught] == ["divide by zero encountered in divide"]
        assert caught[0].filename == __file__


def test_other_rules_for_errors_are_noticed():
    u = np.array(numpy.zeros((40, 40)))
    for k in range(150):
        with np.errstate(all="ignore"):
            assert numpy.isnan(float((u / u).sum())), k
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        float((u / u).sum())


@pytest.mark.slow
def test_memory_that_is_refused_leaves_all_as_it_was():
    u = np.array(numpy.ones((200, 200)))

    def turn():
        v = u * 2.0
        w = v.copy()
        w[1:] = v[:-1] + 1.0
        return w, float(w.sum())

    for _ in range(200):
        expected = turn()[1]
    pool.trim()
    limit = pool.limit
    pool.limit = pool.usage().used
    try:
        with pytest.raises(MemoryError, match="test_native_recorder"):
            turn()
    finally:
        pool.limit = limit
    assert turn()[1] == expected


def test_threads():
    def work(seed):
        u = start(50)
        u[-1] = seed
        for _ in range(150):
            step(u)
        results[seed] = numpy.array(u)

    results = {}
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = dict(results)
    for seed in range(3):
        work(seed)
        numpy.testing.assert_array_equal(together[seed], results[seed])


def test_long_chains_end():
    with np.config(small=0):
        a = np.array(numpy.zeros(5000))
        for _ in range(2000):
            a = a + 1.0
        del a
    gc.collect()


def test_integers_that_fit_into_no_index():
    a = np.array(numpy.arange(9.0).reshape(3, 3))
    for index in (1 << 62, 1 << 64, -(1 << 64), 3, -4):
        for key in (index, (0, index), (slice(None), index)):
            with pytest.raises(IndexError):
                a[key]
            with pytest.raises(IndexError):
                a[key] = 1.0
    assert float(a.sum()) == 36.0


def test_elements_under_a_mask_are_recorded():
    a = start()

    def turn():
        mask = a > 0.3
        chosen = a[mask]
        return float(chosen.sum()), a[1:][mask[1:].copy()].copy(), float(chosen[0])

    with policy.limited(draft_work=1):
        for _ in range(20):
            turn()
        names = entered(turn, 5)
    assert {"ndarray.__getitem__", "compressed"} & set(names) == set()
    total, part, first = turn()
    theirs = numpy.array(a)
    assert numpy.isclose(total, theirs[theirs > 0.3].sum(), rtol=1e-12)
    assert (numpy.array(part) == theirs[1:][theirs[1:] > 0.3]).all()
    assert first == theirs[theirs > 0.3][0]


def test_elements_under_a_mask_are_those_of_the_moment():
    a, b = start(), start()
    for turn in range(6):
        mask = a > 0.1 * turn
        chosen, others = a[mask], b.T[mask]
        a[0] += 1
        mask[:] = False
        b[:, 2] = -1.0
        theirs, whole = numpy.array(chosen), numpy.array(others)
        assert theirs.size == whole.size
        assert (theirs > 0.1 * turn).all()
        assert (a[mask].size, int(mask.sum())) == (0, 0)


def test_arithmetic_under_a_mask_is_assigned_without_python():
    def run(np):
        a, b = np.arange(40_000.0) % 7, np.ones(40_000)
        mask = a > 2

        def turn():
            a[mask] = a[mask] ** 2 % 5 + b[mask]
            b[mask] += 1

        for _ in range(4):
            turn()
        names = entered(turn, 3)
        return names, numpy.array(a), numpy.array(b)

    (names, *ours), (_, *theirs) = run(np), run(numpy)
    assert not [name for name in names if name.rpartition(".")[2] in ("put_masked", "_whole")]
    for mine, other in zip(ours, theirs, strict=True):
        numpy.testing.assert_allclose(mine, other)
