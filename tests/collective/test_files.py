"""Files that several ranks write: each is whole, is written once, and is there when a rank goes on."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import atoll as np

WRITERS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "save": (np.save, np.load),
    "savez": (lambda f, a: np.savez(f, x=a, y=a + 1), lambda f: np.load(f)["y"] - 1),
    "savez_compressed": (lambda f, a: np.savez_compressed(f, a), lambda f: np.load(f)["arr_0"]),
    "savetxt": (lambda f, a: np.savetxt(f, a, fmt="%.17g"), np.loadtxt),
    "tofile": (lambda f, a: a.tofile(f), np.fromfile),
    "dump": (lambda f, a: a.dump(f), lambda f: np.load(f, allow_pickle=True)),
    "by numpy's name": (lambda f, a: numpy.save(f, a), np.load),
}
SUFFIX = {"save": ".npy", "savez": ".npz", "savez_compressed": ".npz", "by numpy's name": ".npy"}


@pytest.mark.ranks(3)
@pytest.mark.simulated(1, 2)
@pytest.mark.parametrize("name", WRITERS)
def test_what_is_saved_is_loaded_in_a_loop(name, rank, size, tmp_path):
    write, read = WRITERS[name]
    path = tmp_path / f"file{SUFFIX.get(name, '')}"
    for turn in range(4):
        a = np.arange(60.0).reshape(12, 5) * turn
        write(path, a)
        found = numpy.asarray(read(path)).reshape(12, 5)
        assert (found == numpy.arange(60.0).reshape(12, 5) * turn).all()
        float(a.sum())  # all have read before it is written anew
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.ranks(1, 2)
@pytest.mark.simulated(3)
def test_open_files_are_written_once_and_go_on_where_they_end(rank, size, tmp_path):
    a = np.arange(24.0).reshape(4, 6)
    with open(tmp_path / "appended", "ab") as file:
        a.tofile(file)
        np.lib.format.write_array(file, a.T)
        assert file.tell() == os.path.getsize(tmp_path / "appended")
    with open(tmp_path / "appended", "rb") as file:
        assert (numpy.fromfile(file, count=24) == numpy.arange(24.0)).all()
        assert (numpy.lib.format.read_array(file) == numpy.arange(24.0).reshape(4, 6).T).all()
        assert not file.read()
    with open(tmp_path / "lines", "w") as lines:
        np.savetxt(lines, a, header="first")
        np.savetxt(lines, a[1:])
    assert len((tmp_path / "lines").read_text().splitlines()) == 8


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
def test_each_rank_may_write_a_file_of_its_own(rank, size, tmp_path):
    a = np.arange(24.0)
    memory = io.BytesIO()
    np.save(memory, a)
    assert (numpy.load(io.BytesIO(memory.getvalue())) == numpy.arange(24.0)).all()
    assert (pickle.loads(pickle.dumps(a)) == numpy.arange(24.0)).all()
    own = tmp_path / f"{np.world.rank}.npy"
    np.save(own, a)
    assert (numpy.load(own) == numpy.arange(24.0)).all()
    if np.world.rank == 0:  # what every rank has, each may write alone
        np.save(tmp_path / "first", numpy.arange(3))


@pytest.mark.ranks(1, 2)
@pytest.mark.simulated(3)
def test_what_fails_fails_on_all_and_leaves_the_old_file(rank, size, tmp_path):
    a = np.arange(24.0)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        np.save(tmp_path / "nowhere" / "file", a)
    with pytest.raises(IsADirectoryError):
        a.tofile(tmp_path)
    path = tmp_path / "text"
    np.savetxt(path, a)
    with pytest.raises(TypeError, match="Mismatch"):
        np.savetxt(path, a, fmt="%c")
    assert size == 1 or (numpy.loadtxt(path) == numpy.arange(24.0)).all()
    assert [one.name for one in Path(tmp_path).iterdir()] == ["text"]
    with pytest.raises(OSError, match="space"), open("/dev/full", "wb") as full:
        np.save(full, a)


@pytest.mark.ranks(2, distributes=False)
def test_names_lead_where_they_led(rank, tmp_path):
    """Links are followed, and permissions kept."""
    mine = tmp_path / str(rank)
    mine.mkdir()
    (mine / "old").write_bytes(b"")
    (mine / "old").chmod(0o640)
    (mine / "link").symlink_to(mine / "old")
    numpy.arange(3.0).tofile(mine / "link")
    with np.config(small=100):
        np.arange(4.0).tofile(mine / "link")
    assert (mine / "link").is_symlink()
    assert (mine / "old").stat().st_mode & 0o777 == 0o640
    assert (numpy.fromfile(mine / "old") == numpy.arange(4.0)).all()
