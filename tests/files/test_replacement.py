"""Files that replace others: who can read them, which names and owners they keep, and what an error leaves."""

from __future__ import annotations

import os
import stat
import struct

import numpy
import pytest

import atoll as np
from atoll.files import replacement, transport

from .layouts import layouts, on_ranks, values

SHAPE = (13, 10)


def _mapped(path, a):
    np.lib.format.open_memmap(path, "w+", a.dtype, a.shape)[...] = a
    np.sync()
    np.world.barrier()


WRITERS = {
    "a.npy": (np.save, numpy.load),
    "a.npz": (np.savez, lambda path: numpy.load(path)["arr_0"]),
    "b.npz": (np.savez_compressed, lambda path: numpy.load(path)["arr_0"]),
    "a.txt": (np.savetxt, numpy.loadtxt),
    "a.txt.gz": (np.savetxt, numpy.loadtxt),
    "a.bin": (lambda path, a: a.tofile(path), lambda path: numpy.fromfile(path).reshape(SHAPE)),
    "a.pkl": (lambda path, a: a.dump(path), lambda path: numpy.load(path, allow_pickle=True)),
    "m.npy": (_mapped, numpy.load),
}
each_writer = pytest.mark.parametrize("name", WRITERS)


def _mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def _matrix(size):
    return on_ranks(values(SHAPE), layouts(SHAPE, size)["rows"])


@each_writer
@pytest.mark.ranks(1, 2, 3)
def test_nobody_else_reads_what_replaces_a_private_file(name, rank, size, tmp_path, monkeypatch):
    write, read = WRITERS[name]
    path, a, seen, chmod = tmp_path / name, _matrix(size), [], os.chmod
    for mode in (0o600, 0o640, 0o666):
        if rank == 0:
            path.write_bytes(b"secret")
            path.chmod(mode)
        np.world.barrier()
        with monkeypatch.context() as patched:
            patched.setattr(os, "chmod", lambda n, m: (seen.append(_mode(n)), chmod(n, m)))
            write(path, a)
        np.world.barrier()
        assert set(seen) <= {0o600}
        assert rank or seen or name == "m.npy"
        assert _mode(path) == mode
        assert (numpy.asarray(read(path)) == values(SHAPE)).all()
        assert os.listdir(tmp_path) == [name]
        np.world.barrier()


@each_writer
@pytest.mark.ranks(1, 2)
def test_a_new_file_has_the_mode_that_numpy_gives_it(name, rank, size, tmp_path):
    numpy.save(tmp_path / f"numpys {rank}.npy", values(SHAPE))
    WRITERS[name][0](tmp_path / name, _matrix(size))
    np.world.barrier()
    assert _mode(tmp_path / name) == _mode(tmp_path / f"numpys {rank}.npy")


@each_writer
@pytest.mark.ranks(1, 2, 3)
def test_hard_links_show_the_new_file(name, rank, size, tmp_path):
    write, read = WRITERS[name]
    path, other = tmp_path / name, tmp_path / f"other {name}"
    if rank == 0:
        path.write_bytes(b"long before " * 1000)
        os.link(path, other)
    np.world.barrier()
    write(path, _matrix(size))
    np.world.barrier()
    assert os.path.samefile(path, other)
    assert (numpy.asarray(read(other)) == values(SHAPE)).all()
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.ranks(1, 2)
def test_a_symbolic_link_stays_one(rank, size, tmp_path):
    if rank == 0:
        (tmp_path / "a.npy").symlink_to(tmp_path / "b.npy")
    np.world.barrier()
    for _ in range(2):
        np.save(tmp_path / "a.npy", _matrix(size))
        np.world.barrier()
        assert (tmp_path / "a.npy").is_symlink()
        assert (numpy.load(tmp_path / "b.npy") == values(SHAPE)).all()
        np.world.barrier()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.ranks(1, 2)
