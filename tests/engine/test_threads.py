"""Threads that share arrays: every value is what NumPy says, and nobody waits for ever."""

from __future__ import annotations

import contextvars
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest

import atoll as np
from atoll.context.threads import turn
from atoll.errors import ThreadError

from . import threaded_programs


@pytest.fixture(autouse=True)
def in_haste():
    with threaded_programs.hasty():
        yield


def in_thread(function: Any, *args: Any) -> Any:
    """What a call returns, or raises, in a thread that has these settings."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, function, *args).result(30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_programs_of_four_threads(seed: int) -> None:
    with np.config(small=0):
        assert threaded_programs.program(seed, 4) == ""


def test_threads_look_at_the_same_pending_arrays() -> None:
    data = numpy.arange(50000.0)
    everybody = threading.Barrier(4)

    def look(array: Any, number: int) -> float:
        everybody.wait()
        return float((array + number).sum()) if number % 2 else float(array.sum())

    with ThreadPoolExecutor(4) as pool:
        for turn_number in range(25):
            shared = np.array(data) * 2 + turn_number
            found = list(pool.map(look, [shared] * 4, range(4)))
            mirror = data * 2 + turn_number
            wanted = [mirror.sum() + (k * data.size if k % 2 else 0) for k in range(4)]
            assert found == wanted


def test_a_thread_uses_the_plans_of_others() -> None:
    def step() -> float:
        return float((np.arange(60000.0) * 3 + 1).sum())

    with np.config(small=0):
        wanted = step(), step()
        before = np.stats().plans_made
        assert (in_thread(step), in_thread(step)) == wanted
        assert np.stats().plans_made == before


def test_what_dies_in_another_thread_does_not_wait() -> None:
    with np.config(small=0):
        array = np.arange(100.0) + 1
        exports = [numpy.asarray(array)]
        assert not array.flags.owndata
        with turn.lock:
            in_thread(exports.clear)  # would wait for ever
        (array + 1).sum().item()
        assert array.flags.owndata
        array[3] = 7
        assert array[3] == 7


def test_a_failure_frees_the_lock() -> None:
    def fail() -> None:
        with pytest.raises(np.errors.OutOfMemoryError):
            numpy.asarray(np.broadcast_to(np.arange(50000.0), (1 << 40, 50000)) + 1)

    in_thread(fail)
    assert (np.arange(50000.0) + 1).sum() == 1250025000


def test_a_signal_handler_computes_in_the_middle_of_an_evaluation() -> None:
    seen = []

    def step(start: float) -> float:
        a = np.arange(4000.0) + start
        b = a * 2 - a[::-1]
        return float((b * b + a).sum())

    def answer(*_: Any) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        seen.append(step(2.0))
        signal.signal(signal.SIGALRM, answer)

    with np.config(small=0):
        wanted = step(1.0)
        before = signal.signal(signal.SIGALRM, answer)
        left = signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        try:
            found = {step(1.0) for _ in range(200)}
        finally:
            signal.setitimer(signal.ITIMER_REAL, *left)
            signal.signal(signal.SIGALRM, before)
        assert found == {wanted}
        assert set(seen) <= {step(2.0)}


FORKS = """
import os, sys, threading
import atoll as np

sys.setswitchinterval(1e-6)
ends = threading.Event()

def work():
    while not ends.is_set():
        ((np.arange(30000.0) + 1) * 2).sum().item()

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(8):
    child = os.fork()
    if not child:
        os._exit(int(((np.arange(30000.0) + 1) * 2).sum() != 900030000))
    assert os.waitpid(child, 0)[1] == 0
ends.set()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_while_other_threads_evaluate() -> None:
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=50)


def test_every_thread_gets_its_turn() -> None:
    turns = [0, 0, 0]

    def work(place: int) -> None:
        while min(turns) < 20:
            turns[place] += 1
            ((np.arange(30000.0) + 1) * 2).sum().item()

    threads = [threading.Thread(target=work, args=(place,), daemon=True) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert min(turns) >= 20


@pytest.mark.ranks(2)
def test_one_thread_of_a_rank_communicates(rank: int, size: int) -> None:
    array = np.arange(100.0) * 2
    assert array.sum() == 9900
    with pytest.raises(ThreadError, match=r"thread 'MainThread' has communicated before"):
        in_thread(lambda: float((array + 1).sum()))
    assert (array + 1).sum() == 10000
