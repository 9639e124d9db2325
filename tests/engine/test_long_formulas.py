"""Long formulas are one kernel each, whatever names hold on the way; only what no kernel can follow is cut."""

import random

import numpy as np
import pytest

import atoll
from atoll import policy


def formula(size, seed):
    """A function of three arrays with a local for each operation, most of which are used several times."""
    choose = random.Random(seed)
    lines = ["def formula(np, a, b, c):", "    t0, t1, t2 = a * 1.0, b * 1.0, c * 1.0"]
    for k in range(3, size):
        first, second = (f"t{choose.randrange(max(0, k - 30), k)}" for _ in range(2))
        number = round(choose.random(), 3)
        lines.append(
            f"    t{k} = "
            + choose.choice(
                [
                    f"{first} * {number} - {second}",
                    f"{first} * {second} / (1 + {second} * {second})",
                    f"np.sqrt({first} * {first} + {number})",
                    f"({first} + {second}) * 0.5",
                ]
            )
        )
    names = " + ".join(f"t{k}" for k in range(size - 40, size))
    given = {}
    exec("\n".join([*lines, f"    return {names}"]), given)
    return given["formula"]


def data(n):
    return [np.linspace(first, last, n) for first, last in ((0, 1), (2, -1), (0.5, 0.7))]


@pytest.mark.parametrize("size", [60, 260, 600])
def test_a_formula_is_one_kernel_and_needs_memory_for_its_result_only(size):
    f = formula(size, size)
    with atoll.config(small=0):
        given = [atoll.array(x) for x in data(400)]
        atoll.sync()
        atoll.reset_stats()
        result = f(atoll, *given)
        assert len(atoll.explain(result).stored) == 1
        np.asarray(result)
        told = atoll.stats()
    assert told.plans_made <= 1
    assert told.kernels_run == 1
    assert told.planning_failures == 0
    np.testing.assert_allclose(np.asarray(result), f(np, *data(400)), rtol=1e-12)


def test_a_loop_that_recurs_is_cut_and_a_formula_of_as_many_operations_is_not():
    with atoll.config(small=0):
        x = atoll.arange(500.0)
        for _ in range(2 * policy.limits.pending):
            x = x * 0.5 + 1
        assert x._cell.node.value is not None or x._cell.node.weight < policy.limits.pending


@pytest.mark.parametrize("count", [30, 100])
def test_sums_of_many_arrays_are_cut_into_kernels_that_follow_them_all(count):
    given = [np.linspace(k, k + 1, 300) for k in range(count)]
    with atoll.config(small=0):
        ours = [atoll.array(x) for x in given]
        total = ours[0] * 2
        for x in ours[1:]:
            total = total + x * x
        told = atoll.explain(total)
        for launch in told.launches:
            assert len(launch.accesses) <= policy.limits.kernel_streams + 2
        right = given[0] * 2
        for x in given[1:]:
            right = right + x * x
        np.testing.assert_array_equal(np.asarray(total), right)


@pytest.mark.parametrize("operations", [5, 40, 300])
@pytest.mark.parametrize("streams", [2, 8, 100])
def test_kernels_cut_anywhere_give_the_same(operations, streams):
    f = formula(120, 3)
    given = data(300)
    with (
        atoll.config(small=0),
        policy.limited(kernel_operations=operations, kernel_streams=streams),
    ):
        result = np.asarray(f(atoll, *[atoll.array(x) for x in given]))
    np.testing.assert_array_equal(result, np.asarray(f(atoll, *[atoll.array(x) for x in given])))


def turned(np, x):
    return x[::-1] * 0.5 + 1


def joined(np, x):
    return np.concatenate([x[:1] + 1, x[1:] * 0.5])


def stacked(np, x):
    return (x[:, None] * 0.5)[:, 0] + 1


@pytest.mark.parametrize("turn", [turned, joined, stacked])
def test_deep_expressions_are_planned_without_recursion(turn):
    given = np.linspace(0, 1, 50)
    with (
        atoll.config(small=0),
        policy.limited(pending=10_000, kernel_operations=10_000),
    ):
        ours = atoll.array(given)
        for _ in range(400):
            ours, given = turn(atoll, ours), turn(np, given)
        before = atoll.stats().planning_failures
        np.testing.assert_allclose(np.asarray(ours), given, rtol=1e-12)
        assert atoll.stats().planning_failures == before
