"""Kernels of linear algebra, statistics and grids, as suites for compilers have them."""

from __future__ import annotations

from typing import Any

from .program import form, program


def square(np: Any, n: int) -> tuple[Any, ...]:
    """Three matrices."""
    generator = np.random.default_rng(21)
    return generator.random((n, n)), generator.random((n, n)), generator.random((n, n))


def measured(np: Any, n: int) -> tuple[Any, ...]:
    """Measurements: rows are cases, columns are what was measured."""
    generator = np.random.default_rng(22)
    return (generator.random((n + n // 4, n)),)


def vectors(np: Any, n: int) -> tuple[Any, ...]:
    """A matrix and vectors."""
    generator = np.random.default_rng(23)
    return generator.random((n, n)), *[generator.random(n) for _ in range(6)]


def grid(np: Any, n: int) -> tuple[Any, ...]:
    """A grid, and how many steps are taken on it."""
    i = np.arange(n)
    return 20, (i[:, None] * (i + 2.0) + 2) / n


def cube(np: Any, n: int) -> tuple[Any, ...]:
    """A grid in space, and how many steps are taken on it."""
    i = np.arange(n)
    return 20, (i[:, None, None] + i[:, None] + (n - i)) * 10.0 / n


def picture(np: Any, n: int) -> tuple[Any, ...]:
    """A picture, wider than high."""
    i, j = np.arange(n)[:, None], np.arange(n * 3 // 2)
    return 0.25, ((313 * i + 991 * j) % 65536) / 65535.0


@program(smoke=12, small=200, medium=1000, large=3000, data=vectors, jax=True)
def gemver(np: Any, A: Any, u1: Any, v1: Any, u2: Any, v2: Any, y: Any, z: Any) -> Any:
    """A matrix changed by two outer products, and products with it and its transpose."""
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = 1.2 * (y @ A) + z
    return A, x, 1.5 * (A @ x)


@form(gemver, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(A: Any, u1: Any, v1: Any, u2: Any, v2: Any, y: Any, z: Any) -> Any:
        n = len(y)
        for i in numba.prange(n):
            for j in range(n):
                A[i, j] += u1[i] * v1[j] + u2[i] * v2[j]
        x = 1.2 * np.dot(y, A) + z
        return A, x, 1.5 * np.dot(A, x)

    return compiled


@program(smoke=12, small=100, medium=300, large=800, data=square, expressions=False)
def syrk(np: Any, A: Any, C: Any, unused: Any) -> Any:
    """A symmetric product into a lower triangle, row by row."""
    n = len(A)
    for i in range(n):
        C[i, : i + 1] *= 1.2
        for k in range(n):
            C[i, : i + 1] += 1.5 * A[i, k] * A[: i + 1, k]
    return C


@form(syrk, "numba")
def _(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def compiled(A: Any, C: Any, unused: Any) -> Any:
        n = len(A)
        for i in numba.prange(n):
            for j in range(i + 1):
                s = 0.0
                for k in range(n):
                    s += A[i, k] * A[j, k]
                C[i, j] = 1.2 * C[i, j] + 1.5 * s
        return C

    return compiled


@program(smoke=12, small=100, medium=400, large=1000, data=square, expressions=False)
def trmm(np: Any, A: Any, B: Any, unused: Any) -> Any:
    """A triangle times a matrix in place, row by row and column by column."""
    m, n = B.shape
    for i in range(m):
        for j in range(n):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    return 1.5 * B


@program(smoke=12, small=100, medium=300, large=800, data=square, expressions=False)
def symm(np: Any, A: Any, B: Any, C: Any) -> Any:
    """A symmetric matrix, of which the lower triangle is there, times another one."""
    m, n = C.shape
    C *= 1.2
    for i in range(m):
        for j in range(n):
            C[:i, j] += 1.5 * B[i, j] * A[i, :i]
        C[i] += 1.5 * B[i] * A[i, i] + 1.5 * (A[i, :i] @ B[:i])
    return C


@program(smoke=12, small=100, medium=400, large=1200, data=measured, expressions=False)
def correlation(np: Any, data: Any) -> Any:
    """The matrix of correlations, a column against those behind it."""
    mean = np.mean(data, axis=0)
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(len(data)) * deviation
    m = data.shape[1]
    corr = np.eye(m)
    for i in range(m - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


@form(correlation, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(data: Any) -> Any:
        rows, m = data.shape
        for j in numba.prange(m):
            mean = data[:, j].mean()
            deviation = data[:, j].std()
            if deviation <= 0.1:
                deviation = 1.0
            for i in range(rows):
                data[i, j] = (data[i, j] - mean) / (np.sqrt(rows) * deviation)
        corr = data.T @ data
        for j in range(m):
            corr[j, j] = 1.0
        return corr

    return compiled


@form(correlation, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(data: Any) -> Any:
        deviation = np.std(data, axis=0)
        deviation = np.where(deviation <= 0.1, 1.0, deviation)
        data = (data - np.mean(data, axis=0)) / (np.sqrt(len(data)) * deviation)
        m = data.shape[1]
        return (data.T @ data).at[np.arange(m), np.arange(m)].set(1.0)

    return compiled


@program(smoke=12, small=100, medium=400, large=1200, data=measured, expressions=False)
def covariance(np: Any, data: Any) -> Any:
    """The matrix of covariances, row after row of its upper half."""
    data -= data.mean(axis=0)
    rows, m = data.shape
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i:, i] = data[:, i] @ data[:, i:] / (rows - 1)
        cov[i, i:] = cov[i:, i]
    return cov


def _tensor(np: Any, n: int) -> tuple[Any, ...]:
    generator = np.random.default_rng(24)
    return generator.random((n, n // 2, n)), generator.random((n, n))


@program(smoke=8, small=40, medium=120, large=250, data=_tensor, expressions=False)
def doitgen(np: Any, A: Any, C4: Any) -> Any:
    """A tensor times a matrix, a line at a time, in place."""
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            A[r, q, :] = A[r, q, :] @ C4
    return A


@form(doitgen, "jax")
def _(jax: Any) -> Any:
    return jax.jit(lambda A, C4: A @ C4)


@program(smoke=12, small=60, medium=200, large=500, data=grid, expressions=False)
def adi(np: Any, steps: int, u: Any) -> Any:
    """Heat by alternating directions: tridiagonal sweeps along columns, then along rows."""
    n = len(u)
    v, p, q = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    r = 0.3
    a, b = -r / 2, 1 + r
    for _ in range(steps // 4):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (
                r / 2 * (u[j, 2:] + u[j, :-2]) + (1 - r) * u[j, 1:-1] - a * q[1:-1, j - 1]
            ) / (a * p[1:-1, j - 1] + b)
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (
                r / 2 * (v[2:, j] + v[:-2, j]) + (1 - r) * v[1:-1, j] - a * q[1:-1, j - 1]
            ) / (a * p[1:-1, j - 1] + b)
        u[1:-1, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return u


@program(smoke=12, small=60, medium=300, large=1000, data=picture, expressions=False)
def deriche(np: Any, alpha: float, image: Any) -> Any:
    """A recursive filter for edges, forwards and backwards, along rows and then along columns."""
    e = np.exp(-alpha)
    k = (1 - e) ** 2 / (1 + 2 * alpha * e - e**2)
    a1, a2 = k, k * e * (alpha - 1)
    a3, a4 = k * e * (alpha + 1), -k * e**2
    b1, b2 = 2 * e, -(e**2)
    h, w = image.shape
    ahead, back = np.zeros_like(image), np.zeros_like(image)
    ahead[:, 0] = a1 * image[:, 0]
    ahead[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * ahead[:, 0]
    for j in range(2, w):
        ahead[:, j] = (
            a1 * image[:, j] + a2 * image[:, j - 1] + b1 * ahead[:, j - 1] + b2 * ahead[:, j - 2]
        )
    back[:, -2] = a3 * image[:, -1]
    for j in range(w - 3, -1, -1):
        back[:, j] = (
            a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * back[:, j + 1] + b2 * back[:, j + 2]
        )
    out = ahead + back
    ahead[0] = a1 * out[0]
    ahead[1] = a1 * out[1] + a2 * out[0] + b1 * ahead[0]
    for i in range(2, h):
        ahead[i] = a1 * out[i] + a2 * out[i - 1] + b1 * ahead[i - 1] + b2 * ahead[i - 2]
    back[-1] = 0
    back[-2] = a3 * out[-1]
    for i in range(h - 3, -1, -1):
        back[i] = a3 * out[i + 1] + a4 * out[i + 2] + b1 * back[i + 1] + b2 * back[i + 2]
    return ahead + back


@program(smoke=10, small=40, medium=100, large=200, data=grid, expressions=False)
def seidel(np: Any, steps: int, A: Any) -> Any:
    """Nine neighbours by Gauss and Seidel: a row needs the one above, an element the one before."""
    n = len(A)
    for _ in range(steps // 4):
        for i in range(1, n - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2]
                + A[i - 1, 1:-1]
                + A[i - 1, 2:]
                + A[i, 2:]
                + A[i + 1, :-2]
                + A[i + 1, 1:-1]
                + A[i + 1, 2:]
            )
            for j in range(1, n - 1):
                A[i, j] = (A[i, j] + A[i, j - 1]) / 9.0
    return A


@form(seidel, "numba")
def _(numba: Any) -> Any:
    @numba.njit
    def compiled(steps: Any, A: Any) -> Any:
        n = len(A)
        for _ in range(steps // 4):
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    s = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    s += A[i, j - 1] + A[i, j] + A[i, j + 1]
                    s += A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                    A[i, j] = s / 9.0
        return A

    return compiled


@program(smoke=12, small=100, medium=400, large=1500, data=grid)
def jacobi2d(np: Any, steps: int, A: Any) -> Any:
    """Two grids that take turns, five neighbours."""
    B = A.copy()
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )
    return A, B


@form(jacobi2d, "numba")
def _(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def half(A: Any, B: Any) -> Any:
        n = len(A)
        for i in numba.prange(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])

    @numba.njit
    def compiled(steps: Any, A: Any) -> Any:
        B = A.copy()
        for _ in range(steps):
            half(A, B)
            half(B, A)
        return A, B

    return compiled


@form(jacobi2d, "jax")
def _(jax: Any) -> Any:
    @jax.jit
    def compiled(steps: Any, A: Any) -> Any:
        def half(A: Any, B: Any) -> Any:
            around = A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
            return B.at[1:-1, 1:-1].set(0.2 * around)

        def both(_: Any, state: Any) -> Any:
            A, B = state
            B = half(A, B)
            return half(B, A), B

        return jax.lax.fori_loop(0, steps, both, (A, A))

    return compiled


@program(smoke=8, small=24, medium=60, large=140, data=cube)
def heat3d(np: Any, steps: int, A: Any) -> Any:
    """Heat in a cube: second differences along three axes, forth and back."""

    def step(a: Any, out: Any) -> None:
        inner = a[1:-1, 1:-1, 1:-1]
        out[1:-1, 1:-1, 1:-1] = (
            inner
            + 0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * inner + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * inner + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * inner + a[1:-1, 1:-1, :-2])
        )

    B = np.copy(A)
    for _ in range(steps):
        step(A, B)
        step(B, A)
    return A


@form(heat3d, "numba")
def _(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def step(a: Any, b: Any) -> Any:
        n = len(a)
        for i in numba.prange(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    c = a[i, j, k]
                    b[i, j, k] = c + 0.125 * (
                        a[i + 1, j, k] + a[i - 1, j, k] + a[i, j + 1, k] + a[i, j - 1, k]
                        + a[i, j, k + 1] + a[i, j, k - 1] - 6.0 * c
                    )  # fmt: skip

    @numba.njit
    def compiled(steps: Any, A: Any) -> Any:
        B = A.copy()
        for _ in range(steps):
            step(A, B)
            step(B, A)
        return A

    return compiled


@form(heat3d, "jax")
def _(jax: Any) -> Any:
    @jax.jit
    def compiled(steps: Any, A: Any) -> Any:
        def step(_: Any, a: Any) -> Any:
            c = a[1:-1, 1:-1, 1:-1]
            new = (
                c
                + 0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * c + a[:-2, 1:-1, 1:-1])
                + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * c + a[1:-1, :-2, 1:-1])
                + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * c + a[1:-1, 1:-1, :-2])
            )
            return a.at[1:-1, 1:-1, 1:-1].set(new)

        return jax.lax.fori_loop(0, 2 * steps, step, A)

    return compiled


def _fields(np: Any, n: int) -> tuple[Any, ...]:
    i = np.arange(n)
    m = n + n // 5
    j = np.arange(m)
    ex = i[:, None] * (j + 1.0) / n
    return 20, ex, i[:, None] * (j + 2.0) / m, i[:, None] * (j + 3.0) / n


@program(smoke=12, small=100, medium=400, large=1500, data=_fields)
def fdtd2d(np: Any, steps: int, ex: Any, ey: Any, hz: Any) -> Any:
    """Maxwell's equations on a plane, the source along the first row."""
    for t in range(steps):
        ey[0, :] = t
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


@form(fdtd2d, "jax")
def _(jax: Any) -> Any:
    @jax.jit
    def compiled(steps: Any, ex: Any, ey: Any, hz: Any) -> Any:
        def step(t: Any, state: Any) -> Any:
            ex, ey, hz = state
            ey = ey.at[0, :].set(t)
            ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
            ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
            curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
            return ex, ey, hz.at[:-1, :-1].add(-0.7 * curl)

        return jax.lax.fori_loop(0, steps, step, (ex, ey, hz))

    return compiled


@form(fdtd2d, "numba")
def _(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def compiled(steps: Any, ex: Any, ey: Any, hz: Any) -> Any:
        n, m = hz.shape
        for t in range(steps):
            for i in numba.prange(n):
                for j in range(m):
                    if i == 0:
                        ey[i, j] = t
                    else:
                        ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
                    if j > 0:
                        ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
            for i in numba.prange(n - 1):
                for j in range(m - 1):
                    hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
        return ex, ey, hz

    return compiled
