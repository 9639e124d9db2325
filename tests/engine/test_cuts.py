"""A loop that nobody looks into is cut where its pending work grows too heavy: at the same lines in each turn."""

from itertools import pairwise

import numpy as np
import pytest

import atoll
from atoll import policy
from atoll.comm.simulated import run
from atoll.front import native
from atoll.graph.node import pending_behind
from atoll.lazy.selections import met_choices

from . import comparison, masked_statements, statements


def same(ours, theirs):
    """Assert that results are NumPy's, to rounding."""
    for mine, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(mine), right, rtol=1e-12, atol=1e-12)


def turns(np, count):
    """Waves whose speed decides about the next step; what is pending doubles with each line."""
    x = np.arange(400.0).reshape(20, 20)
    h, p = 1 + x / 400, x * 0
    for _ in range(count):
        ratio = 0.1 / np.abs(h).max()
        flux = p * p / h + h * h
        h, p = (
            (np.roll(h, 1, 0) + np.roll(h, -1, 0)) / 2
            - ratio * (np.roll(p, 1, 1) - np.roll(p, -1, 1)),
            (np.roll(p, 1, 0) + np.roll(p, -1, 1)) / 2 - ratio * (np.roll(flux, 1, 0) - flux),
        )
    return h, p


@pytest.mark.timeout(200)
def test_the_plans_of_a_loop_are_found_in_its_first_turns():
    with atoll.config(small=0):
        turns(atoll, 10)
        atoll.sync()
        atoll.reset_stats()
        h, p = turns(atoll, 12)
        assert atoll.stats().plans_reused >= 6  # it has been cut
        assert atoll.stats().plans_made <= 3
        same((h, p), turns(np, 12))


def heavy(np, x):
    """Waves as above, in one turn, without anything that all ranks have."""
    flux = x[0] * x[0] / x[1] + x[1] * x[1]
    h = (np.roll(x[1], 1, 0) + np.roll(x[1], -1, 0)) / 2 - 0.01 * (np.roll(x[0], 1, 1) - x[0])
    p = (np.roll(x[0], 1, 0) + np.roll(x[0], -1, 1)) / 2 - 0.01 * (np.roll(flux, 1, 0) - flux)
    return p, h


def beginning(np, rows, columns):
    x = np.arange(float(rows * columns)).reshape(rows, columns)
    return x * 0, 1 + x / (rows * columns)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 3)
def test_ranks_cut_loops_at_the_same_lines():
    turns(atoll, 10)
    atoll.sync()
    atoll.reset_stats()
    h, p = turns(atoll, 12)
    assert atoll.stats().plans_reused >= 6
    assert atoll.stats().plans_made <= 3
    same((h, p), turns(np, 12))


@pytest.mark.skipif(native is None, reason="the native front was not built")
@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_a_formula_is_evaluated_at_once():
    """More than 300 operations, each at a line of its own, are no loop."""
    lines = "".join([f"x = x * 0.5 + {k}\n" for k in range(160)])
    names = {"x": atoll.ones((40, 3))}
    before = atoll.stats()
    exec(compile(lines, "formula", "exec"), names)
    names["x"].sum().item()
    after = atoll.stats()
    made = after.plans_made + after.plans_reused - before.plans_made - before.plans_reused
    assert made == 1
    expected = {"x": np.ones((40, 3))}
    exec(compile(lines, "formula", "exec"), expected)
    same((names["x"],), (expected["x"],))


