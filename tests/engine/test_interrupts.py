"""Exceptions of signal handlers reach the program, at whatever moment they come, and leave arrays as they were."""

from __future__ import annotations

import ast
import asyncio
import gc
import signal
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest

import atoll as np
from atoll.backend.memory import Pool
from atoll.context import statistics
from atoll.context.interrupts import outside, tolerated

from .interrupted_programs import EXCEPTIONS, Instants

ROOT = Path(__file__).parents[2]
PACKAGE = Path(np.__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "seeds"),
    [
        ("instants", "0:20"),
        ("timer", "20:40"),
        ("imports", "0:8"),
        ("memory", "0:12"),
        ("in_place", "0:150"),
    ],
)
def test_interrupted_programs(way: str, seeds: str) -> None:
    """In a process of their own: the bench has the timer of this one."""
    command = [sys.executable, "-m", "tests.engine.interrupted_programs", seeds, way]
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=55)
        if "LLVM ERROR: out of memory" not in done.stderr:  # LLVM ends a process that has none
            break
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def handler():
    """Has SIGUSR1 raise what a test says."""
    says: list[BaseException] = []

    def handle(number: int, frame: object) -> None:
        raise says[-1]

    before = signal.signal(signal.SIGUSR1, handle)
    yield says
    signal.signal(signal.SIGUSR1, before)


def interrupted() -> None:
    signal.raise_signal(signal.SIGUSR1)


@pytest.mark.parametrize("make", EXCEPTIONS)
def test_a_guard_passes_on_what_a_signal_handler_raises(make, handler) -> None:
    handler.append(make())
    failures = np.stats().planning_failures
    with pytest.raises(type(handler[-1])) as caught:
        statistics.attempted(interrupted)
    assert caught.value is handler[-1]
    assert np.stats().planning_failures == failures


def wrapped() -> None:
    try:
        interrupted()
    except BaseException as error:
        raise RuntimeError("what a library makes of it") from error


@pytest.mark.parametrize("make", EXCEPTIONS)
def test_a_guard_passes_on_what_a_library_has_wrapped(make, handler) -> None:
    handler.append(make())
    with pytest.raises(type(handler[-1])) as caught:
        statistics.attempted(wrapped)
    assert caught.value is handler[-1]


def test_a_guard_catches_a_mistake_of_the_planner_while_an_interrupt_is_handled(handler) -> None:
    """The exception that the caller handles is in the context of the mistake."""
    handler.append(TimeoutError())
    failures = np.stats().planning_failures
    try:
        interrupted()
    except TimeoutError:
        assert statistics.attempted(lambda: [][1]) is None
    assert np.stats().planning_failures == failures + 1


def test_a_wait_of_asyncio_that_times_out_is_no_interrupt() -> None:
    async def wait() -> None:
        await asyncio.wait_for(asyncio.sleep(60), 0.01)

    with tolerated(TimeoutError):
        asyncio.run(wait())


def test_what_comes_from_another_thread_is_no_mistake_of_the_planner() -> None:
    class Stopped(Exception):
        """As ``PyThreadState_SetAsyncExc`` raises it: no function is in its traceback."""

    def stopped() -> None:
        raise Stopped

    assert outside(Stopped()) is None
    with pytest.raises(Stopped):
        statistics.attempted(stopped)


def test_only_errors_of_its_own_are_tolerated(handler) -> None:
    handler.append(TimeoutError())
    with tolerated(OSError):
        Path("/nowhere/at/all").stat()
    with pytest.raises(TimeoutError), tolerated(OSError):
        interrupted()
    with pytest.raises(KeyError), tolerated(OSError):
        raise KeyError


class Metadata:
    """A foreign object whose attributes take a while."""

    @property
    def __array_priority__(self) -> float:
        interrupted()
        return 1.0

    @property
    def __distarray__(self) -> Any:
        interrupted()
        return None


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("make", [TimeoutError, lambda: ValueError("late")])
def test_an_interrupt_in_an_attribute_of_a_foreign_object(make, size, handler) -> None:
    handler.append(make())
    a = np.arange(float(size))
    with pytest.raises(type(handler[-1])):
        a + Metadata()
    with pytest.raises(type(handler[-1])):
        np.from_distarray(Metadata())


# Callbacks


def test_callbacks_of_weak_references_run_no_python() -> None:
    a = np.ones(100_000) * 2
    small = numpy.asarray(np.ones(10))
    shown = numpy.asarray(a)
    b = np.sort(a[a > 1]).reshape(-1, 2).T + 1
    kept = [b.sum(), a.ctypes, small, shown]
    with np.config(small=10):
        references = [
            reference for reference in gc.get_objects() if isinstance(reference, weakref.ref)
        ]
        callbacks = [getattr(reference.__callback__, "__code__", None) for reference in references]
    ours = [code for code in callbacks if code and code.co_filename.startswith(str(PACKAGE))]
    assert ours == []
    assert kept


FINALISERS = {
    "comm/mpi_requests.py": "requests of MPI",
    "cli/": "the launcher, which runs no program",
    "notebook/": "the front end of notebooks",
}


@pytest.mark.slow
def test_nothing_in_the_package_is_finalised_by_python() -> None:
    """``__del__``, ``weakref.finalize``, and weak tables, whose callbacks are Python's, lose what a signal handler raises."""
    names = {"finalize", "WeakSet", "WeakKeyDictionary", "WeakValueDictionary", "WeakMethod"}
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            is_method = isinstance(node, ast.FunctionDef) and node.name == "__del__"
            is_imported = isinstance(node, ast.alias) and node.name in names
            is_named = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "weakref"
            if is_method or is_imported or (is_named and node.attr in names):
                found.append(path.relative_to(PACKAGE).as_posix())
    assert {place for place in found if not place.startswith(tuple(FINALISERS))} == set()


@pytest.fixture
def no_collection():
    """The interpreter loses an exception that leaves a callback of its garbage collector, such as Hypothesis has one."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("nbytes", [100_000, 3_000_000])
def test_an_interrupt_at_any_moment_leaves_the_accounts_of_the_pool_in_order(nbytes, handler):
    """At each moment at which Python calls signal handlers while memory is lent and comes back."""
    moments = 0
    for moment in range(1, 10_000):
        pool = Pool()
        first, _ = pool.lend(nbytes)
        del first
        instants = Instants(moment, signal.SIGUSR1)
        handler.append(TimeoutError())
        kept = []
        try:
            sys.settrace(instants.trace)
            kept.append(pool.lend(nbytes)[0])
            kept.append(pool.lend(nbytes)[0])
            kept.pop()
            kept.append(pool.lend(2 * nbytes)[0])
            pool.trim()
            sys.settrace(None)
        except TimeoutError as error:
            sys.settrace(None)
            error.__traceback__ = None
        if instants.place is None:
            break
        moments += 1
        kept.append(pool.lend(nbytes)[0])
        usage = pool.usage()
        assert usage.used == sum(array.nbytes for array in kept), instants.place
        assert usage.buffers == len(kept), instants.place
        assert usage.cached == sum(
            capacity * len(blocks) for capacity, blocks in pool._free.items()
        ), instants.place
    assert moments > 20
