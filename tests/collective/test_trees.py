"""Folds of many ranks: by trees, in which each rank has few neighbours, with the bits of a fold by few."""

import re

import numpy as np
import pytest

import atoll
from atoll import Layout, policy
from atoll.collective import fold_plan
from atoll.comm.nodes import consecutive
from atoll.comm.simulated import Simulation
from atoll.exchange.trees import branches, folded_before, folded_by_tree, in_pairs

from .distributions import normal, put, same
from .test_exchange_by_nodes import on_nodes

LENGTHS = (1, 2, 3, 5, 8, 13, 18, 64)


def pair(a, b):
    return f"({a} {b})"


@pytest.mark.parametrize("length", LENGTHS)
def test_a_tree_joins_in_pairs_and_reaches_all(length):
    trees = [branches(place, length, int) for place in range(length)]

    def joined(place):
        text = str(place)
        for child in trees[place].children:
            assert trees[child].parent == place
            text = pair(text, joined(child))
        return text

    assert joined(0) == in_pairs([str(k) for k in range(length)], pair)
    assert max(len(tree.children) for tree in trees) <= (length - 1).bit_length()


class Text:
    """Texts as bytes of one length, which are joined with brackets."""

    LONGEST = 1000

    def __init__(self, text):
        self.bytes = np.frombuffer(str(text).ljust(self.LONGEST).encode(), np.uint8)

    @staticmethod
    def of(given):
        return bytes(given).decode().rstrip()

    @classmethod
    def join(cls, left, right):
        return cls(pair(cls.of(left), cls.of(right))).bytes


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("per_node", [1, 2, 3, 4, 7])
def test_nodes_change_the_way_of_joins_and_not_their_order(length, per_node):
    """A node sends one message up; one comes down to it, and it is never told what it knows."""

    def run():
        here = atoll.world.communicator
        tree = branches(here.rank, length, int, here.nodes)
        before = here.traffic.copy()
        total = folded_by_tree(here, tree, Text(here.rank).bytes, Text.join, "a test")
        between = here.traffic.copy()
        prefix = folded_before(here, tree, Text(here.rank).bytes, Text.join, "a test")
        far = [
            (after - earlier).messages_between_nodes
            for earlier, after in ((before, between), (between, here.traffic))
        ]
        return Text.of(total), None if prefix is None else Text.of(prefix), far

    totals, prefixes, far = zip(*on_nodes(length, per_node, run)[0], strict=True)
    assert set(totals) == {in_pairs([str(k) for k in range(length)], pair)}
    assert prefixes[0] is None
    alone = on_nodes(length, 1, run)[0]
    assert list(prefixes) == [prefix for _, prefix, _ in alone]
    for place, prefix in enumerate(prefixes[1:], 1):
        assert [int(k) for k in re.findall("[0-9]+", prefix)] == list(range(place))
    others = -(-length // per_node) - 1
    assert sum(fold for fold, _ in far) == 2 * others
    assert sum(scan for _, scan in far) <= 2 * others


FOLDS = {
    "sum": lambda np, a: (
        a.sum(),
        a.max(),
        a.argmin(),
        np.sqrt(np.dot(a.reshape(-1), a.reshape(-1))),
    ),
    "rows": lambda np, a: (a.sum(0), a.max(0), a.argmax(0), a.mean(0, keepdims=True)),
    "columns": lambda np, a: (a.sum(1), a.argmin(1), (a > 0).any(1)),
    "scans": lambda np, a: (a.cumsum(0), np.maximum.accumulate(a, 1), (a > 0).cumsum()),
    "truths": lambda np, a: ((a > 9).any(), (a > -9).all(), (a > 0).sum()),
}


@pytest.mark.simulated(2, 5, 7)
@pytest.mark.ranks(3)
@pytest.mark.parametrize("maps", ["bn", "bb", "nc"])
def test_many_ranks_join_as_few_do(maps, size):
    whole = normal((23, 12))
    whole[3, 4] = whole[19, 4] = 7.0
    results = []
    for few in (16, 1):
        with policy.limited(few_ranks=few):
            ours = put(whole, maps, size)
            results.append(
                [[np.asarray(x).copy() for x in fold(atoll, ours)] for fold in FOLDS.values()]
            )
    for by_few, by_tree, fold in zip(*results, FOLDS.values(), strict=True):
        for few, tree, expected in zip(by_few, by_tree, fold(np, whole), strict=True):
            same(tree, np.asarray(expected), 1e-13)
            assert tree.tobytes() == few.tobytes()


def test_a_rank_of_many_has_few_neighbours():
    for size in (100, 10_000):
        layout = Layout((size * 50, 40), "bn", size=size)
        for rank in (0, 1, size - 1):
            nodes = consecutive(size, 48)
            plan = fold_plan(layout, (0,), Layout.replicated((40,), size), rank, nodes)
            assert not plan.sends
            assert not plan.joins
            assert len(plan.tree.children) <= size.bit_length() + 1


@pytest.mark.parametrize("size", [2, 3, 5, 8, 13, 16])
def test_a_scan_of_few_ranks_has_the_bits_of_a_tree(size):
    values = normal((size * 7, 3)) * 10.0 ** np.arange(size * 7)[::-1, None]

    def scanned():
        return [
            np.asarray(atoll.cumsum(atoll.array(values[:, 0], layout="b"))),
            np.asarray(atoll.cumsum(atoll.array(values, layout="bn"), axis=0)),
        ]

    with atoll.config(ranks_per_node=size):
        few = Simulation(size).run(scanned)
    with policy.limited(few_ranks=1):
        many = Simulation(size).run(scanned)
    for one, other in zip(few, many, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)
