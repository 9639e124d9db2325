"""Sounds, series, curves through points."""

from __future__ import annotations

from typing import Any

from .program import program


@program(smoke=4000, small=10000, medium=100000, large=3000000)
def spectrogram(np: Any, n: int) -> Any:
    """The spectrum of a sound as it changes."""
    t = np.arange(n) / 8000
    sound = np.sin(2 * np.pi * (440 + 200 * t) * t) + 0.3 * np.sin(2 * np.pi * 1000 * t)
    window = np.hanning(512)
    frames = np.lib.stride_tricks.sliding_window_view(sound, 512)[::128]
    spectrum = np.abs(np.fft.rfft(frames * window, axis=1)) ** 2
    level = 10 * np.log10(spectrum + 1e-12)
    loudest = spectrum.argmax(axis=1)
    return level, loudest


@program(smoke=100, small=200, medium=1000, large=4000)
def interpolate(np: Any, n: int) -> Any:
    """A cubic spline through points, looked up at many others."""
    x = np.sort(np.random.default_rng(1).random(n)) + 0.01 * np.arange(n)
    y = np.sin(x)
    h = np.diff(x)
    A = np.zeros((n, n))
    inner = np.arange(1, n - 1)
    A[inner, inner - 1] = h[:-1]
    A[inner, inner] = 2 * (h[:-1] + h[1:])
    A[inner, inner + 1] = h[1:]
    A[0, 0] = A[-1, -1] = 1
    slope = np.diff(y) / h
    right = np.zeros(n)
    right[1:-1] = 6 * np.diff(slope)
    m = np.zeros(n)
    # the matrix is only there to be multiplied with; twenty sweeps of Jacobi find the moments
    diagonal = A.diagonal()
    for _ in range(20):
        m = m + (right - A @ m) / diagonal
    at = np.linspace(x[0], x[-1], 20 * n)
    k = np.clip(np.searchsorted(x, at) - 1, 0, n - 2)
    a, b = x[k + 1] - at, at - x[k]
    spline = (m[k] * a**3 + m[k + 1] * b**3) / (6 * h[k]) + (
        (y[k] / h[k] - m[k] * h[k] / 6) * a + (y[k + 1] / h[k] - m[k + 1] * h[k] / 6) * b
    )
    return spline, np.interp(at, x, y)


@program(smoke=200, small=1000, medium=10000, large=60000)
def series(np: Any, n: int) -> Any:
    """A noisy series: smoothed, differenced, correlated with itself, its peaks counted."""
    generator = np.random.default_rng(2)
    t = np.arange(n)
    y = np.sin(t / 20) + 0.3 * np.sin(t / 3) + 0.2 * generator.standard_normal(n)
    smooth = np.convolve(y, np.ones(15) / 15, mode="same")
    peaks = np.where((smooth[1:-1] > smooth[:-2]) & (smooth[1:-1] > smooth[2:]))[0] + 1
    centred = y - y.mean()
    lags = np.array([np.dot(centred[: n - k], centred[k:]) for k in range(200)])
    trend = np.polyfit(t, y, 3)
    power = np.abs(np.fft.rfft(centred)) ** 2
    ema = np.empty(n)
    ema[0] = y[0]
    for k in range(1, n):
        ema[k] = 0.9 * ema[k - 1] + 0.1 * y[k]
    return peaks, lags / lags[0], np.polyval(trend, t), power.argmax(), ema


@program(smoke=50, small=500, medium=5000, large=65536)
def fit(np: Any, n: int) -> Any:
    """A curve with four numbers fitted by Levenberg and Marquardt."""
    generator = np.random.default_rng(3)
    x = np.linspace(0, 10, n)
    y = 2.5 * np.exp(-0.3 * x) * np.cos(2.0 * x + 0.5) + 0.05 * generator.standard_normal(n)
    p = np.array([2.0, 0.2, 1.9, 0.3])

    def model(p: Any) -> Any:
        return p[0] * np.exp(-p[1] * x) * np.cos(p[2] * x + p[3])

    damping = 1e-2
    cost = ((y - model(p)) ** 2).sum()
    for _ in range(50):
        J = np.empty((n, 4))
        for k in range(4):
            step = np.zeros(4)
            step[k] = 1e-6
            J[:, k] = (model(p + step) - model(p - step)) / 2e-6
        r = y - model(p)
        A = J.T @ J
        delta = np.linalg.solve(A + damping * np.diag(np.diag(A)), J.T @ r)
        new = ((y - model(p + delta)) ** 2).sum()
        if new < cost:
            p, cost, damping = p + delta, new, damping / 3
        else:
            damping *= 2
    return p, cost


@program(smoke=30, small=60, medium=200, large=800)
def tomography(np: Any, n: int) -> Any:
    """Shadows of a disc from all sides, filtered and smeared back."""
    y, x = np.mgrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j]
    at = np.linspace(-1, 1, n)
    angles = np.linspace(0, np.pi, 60, endpoint=False)
    ramp = np.abs(np.fft.fftfreq(n))
    total = np.zeros((n, n))
    for angle in angles:
        centre = 0.3 * np.cos(angle)
        inside = np.maximum(0.16 - (at - centre) ** 2, 0)
        shadow = 2 * np.sqrt(inside)
        filtered = np.real(np.fft.ifft(np.fft.fft(shadow) * ramp))
        where = x * np.cos(angle) + y * np.sin(angle)
        total += np.interp(where, at, filtered)
    return total * np.pi / 60
