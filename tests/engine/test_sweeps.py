"""Kernels that go over large arrays together give what they give one after the other, and keep the order that their memory demands."""

import random

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.backend.base import Interval, Intervals
from atoll.execute import sweeps
from atoll.lazy import evaluation

from .test_plans_on_ranks import Loop
from .test_program_shapes import check

SWEPT = {"cached": 0, "chunk": 8, "pieces": 64}


@pytest.fixture
def always(monkeypatch):
    """Whatever can be swept is, from the first run on; the sweeps that ran."""
    ran = []
    run = sweeps.Sweep.run

    def noted(sweep, state):
        ran.append(sweep)
        run(sweep, state)

    monkeypatch.setattr(sweeps.Sweep, "run", noted)
    with policy.limited(**SWEPT), np.config(small=0, backend="llvm"):
        evaluation._programs.forget()
        yield ran
        evaluation._programs.forget()


def waves(xp, n, steps):
    """Two fields that drive each other, in place."""
    p, v, w = xp.zeros((n, n)), xp.zeros((n, n)), xp.zeros((n, n))
    p[n // 2, n // 3] = 1.0
    p[1:, 2] += 0.5
    for _ in range(steps):
        v[1:] -= 0.5 * (p[1:] - p[:-1])
        w[:, 1:] -= 0.5 * (p[:, 1:] - p[:, :-1])
        p[:-1, :-1] -= 0.7 * (v[1:, :-1] - v[:-1, :-1] + w[:-1, 1:] - w[:-1, :-1])
    return p, v, w


def turns(xp, n, steps):
    """Two grids that take turns."""
    u = xp.zeros((n, n))
    u[0] = 1.0
    u[:, 0] = xp.arange(n)
    v = u.copy()
    for _ in range(steps):
        v[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        u, v = v, u
    return u, v


def backwards(xp, n, steps):
    """Rows read from the end, columns, and a transposed array."""
    a = xp.arange(n * n, dtype=float).reshape(n, n) / n
    b = xp.ones((n, n))
    for _ in range(steps):
        b[::-1] += a[:, ::2].max(1)[:, None] * 1e-3
        a[1:] = b[:-1] * 0.5 + a[1:]
        b[:, 1:] = a.T[:, :-1] + b[:, 1:]
        a[:, ::-1] *= 0.25
    return a, b


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [7, 40])
@pytest.mark.parametrize("program", [waves, turns, backwards])
def test_sweeps_give_what_numpy_gives(program, n, threads, always):
    expected = program(numpy, n, 5)
    with np.config(threads=threads):
        results = program(np, n, 5)
        for result, right in zip(results, expected, strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(result), right)
    assert always


def test_a_program_that_runs_again_with_more_threads_cuts_its_blocks_anew(always):
    right = waves(numpy, 30, 6)
    for threads in (1, 3, 2):
        with np.config(threads=threads):
            for result, expected in zip(waves(np, 30, 6), right, strict=True):
                numpy.testing.assert_array_equal(numpy.asarray(result), expected)
    assert always


def drawn_launches(draw):
    """Launches whose chunks read and write intervals of a few registers: forwards, backwards, or anywhere."""
    launches = []
    for _ in range(draw.randint(2, 6)):
        chunks = draw.randint(1, 9)
        operands = []
        for _ in range(draw.randint(1, 4)):
            low = [draw.randint(0, 60) for _ in range(chunks)]
            way = draw.choice(("up", "up", "up", "down", "any"))
            if way != "any":
                low.sort(reverse=way == "down")
            low = numpy.array(low)
            high = low + numpy.array([draw.randint(1, 12) for _ in range(chunks)])
            operands.append(Interval(draw.randint(0, 3), draw.random() < 0.4, low, high))
        launches.append(sweeps.ChunkIntervals(Intervals(1, chunks, operands), {3: 2}))
    return launches


@pytest.mark.parametrize("seed", range(150))
def test_each_chunk_comes_after_all_earlier_ones_that_it_meets(seed):
    draw = random.Random(seed)
    launches = drawn_launches(draw)
    with policy.limited(pieces=draw.randint(1, 3)):
        order = sweeps.ordered(launches, draw.randint(1, 3))
    when = {}
    for time, (number, first, last) in enumerate(order):
        for chunk in range(first, last):
            assert (number, chunk) not in when
            when[number, chunk] = time
    assert sorted(when) == [
        (number, chunk)
        for number, launch in enumerate(launches)
        for chunk in range(launch.intervals.chunks)
    ]
    for later, earlier in [(b, a) for b in range(len(launches)) for a in range(b)]:
        for register in launches[later].of.keys() & launches[earlier].of.keys():
            for mine in launches[later].of[register]:
                for other in launches[earlier].of[register]:
                    if not (mine.written or other.written):
                        continue
                    for c in range(len(mine.low)):
                        for d in range(len(other.low)):
                            if mine.low[c] < other.high[d] and other.low[d] < mine.high[c]:
                                assert when[earlier, d] < when[later, c]


def test_a_stencil_follows_its_operand_at_a_distance_of_few_rows():
    rows = numpy.arange(100) * 8

    def launch(*operands):
        return sweeps.ChunkIntervals(
            Intervals(1, 100, [Interval(r, w, rows + a, rows + b) for r, w, a, b in operands]),
            {},
        )

    first = launch((0, False, -8, 16), (1, True, 0, 8))
    second = launch((1, False, -8, 16), (0, True, 0, 8))
    order = sweeps.ordered([first, second], 1)
    done = [0, 0]
    for number, low, high in order:
        assert done[number] == low
        done[number] = high
        assert 0 <= done[0] - done[1] <= 3
    assert done == [100, 100]


def peak_of(program):
    """The most memory that a program has taken, beyond what there was."""
    evaluation._programs.forget()
    np.sync()
    np.reset_stats()
    before = np.stats().peak_bytes
    right, result = program(numpy), program(np)
    numpy.testing.assert_array_equal(numpy.asarray(result), right)
    return np.stats().peak_bytes - before


def test_a_sweep_takes_no_more_memory_than_its_kernels_one_by_one(always):
    def chain(xp):
        a = xp.arange(4000.0).reshape(50, 80)
        for _ in range(6):
            a = a[::-1] * 0.5 + xp.roll(a, 1, 0)
        return a

    together = peak_of(chain)
    assert always
    with policy.limited(cached=1 << 60):
        assert together <= peak_of(chain)


@pytest.mark.slow
def test_memory_that_an_earlier_step_has_shared_is_the_same_memory(always):
    """A register may have taken over another one's memory long before the kernels that use both."""
    for seed in (5, 6):
        check(seed)
    assert always


@pytest.mark.simulated(2)
def test_shares_of_ranks_are_swept_alike(always):
    loop = Loop(5)
    expected, _ = loop.run(numpy, 12, 1)
    results, _ = loop.run(np, 12, 1)
    for result, right in zip(results, expected, strict=True):
        numpy.testing.assert_allclose(result, right, rtol=1e-11, equal_nan=True)
    assert always
