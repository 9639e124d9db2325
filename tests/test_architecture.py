"""The rooms of the architecture, and that imports go downwards through them only."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "atoll"

ORDER = [
    "__main__",
    "cli",
    "notebook",
    "__init__",
    "dataflow",
    "global_access",
    "functions",
    "array",
    "modelling",
    "profiling",
    "explaining",
    "files",
    "lazy",
    "interchange",
    "plan",
    "collective",
    "execute",
    "exchange",
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
    "front",
    "errors",
    "native_sources",
    "system",
    "_version",
]
"""From the room on top, which may import all others, to the one that imports nothing."""

FOREIGN = {
    "h5py": {"files/hdf5.py"},
    "zarr": {"files/zarr.py"},
    "ipyparallel": {"notebook"},
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
    types_only: bool = False
    """True if it stands under ``if TYPE_CHECKING``, which no program runs."""

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


@cache
def imports_of(source: str, path: str) -> list[Import]:
    """Every import in ``source`` at every depth, ``import_module`` included, with relative ones spelled out."""
    return list(_imports_of(source, path))


def _imports_of(source: str, path: str) -> Iterator[Import]:
    package = ["atoll", *path.split("/")[:-1]]
    tree = ast.parse(source)

    def absolute(level: int, name: str | None) -> str:
        return ".".join([*package[: len(package) - level + 1], *filter(None, [name])])

    types_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(path, node.lineno, alias.name, id(node) in types_only)
        elif isinstance(node, ast.ImportFrom):
            start = absolute(node.level, node.module) if node.level else node.module or ""
            for alias in node.names:
                name = f"{start}.{alias.name}"
                whole = name if start.startswith("atoll") and module_exists(name) else start
                yield Import(path, node.lineno, whole, id(node) in types_only)
        elif isinstance(node, ast.Call) and called(node) == "import_module":
            for name in names_asked_for(node.args[0], tree, module_of(path)):
                rest = name.lstrip(".")
                start = absolute(len(name) - len(rest), rest) if rest != name else name
                if not start.startswith("atoll.") or module_exists(start):
                    yield Import(path, node.lineno, start)


def called(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def names_asked_for(argument: ast.expr, tree: ast.Module, module: str) -> Iterator[str]:
    """What ``import_module`` may be given: in a formatted text every string of the module may fill the gap."""
    if isinstance(argument, ast.Constant):
        yield argument.value
    elif isinstance(argument, ast.JoinedStr):
        constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        texts = [text.replace("-", "_") for text in constants if isinstance(text, str)]
        fillings = {text for text in texts if re.fullmatch(r"[A-Za-z]\w*(\.[A-Za-z]\w*)*", text)}
        names = [""]
        for part in argument.values:
            if isinstance(part, ast.Constant):
                names = [name + part.value for name in names]
            elif ast.unparse(part) == "f'{__name__}'":
                names = [name + module for name in names]
            else:
                names = [name + text for name in names for text in fillings]
        yield from names


def module_of(path: str) -> str:
    """The dotted name of the module at ``path``."""
    return ".".join(["atoll", *path.removesuffix(".py").split("/")]).removesuffix(".__init__")


def all_imports() -> list[Import]:
    return [found for path, text in texts().items() for found in imports_of(text, path)]


def is_own(found: Import) -> bool:
    return found.target.split(".")[0] == "atoll"


def goes_up(found: Import) -> bool:
    """True if an import of atoll's own breaks the direction."""
    if found.room == found.target_room:
        return False
    if {found.room, found.target_room} == {"layout", "comm"}:
        return True
    if not {found.room, found.target_room} <= set(ORDER):
        return True
    return ORDER.index(found.room) > ORDER.index(found.target_room)


def test_every_room_is_in_the_order() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in files()}
    assert rooms <= set(ORDER), (
        "a new room needs its place in ORDER, and in docs/contributors/design.md"
    )


def test_imports_go_downwards() -> None:
    assert [str(found) for found in all_imports() if is_own(found) and goes_up(found)] == []


POSTING = {"exchange/messages.py", "execute/parts.py", "dataflow/execute.py"}
"""The files outside ``comm`` that post messages: array programs in one place, dataflow graphs in their own schedule."""


def posts(source: str) -> bool:
    """True if a file posts a message of its own."""
    words = "isend", "irecv"
    if not any(word in source for word in words):
        return False  # parsing all files takes seconds
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return any(called(call) in words for call in calls)


