"""Differential equations in time, lines of numbers and small systems."""

from __future__ import annotations

from typing import Any

from .program import form, program


@program(smoke=50, small=200, medium=2000, large=20000, expressions=False)
def lorenz(np: Any, n: int) -> Any:
    """The butterfly, by Runge and Kutta with vectors of three."""

    def slope(y: Any) -> Any:
        return np.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    y = np.array([1.0, 1.0, 1.0])
    h = 0.005
    track = np.empty((n, 3))
    for k in range(n):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        track[k] = y
    return track


@program(smoke=20, small=50, medium=200, large=2000, expressions=False)
def crank(np: Any, n: int) -> Any:
    """Heat in a rod by Crank and Nicolson, the tridiagonal system solved number by number."""
    r = 0.4
    u = np.sin(np.pi * np.linspace(0, 1, n))
    lower = np.full(n, -r / 2)
    middle = np.full(n, 1 + r)
    upper = np.full(n, -r / 2)
    for _ in range(30):
        right = u.copy()
        right[1:-1] += r / 2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        c, d = np.zeros(n), np.zeros(n)
        c[1] = upper[1] / middle[1]
        d[1] = right[1] / middle[1]
        for k in range(2, n - 1):
            weight = middle[k] - lower[k] * c[k - 1]
            c[k] = upper[k] / weight
            d[k] = (right[k] - lower[k] * d[k - 1]) / weight
        for k in range(n - 2, 0, -1):
            u[k] = d[k] - c[k] * u[k + 1]
    return u


@program(smoke=30, small=60, medium=300, large=1500)
def redblack(np: Any, n: int) -> Any:
    """Poisson's equation by Gauss and Seidel, red points and black points in turn."""
    u = np.zeros((n, n))
    u[0] = 1.0
    f = 0.01 * np.ones((n, n))
    for _ in range(100):
        for start in (1, 2):
            u[1:-1:2, start:-1:2] = 0.25 * (
                u[:-2:2, start:-1:2]
                + u[2::2, start:-1:2]
                + u[1:-1:2, start - 1 : -2 : 2]
                + u[1:-1:2, start + 1 :: 2]
                - f[1:-1:2, start:-1:2]
            )
            other = 3 - start
            u[2:-1:2, other:-1:2] = 0.25 * (
                u[1:-2:2, other:-1:2]
                + u[3::2, other:-1:2]
                + u[2:-1:2, other - 1 : -2 : 2]
                + u[2:-1:2, other + 1 :: 2]
                - f[2:-1:2, other:-1:2]
            )
    return u


@program(smoke=20, small=50, medium=200, large=1200)
def jacobi(np: Any, n: int) -> Any:
    """The same equation by Jacobi, until it changes no more."""
    u = np.zeros((n, n))
    u[:, 0] = 1.0
    for _ in range(300):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(new - u).max()
        u = new
        if change < 1e-6:
            break
    return u, change


