"""`.npz` archives of several ranks: NumPy reads what they write, they read what NumPy writes, and damage is named."""

from __future__ import annotations

import os
import zipfile
import zlib
from itertools import pairwise

import numpy
import pytest

import atoll as np
from atoll.errors import FileFormatError
from atoll.files.archive import Sum, joined, sum_of

from .layouts import layouts, limited, on_ranks, values

SHAPE = (13, 10)


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("compressed", [False, True])
def test_archives_hold_arrays_in_any_layout(compressed, rank, size, tmp_path):
    write = np.savez_compressed if compressed else np.savez
    kinds = layouts(SHAPE, size)
    named = {name: on_ranks(values(SHAPE) + k, kinds[name]) for k, name in enumerate(kinds)}
    named["turned"] = np.array(values((4, 5)).T).T
    named["records"] = on_ranks(
        values((6, 2), [("x", "f8"), ("y", "S3")]), np.Layout((6, 2), "bn", size=size)
    )
    named["nothing"] = np.zeros((0, 3))
    named["number"] = np.array(3.5)
    with limited(held=128, packed=40):
        write(tmp_path / "all", on_ranks(values(SHAPE), kinds["rows"]), **named)
        assert zipfile.ZipFile(tmp_path / "all.npz").testzip() is None
        theirs, ours = numpy.load(tmp_path / "all.npz"), np.load(tmp_path / "all.npz")
        assert set(ours.files) == {"arr_0", *named} == set(theirs.files)
        for name, array in {**named, "arr_0": values(SHAPE)}.items():
            assert (theirs[name] == numpy.asarray(array)).all(), name
            assert (numpy.asarray(ours[name]) == theirs[name]).all(), name
            assert theirs[name].flags.f_contiguous == numpy.asarray(array).flags.f_contiguous
        if rank == 0:
            (numpy.savez_compressed if compressed else numpy.savez)(
                tmp_path / "numpys.npz", **{name: theirs[name] for name in named}
            )
        np.world.barrier()
        with np.load(tmp_path / "numpys.npz") as ours:
            for name in named:
                assert (numpy.asarray(ours[name]) == theirs[name]).all(), name
    assert sorted(os.listdir(tmp_path)) == ["all.npz", "numpys.npz"]


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("compressed", [False, True])
def test_damage_is_named_on_every_rank(compressed, rank, size, tmp_path):
    path = tmp_path / "a.npz"
    (np.savez_compressed if compressed else np.savez)(path, x=np.sin(np.arange(1000.0)))
    content = bytearray(path.read_bytes())
    np.world.barrier()
    content[len(content) // 2] ^= 4
    if rank == 0:
        path.write_bytes(content)
    np.world.barrier()
    with pytest.raises(FileFormatError, match="damaged"):
        np.load(path)["x"]


def test_checksums_of_pieces_are_joined():
    data = numpy.random.default_rng(1).integers(0, 255, 10_000).astype(numpy.uint8)
    cuts = [0, 0, 1, 17, 4096, 4097, 9000, 10_000]
    pieces = [sum_of(a, data[a:b]) for a, b in pairwise(cuts)]
    assert joined(pieces[::-1]) == zlib.crc32(data)
    assert joined([Sum(0, 0, 0)]) == 0
