"""The memory that other libraries are shown: they read it, and write only into what they were asked to."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import io
import struct
import sys
import threading
import weakref

import numpy
import pytest

import atoll as np
from atoll.front import native

SIZES = pytest.mark.parametrize("size", [50, 50000])  # a small array, and one that is recorded
HAS_BUFFERS = native is not None or sys.version_info >= (3, 12)
BUFFERS = pytest.mark.skipif(
    not HAS_BUFFERS, reason="classes written in Python have no buffers before Python 3.12"
)


def pair(size):
    return np.arange(float(size)) * 2, numpy.arange(float(size)) * 2


class Holder:
    """Knows the interface of an array, and nothing else."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__


@SIZES
def test_what_numpy_takes_for_a_temporary_is_a_copy(size):
    a, mirror = pair(size)
    for view in (a, a[3:], a[::-1], a.reshape(10, -1).T):
        taken = numpy.require(view, requirements=["C", "W"])  # as f2py asks for it
        taken[...] = -1
        assert not numpy.asarray(view).flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            numpy.asarray(view)[0] = 1
    assert (numpy.array(a) == mirror).all()
    copied = numpy.array(a)
    copied[0] = 5
    assert numpy.asarray(a, "f4").flags.writeable
    assert a[0] == 0


@SIZES
def test_f2py_leaves_its_arguments_alone(size):
    lapack = pytest.importorskip("scipy.linalg.lapack")
    (d, ours), (b, theirs) = pair(size), pair(size)
    d, ours = d + 5, ours + 5
    found = lapack.dgtsv(d[1:], d * 3, d[1:], b)[3]
    assert numpy.allclose(found, lapack.dgtsv(ours[1:], ours * 3, ours[1:], theirs)[3])
    assert (numpy.array(d) == ours).all()
    assert (numpy.array(b) == theirs).all()


@SIZES
def test_what_is_shown_follows_the_array(size):
    a, mirror = pair(size)
    shown = numpy.asarray(a)
    a[1:] += 3
    mirror[1:] += 3
    assert (shown == mirror).all()


@SIZES
def test_memory_that_is_asked_for_can_be_written_to(size):
    a, _ = pair(size)
    a.local[1] = 11
    a.data[2] = 12
    numpy.from_dlpack(a)[3] = 13
    ctypes.cast(a.ctypes.data, ctypes.POINTER(ctypes.c_double))[4] = 14
    np.ndarray((size,), float, a)[5] = 15
    assert a[:6].tolist() == [0, 11, 12, 13, 14, 15]


@SIZES
def test_an_address_is_one_for_as_long_as_the_array_lives(size):
    a, mirror = pair(size)
    address = a.ctypes.data
    for turn in range(5):
        a += turn
        mirror += turn
        a[2:] = a[:-2] * 2
        mirror[2:] = mirror[:-2] * 2
        b = a * 2  # which may take memory that was left
        now = numpy.frombuffer((ctypes.c_double * size).from_address(address))
        assert (now == mirror).all()
        assert (numpy.array(b) == mirror * 2).all()
    assert a.ctypes.data == address


@SIZES
def test_the_interface_holds_the_memory_and_not_its_address(size):
    a, mirror = pair(size)
    keys = (), slice(3, None), slice(None, None, -2)
    shown = [numpy.asarray(Holder(a[key])) for key in keys]
    shown.append(numpy.asarray(Holder(a.reshape(10, -1).T)))
    a += 1
    mirror += 1
    for one, key in zip(shown, keys, strict=False):
        assert (one == mirror[key]).all()
        assert not one.flags.writeable
    assert (shown[-1] == mirror.reshape(10, -1).T).all()


@SIZES
def test_bytes(size):
    for a, mirror in (pair(size), (np.arange(size), numpy.arange(size))):
        assert bytes(a) == bytes(mirror)
        assert bytes(a[::2]) == bytes(mirror[::2])
        assert (np.frombuffer(a) == numpy.frombuffer(mirror)).all()
        assert hashlib.sha256(a.data).digest() == hashlib.sha256(mirror).digest()
        file = io.BytesIO()
        file.write(a.data)
        assert file.getvalue() == mirror.tobytes()


@BUFFERS
@SIZES
def test_buffers(size):
    a, mirror = pair(size)
    assert hashlib.sha256(a).digest() == hashlib.sha256(mirror).digest()
    assert bytearray(a) == bytearray(mirror)
    file = io.BytesIO(bytes(8 * size))
    assert file.readinto(a) == 8 * size  # which asks for a writable buffer
    assert not numpy.array(a).any()
    struct.pack_into("d", a, 8, 2.5)
    (ctypes.c_double * size).from_buffer(a.data)[2] = 3.5
    assert numpy.array(a)[:4].tolist() == [0, 2.5, 3.5, 0]


KEYS = [..., slice(3, 9), slice(None, None, -2), (slice(1, 3), None), 4, slice(0)]


@BUFFERS
@SIZES
def test_a_buffer_has_the_form_of_numpys(size):
    (a, b), (x, y) = [
        (m.arange(size).reshape(10, -1), m.asarray(m.arange(size * 1.0), "c8")) for m in (np, numpy)
    ]
    for ours, theirs in [(a.T, x.T), (b, y)] + [(a[key], x[key]) for key in KEYS]:
        view, mirror = memoryview(ours), memoryview(theirs)
        names = ("ndim", "shape", "strides", "itemsize", "nbytes", "format", "c_contiguous")
        for name in (*names, "f_contiguous", "contiguous", "suboffsets"):
            assert getattr(view, name) == getattr(mirror, name), name
        assert view.tobytes("A") == mirror.tobytes("A")
        assert view.obj is ours or not HAS_BUFFERS or native is None
        assert view.readonly  # numpy.asarray asks for the same: see lazy/export.py


