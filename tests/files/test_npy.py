"""`.npy` files of several ranks: one valid file in any layout, read into any other, and an error on every rank."""

from __future__ import annotations

import io
import os
import resource

import numpy
import pytest

import atoll as np
from atoll.errors import FileFormatError, LayoutError
from atoll.files.npy import header_bytes

from .layouts import DTYPES, layouts, limited, on_ranks, values

SHAPE = (13, 10)
WAYS = {"own parts": {"packed": 1}, "in order": {"held": 64, "packed": 1 << 30}}


@pytest.mark.ranks(2, 4)
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("way", WAYS)
def test_every_layout_is_written_as_one_file_and_read_into_every_other(way, size, tmp_path):
    expected = values(SHAPE)
    path = tmp_path / "a.npy"
    kinds = layouts(SHAPE, size)
    with limited(**WAYS[way]):
        for number, (name, layout) in enumerate(kinds.items()):
            np.save(path, on_ranks(expected, layout))
            if number == 0:
                numpy.save(memory := io.BytesIO(), expected)
                assert path.read_bytes() == memory.getvalue()
            other = list(kinds.values())[-number - 1]
            loaded = np.load(path, layout=other)
            assert size == 1 or loaded.layout == other
            assert (numpy.asarray(loaded) == expected).all(), name
            assert (numpy.load(path) == expected).all(), name


@pytest.mark.ranks(3)
@pytest.mark.simulated(1, 2)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_keeps_its_bits(dtype, size, tmp_path):
    expected = values(SHAPE, dtype)
    path = tmp_path / "a.npy"
    for name in ("columns", "halos", "scattered"):
        layout = layouts(SHAPE, size)[name]
        np.save(path, on_ranks(expected, layout))
        assert (numpy.load(path) == expected).all()
        loaded = np.load(path, layout=layout)
        assert loaded.dtype == expected.dtype
        assert (numpy.asarray(loaded) == expected).all()


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_every_shape_and_order(size, tmp_path):
    for shape in [(), (1,), (0, 3), (7,), (2, 3, 4), (1, 1, 50), (3, 40, 1)]:
        a = np.array(values(shape))
        for number, view in enumerate((a, np.array(a.T).T, a[..., ::-1] if shape else a)):
            path = tmp_path / f"{shape} {number}.npy"  # ranks write what all have at their own pace
            with limited(held=64, packed=100 * number):
                np.save(path, view)
                stored, loaded = numpy.load(path), np.load(path)
            assert (stored == numpy.asarray(view)).all()
            assert (numpy.asarray(loaded) == stored).all()
            assert loaded.shape == stored.shape
            assert loaded.flags.f_contiguous == stored.flags.f_contiguous


@pytest.mark.ranks(3)
@pytest.mark.simulated(1, 2)
def test_a_file_is_mapped_by_its_parts(size, tmp_path):
    expected = values(SHAPE)
    path = tmp_path / "a.npy"
    if np.world.rank == 0:
        numpy.save(path, expected)
    np.world.barrier()
    for name, layout in layouts(SHAPE, size).items():
        if layout.is_padded and size > 1:
            with pytest.raises(LayoutError):
                np.load(path, mmap_mode="r", layout=layout)
            continue
        seen = np.load(path, mmap_mode="r", layout=layout)
        assert (numpy.asarray(seen * 1) == expected).all(), name
        assert not seen.flags.writeable
        own = np.load(path, mmap_mode="c", layout=layout)
        own[2:5] = 7
        assert float(own.sum()) != float(seen.sum())
    assert (numpy.load(path) == expected).all()
    shared = np.load(path, mmap_mode="r+", layout=layouts(SHAPE, size)["columns"])
    shared[3] = -1
    np.sync()
    np.world.barrier()
    assert (numpy.load(path)[3] == -1).all()


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_a_new_file_is_mapped(size, tmp_path):
    for order in (False, True):
        a = np.lib.format.open_memmap(tmp_path / "new.npy", "w+", "f8", SHAPE, fortran_order=order)
        a[...] = values(SHAPE)
        np.sync()
        np.world.barrier()
        assert (numpy.load(tmp_path / "new.npy") == values(SHAPE)).all()
        assert numpy.load(tmp_path / "new.npy").flags.f_contiguous == order
        np.world.barrier()
    again = np.lib.format.open_memmap(tmp_path / "new.npy")
    again += 1
    np.sync()
    np.world.barrier()
    assert (numpy.load(tmp_path / "new.npy") == values(SHAPE) + 1).all()


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_an_error_comes_on_every_rank(rank, size, tmp_path):
    layout = layouts(SHAPE, size)["rows"]
    path = tmp_path / "a.npy"
    np.save(path, on_ranks(values(SHAPE), layout))
    whole = path.read_bytes()
    float(np.ones(SHAPE, layout=layout).sum())
    with pytest.raises(FileNotFoundError, match="nowhere"):
        np.load(tmp_path / "nowhere.npy", layout=layout)
    wrong = {
        "truncated": whole[:-9], "no header": whole[:50], "no valid .npy": b"PK\x03\x04" + whole,
        "Python objects": header_bytes(SHAPE, numpy.dtype("O")) + bytes(1000),
    }  # fmt: skip
    for words, content in wrong.items():
        if rank == 0:
            path.write_bytes(content)
        np.world.barrier()
        with pytest.raises(FileFormatError, match="no valid" if words == "no header" else words):
            np.load(path, layout=layout)
        np.world.barrier()
    if rank == 0:
        path.write_bytes(whole)
    np.world.barrier()
    with pytest.raises(LayoutError, match="layout"):
        np.load(path, layout=np.Layout((5, 5), size=size))
    assert os.listdir(tmp_path) == ["a.npy"]


@pytest.mark.ranks(1, 2)
def test_a_full_disk_leaves_the_old_file(rank, size, tmp_path):
    """The limit of a file's size stands for the end of a disk: the second rank meets it, or the only rank."""
    path = tmp_path / "a.npy"
    small = on_ranks(values(SHAPE), layouts(SHAPE, size)["rows"])
    np.save(path, small)
    before = path.read_bytes()
    large = np.ones((400, 50), layout=np.Layout((400, 50), "bn", size=size))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000 if rank == size - 1 else hard, hard))
    try:
        with pytest.raises(OSError, match=r"File too large|written") as refused:
            np.save(path, large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(path) in "".join(refused.value.__notes__)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.npy"]


def test_headers_are_numpys():
    names = [("x" * 30 + str(k), "f8") for k in range(3000)]
    for dtype in ("f8", names, [("größe", "i4"), ("雪", "S2")]):
        empty = numpy.zeros(0, dtype)
        with pytest.warns(UserWarning, match="format") if dtype != "f8" else io.BytesIO():
            numpy.lib.format.write_array(memory := io.BytesIO(), empty)
        ours = header_bytes((0,), empty.dtype)
        assert numpy.load(io.BytesIO(ours), max_header_size=1 << 20).dtype == empty.dtype
        assert ours[:8] == memory.getvalue()[:8]
        assert dtype != "f8" or ours == memory.getvalue()
