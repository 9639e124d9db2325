"""A rank plans its messages from those ranks alone that can read what it owns."""

import itertools
from collections import Counter

import numpy as np
import pytest

import atoll
from atoll import Cyclic, Layout, Unstructured
from atoll.comm.dry_run import dry_run_world
from atoll.config import config
from atoll.errors import CommunicationError
from atoll.exchange import ghosts, readers
from atoll.plan import build

SHAPE = (24, 18)
PROGRAMS = {
    "shift": lambda a, b: a[1:, 1:] + a[:-1, :-1],
    "backwards": lambda a, b: a + a[::-1, ::-1],
    "strided": lambda a, b: a[::3, 1::2] - b[1::3, ::2],
    "strided onto dense": lambda a, b: a[:8, :9] - b[1::3, ::2],
    "backwards with a step": lambda a, b: a[:8] - b[::-3],
    "transposed": lambda a, b: a[:18, :18] * b[:18, :18].T,
    "row and column": lambda a, b: a[5] * b[:, 3:4],
    "diagonal": lambda a, b: np.diagonal(a)[:16] + np.diagonal(b, 2),
    "reduction": lambda a, b: (a[2:] * b[:-2]).sum(keepdims=True),
    "fold of rows": lambda a, b: (a - b).sum(axis=0) + b[1],
    "by NumPy": lambda a, b: atoll.nextafter(a, b[:1]),
}


def stencil(a, b):
    a[1:-1, 1:-1] = (b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:]) / 4
    return a


def assigned(a, b):
    a[3:9, ::2] = b[10:16, 9:]
    a[::-2, 4] = b[:12, 0]
    return a + 1


def layouts(size):
    """Layouts of the shape, each for all ranks or most of them."""
    generator = np.random.default_rng(size)
    owners = generator.integers(0, size, SHAPE[0])
    listed = Unstructured([np.flatnonzero(owners == rank) for rank in range(size)])
    maps = ["bn", "nb", "bb", "cn", ("n", Cyclic(2)), (Cyclic(3), "c"), (listed, "n")]
    found = [Layout(SHAPE, each, size=size) for each in maps]
    if size > 2:
        found.append(Layout(SHAPE, "bn", size=size, ranks=range(size - 1, 0, -1)))
    return found


def explained(program, first, second, rank, size):
    """What one rank's plan sends and receives, without any other rank."""
    with config(small=0), dry_run_world(rank, size):
        a = atoll.zeros(SHAPE, layout=first)
        b = atoll.zeros(SHAPE, layout=second)
        a[0], b[0] = 1.0, 2.0
        atoll.sync()
        return atoll.explain(program(a, b)).messages


ALL = [*PROGRAMS.values(), stencil, assigned]


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("program", ALL, ids=[*PROGRAMS, "stencil", "assigned"])
def test_what_is_sent_is_what_is_received(program, size):
    pairs = list(itertools.product(layouts(size), repeat=2))
    # A third of the pairs, another one on each number of ranks: any three programs have all.
    for first, second in pairs[(ALL.index(program) + size % 4) % 3 :: 3]:
        sent, received = Counter(), Counter()
        for rank in range(size):
            for message in explained(program, first, second, rank, size):
                if message.sends:
                    sent[rank, message.peer, message.nbytes] += 1
                else:
                    received[message.peer, rank, message.nbytes] += 1
        assert sent == received, (first, second)


def counted(monkeypatch, rank, size, maps):
    """For which ranks the boxes of one step of a stencil are worked out, and its messages."""
    asked, regions = [], []
    original, under = build.bodies_of, ghosts.region_under

    def counting(group, registers, reusable, who):
        asked.append(who)
        return original(group, registers, reusable, who)

    def noting(outer, sets):
        regions.append(sets[0])
        return under(outer, sets)

    with config(small=0), dry_run_world(rank, size):
        u = atoll.zeros((4 * size, 64), layout=Layout((4 * size, 64), maps, size=size))
        u[0] = 1.0
        atoll.sync()
        monkeypatch.setattr(build, "bodies_of", counting)
        monkeypatch.setattr(ghosts, "region_under", noting)
        if maps == "bn":
            u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        else:
            u = u[1:-1, 1:-1] + u[:-2, 1:-1] + u[2:, 1:-1]
        found = atoll.explain(u)
        monkeypatch.undo()
        layout = u.layout
    asked += [
        peer
        for peer in range(size)
        if regions and layout.region(peer)[0] in regions and peer != rank
    ]
    return asked, found.messages


@pytest.mark.parametrize("maps", ["bn", (Cyclic(4), "n")], ids=str)
@pytest.mark.parametrize("size", [4, 64, 1024])
def test_a_halo_step_asks_two_neighbours_among_any_number(monkeypatch, maps, size):
    rank = size // 2
    asked, messages = counted(monkeypatch, rank, size, maps)
    assert sorted(asked) == [rank - 1, rank, rank + 1]
    assert sorted((m.peer, m.sends) for m in messages) == [
        (rank - 1, False),
        (rank - 1, True),
        (rank + 1, False),
        (rank + 1, True),
    ]