def spreading(np, u, v):
    """Two substances that react and spread: nothing is assigned, and nobody looks."""

    def around(a):
        near = np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1)
        return near - 4 * a

    reaction = u * v**2
    return (
        u + 0.16 * around(u) - reaction + 0.035 * (1 - u),
        v + 0.08 * around(v) + reaction - 0.1 * v,
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.ranks(2, 3, 4)
@pytest.mark.simulated(1, 3)
def test_a_loop_is_cut_between_its_turns(rank, size):
    """Then a turn is one nest of loops and one exchange, whatever else a rank still has."""
    start = np.arange(24.0 * 7).reshape(24, 7) / 200
    u, v, kept = atoll.array(start), atoll.array(1 - start), []
    for turn in range(24):
        if turn == 12:
            before = atoll.stats()
        u, v = spreading(atoll, u, v)
        if rank == 0:
            kept.append(v + 1)
    after = atoll.stats()
    assert after.plans_made == before.plans_made
    assert 3 <= after.plans_reused - before.plans_reused <= 6
    assert after.kernels_run - before.kernels_run == 12 * 9
    if size > 1:
        assert after.messages - before.messages == 12 * min(2, size - 1)
    x, y = start, 1 - start
    for _ in range(24):
        x, y = spreading(np, x, y)
    same((u, v), (x, y))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("rows", [20, 2])
def test_ranks_cut_loops_that_have_no_number_in_them(rows):
    x, y = beginning(atoll, rows, 7), beginning(np, rows, 7)
    for turn in range(20):
        if turn == 12:
            atoll.reset_stats()
        x, y = heavy(atoll, x), heavy(np, y)
    assert atoll.stats().plans_made <= 2
    same(x, y)


@pytest.mark.timeout(300)
@pytest.mark.ranks(2)
@pytest.mark.simulated(2, 3)
def test_ranks_that_have_different_things_pending_cut_together_all_the_same(rank):
    """Nothing is computed on one rank only, though it alone still has it."""
    x, y, kept = beginning(atoll, 20, 7), beginning(np, 20, 7), []
    for _ in range(12):
        x, y = heavy(atoll, x), heavy(np, y)
        extra = x[0] + 1
        if rank == 0:
            kept.append(extra)
    same(x, y)


@pytest.mark.timeout(300)
@pytest.mark.ranks(2)
@pytest.mark.simulated(2, 3)
def test_a_heavy_number_may_be_looked_at_on_one_rank(rank):
    x, y, seen, wanted = beginning(atoll, 20, 7), beginning(np, 20, 7), [], []
    for _ in range(9):
        x, y = heavy(atoll, heavy(atoll, x)), heavy(np, heavy(np, y))
        most, right = x[0].max(), y[0].max()
        if rank == 0:
            seen.append(float(most))
            wanted.append(right)
    same((*seen, x[1]), (*wanted, y[1]))


def test_a_loop_whose_turns_are_computed_grows_no_heavier() -> None:
    """What a turn makes of the one before weighs what the turn does, and is never cut."""
    with atoll.config(small=0):
        a, runs = atoll.zeros((40, 3)), []
        a[0] = 1.0
        for _ in range(24):
            a[1:-1] = (a[2:] + a[:-2]) / 2
            a[0] += 1
            runs.append(atoll.stats().kernels_run)
        turns = {after - before for before, after in pairwise(runs[2:])}
        assert len(turns) == 1
        assert turns != {0}


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_values_that_differ_in_a_number_alone_are_all_computed():
    x = atoll.arange(24.0).reshape(6, 4)
    atoll.sync()
    found = [x * 2, x * 3, x * 4]
    atoll.sync()
    before = atoll.stats().kernels_run
    for factor, one in zip((2, 3, 4), found, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.arange(24.0).reshape(6, 4) * factor)
    assert atoll.stats().kernels_run == before


@pytest.mark.parametrize("turns", [40, 3000])
def test_what_is_pending_is_bounded_however_long_a_loop_is(turns) -> None:
    """And so are its plans and its memory: pieces recur."""
    with atoll.config(small=0):
        u, v = beginning(atoll, 20, 7)
        first = atoll.stats()
        for turn in range(turns):
            u, v = spreading(atoll, u, v)
            dropped = u * 2 + v  # noqa: F841  nobody looks at it
            if turn == 30:
                known = atoll.stats()
            assert len(pending_behind(v._cell.node)) <= 2 * policy.limits.pending
        assert known.plans_made - first.plans_made <= 3
        assert atoll.stats().plans_made == known.plans_made


def test_values_that_wait_to_be_joined_are_computed_once_each() -> None:
    """Each of two long chains is a loop of its own."""
    right, failures = 1.0, atoll.stats().planning_failures
    with atoll.config(small=0):
        a = atoll.ones((40, 3))
        for _ in range(6):
            left, other = a * 0.5, a * 0.25
            for _ in range(policy.limits.pending * 2 // 3):
                left, other = left + 0.125, other - 0.125
            a = left + other
            assert float(a.sum()) == 40 * 3 * 0.75 * right
            right *= 0.75
        assert atoll.stats().planning_failures == failures


@pytest.mark.ranks(2)
@pytest.mark.simulated(2, 3)
def test_what_a_rank_remembers_of_a_line_does_not_decide_where_it_is_cut(rank):
    """Known operands are recorded natively, others in Python: both ways count what is pending."""
    start = np.arange(40.0).reshape(20, 2)
    x, y, few = atoll.array(start), start, atoll.array(start % 3 == 0)
    with policy.limited(pending=12):
        for k in range(40):
            if rank:
                met_choices.clear()
            x, y = atoll.where(few, x, float(k)), np.where(start % 3 == 0, y, float(k))
        same((x,), (y,))


def test_ranks_of_one_process_wait_for_no_lock_of_each_other():
    """Where one meets the bound in C and another one in Python, both hold a lock as they compute together."""
    program = statements.draw(
        27, 14, exports=False, ranks=True, kind=masked_statements.MaskedStatements
    )
    with policy.limited(pending=9):
        run(3, comparison.check, program, 0, seed=27)
