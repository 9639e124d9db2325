"""The pytest plugin: markers, fixtures, the order of the tests, and who runs which."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

import hypothesis
import numpy
import pytest

from atoll.config import available_cores
from atoll.config import config as settings
from atoll.context import statistics
from atoll.graph import node

from . import beside, limits, tiers, verdict
from .bytecode import Bytecode
from .places import PARAMETER, Place, limit_of, place_of, places_of
from .pool import Pool, PoolError
from .worker import Worker

MARKERS = (
    "ranks(*sizes, distributes=True): run the test on real MPI ranks, once for each size",
    "simulated(*sizes, distributes=True): run the test on simulated ranks, once for each size",
    "timeout(seconds): fail the test, with the stacks of all threads and ranks, after this time",
)


class EachRank:
    """Stands for the fixture ``rank`` of simulated ranks until each rank has its own."""

    def __repr__(self) -> str:
        return (
            "<the number of each simulated rank: only the test itself can ask for it, no fixture>"
        )


node.guard()
EACH_RANK = EachRank()
DEADLINE = pytest.StashKey[float]()
RANK_WORKER = pytest.StashKey[Worker]()
Kind = TypeVar("Kind")
BENCH = pytest.StashKey["Bench"]()


class Bench:
    """What the controller keeps: the helpers, the pool of the current size, and the like."""

    def __init__(self, stderr: TextIO) -> None:
        self.stderr = stderr
        self.bytecode = Bytecode()
        self.helpers: beside.Helpers | None = None
        self._pool: Pool | None = None

    def pool(self, item: pytest.Item, size: int) -> Pool:
        """The pool of ``size`` ranks; starts it, and ends the one of another size."""
        if self._pool is not None and self._pool.size != size:
            self.close_pool()
        if self._pool is None:
            self._pool = Pool(size, _files(item.session, size), item.config)
        return self._pool

    def start_helpers(self, session: pytest.Session) -> None:
        """Let helpers run some of the tests, where there are many and more than one core."""
        config = session.config
        movable = [item for item in session.items if beside.may_move(item)]
        cores = available_cores()
        seen = config.getoption("capture") == "no" or config.getoption("usepdb")
        if (
            len(movable) >= beside.LEAST
            and cores > 1
            and not (seen or config.getoption("alone") or config.getoption("collectonly"))
        ):
            self.helpers = beside.Helpers(movable, config, min(cores, beside.MOST))

    def drop(self) -> None:
        """Kill the pool; the next test gets a new one."""
        if self._pool is not None:
            self._pool.kill()
            self._pool = None

    def close(self) -> None:
        self.close_pool()
        if self.helpers is not None:
            self.helpers.close()
            self.helpers = None

    def close_pool(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


def _is_on_ranks(item: pytest.Item) -> bool:
    place = place_of(item)
    return place is not None and place.kind == "ranks"


def _files(session: pytest.Session, size: int) -> list[str]:
    """The files with tests for ``size`` ranks, each once, in the order of the tests."""
    paths: dict[str, None] = {}
    for item in session.items:
        place = place_of(item)
        if place is not None and place.kind == "ranks" and place.size == size:
            paths[str(item.path)] = None
    return list(paths)


def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS + tiers.MARKERS:
        config.addinivalue_line("markers", line)
    load_hypothesis_profile()
    config.pluginmanager.register(Guard(), "bench-guard")
    worker = _plugin(config, Worker)
    if worker is not None:
        config.stash[RANK_WORKER] = worker
    else:
        # A copy, because pytest points descriptor 2 elsewhere while a test runs.
        config.stash[BENCH] = Bench(os.fdopen(os.dup(2), "w"))


def load_hypothesis_profile() -> None:
    """The settings of Hypothesis in all tests: repeatable, and independent of the machine's speed."""
    ignored = [hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture]
    phases = [phase for phase in hypothesis.Phase if phase is not hypothesis.Phase.explain]
    hypothesis.settings.register_profile(
        "bench",
        derandomize=True,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=ignored,
    )
    hypothesis.settings.load_profile("bench")


def _plugin(config: pytest.Config, kind: type[Kind]) -> Kind | None:
    return next((one for one in config.pluginmanager.get_plugins() if isinstance(one, kind)), None)


