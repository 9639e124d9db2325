"""Loops shared among threads: every index once, from anywhere, and a clean end."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from atoll.backend.llvm import worker_loops, workers
from atoll.comm import launcher
from tests.backend.llvm.test_machines import OTHERS

llvm = pytest.importorskip("llvmlite.binding")

_COUNT_UP = r"""
define void @count_up(ptr %array, i64 %low, i64 %high) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %low, %entry ], [ %i1, %loop ]
  %at = getelementptr i64, ptr %array, i64 %i
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %high
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)

NOTED = SimpleNamespace()
"""The state of a run, in which a team notes its step."""
needs_native = pytest.mark.skipif(not workers.NativeTeam.supported(), reason="no futex here")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@pytest.fixture(scope="module")
def count_up():
    """The address of a compiled kernel that adds one to ``array[low:high]``."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target_machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_COUNT_UP), target_machine)
    engine.finalize_object()
    yield engine.get_function_address("count_up")
    engine.close()


@pytest.fixture(
    params=[pytest.param(workers.NativeTeam, marks=needs_native), workers.PortableTeam],
    ids=["native", "portable"],
)
def team(request):
    team = request.param()
    yield team
    team.stop()


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 64, 1001, 30_000])
def test_every_index_is_done_once(team, count_up, count, threads):
    array = np.zeros(count + 8, np.int64)
    for _ in range(20):
        team.run(count_up, array.ctypes.data, count, threads, NOTED, None)
    assert (array[:count] == 20).all()
    assert not array[count:].any()


def test_ranges_are_never_empty_and_make_up_the_whole(team):
    seen = []
    kernel = _SIGNATURE(lambda argument, low, high: seen.append((argument, low, high)))
    team.run(address_of(kernel), 4711, 103, 3, NOTED, None)
    assert {argument for argument, _, _ in seen} == {4711}
    assert all(low < high for _, low, high in seen)
    assert sorted(i for _, low, high in seen for i in range(low, high)) == list(range(103))


def test_several_threads_take_part(team):
    everybody = threading.Barrier(3)
    kernel = _SIGNATURE(lambda argument, low, high: everybody.wait(20))
    team.run(address_of(kernel), None, 3, 3, NOTED, None)
    assert not everybody.broken


def test_a_team_grows_and_never_lends_more_than_asked(team):
    nothing = _SIGNATURE(lambda *_: None)  # its code goes with it
    team.run(address_of(nothing), None, 100, 4, NOTED, None)
    assert team.size == 4
    names = set()

    def note(argument, low, high):
        names.add(threading.get_ident())
        time.sleep(0.001)

    team.run(address_of(_SIGNATURE(note)), None, 40, 2, NOTED, None)
    assert len(names) <= 2


def test_sleeping_workers_wake_up(team, count_up):
    array = np.zeros(5000, np.int64)
    team.spin(0.0)
    for _ in range(30):
        team.run(count_up, array.ctypes.data, array.size, 3, NOTED, None)
        time.sleep(0.002)
    assert (array == 30).all()


@needs_native
def test_a_caller_whose_worker_was_late_goes_on_alone():
    team = workers.NativeTeam()
    caller, calls, own = threading.get_ident(), [], []
    begun, ended = threading.Event(), threading.Event()

    def wait(argument, low, high):
        start = time.monotonic()
        if threading.get_ident() == caller:
            begun.wait(10)
            own.append(time.monotonic() - start)
            ended.set()
        else:  # goes on for much longer than the caller
            begun.set()
            ended.wait(10)
            time.sleep(0.1 + 5 * sum(own))

    def note(argument, low, high):
        calls.append((threading.get_ident() == caller, high - low))

    waits, notes = _SIGNATURE(wait), _SIGNATURE(note)
    try:
        team.run(address_of(waits), None, 2, 2, NOTED, None)
        for _ in range(16):
            team.run(address_of(notes), None, 8, 2, NOTED, None)
        assert calls == [(True, 8)] * 16
        team.run(address_of(notes), None, 8, 2, NOTED, None)
        assert len(calls) > 17  # shared again
    finally:
        team.close()


def test_a_nested_loop_runs_in_its_caller(team):
    inner = []
    inner_kernel = _SIGNATURE(lambda argument, low, high: inner.append((low, high)))
    outer_kernel = _SIGNATURE(
        lambda *_: team.run(address_of(inner_kernel), None, 10, 2, NOTED, None)
    )
    team.run(address_of(outer_kernel), None, 2, 2, NOTED, None)
    assert inner == [(0, 10), (0, 10)]


def test_loops_from_several_threads_at_once(team, count_up):
    arrays = [np.zeros(3000, np.int64) for _ in range(4)]

    def user(array):
        for _ in range(300):
            team.run(count_up, array.ctypes.data, array.size, 3, NOTED, None)

    users = [threading.Thread(target=user, args=(array,)) for array in arrays]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join(60)
    assert all((array == 300).all() for array in arrays)


def test_the_team_comes_back_after_a_stop(team, count_up):
    array = np.zeros(1000, np.int64)
    before = threading.active_count()
    for _ in range(3):
        team.run(count_up, array.ctypes.data, array.size, 3, NOTED, None)
        team.stop()
        assert team.size == 1
    assert (array == 3).all()
    assert threading.active_count() <= before


def test_a_closed_team_works_alone(team, count_up):
    array = np.zeros(1000, np.int64)
    team.close()
    team.run(count_up, array.ctypes.data, array.size, 3, NOTED, None)
    assert (array == 1).all()
    assert team.size == 1


@needs_fork
def test_a_forked_child_has_a_team_of_its_own(team, count_up):
    array = np.zeros(1000, np.int64)
    team.run(count_up, array.ctypes.data, array.size, 2, NOTED, None)
    child = os.fork()
    if child == 0:
        team.forget()
        team.run(count_up, array.ctypes.data, array.size, 2, NOTED, None)
        os._exit(0 if (array == 2).all() and team.size == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    team.run(count_up, array.ctypes.data, array.size, 2, NOTED, None)
    assert (array == 2).all()


def test_the_team_of_the_process(count_up):
    team = workers.team()
    team.stop()  # the threads that other tests have left
    array = np.zeros(1000, np.int64)
    for spin in (50.0, 0.0, 20.0, None):
        team.spin(spin)
        workers.parallel_for(count_up, array.ctypes.data, array.size, 2)
    assert (array == 4).all()
    assert team.size == 2
    team.stop()
    assert team.size == 1


def test_nobody_spins_where_ranks_share_cores(monkeypatch):
    monkeypatch.setattr(workers, "available_cores", lambda: 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(launcher, "detect", lambda: None)
    assert [workers.cores_suffice(threads) for threads in (1, 4, 5)] == [True, True, False]
    two = launcher.Launch("mpiexec", 0, 2, local_size=2)
    monkeypatch.setattr(launcher, "detect", lambda: two)
    assert [workers.cores_suffice(threads) for threads in (1, 2, 3)] == [True, True, False]


@pytest.mark.parametrize("machine", ["sse2", "neon"])
def test_the_loops_are_legal_for_every_machine(machine):
    llvm.initialize_native_target()
    llvm.parse_assembly(worker_loops.source(OTHERS[machine])).verify()


_AT_EXIT = """
import ctypes, os, sys, threading, time
from atoll.backend.llvm import worker_loops as waiting, workers
kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(lambda a, l, h: None)
address = ctypes.cast(kernel, ctypes.c_void_p).value
workers.team().spin({spin})
workers.parallel_for(address, None, 100, 3)
def forever():
    while True:
        workers.parallel_for(address, None, 100, 3)
if {busy}:
    threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.05)
if {forked} and os.fork() == 0:
    workers.parallel_for(address, None, 100, 3)
    sys.exit(0)
if {forked}:
    sys.exit(os.wait()[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spin", "busy", "forked"),
    [(None, False, False), (10_000, False, False), (0, False, False), (None, True, False)]
    + [pytest.param(None, False, True, marks=needs_fork)],
)
def test_the_interpreter_ends_cleanly(spin, busy, forked):
    script = _AT_EXIT.format(spin=spin, busy=busy, forked=forked)
    done = subprocess.run(
        [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-X", "faulthandler", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
