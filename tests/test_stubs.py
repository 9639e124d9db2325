"""The stubs: what ``stubs/write.py`` writes from NumPy's, and what it says of atoll's own names is true."""

from __future__ import annotations

import ast
import inspect
import sys
from importlib import import_module
from pathlib import Path

import numpy
import pytest

import atoll
from atoll.array import OWN
from atoll.config import Settings

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "atoll"
MAIN = (PACKAGE / "__init__.pyi").read_text()


def written_for() -> tuple[int, ...]:
    """The release of NumPy from whose stubs those of atoll were written."""
    return tuple(map(int, MAIN.split("from NumPy ")[1].split(" ")[0].split(".")[:2]))


@pytest.mark.slow
def test_stubs_are_what_the_generator_writes():
    if tuple(map(int, numpy.__version__.split(".")[:2])) < written_for():
        pytest.skip(f"NumPy {numpy.__version__} is older than that of the stubs")
    sys.path.insert(0, str(ROOT / "stubs"))
    try:
        expected = import_module("write").stubs()
    finally:
        sys.path.remove(str(ROOT / "stubs"))
    present = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.pyi")}
    stale = [
        name
        for name in sorted({*expected, *present})
        if name not in expected
        or name not in present
        or ast.dump(ast.parse(expected[name])) != ast.dump(ast.parse(present[name].read_text()))
    ]
    assert stale == [], "out of date; `python stubs/write.py` writes them"


def own() -> dict[str, ast.stmt]:
    """The definitions of ``own.pyi``, by name."""
    body = ast.parse((ROOT / "stubs" / "own.pyi").read_text()).body
    return {s.name: s for s in body if isinstance(s, (ast.FunctionDef, ast.ClassDef))}


def test_our_names_are_those_of_the_stubs():
    text = MAIN.replace("\n", " ")
    exported = {name for name in atoll.OWN if f"import {name} as {name} " in text}
    assert exported == set(atoll.OWN), "stubs/own.pyi has a line for each name of atoll.OWN"
    members = {s.name for s in own()["ndarray"].body if isinstance(s, ast.FunctionDef)}
    assert members == set(OWN)


def test_our_functions_have_the_parameters_of_the_stubs():
    functions = {name: s for name, s in own().items() if isinstance(s, ast.FunctionDef)}
    assert "from_local" in functions
    for name, statement in functions.items():
        given = statement.args
        parameters = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        assert parameters == list(inspect.signature(getattr(atoll, name)).parameters), name


def test_settings_are_those_of_the_stubs():
    body = own()["_Config"].body
    names = {s.target.id for s in body if isinstance(s, ast.AnnAssign)}
    call = next(s for s in body if isinstance(s, ast.FunctionDef) and s.name == "__call__")
    names |= {s.name for s in body if isinstance(s, ast.FunctionDef)} - {"settings", "__call__"}
    fields = set(Settings.__dataclass_fields__)
    assert names == fields == {a.arg for a in call.args.kwonlyargs}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("__init__.pyi", {"zeros", "ones", "empty", "full", "load", "fromfile", "loadtxt", "genfromtxt"}),
        ("lib/format/__init__.pyi", {"open_memmap"}),
    ],
)  # fmt: skip
def test_what_takes_a_layout_says_so(path, names):
    """All of these take ``layout=``, and their stubs come from a copy that has it."""
    text = (PACKAGE / path).read_text()
    for name in names:
        origin = text[: text.index(f"    {name} as {name},")].rpartition("from ")[2].split()[0]
        copy = (PACKAGE / f"_stubs/{origin.rpartition('.')[2]}.pyi").read_text()
        assert "layout: Layout | " in copy[copy.index(name) :], (name, origin)
