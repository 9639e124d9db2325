"""Arrays that ranks stop dividing, since the program picks from them, or reads and writes few elements, again and again."""

from __future__ import annotations

import random
from contextlib import contextmanager
from functools import wraps

import numpy
import pytest

import atoll
from atoll import policy
from atoll.comm.in_step import agree
from atoll.comm.world import current_world
from atoll.lazy import evaluation
from atoll.plan import build

from . import comparison, nested_statements, statements
from .test_replicated import Disturbance

N = 20
TURNS = 15


@contextmanager
def usual(**limits):
    """Ranks decide by themselves what they divide, and have learnt nothing yet."""
    log = current_world().communicator.log
    _forget(log)
    try:
        with atoll.config(small=6, everywhere=None), policy.limited(**{"everywhere": 10, **limits}):
            yield
    finally:
        _forget(log)


def _forget(log):
    log.losses, log.undivided, log.undivided_lines = {}, set(), {}
    log.extents.clear()
    log.stored_lines.clear()


def usually(test):
    """The test, under these settings."""

    @wraps(test)
    def wrapped(*args, **options):
        with usual():
            test(*args, **options)

    return wrapped


def traffic():
    """How many messages there were."""
    return atoll.stats().messages, atoll.world.communicator.traffic.collectives


def whole(n=N):
    return numpy.random.default_rng(5).integers(0, 128, (n, n)) / 128  # sums are exact


def masks(np, a):
    b = a.copy()
    b[b > 0.5] = 0.25
    return [numpy.asarray(b[b < 0.2]), numpy.asarray(b)]


def rows(np, a):
    return [float(a[np.array([3, 17, 3, k])].sum()) for k in range(5)]


def fronts(np, a):
    front = np.zeros(N, dtype=bool)
    front[0] = True
    found = []
    for _ in range(3):
        front = (a[front] > 0.95).any(axis=0)
        found.append(numpy.asarray(front))
    return found


def positions(np, a):
    return [numpy.asarray(np.nonzero(a > 0.9)[0]), numpy.asarray(np.where(a[7] > 0.3)[0])]


def elements(np, a):
    return [float(a[k, -k]) for k in range(0, N, 3)]


def written(np, a):
    for k in range(0, N, 2):
        a[k, 3] = a[k - 1, 4] + 1
        a[k, 2:5] = k
    return [numpy.asarray(a)]


def neighbours(np, a):
    return [len(np.where(a[k] < 0.3)[0]) for k in range(N)]


def in_place(np, a):
    for k in range(1, N):
        a[k] += a[k - 1]
    return [numpy.asarray(a)]


def at_indices(np, a):
    np.add.at(a, (np.array([1, 4, 1]), np.array([0, 19, 0])), 2.5)
    a[np.array([2, 18])] = 1.5
    return [numpy.asarray(a), numpy.asarray(np.take(a, [5, 6], axis=1))]


def trailing(np, a):
    for k in range(1, N - 1):
        a[k:, k:] -= 0.5 * a[k:, k - 1 : k]
    return [numpy.asarray(a)]


PROGRAMS = [
    trailing,
    masks,
    rows,
    fronts,
    positions,
    elements,
    written,
    neighbours,
    in_place,
    at_indices,
]


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@usually
def test_what_takes_a_message_at_each_turn_takes_none_in_the_end(program):
    assert not atoll.array(whole()).layout.is_replicated
    for _ in range(TURNS):
        given = atoll.array(whole())
        before = traffic()
        found = program(atoll, given)
        after = traffic()
        for ours, theirs in zip(found, program(numpy, whole()), strict=True):
            numpy.testing.assert_array_equal(ours, theirs)
    assert given.layout.is_replicated
    assert after == before


@pytest.mark.ranks(2, 3)
@usually
def test_few_elements_at_indices_are_little_work_however_large_the_array():
    """The ends of diagonals, as an alignment reads and writes them."""
    a, b = atoll.zeros((800, 800)), numpy.zeros((800, 800))
    for _ in range(4 * TURNS):
        for np, m in ((atoll, a), (numpy, b)):
            i = np.arange(1, 40)
            m[i, 40 - i] = m[i - 1, 40 - i] + m[i, 39 - i] + 1
        numpy.testing.assert_array_equal(a[20], b[20])
    assert a.layout.is_replicated


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@usually
def test_an_array_that_is_there_comes_to_all_ranks(program):
    a, b = atoll.array(whole()), whole()
    for _ in range(TURNS):
        before = traffic()
        for ours, theirs in zip(program(atoll, a), program(numpy, b), strict=True):
            numpy.testing.assert_array_equal(ours, theirs)
        after = traffic()
    assert after == before
    a[1:] = a[:-1] * 2
    b[1:] = b[:-1] * 2
    numpy.testing.assert_array_equal(numpy.asarray(a), b)


@pytest.mark.ranks(2, 3)
@usually
def test_views_and_copies_of_an_array_come_along():
    a, b = atoll.array(whole()), whole()
    view, theirs, copy = a[2:, ::-1], b[2:, ::-1], a.copy()
    for _ in range(TURNS):
        rows(atoll, a)
    view[0] = 7
    theirs[0] = 7
    numpy.testing.assert_array_equal(numpy.asarray(a), b)
    numpy.testing.assert_array_equal(numpy.asarray(view), theirs)
    numpy.testing.assert_array_equal(numpy.asarray(copy), whole())