@BUFFERS
@SIZES
def test_a_buffer_keeps_the_memory_where_it_is(size):
    a, mirror = pair(size)
    view, part = memoryview(a), memoryview(a)[3:7]
    alive = weakref.ref(a)
    a += 1  # in the memory that is shown
    assert view[3] == part[0] == mirror[3] + 1
    b = a * 2
    del a
    if native is not None:
        assert alive() is not None  # the buffer is its own
    gc.collect()
    others = [np.ones(size) * k for k in range(20)]  # which take over the memory that is free
    assert np.sum(others[3]) == 3 * size
    assert view.tolist() == (mirror + 1).tolist()
    view.release()
    assert part[1] == mirror[4] + 1
    part.release()
    gc.collect()
    assert alive() is None
    assert (b == (mirror + 1) * 2).all()


@BUFFERS
def test_the_array_is_recorded_again_once_its_buffers_are_released():
    a, _ = pair(50000)
    with memoryview(a) as view, memoryview(a):
        a += 1
        assert a._cell.held()
        assert view[0] == 1
    a += 1
    assert not a._cell.held()
    assert a[0] == 2


@BUFFERS
@SIZES
def test_what_may_not_be_written_to_has_no_writable_buffer(size):
    a, _ = pair(size)
    a.flags.writeable = False
    with pytest.raises((BufferError, TypeError, ValueError)):
        io.BytesIO(bytes(8)).readinto(a)
    with pytest.raises((BufferError, TypeError, ValueError)):
        (ctypes.c_char * 8).from_buffer(a)
    assert memoryview(a)[1] == 2
    with pytest.raises((BufferError, ValueError)):
        memoryview(np.zeros(size, "M8[s]"))


@BUFFERS
@SIZES
def test_threads_take_and_release_buffers(size):
    a = np.ones(size) * 2
    sums, failures = [], []

    def reads():
        try:
            for _ in range(30):
                with memoryview(a) as view:
                    sums.append(sum(view[:4]))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=reads) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sums == [8.0] * 120
    a += 1
    assert memoryview(a)[size - 1] == 3


@pytest.mark.parametrize(
    "dtype",
    [
        numpy.dtype([("x", "i1"), ("y", "f8")], align=True),
        numpy.dtype({"names": ["x", "y"], "formats": ["i4", "f8"], "offsets": [8, 0]}),
        numpy.dtype([(("title", "x"), "f8")]),
        numpy.dtype([("x", "M8[s]"), ("y", "U3", (2, 2))]),
        numpy.dtype("V3"),
        numpy.dtype(">i4"),
    ],
    ids=str,
)
@SIZES
def test_conversions_keep_all_that_a_dtype_says(dtype, size):
    mirror = numpy.zeros(size, dtype)
    shown = numpy.asarray(np.asarray(mirror)[1:])
    assert shown.dtype == dtype
    assert shown.dtype.isalignedstruct == dtype.isalignedstruct
    assert shown.dtype.metadata == dtype.metadata
    if (
        HAS_BUFFERS
        and not dtype.hasobject
        and "M8" not in str(dtype)
        and "offsets" not in str(dtype)
    ):
        file = io.BytesIO()
        file.write(np.asarray(mirror))  # which does not ask for a format
        assert file.getvalue() == mirror.tobytes()


@SIZES
@pytest.mark.parametrize("dtype", ["f8", "O", [("x", "i1"), ("y", "f8")]], ids=str)
def test_metadata_of_a_dtype_stays_with_its_array(dtype, size):
    said = numpy.dtype(dtype, metadata={"vlen": str})
    before = np.zeros(size, said), np.asarray(numpy.zeros(size, said)), np.zeros(size, said)[1:]
    for b in (np.zeros(size, dtype), np.asarray(numpy.zeros(size, dtype))):
        assert b.dtype.metadata is b[1:].dtype.metadata is numpy.asarray(b).dtype.metadata is None
    assert all(b.dtype == dtype for b in before)


@pytest.mark.ranks(2)
def test_a_divided_array_has_no_address_to_write_to(rank, size):
    a = np.arange(50.0) * 2
    kind = np.ctypeslib.ndpointer("f8")
    for use in (lambda: a.ctypes, lambda: kind.from_param(a), lambda: np.ctypeslib.as_ctypes(a)):
        with pytest.raises(BufferError, match=r"\(50,\) that is distributed over ranks.*a\.local"):
            use()
    assert a.local.ctypes.data == kind.from_param(a.local).data


@pytest.mark.ranks(2)
def test_a_divided_array_has_a_buffer_for_reading(rank, size):
    a = np.arange(50.0) * 2
    if not HAS_BUFFERS:
        return
    assert memoryview(a).tolist() == (numpy.arange(50.0) * 2).tolist()
    with pytest.raises(BufferError, match=r"\(50,\) that is distributed over ranks.*a\.local"):
        ctypes.pythonapi.PyObject_GetBuffer(
            ctypes.py_object(a), ctypes.create_string_buffer(200), 1
        )  # PyBUF_WRITABLE


@pytest.mark.ranks(1, 2)
def test_divided_arrays_are_shown_alike(rank, size):
    a = np.arange(50.0) * 2
    assert not numpy.asarray(a).flags.writeable
    assert (numpy.require(a, requirements="W") == numpy.arange(50.0) * 2).all()
    assert bytes(a) == bytes(numpy.arange(50.0) * 2)
    assert (numpy.asarray(Holder(a)) == numpy.arange(50.0) * 2).all()
