"""Zarr stores of several ranks: zarr reads what they write, and they read what zarr writes, in any layout."""

from __future__ import annotations

import os

import numpy
import pytest

import atoll as np
from atoll.errors import FileFormatError

from .layouts import layouts, limited, on_ranks, values

zarr = pytest.importorskip("zarr", minversion="3")
SHAPE = (13, 10)


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize(
    "options",
    [{"chunks": (4, 3)}, {"chunks": (2, 5), "shards": (4, 10), "compressors": None}],
    ids=["chunks", "shards"],
)
def test_arrays_in_every_layout(options, rank, size, tmp_path):
    kinds = layouts(SHAPE, size)
    chosen = ("rows", "columns", "cyclic columns", "uneven, some empty", "halos", "scattered")
    arrays = {
        name.replace(" ", "_"): on_ranks(values(SHAPE) + k, kinds[name])
        for k, name in enumerate(chosen)
    }
    with limited(held=400):
        np.save_zarr(tmp_path / "group", arrays, **options)
        theirs = zarr.open_group(str(tmp_path / "group"), mode="r")
        for k, (name, other) in enumerate(zip(arrays, chosen[::-1], strict=True)):
            assert (theirs[name][...] == values(SHAPE) + k).all(), name
            loaded = np.load_zarr(tmp_path / "group", name, layout=kinds[other])
            assert (numpy.asarray(loaded) == values(SHAPE) + k).all(), name
    for dtype in ("i2", "c16", "?"):  # the last store takes the place of the first
        a = on_ranks(values(SHAPE, dtype), kinds["rows"])
        np.save_zarr(tmp_path / "group", a)
        assert (
            zarr.open_array(str(tmp_path / "group"), mode="r")[...] == values(SHAPE, dtype)
        ).all()
        assert (numpy.asarray(np.load_zarr(tmp_path / "group")) == values(SHAPE, dtype)).all()
        np.world.barrier()
    np.save_zarr(
        tmp_path / "more",
        {"number": np.array(2.5), "nothing": np.zeros((0, 3)), "line": values((7,))},
    )
    assert float(np.load_zarr(tmp_path / "more", "number")) == 2.5
    assert np.load_zarr(tmp_path / "more", "nothing").shape == (0, 3)
    assert (numpy.asarray(np.load_zarr(tmp_path / "more", "line")) == values((7,))).all()
    assert sorted(os.listdir(tmp_path)) == ["group", "more"]


@pytest.mark.ranks(2)
@pytest.mark.simulated(1)
def test_errors_come_on_every_rank(rank, size, tmp_path):
    a = np.ones((40, 5), layout=np.Layout((40, 5), "bn", size=size))
    np.save_zarr(tmp_path / "a", a, chunks=(10, 5))
    with pytest.raises(FileFormatError, match="no valid Zarr array 'b'"):
        np.load_zarr(tmp_path / "a", "b")
    with pytest.raises(FileNotFoundError):
        np.load_zarr(tmp_path / "none")
    if rank == 0:
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "precious").write_text("kept")
        for chunk in (tmp_path / "a" / "c").rglob("*"):
            if chunk.is_file():
                chunk.write_bytes(chunk.read_bytes()[:-3])
    np.world.barrier()
    with pytest.raises(FileExistsError, match=r"zarr\.json"):
        np.save_zarr(tmp_path / "folder", a)
    with pytest.raises(FileFormatError, match="damaged"):
        np.load_zarr(tmp_path / "a")
    assert sorted(os.listdir(tmp_path)) == ["a", "folder"]
