"""A job that was aborted leaves no file of shared memory behind, and touches no other's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atoll.cli.leftovers import Leftovers, shared_files

from .commands import atoll

PROGRAM = """
import os, sys, time, atoll
from atoll.cli.leftovers import shared_files
atoll.world.barrier()
if atoll.world.rank == 0:
    print(*shared_files(os.getpid()), flush=True)
time.sleep(0.5)  # no rank dies in the moment in which it was born
if atoll.world.rank == 1:
    {end}
atoll.world.barrier()
"""


@pytest.mark.parametrize("end", ["raise ValueError('on purpose')", "os.kill(os.getpid(), 9)"])
def test_an_aborted_job_leaves_nothing(end: str) -> None:
    other = Path(f"/dev/shm/mpich_shm_of_a_test_{os.getpid()}")
    other.touch()
    try:
        outcome = atoll("run", "-n", "2", "-c", PROGRAM.format(end=end))
        assert outcome.code != 0, outcome
        files = outcome.output.split()
        if not files:
            pytest.skip("this MPI shares no memory through files of MPICH's names")
        assert not any(os.path.exists(file) for file in files), outcome
        assert other.exists()
    finally:
        other.unlink()


def test_only_what_a_rank_had_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.touch()
    other.touch()
    looks: list[int] = []

    def seen(process: int) -> set[str]:
        looks.append(process)
        return {str(mine)} if process == 7 else set()

    monkeypatch.setattr("atoll.cli.leftovers.shared_files", seen)
    leftovers = Leftovers()
    leftovers.look(0.0)
    leftovers.follow(6, 0.0)
    leftovers.follow(7, 0.1)
    leftovers.look(0.2)
    assert looks == [6, 7]
    leftovers.look(10.0)
    leftovers.look(12.0)  # not before 15
    assert looks == [6, 7] * 2
    leftovers.look(12.0, surely=True)
    assert looks == [6, 7] * 3
    leftovers.clear()
    assert (mine.exists(), other.exists()) == (False, True)


def test_a_process_that_is_no_more_shares_nothing() -> None:
    assert shared_files(os.getpid()) == set()
    assert shared_files(2**22 + 1) == set()
