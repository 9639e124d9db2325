"""Arrays on ranks whose dtype no kernel holds: they lie as they are told to, and what is written arrives."""

from __future__ import annotations

import re

import numpy
import pytest

import atoll as np
from atoll.errors import LayoutError

RECORD = numpy.dtype([("x", "f8"), ("p", [("q", "i4"), ("r", "f4", (2,))]), ("s", "S3")])
N = 10

WRITES = {
    "whole": lambda d: d["x"].__setitem__(Ellipsis, 3),
    "key": lambda d: d.__setitem__("x", 4),
    "keys": lambda d: d.__setitem__(["x", "s"], (4, b"q")),
    "fill": lambda d: d["x"].fill(7),
    "slice": lambda d: d["x"][2:7].__setitem__(slice(None), numpy.arange(5)),
    "slice first": lambda d: d[2:9]["x"].__setitem__(slice(None, None, 2), 5),
    "nested": lambda d: d["p"]["q"].__setitem__(slice(3, None), 9),
    "tuple": lambda d: d["p"].__setitem__(4, (1, (2, 3))),
    "subarray": lambda d: d["p"]["r"].__setitem__((slice(None), 1), numpy.arange(N)),
    "subarray row": lambda d: d["p"]["r"][3:5].__setitem__(Ellipsis, 4),
    "subarray turned": lambda d: d["p"]["r"].T.__setitem__((0,), numpy.arange(N)),
    "several": lambda d: d[["x", "s"]].__setitem__(slice(1, 4), (2.0, b"zz")),
    "several, one": lambda d: d[["x", "p"]][2:]["x"].fill(8),
    "add": lambda d: d["x"].__iadd__(1),
    "out": lambda d: np.add(d["x"], 1, out=d["x"]) if hasattr(d, "layout") else numpy.add(d["x"], 1, d["x"]),
    "itself reversed": lambda d: d["x"].__setitem__(Ellipsis, d["x"][::-1].copy()),
    "field to field": lambda d: d["p"]["q"].__setitem__(Ellipsis, d["x"]),
    "mask": lambda d: d["x"].__setitem__(d["x"] > 4, -1),
    "list": lambda d: d["x"].__setitem__([1, 8], -1),
    "element": lambda d: d["x"].__setitem__(3, 99),
    "record": lambda d: d.__setitem__(3, (1.0, (2, (3, 4)), b"abc")),
    "records": lambda d: d.__setitem__(slice(3, 6), d[:3]),
    "sort": lambda d: d["x"][::-1].sort(),
    "reshaped": lambda d: d["x"][::2].reshape(1, -1).__setitem__((0, slice(1, 3)), 77),
    "bytes": lambda d: d["s"].__setitem__(slice(2, 5), b"xyz"),
    "number too large": lambda d: d["p"]["q"].__setitem__(Ellipsis, 2**40),
    "no such field": lambda d: d["nothing"].fill(1),
}  # fmt: skip


def records() -> numpy.ndarray:
    made = numpy.zeros(N, RECORD)
    made["x"] = numpy.arange(N)
    made["p"]["q"] = numpy.arange(N) * 2
    made["s"] = b"ab"
    return made


def divided(way: str, rank: int, size: int) -> object:
    """The records on ranks, as a program may come to have them."""
    layout = np.Layout((N,), np.Cyclic(2) if way == "cyclic" else None, size=size)
    block = records()[layout.region(rank)[0].array()]
    if way in ("redistribute", "cyclic"):
        return np.asarray(records()).redistribute(layout)
    if way == "from_local":
        return np.from_local(block, layout)
    if way == "from_distarray":
        return np.from_distarray(np.from_local(block, layout).__distarray__())
    made = np.zeros(N, RECORD, layout=layout)
    made[...] = records()
    return made


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("way", ["redistribute", "cyclic", "from_local", "from_distarray", "zeros"])
def test_what_is_written_through_fields_arrives(way: str, rank: int, size: int) -> None:
    for name, write in WRITES.items():
        expected = records()
        try:
            write(expected)
        except Exception as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                write(divided(way, rank, size))
            continue
        array = divided(way, rank, size)
        assert array.layout.cells == size
        write(array)
        numpy.testing.assert_array_equal(numpy.asarray(array), expected, name)


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
def test_the_fields_of_one_record_do_not_lose_what_is_written(rank: int, size: int) -> None:
    array = divided("zeros", rank, size)
    with pytest.raises(ValueError, match="read-only"):
        array[3]["x"] = 5


