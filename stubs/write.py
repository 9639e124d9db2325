"""Writes the stubs of atoll (``src/atoll/**/*.pyi``) from NumPy's and from ``own.pyi``.

    python stubs/write.py [FOLDER]

What atoll does not have differently is imported from NumPy. Functions and methods that return arrays are written anew with
atoll's array, into ``_stubs`` by the stub of NumPy's that defines them. ``own.pyi`` has what NumPy does not have.
"""

from __future__ import annotations

import ast
import builtins
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy

import atoll
from atoll.lazy.registry import registry
from numpys import Stub, names_defined, resolve, stub
from rewriting import OURS, PREFIX, Place, Rewriter, mentions_arrays, overridden

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "atoll"
HEAD = f"""\
# Written by stubs/write.py from NumPy {numpy.__version__} and stubs/own.pyi: do not edit.
# mypy: disable-error-code="overload-overlap,override,misc,deprecated"
"""

SUBMODULES = (
    "char", "ctypeslib", "dtypes", "emath", "exceptions", "fft", "lib", "lib.array_utils", "lib.format", "lib.introspect",
    "lib.mixins", "lib.npyio", "lib.recfunctions", "lib.scimath", "lib.stride_tricks", "linalg", "ma", "ma.core",
    "ma.extras", "ma.mrecords", "polynomial", "polynomial.chebyshev", "polynomial.hermite", "polynomial.hermite_e",
    "polynomial.laguerre", "polynomial.legendre", "polynomial.polynomial", "random", "rec", "strings", "testing", "typing",
    "version",
)  # fmt: skip
"""The modules of NumPy's that a program may import as atoll's."""

PLATFORMS = ("complex192", "complex256", "float96", "float128")
"""The names of NumPy's that some platforms lack."""

TOP = ("__array_namespace_info__", "__version__", "version")
"""Names that ``dir(np)`` does not have."""

CLASSES = {
    ("numpy", "ndarray"): ["ndarray", "_ArrayOrScalarCommon"],
    ("numpy.random._generator", "Generator"): ["Generator"],
    ("numpy.random.mtrand", "RandomState"): ["RandomState"],
}
"""The classes that are subclasses of NumPy's here, by the classes whose members they have."""

LAYOUT = "Layout | str | Sequence[Any] | None"


