"""Pieces from all ranks to all ranks, by few messages between nodes."""

import re
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.collective import routes
from atoll.collective.messages import answered, uneven
from atoll.comm.dry_run import CountingCommunicator
from atoll.comm.nodes import Charges, consecutive, numbered
from atoll.comm.simulated import Simulation
from atoll.errors import DivergenceError


def on_nodes(size, per_node, function, **options):
    """What each rank returns, and how many messages it sent to other nodes."""
    with np.config(ranks_per_node=per_node):
        simulation = Simulation(size, **options)

    def counted():
        traffic = np.world.communicator.traffic
        before = traffic.copy()
        result = function()
        return result, (traffic - before).messages_between_nodes

    results = simulation.run(counted)
    return [result for result, _ in results], [messages for _, messages in results]


def pieces_of(rank, size, longest, seed):
    random = numpy.random.default_rng([seed, rank])
    return {
        peer: random.integers(0, 100, (int(random.integers(0, longest)), 2), numpy.int16) + rank
        for peer in range(size)
        if random.random() < 0.8
    }


@pytest.mark.parametrize(("size", "per_node"), [(4, 2), (5, 2), (7, 3), (6, 4)])
@pytest.mark.parametrize("longest", [1, 5, 9000])
def test_every_piece_arrives(size, per_node, longest):
    def exchanged():
        here = np.world.communicator
        pieces = pieces_of(here.rank, size, longest, 3)
        return uneven(here, [pieces], [numpy.empty((0, 2), numpy.int16)], "pieces")[0]

    for seed in range(2):
        results, _ = on_nodes(size, per_node, exchanged, seed=seed, rendezvous=bool(seed))
        for rank, arrived in enumerate(results):
            sent = {peer: pieces_of(peer, size, longest, 3).get(rank, ()) for peer in range(size)}
            expected = {peer: piece for peer, piece in sent.items() if len(piece)}
            assert arrived.keys() == expected.keys()
            for peer, piece in arrived.items():
                assert piece.dtype == numpy.int16
                assert piece.flags.aligned
                numpy.testing.assert_array_equal(piece, expected[peer])


@pytest.mark.parametrize(("length", "messages"), [(1, 1), (100, 2)])
def test_two_nodes_exchange_a_message_or_two_however_many_ranks_they_have(length, messages):
    def exchanged():
        here = np.world.communicator
        pieces = {peer: numpy.full(length, peer) for peer in range(here.size)}
        (arrived,) = uneven(here, [pieces], [numpy.empty(0, numpy.int64)], "pieces")
        return all((piece == here.rank).all() for piece in arrived.values()) and len(arrived)

    for per_node in (2, 3, 4):
        results, sent = on_nodes(3 * per_node, per_node, exchanged)
        assert results == [3 * per_node] * (3 * per_node)
        assert sum(sent) == messages * 3 * 2


def asked_of(rank, size, seed):
    random = numpy.random.default_rng([seed, rank])
    asked = {peer: int(random.integers(0, 4)) * int(random.integers(0, 4)) for peer in range(size)}
    return {peer: 10_000 * (rank == peer + 1) + count for peer, count in asked.items() if count}


@pytest.mark.parametrize(("size", "per_node"), [(4, 2), (5, 2), (7, 3), (9, 3)])
@pytest.mark.parametrize("width", [0, 1, 3])
def test_answers_travel_back_by_one_message_for_each_pair_of_nodes(size, per_node, width):
    """Both short answers and long ones, to requests of some ranks, which are short, long or empty."""

    def requested():
        here = np.world.communicator
        requests = {peer: numpy.arange(n) for peer, n in asked_of(here.rank, size, 5).items()}
        requests[(here.rank + 1) % size] = numpy.arange(0)
        traffic = here.traffic
        begun = [0]

        def answers(wanted):
            begun[0] = traffic.messages_between_nodes
            return {
                peer: numpy.repeat(here.rank + places[:, None] * 0.5, width, 1)
                for peer, places in wanted.items()
            }

        forms = numpy.empty(0, numpy.int64), numpy.empty((0, width))
        found = answered(here, requests, answers, forms, ("requests", "answers"))
        assert found.keys() == requests.keys()
        for peer, places in requests.items():
            expected = numpy.repeat(peer + places[:, None] * 0.5, width, 1)
            numpy.testing.assert_array_equal(found[peer], expected)
        return traffic.messages_between_nodes - begun[0]

    nodes = consecutive(size, per_node)
    pairs, long = set(), 0
    for rank in range(size):
        for peer, count in asked_of(rank, size, 5).items():
            if peer != (rank + 1) % size and not nodes.same(peer, rank) and width:
                if count * width * 8 > policy.limits.packed:
                    long += 1
                else:
                    pairs.add((nodes.of(peer), nodes.of(rank)))
    for seed in range(2):
        sent, _ = on_nodes(size, per_node, requested, seed=seed, rendezvous=bool(seed))
        assert sum(sent) == len(pairs) + long