@form(jacobi, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    def run(n: int) -> Any:
        def step(_: Any, state: Any) -> Any:
            u, _ = state
            new = u.at[1:-1, 1:-1].set(
                0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
            )
            return new, np.abs(new - u).max()

        return jax.lax.fori_loop(0, 300, step, (np.zeros((n, n)).at[:, 0].set(1.0), 0.0))

    return jax.jit(run, static_argnums=0)


@form(jacobi, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(n: int) -> Any:
        u = np.zeros((n, n))
        u[:, 0] = 1.0
        new = u.copy()
        change = 0.0
        for _ in range(300):
            change = 0.0
            for i in numba.prange(1, n - 1):
                most = 0.0
                for j in range(1, n - 1):
                    new[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                    most = max(most, abs(new[i, j] - u[i, j]))
                change = max(change, most)
            u, new = new, u
        return u, change

    return compiled


@program(smoke=40, small=50, medium=200, large=800)
def conjugate(np: Any, n: int) -> Any:
    """Conjugate gradients without a matrix."""
    b = np.zeros((n, n))
    b[n // 4, n // 4], b[3 * n // 4, n // 2] = 1.0, -1.0
    x = np.zeros_like(b)

    def laplacian(p: Any) -> Any:
        q = 4 * p
        q[1:] -= p[:-1]
        q[:-1] -= p[1:]
        q[:, 1:] -= p[:, :-1]
        q[:, :-1] -= p[:, 1:]
        return q

    r = b.copy()
    p = r.copy()
    rr = np.vdot(r, r)
    for _ in range(60):
        q = laplacian(p)
        alpha = rr / np.vdot(p, q)
        x += alpha * p
        r -= alpha * q
        new = np.vdot(r, r)
        p = r + new / rr * p
        rr = new
    return x


@program(smoke=64, small=128, medium=1024, large=16384)
def schrodinger(np: Any, n: int) -> Any:
    """A packet of waves that meets a wall, by split steps."""
    x = np.linspace(-20, 20, n, endpoint=False)
    k = 2 * np.pi * np.fft.fftfreq(n, x[1] - x[0])
    psi = np.exp(-((x + 8) ** 2) / 2 + 3j * x)
    psi /= np.sqrt(np.sum(np.abs(psi) ** 2))
    wall = np.where(np.abs(x) < 0.5, 4.0, 0.0)
    dt = 0.01
    potential = np.exp(-0.5j * dt * wall)
    kinetic = np.exp(-0.5j * dt * k**2)
    norms = []
    for _ in range(500):
        psi = potential * psi
        psi = np.fft.ifft(kinetic * np.fft.fft(psi))
        psi = potential * psi
        norms.append(float(np.sum(np.abs(psi) ** 2)))
    return np.abs(psi) ** 2, np.array(norms)


@program(smoke=40, small=80, medium=400, large=1500)
def wave2d(np: Any, n: int) -> Any:
    """A drum that was hit, with its energy looked at."""
    x = np.linspace(0, 1, n)
    X, Y = np.meshgrid(x, x)
    old = np.exp(-200 * ((X - 0.4) ** 2 + (Y - 0.5) ** 2))
    now = old.copy()
    energy = []
    for step in range(100):
        new = np.zeros_like(now)
        new[1:-1, 1:-1] = (
            2 * now[1:-1, 1:-1]
            - old[1:-1, 1:-1]
            + 0.25
            * (
                now[:-2, 1:-1]
                + now[2:, 1:-1]
                + now[1:-1, :-2]
                + now[1:-1, 2:]
                - 4 * now[1:-1, 1:-1]
            )
        )
        if step % 10 == 0:
            energy.append(((new - now) ** 2).sum())
        old, now = now, new
    return now, np.array(energy)


@program(smoke=30, small=100, medium=3000, large=300000)
def multigrid(np: Any, n: int) -> Any:
    """Poisson's equation on a line by cycles over coarser and coarser grids."""
    size = 1 << (n - 1).bit_length()
    x = np.linspace(0, 1, size + 1)
    f = np.sin(3 * np.pi * x) + x

    def smooth(u: Any, f: Any, h: float, times: int) -> Any:
        for _ in range(times):
            u[1:-1] += 0.666 * 0.5 * (u[:-2] + u[2:] + h * h * f[1:-1] - 2 * u[1:-1])
        return u

    def cycle(u: Any, f: Any, h: float) -> Any:
        if len(u) <= 3:
            u[1] = 0.5 * h * h * f[1]
            return u
        u = smooth(u, f, h, 3)
        r = np.zeros_like(u)
        r[1:-1] = f[1:-1] + (u[:-2] - 2 * u[1:-1] + u[2:]) / (h * h)
        coarse = np.zeros(len(u) // 2 + 1)
        coarse[1:-1] = 0.25 * (r[1:-2:2] + 2 * r[2:-1:2] + r[3::2])
        e = cycle(np.zeros_like(coarse), coarse, 2 * h)
        u[::2] += e
        u[1::2] += 0.5 * (e[:-1] + e[1:])
        return smooth(u, f, h, 3)

    u = np.zeros(size + 1)
    for _ in range(15):
        u = cycle(u, f, 1.0 / size)
    return u
