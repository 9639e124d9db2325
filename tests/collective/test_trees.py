"""Folds of many ranks: by trees, in which each rank has few neighbours, with the bits of a fold by few."""

import numpy as np
import pytest

import atoll
from atoll import Layout, policy
from atoll.collective import fold_plan
from atoll.exchange.trees import branches, in_pairs

from .distributions import normal, put, same


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 13, 64])
def test_a_tree_joins_in_pairs_and_reaches_all(length):
    trees = [branches(place, length, int) for place in range(length)]

    def joined(place):
        text = str(place)
        for child in trees[place].children:
            assert trees[child].parent == place
            text = f"({text} {joined(child)})"
        return text

    assert joined(0) == in_pairs([str(k) for k in range(length)], lambda a, b: f"({a} {b})")
    assert max(len(tree.children) for tree in trees) <= (length - 1).bit_length()


FOLDS = {
    "sum": lambda np, a: (
        a.sum(),
        a.max(),
        a.argmin(),
        np.sqrt(np.dot(a.reshape(-1), a.reshape(-1))),
    ),
    "rows": lambda np, a: (a.sum(0), a.max(0), a.argmax(0), a.mean(0, keepdims=True)),
    "columns": lambda np, a: (a.sum(1), a.argmin(1), (a > 0).any(1)),
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
            plan = fold_plan(layout, (0,), Layout.replicated((40,), size), rank)
            assert not plan.sends
            assert not plan.joins
            assert len(plan.tree.children) <= size.bit_length()