class Writer:
    """Collects what the stubs need, then writes them."""

    def __init__(self) -> None:
        self.own = ast.parse((HERE / "own.pyi").read_text())
        self.own_names = {name for statement in self.own.body for name in names_defined(statement)}
        self.own_names |= {
            alias.asname
            for statement in self.own.body
            if isinstance(statement, ast.ImportFrom)
            for alias in statement.names
            if alias.asname == alias.name
        }
        self.kept = self._numpys_own()
        created = {f"numpy.{name}".rpartition(".") for name in registry.created}
        named = {(module, name) for module, _, name in created}
        self.laid_out = {resolve(*name) for name in named} | {
            ("numpy._core.multiarray", "_ConstructorEmpty")
        }
        """The definitions of what takes ``layout=``."""
        self.wanted: dict[str, set[str]] = {}
        """By stub of NumPy's, the names whose definitions are rewritten."""
        self.written: dict[str, dict[str, list[ast.stmt]]] = {}
        """By stub of NumPy's, the rewritten definitions so far, by name."""

    def _numpys_own(self) -> frozenset[Place]:
        """The definitions of classes whose objects are NumPy's own, and of those that only take arrays of atoll's as seeds."""
        same: set[Place | None] = set()
        for name in ("", *SUBMODULES):
            theirs, ours = modules(name)
            for word in public(ours):
                value, original = getattr(ours, word, None), getattr(theirs, word, None)
                is_seeded = name == "random" and isinstance(original, type)
                if isinstance(value, type) and (
                    value is original or (is_seeded and issubclass(value, original))
                ):
                    same.add(resolve(theirs.__name__, word))
        return frozenset(place for place in same if place is not None) - OURS.keys()

    def need(self, place: Place) -> None:
        """Have a definition rewritten."""
        self.wanted.setdefault(place[0], set()).add(place[1])

    # -- public modules

    def public_module(self, name: str) -> str:
        """The stub of ``atoll`` or one of its submodules: where each public name comes from."""
        theirs, ours = modules(name)
        lines: dict[str, list[str]] = {}
        for word in public(ours):
            if (name, word) in {("", own) for own in self.own_names} | {("typing", "NDArray")}:
                continue
            place = resolve(theirs.__name__, word)
            value = getattr(ours, word, None)  # none for what this platform lacks
            if isinstance(value, ModuleType):
                package = f"atoll.{name}" if name else "atoll"
                below = f"{name}.{word}".lstrip(".")
                if below in SUBMODULES:
                    lines.setdefault(package, []).append(word)
                elif place is None and stub(f"{theirs.__name__}.{word}"):
                    lines.setdefault(theirs.__name__, []).append(word)
            elif place is None:
                if stub(theirs.__name__) is None:
                    lines.setdefault(theirs.__name__, []).append(word)
            elif value is getattr(theirs, word, None) or not self.differs(place):
                here = stub(theirs.__name__)
                exported = (
                    here is None or word in here.exported or word in here.definitions or here.stars
                )
                lines.setdefault(theirs.__name__ if exported else place[0], []).append(word)
            else:
                self.need(place)
                if place[0] != "numpy" or name:
                    lines.setdefault(copy_of(place[0]), []).append(
                        word if place[1] == word else f"{place[1]} as {word}"
                    )
        return "".join(imports(origin, words) for origin, words in sorted(lines.items()))

    def differs(self, place: Place) -> bool:
        """Whether a definition says something else for atoll than for NumPy."""
        return place not in self.kept and (
            place in CLASSES or mentions_arrays(place, self.kept) or place in self.laid_out
        )

    # -- copies of NumPy's stubs

    def copied(self, module: str) -> tuple[dict[str, tuple[str, str | None]], list[ast.stmt]]:
        """The origins of the names that a copy of one of NumPy's stubs refers to, and its definitions."""
        here = stub(module)
        assert here is not None
        order = list(here.definitions)
        rewriter = Rewriter(module, self.kept, self.need)
        done = self.written.setdefault(module, {})
        origins: dict[str, tuple[str, str | None]] = {}
        used: set[str] = set().union(*(names_used(s) for group in done.values() for s in group))
        while True:
            for name in self.wanted[module] - done.keys():
                done[name] = self.rewritten(here, name, rewriter)
                used.update(*map(names_used, done[name]))
            written = {n for group in done.values() for s in group for n in names_defined(s)}
            more = False
            for name in sorted(used - written):
                plain = name.removeprefix(PREFIX)
                if name in here.definitions and name not in self.wanted[module]:
                    if is_helper(here.definitions[name][0]):
                        self.wanted[module].add(name)
                        more = True
                    else:
                        origins[name] = (module, name)
                elif name in here.imports:
                    origin, original = here.imports[name]
                    place = original and resolve(origin, original)
                    ours = place and place[1] in self.wanted.get(place[0], ())
                    origins[name] = (copy_of(place[0]), place[1]) if ours else (origin, original)
                elif name.startswith(PREFIX) and plain in here.definitions:
                    more = True  # needed since it was looked for
                elif name.startswith(PREFIX) and plain in here.imports:
                    place = resolve(*here.imports[plain])
                    assert place is not None
                    origins[name] = (copy_of(place[0]), name)
                elif name not in ("atoll", *dir(builtins)) and name not in here.definitions:
                    origins.setdefault(name, EXTRA[name])
            if not more and all(name in done for name in self.wanted[module]):
                break
        body = [s for name in sorted(done, key=order.index) for s in done[name]]
        return origins, body

    def rewritten(self, here: Stub, name: str, rewriter: Rewriter) -> list[ast.stmt]:
        """The definition of a name, with our types."""
        place = (here.name, name)
        if place in CLASSES:
            return [self.subclass(here, name)]
        result: list[ast.stmt] = []
        for given in here.definitions[name]:
            statement = rewriter.statement(given)
            if place in self.laid_out:
                with_layout(statement)
            result.append(statement)
            if (
                isinstance(given, ast.AnnAssign)
                and is_alias(given)
                and mentions_arrays(place, self.kept)
            ):
                result.append(rewriter.alias(given))
        return result

    def subclass(self, here: Stub, name: str) -> ast.ClassDef:
        """Our class: a subclass of NumPy's, with what NumPy's does not have and what it declares otherwise."""
        bases = CLASSES[here.name, name]
        original = here.definitions[name][0]
        assert isinstance(original, ast.ClassDef)
        parameters = [b for b in original.bases if isinstance(b, ast.Subscript)]
        base: ast.expr = ast.parse(f"np.random.{name}", mode="eval").body
        if parameters:
            base = ast.Subscript(ast.parse(f"np.{name}", mode="eval").body, parameters[0].slice)
        own = [s for s in self.own.body if isinstance(s, ast.ClassDef) and s.name == name]
        members = overridden(here.name, bases, self.kept, self.need)
        if here.name.startswith("numpy.random"):
            for member in members:
                if isinstance(member, ast.FunctionDef) and mentions_ours(member.returns):
                    with_layout(member)
        body = [*(own[0].body if own else []), *members]
        result = ast.ClassDef(name, [base], [], body, [])
        return ast.fix_missing_locations(result)