def pytest_unconfigure(config: pytest.Config) -> None:
    bench = config.stash.get(BENCH, None)
    if bench is not None:
        bench.close()
        bench.bytecode.close()
        bench.stderr.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    name = metafunc.definition.nodeid
    marks = [
        mark for kind in ("ranks", "simulated") for mark in metafunc.definition.iter_markers(kind)
    ]
    if not marks:
        return
    if hasattr(metafunc.function, "hypothesis"):
        raise pytest.UsageError(
            f"{name}: a test of Hypothesis takes no @pytest.mark.{marks[0].name}; it can call simulated.run"
        )
    # The nearest marker of a kind decides, as everywhere in pytest.
    nearest = {mark.name: mark for mark in reversed(marks)}
    places = places_of(list(nearest.values()), name)
    metafunc.fixturenames.append(PARAMETER)
    metafunc.parametrize(PARAMETER, places, ids=[str(place) for place in places], indirect=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """First tests on real ranks, by their number, so that one pool is alive at a time; then the tests
    that only this process can run; last those that helpers may take."""

    def order(item: pytest.Item) -> tuple[int, int]:
        place = place_of(item)
        if place is not None and place.kind == "ranks":
            return 0, place.size
        return 1 + beside.may_move(item), place is not None

    if tiers.is_quick(config):
        tiers.choose(config, items)
    items.sort(key=order)


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "run all tests that need no MPI in this process, and none in others beside it"
    group = parser.getgroup("bench")
    group.addoption("--alone", action="store_true", help=text)
    every = "run all tests, not only those of the quick tier, where none is named"
    group.addoption("--all", action="store_true", dest="every", help=every)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    line = tiers.summary(terminalreporter.config)
    if line:
        terminalreporter.write_line(line)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Start the helpers, unless tests on ranks come first."""
    bench = session.config.stash.get(BENCH, None)
    is_helper = _plugin(session.config, beside.Helping) is not None
    if bench and session.items and not (is_helper or _is_on_ranks(session.items[0])):
        bench.start_helpers(session)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no garbage collection need look at it again.

    Tests that collect garbage, and those that make much of it, take seconds otherwise.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def bench_place(request: pytest.FixtureRequest) -> Place:
    """Where the test runs."""
    place = request.param
    assert isinstance(place, Place)
    return place


@pytest.fixture
def size(request: pytest.FixtureRequest) -> int:
    """How many ranks the test runs on."""
    return _required_place(request, "size").size


@pytest.fixture
def rank(request: pytest.FixtureRequest) -> Any:
    """The number of the rank that runs this copy of the test."""
    place = _required_place(request, "rank")
    return EACH_RANK if place.kind == "simulated" else request.config.stash[RANK_WORKER].rank


def _required_place(request: pytest.FixtureRequest, name: str) -> Place:
    place = place_of(request.node)
    if place is None:
        pytest.fail(
            f"the fixture {name!r} needs @pytest.mark.ranks or @pytest.mark.simulated",
            pytrace=False,
        )
    return place


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest) -> Path:
    """A new folder for this test; on ranks, the same folder on all of them."""
    worker = request.config.stash.get(RANK_WORKER, None)
    if worker is not None:
        return worker.folder
    path = request.getfixturevalue("tmp_path")
    assert isinstance(path, Path)
    return path


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Send a test for real ranks to its pool; leave every other test to pytest."""
    bench, place = item.config.stash.get(BENCH, None), place_of(item)
    if bench is None:
        return None
    if place is not None and place.kind == "ranks":
        reports = run_on_pool(item, place, bench)
        if nextitem is None:
            bench.close_pool()
        elif not _is_on_ranks(nextitem):
            # Helpers that computed beside the ranks would make them wait: ranks look for messages
            # with all cores.
            bench.close_pool()
            bench.start_helpers(item.session)
    else:
        found = bench.helpers.reports_of(item) if bench.helpers is not None else None
        if found is None:
            return None
        reports = found
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class Guard:
    """Around each test in this process: the time limit here, the counting on a rank."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        bench, worker = item.config.stash.get(BENCH, None), item.config.stash.get(RANK_WORKER, None)
        if worker is not None:
            with settings(small=0, everywhere=0), statistics.separate() as counters:
                result = yield
            worker.distributed = counters.snapshot().distributed
            return result
        place = place_of(item)
        if bench is None or (place is not None and place.kind == "ranks"):
            return (yield)
        item.stash[DEADLINE] = time.monotonic() + limit_of(item)
        with limits.backstop(limit_of(item), bench.stderr):
            return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with _alarm(item, "setup"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _alarm(item, "call"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    with _alarm(item, "teardown"):
        return (yield)


@contextmanager
def _alarm(item: pytest.Item, phase: str) -> Iterator[None]:
    deadline = item.stash.get(DEADLINE, None)
    if deadline is None:
        # On a rank, where the controller watches the time.
        yield
        return
    if phase == "teardown":
        deadline = max(deadline, time.monotonic() + limits.TEARDOWN)
    with limits.alarm(deadline, limit_of(item), phase):
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test for simulated ranks on all of them."""
    place = place_of(pyfuncitem)
    if place is None or place.kind != "simulated":
        return None
    # Imported here because the bench tests itself where these modules are broken, too.
    from atoll.comm import simulated
    from atoll.comm.world import current_world

    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    counted: list[int] = []

    def on_one_rank() -> None:
        number = current_world().rank
        mine = {name: _of_rank(value, number) for name, value in arguments.items()}
        with settings(small=0, everywhere=0), statistics.separate() as counters:
            pyfuncitem.obj(**mine)
            counted.append(counters.snapshot().distributed)

    simulated.run(place.size, on_one_rank)
    if _must_distribute(place) and sum(counted) == 0:
        pytest.fail(verdict.nothing_distributed_text(place.size), pytrace=False)
    return True


def _of_rank(value: Any, number: int) -> Any:
    if value is EACH_RANK:
        return number
    # Ranks share no memory, so none may see what another does to its argument.
    return value.copy() if type(value) is numpy.ndarray else value


def _must_distribute(place: Place) -> bool:
    return place.distributes and place.size > 1


def run_on_pool(item: pytest.Item, place: Place, bench: Bench) -> list[pytest.TestReport]:
    """Run ``item`` on the ranks of its pool and give the reports to show."""
    try:
        pool = bench.pool(item, place.size)
    except PoolError as error:
        return [verdict.failure(item, str(error), "setup")]
    try:
        result = pool.run(item.nodeid, limit_of(item))
    except BaseException:
        bench.drop()
        raise
    reports = verdict.reports_of(item, result)
    if pool.problems and any(report.failed and report.when == "setup" for report in reports):
        reports[0].sections.append(("the ranks could not collect", "\n".join(pool.problems)))
    if not result.clean:
        bench.drop()
    ran = all(report.passed for report in reports)
    if ran and _must_distribute(place) and sum(rank.distributed for rank in result.ranks) == 0:
        reports = [report for report in reports if report.when == "setup"]
        reports.append(verdict.nothing_distributed(item, place.size))
    return reports
