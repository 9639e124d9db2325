"""The native evaluation recognises traces for what they are, and takes them for nothing else."""

import numpy as np
import pytest

from atoll.front import native
from atoll.graph.geometry import dense
from atoll.graph.node import Node, source
from atoll.lazy.evaluation import _programs
from atoll.lazy.operations import read, record, update
from atoll.ops.elementwise import loops_of, result_geometry
from atoll.ops.table import CALL, WHERE

pytestmark = pytest.mark.skipif(native is None, reason="the native front was not built")
FORM = dense((4, 6), np.dtype(float))
DOUBLE = np.dtype(float)


def leaf():
    return source(np.zeros((4, 6)), FORM)


def mask():
    return source(np.zeros((4, 6), bool), dense((4, 6), np.dtype(bool)))


def node(ufunc, *args):
    kinds = tuple([DOUBLE if type(arg) is Node else float for arg in args])
    geometries = [arg.geometry for arg in args if type(arg) is Node]
    loop = loops_of(ufunc, kinds)[0]
    geometry = result_geometry(geometries, loop.output)
    return record(CALL, args, geometry, (loop,), loop.name)


@pytest.fixture(autouse=True)
def _nothing_known():
    _programs.forget()


def trace_of(*roots):
    """The native trace of a walk with operands first: one that is known, or else a new one."""
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

    for root in roots:
        walk(root)
    return native.trace(list(roots), leaves, order)


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
        "a choice": lambda: record(WHERE, (mask(), leaf(), leaf()), FORM),
        "a choice of a number": lambda: record(WHERE, (mask(), leaf(), 2.0), FORM),
        "a choice of two numbers": lambda: record(WHERE, (mask(), 1.0, 2.0), FORM),
        "a masked one": lambda: update(leaf(), FORM, leaf(), leaf(), None),
    }


@pytest.mark.parametrize("name", sums())
def test_a_trace_is_like_itself_alone(name):
    made = sums()
    for other, make in made.items():
        known = trace_of(made[name]())
        alike = other == name or {other, name} == {"a view", "another view"}
        assert (trace_of(make()) is known) == alike, other


def test_many_nodes_of_one_kind_are_told_apart():
    def make(*leaves):
        total = leaves[0]
        for one in leaves[1:]:
            total = node(np.add, total, one)
        return total

    known = trace_of(make(*[leaf() for _ in range(5)]))
    for _ in range(4):
        assert trace_of(make(*[leaf() for _ in range(5)])) is known
        again = leaf()
        assert trace_of(make(again, leaf(), leaf(), again, leaf())) is not known


def test_several_roots():
    def make(x):
        one = node(np.negative, x)
        return one, node(np.square, one)

    known = trace_of(*make(leaf()))
    assert trace_of(*make(leaf())) is known
    assert trace_of(*reversed(make(leaf()))) is not known
    y = leaf()
    assert trace_of(node(np.negative, y), node(np.square, node(np.negative, y))) is not known
    one, _ = make(leaf())
    assert trace_of(one, one) is None


def test_memory_of_the_program_is_a_leaf_like_others():
    known = trace_of(node(np.negative, leaf()))
    assert trace_of(node(np.negative, source(np.zeros((4, 6)), FORM, pinned=True))) is known


def test_some_are_kept_for_roots_that_look_alike():
    ufuncs = (
        np.negative,
        np.square,
        np.sqrt,
        np.exp,
        np.log,
        np.sin,
        np.cos,
        np.tan,
        np.floor,
        np.ceil,
    )

    def make(ufunc):
        return node(np.negative, node(np.negative, node(ufunc, leaf())))

    known = [trace_of(make(ufunc)) for ufunc in ufuncs]
    assert [trace_of(make(ufunc)) for ufunc in ufuncs[-8:]] == known[-8:]
    assert trace_of(make(ufuncs[0])) is not known[0]
    assert trace_of(make(ufuncs[1])) is not known[1]
