"""The cache on disk: what went in comes out, or nothing does."""

import errno
import os
import socket
import stat
import subprocess
import sys
import time

import pytest

from atoll.backend.llvm import cache
from atoll.config import config

KEY = cache.key_of("a kernel")
DATA = bytes(range(256)) * 40


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "kernels"
    with config(kernel_cache=str(folder)):
        yield folder


def test_what_was_stored_is_loaded(folder):
    assert cache.load(KEY) is None
    assert cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    assert cache.store(KEY, b"")
    assert cache.load(KEY) == b""
    assert os.listdir(folder) == [KEY]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_keys_depend_on_every_part_and_on_where_parts_end():
    keys = [cache.key_of(*parts) for parts in ((), ("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""))]
    assert len(set(keys)) == len(keys)
    assert cache.key_of("ab", 1) == cache.key_of("ab", 1)
    assert all(key.isalnum() for key in keys)


def test_a_key_depends_on_version_and_code(monkeypatch):
    with monkeypatch.context() as change:
        change.setattr(cache, "__version__", "another")
        assert cache.key_of("a kernel") != KEY
    with monkeypatch.context() as change:
        change.setattr(cache, "_sources", lambda: "another")
        assert cache.key_of("a kernel") != KEY
    assert cache.key_of("a kernel") == KEY


@pytest.mark.parametrize("length", [0, 5, 13, 44, 45, 200, -1])
def test_a_truncated_file_is_refused_and_removed(folder, length):
    cache.store(KEY, DATA)
    file = folder / KEY
    file.write_bytes(file.read_bytes()[:length])
    assert cache.load(KEY) is None
    assert not file.exists()


@pytest.mark.parametrize("position", [0, 12, 13, 44, 45, 5000, -1])
def test_a_flipped_bit_is_refused_and_removed(folder, position):
    cache.store(KEY, DATA)
    file = folder / KEY
    content = bytearray(file.read_bytes())
    content[position] ^= 1
    file.write_bytes(content)
    assert cache.load(KEY) is None
    assert not file.exists()


def test_a_kernel_under_the_name_of_another_is_refused(folder):
    other = cache.key_of("another kernel")
    cache.store(KEY, DATA)
    (folder / KEY).rename(folder / other)
    assert cache.load(other) is None


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_can_write_is_not_used(folder, mode):
    cache.store(KEY, DATA)
    folder.chmod(mode)
    assert cache.load(KEY) is None
    assert not cache.store(KEY, DATA)
    assert "only its owner may write" in cache.describe()
    folder.chmod(0o700)
    assert cache.load(KEY) == DATA


def test_a_folder_of_somebody_else_is_not_used(folder, monkeypatch):
    cache.store(KEY, DATA)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert cache.load(KEY) is None
    assert not cache.store(KEY, DATA)
    assert "belongs to user" in cache.describe()


def _link(folder, kept):
    kept.rename(folder / "elsewhere")
    kept.symlink_to(folder / "elsewhere")


IN_PLACE = {
    "link": _link,
    "pipe": lambda folder, kept: (kept.unlink(), os.mkfifo(kept)),
    "folder": lambda folder, kept: (kept.unlink(), kept.mkdir()),
    "socket": lambda folder, kept: (kept.unlink(), socket.socket(socket.AF_UNIX).bind(kept.name)),
    "device": lambda folder, kept: (kept.unlink(), kept.symlink_to("/dev/zero")),
    "huge": lambda folder, kept: os.truncate(kept, 1 << 40),
    "shared": lambda folder, kept: kept.chmod(0o666),
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("kind", IN_PLACE)
def test_what_is_no_file_of_ours_is_neither_trusted_nor_waited_for(folder, kind, monkeypatch):
    cache.store(KEY, DATA)
    monkeypatch.chdir(folder)  # names of sockets are short
    try:
        IN_PLACE[kind](folder, folder / KEY)
    except OSError as error:
        pytest.skip(f"no {kind} can be made here: {error}")
    assert cache.load(KEY) is None
    replaced = cache.store(KEY, DATA)
    assert replaced == (kind != "folder")
    assert cache.load(KEY) == (DATA if replaced else None)


def test_a_file_of_somebody_else_is_not_used(folder, monkeypatch):
    cache.store(KEY, DATA)
    inner, status = (folder / KEY).stat().st_ino, os.fstat

    def other(descriptor):
        found = list(status(descriptor))
        if status(descriptor).st_ino == inner:
            found[stat.ST_UID] += 1
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", other)
    assert cache.load(KEY) is None


def test_files_that_are_no_kernels_stay(folder, monkeypatch):
    """Whoever names a folder of his own for kernels keeps what else is in it."""
    folder.mkdir(mode=0o700)
    mine = [folder / name for name in ("thesis.tex", ".hidden", "a" * 39)]
    for file in mine:
        file.write_bytes(b"x" * 5000)
        os.utime(file, (1.0, 1.0))
    monkeypatch.setattr(cache, "LARGEST", 4096)
    for number in range(4):
        assert cache.store(cache.key_of(number), DATA)
    assert all(file.exists() for file in mine)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with config(kernel_cache=str(tmp_path / "file" / "kernels")):
        assert not cache.store(KEY, DATA)
        assert cache.load(KEY) is None
        assert "no kernel cache" in cache.describe()


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    cache.store(KEY, DATA)

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    assert not cache.store(cache.key_of("another kernel"), DATA)
    assert os.listdir(folder) == [KEY]
    assert cache.load(KEY) == DATA


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_disk_that_fills_while_writing(folder, monkeypatch):
    cache.store(KEY, DATA)
    opened = os.open
    full = lambda name, *args, **options: (  # noqa: E731
        opened("/dev/full", os.O_WRONLY)
        if str(name).startswith(".")
        else opened(name, *args, **options)
    )
    monkeypatch.setattr(os, "open", full)
    assert not cache.store(cache.key_of("another kernel"), DATA)
    monkeypatch.undo()
    assert cache.load(KEY) == DATA


def test_it_can_be_switched_off(folder):
    cache.store(KEY, DATA)
    with config(kernel_cache="off"):
        assert cache.load(KEY) is None
        assert not cache.store(KEY, DATA)
        assert "switched off" in cache.describe()


@pytest.mark.parametrize("base", ["absolute", "relative", None])
def test_the_automatic_folder(tmp_path, monkeypatch, base):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    expected = tmp_path / "home" / ".cache"
    if base == "absolute":
        expected = tmp_path / "cache"
        monkeypatch.setenv("XDG_CACHE_HOME", str(expected))
    elif base == "relative":
        monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    with config(kernel_cache="auto"):
        assert cache.store(KEY, DATA)
        assert (expected / "atoll" / "kernels" / KEY).is_file()


def test_the_oldest_kernels_make_room(folder, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST", 40 * 4096)
    keys = [cache.key_of(number) for number in range(100)]
    for number, key in enumerate(keys):
        assert cache.store(key, b"x" * 1000)
        os.utime(folder / key, (number, number))
    left = set(os.listdir(folder))
    assert len(left) <= 45
    assert {key for key in keys if cache.load(key)} == left
    assert keys[-1] in left
    assert keys[0] not in left


def test_use_makes_a_kernel_young_again(folder):
    cache.store(KEY, DATA)
    os.utime(folder / KEY, (1.0, 1.0))
    cache.load(KEY)
    assert time.time() - (folder / KEY).stat().st_mtime < 3600


def test_half_written_files_of_dead_processes_are_removed(folder, monkeypatch):
    cache.store(KEY, DATA)
    old, new = folder / f".{KEY}.1.aa", folder / f".{KEY}.2.bb"
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (1.0, 1.0))
    monkeypatch.setattr(cache, "_written", cache.LARGEST)
    cache.store(KEY, DATA)
    assert not old.exists()
    assert new.exists()


_MANY = """
import sys
from atoll.backend.llvm import cache
data = bytes(range(256)) * 100
keys = [cache.key_of(number) for number in range(20)]
bad = 0
for turn in range(30):
    for key in keys:
        found = cache.load(key)
        bad += found is not None and found != data
        assert cache.store(key, data)
sys.exit(bad)
"""


@pytest.mark.slow
def test_processes_at_the_same_time(folder):
    environment = {**os.environ, "ATOLL_KERNEL_CACHE": str(folder)}
    processes = [subprocess.Popen([sys.executable, "-c", _MANY], env=environment) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert len(os.listdir(folder)) == 20


_ONE = """
import atoll
a = atoll.arange(100000.0)
print(float((atoll.sin(a) * a).sum()))
"""


@pytest.mark.slow
def test_another_process_finds_the_kernels(folder):
    """Names must not depend on how a process orders its sets."""
    names = []
    for seed in ("1", "2"):
        environment = {**os.environ, "ATOLL_KERNEL_CACHE": str(folder), "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", _ONE], env=environment, check=True, timeout=60)
        names.append(sorted(os.listdir(folder)))
    assert names[0]
    assert names[0] == names[1]
