"""The launcher with Open MPI: run with ``ATOLL_RUN_TEST_OPENMPI=/path/to/its/python``."""

from __future__ import annotations

import os

import pytest

from .commands import LIMIT, atoll, finished

PYTHON = os.environ.get("ATOLL_RUN_TEST_OPENMPI", "")

pytestmark = pytest.mark.skipif(not PYTHON, reason="ATOLL_RUN_TEST_OPENMPI names no interpreter")

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

WAITING = "import os, sys, time, atoll\nrank = atoll.world.rank\natoll.world.barrier()\n"


def test_every_rank_prints_behind_its_number() -> None:
    code = "import atoll; print(atoll.world.rank, atoll.world.size)"
    outcome = atoll("run", "-n", "3", "-c", code, "--all-output", python=PYTHON)
    assert sorted(outcome.output.splitlines()) == ["[0] 0 3", "[1] 1 3", "[2] 2 3"], outcome


def test_one_failure_ends_all_with_one_traceback() -> None:
    outcome = atoll("run", "-n", "3", "-c", "import atoll; 1/atoll.world.rank", python=PYTHON)
    assert outcome.code == 1, outcome
    assert outcome.errors.startswith("atoll: rank 0 of 3 failed")
    assert outcome.errors.count("Traceback") == 1
    assert "MPI_ABORT" not in outcome.errors


@pytest.mark.parametrize(
    ("leave", "code", "words"),
    [
        ("sys.exit(3)", 3, "rank 1 of 2 left with exit code 3"),
        ("os.kill(os.getpid(), 9)", 137, "was killed by signal 9 (Killed)"),
        ("os._exit(5)", 5, "rank 1 of 2 left: os._exit(5) at <string>:4"),
    ],
)
def test_one_rank_that_leaves_ends_all(leave: str, code: int, words: str) -> None:
    program = f"{WAITING}if rank == 1: {leave}\ntime.sleep({LIMIT})"
    outcome = atoll("run", "-n", "2", "-c", program, python=PYTHON)
    assert outcome.code == code, outcome
    assert words in outcome.errors
    assert "prterun" not in outcome.errors


def test_plain_mpiexec_ends_all_too() -> None:
    beside = os.path.join(os.path.dirname(PYTHON), "mpiexec")
    mpiexec = beside if os.path.exists(beside) else "/usr/bin/mpiexec"
    program = f"{WAITING}if rank == 1: raise SystemExit(3)\ntime.sleep({LIMIT})"
    outcome = finished([mpiexec, "-n", "2", "--oversubscribe", PYTHON, "-c", program], **ROOT)
    assert outcome.code == 3, outcome
    assert "atoll: rank 1 of 2 left with exit code 3" in outcome.errors
