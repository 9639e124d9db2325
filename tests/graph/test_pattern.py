"""Traces are recognised for what they are, and taken for nothing else."""

import numpy as np
import pytest

from atoll import policy
from atoll.graph.geometry import dense
from atoll.graph.node import Node, source
from atoll.graph.pattern import Pattern, Patterns
from atoll.lazy.recording import call, read, update
from atoll.ops.elementwise import loops_of

FORM = dense((4, 6), np.dtype(float))
DOUBLE = np.dtype(float)


def leaf():
    return source(np.zeros((4, 6)), FORM)


def node(ufunc, *args):
    kinds = tuple([DOUBLE if type(arg) is Node else float for arg in args])
    geometries = [arg.geometry for arg in args if type(arg) is Node]
    return call(loops_of(ufunc, kinds)[0], args, geometries, None)


def pattern_of(root):
    """The pattern of a trace, from a walk with operands first."""
    order, leaves = [], []

    def walk(one):
        if one.value is not None:
            if one not in leaves:
                leaves.append(one)
        elif one not in order:
            for arg in one.args:
                if type(arg) is Node:
                    walk(arg)
            order.append(one)

    walk(root)
    return Pattern([root], leaves, order), leaves, order


def sums():
    """Traces that differ in little, each made anew at each call."""
    part, other = FORM.index((slice(1, 3),)), FORM.index((slice(2, 4),))

    def shared():
        x = leaf()
        return node(np.add, x, x)

    def twice():
        x = node(np.negative, leaf())
        return node(np.add, x, x)

    def shared_below():
        x = leaf()
        return node(np.add, node(np.negative, x), node(np.negative, x))

    def a_value():
        x = node(np.negative, leaf())
        x.settle(leaf().value)
        return node(np.add, x, node(np.negative, leaf()))

    return {
        "two leaves": lambda: node(np.add, leaf(), leaf()),
        "a leaf twice": shared,
        "a node twice": twice,
        "a leaf below two nodes": shared_below,
        "two leaves below two nodes": lambda: node(
            np.add, node(np.negative, leaf()), node(np.negative, leaf())
        ),
        "a value": a_value,
        "a number behind": lambda: node(np.add, leaf(), 2.0),
        "a number in front": lambda: node(np.add, 2.0, leaf()),
        "a view": lambda: node(np.negative, read(leaf(), part)),
        "another view": lambda: node(np.negative, read(leaf(), other)),
        "an assignment": lambda: update(leaf(), part, read(leaf(), part), None, None),
        "an assigned number": lambda: update(leaf(), part, 1.0, None, None),
        "a masked one": lambda: update(leaf(), FORM, leaf(), leaf(), None),
    }


@pytest.mark.parametrize("often", [False, True])
@pytest.mark.parametrize("name", sums())
def test_a_trace_is_like_itself_alone(name, often):
    made = sums()
    pattern, leaves, order = pattern_of(made[name]())
    if often:  # then it is compiled
        for _ in range(policy.limits.compiled_pattern):
            assert pattern.match([made[name]()]) is not None
        assert pattern.compiled is not None
    for other, make in made.items():
        assert (pattern.match([make()]) is not None) == (other == name), other
    root = made[name]()
    nodes, values, pinned, _ = pattern.match([root])
    assert values == [nodes[place].value for place in pattern.leaves]
    assert pinned == (False,) * len(values)
    again = pattern_of(root)
    assert [nodes[place] for place in pattern.leaves] == again[1]
    assert [nodes[place] for place in pattern.order] == again[2]
    assert len(leaves) == len(again[1])
    assert len(order) == len(again[2])


def test_many_nodes_of_one_kind_are_told_apart():
    def make(*leaves):
        total = leaves[0]
        for one in leaves[1:]:
            total = node(np.add, total, one)
        return total

    pattern, _, _ = pattern_of(make(*[leaf() for _ in range(5)]))
    for _ in range(2 * policy.limits.compiled_pattern):
        assert pattern.match([make(*[leaf() for _ in range(5)])]) is not None
        again = leaf()
        assert pattern.match([make(again, leaf(), leaf(), again, leaf())]) is None


def test_numbers_come_in_the_order_of_the_walk():
    def make(a, b):
        return node(np.add, node(np.multiply, leaf(), a), node(np.multiply, leaf(), b))

    pattern, _, _ = pattern_of(make(1.0, 2.0))
    for _ in range(2 * policy.limits.compiled_pattern):
        assert pattern.match([make(5.0, 7.0)])[3] == [5.0, 7.0]


def test_several_roots():
    x = leaf()
    one = node(np.negative, x)
    two = node(np.square, one)
    patterns = Patterns()
    patterns.add([one, two], [x], [one, two])
    y = leaf()
    three = node(np.negative, y)
    four = node(np.square, three)
    found, (nodes, *_) = patterns.find([three, four])
    assert [nodes[place] for place in found.order] == [three, four]
    assert patterns.find([four, three]) is None
    assert patterns.find([three, node(np.square, node(np.negative, y))]) is None
    assert patterns.add([one, one], [x], [one]) is None


def test_few_are_kept_for_roots_that_look_alike():
    patterns = Patterns()
    parts = [FORM.index((slice(k, k + 2),)) for k in range(3)]

    def make(k):
        x = leaf()
        middle = read(x, parts[k])
        return x, middle, node(np.negative, middle)

    for k in range(3):
        x, middle, root = make(k)
        patterns.add([root], [x], [middle, root])
    for k in range(3):
        assert patterns.find([make(k)[2]]) is not None
