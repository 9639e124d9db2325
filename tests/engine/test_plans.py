"""Loops whose slices move are planned once, and compute what NumPy computes."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numpy
import pytest

import atoll as np
from atoll import policy

pytestmark = pytest.mark.timeout(240)  # many programs: on a busy machine a minute is too short

STARTS = ("k", "k + 1", "2 * k", "n - k - 1", "k // 2", "0", "3", "max(k - 2, 0)", "n - 2 - k")


def eliminate(np, n, steps):
    a = np.array(numpy.random.default_rng(3).random((n, n)) + n * numpy.eye(n))
    for k in range(steps):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def blocks(np, n, steps):
    a = np.array(numpy.random.default_rng(4).random((n, n)))
    for k in range(steps):
        a[k : k + 5, ::-1] += a[k + 5 : k + 10] * a[5, k]
    return a


def shrinking(np, n, steps):
    a = np.array(numpy.random.default_rng(5).random(n * n))
    for k in range(steps):
        a[k + 1 :] = a[k + 1 :] + a[: n * n - k - 1] / 2
        a[: n - k : 2] -= a[n - k : 2 * (n - k) : 2].sum() / 1000
    return a


def emptying(np, n, steps):
    a = np.array(numpy.random.default_rng(6).random((n, n)))
    for k in range(steps + n - steps // 2):
        a[k:, k:] -= a[k:, :1] * 0.25
        a[n - k :] *= 2
    return a


PROGRAMS = (eliminate, blocks, shrinking, emptying)


def made_by(program, n, steps):
    """How many plans a program makes, its result compared with NumPy's."""
    before = np.stats()
    with policy.limited(planned=0.0):
        ours = numpy.asarray(program(np, n, steps))
    after = np.stats()
    expected = program(numpy, n, steps)
    assert numpy.allclose(ours, expected, rtol=1e-13, atol=1e-13 * numpy.abs(expected).max())
    assert after.plans_reused - before.plans_reused > steps // 2
    return after.plans_made - before.plans_made


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_number_of_plans_does_not_depend_on_the_number_of_steps(program):
    with np.config(small=0):
        few = made_by(program, 60, 40)
        many = made_by(program, 130, 110)
    assert few <= 24
    assert many <= 24


def forgetting(number):
    """What a long process does to the tables: views and forms that live on were made when they were not yet full."""
    with policy.limited(entries=number):
        for k in range(2 * number):
            float((np.arange(500.0 + k)[k:] * 2).sum())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_number_of_plans_does_not_depend_on_what_tables_have_forgotten(program):
    with np.config(small=0):
        held = [program(np, n, 40) for n in (60, 130)]
        forgetting(3)
        assert made_by(program, 62, 40) <= 2
    assert held


def test_an_element_that_moves_alone():
    with np.config(small=0):
        a = np.arange(5000.0)
        expected = numpy.arange(5000.0)
        for k in range(30):
            a[k] = a[k + 1] + a[2 * k : 3 * k + 2].sum()
            expected[k] = expected[k + 1] + expected[2 * k : 3 * k + 2].sum()
        assert numpy.allclose(numpy.asarray(a), expected, rtol=1e-14)


def test_an_overlap_that_begins_and_ends():
    """The same statement is safe in place at some steps, and entangled at others."""
    with np.config(small=0):
        a, expected = np.arange(3000.0), numpy.arange(3000.0)
        for k in (0, 100, 400, 499, 500, 501, 600, 1000, 2000, 499, 250, 1):
            a[k : k + 500] = a[500:1000] * 2 - 1
            expected[k : k + 500] = expected[500:1000] * 2 - 1
            assert numpy.array_equal(numpy.asarray(a.copy()), expected), k


FOLDS = """
import numpy, atoll as np
rows = numpy.random.default_rng(0).random((2400, 3000)) < 0.5
for many in [*range(200, 2400, 100), *range(2301, 200, -173)] * 2:
    some = np.asarray(rows[:many].copy())
    for _ in range(3):
        assert (numpy.asarray(some.any(axis=0) & True) == rows[:many].any(axis=0)).all()
assert np.stats().plans_moved
"""


def test_folds_of_other_heights_have_memory_for_their_slabs():
    """The number of slabs follows from the rows; memory for too few of them ends the process, so it is one of its own."""
    command = [sys.executable, "-c", FOLDS]
    environment = {**os.environ, "ATOLL_NUM_THREADS": "1"}
    subprocess.run(command, check=True, timeout=120, env=environment)


