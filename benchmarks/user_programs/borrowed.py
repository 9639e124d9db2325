"""Programs whose arrays come from elsewhere: what was loaded, read from bytes, or made by another library."""

from __future__ import annotations

from typing import Any

import numpy

from .program import form, program


def heights(np: Any, n: int) -> tuple[Any, ...]:
    """A map as NumPy has it, whoever asks."""
    return (numpy.random.default_rng(91).random((n, n)),)


def market(np: Any, n: int) -> tuple[Any, ...]:
    """Three columns of a file."""
    random = numpy.random.default_rng(92)
    return random.uniform(5, 30, n), random.uniform(1, 100, n), random.uniform(0.25, 10, n)


def recorded(np: Any, n: int) -> tuple[Any, ...]:
    """Samples as bytes."""
    return (numpy.random.default_rng(93).integers(-30000, 30000, n).astype(numpy.int16).tobytes(),)


@program(smoke=16, small=100, medium=500, large=2000, data=heights, borrowed=True)
def star_stencil(np: Any, loaded: Any) -> Any:
    """A star of radius two over a map that was loaded."""
    a = np.asarray(loaded)
    b = np.zeros(a.shape)
    for _ in range(10):
        b[2:-2, 2:-2] += (
            0.125 * (a[4:, 2:-2] - a[:-4, 2:-2])
            + 0.25 * (a[3:-1, 2:-2] - a[1:-3, 2:-2])
            + 0.125 * (a[2:-2, 4:] - a[2:-2, :-4])
            + 0.25 * (a[2:-2, 3:-1] - a[2:-2, 1:-3])
        )
        a += 1
    return b


@form(star_stencil, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(a: Any) -> Any:
        n, m = a.shape
        b = np.zeros((n, m))
        for _ in range(10):
            for i in numba.prange(2, n - 2):
                for j in range(2, m - 2):
                    b[i, j] += (
                        0.125 * (a[i + 2, j] - a[i - 2, j]) + 0.25 * (a[i + 1, j] - a[i - 1, j])
                        + 0.125 * (a[i, j + 2] - a[i, j - 2]) + 0.25 * (a[i, j + 1] - a[i, j - 1])
                    )  # fmt: skip
            for i in numba.prange(n):
                for j in range(m):
                    a[i, j] += 1
        return b

    return compiled


@form(star_stencil, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(a: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            a, b = state
            new = (
                0.125 * (a[4:, 2:-2] - a[:-4, 2:-2])
                + 0.25 * (a[3:-1, 2:-2] - a[1:-3, 2:-2])
                + 0.125 * (a[2:-2, 4:] - a[2:-2, :-4])
                + 0.25 * (a[2:-2, 3:-1] - a[2:-2, 1:-3])
            )
            return a + 1, b.at[2:-2, 2:-2].add(new)

        return jax.lax.fori_loop(0, 10, step, (a, np.zeros_like(a)))[1]

    return compiled


@program(smoke=100, small=10_000, medium=200_000, large=2_000_000, data=market, borrowed=True)
def option_file(np: Any, s: Any, k: Any, t: Any) -> Any:
    """The prices of options whose columns were read from a file."""
    s, k, t = np.asarray(s), np.asarray(k), np.asarray(t)

    def normal(d: Any) -> Any:
        x = 1 / (1 + 0.2316419 * np.abs(d))
        poly = x * (
            0.31938153
            + x * (-0.356563782 + x * (1.781477937 + x * (-1.821255978 + x * 1.330274429)))
        )
        tail = 0.3989422804014327 * np.exp(-0.5 * d * d) * poly
        return np.where(d > 0, 1 - tail, tail)

    spread = 0.3 * np.sqrt(t)
    d1 = (np.log(s / k) + (0.02 + 0.045) * t) / spread
    d2 = d1 - spread
    rest = k * np.exp(-0.02 * t)
    return s * normal(d1) - rest * normal(d2), rest * normal(-d2) - s * normal(-d1)


@form(option_file, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit
    def normal(d: float) -> float:
        x = 1 / (1 + 0.2316419 * abs(d))
        poly = x * (
            0.31938153
            + x * (-0.356563782 + x * (1.781477937 + x * (-1.821255978 + x * 1.330274429)))
        )
        tail = 0.3989422804014327 * np.exp(-0.5 * d * d) * poly
        return 1 - tail if d > 0 else tail

    @numba.njit(parallel=True)
    def compiled(s: Any, k: Any, t: Any) -> Any:
        call, put = np.empty_like(s), np.empty_like(s)
        for i in numba.prange(len(s)):
            spread = 0.3 * np.sqrt(t[i])
            d1 = (np.log(s[i] / k[i]) + (0.02 + 0.045) * t[i]) / spread
            d2 = d1 - spread
            rest = k[i] * np.exp(-0.02 * t[i])
            call[i] = s[i] * normal(d1) - rest * normal(d2)
            put[i] = rest * normal(-d2) - s[i] * normal(-d1)
        return call, put

    return compiled


@form(option_file, "jax")
def _(jax: Any) -> Any:
    return jax.jit(lambda s, k, t: option_file(jax.numpy, s, k, t))


@program(smoke=1000, small=20_000, medium=500_000, large=10_000_000, data=recorded, borrowed=True)
def loudness(np: Any, samples: Any) -> Any:
    """A recording from its bytes: without its mean, compressed, its loudness in windows."""
    sound = np.frombuffer(samples, dtype=np.int16).astype(np.float64) / 32768
    sound = sound - sound.mean()
    squeezed = np.sign(sound) * np.log1p(255 * np.abs(sound)) / np.log(256)
    frames = squeezed[: len(squeezed) // 100 * 100].reshape(-1, 100)
    power = np.sqrt((frames**2).mean(axis=1))
    crossings = (np.diff(np.signbit(frames), axis=1)).sum(axis=1)
    return power, crossings, np.clip(np.rint(squeezed * 127), -128, 127).astype(np.int8)


@program(smoke=16, small=100, medium=500, large=2000, data=heights, borrowed=True)
def terrain(np: Any, loaded: Any) -> Any:
    """Slope, aspect and light on a map; the caller's array is written as well."""
    z = np.asarray(loaded)
    z *= 100.0
    gy, gx = np.gradient(z)
    slope = np.arctan(np.hypot(gx, gy))
    aspect = np.arctan2(-gx, gy)
    light = np.sin(0.8) * np.cos(slope) + np.cos(0.8) * np.sin(slope) * np.cos(5.5 - aspect)
    rough = np.abs(z[1:-1, 1:-1] * 4 - z[:-2, 1:-1] - z[2:, 1:-1] - z[1:-1, :-2] - z[1:-1, 2:])
    return np.clip(255 * light, 0, 255).astype(np.uint8), rough.mean(), slope.max(axis=0)
