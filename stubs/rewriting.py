"""Rewrites NumPy's definitions so that arrays that come out of calls are atoll's.

A parameter keeps NumPy's type, of which an atoll array is a subtype in the stubs: functions take arrays of both. Positions
out of which a value comes (results, attributes, arguments of callbacks) get atoll's type.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from numpys import module_at, names_defined, resolve, stub

OURS = {
    ("numpy", "ndarray"): "atoll.ndarray",
    ("numpy._typing._array_like", "NDArray"): "atoll.typing.NDArray",
    ("numpy", "flatiter"): "atoll._stubs.own._FlatIterator",
    ("numpy.random._generator", "Generator"): "atoll.random.Generator",
    ("numpy.random.mtrand", "RandomState"): "atoll.random.RandomState",
}
"""The types of atoll's by the definitions of NumPy's that they replace."""

PREFIX = "_Our"
"""Begins the name of an alias that mentions atoll's types, beside the alias that mentions NumPy's."""

Place = tuple[str, str]


class Rewriter:
    """Rewrites definitions of one of NumPy's stubs; ``needed`` is called with what else has to be rewritten."""

    def __init__(
        self, module: str, kept: frozenset[Place], needed: Callable[[Place], None]
    ) -> None:
        self.module = module
        self.kept = kept
        self.needed = needed
        self.changed = False

    def meaning(self, node: ast.expr) -> Place | None:
        """The definition that a name or a dotted name refers to."""
        dotted: list[str] = []
        while isinstance(node, ast.Attribute):
            dotted.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        if not dotted:
            return resolve(self.module, node.id)
        return module_at(self.module, [node.id, *dotted])

    # -- annotations

    def out(self, node: ast.expr) -> ast.expr:
        """The annotation of a value that comes out."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(node)
        return self._inner(node, self.out, self.into)

    def into(self, node: ast.expr) -> ast.expr:
        """The annotation of a value that goes in."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            array = self.module == "numpy" and self.meaning(node) == ("numpy", "ndarray")
            return _expression("np.ndarray") if array else node
        return self._inner(node, self.into, self.out)

    def _named(self, node: ast.Name | ast.Attribute) -> ast.expr:
        place = self.meaning(node)
        if place is None or place in self.kept:
            return node
        if place in OURS:
            self.changed = True
            return _expression(OURS[place])
        if place[0].startswith("numpy._typing.") and place[0] != "numpy._typing._ufunc":
            return node  # what is like an array
        definition = definition_at(place)
        alias, private = isinstance(definition, ast.AnnAssign), isinstance(definition, ast.ClassDef)
        if (alias or private) and mentions_arrays(place, self.kept):
            self.changed = True
            self.needed(place)
            return ast.Name(f"{PREFIX}{place[1]}" if alias else place[1])
        return node

    def _inner(self, node: ast.expr, same: Callable, other: Callable) -> ast.expr:
        match node:
            case ast.Subscript(value=value, slice=ast.Tuple(elts=[arguments, result])) if (
                _last(value) == "Callable"
            ):
                return _subscript(value, [other(arguments), same(result)])
            case ast.Subscript(value=value) if _last(value) in ("L", "Literal", "LiteralString"):
                return node
            case ast.Subscript(value=value, slice=index):
                return ast.Subscript(same(value), same(index), ast.Load())
            case ast.BinOp(left=left, op=op, right=right):
                return ast.BinOp(same(left), op, same(right))
            case ast.Tuple(elts=items):
                return ast.Tuple([same(item) for item in items], ast.Load())
            case ast.List(elts=items):
                return ast.List([same(item) for item in items], ast.Load())
            case ast.Starred(value=value):
                return ast.Starred(same(value), ast.Load())
        return node

    # -- definitions

    def statement(self, given: ast.stmt) -> ast.stmt:
        """A definition of a module or of a class."""
        node = duplicate(given)
        match node:
            case ast.FunctionDef():
                self._function(node)
            case ast.ClassDef(bases=[*_, ast.Name(id="TypedDict")]):
                pass  # keywords of functions
            case ast.ClassDef():
                node.bases = [self.out(base) for base in node.bases]
                node.body = [self.statement(inner) for inner in node.body]
            case ast.AnnAssign() if _last(node.annotation) == "TypeAlias":
                assert node.value is not None
                node.value = self.into(node.value)
            case ast.AnnAssign():
                node.annotation = self.out(node.annotation)
            case ast.Assign(value=ast.Call() as call):
                call.keywords = [ast.keyword(k.arg, self.into(k.value)) for k in call.keywords]
            case ast.Assign(value=ast.Attribute(value=ast.Name(id=name))):  # rand = _rand.rand
                place = resolve(self.module, name)
                if (
                    place is not None
                    and place not in self.kept
                    and mentions_arrays(place, self.kept)
                ):
                    self.changed = True
                    self.needed(place)
            case ast.If():
                node.body = [self.statement(inner) for inner in node.body]
                node.orelse = [self.statement(inner) for inner in node.orelse]
        return node

    def alias(self, given: ast.AnnAssign) -> ast.AnnAssign:
        """The alias beside one of NumPy's that mentions our types."""
        node = duplicate(given)
        assert node.value is not None
        assert isinstance(node.target, ast.Name)
        node.target = ast.Name(f"{PREFIX}{node.target.id}")
        node.value = self.out(node.value)
        return node

    def _function(self, node: ast.FunctionDef) -> None:
        given = node.args
        for argument in (
            *given.posonlyargs,
            *given.args,
            *given.kwonlyargs,
            given.vararg,
            given.kwarg,
        ):
            if argument is not None and argument.annotation is not None:
                argument.annotation = self.into(argument.annotation)
        if node.returns is not None:
            node.returns = self.out(node.returns)


