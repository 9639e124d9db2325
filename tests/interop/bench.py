"""Runs typical uses of libraries with NumPy and with atoll, and says what differs.

    python -m tests.interop.bench [library or library.use ...] [--large]
    atoll run -n 2 -m tests.interop.bench [library ...]

A use is a function in ``uses/``; the names of its parameters say which arrays it gets (:data:`ARRAYS`). It runs with NumPy's
arrays, and with atoll's: small and recorded, computed and pending, and as views. Values, dtypes, the classes of results, errors,
and what the use does to its arguments have to be the same. ``--large`` takes arrays beyond ``config.small`` as it stands, instead
of a few elements with a lower limit. A library that is not installed is left out.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import math
import pkgutil
import sys
import tempfile
import traceback
import types
import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy

import atoll

from . import uses


class Use(NamedTuple):
    """A use of a library, and what is known to fail in it with atoll."""

    library: str
    name: str
    run: Callable[..., Any]
    fails: str


def listed(*libraries: str) -> list[Use]:
    """The uses of the libraries that are installed, or of these."""
    found = []
    for module in pkgutil.iter_modules(uses.__path__):
        if libraries and module.name not in libraries:
            continue
        try:
            program = importlib.import_module(f"{uses.__name__}.{module.name}")
        except ImportError as error:
            if error.name is not None and error.name.partition(".")[0] in ("tests", "atoll"):
                raise
            continue
        for name, run in vars(program).items():
            if inspect.isfunction(run) and run.__module__ == program.__name__ and name[0] != "_":
                found.append(Use(module.name, name, run, getattr(run, "fails", "")))
    return found


def _arrays(n: int) -> dict[str, numpy.ndarray[Any, Any]]:
    random = numpy.random.default_rng(3)
    rows = max(int(math.sqrt(n)), 2)
    square = random.random((rows, rows))
    return {
        "x": random.random(n),
        "y": random.random(n) * 3 - 1,
        "z": random.random(n) + 1j * random.random(n),
        "k": random.integers(0, 10, n),
        "m": random.random(n) < 0.4,
        "f": random.random(n).astype("f4"),
        "g": random.random((rows, rows + 2)),
        "s": square @ square.T + rows * numpy.eye(rows),
        "v": random.random(rows),
        "u": random.integers(0, 256, (rows, rows + 1)).astype("u1"),
        "rgb": random.integers(0, 256, (rows, rows + 1, 3)).astype("u1"),
        "t": numpy.datetime64("2020-01-01", "s") + random.integers(0, 10**6, n).astype("m8[s]"),
        "w": random.choice(["ash", "birch", "cedar"], n),
        "p": numpy.rec.fromarrays([random.random(n), random.integers(0, 5, n)], names="a,b").view(
            numpy.ndarray
        ),
        "cloud": random.random((n // 4, 4)),
    }


ARRAYS = tuple(_arrays(16))
"""Numbers (x, y in [0, 3), z complex, f of 4 bytes), integers, a mask, matrices (s symmetric and definite, v a vector for it),
images (u, rgb), times, words, records, points."""


def _computed(np: Any, array: Any) -> Any:
    return np.array(array)


def _pending(np: Any, array: Any) -> Any:
    mine = np.array(array)
    if array.dtype.kind == "b":
        return mine & True
    if array.dtype.kind in "iufc":
        return mine + array.dtype.type(0)
    return mine


def _view(np: Any, array: Any) -> Any:
    whole = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    whole[..., ::2] = array
    return whole[..., ::2]


def _reordered(np: Any, array: Any) -> Any:
    return np.array(array.T).T if array.ndim > 1 else np.array(array[::-1])[::-1]


FORMS = {"computed": _computed, "pending": _pending, "view": _view, "reordered": _reordered}


def _run(use: Use, np: Any, form: Callable[..., Any], n: int) -> tuple[Any, dict[str, Any], Any]:
    """The result or the error, the arguments afterwards, and the trace of the error."""
    given = _arrays(n)
    names = inspect.signature(use.run).parameters
    with tempfile.TemporaryDirectory() as folder:
        more = {"np": np, "tmp": Path(folder)}
        arguments = {name: more[name] if name in more else form(np, given[name]) for name in names}
        trace = None
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                result = use.run(**arguments)
                if inspect.isgenerator(result):
                    result = list(result)
        except Exception as error:
            result, trace = error, traceback.format_exc()
        arrays = {k: v for k, v in arguments.items() if k not in more}
        return result, arrays, trace


def differences(ours: Any, theirs: Any, where: str = "result") -> Iterator[str]:
    """What differs between two values."""
    if isinstance(theirs, BaseException):
        if type(ours) is not type(theirs):
            yield f"{where}: NumPy raises {theirs!r}, atoll {_short(ours)}"
        return
    if isinstance(ours, BaseException):
        yield f"{where}: atoll raises {type(ours).__name__}: {ours}"
        return
    if isinstance(theirs, numpy.ndarray):
        if not isinstance(ours, (numpy.ndarray, atoll.ndarray)):
            yield f"{where}: {type(ours)} in place of an array"
            return
        masked = isinstance(theirs, numpy.ma.MaskedArray)
        if masked != isinstance(ours, numpy.ma.MaskedArray):
            yield f"{where}: {type(ours)} in place of {type(theirs)}"
            return
        if masked:
            mask = numpy.ma.getmaskarray
            yield from differences(mask(ours), mask(theirs), f"{where}.mask")
            ours, theirs = ours.filled(), theirs.filled()
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            yield f"{where}: {ours.dtype}{ours.shape} in place of {theirs.dtype}{theirs.shape}"
            return
        if not _alike(numpy.asarray(ours), numpy.asarray(theirs)):
            yield f"{where}: values {_short(ours)} in place of {_short(theirs)}"
        return
    if type(ours) is not type(theirs):
        yield f"{where}: {type(ours)} in place of {type(theirs)}"
    elif isinstance(theirs, dict):
        if [*ours] != [*theirs]:
            yield f"{where}: keys {[*ours]} in place of {[*theirs]}"
        else:
            for key in theirs:
                yield from differences(ours[key], theirs[key], f"{where}[{key!r}]")
    elif isinstance(theirs, (list, tuple)):
        if len(ours) != len(theirs):
            yield f"{where}: {len(ours)} items in place of {len(theirs)}"
        for index, (mine, yours) in enumerate(zip(ours, theirs)):
            yield from differences(mine, yours, f"{where}[{index}]")
    elif hasattr(theirs, "todense"):
        yield from differences(
            numpy.asarray(ours.todense()), numpy.asarray(theirs.todense()), where
        )
    elif hasattr(theirs, "to_numpy") and hasattr(theirs, "index"):  # of pandas
        yield from _of_pandas(ours, theirs, where)
    elif isinstance(theirs, (numpy.number, float, complex)):
        if not _alike(numpy.asarray(ours), numpy.asarray(theirs)):
            yield f"{where}: {ours!r} in place of {theirs!r}"
    elif type(theirs).__module__.partition(".")[0] == "torch" and hasattr(theirs, "numpy"):
        yield from differences(ours.detach().numpy(), theirs.detach().numpy(), where)
    elif type(theirs).__eq__ is not object.__eq__ and bool(numpy.all(ours != theirs)):
        yield f"{where}: {_short(ours)} in place of {_short(theirs)}"


def _of_pandas(ours: Any, theirs: Any, where: str) -> Iterator[str]:
    if getattr(theirs, "ndim", 1) == 2:
        if [*ours.columns] != [*theirs.columns]:
            yield f"{where}: columns {[*ours.columns]} in place of {[*theirs.columns]}"
            return
        for k, name in enumerate(theirs.columns):
            yield from _of_pandas(ours.iloc[:, k], theirs.iloc[:, k], f"{where}[{name!r}]")
        return
    if ours.dtype != theirs.dtype:
        yield f"{where}: {ours.dtype} in place of {theirs.dtype}"
    yield from differences(numpy.asarray(ours), numpy.asarray(theirs), where)
    yield from differences(numpy.asarray(ours.index), numpy.asarray(theirs.index), f"{where}.index")


def _alike(ours: Any, theirs: Any) -> bool:
    """Equal, or as near as sums in another order are."""
    if ours.dtype.names is not None:
        return all(_alike(ours[name], theirs[name]) for name in ours.dtype.names)
    if ours.dtype.kind in "fc":
        size = numpy.abs(theirs[numpy.isfinite(theirs)]).max(initial=1e-300)
        near = 1e-10 if ours.dtype.itemsize >= 8 else 1e-5
        return numpy.allclose(ours, theirs, rtol=near, atol=near * size, equal_nan=True)
    if ours.dtype == object:
        return all(not [*differences(a, b)] for a, b in zip(ours.flat, theirs.flat))
    if ours.dtype.kind in "mM":
        return bool(((ours == theirs) | (numpy.isnat(ours) & numpy.isnat(theirs))).all())
    return bool((ours == theirs).all())


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) < 90 else text[:87] + "..."


def classes(value: Any) -> str:
    """The classes of a result, which must not depend on the size of arrays."""
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[{', '.join([classes(item) for item in value])}]"
    if isinstance(value, dict):
        return f"dict[{', '.join([f'{k}: {classes(v)}' for k, v in value.items()])}]"
    if isinstance(value, types.GeneratorType):
        return "generator"
    return f"{type(value).__module__}.{type(value).__name__}"


class Case(NamedTuple):
    """What differs in a use, with which arrays."""

    use: Use
    arrays: str
    what: list[str]
    trace: str


def check(
    use: Use, sizes: dict[str, tuple[int, int | None]], forms: Collection[str] = tuple(FORMS)
) -> list[Case]:
    """The cases of a use that differ from NumPy, or from what is known to fail."""
    found = []
    seen: dict[str, dict[str, list[str]]] = {name: {} for name in FORMS}
    for size, (n, small) in sizes.items():
        for name in forms:
            form = FORMS[name]
            theirs, after, _ = _run(use, numpy, form, n)
            limits = {} if small is None else {"small": small, "everywhere": small}
            with atoll.config(**limits):
                ours, now, trace = _run(use, atoll, form, n)
                what = [*differences(ours, theirs)]
                if not what:
                    for argument in after:
                        what += differences(now[argument], after[argument], f"argument {argument}")
            case = f"{size}, {name}"
            if use.fails and what:
                what = [] if use.fails in what[0] else [f"{what[0]}, which is not {use.fails!r}"]
            elif use.fails:
                what = [f"does not fail with {use.fails!r}"]
            seen[name].setdefault(classes(ours), []).append(size)
            if what:
                found.append(Case(use, case, what, trace or ""))
    for name, kinds in seen.items():
        if len(kinds) > 1 and not found and len({n for n, _ in sizes.values()}) == 1:
            found.append(
                Case(use, name, [f"the class of the result varies with the size: {kinds}"], "")
            )
    return found


SIZES: dict[str, tuple[int, int | None]] = {"small": (64, None), "recorded": (64, 0)}
LARGE: dict[str, tuple[int, int | None]] = {"small": (2_000, None), "large": (40_000, None)}


def main(words: list[str]) -> int:
    """Run the uses; on ranks, all ranks run all of them."""
    large = "--large" in words
    names = [word for word in words if not word.startswith("--")]
    libraries = {word.partition(".")[0] for word in names}
    wanted = {word for word in names if "." in word}
    count: dict[str, list[int]] = {}
    rank = atoll.world.rank
    for use in listed(*libraries):
        if wanted and f"{use.library}.{use.name}" not in wanted:
            continue
        if atoll.world.size > 1 and "tmp" in inspect.signature(use.run).parameters:
            continue  # the libraries would write one file on all ranks
        cases = check(use, LARGE if large else SIZES)
        numbers = count.setdefault(use.library, [0, 0, 0])
        numbers[0] += 1
        numbers[1] += bool(cases)
        numbers[2] += bool(use.fails)
        for k, case in enumerate(cases):
            print(
                f"[{rank}] {use.library}.{use.name} ({case.arrays}): {'; '.join(case.what[:3])}",
                flush=True,
            )
            if wanted and not k:
                print(case.trace)
    if rank == 0:
        for library, (uses_, wrong, known) in count.items():
            print(f"{library:12} {uses_:3} uses, {wrong} differ, {known} known to fail")
    return int(any(wrong for _, wrong, _ in count.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
