"""How long ago the memory of a step was touched before: against caches that drop what was touched longest ago."""

from __future__ import annotations

import random
from math import inf

import pytest

import atoll as np
from atoll.modelling import counted
from atoll.modelling.reuse import Reuse, Span, span
from atoll.modelling.work import Work

N = 300


class Lines:
    """The stack of all lines in the order in which they were touched."""

    def __init__(self):
        self.stack = []

    def sweep(self, spans):
        """Touch the spans together, line by line; the mean distance of each."""
        told = [[] for _ in spans]
        longest = max(high - low for low, high, _ in spans)
        for step in range(longest):
            for (low, high, _), distances in zip(spans, told, strict=True):
                if step * (high - low) // longest == (step - 1) * (high - low) // longest:
                    continue
                line = low + step * (high - low) // longest
                if line in self.stack:
                    place = self.stack.index(line)
                    distances.append(len(self.stack) - place)
                    del self.stack[place]
                else:
                    distances.append(inf)
                self.stack.append(line)
        return told


@pytest.mark.parametrize("seed", range(6))
def test_distances_are_those_of_lines_that_leave_in_order(seed):
    chosen = random.Random(seed)
    arrays = [(1000 * k, 1000 * k + 40 * chosen.randint(1, 4)) for k in range(4)]
    loops = [chosen.sample(arrays, chosen.randint(1, 3)) for _ in range(4)] * 4
    lines, reuse = Lines(), Reuse()
    for number, loop in enumerate(loops):
        spans = [Span(low, high, high - low) for low, high in loop]
        exact = lines.sweep(spans)
        told = reuse.touched(spans)
        if number < len(loops) // 2:  # the first ones touch memory that is new
            continue
        for distances, parts, each in zip(exact, told, spans, strict=True):
            assert sum(nbytes for nbytes, _ in parts) == each.nbytes
            mean = sum(nbytes * distance for nbytes, distance in parts) / each.nbytes
            assert mean == pytest.approx(sum(distances) / len(distances), rel=0.35)


def test_what_was_never_touched_is_new_and_parts_are_told_apart():
    reuse = Reuse()
    assert reuse.touched([Span(0, 100, 100)]) == [((100, inf),)]
    assert reuse.touched([Span(50, 150, 100)]) == [((50, 100.0), (50, inf))]
    # of what was touched first, a half was touched again
    assert reuse.touched([Span(0, 50, 50)]) == [((50, 150.0),)]


def test_elements_that_lie_apart_bring_whole_lines_and_leave_the_array_as_it_was():
    assert span(0, (100,), (8,), 8) == Span(0, 800, 800)
    assert span(0, (100,), (16,), 8) == Span(0, 1592, 1592)
    assert span(0, (100,), (8000,), 8) == Span(0, 792_008, 6400)
    assert span(800, (100,), (-8,), 8) == Span(8, 808, 800)
    assert span(0, (0, 3), (8, 8), 8) is None
    reuse = Reuse()
    array, column = Span(0, 800_000, 800_000), Span(0, 792_008, 6400)
    reuse.touched([array])
    reuse.touched([column])
    assert reuse.touched([array]) == [((800_000, 800_000.0),)]


def doubled():
    u = np.ones((N, N))
    while True:
        u[...] = u * 2 + 1
        np.sync()
        yield


def gradient():
    x, r = np.zeros((N, N)), np.ones((N, N))
    p, rho = r.copy(), 1.0
    while True:
        q = 4 * p
        q[1:] -= p[:-1]
        alpha = rho / (p * q).sum()
        x += alpha * p
        r -= alpha * q
        before, rho = rho, (r * r).sum() + 1
        p = r + (rho / before) * p
        yield


def laplace():
    u = np.zeros((N, N))
    while True:
        old = u.copy()
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        yield float(((u - old) ** 2).sum())


def kernels(program):
    """The kernels that a step runs once it repeats itself."""
    steps = program()
    for _ in range(8):
        next(steps)
    before = np.stats().kernels_run
    next(steps)
    return np.stats().kernels_run - before


@pytest.mark.parametrize("program", [doubled, gradient, laplace])
def test_the_kernels_of_a_step_are_those_that_run(program):
    with np.config(small=0):
        work = [event for event in counted(program, 0, 1) if isinstance(event, Work)]
        assert len([each for each in work if each.kind == "kernel"]) == kernels(program)


def test_an_array_that_is_written_over_is_touched_once():
    with np.config(small=0):
        (work,) = [event for event in counted(doubled, 0, 1) if isinstance(event, Work)]
    assert work.touched == ((N * N * 8, N * N * 8.0),)


def test_no_memory_of_a_step_that_repeats_itself_is_new():
    with np.config(small=0):
        work = [event for event in counted(gradient, 0, 1) if isinstance(event, Work)]
    far = [distance for each in work for _, distance in each.touched]
    # x, r, and two each of p and q, give or take what a loop has done of its own arrays
    assert max(far) <= 7 * N * N * 8
