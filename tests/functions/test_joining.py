"""Arrays side by side, repeated, rolled and padded."""

from __future__ import annotations

import numpy
import pytest

import atoll
from atoll.config import config

from .oracle import SMALL, arrays, check_line, lines

JOINS = """
r = np.array_split(a, 3)
r = np.split(a, 2)
r = np.split(a, [1, 3], axis=-1)
r = np.hsplit(a, 1)
r = np.vsplit(a, 2)
r = np.vstack([a, a])
r = np.hstack([a, a])
r = np.dstack([a, a])
r = np.column_stack([a, a])
r = np.stack([a, a], 1)
r = np.stack([a, a], axis=-1)
r = np.stack([a, a], axis=5)
r = np.concatenate([a, a.astype('f4')])
r = np.concatenate([a, a], axis=None)
r = np.concatenate([a, a[0]])
r = np.concatenate([a, a[1:]], axis=1)
r = np.concatenate([])
r = np.concatenate([a.T, a.T])
r = np.concatenate((a, a), dtype='c16')
r = np.concatenate([a * 1j, a[1:]], axis=1, dtype='f8')
r = np.concatenate([a, a], axis=5, dtype='i4')
r = np.concatenate([a * 1j, a[1:]], axis=None, dtype='f8')
r = np.concatenate((a, a), axis=0, out=np.empty((2 * a.shape[0],) + a.shape[1:]))
r = np.concatenate((a, a), axis=0, out=np.empty(3, 'i4'))
r = np.concatenate((a, a), axis=-1, out=np.empty(a.shape, 'i4'))
r = np.block([[a, a], [a, a]])
r = np.roll(a, 1)
r = np.roll(a, (1, 2), (0, 1))
r = np.roll(a, -3, axis=1)
r = np.roll(a, 2, 0)
r = np.roll(a.T, -1, -1)
r = np.roll(a[::-2], 7, axis=0)
r = np.roll(a[:0], 3)
r = np.roll(a, 3, 5)
r = np.roll(a, -(2**40), axis=0)
r = np.roll(a, 1, axis=None)
r = np.roll(a, shift=1, axis=0)
r = np.roll(a, True, 0)
r = np.roll(a, 1.5, 0)
r = np.roll(a.astype('U3'), 1)
r = np.roll(a.astype(object), 1)
r = np.roll(a.astype('c16'), 2)
r = np.tile(a, 2)
r = np.tile(a, (2, 2))
r = np.repeat(a, 2)
r = np.repeat(a, 2, axis=0)
r = np.repeat(a, [1, 2] * (a.shape[0] // 2), axis=0)
r = np.pad(a, 1)
r = np.pad(a, ((1, 2),) * a.ndim, constant_values=3)
r = np.pad(a, 1, mode='edge')
r = np.pad(a, 1, 'wrap')
r = np.pad(a.T, ((2, 1), (0, 1))[:1] if a.ndim == 1 else ((2, 1), (0, 1)), 'wrap')
r = np.pad(a, 2, 'edge')
r = np.pad(a, ((0, 2),) * a.ndim, 'reflect')
r = np.pad(a, (2, 1), 'symmetric')
r = np.pad(a, 9, 'wrap')
r = np.pad(a, 1, 'reflect', reflect_type='odd')
r = np.pad(a[::-1], 1, 'symmetric')
r = np.pad(a, 2, 'constant', constant_values=(1, 2))
r = np.append(a, 3)
r = np.insert(a, 1, 5)
r = np.delete(a, 0, 0)
r = np.trim_zeros(a[0])
r = np.resize(a, (3, 3))
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", ["f", "fortran"])
@pytest.mark.parametrize("line", lines(JOINS))
def test_joins(line: str, name: str, small: int) -> None:
    check_line(line, arrays[name], small=small, ulps=0)


@pytest.mark.parametrize(
    "join",
    [
        lambda a: atoll.roll(a, 5, axis=0) + 1,
        lambda a: atoll.concatenate([a, a * 2, a[:3]]),
        lambda a: atoll.stack([a, a + 1]),
    ],
)
def test_a_new_array_is_put_together_in_one_pass(join) -> None:
    """Its pieces go where they belong: there is one buffer, and nothing is filled before."""
    with config(small=0):
        a = atoll.arange(60_000.0).reshape(200, 300) + 0
        atoll.sync()
        before = atoll.stats()
        b = join(a)
        atoll.sync()
        after = atoll.stats()
    assert after.created + after.reused - before.created - before.reused == 1
    assert b.shape[-1] == 300


@pytest.mark.parametrize("small", [0, 30_000])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (200, 201), (2, 3, 4)])
def test_rolls_along_one_axis(small, shape):
    plain = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    with config(small=small):
        a = atoll.arange(float(numpy.prod(shape))).reshape(shape)
        for by in (0, 1, -1, 3, 1000, -1001):
            for axis in range(-len(shape), len(shape)):
                found = atoll.roll(a, by, axis)
                numpy.testing.assert_array_equal(numpy.array(found), numpy.roll(plain, by, axis))
                view = atoll.roll(a[..., ::-1], by, axis)
                expected = numpy.roll(plain[..., ::-1], by, axis)
                numpy.testing.assert_array_equal(numpy.array(view), expected)
        numpy.testing.assert_array_equal(numpy.array(atoll.roll(a, 2)), numpy.roll(plain, 2))
        with pytest.raises(ValueError, match="out of bounds"):
            atoll.roll(a, 1, len(shape))


def test_rolls_are_recorded_without_numpy_and_fuse_with_what_reads_them():
    a = atoll.ones((300, 300))
    float(
        (a + 1).sum()
    )  # under the filters of warnings of this test, which are noticed where an operation is recorded
    atoll.sync()
    before = atoll.stats()
    b = atoll.roll(a, 1, 0) + atoll.roll(a, -1, 1) - a
    float(b.sum())
    after = atoll.stats()
    assert after.plans_made - before.plans_made <= 1
    atoll.roll(b, 1, 0)[0] = 5  # a copy
    assert float(b[0, 0]) == 1.0
