"""The table of operations: legal nodes, and that decisions about an operation stand in its entry."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy
import pytest

import atoll as np
from atoll.graph.geometry import dense
from atoll.graph.node import Node, source
from atoll.lazy.operations import read, record, update
from atoll.ops import folds, table
from atoll.ops.elementwise import loops_of

SRC = Path(table.__file__).parents[1]


def compared(text: str) -> list[int]:
    """The lines that compare an operation, or its name."""
    tree = ast.parse(text)
    entries = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").endswith(("ops.table", "graph.op"))
        for alias in node.names
        if alias.name.isupper()
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                named = isinstance(side, ast.Name) and side.id in entries
                words = ast.unparse(side)
                if named or words.endswith(".op.name") or words == "node.kind":
                    found.append(node.lineno)
    return found


@pytest.mark.slow
def test_no_module_outside_the_table_compares_operations():
    places = [
        f"{path.relative_to(SRC)}:{line}"
        for path in sorted(SRC.rglob("*.py"))
        if path.parent.name != "ops"
        for line in compared(path.read_text())
    ]
    assert places == []


@pytest.mark.parametrize(
    "line", ["node.op is READ", "READ is node.op", "node.op.name == 'add'", "node.kind in ('a',)"]
)
def test_a_comparison_is_seen(line):
    assert compared(f"from ..ops.table import READ\nfound = {line}") == [2]


@pytest.mark.simulated(1, 3)
def test_what_programs_record_is_legal(size):
    with np.config(debug=True):
        a = np.arange(240.0).reshape(20, 12)
        b = np.where(a > 3, np.sqrt(a), 1) + a[:, :1].astype(numpy.float32)
        b[1:-1, 1:] += 2 * a[:-2, :-1]
        b[a > 100] = 0
        total = [b.sum(0), b.T.max(1), b.argmin(), a[a > 7].sum(), np.minimum.reduce(b.ravel())]
        for value in total:
            numpy.asarray(value)


def illegal():
    a = source(numpy.ones((4, 3)), dense((4, 3), numpy.dtype(float)))
    shape, double = a.geometry, numpy.dtype(float)
    (loop,) = loops_of(numpy.add, (double, double))
    row = dense((3,), double)
    return {
        "too few operands": Node(table.CALL, (a,), shape, (loop,), "add"),
        "another dtype": Node(table.CALL, (a, a), dense((4, 3), numpy.dtype(int)), (loop,), "add"),
        "another shape": Node(table.CALL, (a, a), row, (loop,), "add"),
        "a cast that reshapes": Node(table.CAST, (a,), row),
        "a view of something else": Node(table.READ, (a,), row, (row,)),
        "a region of something else": Node(table.UPDATE, (a, 1.0), shape, (row,)),
        "an axis kept": Node(folds.FOLDS[numpy.add], (a,), shape, ((0,), False), "add"),
        "no axis": Node(folds.fold_named("argmin"), (a,), shape, ((), False), "argmin"),
        "a number of nodes": Node(table.FILL, (a,), shape),
        "a mask of numbers": Node(table.COMPRESS, (a, a), row),
    }


@pytest.mark.parametrize("what", illegal())
def test_an_illegal_node_is_found(what):
    with pytest.raises(AssertionError, match="no legal node"):
        table.check([illegal()[what]])


def test_a_legal_node_is_not():
    a = source(numpy.ones((4, 3)), dense((4, 3), numpy.dtype(float)))
    view = a.geometry.index((slice(1, 3),))
    (loop,) = loops_of(numpy.add, (a.geometry.dtype, float))
    added = record(table.CALL, (a, 1.0), a.geometry, (loop,), loop.name)
    table.check([added, read(added, view), update(a, view, 2.0, None, None)])