@pytest.mark.ranks(2, 3)
def test_what_gains_by_being_divided_stays_so():
    with usual(step=1):
        a = atoll.array(whole())
        for _ in range(TURNS):
            a = a * 0.5 + atoll.sqrt(a) - a
            assert float(a.sum()) != 1
            masks(atoll, a)
        assert not a.layout.is_replicated
        assert not atoll.array(whole()).layout.is_replicated


def laplace(u, turn):
    old = u.copy()
    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    assert float(((u - old) ** 2).sum()) >= 0


def with_reductions(u, turn):
    u[1:] = u[:-1]
    assert float(u.min()) <= float(u.mean()) <= float(u.max())


def with_rows(u, turn):
    u[0] += u.sum(0)
    u *= 0.5
    atoll.sync()


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("step", [laplace, with_reductions, with_rows])
@usually
def test_loops_over_whole_arrays_stay_divided_however_little_they_compute(step):
    u = atoll.array(whole())
    for turn in range(4 * TURNS):
        step(u, turn)
    assert not u.layout.is_replicated


@pytest.mark.ranks(2, 3)
@usually
def test_a_mask_on_ranks_selects_from_what_every_rank_has(size):
    a, mask = atoll.array(whole()), numpy.arange(N) % 10 == 0
    current_world().communicator.log.undivided.add((N, N))
    divided = atoll.zeros(N, dtype=bool, layout=atoll.Layout((N,), size=size))
    divided[...] = mask
    for key, theirs in ((divided, mask), ((slice(None), divided), (slice(None), mask))):
        numpy.testing.assert_array_equal(numpy.asarray(a[key]), whole()[theirs])
        copy, expected = a.copy(), whole()
        copy[key], expected[theirs] = 7, 7
        numpy.testing.assert_array_equal(numpy.asarray(copy), expected)


@pytest.mark.ranks(2, 3)
@usually
def test_what_the_program_has_laid_out_stays_so(size):
    layout = atoll.Layout((N, N), "nb", size=size)
    a = atoll.zeros((N, N), layout=layout)
    a[...] = whole()
    for _ in range(TURNS):
        masks(atoll, a)
        rows(atoll, a)
    assert a.layout == layout


@pytest.mark.ranks(2, 3)
@usually
def test_what_ranks_have_the_blocks_of_stays_divided():
    a = atoll.array(whole())
    block = a.local
    for _ in range(TURNS):
        numpy.testing.assert_array_equal(numpy.asarray(a[a > 0.5]), whole()[whole() > 0.5])
    assert not a.layout.is_replicated
    assert numpy.shares_memory(block, a.local)


@pytest.mark.ranks(2, 3)
@usually
def test_a_setting_of_the_program_is_obeyed():
    with atoll.config(everywhere=10):
        a = atoll.array(whole())
        for _ in range(TURNS):
            masks(atoll, a)
            rows(atoll, a)
        assert not a.layout.is_replicated


@pytest.mark.ranks(2, 3)
def test_rows_of_what_is_pending_are_not_planned_one_by_one():
    with usual(short=64):
        a, b = atoll.array(whole()), whole()
        sums, theirs = a[:, :1] + a[:1], b[:, :1] + b[:1]
        before = atoll.stats()
        for k in range(5 * N):
            near = numpy.asarray(sums[k % N, 2:7] > 0.5)
            numpy.testing.assert_array_equal(near, theirs[k % N, 2:7] > 0.5)
        after = atoll.stats()
        plans = after.plans_made + after.plans_reused - before.plans_made - before.plans_reused
        assert plans < 3 * N


class Some(set):
    """Shapes of which ranks no longer divide arrays, whatever was done with them."""

    def __contains__(self, shape):
        return sum(shape) % 3 < 2


def compare(seed, lines):
    """Ranks look, one at a time, at what all of them have; so they do in between with what they have by then."""
    disturbance = Disturbance(seed, spread=1)
    program = statements.draw(seed, lines, ranks=True, kind=nested_statements.NestedStatements)
    with usual():
        current_world().communicator.log.undivided = Some()
        comparison.check(program, seed % 2, make=disturbance.make, after=disturbance.look)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize("block", range(3))
def test_random_programs_agree_while_their_arrays_cease_to_be_divided(block):
    for seed in range(block * 12, block * 12 + 12):
        compare(seed, 8)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.ranks(2, 3)
def test_random_programs_agree_on_ranks():
    for seed in range(500, 510):
        compare(seed, 8)


@pytest.mark.slow
@pytest.mark.simulated(2, 3, 16)
@usually
def test_simulated_ranks_agree_too():
    rng = random.Random(3)
    a, b = atoll.array(whole()), whole()
    for _ in range(4 * TURNS):
        program = rng.choice(PROGRAMS)
        for ours, theirs in zip(program(atoll, a), program(numpy, b), strict=True):
            numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.simulated(1, 2, 3, 4)
