"""Geometries are integers: those that NumPy finds for arrays in memory. Equal ones are interned, different ones never are."""

import subprocess
import sys

import numpy as np
import pytest

from atoll.graph.geometry import Geometry, dense

PROGRAM = """
import numpy as np
from atoll.graph.geometry import dense

kind = np.dtype(float)
bases = [dense((7, 5), kind), dense((6, 5), kind), dense((5, 7), kind)]
lines = [dense((n,), kind) for n in (35, 30)]
views = [base.derived("ravel", lambda s: s.reshape(-1)) for base in bases]
assert all(view.base is base for view, base in zip(views, bases)), "a view was taken for a base"
assert all(line.is_base for line in lines)
"""
KINDS = [np.dtype(kind) for kind in ("f8", "i2", "c16", "S3", [("x", "f4"), ("y", "i8", 2)])]
HUGE = [sys.maxsize, -sys.maxsize - 1, 1 << 80, -(1 << 80), (1 << 61) + 1]


def test_views_of_the_first_bases_of_a_process_are_no_bases():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=50)


def item_for(random, n):
    """A number, slice, ``None`` or ``Ellipsis`` for an axis of length ``n``, sometimes one that NumPy refuses."""
    bound = lambda: random.choice([None, int(random.integers(-n - 3, n + 4))])  # noqa: E731
    step = random.choice([None, -3, -2, -1, 1, 2, 5])
    if random.random() < 0.03:
        step = HUGE[random.integers(len(HUGE))]
    which = random.random()
    if which < 0.55:
        return slice(bound(), bound() if random.random() < 0.9 else HUGE[0], step)
    if which < 0.8:
        return int(random.integers(-n, n)) if n and random.random() < 0.9 else n + 1
    if which < 0.82:
        return HUGE[random.integers(len(HUGE))]
    return None if which < 0.92 else Ellipsis


def outcome(take, *args):
    """What a function gives, or the class and text of its error."""
    try:
        return take(*args)
    except (IndexError, ValueError, TypeError, OverflowError) as error:
        return type(error), str(error)


VIEWS = [
    lambda s: s.T,
    lambda s: s.swapaxes(0, -1),
    lambda s: np.reshape(s, -1, copy=False),
    lambda s: np.reshape(s, (*s.shape[::-1], 1), copy=False),
    lambda s: np.broadcast_to(s, (2, *s.shape)),
    lambda s: np.broadcast_arrays(s, np.empty((3, *s.shape)))[0],
    lambda s: s.diagonal(1),
    lambda s: s.real,
    lambda s: s.imag if s.dtype.kind == "c" else s,
    lambda s: s["y"] if s.dtype.names else s,
    lambda s: s.view("V1"),
    lambda s: np.lib.stride_tricks.sliding_window_view(s, 2, 0),
    lambda s: np.expand_dims(s, 0),
    lambda s: np.flip(s) if s.ndim else s,
    np.rot90,
    np.squeeze,
]


def agree(view: Geometry, array, memory):
    """True if a geometry has the integers of an array in memory, and its flags."""
    offset = array.__array_interface__["data"][0] - memory.ctypes.data if array.size else 0
    own = (view.shape, view.strides, view.offset, view.dtype, view.size, view.ndim, view.nbytes)
    assert own == (
        array.shape,
        array.strides,
        offset,
        array.dtype,
        array.size,
        array.ndim,
        array.nbytes,
    )
    assert all(type(number) is int for number in view.integers)
    flags = array.flags
    assert view.warns == bool(flags.num & 1 << 31)
    assert view.warns or view.writeable == flags.writeable
    assert (view.c_contiguous, view.f_contiguous) == (flags.c_contiguous, flags.f_contiguous)
    assert view.shadow.flags.num & ~4 == flags.num & ~4  # but for who owns the memory


@pytest.mark.parametrize("seed", range(40))
def test_views_are_those_of_numpy(seed):
    random = np.random.default_rng(seed)
    for _ in range(25):
        shape = tuple(map(int, random.integers(0, 6, random.integers(0, 5))))
        kind = KINDS[random.integers(len(KINDS))]
        order = tuple(map(int, random.permutation(len(shape))))
        base = dense(shape, kind, order)
        memory = np.ndarray([shape[axis] for axis in order], kind, bytearray(base.nbytes + 1))
        array, view = memory.transpose(np.argsort(order)), base
        for _ in range(6):
            agree(view, array, memory)
            if random.random() < 0.3:
                make = VIEWS[random.integers(len(VIEWS))]
                wanted = outcome(make, array)
                found = outcome(view.derived, make, make)
                if isinstance(wanted, np.ndarray) and not np.may_share_memory(wanted, array):
                    break
            else:
                key = tuple(
                    [
                        item_for(random, shape[k % len(shape)] if shape else 2)
                        for k in range(random.integers(0, 5))
                    ]
                )
                whole = key if any(item is Ellipsis for item in key) else (*key, ...)
                wanted = outcome(array.__getitem__, whole)
                found = outcome(view.index, key)
            if not isinstance(wanted, np.ndarray):
                assert found == wanted
                break
            array, view = wanted, found
            assert view.base is base


@pytest.mark.parametrize("item", [slice(None, None, 0), slice("a", None), slice(1.0, 5.0)])
def test_slices_that_numpy_refuses(item):
    wanted = outcome(lambda: np.empty((2, 3))[:, item])
    assert outcome(lambda: dense((2, 3), np.dtype(float)).index((slice(None), item))) == wanted


def test_axes_beyond_those_of_numpy():
    base = dense((2, 3), np.dtype(float))
    assert base.index((None,) * 62).ndim == 64
    wanted = outcome(np.empty((2, 3)).__getitem__, (None,) * 63)
    assert outcome(base.index, (None,) * 63) == wanted


@pytest.mark.parametrize("shape", [(-1,), (1 << 40, 1 << 40), (0, 1 << 62), (1,) * 65])
def test_shapes_that_numpy_refuses(shape):
    wanted = outcome(lambda: np.empty(shape).shape)
    assert outcome(lambda: dense(shape, np.dtype(float)).shape) == wanted
