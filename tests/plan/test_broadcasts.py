"""A region that many ranks read goes along a tree of ranks, by nodes first, and has NumPy's values."""

import itertools
import sys
from collections import Counter

import numpy
import pytest

import atoll as np
from atoll import Cyclic, Layout, Unstructured, front, policy
from atoll.comm.dry_run import dry_run_world
from atoll.comm.nodes import consecutive, numbered
from atoll.comm.simulated import Simulation
from atoll.exchange.broadcasts import Line
from atoll.exchange.schedule import Exchange
from atoll.lazy import evaluation

SHAPE = (24, 18)

NODES = [(1,) * 16, (4,) * 4, (16,), (8, 8), (5, 5, 5, 1), (1, 2, 3, 4, 6)]
"""The numbers of ranks on nodes."""


def line_of(cells, grid, counts):
    layout = Layout(tuple([2 * n for n in grid]), "b" * len(grid), size=16, grid=grid)
    marks = numpy.repeat(numpy.arange(len(counts)), counts)
    return Line(layout, cells, numbered(marks))


@pytest.mark.parametrize("few", [2, 16])
@pytest.mark.parametrize("counts", NODES, ids=str)
@pytest.mark.parametrize(
    ("grid", "cells"),
    [
        ((16,), (range(16),)),
        ((16,), (range(3, 12),)),
        ((16,), ((0, 1, 5, 9, 10, 15),)),
        ((4, 4), (range(4), (2,))),
        ((4, 4), (range(4), range(4))),
        ((2, 8), ((1,), range(1, 8))),
    ],
    ids=str,
)
def test_each_rank_of_a_line_gets_the_region_once(grid, cells, counts, few):
    with policy.limited(few_ranks=few):
        line = line_of(cells, grid, counts)
        every = list(itertools.product(*cells))
        for root in (every[0], every[len(every) // 2]):
            arrived = Counter([line.rank_at(root)])
            for cell in every:
                parent, children = line.neighbours(cell, root)
                arrived.update(children)
                sender = next(c for c in every if line.rank_at(c) == parent)
                assert cell == root or line.rank_at(cell) in line.neighbours(sender, root)[1]
                assert len(children) <= (15 if len(every) <= few else len(every).bit_length() + 1)
            assert arrived == Counter({line.rank_at(cell): 1 for cell in every})


@pytest.mark.parametrize("per_node", [2, 4, 8])
def test_a_region_goes_to_a_node_once(per_node):
    layout = Layout((1000, 8), "bn", size=1000)
    line = Line(layout, (range(1000), range(1)), consecutive(1000, per_node))
    nodes = line.nodes
    far = [
        (parent, rank)
        for rank in range(1000)
        if not nodes.same(parent := line.neighbours((rank, 0), (501, 0))[0], rank)
    ]
    assert len(far) == nodes.count - 1
    assert len({nodes.of(rank) for _, rank in far}) == nodes.count - 1


def rows(np, u, v, k):
    return u - u[k] * v[(3 * k + 1) % 24] + u[0]


def assigned(np, u, v, k):
    w = u.copy()
    w[1:-1] = w[1:-1] - v[k] + w[0]
    w[:, 2:] -= v[:, :1]
    w -= w[3]
    return w


def eliminated(np, u, v, k):
    w = v.copy()
    for j in range(6):
        w[j + 1 :, j + 1 :] -= np.outer(w[j + 1 :, j], w[j, j + 1 :]) * 1e-3
    return w + u[k]


PROGRAMS = {
    "rows": rows,
    "assigned": assigned,
    "eliminated": eliminated,
    "row and column": lambda np, u, v, k: u - v[:, 1:2] * u[k],
    "element": lambda np, u, v, k: u * v[k : k + 1, 2:3],
    "column over rows": lambda np, u, v, k: u[:, :] - v[:18, k],
    "with a shift": lambda np, u, v, k: u[1:] - u[:-1] * v[k],
    "a slice that moves": lambda np, u, v, k: u[2 : k + 6] - v[0] + u[5],
    "backwards": lambda np, u, v, k: u[::-2] - v[k],
    "on every rank": lambda np, u, v, k: u[k] + v[1],
    "reduced": lambda np, u, v, k: (u * v[k]).sum(0),
    "rolled": lambda np, u, v, k: np.roll(u, 1, 0) + np.roll(v, 1, 1) + u[k],
    "by NumPy": lambda np, u, v, k: np.nextafter(u, v[k]),
}


def layouts(size):
    generator = numpy.random.default_rng(size)
    owners = generator.integers(0, size, SHAPE[0])
    listed = Unstructured([numpy.flatnonzero(owners == rank) for rank in range(size)])
    uneven = np.Block((0, *sorted(generator.integers(0, 25, size - 1).tolist()), 24))
    maps = ["bn", "bb", "cn", "nb", (Cyclic(3), "c"), (listed, "n"), (uneven, "n")]
    made = [Layout(SHAPE, each, size=size) for each in maps]
    if size > 2:
        made.append(Layout(SHAPE, "bn", size=size, ranks=range(size - 1, 0, -1)))
    return made


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_numpy(name, size):
    """On nodes of two or three ranks, lines of more than two ranks have trees; rows move, so plans are replayed and bound anew."""
    program, steps = PROGRAMS[name], (1, 1, 1, 2, 3, 4)
    a = numpy.random.default_rng(3).random(SHAPE)
    b = a[::-1] * 2 + 1
    pairs = list(itertools.product(layouts(size), repeat=2))
    number = list(PROGRAMS).index(name)
    failures = np.stats().planning_failures
    for n, (first, second) in enumerate(pairs[(number + size) % 9 :: 9]):

        def run(first=first, second=second):
            with np.config(small=0, everywhere=0):
                u, v = np.array(a).redistribute(first), np.array(b).redistribute(second)
                return [numpy.asarray(program(np, u, v, k)) for k in steps]

        with np.config(ranks_per_node=(2, 3, 1)[n % 3]), policy.limited(few_ranks=2):
            results = Simulation(size, seed=n, rendezvous=bool(n % 2)).run(run)
        expected = [program(numpy, a, b, k) for k in steps]
        for found in results:
            for mine, theirs in zip(found, expected, strict=True):
                numpy.testing.assert_allclose(mine, theirs)
    assert np.stats().planning_failures == failures


def messages_of(program, first, second, rank, size, per_node):
    with np.config(small=0, everywhere=0), dry_run_world(rank, size, ranks_per_node=per_node):
        u, v = np.zeros(SHAPE, layout=first), np.zeros(SHAPE, layout=second)
        u[0], v[0] = 1.0, 2.0
        np.sync()
        return np.explain(program(np, u, v, 3)).messages


@pytest.mark.slow
@pytest.mark.parametrize("per_node", [1, 2, 3])
@pytest.mark.parametrize("name", ["rows", "row and column", "element", "column over rows"])
def test_what_is_sent_is_what_is_received(name, per_node):
    size = 7
    for first, second in list(itertools.product(layouts(size), repeat=2))[per_node::5]:
        sent, received = Counter(), Counter()
        with policy.limited(few_ranks=3):
            for rank in range(size):
                for m in messages_of(PROGRAMS[name], first, second, rank, size, per_node):
                    (sent if m.sends else received).update(
                        [(rank, m.peer, m.nbytes) if m.sends else (m.peer, rank, m.nbytes)]
                    )
        assert sent == received


@pytest.mark.skipif(front.native is None, reason="the native front was not built")
@pytest.mark.ranks(4)
def test_rows_are_passed_on_without_python():
    """Rank 2 receives the row and passes it on to rank 3. A wait may be Python's; the beginnings are C's."""
    values, begun = numpy.arange(52.0).reshape(13, 4), []

    def step():
        result = u - u[0]
        result._evaluate()
        return result

    def note(frame, event, argument):
        if event == "call" and frame.f_code is Exchange.begin.__code__:
            begun.append(frame)

    with np.config(small=0, everywhere=0), policy.limited(few_ranks=2):
        u = np.array(values).redistribute(Layout(values.shape, "bn", size=4))
        messages = []
        for _ in range(5):
            before = np.stats().messages
            step()
            messages.append(np.stats().messages - before)
        sys.setprofile(note)
        try:
            result = step()
        finally:
            sys.setprofile(None)
    evaluation._programs.forget()  # plans for few ranks that are two would serve later tests
    assert not begun
    assert set(messages) == {(2, 0, 1, 0)[np.world.rank]}
    numpy.testing.assert_array_equal(numpy.asarray(result), values - values[0])


def test_an_explanation_names_what_is_passed_on():
    layout = Layout((200, 4), "bn", size=40)
    with np.config(small=0, everywhere=0), dry_run_world(16, 40):
        u = np.zeros((200, 4), layout=layout)
        u[0] = 1.0
        np.sync()
        shown = str(np.explain(u - u[0]))
    assert "receive a[:1], 32 bytes, from rank 0" in shown
    for rank in (17, 18, 20, 24):
        assert f"send a[:1], 32 bytes, to rank {rank}" in shown