def test_one_loop_posts_the_messages_of_arrays() -> None:
    """A loop of messages elsewhere would be a second engine beside the first."""
    outside = {
        path for path, text in texts().items() if posts(text) and path.split("/")[0] != "comm"
    }
    assert outside == POSTING
    assert posts("def f(c, a):\n    return c.isend(a, 1)")


def names_a_backend(found: Import) -> bool:
    """True if an import from outside asks for one backend by name instead of ``backend.current()``."""
    parts = found.target.split(".")
    own = parts[:2] == ["atoll", "backend"] and parts[2:3] in (["llvm"], ["numpy"])
    loads = found.path == "backend/__init__.py"
    return own and not loads and found.path.split("/")[:2] != ["backend", parts[2]]


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


@pytest.mark.slow
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
        ("ops/a.py", "def f():\n    import_module('atoll.plan.lower')", True),
        ("ops/a.py", "def f():\n    importlib.import_module('..plan.lower')", True),
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


def cycle(sources: dict[str, str]) -> list[str]:
    """Modules that import each other in a circle, wherever in their text they do."""
    graph = {
        module_of(path): {
            found.target for found in imports_of(source, path) if not found.types_only
        }
        for path, source in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        names: list[str] = error.args[1]
        return names
    return []


@cache
def texts() -> dict[str, str]:
    """The text of every module by its path in the package."""
    return {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in files()}


@pytest.mark.slow
def test_modules_import_each_other_in_no_circle() -> None:
    assert cycle(texts()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "broken"),
    [
        ("lazy/views.py", "def f():\n    from .conversion import of_node"),
        ("lazy/views.py", "def f():\n    from . import conversion"),
        ("lazy/views.py", "def f():\n    import_module('atoll.lazy.conversion')"),
        ("lazy/views.py", "def f():\n    importlib.import_module('.conversion', __package__)"),
        ("graph/node.py", "def __getattr__(name):\n    from .picture import show"),
        (
            "lazy/__init__.py",
            "TABLE = {'a': 'views'}\ndef __getattr__(name):\n"
            "    return import_module(f'{__name__}.{TABLE[name]}')\nfrom ..array import ndarray",
        ),
    ],
)
def test_an_import_that_closes_a_circle_is_seen(path: str, broken: str) -> None:
    sources = dict(texts())
    sources[path] += "\n" + broken
    if path == "lazy/__init__.py":
        sources["lazy/views.py"] += "\ndef f():\n    from .. import lazy"
    assert module_of(path) in cycle(sources)


NATIVE = PACKAGE / "_native"
REFERENCE_COUNTS = 21
"""The places where C looks at a count of references: it may fall, and is lowered then."""

FIELDS_BY_OFFSET = 38
"""The places where C reads or writes a slot of an object of Python's by its offset: the same."""

CALLS_BY_NAME = {"functions": 1, "replay": 4}
"""The calls of methods by name: of arrays, and of a program's steps, of which each class has its own."""


def native_files() -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(NATIVE.glob("*.[ch]"))}


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def included(text: str) -> list[str]:
    """The units whose headers a file includes."""
    return re.findall(r'^#include "(\w+)\.h"$', text, flags=re.MULTILINE)


def circle_of_units(sources: dict[str, str]) -> list[str]:
    """Units of C that include each other in a circle, a unit being a header and its code."""
    graph: dict[str, set[str]] = {}
    for name, text in sources.items():
        unit = name.split(".")[0]
        graph.setdefault(unit, set()).update({*included(text)} - {unit})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        names: list[str] = error.args[1]
        return names
    return []


def statements(text: str) -> Iterator[str]:
    """The declarations and definitions of a file, each with the braces that it has."""
    code = re.sub(r"^#(?:.*\\\n)*.*$", "", without_comments(text), flags=re.MULTILINE)
    depth, start = 0, 0
    for place, letter in enumerate(code):
        depth += (letter == "{") - (letter == "}")
        ends = letter == ";" or (letter == "}" and not re.match(r"\s*\w*;", code[place + 1 :]))
        if ends and not depth:
            yield code[start : place + 1].strip()
            start = place + 1


def bodies(header: str) -> list[str]:
    """What a header defines: functions that are not ``static inline``, and variables."""
    declared = r"(typedef|extern|enum|static inline)\b|(?!static)[^{=]*\)\s*;$"
    return [found for found in statements(header) if not re.match(declared, found)]


