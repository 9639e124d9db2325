"""What is done where the operating system has only POSIX: ``ATOLL_WITHOUT=all`` takes that way on Linux.

The folders of tests run that way, too: ``ATOLL_WITHOUT=all python -m pytest tests/comm tests/files tests/global_access``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from atoll import system

from .cli.commands import LIMIT, atoll, finished
from .cli.test_run import is_running

SOURCE = Path(system.__file__).parent
LINUX = r"sys\.platform|/proc\b|/dev/shm|memfd_create|SO_PEERCRED|\\0atoll|prctl|sched_getaffinity|MADV_|posix_fallocate|setrobust|0x4022"

PROGRAM = """
import os, sys, time, numpy, atoll as np
from atoll import system
assert not any(map(system.has, system.FACILITIES))
rank = np.world.rank
a = np.ones((1000, 1000))
total = float((a + np.sin(a)).sum())
with np.onesided(a) as g:
    g.accumulate((0, 0), 1)
    g.fence()
m = numpy.lib.format.open_memmap if rank else None
b = np.lib.format.open_memmap(sys.argv[1], "w+", float, (1000,))
print(round(total / 1000000, 3), a[0, 0], b.shape, np.config.threads > 0)
if rank == 1: raise ValueError("mine")
time.sleep(30)
"""


@pytest.mark.slow
def test_a_job_runs_and_fails_by_posix_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "file.npy")
    outcome = atoll("run", "-n", "2", "-c", PROGRAM, "--", path, ATOLL_WITHOUT="all")
    assert outcome.code == 1, outcome
    assert outcome.output == "1.841 3.0 (1000,) True\n"
    assert outcome.errors.startswith("atoll: rank 1 of 2 failed; all ranks ended\nTraceback")
    assert os.path.getsize(path) == 1000 * 8 + 128


def test_a_rank_ends_with_its_supervisor() -> None:
    code = "import os, time; print(os.getpid(), os.getppid()); time.sleep(30)"
    words = [sys.executable, "-m", "atoll", "run", "-n", "2", "-c", code]
    settings = {**os.environ, "ATOLL_WITHOUT": "all"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=settings) as process:
        assert process.stdout is not None
        rank, supervisor = map(int, process.stdout.readline().split())
        os.kill(supervisor, 9)
        assert process.wait(LIMIT) != 0
    assert not is_running(rank)


def test_an_unknown_facility_is_an_error() -> None:
    outcome = finished([sys.executable, "-c", "import atoll"], ATOLL_WITHOUT="proc,bogus")
    assert outcome.code == 1
    assert "ATOLL_WITHOUT has bogus; it may have all, abstract" in outcome.errors


def test_what_only_linux_has_is_asked_for() -> None:
    """A file that uses it asks ``system.has`` first."""
    for path in SOURCE.rglob("*.py"):
        lines = [line.partition("#")[0] for line in path.read_text().splitlines()]
        code = re.sub(r'""".*?"""', "", "\n".join(lines), flags=re.DOTALL)
        uses = re.findall(LINUX, code)
        name = str(path.relative_to(SOURCE))
        if name in ("system.py", "context/remote_stacks.py", "backend/llvm/machine.py"):
            continue
        assert not uses or "system.has" in code, f"{name}: {uses}"
