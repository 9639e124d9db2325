"""Reads NumPy's stubs: which stub defines a name, and the names in scope there."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy

ROOT = Path(numpy.__file__).parent


@dataclass
class Stub:
    """One stub of NumPy's: its definitions and its imports, by name."""

    name: str
    definitions: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """By local name, the module, and the name in it; ``None`` for the module itself."""
    stars: list[str] = field(default_factory=list)
    exported: set[str] = field(default_factory=set)
    """The imported names that others may import from here."""


def path_of(module: str) -> tuple[Path, bool] | None:
    """The stub of a module, or its source if that has the types, and whether it is a package."""
    base = ROOT.joinpath(*module.split(".")[1:])
    for path, package in (
        (base / "__init__.pyi", True), (base.with_suffix(".pyi"), False),
        (base / "__init__.py", True), (base.with_suffix(".py"), False),
    ):  # fmt: skip
        if path.exists() and (path.name != ".py"):
            return path, package
    return None


@cache
def stub(module: str) -> Stub | None:
    """The parsed stub of one of NumPy's modules."""
    if module.partition(".")[0] != "numpy" or (place := path_of(module)) is None:
        return None
    path, package = place
    result = Stub(module)
    for statement in ast.parse(path.read_text()).body:
        _enter(result, statement, package)
    return result


def _enter(result: Stub, statement: ast.stmt, package: bool) -> None:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            local = alias.asname or alias.name.partition(".")[0]
            result.imports[local] = (alias.name if alias.asname else local, None)
    elif isinstance(statement, ast.ImportFrom):
        words = result.name.split(".") if package else result.name.split(".")[:-1]
        words = words[: len(words) - statement.level + 1] if statement.level else []
        origin = ".".join([*words, *filter(None, [statement.module])])
        for alias in statement.names:
            if alias.name == "*":
                result.stars.append(origin)
            else:
                result.imports[alias.asname or alias.name] = (origin, alias.name)
                if alias.asname == alias.name:
                    result.exported.add(alias.name)
    else:
        if "__all__" in names_defined(statement) or isinstance(statement, ast.AugAssign):
            constants = [n.value for n in ast.walk(statement) if isinstance(n, ast.Constant)]
            result.exported.update(value for value in constants if isinstance(value, str))
        for name in names_defined(statement):
            result.definitions.setdefault(name, []).append(statement)


def names_defined(statement: ast.stmt) -> list[str]:
    """The names that a statement of a stub defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.If(body=body, orelse=orelse):
            return [name for inner in (*body, *orelse) for name in names_defined(inner)]
    return []


@cache
def resolve(module: str, name: str) -> tuple[str, str] | None:
    """Follows imports between NumPy's stubs to the definition of a name."""
    here = stub(module)
    if here is None:
        return None
    if name in here.definitions:
        return module, name
    if name in here.imports:
        origin, original = here.imports[name]
        return resolve(origin, original) if original and origin != module else None
    for star in here.stars:
        place = resolve(star, name)
        if place is not None:
            return place
    return None


def module_at(module: str, dotted: list[str]) -> tuple[str, str] | None:
    """What ``np.linalg.norm`` in a stub means: the definition of the last name."""
    here = stub(module)
    if here is None or dotted[0] not in here.imports:
        return None
    origin, original = here.imports[dotted[0]]
    current = origin if original is None else f"{origin}.{original}"
    for word in dotted[1:-1]:
        current = f"{current}.{word}"
    return resolve(current, dotted[-1])
