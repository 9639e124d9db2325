"""The rooms of the architecture, and that imports go downwards through them only."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "atoll"

ORDER = [
    "__main__",
    "cli",
    "__init__",
    "dataflow",
    "functions",
    "array",
    "explaining",
    "lazy",
    "interchange",
    "plan",
    "collective",
    "execute",
    "backend",
    "ops",
    "graph",
    "layout",
    "started",
    "startup",
    "comm",
    "context",
    "config",
    "policy",
    "errors",
    "_version",
]
"""From the room on top, which may import all others, to the one that imports nothing."""

FOREIGN = {
    "mpi4py": {"comm/mpi.py"},
    "llvmlite": {"backend/llvm"},
}
"""The packages that only some files or rooms may import."""

LONGEST = 640


@dataclass(frozen=True)
class Import:
    """One import statement: where it stands, and the full name of what it imports."""

    path: str
    line: int
    target: str
    inside_function: bool

    @property
    def room(self) -> str:
        return self.path.split("/")[0].removesuffix(".py")

    @property
    def target_room(self) -> str:
        parts = self.target.split(".")
        return parts[1] if len(parts) > 1 else "__init__"

    def __str__(self) -> str:
        return f"src/atoll/{self.path}:{self.line} imports {self.target}"


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_exists(dotted: str) -> bool:
    path = PACKAGE.parent.joinpath(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def imports_of(source: str, path: str) -> Iterator[Import]:
    """Every import in ``source``, with relative ones spelled out, at every depth."""
    package = ["atoll", *path.split("/")[:-1]]

    def walk(node: ast.AST, inside: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(path, child.lineno, alias.name, inside)
            elif isinstance(child, ast.ImportFrom):
                base = package[: len(package) - child.level + 1] if child.level else []
                start = ".".join([*base, *filter(None, [child.module])])
                for alias in child.names:
                    name = f"{start}.{alias.name}"
                    whole = name if start.startswith("atoll") and module_exists(name) else start
                    yield Import(path, child.lineno, whole, inside)
            else:
                deeper = inside or isinstance(
                    child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
                )
                yield from walk(child, deeper)

    yield from walk(ast.parse(source), False)


def all_imports() -> list[Import]:
    return [
        found
        for path in files()
        for found in imports_of(path.read_text(), path.relative_to(PACKAGE).as_posix())
    ]


def is_own(found: Import) -> bool:
    return found.target.split(".")[0] == "atoll"


def goes_up(found: Import) -> bool:
    """Whether an import of atoll's own breaks the direction."""
    if found.room == found.target_room:
        return False
    if {found.room, found.target_room} == {"layout", "comm"}:
        return True
    if not {found.room, found.target_room} <= set(ORDER):
        return True
    return ORDER.index(found.room) > ORDER.index(found.target_room)


def test_every_room_is_in_the_order() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in files()}
    assert rooms <= set(ORDER), "a new room needs its place in ORDER, and in docs/design.md"


def test_imports_go_downwards() -> None:
    assert [str(found) for found in all_imports() if is_own(found) and goes_up(found)] == []


def names_a_backend(found: Import) -> bool:
    """Whether an import from outside asks for one backend by name instead of ``backend.current()``."""
    parts = found.target.split(".")
    own = parts[:2] == ["atoll", "backend"] and parts[2:3] in (["llvm"], ["numpy"])
    return own and found.path.split("/")[:2] != ["backend", parts[2]]


def test_nothing_outside_a_backend_names_it() -> None:
    """``backend/__init__`` loads it by the name in the settings; all else goes through the interface."""
    assert [str(found) for found in all_imports() if names_a_backend(found)] == []


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("plan/a.py", "from ..backend.llvm.compile import b", True),
        ("plan/a.py", "from ..backend import llvm", True),
        ("backend/numpy/a.py", "from ..llvm import b", True),
        ("backend/llvm/a.py", "from .compile import c", False),
        ("plan/a.py", "from ..backend.spec import b", False),
    ],
)
def test_the_name_of_a_backend_is_told_from_the_text(
    path: str, source: str, expected: bool
) -> None:
    assert any(map(names_a_backend, imports_of(source, path))) is expected


@pytest.mark.parametrize("package", FOREIGN)
def test_foreign_packages_stay_in_their_room(package: str) -> None:
    allowed = FOREIGN[package]
    outside = [
        str(found)
        for found in all_imports()
        if found.target.split(".")[0] == package and not found.path.startswith(tuple(allowed))
    ]
    assert outside == []


def test_no_file_is_too_long() -> None:
    lengths = {
        str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in files()
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("layout/a.py", "from ..comm import world", True),
        ("comm/a.py", "from ..layout.b import c", True),
        ("ops/a.py", "from atoll.plan import lower", True),
        ("ops/a.py", "def f():\n    import atoll.plan.lower", True),
        ("ops/a.py", "from .. import array", True),
        ("ops/a.py", "import atoll", True),
        ("comm/a.py", "from ..cli import run", True),
        ("plan/a.py", "from ..ops.b import c\nfrom . import d\nfrom .e import f", False),
        ("array.py", "from .graph import node", False),
        ("cli/a.py", "from ..comm.world import world\nfrom ..layout import Block", False),
    ],
)
def test_the_direction_is_told_from_the_text(path: str, source: str, expected: bool) -> None:
    found = [one for one in imports_of(source, path) if is_own(one)]
    assert found
    assert any(goes_up(one) for one in found) is expected


def test_import_is_light() -> None:
    """What is heavy and not always needed is imported when it is first used."""
    heavy = {
        "mpi4py",
        "llvmlite",
        "threadpoolctl",
        "dask",
        "ray",
        "h5py",
        "zarr",
        "multiprocessing",
        "asyncio",
    }
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("ATOLL_")
    }
    program = "import sys, numpy; before = set(sys.modules); import atoll; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    assert {name.split(".")[0] for name in done.stdout.split()} & heavy == set()


def foreign_assignments(source: str, path: str) -> list[str]:
    """Assignments at module level to attributes of what is imported from another package."""
    tree, room = ast.parse(source), path.split("/")[0].removesuffix(".py")
    foreign = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
        if node.level > path.count("/") and (node.module or "").split(".")[0] != room
    }
    return [
        f"{path}:{node.lineno} {ast.unparse(target)}"
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and ast.unparse(target.value).split(".")[0] in foreign
    ]


def test_no_module_assigns_attributes_of_another_package() -> None:
    found = [
        line
        for path in files()
        for line in foreign_assignments(path.read_text(), path.relative_to(PACKAGE).as_posix())
    ]
    assert len(found) == 1
    assert found[0].startswith("array.py:")
    assert found[0].endswith(" Handle.array_type")
    broken = "from ..graph.node import Node\nNode.placed = print"
    assert foreign_assignments(broken, "ops/a.py")
    assert not foreign_assignments(broken.replace("..graph.node", ".node"), "ops/a.py")