def calls_by_name(text: str) -> int:
    return len(re.findall(r"PyObject_(?:CallMethod|VectorcallMethod)", text))


def kept_from_python(text: str) -> list[str]:
    """Variables of a unit that a function of the module fills with an object that Python gives it."""
    code = without_comments(text)
    names = {
        name.strip(" *").split("[")[0].split(" ")[0]
        for line in re.findall(r"^(?:static )?PyObject \*([^(){}]*?);", code, flags=re.MULTILINE)
        for name in line.split(",")
    }
    given = re.findall(r"PyArg_Parse\w*\(([^;]*)\);?", code)
    taken = {found for call in given for found in re.findall(r"&(\w+)", call)}
    set_from = re.findall(r"Py_XSETREF\((\w+), Py_NewRef\((\w+)\)\)", code)
    return sorted((names & taken) | {name for name, value in set_from if name in names & {name} and value in taken})  # fmt: skip


def test_units_of_c_have_a_header_each() -> None:
    sources = native_files()
    code = {name[:-2] for name in sources if name.endswith(".c")}
    assert code - {"module"} == {name[:-2] for name in sources if name.endswith(".h")}
    assert [unit for unit in code - {"module"} if included(sources[f"{unit}.c"])[0] != unit] == []


def test_headers_of_c_only_declare() -> None:
    found = {name: bodies(text) for name, text in native_files().items() if name.endswith(".h")}
    assert {name: defined for name, defined in found.items() if defined} == {}


def test_units_of_c_include_each_other_in_no_circle() -> None:
    assert circle_of_units(native_files()) == []


def test_c_calls_python_by_its_table() -> None:
    """Objects come to C by ``native.register`` alone, which refuses an incomplete table."""
    sources = native_files()
    assert [name for name, text in sources.items() if '"atoll.' in re.sub('"atoll._front', "", text)] == []  # fmt: skip
    assert [name for name, text in sources.items() if kept_from_python(text)] == []
    counts = {name[:-2]: calls_by_name(text) for name, text in sources.items() if name[-1] == "c"}
    assert {unit: count for unit, count in counts.items() if count} == CALLS_BY_NAME


def test_c_knows_no_more_of_the_interpreter() -> None:
    text = "".join(map(without_comments, native_files().values()))
    code = "".join(text for name, text in native_files().items() if name.endswith(".c"))
    assert len(re.findall(r"Py_(?:SET_)?REFCNT\b", text)) <= REFERENCE_COUNTS
    assert len(re.findall(r"\b(?:field|slot|put|replace)\(", code)) <= FIELDS_BY_OFFSET
    assert [name for name, text in native_files().items() if "offsets[" in text] == ["table.c", "table.h"]  # fmt: skip
    assert "internal/pycore" not in text
    assert "Py_BUILD_CORE" not in text


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("table.h", '#include "errors.h"'),
        ("memory.c", '#include "items.h"'),
        ("loops.h", '#include "operations.h"'),
    ],
)
def test_a_circle_of_units_is_seen(name: str, broken: str) -> None:
    sources = native_files()
    sources[name] += "\n" + broken + "\n"
    assert name.split(".")[0] in circle_of_units(sources)


@pytest.mark.parametrize(
    "broken",
    [
        "static int f(void) { return 1; }",
        "PyObject *f(PyObject *a) {\n    return a;\n}",
        "int count;",
        "static PyObject *seen = NULL;",
    ],
)
def test_a_definition_in_a_header_is_seen(broken: str) -> None:
    header = native_files()["memory.h"]
    assert not bodies(header)
    assert bodies(header.replace("#endif", broken + "\n\n#endif"))


@pytest.mark.parametrize(
    "broken",
    [
        'static PyObject *f;\nstatic PyObject *set(PyObject *m, PyObject *a) {\n    PyArg_ParseTuple(a, "O", &f);\n}',
        'static PyObject *f;\nstatic PyObject *set(PyObject *m, PyObject *a) {\n    PyObject *g;\n    PyArg_ParseTuple(a, "O", &g);\n'
        "    Py_XSETREF(f, Py_NewRef(g));\n}",
    ],
)
def test_an_object_that_is_registered_elsewhere_is_seen(broken: str) -> None:
    assert kept_from_python(native_files()["memory.c"] + broken) == ["f"]
