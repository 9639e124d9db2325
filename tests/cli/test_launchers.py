"""``atoll run`` by every launcher: those named by ``ATOLL_RUN_TEST_MPI=/path/to/python:/path/to/another``, each in its environment.

Every job ends: a failing rank ends it with its message and exit code, and a hang ends in an error.
"""

from __future__ import annotations

import os

import pytest

from .commands import LIMIT, Outcome, atoll, finished

PYTHONS = [path for path in os.environ.get("ATOLL_RUN_TEST_MPI", "").split(":") if path]

pytestmark = [
    pytest.mark.skipif(not PYTHONS, reason="ATOLL_RUN_TEST_MPI names no interpreter"),
    pytest.mark.parametrize("python", PYTHONS),
]

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

WAITING = "import os, sys, time, atoll\nrank = atoll.world.rank\natoll.world.barrier()\n"


def run(python: str, code: str, *options: str, ranks: int = 2, **changes: str) -> Outcome:
    return atoll("run", "-n", str(ranks), "-c", code, *options, python=python, **changes)


@pytest.mark.parametrize("ranks", [3, 4])
def test_every_rank_computes_and_prints_behind_its_number(python: str, ranks: int) -> None:
    code = "import atoll as np; a = np.ones((600, 600)); print(np.world.size, float(a.sum()), float((a + 1).sum()))"
    outcome = run(python, code, "--all-output", ranks=ranks)
    expected = [f"[{rank}] {ranks} 360000.0 720000.0" for rank in range(ranks)]
    assert sorted(outcome.output.splitlines()) == expected, outcome
    assert outcome.errors == ""


def test_one_failure_ends_all_with_one_traceback(python: str) -> None:
    outcome = run(python, "import atoll; 1/atoll.world.rank", ranks=3)
    assert outcome.code == 1, outcome
    assert outcome.errors.startswith("atoll: rank 0 of 3 failed")
    assert outcome.errors.endswith("ZeroDivisionError: division by zero\n")
    assert outcome.errors.count("Traceback") == 1


@pytest.mark.parametrize(
    ("leave", "code", "words"),
    [
        ("sys.exit(3)", 3, "rank 1 of 2 left with exit code 3"),
        ("os.kill(os.getpid(), 9)", 137, "was killed by signal 9 (Killed)"),
        ("os._exit(5)", 5, "rank 1 of 2 left: os._exit(5) at <string>:4"),
    ],
)
def test_one_rank_that_leaves_ends_all(python: str, leave: str, code: int, words: str) -> None:
    outcome = run(python, f"{WAITING}if rank == 1: {leave}\ntime.sleep({LIMIT})")
    assert outcome.code == code, outcome
    assert words in outcome.errors
    assert outcome.errors.count("\n") == 1  # and nothing of the launcher's


def test_a_hang_ends_in_an_error(python: str) -> None:
    code = f"{WAITING}if rank == 1: time.sleep({LIMIT})\natoll.world.barrier()"
    outcome = run(python, code, ATOLL_WAIT_REPORT="1", ATOLL_WAIT_ABORT="2")
    assert outcome.code == 1, outcome
    assert "WaitTimeoutError" in outcome.errors
    assert "rank 1 is at <string>:4" in outcome.errors


def test_plain_mpiexec_ends_all_too(python: str) -> None:
    beside = os.path.join(os.path.dirname(python), "mpiexec")
    mpiexec = beside if os.path.exists(beside) else "/usr/bin/mpiexec"
    program = f"{WAITING}if rank == 1: raise SystemExit(3)\ntime.sleep({LIMIT})"
    outcome = finished([mpiexec, "-n", "2", python, "-c", program], **ROOT)
    assert outcome.code == 3, outcome
    assert "atoll: rank 1 of 2 left with exit code 3" in outcome.errors