def duplicate(node: Any) -> Any:
    """A copy of a syntax tree."""
    if isinstance(node, ast.AST):
        fields = {field: duplicate(getattr(node, field, None)) for field in node._fields}
        return type(node)(**fields)
    return [duplicate(item) for item in node] if isinstance(node, list) else node


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _subscript(value: ast.expr, items: list[ast.expr]) -> ast.Subscript:
    return ast.Subscript(value, ast.Tuple(items, ast.Load()), ast.Load())


def definition_at(place: Place) -> ast.stmt | None:
    """The statement that defines a name in NumPy's stubs."""
    module = stub(place[0])
    return module.definitions[place[1]][0] if module and place[1] in module.definitions else None


_mentions: dict[Place, bool] = {}


def mentions_arrays(place: Place, kept: frozenset[Place]) -> bool:
    """Whether an array comes out of what is defined at a place, so that it has to be rewritten."""
    if place not in _mentions:
        _mentions[place] = False  # for definitions that refer to themselves
        module = stub(place[0])
        assert module is not None
        rewriter = Rewriter(place[0], kept, lambda place: None)
        for statement in module.definitions[place[1]]:
            if isinstance(statement, ast.AnnAssign) and _last(statement.annotation) == "TypeAlias":
                rewriter.alias(statement)
            else:
                rewriter.statement(statement)
        _mentions[place] = rewriter.changed
    return _mentions[place]


def overridden(
    module: str, bases: list[str], kept: frozenset[Place], needed: Callable
) -> list[ast.stmt]:
    """The members of classes out of which arrays come, rewritten: what a subclass of ours has to declare."""
    here = stub(module)
    assert here is not None
    members: dict[str, list[ast.stmt]] = {}
    for base in bases:
        own: dict[str, list[ast.stmt]] = {}
        for statement in here.definitions[base]:
            assert isinstance(statement, ast.ClassDef)
            for inner in statement.body:
                for name in names_defined(inner):
                    own.setdefault(name, []).append(inner)
        for name, statements in own.items():
            members.setdefault(name, statements)
    result: list[ast.stmt] = []
    for statements in members.values():
        rewriter = Rewriter(module, kept, needed)
        rewritten = [rewriter.statement(statement) for statement in statements]
        if rewriter.changed or any(map(_returns_self, statements)):
            result += rewritten
    return result


def _returns_self(statement: ast.stmt) -> bool:
    """Whether a method returns an array of the class of its own: such methods return NumPy's arrays in older stubs."""
    if not isinstance(statement, ast.FunctionDef) or statement.returns is None:
        return False
    first = [*statement.args.posonlyargs, *statement.args.args][:1]
    own = {"Self", *(_last(argument.annotation) for argument in first if argument.annotation)}
    return bool(own & {_last(node) for node in ast.walk(statement.returns)} - {""})
