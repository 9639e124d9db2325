"""Loops whose slices move, where ranks compute together: planned a few times, and as the planner would plan them."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import backend, front
from atoll.execute.allocation import Allocate, Share
from atoll.execute.exchange import StartExchange
from atoll.layout import Block
from atoll.lazy import evaluation, runs
from atoll.plan.plans import Plans
from atoll.plan.samples import Sample
from tests.engine.test_plans import Loop, blocks, eliminate, emptying, shrinking
from tests.engine.test_scattered_shares import MAPS

pytestmark = pytest.mark.timeout(300)


def plain(pieces):
    """Pieces, with lists in place of index arrays."""
    return [
        tuple(
            [
                [part if type(part) is slice else part.tolist() for part in item]
                if type(item) is tuple and item and type(item[0]) is not int
                else item
                for item in piece
            ]
        )
        for piece in pieces
    ]


def pieces(program):
    """What a program sends, receives, copies and allocates for it."""
    return [
        (
            plain(step.exchange.receives),
            plain(step.exchange.sends),
            plain(step.exchange.copies),
            [(k, form.shape) for k, form in step.exchange.allocate],
        )
        for step in program.steps
        if type(step) is StartExchange
    ]


def kinds(program):
    """What its steps do; where a result lies in memory is each rank's own affair."""
    return [Allocate if type(step) is Share else type(step) for step in program.steps]


def check_planned(program, planned):
    assert pieces(program) == pieces(planned)
    assert kinds(program) == kinds(planned)
    assert program.fingerprint == planned.fingerprint


by_native = []
"""For each binding of a program by the native evaluation an empty list, or the error that it is not the program which this rank would have planned."""


@pytest.fixture(autouse=True)
def watched(monkeypatch):
    def watch(program, together, results, geometries, places, order):
        bound = bind(program, together, results, geometries, places, order)
        if bound is not None:
            sample = Sample(geometries, places)
            planned = program.plan.described(sample, backend.current().step.of)
            by_native.append([])
            try:
                check_planned(program, planned)
            except AssertionError as error:
                by_native[-1].append(error)
        return bound

    bind = runs.bound_again
    monkeypatch.setattr(runs, "bound_again", watch)
    by_native.clear()


def check_moved():
    """The programs that this rank has bound to other slices are those that it would have planned."""
    assert not any(by_native)
    moved = [
        one
        for one in evaluation._programs.programs.values()
        if one.communicator is not None and one.described
    ]
    for program in moved[:60]:
        planned = program.described(backend.current().step.of)
        check_planned(program, planned)
    evaluation._programs.forget()
    return len(moved) + len(by_native)


def close(ours, expected):
    scale = numpy.abs(expected).max()
    numpy.testing.assert_allclose(numpy.asarray(ours), expected, rtol=1e-12, atol=1e-13 * scale)


@pytest.mark.slow
@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("program", [eliminate, blocks, shrinking], ids=lambda one: one.__name__)
def test_the_number_of_plans_does_not_depend_on_the_number_of_steps(program):
    for n, steps in ((60, 40), (100, 80)):
        before = np.stats()
        close(program(np, n, steps), program(numpy, n, steps))
        after = np.stats()
        assert after.plans_reused - before.plans_reused > steps // 2
        assert after.plans_made - before.plans_made <= 24
        check_moved()


def on(layout, program, n, steps):
    """The same program with its array in a layout."""

    class Moved:
        outer = staticmethod(np.outer)

        @staticmethod
        def array(values):
            return np.array(values).redistribute(layout)

    close(program(Moved, n, steps), program(numpy, n, steps))


@pytest.mark.slow
@pytest.mark.ranks(4)
@pytest.mark.simulated(2)
@pytest.mark.parametrize("which", ["bn", "nb", "bb", "uneven", "empty", "few"])
def test_layouts_in_blocks(which, size):
    n = 40
    bounds = {
        "uneven": [0, *[3 + 5 * k for k in range(size - 1)], n],
        "empty": [0, *[13] * (size - 1), n],
    }.get(which)
    if bounds:
        layout = np.Layout((n, n), [Block(bounds), "n"], size=size)
    elif which == "few":
        layout = np.Layout((n, n), [Block([0, 17, n]), "n"], size=size, ranks=(1, 0))
    else:
        layout = np.Layout((n, n), which, size=size)
    np.reset_stats()
    on(layout, eliminate, n, 38)
    assert np.stats().plans_moved >= 10
    assert check_moved() >= 10
    on(layout, blocks, n, 20)
    on(layout, emptying, n, 6)
    assert check_moved() >= 10


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("which", ["nc", "cc", "by fives", "listed", "padded"])
def test_layouts_that_are_no_boxes(which, size):
    """Another rank owns the pivot at each step, and that takes no other plan."""
    n, steps = 30, 28
    layout = np.Layout((n, n), MAPS[which](n, size), size=size)
    np.reset_stats()
    on(layout, eliminate, n, steps)
    assert np.stats().plans_moved >= 12
    assert np.stats().plans_made <= steps // 2
    assert check_moved() >= 12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.simulated(2)
