"""``atoll run --restart``: a job that loses a rank goes on with those that are left; one that fails by itself does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.cli import hosts
from atoll.cli.verdict import Verdict
from atoll.config import config

from .commands import Outcome, atoll

PROGRAM = """\
import os, signal, sys, time
import atoll as np
folder, act = sys.argv[1:]
try:
    state = np.restore(folder)
except FileNotFoundError:
    state = {"u": np.zeros((400, 300)), "step": 0}
u, rank, size = state["u"], np.world.rank, np.world.size
if rank == 0:
    print(f"from {state['step']} on {size}")
for step in range(state["step"], 6):
    if step == 3:
        eval(act)
    u = u * 0.5 + step + np.arange(300)
    if step % 2 == 1:
        np.checkpoint(folder, u=u, step=step + 1, durable=False)
total = float(u.sum())
if rank == 0:
    print(total)
"""


def total() -> float:
    import numpy

    u = numpy.zeros((400, 300))
    for step in range(6):
        u = u * 0.5 + step + numpy.arange(300)
    return float(u.sum())


def run(folder: Path, act: str, program: str = PROGRAM) -> Outcome:
    """A job whose last rank acts at step 3, unless it is alone."""
    words = [str(folder / "run"), f"rank < size - 1 or size == 1 or {act}"]
    return atoll("run", "-n", "3", "--restart", "-c", program, "--", *words)


@pytest.mark.slow
def test_a_job_goes_on_from_its_checkpoint_without_the_rank_that_was_killed(tmp_path: Path) -> None:
    outcome = run(tmp_path, "size < 3 or os.kill(os.getpid(), 9)")
    assert outcome.code == 0, outcome
    *starts, answer = outcome.output.splitlines()
    assert starts == ["from 0 on 3", "from 2 on 2"]
    assert float(answer) == pytest.approx(total(), rel=1e-12)
    assert "rank 2 of 3" in outcome.errors
    assert "signal 9" in outcome.errors
    assert "atoll: starts again with 2 ranks\n" in outcome.errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("act", "code"), [("1 / 0", 1), ("os.kill(os.getpid(), signal.SIGSEGV)", 139)]
)  # fmt: skip
def test_what_would_happen_again_ends_the_job(tmp_path: Path, act: str, code: int) -> None:
    outcome = run(tmp_path, act)
    assert outcome.code == code, outcome
    assert outcome.output == "from 0 on 3\n"


@pytest.mark.slow
def test_a_job_without_a_new_checkpoint_is_started_again_only_once(tmp_path: Path) -> None:
    program = PROGRAM.replace("step == 3", "step == 0")
    outcome = run(tmp_path, "os.kill(os.getpid(), 9)", program)
    assert outcome.code == 137, outcome
    assert outcome.errors.count("starts again") == 1, outcome


def end(rank: int, status: int, by_launcher: bool = False) -> dict[str, object]:
    return {"kind": "end", "rank": rank, "status": status, "by_launcher": by_launcher}


def test_only_a_loss_that_comes_first_is_a_loss() -> None:
    killed = Verdict(3)
    killed.record(end(1, 9))
    killed.record({"kind": "exception", "rank": 0, "code": 1, "text": "rank 1 does not answer"})
    killed.record(end(0, 9, by_launcher=True))
    assert killed.lost == {1}
    failed = Verdict(3)
    failed.record({"kind": "exception", "rank": 0, "code": 1, "text": "a mistake"})
    failed.record(end(1, 9))
    assert not failed.lost
    left = Verdict(3)
    left.record(end(0, 5 << 8))
    left.record(end(1, 9))
    assert not left.lost


def test_a_launcher_that_ends_well_though_ranks_have_vanished_does_not() -> None:
    verdict = Verdict(2)
    for rank in range(2):
        verdict.record({"kind": "start", "rank": rank, "process": 7, "host": "elm"})
    verdict.record(end(0, 0))
    assert verdict.code(0) == 1
    assert verdict.last_words(0).startswith("atoll: rank 1 of 2 ended without a word")
    verdict.record(end(1, 0))
    assert (verdict.code(0), verdict.last_words(0)) == (0, "")


def test_a_host_is_lost_once_it_is_silent() -> None:
    def say(kind: str, rank: int, when: float) -> None:
        known.record({"kind": kind, "rank": rank, "host": f"host {rank // 2}"}, when)

    with config(wait_abort=50.0):  # so that the limit is 10 s
        known = hosts.Hosts()
        known.look(1000.0)
        for rank in range(6):
            say("start", rank, 1000.0)
        for rank in (0, 2, 4):
            say("sign", rank, 1000.0)
        say("end", 4, 1000.0)  # rank 5 goes on, but gives no signs
        assert [known.look(1000.0 + second) for second in range(1, 10)] == [[]] * 9
        say("sign", 0, 1009.0)
        assert known.look(1009.9) == []
        (lost,) = known.look(1010.8)
        assert (lost.name, lost.ranks) == ("host 1", [2, 3])
        assert known.look(1099.0) == []  # this process was stopped
