"""Where pending work is cut: where the fewest bytes are live in the middle third of a trace."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import atoll
from atoll import policy
from atoll.context.call_sites import line_of
from atoll.front import native
from atoll.graph.node import pending_behind
from atoll.lazy import pending
from atoll.lazy.evaluation import computed_by

needs_native = pytest.mark.skipif(native is None, reason="the native front was not built")


def turn(np, a, b, fixed):
    """One turn of a loop over two arrays; a third one is the same in all of them."""
    both = a * b
    near = np.roll(a, 1) + np.roll(a, -1)
    return near - both + fixed, b + both * fixed


def some(turns):
    """A node that such a loop has made after so many turns, nothing being computed, and the operations behind it."""
    a, b, fixed = [atoll.array(np.arange(50_000.0) / k / 50_000) for k in (1, 2, 3)]
    with policy.limited(pending=10_000):
        for _ in range(turns):
            a, b = turn(atoll, a, b, fixed)
    root = a._cell.node
    return root, len(pending_behind(root))


def bounded(root):
    """As a thread finds it that has not counted any operations yet."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(pending.bounded, root).result()


def cut(root):
    """The values that would be computed, and the weight that would be left."""
    live = []

    def find():
        with computed_by(live.extend):
            return pending.bounded(root).weight

    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(find).result()
    return live, left


@needs_native
@pytest.mark.parametrize("turns", [12, 13, 30])
def test_a_loop_is_cut_between_its_turns(turns):
    root, operations = some(turns)
    with policy.limited(pending=operations - 1):
        live, left = cut(root)
    lines = [line_of(*node.site) - turn.__code__.co_firstlineno for node in live]
    assert lines == [
        4,
        4,
    ]  # both are made in the last line of a turn, and nothing else is live then
    assert operations / 3 <= left <= operations * 2 / 3


@needs_native
def test_what_is_live_is_computed():
    root, operations = some(12)
    with policy.limited(pending=operations - 1):
        again = bounded(root)
    assert operations / 3 <= again.weight == len(pending_behind(again)) <= operations * 2 / 3


@needs_native
def test_a_formula_is_no_loop():
    root, operations = some(2)
    with policy.limited(pending=2):
        assert cut(root) == ([], operations)
    with policy.limited(pending=2, kernel_operations=2):
        live, left = cut(root)
    assert live
    assert left < operations


def test_everything_is_computed_at_the_bound_without_the_native_front(monkeypatch):
    monkeypatch.setattr(pending, "native", None)
    root, operations = some(2)
    with policy.limited(pending=operations - 1):
        assert pending.bounded(root).value is not None
