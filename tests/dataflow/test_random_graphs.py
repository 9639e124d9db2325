"""Random programs of messages, a different graph on each rank, against NumPy and against sets.

Every rank plays the same random game: values appear on ranks, are combined, and are sent. Each
rank records its own moves as a graph, and the game is also played on numbers. For each value the
set of receives that it truly depends on is kept, by which the rule of parts is checked.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy
import pytest

import atoll as np
from atoll import dataflow as df

OPERATIONS = {
    "add": (numpy.add, np.add),
    "sub": (numpy.subtract, np.subtract),
    "max": (numpy.maximum, np.maximum),
    "sorted": (lambda a, b: numpy.sort(a) + b, lambda a, b: np.sort(a) + b),
    "rolled": (lambda a, b: numpy.roll(a, 1) * 0.5 + b, lambda a, b: np.roll(a, 1) * 0.5 + b),
    "summed": (lambda a, b: a.sum() * 0.1 + b, lambda a, b: a.sum() * 0.1 + b),
}


@dataclass
class Value:
    number: Any
    node: Any
    needs: frozenset


def tag_of(k: int) -> Any:
    """A tag of some kind or other."""
    kinds = [k, str(k), (k, "t"), frozenset({k, "f"}), (None, (k,)), float(k) + 0.5]
    return kinds[k % len(kinds)]


def play(seed: int, rank: int, size: int, moves: int):
    dice = random.Random(seed)
    length = dice.choice([1, 3, 8])
    inputs = [numpy.random.default_rng((seed, r)).normal(size=length) for r in range(size)]
    x = df.make_placeholder("x", (length,))
    held = [[Value(inputs[r], x, frozenset())] for r in range(size)]
    sends, needs_of_send = [], {}
    late: list[Any] = []
    for k in range(moves):
        r = dice.randrange(size)
        # mostly what is new, so that long dependencies come up
        pool = held[r][-4:] if dice.random() < 0.7 else held[r]
        a, b = dice.choice(pool), dice.choice(pool)
        if dice.random() < 0.45:
            to = dice.randrange(size)
            tag = tag_of(k)
            if r == rank:
                late.append((a, to, tag))
                needs_of_send[tag] = a.needs
            node = None
            if to == rank:
                node = df.make_distributed_recv(r, tag, (length,), float)
            held[to].append(Value(a.number, node, frozenset([tag])))
        else:
            ours, theirs = OPERATIONS[dice.choice(sorted(OPERATIONS))]
            node = theirs(a.node, b.node) if r == rank else None
            held[r].append(Value(ours(a.number, b.number), node, a.needs | b.needs))
    mine = random.Random((seed, rank).__repr__())
    mine.shuffle(late)  # the order in which nodes are made means nothing
    for value, to, tag in late:
        sends.append(df.make_distributed_send(value.node, to, tag))
    kept = {f"v{i}": v for i, v in enumerate(held[rank]) if mine.random() < 0.5 or v.needs}
    return inputs[rank], sends, needs_of_send, kept


def check_rule(partition, needs_of_send) -> None:
    """What a send waits for are true dependencies of it, all of them and no others."""
    waits: dict[Any, frozenset] = {}
    for pid, part in partition.parts.items():  # needed ones come first
        waits[pid] = frozenset(r.comm_tag for r in part.name_to_recv_node.values()).union(
            *[waits[needed] for needed in part.needed_pids]
        )
        for sent in part.name_to_send_nodes.values():
            for send in sent:
                assert waits[pid] == needs_of_send[send.comm_tag]


@pytest.mark.slow
@pytest.mark.ranks(2, 3, distributes=False)
@pytest.mark.simulated(1, 4, 16, distributes=False)
@pytest.mark.parametrize("seed", range(3))
def test_random_graph(rank: int, size: int, seed: int) -> None:
    given, sends, needs_of_send, kept = play(seed, rank, size, 30 + 10 * size)
    outputs = {name: value.node for name, value in kept.items()}
    partition = df.find_distributed_partition(None, outputs, sends=sends)
    check_rule(partition, needs_of_send)
    df.verify_distributed_partition(None, partition)
    stored = [name for part in partition.parts.values() for name in part.output_names]
    assert len(stored) == len(set(stored))  # nothing is computed twice
    for _ in range(2):
        found = df.execute_distributed_partition(
            partition, None, None, None, input_args={"x": given}
        )
        for name, value in kept.items():
            numpy.testing.assert_allclose(found[name], value.number, rtol=1e-12, atol=1e-12)
