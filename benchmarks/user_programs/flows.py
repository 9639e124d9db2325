"""Waves, fluids and what is carried in them."""

from __future__ import annotations

from typing import Any

from .program import form, program


@program(smoke=128, small=128, medium=512, large=2048)
def kdv_spectral(np: Any, n: int) -> Any:
    """Two solitons of Korteweg and de Vries, by Fourier transforms and an integrating factor."""
    x = np.linspace(-np.pi, np.pi, n, endpoint=False)
    u = 3 * 25**2 / np.cosh(0.5 * 25 * (x + 2)) ** 2 + 3 * 16**2 / np.cosh(0.5 * 16 * (x + 1)) ** 2
    k = np.concatenate([np.arange(0, n // 2), [0], np.arange(-n // 2 + 1, 0)])
    dt = 0.4 / n**2
    v = np.fft.fft(u)
    half = np.exp(0.5j * dt * k**3)
    whole = half**2
    g = -0.5j * dt * k
    for _ in range(400):
        a = g * np.fft.fft(np.real(np.fft.ifft(v)) ** 2)
        b = g * np.fft.fft(np.real(np.fft.ifft(half * (v + a / 2))) ** 2)
        c = g * np.fft.fft(np.real(np.fft.ifft(half * v + b / 2)) ** 2)
        d = g * np.fft.fft(np.real(np.fft.ifft(whole * v + half * c)) ** 2)
        v = whole * v + (whole * a + 2 * half * (b + c) + d) / 6
    return np.real(np.fft.ifft(v))


@program(smoke=64, small=200, medium=2000, large=100000)
def kdv(np: Any, n: int) -> Any:
    """The same equation by the leapfrog of Zabusky and Kruskal."""
    dx = 2.0 / n
    dt = 0.05 * dx**3 / 0.022**2
    x = np.arange(n) * dx
    previous = np.cos(np.pi * x)
    current = previous.copy()
    for _ in range(1000):
        ahead, behind = np.roll(current, -1), np.roll(current, 1)
        steep = (ahead + current + behind) * (ahead - behind)
        bent = np.roll(current, -2) - 2 * ahead + 2 * behind - np.roll(current, 2)
        following = previous - dt / (3 * dx) * steep - 0.022**2 * dt / dx**3 * bent
        previous, current = current, following
    return current


@program(smoke=48, small=64, medium=256, large=800)
def grayscott(np: Any, n: int) -> Any:
    """Spots of two chemicals that react and spread."""
    u = np.ones((n, n))
    v = np.zeros((n, n))
    middle = slice(n // 2 - n // 10, n // 2 + n // 10)
    u[middle, middle] = 0.5
    v[middle, middle] = 0.25

    def laplacian(a: Any) -> Any:
        return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a

    for _ in range(200):
        reaction = u * v * v
        u = u + 0.16 * laplacian(u) - reaction + 0.035 * (1 - u)
        v = v + 0.08 * laplacian(v) + reaction - (0.035 + 0.065) * v
    return u


@form(grayscott, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    def run(n: int) -> Any:
        middle = slice(n // 2 - n // 10, n // 2 + n // 10)
        u = np.ones((n, n)).at[middle, middle].set(0.5)
        v = np.zeros((n, n)).at[middle, middle].set(0.25)

        def lap(a: Any) -> Any:
            around = np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1)
            return around - 4 * a

        def step(_: Any, state: Any) -> Any:
            u, v = state
            reaction = u * v * v
            u = u + 0.16 * lap(u) - reaction + 0.035 * (1 - u)
            return u, v + 0.08 * lap(v) + reaction - (0.035 + 0.065) * v

        return jax.lax.fori_loop(0, 200, step, (u, v))[0]

    return jax.jit(run, static_argnums=0)


@form(grayscott, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def step(u: Any, v: Any, u2: Any, v2: Any) -> None:
        n = len(u)
        for i in numba.prange(n):
            up, down = (i - 1) % n, (i + 1) % n
            for j in range(n):
                a, b = (j - 1) % n, (j + 1) % n
                r = u[i, j] * v[i, j] * v[i, j]
                lu = u[up, j] + u[down, j] + u[i, a] + u[i, b] - 4 * u[i, j]
                lv = v[up, j] + v[down, j] + v[i, a] + v[i, b] - 4 * v[i, j]
                u2[i, j] = u[i, j] + 0.16 * lu - r + 0.035 * (1 - u[i, j])
                v2[i, j] = v[i, j] + 0.08 * lv + r - (0.035 + 0.065) * v[i, j]

    def compiled(n: int) -> Any:
        u, v = np.ones((n, n)), np.zeros((n, n))
        middle = slice(n // 2 - n // 10, n // 2 + n // 10)
        u[middle, middle] = 0.5
        v[middle, middle] = 0.25
        u2, v2 = np.empty_like(u), np.empty_like(v)
        for _ in range(200):
            step(u, v, u2, v2)
            u, v, u2, v2 = u2, v2, u, v
        return u

    return compiled


@program(smoke=60, small=80, medium=400, large=1000)
def lbm(np: Any, n: int) -> Any:
    """Air around a cylinder: the lattice of Boltzmann with nine directions."""
    nx, ny = n, n // 4
    cx = [0, 0, 1, 1, 1, 0, -1, -1, -1]
    cy = [0, 1, 1, 0, -1, -1, -1, 0, 1]
    weights = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])
    opposite = [0, 5, 6, 7, 8, 1, 2, 3, 4]
    tau = 0.6
    x, y = np.meshgrid(np.arange(nx), np.arange(ny))
    f = np.ones((ny, nx, 9)) + 0.01 * np.sin(x + 2 * y)[:, :, None]
    f[:, :, 3] += 2 * (1 + 0.2 * np.cos(2 * np.pi * x / nx * 4))
    rho = np.sum(f, 2)
    for i in range(9):
        f[:, :, i] *= 100 / rho
    cylinder = (x - nx / 4) ** 2 + (y - ny / 2) ** 2 < (ny / 4) ** 2
    for _ in range(40):
        for i in range(9):
            f[:, :, i] = np.roll(f[:, :, i], cx[i], axis=1)
            f[:, :, i] = np.roll(f[:, :, i], cy[i], axis=0)
        bounced = f[cylinder, :][:, opposite]
        rho = np.sum(f, 2)
        ux = np.sum(f * np.array(cx), 2) / rho
        uy = np.sum(f * np.array(cy), 2) / rho
        equilibrium = np.zeros(f.shape)
        for i in range(9):
            along = cx[i] * ux + cy[i] * uy
            equilibrium[:, :, i] = (
                rho * weights[i] * (1 + 3 * along + 9 * along**2 / 2 - 3 * (ux**2 + uy**2) / 2)
            )
        f += -(1.0 / tau) * (f - equilibrium)
        f[cylinder, :] = bounced
    ux[cylinder] = 0
    uy[cylinder] = 0
    return (np.roll(ux, -1, axis=0) - np.roll(ux, 1, axis=0)) - (
        np.roll(uy, -1, axis=1) - np.roll(uy, 1, axis=1)
    )


@program(smoke=100, small=200, medium=2000, large=50000)
def shocktube(np: Any, n: int) -> Any:
    """Sod's tube: the equations of Euler with the fluxes of Rusanov."""
    gamma = 1.4
    x = (np.arange(n) + 0.5) / n
    density = np.where(x < 0.5, 1.0, 0.125)
    pressure = np.where(x < 0.5, 1.0, 0.1)
    state = np.array([density, np.zeros(n), pressure / (gamma - 1)])
    t = 0.0
    steps = 0
    while t < 0.2 and steps < 400:
        rho, momentum, energy = state
        speed = momentum / rho
        p = (gamma - 1) * (energy - 0.5 * rho * speed**2)
        fastest = np.abs(speed) + np.sqrt(gamma * p / rho)
        dt = 0.5 / n / fastest.max()
        flux = np.array([momentum, momentum * speed + p, (energy + p) * speed])
        a = np.maximum(fastest[:-1], fastest[1:])
        between = 0.5 * (flux[:, :-1] + flux[:, 1:]) - 0.5 * a * (state[:, 1:] - state[:, :-1])
        state[:, 1:-1] -= dt * n * (between[:, 1:] - between[:, :-1])
        t += dt
        steps += 1
    return state


@program(smoke=50, small=80, medium=400, large=1500)
def advection(np: Any, n: int) -> Any:
    """A blob that turns round, upwind with the limiter minmod."""
    x = np.linspace(-1, 1, n)
    X, Y = np.meshgrid(x, x)
    q = np.exp(-30 * ((X - 0.3) ** 2 + Y**2))
    u, v = -Y, X
    dt = 0.4 * (x[1] - x[0])
    h = x[1] - x[0]

    def slopes(a: Any, axis: int) -> Any:
        left = a - np.roll(a, 1, axis)
        right = np.roll(a, -1, axis) - a
        return np.where(left * right > 0, np.where(np.abs(left) < np.abs(right), left, right), 0.0)

    for _ in range(20):
        for axis, w in ((1, u), (0, v)):
            s = slopes(q, axis)
            from_left = q + 0.5 * s
            from_right = np.roll(q - 0.5 * s, -1, axis)
            flux = np.where(w > 0, w * from_left, w * from_right)
            q = q - dt / h * (flux - np.roll(flux, 1, axis))
    return q


@program(smoke=40, small=50, medium=200, large=1000)
def maxwell(np: Any, n: int) -> Any:
    """A wave from an antenna, on the staggered grid of Yee."""
    ez = np.zeros((n, n))
    hx = np.zeros((n, n - 1))
    hy = np.zeros((n - 1, n))
    for t in range(300):
        hx -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy += 0.5 * (ez[1:, :] - ez[:-1, :])
        ez[1:-1, 1:-1] += 0.5 * ((hy[1:, 1:-1] - hy[:-1, 1:-1]) - (hx[1:-1, 1:] - hx[1:-1, :-1]))
        ez[n // 3, n // 2] += np.exp(-0.5 * ((t - 30) / 10) ** 2)
        ez[n // 2, :10] = 0.0
    return ez


@form(maxwell, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(n: int) -> Any:
        ez, hx, hy = np.zeros((n, n)), np.zeros((n, n - 1)), np.zeros((n - 1, n))
        for t in range(300):
            for i in numba.prange(n):
                for j in range(n - 1):
                    hx[i, j] -= 0.5 * (ez[i, j + 1] - ez[i, j])
                if i < n - 1:
                    for j in range(n):
                        hy[i, j] += 0.5 * (ez[i + 1, j] - ez[i, j])
            for i in numba.prange(1, n - 1):
                for j in range(1, n - 1):
                    ez[i, j] += 0.5 * ((hy[i, j] - hy[i - 1, j]) - (hx[i, j] - hx[i, j - 1]))
            ez[n // 3, n // 2] += np.exp(-0.5 * ((t - 30) / 10) ** 2)
            ez[n // 2, :10] = 0.0
        return ez

    return compiled


@form(maxwell, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    def run(n: int) -> Any:
        def step(t: Any, state: Any) -> Any:
            ez, hx, hy = state
            hx = hx - 0.5 * (ez[:, 1:] - ez[:, :-1])
            hy = hy + 0.5 * (ez[1:, :] - ez[:-1, :])
            curl = (hy[1:, 1:-1] - hy[:-1, 1:-1]) - (hx[1:-1, 1:] - hx[1:-1, :-1])
            ez = ez.at[1:-1, 1:-1].add(0.5 * curl)
            ez = ez.at[n // 3, n // 2].add(np.exp(-0.5 * ((t - 30) / 10) ** 2))
            return ez.at[n // 2, :10].set(0.0), hx, hy

        start = np.zeros((n, n)), np.zeros((n, n - 1)), np.zeros((n - 1, n))
        return jax.lax.fori_loop(0, 300, step, start)[0]

    return jax.jit(run, static_argnums=0)


@program(smoke=21, small=41, medium=121, large=400)
def cavity(np: Any, n: int) -> Any:
    """A box of water under a moving lid: the steps of Navier and Stokes, small enough for a class."""
    dx = 2 / (n - 1)
    dt, nu, rho = 0.001, 0.1, 1.0
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for _ in range(30):
        ux = (u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)
        vy = (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dx)
        uy = (u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dx)
        vx = (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx)
        b = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
        for _ in range(25):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                pn[1:-1, 2:] + pn[1:-1, 0:-2] + pn[2:, 1:-1] + pn[0:-2, 1:-1] - dx**2 * b
            ) / 4
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        un, vn = u.copy(), v.copy()
        for w, wn, gradient in (
            (u, un, p[1:-1, 2:] - p[1:-1, 0:-2]),
            (v, vn, p[2:, 1:-1] - p[0:-2, 1:-1]),
        ):
            w[1:-1, 1:-1] = (
                wn[1:-1, 1:-1]
                - un[1:-1, 1:-1] * dt / dx * (wn[1:-1, 1:-1] - wn[1:-1, 0:-2])
                - vn[1:-1, 1:-1] * dt / dx * (wn[1:-1, 1:-1] - wn[0:-2, 1:-1])
                - dt / (2 * rho * dx) * gradient
                + nu * dt / dx**2 * (wn[1:-1, 2:] - 2 * wn[1:-1, 1:-1] + wn[1:-1, 0:-2])
                + nu * dt / dx**2 * (wn[2:, 1:-1] - 2 * wn[1:-1, 1:-1] + wn[0:-2, 1:-1])
            )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return u, v, p


@form(cavity, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    def run(n: int) -> Any:
        dx = 2 / (n - 1)
        dt, nu, rho = 0.001, 0.1, 1.0

        def pressure(b: Any, p: Any) -> Any:
            inner = (p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1] - dx**2 * b) / 4
            p = p.at[1:-1, 1:-1].set(inner)
            p = p.at[:, -1].set(p[:, -2])
            p = p.at[0, :].set(p[1, :])
            p = p.at[:, 0].set(p[:, 1])
            return p.at[-1, :].set(0.0)

        def moved(w: Any, u: Any, v: Any, gradient: Any) -> Any:
            inner = (
                w[1:-1, 1:-1]
                - u[1:-1, 1:-1] * dt / dx * (w[1:-1, 1:-1] - w[1:-1, :-2])
                - v[1:-1, 1:-1] * dt / dx * (w[1:-1, 1:-1] - w[:-2, 1:-1])
                - dt / (2 * rho * dx) * gradient
                + nu * dt / dx**2 * (w[1:-1, 2:] - 2 * w[1:-1, 1:-1] + w[1:-1, :-2])
                + nu * dt / dx**2 * (w[2:, 1:-1] - 2 * w[1:-1, 1:-1] + w[:-2, 1:-1])
            )
            return w.at[1:-1, 1:-1].set(inner)

        def step(_: Any, state: Any) -> Any:
            u, v, p = state
            ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
            vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx)
            uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dx)
            vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
            b = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
            p = jax.lax.fori_loop(0, 25, lambda _, p: pressure(b, p), p)
            new_u = moved(u, u, v, p[1:-1, 2:] - p[1:-1, :-2])
            new_v = moved(v, u, v, p[2:, 1:-1] - p[:-2, 1:-1])
            new_u = new_u.at[0, :].set(0.0).at[:, 0].set(0.0).at[:, -1].set(0.0).at[-1, :].set(1.0)
            new_v = new_v.at[0, :].set(0.0).at[-1, :].set(0.0)
            return new_u, new_v.at[:, 0].set(0.0).at[:, -1].set(0.0), p

        zeros = np.zeros((n, n))
        return jax.lax.fori_loop(0, 30, step, (zeros, zeros, zeros))

    return jax.jit(run, static_argnums=0)
