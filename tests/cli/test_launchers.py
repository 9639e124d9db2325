"""``atoll run`` by every launcher: those named by ``ATOLL_RUN_TEST_MPI=/path/to/python:/path/to/another``, each in its environment.

Every job ends: a failing rank ends it with its message and exit code, and a hang ends in an error. srun and an unknown launcher
are stand-ins: they answer ``--version`` as the real one, refuse options that it does not have, and start the ranks by mpiexec.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from .commands import LIMIT, Outcome, atoll, finished

PYTHONS = [path for path in os.environ.get("ATOLL_RUN_TEST_MPI", "").split(":") if path]

each_mpi = pytest.mark.parametrize(
    "python",
    PYTHONS
    or [pytest.param("", marks=pytest.mark.skip(reason="ATOLL_RUN_TEST_MPI names no interpreter"))],
)

MPIEXEC = shutil.which("mpiexec", path=os.path.join(sys.prefix, "bin"))

STAND_IN = """\
#!{python}
import os, sys
words = sys.argv[1:]
if words == ["--version"]:
    print({says!r})
    sys.exit()
passed = ["-n", words[words.index("-n") + 1]]
while words[0].startswith("-"):
    name = words.pop(0).partition("=")[0]
    if name not in ("-n", *{options!r}):
        sys.exit(f"unknown option {{name}}")
    if name == "-n":
        words.pop(0)
print("the launcher starts", file=sys.stderr)
if "ELSEWHERE" in os.environ:
    os.environ["TMPDIR"] = os.path.dirname(__file__)
code = os.spawnv(os.P_WAIT, {mpiexec!r}, [{mpiexec!r}, *passed, *words])
if code:
    print("prose of the launcher about the end")
sys.exit(code)
"""


@pytest.fixture(params=[("slurm-wlm 22.05.8", ["--kill-on-bad-exit"]), ("flux run 0.71", [])])
def stand_in(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A launcher whose options ``atoll run`` knows by its version, and one that it does not know."""
    says, options = request.param
    path = tmp_path / "launcher"
    path.write_text(
        STAND_IN.format(python=sys.executable, says=says, options=options, mpiexec=MPIEXEC)
    )
    path.chmod(0o755)
    return str(path)


ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

WAITING = "import os, sys, time, atoll\nrank = atoll.world.rank\natoll.world.barrier()\n"


def run(python: str, code: str, *options: str, ranks: int = 2, **changes: str) -> Outcome:
    return atoll("run", "-n", str(ranks), "-c", code, *options, python=python, **changes)


@pytest.mark.slow
@pytest.mark.skipif(MPIEXEC is None, reason="needs an MPI in this environment")
def test_a_stand_in_starts_and_ends_jobs(stand_in: str) -> None:
    by = ["--mpiexec", stand_in, "--all-output"]
    outcome = run(sys.executable, "import atoll; print(atoll.world.size)", *by)
    assert sorted(outcome.output.splitlines()) == ["[0] 2", "[1] 2"], outcome
    assert outcome.errors == "the launcher starts\n"
    outcome = run(sys.executable, f"{WAITING}if rank == 1: 1 / 0\ntime.sleep({LIMIT})", *by)
    assert (outcome.code, outcome.output) == (1, ""), outcome
    assert "atoll: rank 1 of 2 failed; all ranks ended\nTraceback" in outcome.errors
    code = f"{WAITING}if rank == 1: time.sleep({LIMIT})\natoll.world.barrier()"
    outcome = run(sys.executable, code, *by, ATOLL_WAIT_REPORT="1", ATOLL_WAIT_ABORT="5")
    assert outcome.code == 1, outcome
    assert "rank 1 is at <string>:4" in outcome.errors


