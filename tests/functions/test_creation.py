"""Arrays from nothing, from numbers, and from others."""

from __future__ import annotations

import pytest

import atoll as np

from .oracle import SMALL, check_line, lines

CALLS = """
r = np.zeros(5)
r = np.zeros((2, 3), 'i4')
r = np.zeros((2, 3), order='F')
r = np.ones((2,), bool)
r = np.full((2, 3), 7)
r = np.full(3, 1.5, 'f4')
r = np.full((2, 2), [1, 2])
r = np.zeros(-1)
r = np.zeros((2, 'a'))
r = np.zeros(())
r = np.ones(3, 'S2')
r = np.zeros(3, object)
r = np.full((2,), 'x')
r = np.arange(5)
r = np.arange(2, 9)
r = np.arange(2, 9, 3)
r = np.arange(9, 2, -2)
r = np.arange(0, 1, 0.1)
r = np.arange(5.0)
r = np.arange(5, dtype='f4')
r = np.arange(0)
r = np.arange(5, 0)
r = np.arange(start=1, stop=5)
r = np.arange(5, step=2)
r = np.arange(np.float32(0.5), 5)
r = np.arange(1, 5, dtype='u1')
r = np.arange(1, 2, 0)
r = np.arange(3j)
r = np.arange('2000-01', '2000-05', dtype='M8[M]')
r = np.arange(2, dtype=bool)
r = np.arange(np.int8(3))
r = np.arange()
r = np.arange(1, 10, 2, 'f4')
r = np.arange(0.5, 10, 0.3, dtype=int)
r = np.arange(2 ** 62, 2 ** 62 + 4)
r = np.arange(0, 1, 0.1, dtype='f4')
r = np.linspace(0, 1, 11)
r = np.linspace(0, 1, 11, endpoint=False)
r = np.linspace(0, 1, 5, retstep=True)
r = np.linspace(2, 2, 4)
r = np.linspace(0, 10, 5, dtype=int)
r = np.linspace([0, 1], [2, 3], 4)
r = np.linspace(0, 1, 0)
r = np.linspace(0, 1, 1)
r = np.linspace(0, 1j, 4)
r = np.linspace(5, -3, 7)
r = np.eye(3)
r = np.eye(3, 4, 1)
r = np.eye(3, 4, -1, int)
r = np.eye(3, k=7)
r = np.identity(3)
r = np.tri(3)
r = np.tri(3, 5, 1)
r = np.tri(4, 3, -2, 'i4')
r = np.indices((2, 3))
r = np.indices((2, 3), sparse=True)
r = np.indices((2,), 'f8')
r = np.fromfunction(lambda i, j: i * 10 + j, (3, 4))
r = np.fromfunction(lambda i: i == 2, (5,), dtype=int)
r = np.meshgrid(np.arange(3), np.arange(4))
r = np.meshgrid([1, 2], [3.0, 4, 5], indexing='ij', sparse=True)
r = np.meshgrid([1, 2], [3.0, 4, 5], [1, 1], copy=False)
r = np.mgrid[0:3, 0:4:2]
r = np.ogrid[0:3, 0:4:2]
r = np.mgrid[0:1:5j]
r = np.mgrid[0:1:5j, 2:3:0.25]
r = np.mgrid[5:0:-1, 0:4, 1:2:3j]
r = np.mgrid[0:4, 2:2]
r = np.mgrid[2:9:2]
r = np.mgrid[2:9:2,]
r = np.mgrid[:]
r = np.mgrid[1:'a', 0:3]
r = np.mgrid[np.float32(0):np.float32(3), 0:4]
r = np.ogrid[2:9:0.5]
r = np.ogrid[0:3, 0:2:4j]
r = np.logspace(0, 2, 5)
r = np.geomspace(1, 100, 3)
r = np.vander([1, 2, 3])
r = np.r_[1:3, 5, np.arange(3)]
r = np.c_[np.arange(3), np.arange(3)]
r = np.array([[1, 2], [3, 4]])
r = np.array([1, 2], ndmin=3)
r = np.array(3)
r = np.array([1, 'a'])
r = np.array([[1], [2, 3]])
r = np.array([np.arange(3), np.ones(3)])
r = np.array((np.float64(3), 2))
r = np.array(np.arange(3), dtype='f4', copy=True)
r = np.asarray(np.arange(3), dtype=complex)
r = np.array([np.arange(3).sum(), 1])
r = np.ascontiguousarray(np.arange(6).reshape(2, 3).T)
r = np.asfortranarray(np.arange(6).reshape(2, 3))
r = np.empty((2, 0))
r = np.hanning(5)
r = np.tril_indices(3)
r = np.diag_indices(3)
r = np.ix_([1, 2], [3])
r = np.frombuffer(b'abcd', 'u1')
r = np.fromiter(range(4), float)
r = np.fromstring('1 2', sep=' ')
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("line", lines(CALLS))
def test_calls(line: str, small: int) -> None:
    check_line(line, small=small, ulps=4)


def test_arange_refuses_what_numpy_refuses():
    for _ in range(4):
        with pytest.raises(TypeError, match="bogus"):
            np.arange(40_000, bogus=1)
        assert np.arange(40_000, device="cpu").shape == (40_000,)
