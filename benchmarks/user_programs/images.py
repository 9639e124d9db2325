"""Pictures and grids of cells."""

from __future__ import annotations

from typing import Any

from .program import form, program


def picture(np: Any, n: int) -> Any:
    """Something to look at, of ``n`` times ``n`` points between 0 and 255."""
    y, x = np.mgrid[0:n, 0:n] / n
    value = 128 + 60 * np.sin(12 * x + 5 * y) + 40 * np.cos(30 * x * y) + 20 * (x > 0.5)
    return np.clip(value, 0, 255).astype(np.uint8)


@program(smoke=50, small=80, medium=400, large=1200, tolerance=0.0)
def fractal(np: Any, n: int) -> Any:
    """After how many steps points escape, where only those that have not go on."""
    x = np.linspace(-2.0, 0.7, n)
    y = np.linspace(-1.2, 1.2, n)
    c = x[None, :] + 1j * y[:, None]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=int)
    for _ in range(50):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] ** 2 + c[inside]
        count[inside] += 1
    return count


@form(fractal, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(n: int) -> Any:
        count = np.zeros((n, n), dtype=np.int64)
        x, y = np.linspace(-2.0, 0.7, n), np.linspace(-1.2, 1.2, n)
        for i in numba.prange(n):
            for j in range(n):
                c = complex(x[j], y[i])
                z = 0j
                for _ in range(50):
                    if abs(z) > 2:
                        break
                    z = z * z + c
                    count[i, j] += 1
        return count

    return compiled


@form(fractal, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    def run(n: int) -> Any:
        c = np.linspace(-2.0, 0.7, n)[None, :] + 1j * np.linspace(-1.2, 1.2, n)[:, None]

        def step(_: Any, state: Any) -> Any:
            z, count = state
            inside = np.abs(z) <= 2
            return np.where(inside, z * z + c, z), count + inside

        return jax.lax.fori_loop(0, 50, step, (np.zeros_like(c), np.zeros(c.shape, dtype=int)))[1]

    return jax.jit(run, static_argnums=0)


@program(smoke=40, small=80, medium=400, large=1500, tolerance=0.0)
def julia(np: Any, n: int) -> Any:
    """The same for another set, with masks that are kept and numbers that overflow."""
    y, x = np.ogrid[-1.4 : 1.4 : n * 1j, -1.4 : 1.4 : n * 1j]
    z = x + y * 1j
    c = -0.744 + 0.148j
    escaped = np.full(z.shape, 60)
    for i in range(60):
        z = z**2 + c
        diverge = z * np.conj(z) > 4
        now = diverge & (escaped == 60)
        escaped[now] = i
        z[diverge] = 2
    return escaped


@program(smoke=32, small=64, medium=256, large=1500, tolerance=0.0)
def life(np: Any, n: int) -> Any:
    """Conway's game, neighbours counted by slices of a padded grid."""
    generator = np.random.default_rng(1)
    grid = (generator.random((n, n)) < 0.3).astype(np.int8)
    for _ in range(100):
        padded = np.pad(grid, 1, mode="wrap")
        around = (
            padded[:-2, :-2] + padded[:-2, 1:-1] + padded[:-2, 2:]
            + padded[1:-1, :-2] + padded[1:-1, 2:]
            + padded[2:, :-2] + padded[2:, 1:-1] + padded[2:, 2:]
        )  # fmt: skip
        grid = ((around == 3) | ((grid == 1) & (around == 2))).astype(np.int8)
    return grid


@program(smoke=40, small=100, medium=512, large=2000)
def convolve(np: Any, n: int) -> Any:
    """A picture blurred, its edges found and thinned, by slices."""
    image = picture(np, n).astype(float)
    kernel = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256
    padded = np.pad(image, 2, mode="reflect")
    blurred = np.zeros_like(image)
    for i in range(5):
        for j in range(5):
            blurred += kernel[i, j] * padded[i : i + n, j : j + n]
    p = np.pad(blurred, 1, mode="edge")
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    strength = np.hypot(gx, gy)
    edges = strength > strength.mean() + 2 * strength.std()
    return blurred, edges.sum(), np.arctan2(gy, gx)


@program(smoke=40, small=100, medium=512, large=3000, tolerance=0.0)
def equalise(np: Any, n: int) -> Any:
    """A picture whose greys are used evenly."""
    image = picture(np, n)
    histogram, _ = np.histogram(image.flatten(), 256, (0, 256))
    cumulative = histogram.cumsum()
    masked = np.ma.masked_equal(cumulative, 0)
    table = (masked - masked.min()) * 255 / (masked.max() - masked.min())
    table = np.ma.filled(table, 0).astype("uint8")
    found = table[image]
    return found, np.bincount(found.ravel(), minlength=256)


@program(smoke=40, small=100, medium=512, large=2000)
def filters(np: Any, n: int) -> Any:
    """A picture without its high and without its low frequencies."""
    image = picture(np, n).astype(float)
    spectrum = np.fft.fftshift(np.fft.fft2(image))
    rows, columns = np.ogrid[:n, :n]
    distance = np.sqrt((rows - n // 2) ** 2 + (columns - n // 2) ** 2)
    low = np.exp(-(distance**2) / (2 * (n / 16) ** 2))
    smooth = np.real(np.fft.ifft2(np.fft.ifftshift(spectrum * low)))
    sharp = np.real(np.fft.ifft2(np.fft.ifftshift(spectrum * (1 - low))))
    power = np.log1p(np.abs(spectrum))
    return smooth, sharp, power


@program(smoke=24, small=40, medium=150, large=400, tolerance=0.0)
def percolation(np: Any, n: int) -> Any:
    """Which sites hang together: labels that spread until none changes."""
    generator = np.random.default_rng(2)
    open_ = generator.random((n, n)) < 0.55
    labels = np.where(open_, np.arange(1, n * n + 1).reshape(n, n), 0)
    for _ in range(1000):
        before = labels.copy()
        labels[1:] = np.maximum(labels[1:], labels[:-1])
        labels[:-1] = np.maximum(labels[:-1], labels[1:])
        labels[:, 1:] = np.maximum(labels[:, 1:], labels[:, :-1])
        labels[:, :-1] = np.maximum(labels[:, :-1], labels[:, 1:])
        labels[~open_] = 0
        if np.array_equal(labels, before):
            break
    through = np.intersect1d(labels[0][labels[0] > 0], labels[-1][labels[-1] > 0])
    names, sizes = np.unique(labels[labels > 0], return_counts=True)
    return through, names.size, sizes.max()


@program(smoke=30, small=100, medium=400, large=2000)
def otsu(np: Any, n: int) -> Any:
    """The best threshold between dark and bright, then holes closed by maxima and minima of slices."""
    image = picture(np, n)
    histogram = np.bincount(image.ravel(), minlength=256).astype(float)
    levels = np.arange(256)
    weight = histogram.cumsum()
    mean = (histogram * levels).cumsum()
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mean[-1] * weight / weight[-1] - mean) ** 2 / (weight * (weight[-1] - weight))
    threshold = np.nanargmax(between)
    binary = image > threshold
    for _ in range(3):
        p = np.pad(binary, 1)
        binary = p[1:-1, 1:-1] | p[:-2, 1:-1] | p[2:, 1:-1] | p[1:-1, :-2] | p[1:-1, 2:]
    for _ in range(3):
        p = np.pad(binary, 1, constant_values=True)
        binary = p[1:-1, 1:-1] & p[:-2, 1:-1] & p[2:, 1:-1] & p[1:-1, :-2] & p[1:-1, 2:]
    return threshold, binary


@program(smoke=30, small=80, medium=300, large=1200)
def rotate(np: Any, n: int) -> Any:
    """A picture turned by some angles, with four neighbours each."""
    image = picture(np, n).astype(float)
    total = np.zeros((n, n))
    y, x = np.indices((n, n)) - n / 2
    for angle in np.linspace(0, np.pi, 8):
        xr = x * np.cos(angle) - y * np.sin(angle) + n / 2
        yr = x * np.sin(angle) + y * np.cos(angle) + n / 2
        x0 = np.clip(np.floor(xr).astype(int), 0, n - 2)
        y0 = np.clip(np.floor(yr).astype(int), 0, n - 2)
        fx, fy = np.clip(xr - x0, 0, 1), np.clip(yr - y0, 0, 1)
        total += (
            image[y0, x0] * (1 - fx) * (1 - fy)
            + image[y0, x0 + 1] * fx * (1 - fy)
            + image[y0 + 1, x0] * (1 - fx) * fy
            + image[y0 + 1, x0 + 1] * fx * fy
        )
    return total
