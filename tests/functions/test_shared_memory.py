"""The memory that other libraries are shown: they read it, and write only into what they were asked to."""

from __future__ import annotations

import ctypes
import hashlib
import io
import sys

import numpy
import pytest

import atoll as np

SIZES = pytest.mark.parametrize("size", [50, 50000])  # a small array, and one that is recorded
NEWER = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="Python classes have no buffers before 3.12"
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


@NEWER
@SIZES
def test_buffers(size):
    a, mirror = pair(size)
    assert memoryview(a).tolist() == mirror.tolist()
    assert memoryview(a).readonly
    assert hashlib.sha256(a).digest() == hashlib.sha256(mirror).digest()
    file = io.BytesIO(bytes(8 * size))
    assert file.readinto(a) == 8 * size  # which asks for a writable buffer
    assert not numpy.array(a).any()


@pytest.mark.ranks(1, 2)
def test_divided_arrays_are_shown_alike(rank, size):
    a = np.arange(50.0) * 2
    assert not numpy.asarray(a).flags.writeable
    assert (numpy.require(a, requirements="W") == numpy.arange(50.0) * 2).all()
    assert bytes(a) == bytes(numpy.arange(50.0) * 2)
    assert (numpy.asarray(Holder(a)) == numpy.arange(50.0) * 2).all()