@pytest.mark.parametrize("may_give", [True, False])
def test_a_file_keeps_its_owner(may_give, rank, size, tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    if rank == 0:
        path.write_bytes(b"theirs")
        os.chown(path, 12345, 54321)
        path.chmod(0o666)
    np.world.barrier()
    before = path.stat()

    def refused(*_):
        raise PermissionError("not the owner")

    if not may_give:
        monkeypatch.setattr(os, "chown", refused)
    np.save(path, _matrix(size))
    np.world.barrier()
    after = path.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (12345, 54321, before.st_mode)
    assert (after.st_ino == before.st_ino) is not may_give
    assert (numpy.load(path) == values(SHAPE)).all()
    assert os.listdir(tmp_path) == ["a.npy"]


def _access_list(*entries):
    """For entries of a kind, a mode and a user's number."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOBODY = 0xFFFFFFFF
PRIVATE = _access_list((1, 6, NOBODY), (2, 6, 12345), (4, 0, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY))  # fmt: skip


@pytest.mark.ranks(1, 2)
def test_an_access_list_is_kept(rank, size, tmp_path):
    """Of a file with one, the mode of the group is a mask: it would give the group what the list does not."""
    path = tmp_path / "a.npy"
    try:
        if rank == 0:
            path.write_bytes(b"shared with one user")
            os.setxattr(path, replacement.ACCESS_LIST, PRIVATE)
    except (OSError, AttributeError):
        pytest.skip("the file system has no access control lists")
    np.world.barrier()
    np.save(path, _matrix(size))
    np.world.barrier()
    assert os.getxattr(path, replacement.ACCESS_LIST) == PRIVATE


def test_what_a_folder_gives_its_files_is_not_given_to_what_replaces_one(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(b"mine")
    path.chmod(0o640)
    try:
        os.setxattr(tmp_path, "system.posix_acl_default", PRIVATE)
    except (OSError, AttributeError):
        pytest.skip("the file system has no access control lists")
    np.save(path, np.ones(SHAPE))
    with pytest.raises(OSError, match="No data"):
        os.getxattr(path, replacement.ACCESS_LIST)
    assert _mode(path) == 0o640


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("kind", [MemoryError, KeyboardInterrupt])
def test_an_error_leaves_no_file(kind, rank, size, tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    np.save(path, _matrix(size))
    np.world.barrier()
    before = path.read_bytes()
    np.world.barrier()

    def fails(*_, **__):
        raise kind

    for module, name in [(os, "replace"), (replacement, "keep_permissions"), (replacement, "_keep_owner")]:  # fmt: skip
        if kind is KeyboardInterrupt and size > 1:
            break  # it ends the job
        with monkeypatch.context() as patched:
            patched.setattr(module, name, fails)
            with pytest.raises(kind):
                np.save(path, _matrix(size))
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["a.npy"]
        np.world.barrier()


@pytest.mark.ranks(2, 3)
def test_a_rank_without_memory_leaves_no_file(rank, size, tmp_path, monkeypatch):
    path = tmp_path / "a.npy"

    def fails(*_):
        raise MemoryError("no room")

    if rank == size - 1:
        monkeypatch.setattr(transport, "write_at", fails)
    with pytest.raises(MemoryError, match="no room"):
        np.save(path, _matrix(size))
    np.world.barrier()
    assert os.listdir(tmp_path) == []


def test_pickles_that_run_out_of_memory_leave_no_file(tmp_path):
    class Greedy:
        def __reduce__(self):
            seen.append([_mode(tmp_path / name) for name in os.listdir(tmp_path)])
            raise MemoryError

    seen = []
    (tmp_path / "a.npy").write_bytes(b"before")
    (tmp_path / "a.npy").chmod(0o600)
    for write in (np.save, lambda path, a: a.dump(path)):
        with pytest.raises(MemoryError):
            write(tmp_path / "a.npy", np.array([Greedy()]))
        assert os.listdir(tmp_path) == ["a.npy"]
        assert (tmp_path / "a.npy").read_bytes() == b"before"
    assert seen == [[0o600, 0o600]] * 2


@pytest.mark.ranks(1, 2)
def test_a_missing_folder_is_named_with_the_file(size, tmp_path):
    with pytest.raises(FileNotFoundError) as refused:
        np.save(tmp_path / "nowhere" / "a.npy", _matrix(size))
    assert refused.value.filename == str(tmp_path / "nowhere" / "a.npy")


@pytest.mark.ranks(1, 2)
def test_what_is_no_plain_file_is_not_replaced(rank, size, tmp_path):
    with open("/dev/null", "wb") as null:
        np.save(null, _matrix(size))
    a = _matrix(size)
    a.tofile("/dev/null")
    np.savetxt("/dev/null", a)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    if rank == 0:
        os.mkfifo(tmp_path / "a.npy")
    np.world.barrier()
    pytest.importorskip("h5py")
    with pytest.raises(FileExistsError, match="plain file"):
        np.save_hdf5(tmp_path / "a.npy", {"a": a})
    assert stat.S_ISFIFO(os.stat(tmp_path / "a.npy").st_mode)


@pytest.mark.ranks(1, 2)
def test_a_private_store_stays_private(rank, size, tmp_path):
    pytest.importorskip("zarr")
    path = tmp_path / "a.zarr"
    for mode in (0o700, 0o750):
        np.save_zarr(path, _matrix(size))
        np.world.barrier()
        if rank == 0:
            path.chmod(mode)
        np.world.barrier()
        np.save_zarr(path, _matrix(size))
        np.world.barrier()
        assert _mode(path) == mode
        assert os.listdir(tmp_path) == ["a.zarr"]
        np.world.barrier()
