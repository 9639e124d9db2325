"""A program under plain ``mpiexec``: as under ``atoll run``, except that every rank prints."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from atoll import system

from .commands import LIMIT, Outcome, finished

MPIEXEC = shutil.which("mpiexec", path=os.path.join(sys.prefix, "bin"))

pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="needs an MPI in this environment")

WAITING = "import sys, time, atoll\nrank = atoll.world.rank\natoll.world.barrier()\n"


def mpiexec(code: str, ranks: int = 2, **changes: str) -> Outcome:
    assert MPIEXEC is not None
    return finished([MPIEXEC, "-n", str(ranks), sys.executable, "-c", code], **changes)


@pytest.mark.slow
def test_every_rank_prints_and_has_its_share_of_the_cores() -> None:
    code = (
        "import numpy, atoll, os, sys\n"
        "line = f\"{atoll.config.threads} {os.environ['OMP_NUM_THREADS']}\\n\"\n"
        "sys.stdout.write(line)"  # in one piece, or two ranks that print at once may mix theirs
    )
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    outcome = mpiexec(code)
    assert sorted(outcome.output.splitlines()) == [f"{share} {share}"] * 2, outcome


def test_a_blas_that_is_loaded_already_is_told() -> None:
    pytest.importorskip("threadpoolctl")
    code = (
        "import numpy, atoll, threadpoolctl\n"
        "print(max(pool['num_threads'] for pool in threadpoolctl.threadpool_info()))"
    )
    outcome = mpiexec(code, ATOLL_NUM_THREADS="1")
    # two ranks that print at once may share a line
    assert "".join(outcome.output.split()) == "11", outcome


@pytest.mark.slow
@pytest.mark.skipif(not system.has("abstract"), reason="ranks do not find each other")
def test_a_failure_of_all_is_said_once() -> None:
    outcome = mpiexec(f"{WAITING}raise ValueError(f'rank {{rank}} has no input')", ranks=3)
    assert outcome.code == 1, outcome
    assert outcome.errors.count("Traceback") == 1
    assert "atoll: ranks 0-2 of 3 failed" in outcome.errors


def test_exits_that_are_caught_or_mean_well_end_nobody() -> None:
    code = (
        f"{WAITING}import threading\n"
        "try: sys.exit(5)\n"
        "except SystemExit as leaving: assert leaving.code == 5\n"
        "thread = threading.Thread(target=sys.exit, args=(6,)); thread.start(); thread.join()\n"
        "sys.stdout.write('done\\n')\n"
        "sys.exit(0 if rank else None)"
    )
    outcome = mpiexec(code)
    assert (outcome.code, outcome.output.count("done")) == (0, 2), outcome


@pytest.mark.slow
def test_somebody_elses_hook_prints_and_all_end() -> None:
    code = (
        f"{WAITING}sys.excepthook = lambda kind, error, frames: print('seen', error, flush=True)\n"
        f"if rank == 0: raise ValueError('mine')\ntime.sleep({LIMIT})"
    )
    outcome = mpiexec(code)
    assert outcome.code == 1, outcome
    assert outcome.output == "seen mine\n"


@pytest.mark.slow
def test_exit_functions_run_and_buffers_are_written() -> None:
    code = (
        "import atexit, ctypes\n"
        f"{WAITING}atexit.register(print, 'exit function', rank)\n"
        "if rank == 0:\n"
        "    print('unflushed'); ctypes.CDLL(None).printf(b'from C\\n')\n"
        "    raise ValueError\n"
        f"time.sleep({LIMIT})"
    )
    outcome = mpiexec(code)
    assert outcome.code == 1, outcome
    assert sorted(outcome.output.splitlines()) == ["exit function 0", "from C", "unflushed"]
