"""Where a turn of a loop has the fewest live bytes."""

import numpy as np

import atoll
from atoll.context.call_sites import line_of, site_number
from atoll.graph.cut import find_cut, live_at


def turn(np, a, b, fixed):
    """One turn of a loop over two arrays; a third one is the same in all of them."""
    both = a * b
    near = np.roll(a, 1) + np.roll(a, -1)
    return near - both + fixed, b + both * fixed


def some(turns):
    """What such a loop has made after so many turns, nothing being computed."""
    a, b, fixed = [atoll.array(np.arange(50_000.0) / k) for k in (1, 2, 3)]
    found = [(a, b)]
    for _ in range(turns):
        a, b = turn(atoll, a, b, fixed)
        found.append((a, b))
    return found, fixed


def lines_of(point):
    return [line_of(*site) - turn.__code__.co_firstlineno for site in point]


def test_the_cut_is_where_a_turn_begins() -> None:
    found, _ = some(2)
    point = find_cut([one._cell.node for one in found[-1]])
    assert point is not None
    assert lines_of(point) == [2, 2]  # ``both`` is made first, and of all that a turn begins with


def test_what_was_in_hand_is_found_from_a_later_turn() -> None:
    found, fixed = some(2)
    point = find_cut([one._cell.node for one in found[-1]])
    assert point is not None
    both = found[-1][0] * found[-1][1]
    assert live_at(both._cell.node, 0) == []
    again, _ = turn(atoll, *found[-1], fixed)
    nodes = live_at(again._cell.node, site_number(point.line))
    assert {id(node) for node in nodes} == {id(one._cell.node) for one in found[-1]}


def test_a_loop_has_turns() -> None:
    a = atoll.array(np.arange(50_000.0))
    b = turn(atoll, a, a, a)
    assert find_cut([one._cell.node for one in b]) is None


def test_a_node_that_two_arrays_have_counts_once() -> None:
    with atoll.config(small=0):
        u = atoll.ones((20, 20)) * 2
        un = u.copy()
        p = atoll.ones((20, 20))
        for _ in range(400):
            p = p * 0.5 + 1.0
        assert float(p.sum()) == 800.0
        assert float((u + un).sum()) == 1600.0
    found, _ = some(2)
    nodes = [one._cell.node for one in (*found[-1], *found[-1])]
    assert find_cut(nodes) == find_cut(nodes[:2])