@pytest.mark.parametrize("shape", [(N * N,), (N, N)])
@usually
def test_an_iterator_goes_on_where_it_is_when_the_array_ceases_to_be_divided(shape):
    a = atoll.ones(shape) + whole().reshape(shape)
    elements = a.flat
    found = [next(elements) for _ in range(3)]
    current_world().communicator.log.undivided.add(shape)
    total = a * 2  # brings the array to all ranks
    found += list(elements)
    assert numpy.array_equal(found, whole().ravel() + 1.0)
    assert numpy.array_equal(numpy.asarray(total), (whole().reshape(shape) + 1.0) * 2)


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(2)
def test_a_divided_value_is_assigned_without_a_copy_of_the_array(size, monkeypatch):
    z = atoll.arange(240.0).reshape(40, 6)
    whole = numpy.arange(240.0).reshape(40, 6)
    ours = atoll.zeros((40, 7)).redistribute(atoll.Layout.replicated((40, 7), size))
    theirs = numpy.zeros((40, 7))
    atoll.sync()
    evaluation._programs.forget()
    monkeypatch.setattr(build, "Copy", None)  # a plan that needs one fails
    before = atoll.stats().planning_failures
    for k in range(6):
        ours[:, k + 1] = ours[:, k] * 0.5 + z[:, k]
        theirs[:, k + 1] = theirs[:, k] * 0.5 + whole[:, k]
    ours[z[:, 0] > 50] = 1.5
    theirs[whole[:, 0] > 50] = 1.5
    atoll.sync()
    assert atoll.stats().planning_failures == before
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


@pytest.mark.simulated(3)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("make", [atoll.zeros_like, atoll.ones_like, atoll.empty_like])
def test_an_array_like_another_has_no_layout_that_the_program_has_chosen(make):
    with usual():
        a = atoll.arange(float(N * N)).reshape(N, N) + 1
        ours = make(a)
        assert a._cell.node.place is not None
        assert ours._cell.node.place is not None
        for k in range(N):
            ours[:, k] = a[:, k] * 2
        assert (N, N) in current_world().communicator.log.undivided
        numpy.testing.assert_array_equal(numpy.asarray(ours), numpy.asarray(a) * 2)


@pytest.mark.simulated(3)
@pytest.mark.ranks(2)
def test_an_array_that_is_only_written_is_brought_to_all_ranks():
    with usual():
        ours, theirs = atoll.arange(float(N * N)).reshape(N, N) + 1, numpy.zeros((N, N))
        assert ours._cell.node.place is not None
        for turn in range(3):
            for k in range(N):
                ours[:, k] = turn + k
                theirs[:, k] = turn + k
        assert ours._cell.node.place is None
        numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


@pytest.mark.ranks(1, 2)
@pytest.mark.simulated(3)
@usually
def test_an_explanation_says_why_every_rank_has_a_value(size):
    a, few = atoll.array(whole()), atoll.arange(8.0)
    divided, small = atoll.explain(a + 1).what, atoll.explain(few + few).what
    for _ in range(TURNS):
        rows(atoll, a)
    lost = atoll.explain(atoll.array(whole()) + 1).what
    assert "on every rank" not in divided
    if size == 1:
        assert {small, lost} == {"(8,) float64", "(20,20) float64"}
    else:
        assert small == "(8,) float64, on every rank, since it has less than 60 elements"
        assert "on every rank, since dividing such arrays was expected to lose" in lost


@pytest.mark.ranks(2)
def test_ranks_that_plan_at_different_turns_agree_on_the_accounts(rank):
    with usual(entries=12, step=3000):
        a, kept = atoll.array(whole(40)), []
        for k in range(60):
            y = a + k
            atoll.sync()
            root = atoll.sqrt(y)
            if rank == 0:
                kept = [
                    [y, None, root][k % 3]
                ]  # so that the native evaluation does not know the trace
            del y
            assert float((root * 3).max()) > 0
            for j in range(1, 1 + k * 7 % 12):
                assert float((a[j:, j:] * 2).sum()) > 0
            log = current_world().communicator.log
            accounts = sorted((shape, loss) for shape, loss in log.losses.items())
            assert (
                len(set(map(str, agree(current_world().communicator, accounts, "accounts")))) == 1
            )
        assert len(kept) == (rank == 0)


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
def test_a_reshape_that_moves_elements_counts_against_its_arrays(size):
    """Images are divided along an axis of them; as a table of pixels they lie in rows of it."""
    images = numpy.arange(4 * 24 * 24 * 8.0).reshape(4, 24, 24, 8) % 7
    weights = numpy.arange(16.0).reshape(8, 2)
    with usual(step=0):
        a = atoll.array(images)
        assert not a.layout.is_replicated
        for _ in range(12):
            ours = (a.reshape(-1, 8) @ weights).reshape(4, 24, 24, 2)
            total = float(ours.sum())
        assert total == float((images.reshape(-1, 8) @ weights).sum())
        assert a.shape in current_world().communicator.log.undivided
        assert atoll.array(images).layout.is_replicated
