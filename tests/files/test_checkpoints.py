"""Checkpoints: what is restored is bit for bit what was kept, on any number of ranks, and damage has a name."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy
import pytest

import atoll as np
from atoll.errors import FileFormatError

from .kills import Campaign
from .layouts import DTYPES, layouts, on_ranks, values

SHAPE = (13, 10)
VALUES = {
    "step": 7, "time": 0.1 + 0.2, "done": False, "name": "größe", "nothing": None, "z": 1 - 2j, "raw": b"\0\xff",
    "huge": -(10**30), "limits": (float("inf"), [-0.0, {"a": 1, 2: ("b",)}]), "single": numpy.float32(0.1),
    "date": numpy.datetime64("2020-02-02"),
}  # fmt: skip


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_everything_comes_back(size, tmp_path):
    kinds = layouts(SHAPE, size)
    arrays = {name: on_ranks(values(SHAPE) + k, kinds[name]) for k, name in enumerate(kinds)}
    for dtype in DTYPES:
        arrays[str(dtype)] = on_ranks(values((6, 2), dtype), np.Layout((6, 2), "bn", size=size))
    arrays["of numpy"] = numpy.arange(5).reshape(1, 5)
    arrays["no axes"], arrays["no elements"] = np.array(2.5), numpy.zeros((0, 3))
    path = np.checkpoint(tmp_path / "run", **arrays, **VALUES)
    assert os.listdir(tmp_path / "run") == [os.path.basename(path)]
    for chosen in (None, {"columns": "bb", "halos": kinds["scattered"]}):
        state = np.restore(tmp_path / "run", layouts=chosen)
        assert state.keys() == {*arrays, *VALUES}
        for name, array in arrays.items():
            assert state[name].dtype == array.dtype
            assert (numpy.asarray(state[name]) == numpy.asarray(array)).all(), name
        for name, value in VALUES.items():
            assert type(state[name]) is type(value)
            assert repr(state[name]) == repr(value)
    assert size == 1 or state["halos"].layout == kinds["scattered"]
    with numpy.load(path) as theirs:
        assert (theirs["columns"] == numpy.asarray(arrays["columns"])).all()


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.simulated(1)
def test_random_generators_go_on(tmp_path):
    ours, old = np.random.default_rng(5), np.random.RandomState(6)
    theirs = numpy.random.Generator(numpy.random.Philox(3))
    ours.random(3), old.rand(2), theirs.normal(size=3)
    np.checkpoint(tmp_path, ours=ours, old=old, theirs=theirs)
    expected = [float(g) for g in (ours.random(), old.rand(), theirs.normal(), np.random.rand())]
    state = np.restore(tmp_path)
    again = [
        state["ours"].random(),
        state["old"].rand(),
        state["theirs"].normal(),
        np.random.rand(),
    ]
    assert [float(g) for g in again] == expected
    assert type(state["ours"]) is type(ours)


@pytest.mark.ranks(2)
@pytest.mark.simulated(1)
def test_the_last_ones_are_kept(rank, tmp_path):
    a = np.arange(100.0)
    for step in range(5):
        np.checkpoint(tmp_path, a=a + step, step=step, keep=3, durable=False)
    if rank == 0:
        (tmp_path / ".0123456789ab.npz").write_bytes(b"left over")
    np.world.barrier()
    np.checkpoint(tmp_path, a=a + 5, step=5)
    names = ["checkpoint-000005.npz", "checkpoint-000006.npz"]
    assert sorted(os.listdir(tmp_path)) == names
    assert np.restore(tmp_path)["step"] == 5
    assert np.restore(tmp_path / names[0])["step"] == 4


@pytest.mark.ranks(2)
@pytest.mark.simulated(1)
def test_damage_and_foreign_files_are_named(rank, tmp_path):
    a = np.sin(np.arange(2000.0))
    path = Path(np.checkpoint(tmp_path, a=a, step=3))
    whole, generator = path.read_bytes(), numpy.random.default_rng(2)
    np.world.barrier()
    wrong = [b"", b"no checkpoint", whole[: len(whole) // 2], whole[:-1], b"\x93NUMPY" + whole]
    for place in generator.integers(0, len(whole), 25):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(generator.integers(8))
        wrong.append(bytes(flipped))
    named = 0
    for content in wrong:
        if rank == 0:
            path.write_bytes(content)
        np.world.barrier()
        try:
            state = np.restore(tmp_path)
        except FileFormatError as error:
            named += "checkpoint-000001.npz" in str(error)
        else:  # the bit has no meaning, as in the date of a member
            assert (numpy.asarray(state["a"]) == numpy.asarray(a)).all()
            assert state["step"] == 3
        np.world.barrier()
    assert named >= 20
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        np.restore(tmp_path / "..")
    if rank == 0:
        path.write_bytes(whole)
    np.world.barrier()
    with pytest.raises(KeyError, match="layouts="):
        np.restore(tmp_path, layouts={"b": "n"})


@pytest.mark.ranks(2)
@pytest.mark.simulated(1)
def test_what_cannot_be_kept_is_named(tmp_path):
    a = np.arange(100.0)
    with pytest.raises(TypeError, match=r"run\['x'\] is a .*no pickles"):
        np.checkpoint(tmp_path, a=a, run={"x": object()})
    with pytest.raises(TypeError, match="Python objects"):
        np.checkpoint(tmp_path, a=a, b=numpy.array([None]))
    with pytest.raises(ValueError, match="keep"):
        np.checkpoint(tmp_path, a=a, keep=0)
    float(a.sum())
    assert os.listdir(tmp_path) == []


@pytest.mark.ranks(1, 2)
def test_a_full_disk_leaves_the_last_checkpoint(rank, size, tmp_path):
    a = np.ones((400, 50), layout=np.Layout((400, 50), "bn", size=size))
    np.checkpoint(tmp_path, a=a, step=1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000 if rank == size - 1 else hard, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            np.checkpoint(tmp_path, a=a + 1, step=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == ["checkpoint-000001.npz"]
    assert np.restore(tmp_path)["step"] == 1


@pytest.mark.slow
@pytest.mark.timeout(110)
def test_a_killed_job_is_restored_on_another_number_of_ranks(tmp_path):
    """A sample of ``python -m tests.files.kills``."""
    campaign = Campaign(tmp_path, seed=1)
    for ranks in (2, 1):
        campaign.kill(ranks, steps=2)
    campaign.finish(3)
    assert campaign.last >= 4
