"""Signals and systems: submodules, masked and structured arrays, polynomials, functions of functions."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import atoll as np
import atoll.linalg as la
import atoll.ma as ma
from atoll.fft import fftfreq, irfft, rfft
from atoll.lib.stride_tricks import sliding_window_view
from atoll.polynomial import Polynomial
from atoll.polynomial.chebyshev import chebval
from atoll.random import Generator, default_rng
from atoll.testing import assert_allclose
from atoll.typing import ArrayLike, DTypeLike, NDArray

Signal = NDArray[np.float64]
Window = Literal["hann", "flat"]


def window(kind: Window, n: int) -> Signal:
    return np.hanning(n) if kind == "hann" else np.ones(n)


def spectrum(signal: Signal, kind: Window = "hann") -> NDArray[np.complex128]:
    return rfft(signal * window(kind, signal.size))


def moving(signal: Signal, width: int, how: Callable[..., Any] = np.mean) -> Signal:
    result: Signal = how(sliding_window_view(signal, width), axis=-1)
    return result


def noisy(
    generator: Generator, shape: int | tuple[int, ...], dtype: DTypeLike = np.float64
) -> NDArray[Any]:
    return generator.standard_normal(shape).astype(dtype)


def solve_all(matrices: Sequence[Signal], right: ArrayLike) -> list[NDArray[np.floating]]:
    return [la.solve(matrix, np.asarray(right, float)) for matrix in matrices]


def first_above(signal: Signal, limit: float) -> int | None:
    (places,) = np.nonzero(signal > limit)
    return int(places[0]) if places.size else None


def accumulate(operation: np.ufunc, values: ArrayLike) -> NDArray[Any]:
    return np.asarray(operation.accumulate(np.asarray(values)))


def main() -> None:
    generator = default_rng(2)
    t = np.arange(256) / 256
    signal = np.sin(2 * np.pi * 8 * t) + 0.01 * noisy(generator, 256)
    peak = np.argmax(np.abs(spectrum(signal)))
    assert fftfreq(256, 1 / 256)[peak] == 8
    assert_allclose(irfft(rfft(signal)), signal, atol=1e-12)
    assert moving(signal, 5).shape == (252,)
    assert [x.tolist() for x in solve_all([np.eye(2), 2 * np.eye(2)], [2, 4])] == [[2, 4], [1, 2]]
    assert first_above(np.array([0.0, 2.0, 3.0]), 1) == 1
    assert accumulate(np.multiply, [1, 2, 3]).tolist() == [1, 2, 6]
    values, vectors = la.eigh(np.diag([1.0, 2.0]))
    assert values.shape == vectors.shape[:1]
    u, s, vh = la.svd(np.eye(3))
    assert (u * s @ vh).shape == (3, 3)
    masked = ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
    assert masked.mean() == 2
    assert Polynomial([1, 2])(3) == 7
    assert chebval(0.5, [1, 2]) == 2
    points = np.zeros(3, dtype=[("x", np.float64), ("y", np.float64)])
    points["x"] = [1, 2, 3]
    assert points["x"].sum() == 6
    i, j = np.meshgrid(np.arange(3), np.arange(4), indexing="ij")
    assert np.where(i > j, i, j).max() == 3
    for k, row in enumerate(np.identity(2)):
        assert row[k] == 1
    with np.errstate(divide="ignore"):
        assert np.isinf(np.divide(1.0, 0.0))
    with TemporaryDirectory() as folder:
        np.savez(Path(folder) / "all.npz", t=t, signal=signal)
        with np.load(Path(folder) / "all.npz") as stored:
            assert stored["t"].shape == (256,)
        np.savetxt(Path(folder) / "t.txt", t)
        assert np.loadtxt(Path(folder) / "t.txt").size == 256
    print(signal[:3], file=sys.stderr)


if __name__ == "__main__":
    main()