@pytest.mark.slow
@pytest.mark.skipif(MPIEXEC is None, reason="needs an MPI in this environment")
def test_ranks_that_do_not_reach_the_socket_report_through_the_launcher(stand_in: str) -> None:
    """As ranks of another host, which look for the socket elsewhere."""
    by = ["--mpiexec", stand_in, "--all-output"]
    code = f"{WAITING}print('on', rank)\nif rank == 1: sys.exit(3)\ntime.sleep({LIMIT})"
    outcome = run(sys.executable, code, *by, ATOLL_WITHOUT="abstract", ELSEWHERE="1")
    assert outcome.code == 3, outcome
    assert {"[0] on 0", "[1] on 1"} <= set(outcome.output.splitlines())
    assert "atoll: rank 1 of 2 left with exit code 3; all ranks ended\n" in outcome.errors
    code = f"{WAITING}if rank == 1: os.kill(os.getpid(), 9)\ntime.sleep({LIMIT})"
    outcome = run(sys.executable, code, *by, ATOLL_WITHOUT="abstract", ELSEWHERE="1")
    assert outcome.code == 137, outcome
    assert "was killed by signal 9" in outcome.errors


@pytest.mark.slow
def test_ranks_that_the_launcher_leaves_behind_end(tmp_path: Path) -> None:
    path, marker = tmp_path / "launcher", tmp_path / "rank"
    path.write_text(
        f"#!{sys.executable}\nimport os, subprocess, sys, time\n"
        "if sys.argv[1:] == ['--version']: sys.exit(print('flux run 0.71'))\n"
        f"nothing = subprocess.DEVNULL\ncommand = [{MPIEXEC!r}, *sys.argv[1:]]\n"
        "subprocess.Popen(command, stdout=nothing, stderr=nothing, start_new_session=True)\n"
        f"while not os.path.exists({str(marker)!r}): time.sleep(0.05)\n"
    )
    path.chmod(0o755)
    code = f"{WAITING}if rank == 0: open({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep({LIMIT})"
    outcome = run(sys.executable, code, "--mpiexec", str(path))
    assert outcome.code == 1, outcome
    assert "ranks 0-1 of 2 ended without a word" in outcome.errors
    process, until = f"/proc/{marker.read_text()}/stat", time.monotonic() + 5
    while os.path.exists(process) and " Z " not in Path(process).read_text():
        assert time.monotonic() < until
        time.sleep(0.05)


@each_mpi
@pytest.mark.parametrize("ranks", [3, 4])
def test_every_rank_computes_and_prints_behind_its_number(python: str, ranks: int) -> None:
    code = "import atoll as np; a = np.ones((1000, 1000)); print(np.world.size, float(a.sum()), float((a + 1).sum()))"
    outcome = run(python, code, "--all-output", ranks=ranks)
    expected = [f"[{rank}] {ranks} 1000000.0 2000000.0" for rank in range(ranks)]
    assert sorted(outcome.output.splitlines()) == expected, outcome
    assert outcome.errors == ""


@each_mpi
def test_one_failure_ends_all_with_one_traceback(python: str) -> None:
    outcome = run(python, "import atoll; 1/atoll.world.rank", ranks=3)
    assert outcome.code == 1, outcome
    assert outcome.errors.startswith("atoll: rank 0 of 3 failed")
    assert outcome.errors.endswith("ZeroDivisionError: division by zero\n")
    assert outcome.errors.count("Traceback") == 1


@each_mpi
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


@each_mpi
def test_a_hang_ends_in_an_error(python: str) -> None:
    code = f"{WAITING}if rank == 1: time.sleep({LIMIT})\natoll.world.barrier()"
    outcome = run(python, code, ATOLL_WAIT_REPORT="1", ATOLL_WAIT_ABORT="2")
    assert outcome.code == 1, outcome
    assert "WaitTimeoutError" in outcome.errors
    assert "rank 1 is at <string>:4" in outcome.errors


@each_mpi
def test_plain_mpiexec_ends_all_too(python: str) -> None:
    beside = os.path.join(os.path.dirname(python), "mpiexec")
    mpiexec = beside if os.path.exists(beside) else "/usr/bin/mpiexec"
    program = f"{WAITING}if rank == 1: raise SystemExit(3)\ntime.sleep({LIMIT})"
    outcome = finished([mpiexec, "-n", "2", python, "-c", program], **ROOT)
    assert outcome.code == 3, outcome
    assert "atoll: rank 1 of 2 left with exit code 3" in outcome.errors