EXTRA: dict[str, tuple[str, str | None]] = {
    "np": ("numpy", None),
    "Layout": ("atoll.layout", "Layout"),
    "World": ("atoll.comm.world", "World"),
    "Sequence": ("collections.abc", "Sequence"),
    "Hashable": ("collections.abc", "Hashable"),
    "Iterable": ("collections.abc", "Iterable"),
    "AbstractContextManager": ("contextlib", "AbstractContextManager"),
    "Any": ("typing", "Any"),
    "Self": ("typing", "Self"),
    "Literal": ("typing", "Literal"),
}
"""Names that own.pyi and the argument ``layout=`` bring into the stubs."""


def is_alias(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AnnAssign) and ast.unparse(statement.annotation) == "TypeAlias"


def is_helper(statement: ast.stmt) -> bool:
    """Whether a definition may stand in two stubs: a type variable, an alias, a protocol, a typed dictionary."""
    if isinstance(statement, ast.ClassDef):
        bases = {ast.unparse(base).partition("[")[0] for base in statement.bases}
        return statement.name.startswith("_") and bool(bases & {"Protocol", "TypedDict"})
    variable = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
    return variable or (is_alias(statement) and names_defined(statement)[0].startswith("_"))


def names_used(statement: ast.stmt) -> set[str]:
    """The names that a definition refers to, but for the members of its own class."""
    nodes = [*ast.walk(statement)]
    names = {
        n.id
        for n in nodes
        if isinstance(n, ast.Name) and not isinstance(getattr(n, "ctx", None), ast.Store)
    }
    setters = {
        decorator.value.id
        for n in nodes
        if isinstance(n, ast.FunctionDef)
        for decorator in n.decorator_list
        if isinstance(decorator, ast.Attribute) and isinstance(decorator.value, ast.Name)
    }
    return names - setters


def mentions_ours(node: ast.expr | None) -> bool:
    """Whether a result is an array of atoll's."""
    return node is not None and "atoll." in ast.unparse(node)


def with_layout(statement: ast.stmt) -> None:
    """Add the argument ``layout=`` to a function, or to the calls of a protocol."""
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef) and node.name in (
            "__call__",
            getattr(statement, "name", ""),
        ):
            annotation = ast.parse(LAYOUT, mode="eval").body
            node.args.kwonlyargs.append(ast.arg("layout", annotation))
            node.args.kw_defaults.append(ast.Constant(None))


def modules(name: str) -> tuple[ModuleType, ModuleType]:
    """The module of NumPy's, and of atoll's."""
    path = f".{name}" if name else ""
    theirs = "numpy.lib.scimath" if name == "emath" else f"numpy{path}"
    return import_module(theirs), import_module(f"atoll{path}")


def public(module: ModuleType) -> list[str]:
    """The public names of a module."""
    names = {name for name in dir(module) if not name.startswith("_")}
    return sorted({*names, *PLATFORMS, *TOP} if module is atoll else names)


