"""Ranks that never come are named with the line where they are, though they listen to nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from atoll.cli.mpiexec import find
from atoll.comm import whereabouts

from .commands import Outcome, atoll, finished

BEGINNING = """\
import atoll as np, os, threading, time
a = np.ones((600, 600))
float(a.sum())
def loops():
    number = 0
    while True:
        number += 1
def works():
    sum(range(10**12))
def waits():
    threading.Event().wait()
"""
LIMITS = {"ATOLL_WAIT_ABORT": "2", "ATOLL_WAIT_REPORT": "1"}


def run(ones: str, twos: str, by_launcher: bool = False) -> Outcome:
    """Ranks 1 and 2 do what is given, while rank 0 waits for them."""
    program = f"{BEGINNING}if np.world.rank == 1: {ones}\nif np.world.rank == 2: {twos}\n(a + 1).sum().item()"
    if by_launcher:
        return finished([find().path, "-n", "3", sys.executable, "-c", program], **LIMITS)
    return atoll("run", "-n", "3", "-c", program, **LIMITS)


@pytest.mark.parametrize("by_launcher", [False, True])
def test_a_rank_in_an_endless_loop_or_in_c_tells_its_line(by_launcher: bool) -> None:
    outcome = run("loops()", "works()", by_launcher)
    assert outcome.code == 1, outcome
    last = outcome.errors[outcome.errors.index("WaitTimeoutError") :]
    assert "rank 1 is at <string>:" in last, outcome
    assert ", in loops" in last
    assert "rank 2 is at <string>:9, in works" in last


def test_a_rank_that_is_stopped_or_waits_for_something_else_is_told() -> None:
    outcome = run("os.kill(os.getpid(), 19)", "waits()")
    assert outcome.code == 1, outcome
    assert "is stopped, as by the signal SIGSTOP" in outcome.errors
    assert "rank 2 is at <string>:11, in waits, inside wait of threading.py" in outcome.errors


def test_a_process_answers_with_its_lines_and_goes_on() -> None:
    code = (
        "import sys, time\n"
        "from atoll.comm import whereabouts\n"
        "whereabouts.be_found(sys.argv[1], 7)\n"
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
    kept = whereabouts._job[:]
    try:
        whereabouts._job[:] = [job]
        while "reads" not in (found := str(whereabouts.ask(7))):  # it is on its way there
            assert "rank 7 is at <string>:" in found, found
        assert "is at <string>:6, in reads" in found
        assert process.communicate("", timeout=30)[0] == "done\n"
        assert whereabouts.told([7, 8]) == f"; rank 7 (process {process.pid}) has ended"
    finally:
        whereabouts._job[:] = kept
        whereabouts._processes.clear()
        process.kill()


def test_lines_that_are_half_written_are_none() -> None:
    text = 'Current thread 0x1 (most recent call first):\n  File "a b.py", line 3 in f\n  File "c'
    assert whereabouts.parsed(text) == [("a b.py", 3, "f")]


def test_who_waits_in_atoll_waits_at_the_users_line() -> None:
    ours = os.path.join(whereabouts.ROOT, "comm", "waiting.py")
    frames = [
        (ours, 85, "pause"),
        ("/home/me/heat.py", 14, "step"),
        ("/home/me/heat.py", 30, "<module>"),
    ]
    assert whereabouts.in_words(frames) == ("waits at heat.py:14, in step", True)
    computing = (os.path.join(whereabouts.ROOT, "run", "program.py"), 5, "run")
    assert whereabouts.in_words([computing, ("heat.py", 3, "<module>")]) == (
        "is at heat.py:3, computing",
        False,
    )


BEFORE = "import os, time\nif os.environ['PMI_RANK'] == '1': time.sleep(30)\nimport atoll\natoll.world.rank"


def test_who_does_not_come_to_the_start_of_mpi_is_named() -> None:
    outcome = atoll("run", "-n", "3", "-c", BEFORE, **LIMITS)
    assert outcome.code == 1, outcome
    words = (
        "ranks 0, 2 of 3 waited 2 s (ATOLL_WAIT_ABORT) for MPI to start; rank 1 is at <string>:2"
    )
    assert words in outcome.errors, outcome


def test_without_atoll_run_who_waits_for_the_start_of_mpi_tells_its_own_line() -> None:
    words = [find().path, "-n", "2", sys.executable, "-c", BEFORE]
    outcome = finished(words, **LIMITS)
    assert outcome.code, outcome
    assert "Timeout (0:00:02)!" in outcome.errors
    assert '"<string>", line 4 in <module>' in outcome.errors


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


def test_who_ends_mpi_alone_does_not_leave_the_others_waiting() -> None:
    code = (
        "import atoll as np\nfrom mpi4py import MPI\nfloat(np.ones((600, 600)).sum())\n"
        "if np.world.rank == 1: MPI.Finalize()\nfloat(np.zeros((600, 600)).sum())"
    )
    outcome = atoll("run", "-n", "2", "-c", code)
    assert outcome.code == 1, outcome
    assert "rank 1 has ended MPI by MPI.Finalize()" in outcome.errors


def test_a_hook_for_exceptions_that_fails_leaves_nobody_waiting() -> None:
    code = (
        "import atoll as np, sys\ndef hook(*error): raise RuntimeError('in the hook')\n"
        "sys.excepthook = hook\nif np.world.rank == 1: raise ValueError('first')\nnp.world.barrier()"
    )
    outcome = atoll("run", "-n", "2", "-c", code)
    assert outcome.code == 1, outcome
    assert "RuntimeError: in the hook\nin sys.excepthook, which was to show:" in outcome.errors
    assert outcome.errors.endswith("ValueError: first\n")