@pytest.mark.parametrize("seed", [0, 5])
def test_random_loops(seed):
    loop = Loop(seed)
    steps = loop.n - 2
    expected, sums = loop.run(numpy, steps, seed % 4)
    np.reset_stats()
    found, ours = loop.run(np, steps, seed % 4)
    for got, right in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(got, right, rtol=1e-11, equal_nan=True)
    numpy.testing.assert_allclose(ours, sums, rtol=1e-11, equal_nan=True)
    assert check_moved() > 0


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
def test_sums_of_slices_that_move():
    """Parts of an array that a rank has nothing of, and what all of them know afterwards."""
    b = numpy.arange(4000.0).reshape(80, 50)
    a = np.array(b)
    before = np.stats()
    ours, expected = [], []
    for k in range(60):
        part, right = a[k : k + 20, 1:], b[k : k + 20, 1:]
        ours.append(float((part * 0.5).sum() - part.max()))
        expected.append(float((right * 0.5).sum() - right.max()))
    numpy.testing.assert_allclose(ours, expected, rtol=1e-13)
    after = np.stats()
    assert after.plans_made - before.plans_made <= 24
    assert check_moved() > 20


def pivot(np, n, steps):
    a = np.array(numpy.random.default_rng(7).random((n, n)))
    for k in range(steps):
        p = k + int(np.abs(a[k:, k]).argmax())
        row = a[p].copy()
        a[p] = a[k]
        a[k] = row
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k][:, None] * a[k, k + 1 :]
    return a


def gram_schmidt(np, n, steps):
    """Sums along the rows of slices that move, joined across ranks."""
    a = np.array(numpy.random.default_rng(8).random((n, n)))
    for j in range(steps):
        a[:, j] /= np.sqrt((a[:, j] ** 2).sum())
        along = (a[:, j, None] * a[:, j + 1 :]).sum(0)
        a[:, j + 1 :] -= a[:, j, None] * along
    return a


def householder(np, n, steps):
    """Values that are looked at, and lie where the slices of that step did."""
    a = np.array(numpy.random.default_rng(9).random((n, n)) + numpy.eye(n))
    for k in range(steps):
        v = a[k:, k].copy()
        v[0] += np.sign(v[0]) * np.sqrt((v * v).sum())
        v /= np.sqrt((v * v).sum())
        a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
    return a


@pytest.mark.slow
@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize(
    ("program", "most"),
    [(pivot, 50), (gram_schmidt, 50), (householder, 130)],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_factorisations(program, most):
    n, steps = 60, 40
    before = np.stats()
    ours, expected = numpy.asarray(program(np, n, steps)), program(numpy, n, steps)
    after = np.stats()
    numpy.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-10)
    assert after.plans_reused - before.plans_reused > steps // 2
    assert after.plans_made - before.plans_made <= most
    assert check_moved() > steps // 2


def below(a, k):
    a[k + 1 :] -= 0.001 * a[k]


def beside(a, k):
    a[:, k + 1 :] += 0.001 * a[:, k : k + 1]


def corner(a, k):
    a[k + 1 :, k + 1 :] -= 0.001 * a[k + 1 :, k, None] * a[k, k + 1 :]


def smoothed(a, k):
    a[k, 1:-1] = (a[k - 1, 1:-1] + a[k + 1, 1:-1] + a[k, :-2] + a[k, 2:]) / 4


def projected(a, k):
    a[:, k] += 1e-4 * (a[:, k + 1 :] @ a[k, k + 1 :])


def folded(a, k):
    a[0] += 1e-4 * a[k:, :].sum(0)


@pytest.mark.skipif(front.native is None, reason="the native front was not built")
@pytest.mark.ranks(2)
@pytest.mark.parametrize("layout", ["bn", "nb"])
@pytest.mark.parametrize("turn", [below, beside, corner, smoothed, projected, folded])
def test_slices_that_move_are_bound_in_place(turn, layout, monkeypatch):
    """After some turns a rank looks for few plans, as long as no row or column comes to another owner: where the slices get so small that
    one loop computes them."""

    def counted(plans, *args):
        asked.append(plans)
        return bound(plans, *args)

    asked, bound = [], Plans.bound
    monkeypatch.setattr(Plans, "bound", counted)
    b = numpy.random.default_rng(2).random((120, 120))
    with np.config(small=0, everywhere=0):
        a = np.array(b, layout=layout)
        for k in range(1, 50):
            turn(b, k)
            turn(a, k)
            np.sync()
            if k == 25:
                asked.clear()
        numpy.testing.assert_allclose(numpy.asarray(a), b, rtol=1e-12)
    assert len(asked) <= 6
    assert len(by_native) >= 24
    assert not any(by_native)
