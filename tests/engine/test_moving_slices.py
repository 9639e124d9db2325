"""Loops whose slices move: a program is bound to the next ones without Python."""

import os
import sys

import numpy
import pytest

import atoll
from atoll import policy
from atoll.front import native
from atoll.lazy.evaluation import _programs
from atoll.plan import motion

PACKAGE = os.path.dirname(atoll.__file__)


def shortest_paths(np, a):
    for k in range(len(a)):
        a[:] = np.minimum(a, a[:, k, None] + a[None, k, :])


def elimination(np, a):
    for k in range(len(a) // 2):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[None, k, k + 1 :]


def levels_of_time(np, a):
    flat, total = a.reshape(20, -1), 0.0
    for k in range(len(flat) - 1):
        total += float(flat[k, 7])
        flat[k + 1, 1:-1] = 0.25 * flat[k, :-2] + 0.5 * flat[k, 1:-1] + 0.25 * flat[k, 2:]


def turned_bands(np, a):
    for k in range(len(a) - 61):
        a[k : k + 60, :] = a[k : k + 60, :] * 0.5 + a[k + 1 : k + 61, ::-1] * 0.5


def overlaps(np, a):
    flat = a.reshape(-1)
    for k in (0, 100, 3000, 4000, 4001, 5000, 9000, 20000, 4000, 1):
        flat[k : k + 4000] = flat[4000:8000] * 0.5 - 1


def sums_of_less(np, a):
    for k in range(0, len(a) - 40, 3):
        a[k, :] += (a[k:, k:] * 0.001).sum() + a[k:, :].max()


PROGRAMS = [shortest_paths, elimination, levels_of_time, turned_bands, overlaps, sums_of_less]


def start():
    return numpy.random.default_rng(7).random((200, 200)) + 200 * numpy.eye(200)


def calls_of(program, a):
    """How many functions of atoll's in Python run."""
    count = 0

    def note(frame, event, _):
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(PACKAGE)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        program(atoll, a)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("small", [100, policy.limits.small])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values(program, small):
    expected = start()
    with atoll.config(small=small):
        a = atoll.array(start())
        for _ in range(3):
            program(atoll, a)
            program(numpy, expected)
            numpy.testing.assert_allclose(numpy.asarray(a.copy()), expected, rtol=1e-12)


@pytest.mark.skipif(native is None, reason="the native front was not built")
@pytest.mark.compiled
@pytest.mark.parametrize(
    "program", [shortest_paths, elimination, turned_bands], ids=lambda program: program.__name__
)
def test_no_turn_asks_python(program):
    a = atoll.array(start())
    for _ in range(3):
        program(atoll, a)
        a.sum().item()
    before = atoll.stats()
    assert calls_of(program, a) <= 10 * len(a)  # memory, and the length of chunks; a plan takes 200
    a.sum().item()
    after = atoll.stats()
    assert after.plans_moved - before.plans_moved > 15
    assert after.plans_made == before.plans_made


def test_numbers_and_arrays_in_the_same_places():
    with atoll.config(small=0):
        for n in (300, 400, 500):
            a, b = atoll.arange(float(n)), numpy.arange(float(n))
            for np, x in ((atoll, a), (numpy, b)):
                x[1:] = np.where(x[1:] > 30, x[:-1], 2.0)
                x[1:] = np.where(x[1:] > 30, x[:-1], x[1:] + 0.5)
                x[1:] = np.where(x[1:] > 30, 1.0, 2.0)
            assert numpy.array_equal(numpy.asarray(a), b)


@pytest.mark.skipif(native is None, reason="the native front was not built")
@pytest.mark.compiled
@pytest.mark.parametrize("fails", [False, True])
def test_a_program_that_is_being_bound_is_not_bound_to_others(fails, monkeypatch):
    """A handler of signals may evaluate other slices in the middle, or raise."""
    inner, expected = start(), start()
    b = atoll.array(inner)
    left = []

    def largest(np, a, k):
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[None, k, k + 1 :] * 1e-3
        return int(np.abs(a[k:, k]).argmax())

    def interrupted(step, node):
        if left and left.pop() == "now":
            if fails:
                raise InterruptedError
            left.append("no more")
            assert largest(atoll, b, 33) == largest(numpy, inner, 33)
        call(step, node)

    call = motion._call
    monkeypatch.setattr(motion, "_call", interrupted)
    _programs.forget()
    a, raised = atoll.array(start()), 0
    for k in range(60):
        left[:] = ["now"] if k in (40, 50) else []
        right = largest(numpy, expected, k)
        try:
            assert largest(atoll, a, k) == right
        except InterruptedError:
            raised += 1
            assert int(atoll.abs(a[k:, k]).argmax()) == right
    assert raised == 2 * fails
    numpy.testing.assert_array_equal(numpy.asarray(a), expected)
    numpy.testing.assert_array_equal(numpy.asarray(b), inner)
    _programs.forget()


@pytest.mark.skipif(native is None, reason="the native front was not built")
def test_many_short_views_of_pending_work_compute_it():
    a, b = atoll.array(numpy.ones((60_000, 4))), atoll.array(numpy.ones((60_000, 4)))
    a += 1
    for i in range(40):
        total = a[i, :3] + b[i, :3]
    assert calls_of(lambda np, a: [a[i, :3] + b[i, :3] for i in range(40, 90)], a) == 0
    assert total.tolist() == [3.0] * 3
    assert "evaluated" in str(atoll.explain(a))


SELECTIONS = (
    "b[ok][:, None].sum(1)", "(b[ok][:, None] * 2).sum(1)", "b[ok].reshape(-1, 1) * e", "(d[ok] * b[ok][:, None]).mean(axis=1)",
    "(d[ok] * b[ok][:, None]).sum(1)", "(b[ok][:, None] - b[:3]).min(1)", "np.where(d[ok] > 0.5, b[ok][:, None], 0).sum(1)", "np.linalg.norm(d[ok] - b[ok][:, None], axis=1)",
    "(d.T[:, ok] * b[ok]).sum(0)", "np.cumsum(b[ok])", "(b[ok] * b[ok][::-1])[1:]", "b[ok][:-1] - b[ok][1:]", "(d[:k] * b[:k, None]).sum(1)",
    "(d[:k].T * 2).sum(0)", "np.outer(b[:k], e[0]).sum(1)", "(d[:k] > 0.5).sum(1)", "d[:k].argmax(1)", "np.zeros(k) + b[:k]", "np.var(b[:k])",
    "np.stack([b[ok], b[ok] * 2]).sum(0)", "np.maximum(b[ok], 0.5)[::2].copy()",
)  # fmt: skip


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("n", [900, 40_000, 70_000])
def test_lengths_change_with_every_turn(selection, n):
    """Memory that a program fills before it adds to it has the length of each turn, too."""

    def turns(np):
        rng = numpy.random.default_rng(1)
        names = {"np": np, "b": np.array(rng.random(n)), "d": np.array(rng.random((n, 3))), "e": np.array(rng.random((1, 4)))}  # fmt: skip
        for turn in range(9):
            names["ok"] = np.array(rng.random(n) < (0.3, 0.25, 0.4, 0.1)[turn % 4])
            names["k"] = n - 17 * (turn + 1)
            yield numpy.array(eval(selection, names))

    with atoll.config(small=100 if n == 900 else 30_000):
        for found, expected in zip(turns(atoll), turns(numpy), strict=True):
            numpy.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.skipif(native is None, reason="the native front was not built")
def test_numpy_multiplies_parts_of_rows_where_they_are():
    def products(np, a, lengths):
        return [float(np.dot(a[n, :n], a[n - 1, :n]) + np.vdot(a[n, :n], a[:n, n])) for n in lengths]  # fmt: skip

    a = atoll.array(numpy.random.default_rng(3).random((200, 200)))
    assert a[0, 0] > 0
    assert calls_of(lambda np, a: products(np, a, range(10, 100)), a) == 0
    assert products(atoll, a, range(100, 190)) == products(numpy, numpy.asarray(a), range(100, 190))