DTYPES = [
    "V5", [("a", "i1"), ("b", "f8")], "g", "G", "S3", "U4", "M8[s]", "m8[ms]", ">f8", ">i4", "S0",
    [("t", "M8[D]"), ("v", ">f4")], "f2", "f8",
]  # fmt: skip


def values(dtype: numpy.dtype) -> numpy.ndarray:
    numbers = numpy.arange(7)
    if dtype.kind != "V":
        return numbers.astype(dtype)
    if not dtype.names:
        return numpy.frombuffer(bytes(range(7 * dtype.itemsize)), dtype).copy()
    made = numpy.zeros(7, dtype)
    for name in dtype.names:
        made[name] = numbers
    return made


def same(one: object, other: numpy.ndarray) -> None:
    one = numpy.asarray(one)
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    assert (one == other).all(), (one, other)


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("maps", [None, "cyclic"])
def test_a_layout_is_obeyed_whatever_the_dtype(
    dtype: object, maps: object, rank: int, size: int
) -> None:
    layout = np.Layout((7,), maps and np.Cyclic(2), size=size)
    some = values(numpy.empty(0, dtype).dtype)
    for make, oracle in [
        (np.zeros, numpy.zeros),
        (np.ones, numpy.ones),
        (lambda *a, **k: np.full(a[0], some[3], a[1], **k), lambda *a: numpy.full(a[0], some[3], a[1])),
        (lambda *a, **k: np.full(a[0], some, a[1], **k), lambda *a: numpy.full(a[0], some, a[1])),
        (lambda *a, **k: np.full(a[0], some[3], **k), lambda *a: numpy.full(a[0], some[3])),
    ]:  # fmt: skip
        try:
            expected = oracle(7, dtype)
        except Exception as error:
            with pytest.raises(type(error)):
                make(7, dtype, layout=layout)
            continue
        made = make(7, dtype, layout=layout)
        assert size == 1 or made.layout == layout
        same(made, expected)
    array, expected = np.empty(7, dtype, layout=layout), some.copy()
    assert size == 1 or array.layout == layout
    array[...] = some
    same(array, expected)
    array[2:5], expected[2:5] = some[:3], some[:3]
    array[4], expected[4] = some[1], some[1]
    same(array, expected)
    assert array[4] == expected[4]
    same(array[::-1], expected[::-1])
    same(array[[1, 5, 2]], expected[[1, 5, 2]])
    even = numpy.arange(7) % 2 == 0
    array[np.array(even)], expected[even] = some[6], some[6]
    array[[0, 1]], expected[[0, 1]] = some[5], some[5]
    same(array, expected)
    array.reshape(7, 1)[2], expected[2] = some[3], some[3]
    same(array, expected)
    array.local[...], expected[...] = some[6], some[6]
    same(array, expected)
    other = array.redistribute(np.Layout((7,), np.Cyclic(1), size=size))
    other[3] = some[0]
    same(array, expected)
    same(np.concatenate([array, other])[-4:], numpy.concatenate([some[:1], expected[:3]]))


@pytest.mark.ranks(2, distributes=False)
@pytest.mark.parametrize("dtype", [object, [("a", "O"), ("b", "f8")], "V0"], ids=str)
def test_what_has_no_memory_to_send_is_not_divided(dtype: object, rank: int, size: int) -> None:
    layout = np.Layout((7,), size=size)
    for make in (np.zeros, np.empty):
        with pytest.raises(LayoutError, match="leave the layout out"):
            make(7, dtype, layout=layout)
    with pytest.raises(LayoutError, match="leave the layout out"):
        np.asarray(numpy.zeros(7, dtype)).redistribute(layout)
    with pytest.raises(LayoutError, match="leave the layout out"):
        np.from_local(numpy.zeros(3, dtype))
