"""Kills ranks of a job that writes checkpoints at random moments, and lets jobs of other sizes go on from the last.

    python -m tests.files.kills [times] [seed]

Each job restores the last checkpoint, compares all bits with what they must be at its step, and goes on writing. One
of its ranks is killed (``kill -9``) at a random time. No checkpoint that a job has announced may be lost, and what a killed
job leaves is never read.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

ROWS, COLUMNS = 300, 700
SEED = 11


def expected(step: int) -> numpy.ndarray:
    return numpy.sin(numpy.arange(ROWS * COLUMNS, dtype=float).reshape(ROWS, COLUMNS) + step)


def job(folder: Path, last: int) -> None:
    """What each rank runs: from the last checkpoint to the step ``last``, or to its end by a signal."""
    import atoll as np

    size = np.world.size
    rng, step = np.random.default_rng(SEED), 0
    least = int((folder / "announced").read_text() or 0)
    if (folder / "run").exists() and any((folder / "run").glob("checkpoint-*")):
        maps = ["bn", "nb", "cn"][least % 3]
        state = np.restore(folder / "run", layouts={"u": maps})
        step, rng = state["step"], state["rng"]
        assert step >= least, f"step {least} was announced, but the last checkpoint has {step}"
        assert (numpy.asarray(state["u"]) == expected(step)).all()
        assert (numpy.asarray(state["small"]) == step).all()
        theirs = numpy.random.default_rng(SEED)
        theirs.random(step)
        assert theirs.bit_generator.state == rng.bit_generator.state
    assert step >= least
    (folder / f"pid{np.world.rank}").write_text(str(os.getpid()))
    np.world.barrier()
    while step < last:
        step += 1
        rng.random()
        maps = ["bn", "nb", "bb", "cc"][step % 4]
        u = np.zeros((ROWS, COLUMNS), layout=np.Layout((ROWS, COLUMNS), maps, size=size))
        u[...] = expected(step)
        np.checkpoint(
            folder / "run", u=u, small=np.full(3, step), step=step, rng=rng, durable=False
        )
        if np.world.rank == 0:
            hidden = folder / "announced.new"
            hidden.write_text(str(step))
            hidden.rename(folder / "announced")


class Campaign:
    """Jobs one after the other, each going on from the checkpoint of the one before."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = random.Random(seed)
        self.last = 0
        (folder / "announced").write_text("")

    def _start(self, ranks: int, last: int) -> subprocess.Popen[str]:
        for old in self.folder.glob("pid*"):
            old.unlink()
        command = [sys.executable, "-m", "tests.files.kills", "job", str(self.folder), str(last)]
        if ranks > 1:
            command = [sys.executable, "-m", "atoll", "run", "-n", str(ranks), *command[1:]]
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("PMI", "MPI", "HYDRA"))
        }
        root = Path(__file__).resolve().parents[2]
        return subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def _announced(self) -> int:
        return int((self.folder / "announced").read_text() or 0)

    def kill(self, ranks: int, *, steps: int = 0) -> None:
        """Start a job, and kill one of its ranks at a random time after its start, and after so many steps."""
        process = self._start(ranks, 1 << 30)
        deadline = time.monotonic() + 50
        pids: list[Path] = []
        while len(pids) < ranks or self._announced() < self.last + steps:
            pids = sorted(self.folder.glob("pid*"))
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise AssertionError(
                    f"the job of {ranks} ranks did not go on:\n{process.communicate()[0]}"
                )
            time.sleep(0.01)
        time.sleep(self.random.uniform(0.02, 0.5))
        os.kill(int(self.random.choice(pids).read_text()), signal.SIGKILL)
        output = process.communicate(timeout=60)[0]
        assert process.returncode, output
        assert "AssertionError" not in output, output
        self.last = self._announced()

    def finish(self, ranks: int) -> None:
        """Let a job go on for two steps, and end."""
        process = self._start(ranks, self.last + 3)
        output = process.communicate(timeout=60)[0]
        assert process.returncode == 0, output
        assert len(list((self.folder / "run").iterdir())) == 2


def main(times: int = 50, seed: int = 0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), seed)
        for turn in range(times):
            ranks = campaign.random.randint(1, 4)
            campaign.kill(ranks)
            print(f"{turn + 1}: killed one of {ranks} at step {campaign.last}", flush=True)
        campaign.finish(2)
    print(f"{times} jobs were killed; every checkpoint that was announced was restored bit for bit")


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        job(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(*map(int, sys.argv[1:]))
