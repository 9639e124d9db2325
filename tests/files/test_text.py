"""Text and plain elements: files that NumPy reads, and NumPy's arrays from files that ranks read by ranges of bytes."""

from __future__ import annotations

import os

import numpy
import pytest

import atoll as np

from .layouts import DTYPES, layouts, limited, on_ranks, values

SHAPE = (13, 10)
KINDS = ("rows", "columns", "cyclic rows", "uneven, some empty", "scattered")


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_text_is_written_as_numpy_writes_it(rank, size, tmp_path):
    path, theirs = tmp_path / "a.txt", tmp_path / f"numpys {rank}"
    a = values(SHAPE) / 7
    for name in KINDS:
        ours = on_ranks(a, layouts(SHAPE, size)[name])
        for options in (
            {},
            {
                "fmt": "%.3f",
                "delimiter": ",",
                "newline": "\r\n",
                "header": "größe\n2",
                "footer": "end",
            },
        ):
            numpy.savetxt(theirs, a, **options)
            with limited(held=200):
                np.savetxt(path, ours, **options)
            assert path.read_bytes() == theirs.read_bytes()
    numpy.savetxt(theirs, a[:, 0] + 1j)
    np.savetxt(path, np.array(a[:, 0] + 1j))
    assert path.read_bytes() == theirs.read_bytes()
    with pytest.raises(TypeError, match="Mismatch"):
        np.savetxt(path, ours, fmt="%c")
    assert path.read_bytes() == theirs.read_bytes()
    assert [name for name in os.listdir(tmp_path) if name[0] == "."] == []


TEXTS = {
    "plain": ("1 2 3\n4 5 6\n7 8 9\n10 11 12\n", {}),
    "no last end of line": ("1 2\n3 4\n5 6", {}),
    "comments and blank lines": ("# a b\n\n1,2 # x\n\n# c\n3,4\n\n5,6\n#\n", {"delimiter": ","}),
    "skipped": ("a\nb\n1 2\n3 4\n5 6\n", {"skiprows": 2}),
    "columns": ("1 2 3\n4 5 6\n7 8 9\n", {"usecols": (2, 0), "unpack": True}),
    "a column": ("1\n2\n3\n4\n5\n", {}),
    "a row": ("\n\n1 2 3\n", {}),
    "a number": ("5\n", {}),
    "two axes": ("1\n2\n3\n", {"ndmin": 2}),
    "at least one axis": ("7\n", {"ndmin": 1}),
    "integers": ("1 2\r\n3 4\r\n", {"dtype": "i4"}),
    "records": ("1 a\n2 bc\n3 d\n4 e\n", {"dtype": [("n", "i4"), ("s", "U3")]}),
    "records by field": ("1 2.5\n3 4\n", {"dtype": [("n", "i4"), ("x", "f8")], "unpack": True}),
    "converters": ("1 x\n2 y\n3 z\n", {"converters": {1: lambda word: len(word) + 7}}),
    "a limit": ("1 2\n3 4\n5 6\n", {"max_rows": 2}),
}  # fmt: skip


@pytest.mark.ranks(3)
@pytest.mark.simulated(1, 2)
def test_text_is_read_as_numpy_reads_it(rank, tmp_path):
    for name, (text, options) in TEXTS.items():
        path = tmp_path / name
        if rank == 0:
            path.write_bytes(text.encode())
        np.world.barrier()
        with limited(held=5, packed=3):
            ours = np.loadtxt(path, **options)
        theirs = numpy.loadtxt(path, **options)
        if not isinstance(theirs, list):
            ours, theirs = [ours], [theirs]
        for mine, expected in zip(ours, theirs, strict=True):
            assert mine.shape == expected.shape, name
            assert mine.dtype == expected.dtype
            assert (numpy.asarray(mine) == expected).all(), name
        if not {"converters", "max_rows", "skiprows", "dtype"} & options.keys():
            ours, theirs = np.genfromtxt(path, **options), numpy.genfromtxt(path, **options)
            assert (numpy.asarray(ours) == theirs).all(), name
            assert ours.shape == theirs.shape, name


@pytest.mark.ranks(3)
@pytest.mark.simulated(2)
def test_a_large_text_is_read_into_a_layout(rank, size, tmp_path):
    a = numpy.random.default_rng(1).random((400, 6))
    path = tmp_path / "a.txt"
    np.savetxt(path, on_ranks(a, np.Layout(a.shape, "nb", size=size)), header="six columns")
    with limited(held=1000):
        ours = np.loadtxt(path, layout="bb")
    assert ours.layout == np.Layout(a.shape, "bb", size=size)
    assert (numpy.asarray(ours) == a).all()
    missing = "1,,3\n4,x,6\n" * 30
    if rank == 0:
        (tmp_path / "missing.csv").write_text("a,b,c\n" + missing)
    np.world.barrier()
    options = {"delimiter": ",", "skip_header": 1, "filling_values": -1}
    theirs = numpy.genfromtxt(tmp_path / "missing.csv", **options)
    ours = np.genfromtxt(tmp_path / "missing.csv", **options)
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)
    named = {"delimiter": ",", "names": True}
    theirs = numpy.genfromtxt(tmp_path / "missing.csv", **named)
    assert np.genfromtxt(tmp_path / "missing.csv", **named).dtype == theirs.dtype


@pytest.mark.ranks(3)
@pytest.mark.simulated(2)
def test_wrong_text_is_an_error_on_every_rank(rank, size, tmp_path):
    wrong = {
        "could not convert": "1 2\n" * 50 + "1 x\n", "different lengths|columns changed": "1 2\n" * 40 + "1 2 3\n" * 40,
    }  # fmt: skip
    for number, (words, text) in enumerate(wrong.items()):
        path = tmp_path / str(number)
        if rank == 0:
            path.write_text(text)
        np.world.barrier()
        with pytest.raises(ValueError, match=rf"{words}"):
            np.loadtxt(path)
    with pytest.raises(FileNotFoundError):
        np.loadtxt(tmp_path / "none", layout="bn")
    rows = np.loadtxt(path, max_rows=3, layout="bn")
    assert rows.layout == np.Layout((3, 2), "bn", size=size)
    assert float(np.ones(SHAPE, layout=np.Layout(SHAPE, "bn", size=size)).sum()) == 130


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_elements_alone(rank, size, tmp_path):
    path = tmp_path / "raw"
    for dtype in DTYPES:
        expected = values(SHAPE, dtype)
        for name in KINDS[:2]:
            ours = on_ranks(expected, layouts(SHAPE, size)[name])
            ours.tofile(path)
            assert path.read_bytes() == expected.tobytes()
            for options in ({}, {"count": 17}, {"offset": expected.itemsize * 3, "count": 500}):
                theirs = numpy.fromfile(path, expected.dtype, **options)
                for layout in (None, "c"):
                    again = np.fromfile(path, expected.dtype, layout=layout, **options)
                    assert (numpy.asarray(again) == theirs).all()
            float(np.ones(SHAPE, layout=np.Layout(SHAPE, "bn", size=size)).sum())
    on_ranks(values(SHAPE), layouts(SHAPE, size)["rows"]).T.tofile(path)
    assert path.read_bytes() == values(SHAPE).T.tobytes()
    text = tmp_path / "text"
    if rank == 0:
        values(SHAPE).tofile(text, sep=" ")
    np.world.barrier()
    assert (numpy.asarray(np.fromfile(text, sep=" ")) == values(SHAPE).ravel()).all()