def test_explanations_show_the_slices_of_their_own_step():
    with np.config(small=0):
        a = np.zeros((300, 300))
        texts = []
        for k in (10, 11, 12, 13):
            a[k:, 5:] += 1.0
            pending = str(np.explain(a))
            a.sum().item()
            texts.append((k, pending, str(np.explain(a))))
    for k, pending, done in texts:
        assert f"v1[{k}:, 5:]" in pending
        assert f"v1[{k}:, 5:]" in done


class Loop:
    """A random loop: statements on slices whose ends are functions of the step."""

    def __init__(self, seed):
        self.pick = random.Random(seed)
        self.n = self.pick.choice((23, 40))
        self.text = [self.statement() for _ in range(self.pick.randint(1, 4))]

    def slices(self, length_of):
        """An index of two axes; the lengths are the same for equal ``length_of``."""
        parts = []
        for length in length_of:
            start = self.pick.choice(STARTS)
            step = self.pick.choice((1, 1, 1, 2, -1, -2))
            # whatever does not fit is cut off, for all operands alike
            parts.append(f"cut({start}, {length}, {step}, n)")
        return f"[{', '.join(parts)}]"

    def statement(self):
        pick = self.pick
        length_of = [pick.choice(("n // 3", "n - k", "k", "4", "k // 2 + 1", "1")) for _ in "ab"]
        target = pick.choice("ab") + self.slices(length_of)
        terms = []
        for _ in range(pick.randint(1, 3)):
            kind = pick.random()
            if kind < 0.6:
                terms.append(pick.choice("ab") + self.slices(length_of))
            elif kind < 0.75:
                terms.append(f"a{self.slices([length_of[0], '1'])}")
            elif kind < 0.85:
                terms.append(f"b{self.slices(length_of)}.max(initial=0.5)")
            elif kind < 0.95:
                terms.append(f"np.where({pick.choice('ab')}{self.slices(length_of)} > 1, 2.0, 0.5)")
            else:
                terms.append("(k + 0.5)")
        sign = pick.choice(("=", "+=", "-=", "="))
        return f"{target} {sign} {pick.choice((' + ', ' - ', ' * ')).join(terms)} * 0.5"

    def run(self, np, steps, look):
        random_numbers = numpy.random.default_rng(1).random((2, self.n, self.n))
        space = {"np": np, "n": self.n, "cut": cut}
        space["a"], space["b"] = np.array(random_numbers[0]), np.array(random_numbers[1])
        found = []
        code = compile("\n".join(self.text), "loop", "exec")
        for k in range(steps):
            space["k"] = k
            exec(code, space)
            if look and k % look == 0:
                found.append(float(space["b"].sum()))
        return [numpy.asarray(space["a"]), numpy.asarray(space["b"])], found


def cut(start, length, step, n):
    """A slice of so many elements, pushed back into the axis."""
    span = max(length - 1, 0) * abs(step) + 1
    if span > n:
        step, span = (1 if step > 0 else -1), max(min(length, n), 1)
    low = min(max(start, 0), n - span)
    if length <= 0:
        return slice(low, low)
    if step > 0:
        return slice(low, low + span, step)
    stop = low - 1
    return slice(low + span - 1, None if stop < 0 else stop, step)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_loops_with_kernels():
    check(range(1000, 1008), 50)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("block", range(8))
def test_random_loops(block, by_numpy):
    check(range(10 * block, 10 * block + 10), 50)


def check(seeds, least):
    """Compare random loops with NumPy; at least so many of their steps move known plans."""
    moved = 0
    for seed in seeds:
        loop = Loop(seed)
        steps = loop.n - 2
        expected, sums = loop.run(numpy, steps, seed % 4)
        np.reset_stats()
        with np.config(small=0):
            found, ours = loop.run(np, steps, seed % 4)
        moved += np.stats().plans_moved
        report = f"seed {seed}\n" + "\n".join(loop.text)
        for got, right in zip(found, expected, strict=True):
            assert numpy.array_equal(got, right, equal_nan=True), report
        assert numpy.allclose(ours, sums, rtol=1e-12, equal_nan=True), report
    assert moved >= least


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_on_ranks(program):
    ours = numpy.asarray(program(np, 40, 12))
    expected = program(numpy, 40, 12)
    assert numpy.allclose(ours, expected, rtol=1e-13, atol=1e-13 * numpy.abs(expected).max())
