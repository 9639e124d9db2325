"""What a module may change: nothing that another one defines, and no node."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from atoll.graph.geometry import dense
from atoll.graph.node import Node, Value, source
from tests.test_architecture import module_exists, texts


def shadowed(function: ast.AST) -> set[str]:
    """The names that are a function's own: its parameters, and what it assigns or defines."""
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and type(node.ctx) is ast.Store:
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


CHANGING = {"append", "extend", "insert", "add", "update", "setdefault", "pop", "remove", "clear"}


def foreign_changes(source: str, path: str) -> list[str]:
    """Changes, anywhere in ``source``, of what another module defines.

    A change is an assignment to an attribute of an imported class, function or module, and a change of an
    imported table. An instance may be told things: that is what its class is for.
    """
    tree, package = ast.parse(source), ["atoll", *path.split("/")[:-1]]
    imported = {
        alias.asname or alias.name: (
            ".".join(package[: len(package) - node.level + 1]),
            node,
            alias,
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.level or (node.module or "").startswith("atoll"))
        for alias in node.names
    }

    def value(expression: ast.expr, own: set[str]) -> Any:
        """What an expression stands for, where it is an imported name or an attribute of one."""
        if isinstance(expression, ast.Attribute):
            holder = value(expression.value, own)
            return getattr(holder, expression.attr, None) if is_shared(holder) else None
        if not isinstance(expression, ast.Name) or expression.id in own:
            return None
        if expression.id not in imported:
            return None
        base, node, alias = imported[expression.id]
        start = ".".join(filter(None, [base if node.level else "", node.module]))
        name = f"{start}.{alias.name}"
        return (
            import_module(name)
            if module_exists(name)
            else getattr(import_module(start), alias.name)
        )

    def walk(node: ast.AST, own: set[str]) -> Iterator[ast.expr]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            own = own | shadowed(node)
        if isinstance(node, ast.Attribute) and type(node.ctx) is not ast.Load:
            if is_shared(value(node.value, own)):
                yield node
        elif isinstance(node, ast.Subscript) and type(node.ctx) is not ast.Load:
            if is_table(value(node.value, own)):
                yield node
        elif isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id in ("setattr", "delattr"):
                if is_shared(value(node.args[0], own)):
                    yield node
            elif (
                isinstance(function, ast.Attribute)
                and function.attr in CHANGING
                and is_table(value(function.value, own))
            ):
                yield node
        for child in ast.iter_child_nodes(node):
            yield from walk(child, own)

    return [f"{path}:{node.lineno} {ast.unparse(node)}" for node in walk(tree, set())]


def is_shared(value: Any) -> bool:
    return isinstance(value, type | ModuleType | FunctionType)


def is_table(value: Any) -> bool:
    return isinstance(value, list | dict | set)


@pytest.mark.slow
def test_no_module_changes_what_another_one_defines() -> None:
    changes = [line for path, text in texts().items() for line in foreign_changes(text, path)]
    assert changes == []


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("ops/a.py", "from ..graph.node import Node\nNode.placed = print", True),
        ("graph/a.py", "from .node import Node\nNode.placed = print", True),
        ("ops/a.py", "from ..graph.node import Node\ndef f():\n    Node.placed = print", True),
        ("ops/a.py", "from ..graph.node import Node\nNode.placed: int = 3", True),
        ("ops/a.py", "from ..graph.node import Node\ndef f():\n    del Node.placed", True),
        ("ops/a.py", "from ..graph.node import Node\nfor Node.placed in ():\n    pass", True),
        ("ops/a.py", "from ..graph.node import Node\nsetattr(Node, 'placed', 1)", True),
        ("ops/a.py", "def f():\n    from ..graph.node import Node\n    Node.placed += 1", True),
        ("ops/a.py", "from ..graph import node\ndef f():\n    node.Node.placed = 1", True),
        ("ops/a.py", "from ..graph import node\ndef f():\n    node.new = 1", True),
        ("ops/a.py", "from atoll.graph import node\ndef f():\n    setattr(node, 'new', 1)", True),
        ("ops/a.py", "from ..graph.node import source\nsource.kind = 1", True),
        ("ops/a.py", "from ..comm import launcher\nlauncher.listeners.append(print)", True),
        ("ops/a.py", "from ..comm.launcher import listeners as on\ndef f():\n    on[0] = 1", True),
        ("ops/a.py", "from ..graph.node import Node\ndef f(node: Node):\n    node.site = 1", False),
        ("ops/a.py", "from ..graph import node\ndef f(node):\n    node.site = 1", False),
        ("ops/a.py", "from ..config import config\nconfig.debug = True", False),
        ("ops/a.py", "class Node:\n    pass\nNode.placed = print", False),
    ],
)
def test_a_change_of_what_another_module_defines_is_seen(
    path: str, source: str, expected: bool
) -> None:
    assert bool(foreign_changes(source, path)) is expected


