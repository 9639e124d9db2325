"""Fourier transforms of arrays on ranks: the bits of NumPy, in slabs and pencils, and lines of any length."""

import numpy as np
import pytest

import atoll
from atoll import Layout
from atoll.collective.transforms import with_whole
from atoll.config import config
from atoll.layout import transfer

from .distributions import normal, put, same

COMPLEX = normal((12, 9, 10)) + 1j * normal((12, 9, 10))[::-1]
CALLS = {
    "fftn": lambda np, a: np.fft.fftn(a),
    "ifft2": lambda np, a: np.fft.ifft2(a, norm="ortho"),
    "rfftn": lambda np, a: np.fft.rfftn(a.real, axes=(1, 2, 0)),
    "irfftn": lambda np, a: np.fft.irfftn(a, (8, -1, 13), (0, 1, 2)),
    "twice": lambda np, a: np.fft.fftn(a, axes=(1, 0, 1)),
    "single": lambda np, a: np.fft.fft(a.real.astype(np.float32), 7, 0),
    "there and back": lambda np, a: np.fft.ifftn(np.fft.fftn(a) * 2),
    "long double": lambda np, a: np.fft.fft(a.astype(np.clongdouble), axis=1),
}


@pytest.mark.simulated(1, 6)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", ["bnn", "nbn", "bbb", "nbc", "cnn"])
def test_axes_have_the_bits_of_numpy(maps, size):
    for call in CALLS.values():
        expected = call(np, COMPLEX)
        ours = call(atoll, put(COMPLEX, maps, size))
        assert ours.dtype == expected.dtype
        same(ours, expected, 0)
    same(
        atoll.fft.fft(put(COMPLEX, maps, size)[::2, :, 3:], axis=0),
        np.fft.fft(COMPLEX[::2, :, 3:], axis=0),
        0,
    )


@pytest.mark.simulated(3)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("length", [97, 211, 210])
@pytest.mark.parametrize("dtype", [float, np.complex64])
def test_lines_of_any_length_are_shared(length, dtype, size):
    whole = normal((length,)).astype(dtype)
    tolerance = 1e-5 if dtype is np.complex64 else 1e-12
    with config(small=0):
        ours = put(whole, "b", size)
        for call in (
            lambda np, a: np.fft.fft(a),
            lambda np, a: np.fft.ifft(a, norm="ortho"),
            lambda np, a: np.fft.rfft(a.real, length - 3),
            lambda np, a: np.fft.irfft(a, length),
        ):
            before = atoll.stats().gathered
            found, expected = call(atoll, ours), call(np, whole)
            atoll.sync()
            assert atoll.stats().gathered == before
            assert found.dtype == expected.dtype
            assert abs(np.asarray(found) - expected).max() < tolerance * abs(expected).max()


def test_ranks_of_a_pencil_exchange_with_their_line_of_the_grid():
    layout = Layout((640, 640, 640), "bbn", grid=(20, 30, 1), size=600)
    for axis, partners in ((0, 20), (1, 30)):
        whole = with_whole(layout, axis)
        assert whole.axes[axis].is_undistributed
        for rank in (0, 77, 599):
            assert whole.local_size(rank) <= 1.2 * 640**3 / 600
            assert len(transfer(layout, whole, rank).sends) <= partners
    slabs = with_whole(Layout((8, 640, 640), "bnn", grid=(8, 1, 1), size=8), 0)
    assert slabs.grid == (1, 8, 1)
    assert with_whole(Layout.default((4, 600), 16), 0).grid == (1, 16)
    assert with_whole(Layout((4, 600), "nb", size=16), 1) is None