def test_a_plan_that_asks_too_few_is_noticed(monkeypatch):
    monkeypatch.setattr(build, "readers_of", lambda *given: set())
    with pytest.raises(AssertionError):
        test_what_is_sent_is_what_is_received(PROGRAMS["shift"], 2)


def test_readers_of_a_stride_that_steps_over_a_share():
    layout = Layout((4,), "b", size=4)
    mine = (readers.Range(5, 7),)
    assert readers.who_reads(mine, ((0, ((0, 10),)),), layout) >= {0, 1}
    assert readers.who_reads(mine, ((100, ((0, 1),)),), layout) == set()
    assert readers.who_reads(mine, ((6, ()),), layout) == {0, 1, 2, 3}
    assert readers.who_reads(mine, ((7, ()),), layout) == set()


def test_readers_of_one_element_are_those_whose_share_meets_the_assigned_part():
    layout = Layout((40, 8), "bb", size=16, grid=(4, 4))
    row = (5, ()), (0, ((1, 1),))  # the loop reads row 5 at each of its rows
    mine, own = (readers.Range(0, 10), readers.Range(2, 4)), ((0, ((0, 1),)), (0, ((1, 1),)))
    assert readers.who_reads(mine, row, layout) == {1, 5, 9, 13}
    for rows, ranks in (((0, 1), {1}), ((9, 12), {1, 5}), ((39, 40), {13})):
        part = (readers.Range(*rows), readers.Range(0, 8)), own
        assert readers.who_reads(mine, row, layout, part) == ranks


@pytest.mark.parametrize("rank", [0, 1, 38, 39])
def test_the_ends_of_a_gradient_are_read_by_their_own_rank(rank):
    with config(small=0, everywhere=0), dry_run_world(rank, 40):
        u = atoll.zeros((320,), layout=Layout((320,), "b", size=40))
        u[0] = 1.0
        atoll.sync()
        messages = atoll.explain(atoll.gradient(u)).messages
    beside = {rank - 1, rank + 1} & {*range(40)}
    assert sorted((m.peer, m.sends) for m in messages) == sorted(
        itertools.product(beside, (False, True))
    )


@pytest.mark.parametrize("maps", ["bb", (Cyclic(2), "b")], ids=str)
@pytest.mark.parametrize("steps", [(32, 1), (-32, 1), (7, 3), (1, -25)])
def test_readers_of_a_sum_of_two_indices_are_those_whose_share_reaches_it(steps, maps):
    """As in a reshape, where element ``(i, j)`` is element ``32 * i + j`` of a line."""
    domain = 25, 32
    layout, line = Layout(domain, maps, size=100, grid=(10, 10)), Layout((900,), "b", size=100)
    start = sum(max(-step, 0) * (n - 1) for step, n in zip(steps, domain))
    outer = ((start, ((0, steps[0]), (1, steps[1]))),)
    read = [
        {start + steps[0] * i + steps[1] * j for i, j in itertools.product(*layout.region(rank))}
        for rank in range(100)
    ]
    if layout.is_block:  # a rank gets all between the first and the last element
        read = [set(range(min(part), max(part) + 1)) for part in read]
    for mine in map(line.region, range(0, 100, 3)):
        asked = readers.who_reads(mine, outer, layout)
        assert asked >= {rank for rank in range(100) if not read[rank].isdisjoint(mine[0])}
        assert len(asked) <= 30 or steps == (7, 3)


def test_an_imagined_rank_talks_to_nobody():
    with config(small=0), dry_run_world(3, 8):
        u = atoll.ones((80, 4))
        with pytest.raises(CommunicationError, match="rank 3 of 8 is a dry run"):
            float((u[1:] - u[:-1]).sum())


@pytest.mark.parametrize(("letters", "neighbours"), [("bn", 2), ("bb", 4)])
def test_a_neighbour_gets_one_message_from_an_array(letters, neighbours):
    shape = (120, 120)
    with config(small=0), dry_run_world(4, 9):
        u = atoll.zeros(shape, layout=Layout(shape, letters, size=9))
        u[0] = 1.0
        atoll.sync()
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        messages = atoll.explain(u).messages
    for sends in (True, False):
        peers = [message.peer for message in messages if message.sends is sends]
        assert len(peers) == len(set(peers)) == neighbours


def test_edges_that_meet_are_one_ghost_region_each():
    shape = (60, 60)
    with config(small=0), dry_run_world(1, 3):
        u = atoll.zeros(shape, layout=Layout(shape, "bn", size=3))
        u[0] = 1.0
        atoll.sync()
        around = atoll.roll(u, 1, 0) + atoll.roll(u, -1, 0) + atoll.roll(u, 1, 1)
        messages = atoll.explain(around).messages
    assert sorted((m.peer, m.sends, m.nbytes) for m in messages) == [
        (0, False, 480),
        (0, True, 480),
        (2, False, 480),
        (2, True, 480),
    ]