@pytest.mark.parametrize("size", [10**2, 10**4, 10**6])
def test_the_messages_of_a_rank_to_other_nodes_grow_with_nodes_by_ranks_per_node(size):
    nodes = consecutive(size, 50)
    charges = Charges(nodes, size // 3)
    assert len(charges.of(charges.me)) <= -(-nodes.count // 50)


@pytest.mark.parametrize("marks", ["aabb", "abab", "aaabbc", "abcabca"])
def test_both_ends_know_who_carries_what(marks):
    nodes = numbered(numpy.array([ord(mark) for mark in marks]))
    pairs = set()
    for rank in range(nodes.size):
        charges = Charges(nodes, rank)
        for node in charges.of(charges.me):
            pairs.add((rank, charges.partner(node)))
    assert {(b, a) for a, b in pairs} == pairs
    assert len(pairs) == nodes.count * (nodes.count - 1)


PROGRAMS = {
    "sort": lambda a: np.sort(a.reshape(-1)),
    "argsort": lambda a: np.argsort(a.reshape(-1)),
    "fancy indexing": lambda a: a[np.argsort(a[:, 3])[::3]],
    "mask": lambda a: a[a > 0.7],
    "scatter": lambda a: np.add.at(b := np.zeros(90), (a * 90).astype(int).reshape(-1), 1.0) or b,
    "sum": lambda a: a.sum(0),
    "minimum": lambda a: a.min(0),
    "argmax": lambda a: a.argmax(0),
    "assigned": lambda a: a.__setitem__(np.argsort(a[:, 3]), a[::-1] * 2) or a,
    "searchsorted": lambda a: np.searchsorted(np.sort(a.reshape(-1)), a[:, 5]),
    "reduceat": lambda a: np.add.reduceat(a.reshape(-1), [0, 7, 5, 1000]),
    "cyclic": lambda a: a.redistribute(np.Layout((63, 36), "cn")),
    "fft": lambda a: np.fft.fft2(a),
    "transposed": lambda a: np.sort(a, axis=0),
    "reshape": lambda a: a.reshape(7, -1) + 1,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_same_results_with_nodes(name):
    def computed():
        with np.config(small=0, everywhere=0):
            a = np.random.default_rng(1).random((63, 36)).redistribute(np.Layout((63, 36), "bn"))
            return numpy.asarray(PROGRAMS[name](a))

    (expected, *_), _ = on_nodes(6, 1, computed)
    for per_node in (2, 4):
        results, _ = on_nodes(6, per_node, computed)
        for result in results:
            numpy.testing.assert_array_equal(result, expected)


def test_a_transpose_of_short_pieces_goes_by_nodes(monkeypatch):
    def transposed():
        with np.config(small=0, everywhere=0):
            a = np.ones((64, 64), layout=np.Layout((64, 64), "bn"))
            return a.redistribute(np.Layout((64, 64), "nb")).local.shape

    shapes, messages = on_nodes(8, 4, transposed)
    assert shapes == [(64, 8)] * 8
    assert sum(messages) == 2 * 2
    with policy.limited(packed=64):
        assert sum(on_nodes(8, 4, transposed)[1]) == 2 * 4 * 4


@pytest.mark.parametrize(
    ("size", "per_node", "saves"), [(3, 2, False), (4, 2, True), (5, 4, True), (6, 2, True)]
)
def test_pieces_go_by_nodes_where_that_saves_messages_between_nodes(size, per_node, saves):
    """Of two nodes with two ranks and one, each rank has a piece for each: two messages each way by itself, as by nodes."""

    def sorted_():
        with np.config(small=0, everywhere=0):
            a = np.array(numpy.random.default_rng(1).random(60))
            a = a.redistribute(np.Layout(60, "b"))
            before = np.world.communicator.traffic.messages_sent
            assert (numpy.diff(numpy.asarray(np.sort(a))) >= 0).all()
            return np.world.communicator.traffic.messages_sent - before

    alone, cross_alone = on_nodes(size, 1, sorted_)
    sent, cross = on_nodes(size, per_node, sorted_)
    assert consecutive(size, per_node).save_messages == saves
    assert numbered(numpy.arange(size) * 7 % size // per_node).save_messages == saves
    if saves:
        assert sum(cross) < sum(cross_alone)
    else:
        assert sent == alone


def test_pays_where_it_saves_messages():
    def pays(first, second, size, per_node, length=10_000):
        shape = (length, length)
        source, target = (np.Layout(shape, letters, size=size) for letters in (first, second))
        return routes.pays(source, target, 8, consecutive(size, per_node))

    assert pays("bn", "nb", 1000, 10)
    assert not pays("bn", "nb", 1000, 1)
    assert not pays("bn", "nb", 1000, 1000)
    assert not pays("bn", "nb", 10, 5)  # pieces of 8 MB
    assert not pays("bn", "bn", 1000, 2)  # each rank has few pieces
    assert pays("bb", "bn", 2**16, 64, 2**16)
    assert pays("bn", "cn", 1000, 10)
    assert not pays("cn", "cn", 1000, 10)
    assert not pays("nn", "bn", 1000, 10)  # each rank has it


def test_ranks_that_have_diverged_are_told():
    def exchanged():
        here = np.world.communicator
        if here.rank == 2:
            here.log.step(1, "something else")
        uneven(here, [{}], [numpy.empty(0)], "pieces")

    with pytest.raises(DivergenceError, match="something else"):
        on_nodes(4, 2, exchanged)


@pytest.mark.ranks(4)
def test_real_ranks_sort_on_pretended_nodes(rank, size):
    own = np.world.comm.Dup()
    values = numpy.random.default_rng(2).random(5001)
    with np.config(ranks_per_node=2, small=0, everywhere=0), np.use(own):
        assert np.world.nodes.count == 2
        a = np.array(values).redistribute(np.Layout(5001, "b"))
        numpy.testing.assert_array_equal(np.sort(a), numpy.sort(values))
        numpy.testing.assert_array_equal(a[np.argsort(a)[::7]], numpy.sort(values)[::7])
        np.sync()


def test_no_table_is_as_long_as_the_number_of_ranks():
    def peak(size):
        communicator = CountingCommunicator(size // 3, size, 50)
        communicator.nodes = consecutive(size, 50)
        pieces = {size // 3 + k: numpy.ones(24, numpy.uint8) for k in (0, 1, 60, size // 2)}
        tracemalloc.start()
        try:
            routes.Round(communicator, pieces, "pieces")
            return tracemalloc.get_traced_memory()[1], len(communicator.events)
        finally:
            tracemalloc.stop()

    peak(10**3)
    (few, messages), (many, more) = peak(10**3), peak(10**6)
    assert many <= few + 65536
    assert more <= messages + 6 * 20


class Counted(Simulation):
    """A simulation that counts the messages between two groups of consecutive ranks, whatever their nodes."""

    def __init__(self, size, group):
        super().__init__(size)
        self.group = group
        self.pairs = Counter()

    def post_send(self, request, array, context, dest, tag):
        self.pairs[request.owner.number // self.group, dest // self.group] += 1
        super().post_send(request, array, context, dest, tag)


def between_two_nodes(code, per_node):
    """The most messages of a step from one group of four ranks to another one, of sixteen ranks."""
    with np.config(ranks_per_node=per_node):
        simulation = Counted(16, 4)

    def repeated():
        random, size = numpy.random.default_rng(1), 4096

        def on_ranks(values, letters):
            return np.array(values).redistribute(np.Layout(values.shape, letters))

        with np.config(small=0, everywhere=0):
            names = {name: on_ranks(random.random(size), "b") for name in "ab"}
            names |= {name: on_ranks(random.random((64, 64)), "bn") for name in "uvw"}
            names |= {"i": on_ranks(random.permutation(size), "b"), "np": np}
            np.sync()
            for step in range(3):
                np.world.barrier()
                if step == 2 and np.world.rank == 0:
                    simulation.pairs.clear()
                np.world.barrier()
                exec(f"kept = {code}" if " = " not in code else code, names)
                np.sync()
                np.world.barrier()

    simulation.run(repeated)
    return max([n for (a, b), n in simulation.pairs.items() if a != b], default=0)


TABLE = re.findall(
    r"^\| `(.*)` \| (\d+) \| (\d+) \|$",
    (Path(__file__).parents[2] / "docs" / "guide" / "clusters.md").read_text(),
    re.MULTILINE,
)


@pytest.mark.parametrize(("code", "alone", "by_nodes"), TABLE)
def test_the_guide_counts_the_messages_between_two_nodes(code, alone, by_nodes):
    assert between_two_nodes(code, 1) == int(alone)
    assert between_two_nodes(code, 4) == int(by_nodes)


def test_the_guide_has_a_table():
    assert len(TABLE) > 8
