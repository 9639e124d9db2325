"""One registry: a function of NumPy's is written once, whatever the number of ranks."""

import ast
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import atoll
from atoll.functions import names
from atoll.functions.public import collective
from atoll.lazy import registry as module
from atoll.lazy.registry import Registry, registry

PACKAGE = Path(atoll.__file__).parent
FUNCTIONS = PACKAGE / "functions"


def definitions():
    """The modules that define a function under the name of one of NumPy's, by that name."""
    where = defaultdict(set)
    for path in FUNCTIONS.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                name = node.name.strip("_")
                if callable(getattr(np, name, None)):
                    where[name].add(path.name)
    return where


def test_no_function_of_numpys_is_written_twice():
    where = definitions()
    assert len(where) > 120
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_a_second_implementation_is_refused():
    with pytest.raises(ValueError, match="has an implementation already"):
        collective(np.diff)(lambda a: a)
    assert registry.find(np.diff) is names["diff"]


def test_numpys_dispatch_and_the_public_name_come_to_the_same_function():
    apart = [
        name
        for name, kind in registry.kinds.items()
        if kind in ("native", "data") and "__array_function__" not in name
        and callable(original := getattr(np, name, None)) and not isinstance(original, type)
        and registry.find(original) not in (None, names[name])
    ]  # fmt: skip
    assert apart == []
    methods = [name for name in dir(np.ndarray) if not name.startswith("_")]
    assert [name for name in methods if not hasattr(atoll.ndarray, name)] == []


TABLES = {
    "functions": "declarations",
    "ops/ufuncs.py": "the rows of ufuncs",
    "backend": "the code of ufuncs, and of folds",
    "explaining/formulas.py": "the signs of ufuncs",
    "modelling/work.py": "the operations of matrix functions",
    "comm/communicator.py": "the operations of MPI",
    "context/tracebacks.py": "the attributes of arrays",
}
"""The places where four or more names of NumPy's functions may stand in one table, and what the table has."""


def of_numpy(node):
    """True if an item of a table names a function or a method of NumPy's."""
    if isinstance(node, ast.Tuple) and node.elts:
        return of_numpy(node.elts[0])
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np":
        name = node.attr
    else:
        name = getattr(node, "value", None)
    if not isinstance(name, str) or name.startswith("_"):
        return False
    spaces = vars(np), vars(np.ndarray), vars(np.linalg), vars(np.fft)
    found = [space[name] for space in spaces if name in space]
    return any(callable(value) and not isinstance(value, type) for value in found)


def tables(text):
    """The lines of the tables that have four or more names of NumPy's functions."""
    for node in ast.walk(ast.parse(text)):
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
        if len({ast.unparse(item) for item in items if item is not None and of_numpy(item)}) > 3:
            yield node.lineno


def test_names_of_functions_stand_in_their_declarations():
    """What is decided about a function is said by its declaration, not by a table elsewhere."""
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(tables(path.read_text()))
    }
    assert {path for path in found if not path.startswith(tuple(TABLES))} == set()
    assert [place for place in TABLES if not any(path.startswith(place) for path in found)] == []


@pytest.mark.parametrize(
    "text",
    [
        "KINDS = {'sum': 1, 'prod': 2, 'max': 3, 'min': 4}",
        "WAYS = frozenset({'clip', 'mean', 'std', 'var'})",
        "CUTS = {np.take: 1, np.sort: 2, np.interp: 3, np.digitize: 4}",
        "ROWS = (('linspace', 1), ('solve', 2), ('fft', 3), ('ravel', 4))",
    ],
)
def test_a_second_table_is_seen(text):
    assert [*tables(text)] == [1]


def test_nothing_else_maps_functions_of_numpys_to_ours():
    """No dictionary of the package has NumPy's functions for keys: only a registry has."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Dict):
                for key in filter(None, node.keys):
                    is_named = isinstance(key, ast.Attribute) and ast.unparse(key).startswith("np.")
                    value = getattr(np, key.attr, None) if is_named else None
                    if callable(value) and not isinstance(value, (np.ufunc, type)):
                        found.append(f"{path.name}:{node.lineno}")
    assert found == []
    assert [v for v in vars(module).values() if isinstance(v, Registry)] == [registry]


@pytest.mark.ranks(1, 3)
def test_one_function_serves_any_number_of_ranks(size):
    whole = np.arange(60000.0) % 977
    a = atoll.asarray(whole.copy())
    if size > 1:
        a = a.redistribute(atoll.Layout(whole.shape, "b", size=size))
    for call in (
        lambda m, x: m.diff(x, prepend=0, append=[1.0, 2.0]),
        lambda m, x: m.average(x, weights=x + 1, returned=True)[1],
        lambda m, x: m.cumulative_sum(x, include_initial=True),
        lambda m, x: x.take([5, 3]),
        lambda m, x: m.histogram(x, 7)[0],
        lambda m, x: m.sum(m.reshape(x, (-1, 6)), 0, out=m.zeros(6, int)),
        lambda m, x: m.concatenate([x[:5]] * 20 + [x], dtype="f4"),
    ):
        np.testing.assert_allclose(np.asarray(call(atoll, a)), call(np, whole))