def copy_of(module: str) -> str:
    """The name of our copy of one of NumPy's stubs."""
    return "atoll" if module == "numpy" else f"atoll._stubs.{module.rpartition('.')[2].lstrip('_')}"


def imports(origin: str, words: list[str]) -> str:
    """A statement that imports public names."""
    items = [word if " as " in word else f"{word} as {word}" for word in words]
    return f"from {origin} import (\n" + "".join(f"    {item},\n" for item in items) + ")\n"


def import_lines(origins: dict[str, tuple[str, str | None]]) -> str:
    """The imports of a copied stub."""
    lines = []
    for local, (origin, original) in origins.items():
        if original is None:
            lines.append(f"import {origin}" + (f" as {local}" if local != origin else ""))
        else:
            lines.append(
                f"from {origin} import {original}" + (f" as {local}" if local != original else "")
            )
    return "".join(f"{line}\n" for line in sorted(lines))


def text_of(statement: ast.stmt) -> str:
    """A definition as text, with empty bodies on the line of their definition."""
    lines: list[str] = []
    for line in ast.unparse(ast.fix_missing_locations(statement)).split("\n"):
        if line.strip() == "..." and lines and lines[-1].endswith(":"):
            lines[-1] += " ..."
        elif line.strip():
            lines.append(line)
    return "\n".join(lines) + "\n"


def stubs() -> dict[str, str]:
    """The text of every stub, by its path in the package."""
    writer = Writer()
    result: dict[str, str] = {}
    for place in CLASSES:
        writer.need(place)
    publics = {name: writer.public_module(name) for name in ("", *SUBMODULES)}
    while True:  # a copy may need others
        before = {module: set(names) for module, names in writer.wanted.items()}
        parts = {module: writer.copied(module) for module in sorted(writer.wanted)}
        if before == writer.wanted:
            break
    copies = {
        module: (import_lines(origins), "".join(dict.fromkeys(map(text_of, body))))
        for module, (origins, body) in parts.items()
    }
    names = [copy_of(module) for module in copies]
    assert len(names) == len(set(names)), "two of NumPy's stubs have the same last name"
    for name, text in publics.items():
        path = "/".join([*filter(None, name.split(".")), "__init__.pyi"])
        if not name:
            needed, body = copies.pop("numpy")
            exported = {*public(atoll), *writer.own_names}
            needed = "".join(
                f"{line}\n"
                for line in needed.splitlines()
                if line.rpartition(" ")[2] not in exported
            )
            exported = "".join(
                f"from atoll._stubs.own import {word} as {word}\n" for word in sorted(writer.own_names - {"ndarray"})
                if not word.startswith("_")
            )  # fmt: skip
            text = f"import atoll\nimport atoll._stubs.own\nimport atoll.random\nimport atoll.typing\n{needed}{text}{exported}{body}"
        if name == "typing":
            text += NDARRAY
        result[path] = HEAD + text
    head = "import atoll\nimport atoll.random\nimport atoll.typing\n"
    for module, (needed, body) in copies.items():
        result[f"_stubs/{copy_of(module).rpartition('.')[2]}.pyi"] = HEAD + head + needed + body
    own = [s for s in writer.own.body if not (isinstance(s, ast.ClassDef) and s.name == "ndarray")]
    result["_stubs/own.pyi"] = HEAD + "".join(text_of(s) for s in own)
    result["_stubs/__init__.pyi"] = HEAD
    return dict(sorted(result.items()))


NDARRAY = """\
import atoll
from typing import Any, TypeAlias, TypeVar
from numpy import dtype, generic

_ScalarT = TypeVar("_ScalarT", bound=generic)
NDArray: TypeAlias = atoll.ndarray[tuple[Any, ...], dtype[_ScalarT]]
"""


def main() -> None:
    """Write the stubs, and remove those that are no longer written."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE
    written = stubs()
    for path in folder.rglob("*.pyi"):
        if str(path.relative_to(folder)) not in written:
            path.unlink()
    for name, text in written.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    lines = sum(text.count("\n") for text in written.values())
    print(f"{len(written)} stubs, {lines} lines")


if __name__ == "__main__":
    main()