OTHERS = {
    "backend/llvm/workers.py": {
        "ctypes.c_int64.from_address(self._address + worker_loops.TEAM)",
        "ctypes.c_int64.from_address(self._address + worker_loops.SPIN)",
    },
    "comm/scheduler.py": {"request"},
    "comm/simulated.py": {"request"},
    "graph/picture.py": {"entry"},
    "layout/symbolic.py": {"number", "result"},
    "lazy/views.py": {"cell"},
    "plan/statements.py": {"statement"},
    "startup.py": {"ender"},
}
"""What is no node where something is assigned to an attribute of the same name as one of a node's."""

WRITTEN_LATER = {
    "identify": {"code"},
    "marked": {"mark"},
    "settle": set(Node.__annotations__),
    "renew": {"born"},
    "pass_by": {"passed"},
}
"""The methods of a node that assign to it after it was made, and to which attributes."""


def changes_of_nodes(source: str, path: str) -> list[str]:
    """Assignments to attributes of nodes, and to whatever may be a node."""

    def walk(node: ast.AST, function: str) -> Iterator[ast.AST]:
        if isinstance(node, ast.FunctionDef):
            function = node.name
        holder, name = None, ""
        if isinstance(node, ast.Attribute):
            if type(node.ctx) is not ast.Load and node.attr in Node.__annotations__:
                holder, name = ast.unparse(node.value), node.attr
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            called, what = getattr(node.func, "attr", getattr(node.func, "id", "")), node.args[1]
            if called in ("setattr", "delattr", "__setattr__", "__delattr__"):
                holder = ast.unparse(node.args[0])
                name = str(what.value) if isinstance(what, ast.Constant) else ""
        known = path == "graph/node.py" and function in (*MAKERS, *WRITTEN_LATER)
        if holder is not None and name in Node.__annotations__:
            own = holder == "self" and path != "graph/node.py"
            if not (own or holder in OTHERS.get(path, ()) or known) or (
                known and name not in WRITTEN_LATER.get(function, Node.__annotations__)
            ):
                yield node
        for child in ast.iter_child_nodes(node):
            yield from walk(child, function)

    return [f"{path}:{node.lineno} {ast.unparse(node)}" for node in walk(ast.parse(source), "")]  # type: ignore[attr-defined]


MAKERS = {"__init__", "node_of", "_lay", "weighed", "settled", "source", "_guarded"}
"""The functions of ``graph/node.py`` that make nodes."""


@pytest.mark.slow
def test_nodes_never_change() -> None:
    changes = [line for path, text in texts().items() for line in changes_of_nodes(text, path)]
    assert changes == []


@pytest.mark.parametrize(
    ("path", "broken"),
    [
        ("lazy/rank_operands.py", "def f(node):\n    node.weight = 0"),
        ("lazy/views.py", "def f(cell):\n    cell.node.args = ()"),
        ("lazy/views.py", "def f(self):\n    self.node.value = None"),
        ("plan/statements.py", "def f(made):\n    made.params, made.args = (), ()"),
        ("plan/build.py", "def f(order):\n    for order[0].place in ():\n        pass"),
        ("dataflow/program.py", "def f(leaf):\n    setattr(leaf, 'value', None)"),
        ("dataflow/program.py", "def f(leaf):\n    object.__setattr__(leaf, 'site', None)"),
        ("graph/node.py", "def relabelled(node):\n    node.code = None"),
        ("graph/node.py", "def identify(self):\n    self.args = ()"),
        ("graph/retention.py", "def f(node):\n    node.mark += 1"),
    ],
)
def test_a_change_of_a_node_is_seen(path: str, broken: str) -> None:
    assert len(changes_of_nodes(texts()[path] + "\n" + broken, path)) in (1, 2)


def test_nodes_refuse_to_change() -> None:
    node = source(np.zeros(3), dense((3,), np.dtype(float)))
    for name in Node.__annotations__:
        with pytest.raises(AttributeError, match=f"assigns '{name}', and a node never changes"):
            setattr(node, name, None)
    with pytest.raises(AttributeError, match="has a value already"):
        node.settle(Value(np.ones(3)))
    with pytest.raises(AttributeError):
        node.asked = True
