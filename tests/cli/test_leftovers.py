"""A job that was aborted leaves no file of shared memory behind, and touches no other's."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from atoll.cli import leftovers


def test_only_what_a_rank_had_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = tmp_path / "mpich_shm_mine", tmp_path / "mpich_shm_other"
    mine.touch()
    other.touch()
    looks: list[int] = []

    def seen(process: int) -> set[str]:
        looks.append(process)
        return {mine.name} if process == 7 else set()

    monkeypatch.setattr(leftovers, "FOLDER", str(tmp_path))
    monkeypatch.setattr(leftovers, "shared_files", seen)
    files = leftovers.Leftovers()
    files.look(0.0)
    files.follow(6, 0.0)
    files.follow(7, 0.1)
    files.look(0.2)
    assert looks == [6, 7]
    files.look(10.0)
    files.look(12.0)  # not before 15
    assert looks == [6, 7] * 2
    files.look(12.0, surely=True)
    assert looks == [6, 7] * 3
    files.clear()
    assert (mine.exists(), other.exists()) == (False, True)


def test_only_plain_names_of_plain_files_of_this_user_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a process says that it shares: what is elsewhere, a link, or another user's stays."""
    shared, elsewhere = tmp_path / "shm", tmp_path / "mpich_shm_elsewhere"
    (shared / "mpich_shm_folder").mkdir(parents=True)
    monkeypatch.setattr(leftovers, "FOLDER", str(shared))
    for file in (elsewhere, shared / "mpich_shm_folder" / "mpich_shm_x", shared / "other"):
        file.touch()
    (shared / "mpich_shm_link").symlink_to(elsewhere)
    names = ["mpich_shm_link", "mpich_shm_folder", "mpich_shm_folder/mpich_shm_x", "other"]
    names += [f"../{elsewhere.name}", str(elsewhere), "mpich_shm_x/../../mpich_shm_elsewhere", ""]
    before = sorted(tmp_path.rglob("*"))
    leftovers.remove(names)
    assert sorted(tmp_path.rglob("*")) == before

    theirs = shared / "mpich_shm_theirs"
    theirs.touch()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    leftovers.remove([theirs.name])
    assert theirs.exists()


def test_a_mapped_file_counts_only_under_a_plain_name_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shm"
    (shared / "mpich_shm_folder").mkdir(parents=True)
    monkeypatch.setattr(leftovers, "FOLDER", str(shared))
    kept = []
    for name in ("mpich_shm_mine", "other", "mpich_shm_folder/passwd", "mpich_shm_with space"):
        with open(shared / name, "wb+") as file:
            file.truncate(10)
            kept.append(mmap.mmap(file.fileno(), 10))
    assert leftovers.shared_files(os.getpid()) == {"mpich_shm_mine"}


def test_a_process_that_is_no_more_shares_nothing() -> None:
    assert leftovers.shared_files(os.getpid()) == set()
    assert leftovers.shared_files(2**22 + 1) == set()
