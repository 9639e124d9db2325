"""What waits for what: sets of receives, classes, and partial results that are not worth a part."""

from __future__ import annotations

import random

import numpy
import pytest

import atoll as np
from atoll import dataflow as df
from atoll import policy
from atoll.dataflow.nodes import node_of
from atoll.dataflow.partition import Graph
from atoll.dataflow.waits import EMPTY, Sets, Waits


@pytest.mark.parametrize("limit", [1, 256, 257, 5000])
def test_sets_are_those_of_python(limit: int) -> None:
    dice = random.Random(limit)
    sets = Sets(limit)
    known = {EMPTY: frozenset()}
    for _ in range(300):
        if dice.random() < 0.3:
            element = dice.randrange(limit)
            known[sets.single(element)] = frozenset([element])
        first, second = dice.choice(list(known)), dice.choice(list(known))
        assert sets.includes(first, second) == (known[first] >= known[second])
        both = known[first] | known[second]
        assert known.setdefault(sets.union(first, second), both) == both
        assert sets.count(sets.union(first, second)) == len(both)
    assert len(set(known.values())) == len(known)  # equal sets have equal numbers


def test_sets_that_grow_share_what_they_have() -> None:
    def entries(count: int) -> float:
        sets = Sets(count)
        grown = EMPTY
        for element in range(count):
            grown = sets.union(grown, sets.single(element))
        assert sets.count(grown) == count
        return len(sets) / count

    assert entries(20_000) < 3 * entries(200)


@pytest.mark.parametrize("count", [1, 7, 40, 600])
def test_receives_that_feed_the_same_ends_are_a_class(count: int) -> None:
    dice = numpy.random.default_rng(count)
    ends = dice.random((60 if count < 100 else 6, count)) < 0.5
    ends[0] = True
    ends = ends[:, dice.integers(0, count, count)]
    receives = [df.make_distributed_recv(0, k, (1,), float) for k in range(count)]
    outputs = {}
    for number, row in enumerate(ends):
        value = df.make_placeholder("x", (1,))
        for k in numpy.flatnonzero(row):
            value = value + receives[k]
        outputs[f"y{number}"] = node_of(value)
    graph = Graph(outputs, [])
    leaves = [node_of(receive) for receive in receives]
    waits = Waits(graph.order, graph.operands, leaves, list(outputs.values())).of
    patterns: dict[bytes, int] = {}
    for k, leaf in enumerate(leaves):
        assert patterns.setdefault(ends[:, k].tobytes(), waits[id(leaf)]) == waits[id(leaf)]
    assert len(set(patterns.values())) == len(patterns)


def looking_back(count: int, depth: int):
    """A message in each step, and what the last ones have brought."""
    x = df.make_placeholder("x", (3,))
    sends, outputs, arrived = [], {}, []
    for k in range(count):
        sends.append(df.make_distributed_send(x + k, 0, k))
        arrived.append(df.make_distributed_recv(0, k, (3,), float))
        value = arrived[-1]
        for earlier in arrived[-depth:-1][::-1]:
            value = value + earlier
        outputs[f"y{k}"] = value
    return df.find_distributed_partition(None, outputs, sends=sends)


def test_partial_sums_of_what_arrives_are_no_parts() -> None:
    count, depth = 30, 8
    partition = looking_back(count, depth)
    assert sum(bool(part.output_names) for part in partition.parts.values()) <= count + 1
    found = df.execute_distributed_partition(
        partition, None, None, None, input_args={"x": numpy.arange(3.0)}
    )
    for k in range(count):
        steps = range(max(0, k - depth + 1), k + 1)
        assert found[f"y{k}"].tolist() == [sum(x + step for step in steps) for x in range(3)]


def test_what_is_worth_a_part_is_one() -> None:
    """Much work, NumPy's functions, and what is sent or wanted do not wait for more than they need."""

    def parts(work, wanted: bool = False) -> int:
        x = df.make_placeholder("x", (3,))
        first, second, third = (df.make_distributed_recv(0, tag, (3,), float) for tag in "abc")
        sends = [df.make_distributed_send(x, 0, tag) for tag in "abc"]
        sends += [df.make_distributed_send(first * 2, 1, "d")]
        sends += [df.make_distributed_send(second * 2, 1, "e")]
        partial = work(first + second)
        outputs = {"y": partial + third} | ({"partial": partial} if wanted else {})
        return len(df.find_distributed_partition(None, outputs, sends=sends).parts)

    assert parts(lambda value: value) == parts(lambda value: value * 2) == 4
    assert parts(np.sort) == 5
    assert parts(lambda value: value, wanted=True) == 5
    with policy.limited(small=2):
        assert parts(lambda value: value) == 5
