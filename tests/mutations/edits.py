"""Edits of functions in the package's source, anchored on the syntax tree.

An edit names a function, a pattern that occurs in it once, and a replacement. The function is named as ``function``,
``Class.method`` or ``*.method``, wherever in the package it is. The pattern is an expression or a statement, or empty
for the whole body. Formatting, comments and line breaks do not matter. In a pattern, ``ANY`` matches any expression
and ``f(*ANY)`` any arguments; in a replacement, ``MATCH`` stands for what the pattern has matched.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

Edit = tuple[str, str, str]
"""A function, a pattern that it contains once, and the replacement."""


class Stale(Exception):
    """The source does not contain what an edit looks for exactly once."""


@functools.cache
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def _definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield prefix + node.name, node
            yield from _definitions(node, f"{prefix}{node.name}.")
        else:
            yield from _definitions(node, prefix)


def _is_any(node: Any) -> bool:
    return isinstance(node, ast.Name) and node.id == "ANY"


def _same(pattern: Any, node: Any) -> bool:
    """True if a piece of syntax is what a pattern describes."""
    if _is_any(pattern):
        return isinstance(node, ast.expr)
    if isinstance(pattern, list):
        if len(pattern) == 1 and isinstance(pattern[0], ast.Starred) and _is_any(pattern[0].value):
            return isinstance(node, list)
        return (
            isinstance(node, list)
            and len(pattern) == len(node)
            and all(_same(*pair) for pair in zip(pattern, node, strict=True))
        )
    if not isinstance(pattern, ast.AST):
        return type(pattern) is type(node) and pattern == node
    return type(pattern) is type(node) and all(
        _same(getattr(pattern, field, None), getattr(node, field, None))
        for field in pattern._fields
        if field != "ctx"
    )


class _Replacement(ast.NodeTransformer):
    """Replaces nodes (``before``, by identity) with expressions or lists of statements."""

    def __init__(self, before: ast.AST, after: Any) -> None:
        self.before, self.after = before, after

    def visit(self, node: ast.AST) -> Any:
        return self.after if node is self.before else self.generic_visit(node)


def _filled(text: str, match: list[ast.stmt] | ast.expr, expression: bool) -> Any:
    """The replacement, with the match where it says ``MATCH``."""
    body = ast.parse(text).body
    holes = [node for node in ast.walk(ast.Module(body, [])) if getattr(node, "id", "") == "MATCH"]
    if expression:
        assert isinstance(body[0], ast.Expr)
        for hole in holes:
            body[0] = _Replacement(hole, match).visit(body[0])
        return body[0].value
    statements: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Expr) and statement.value in holes:
            statements += match if isinstance(match, list) else [ast.Expr(match)]
        else:
            statements.append(statement)
    return statements


def _is_expression(text: str) -> bool:
    body = ast.parse(text).body
    return len(body) == 1 and isinstance(body[0], ast.Expr)


def apply(package: Path, edit: Edit) -> tuple[Path, str]:
    """The file that an edit changes, and its new text; raises ``Stale`` if there is not exactly one place for it."""
    name, pattern, replacement = edit
    last = name.rpartition(".")[2]
    functions = [
        (path, node)
        for path in sorted(package.rglob("*.py"))
        if f"def {last}(" in path.read_text()
        for qualified, node in _definitions(_tree(path.read_text()))
        if fnmatchcase(qualified, name) and isinstance(node, ast.FunctionDef)
    ]
    if not functions:
        raise Stale(f"no function {name} in {package}; the edit looks for {pattern or 'its body'}")
    if not pattern:
        matches: list[tuple[Path, Any]] = list(functions)
    else:
        expression = _is_expression(pattern) and _is_expression(replacement)
        wanted: Any = ast.parse(pattern).body[0]
        if expression:
            wanted = wanted.value
        matches = [
            (path, node)
            for path, function in functions
            for node in ast.walk(function)
            if _same(wanted, node)
        ]
    if len(matches) != 1:
        places = ", ".join(f"{path}:{node.lineno}" for path, node in matches or functions)
        raise Stale(f"{name} contains {len(matches)} times, not once ({places}): {pattern}")
    path, match = matches[0]
    module, node = copy.deepcopy((_tree(path.read_text()), match))
    if not pattern:
        node.body = _filled(replacement, node.body, expression=False)
    else:
        after = _filled(replacement, node if expression else [node], expression)
        module = _Replacement(node, after).visit(module)
    return path, ast.unparse(ast.fix_missing_locations(module))
