"""Ranks that never come are named with the line where they are, though they listen to nobody."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

from atoll import system
from atoll.context import remote_stacks

from .commands import atoll


def test_a_process_answers_with_its_lines_and_goes_on() -> None:
    code = (
        "import sys, time\n"
        "from atoll.context import remote_stacks\n"
        "remote_stacks.answer_requests(sys.argv[1], 7)\n"
        "print('ready', flush=True)\n"
        "def reads():\n"
        "    sys.stdin.read()\n"
        "reads()\n"
        "print('done')"
    )
    job = f"test-{os.getpid()}-{time.monotonic_ns()}"
    process = subprocess.Popen(
        [sys.executable, "-c", code, job],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    kept = remote_stacks._job[:]
    try:
        remote_stacks._job[:] = [job]
        while "reads" not in (found := str(remote_stacks.ask(7))):  # it is on its way there
            assert "rank 7 is at <string>:" in found, found
        assert "is at <string>:6, in reads" in found
        assert process.communicate("", timeout=30)[0] == "done\n"
        assert remote_stacks.told([7, 8]) == f"; rank 7 (process {process.pid}) has ended"
    finally:
        remote_stacks._job[:] = kept
        remote_stacks._processes.clear()
        process.kill()


def test_a_pulse_that_others_can_see_changes_with_the_steps_of_a_rank() -> None:
    code = (
        "import sys\n"
        "from atoll.context import remote_stacks\n"
        "remote_stacks.answer_requests(sys.argv[1], 3)\n"
        "from atoll.context.divergence import StepLog\n"
        "log = StepLog(3, 1 << 22)\n"
        "for line in sys.stdin:\n"
        "    log.step(1, 'a step')\n"
        "    print('done', flush=True)"
    )
    job = f"test-{os.getpid()}-{time.monotonic_ns()}"
    words, pipe = [sys.executable, "-c", code, job], subprocess.PIPE
    kept = remote_stacks._job[:]
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            remote_stacks._job[:] = [job]
            seen = []
            for _ in range(3):
                process.stdin.write("on\n")
                process.stdin.flush()
                assert process.stdout.readline() == "done\n"
                seen.append(remote_stacks.steps(3))
            assert seen == [1, 2, 3]
            assert remote_stacks.steps(4) is None
        finally:
            remote_stacks._job[:] = kept
            remote_stacks._processes.clear()


SLOW_TO_LISTEN = """\
import ctypes, signal, sys, time
from atoll import system
from atoll.context import remote_stacks
remote_stacks.answer_requests(sys.argv[1], 5)
c = ctypes.CDLL(None)
c.pthread_create(ctypes.byref(ctypes.c_ulong()), None, ctypes.cast(c.pause, ctypes.c_void_p), None)
signal.pthread_sigmask(signal.SIG_BLOCK, [remote_stacks.number()])
print("ready", flush=True)
while not signal.sigpending(): pass
signal.pthread_sigmask(signal.SIG_UNBLOCK, [remote_stacks.number()])
def loops():
    while True: pass
loops()
"""


def test_the_thread_that_runs_python_is_asked_and_no_other() -> None:
    job = f"test-{os.getpid()}-{time.monotonic_ns()}"
    words, kept = [sys.executable, "-c", SLOW_TO_LISTEN, job], remote_stacks._job[:]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            remote_stacks._job[:] = [job]
            assert "rank 5 is at <string>:" in str(remote_stacks.ask(5))
        finally:
            remote_stacks._job[:] = kept
            remote_stacks._processes.clear()
            process.kill()


def test_a_process_of_another_user_is_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = socket.socketpair()
    with here, there:
        assert system.peer(here) == os.getpid()
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert system.peer(here) is None


def test_lines_that_are_half_written_are_none() -> None:
    text = 'Current thread 0x1 (most recent call first):\n  File "a b.py", line 3 in f\n  File "c'
    assert remote_stacks.parsed(text) == [("a b.py", 3, "f")]


def test_who_waits_in_atoll_waits_at_the_users_line() -> None:
    ours = os.path.join(remote_stacks.ROOT, "comm", "waiting.py")
    frames = [
        (ours, 85, "pause"),
        ("/home/me/heat.py", 14, "step"),
        ("/home/me/heat.py", 30, "<module>"),
    ]
    assert remote_stacks.in_words(frames) == ("waits at heat.py:14, in step", True)
    computing = (os.path.join(remote_stacks.ROOT, "execute", "program.py"), 5, "run")
    assert remote_stacks.in_words([computing, ("heat.py", 3, "<module>")]) == (
        "is at heat.py:3, computing",
        False,
    )


@pytest.mark.slow
def test_an_interrupt_in_a_wait_is_at_the_users_line() -> None:
    code = (
        "import atoll as np, os, signal, threading\n"
        "if np.world.rank == 1: threading.Timer(1, os.kill, [os.getpid(), signal.SIGINT]).start()\n"
        "if np.world.rank == 1: np.world.barrier()\n"
        "threading.Event().wait()"
    )
    outcome = atoll("run", "-n", "2", "-c", code)
    assert outcome.code == 130, outcome
    assert "all ranks ended (rank 1 of 2 was at <string>, line 3)" in outcome.errors
