"""HDF5 files of several ranks: h5py reads what they write, and they read what h5py writes, in any layout."""

from __future__ import annotations

import os
import resource

import numpy
import pytest

import atoll as np
from atoll.errors import FileFormatError

from .layouts import DTYPES, layouts, limited, on_ranks, values

h5py = pytest.importorskip("h5py")
SHAPE = (13, 10)
WAYS = {
    "contiguous": {}, "chunks": {"chunks": (4, 3)}, "whole lines": {"chunks": (5, None)},
    "compressed": {"chunks": 4, "compression": 3},
}  # fmt: skip


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("way", WAYS)
def test_datasets_in_every_layout(way, rank, size, tmp_path):
    kinds = layouts(SHAPE, size)
    arrays = {
        f"group/{name}": on_ranks(values(SHAPE) + k, kinds[name]) for k, name in enumerate(kinds)
    }
    with limited(held=256, packed=60):
        np.save_hdf5(tmp_path / "a.h5", arrays, **WAYS[way])
        if rank == 0:
            with h5py.File(tmp_path / "theirs.h5", "w") as file:
                options = {k: v for k, v in WAYS[way].items() if k == "compression"}
                chunks = None if way == "contiguous" else (3, 4)
                for k, name in enumerate(arrays):
                    file.create_dataset(name, data=values(SHAPE) + k, chunks=chunks, **options)
        np.world.barrier()
        with h5py.File(tmp_path / "a.h5") as file:
            for k, name in enumerate(arrays):
                assert (file[name][...] == values(SHAPE) + k).all(), name
        for k, (name, layout) in enumerate(zip(arrays, list(kinds.values())[::-1], strict=True)):
            for path in ("a.h5", "theirs.h5"):
                loaded = np.load_hdf5(tmp_path / path, name, layout=layout)
                assert (numpy.asarray(loaded) == values(SHAPE) + k).all(), name
    assert sorted(os.listdir(tmp_path)) == ["a.h5", "theirs.h5"]


@pytest.mark.ranks(2)
@pytest.mark.simulated(1)
def test_dtypes_shapes_and_small_arrays(size, tmp_path):
    layout = np.Layout((6, 2), "nb", size=size)
    for dtype in DTYPES:
        arrays = {"a": on_ranks(values((6, 2), dtype), layout)}
        if numpy.dtype(dtype).kind in "UM":
            with pytest.raises(TypeError):
                np.save_hdf5(tmp_path / "a.h5", arrays)
            continue
        np.save_hdf5(tmp_path / "a.h5", arrays)
        loaded = np.load_hdf5(tmp_path / "a.h5", "a", layout="bn")
        assert loaded.dtype == numpy.dtype(dtype)
        assert (numpy.asarray(loaded) == values((6, 2), dtype)).all()
    more = {
        "number": np.array(2.5),
        "nothing": np.zeros((0, 3)),
        "line": values((7,)),
        "turned": np.array(values((3, 4))).T,
    }
    for way in WAYS.values():
        chunks = {"chunks": 2} if "chunks" in way else {}
        np.save_hdf5(tmp_path / "b.h5", more, **way | chunks)
        for name, array in more.items():
            loaded = np.load_hdf5(tmp_path / "b.h5", name)
            assert loaded.shape == array.shape
            assert (numpy.asarray(loaded) == numpy.asarray(array)).all()


@pytest.mark.ranks(2)
@pytest.mark.simulated(1)
def test_errors_come_on_every_rank(rank, size, tmp_path):
    path = tmp_path / "a.h5"
    big = np.ones((400, 50), layout=np.Layout((400, 50), "bn", size=size))
    np.save_hdf5(path, {"a": big}, chunks=(100, 50), compression=1)
    whole = path.read_bytes()
    float(big.sum())
    with pytest.raises(KeyError, match="no dataset 'b'"):
        np.load_hdf5(path, "b")
    with pytest.raises(FileNotFoundError):
        np.load_hdf5(tmp_path / "none.h5", "a")
    with pytest.raises(ValueError, match="level from 1 to 9"):
        np.save_hdf5(path, {"a": big}, compression=3)
    with pytest.raises(ValueError, match="at least 1"):
        np.save_hdf5(path, {"a": big}, chunks=(3,))
    flipped = bytearray(whole)
    for place in range(len(whole) - 400, len(whole), 7):
        flipped[place] ^= 255
    for content in (whole[:-100], b"nothing of HDF5", bytes(flipped)):
        if rank == 0:
            path.write_bytes(content)
        np.world.barrier()
        with pytest.raises(FileFormatError, match=r"a\.h5"):
            np.load_hdf5(path, "a")
        np.world.barrier()


@pytest.mark.ranks(1, 2)
def test_a_full_disk_leaves_the_old_file(rank, size, tmp_path):
    path = tmp_path / "a.h5"
    np.save_hdf5(path, {"a": on_ranks(values(SHAPE), layouts(SHAPE, size)["rows"])})
    before = path.read_bytes()
    big = np.ones((400, 50), layout=np.Layout((400, 50), "bn", size=size))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000 if rank == size - 1 else hard, hard))
    try:
        with pytest.raises(OSError, match=r"[Ff]ile|space"):
            np.save_hdf5(path, {"a": big})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.h5"]
