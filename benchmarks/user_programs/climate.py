"""Oceans and air: long formulas, columns, and layers that flow."""

from __future__ import annotations

from typing import Any

from .program import form, program

COEFFICIENTS = [
    [0.9 ** (i + 2 * j + 3 * k) * (-1) ** (i + j) for k in range(4)]
    for i in range(4)
    for j in range(3)
]


def water(np: Any, n: int) -> tuple[Any, ...]:
    """Salinity, temperature and pressure at points of an ocean."""
    generator = np.random.default_rng(61)
    return generator.uniform(0, 40, n), generator.uniform(-2, 30, n), generator.uniform(0, 5000, n)


def columns(np: Any, n: int) -> tuple[Any, ...]:
    """Fields on n by n columns with 40 layers."""
    generator = np.random.default_rng(62)
    return (
        generator.random((n, n, 40)),
        generator.random((n + 1, n, 40)),
        generator.random((n, n, 40)),
    )


def layer(np: Any, n: int) -> tuple[Any, ...]:
    """A bump of water."""
    x = np.linspace(-1, 1, n)
    X, Y = np.meshgrid(x, x)
    return 1.0 + 0.1 * np.exp(-20 * (X**2 + Y**2)), np.zeros((n, n)), np.zeros((n, n))


@program(smoke=200, small=10_000, medium=300_000, large=3_000_000, data=water, jax=True)
def equation_of_state(np: Any, s: Any, t: Any, p: Any) -> Any:
    """A polynomial of 48 terms in the root of salinity, in temperature and in pressure; volume, density and sound."""
    ss = np.sqrt(0.025 * s + 0.6)
    tt = 0.025 * t
    pp = 1e-4 * p
    volume = 0.0 * ss
    slope = 0.0 * ss
    for k in (3, 2, 1, 0):
        level = 0.0 * ss
        for i in (3, 2, 1, 0):
            inner = 0.0 * ss
            for j in (2, 1, 0):
                inner = inner * tt + COEFFICIENTS[3 * i + j][k]
            level = level * ss + inner
        slope = slope * pp + volume
        volume = volume * pp + level
    volume = 1e-3 * (1 + 1e-2 * volume)
    density = 1 / volume
    sound = 1500 * np.sqrt(np.abs(density / 1000 / (1 + 0.01 * slope)))
    return volume, density - 1000, sound


@form(equation_of_state, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    table = np.array(COEFFICIENTS)

    @numba.njit(parallel=True)
    def compiled(s: Any, t: Any, p: Any) -> Any:
        v, d, c = np.empty_like(s), np.empty_like(s), np.empty_like(s)
        for m in numba.prange(len(s)):
            ss, tt, pp = np.sqrt(0.025 * s[m] + 0.6), 0.025 * t[m], 1e-4 * p[m]
            volume, slope = 0.0, 0.0
            for k in range(3, -1, -1):
                level = 0.0
                for i in range(3, -1, -1):
                    inner = 0.0
                    for j in range(2, -1, -1):
                        inner = inner * tt + table[3 * i + j, k]
                    level = level * ss + inner
                slope = slope * pp + volume
                volume = volume * pp + level
            volume = 1e-3 * (1 + 1e-2 * volume)
            v[m] = volume
            d[m] = 1 / volume - 1000
            c[m] = 1500 * np.sqrt(abs(1 / volume / 1000 / (1 + 0.01 * slope)))
        return v, d, c

    return compiled


@program(smoke=8, small=16, medium=64, large=200, data=columns)
def horizontal_diffusion(np: Any, field: Any, unused: Any, coefficient: Any) -> Any:
    """Diffusion of the fourth order with a limiter, on the inner columns."""
    lap = 4.0 * field[1:-1, 1:-1] - (
        field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    )
    flux_x = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux_x = np.where(flux_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, flux_x)
    flux_y = lap[1:-1, 1:] - lap[1:-1, :-1]
    flux_y = np.where(flux_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, flux_y)
    out = np.zeros_like(field)
    out[2:-2, 2:-2] = field[2:-2, 2:-2] - 0.1 * coefficient[2:-2, 2:-2] * (
        flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1]
    )
    return out


@form(horizontal_diffusion, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(f: Any, unused: Any, c: Any) -> Any:
        lap = 4.0 * f[1:-1, 1:-1] - (f[2:, 1:-1] + f[:-2, 1:-1] + f[1:-1, 2:] + f[1:-1, :-2])
        x = lap[1:, 1:-1] - lap[:-1, 1:-1]
        x = np.where(x * (f[2:-1, 2:-2] - f[1:-2, 2:-2]) > 0, 0, x)
        y = lap[1:-1, 1:] - lap[1:-1, :-1]
        y = np.where(y * (f[2:-2, 2:-1] - f[2:-2, 1:-2]) > 0, 0, y)
        new = f[2:-2, 2:-2] - 0.1 * c[2:-2, 2:-2] * (x[1:] - x[:-1] + y[:, 1:] - y[:, :-1])
        return np.zeros_like(f).at[2:-2, 2:-2].set(new)

    return compiled


@form(horizontal_diffusion, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit
    def lap(f: Any, i: int, j: int, k: int) -> float:
        return 4.0 * f[i, j, k] - (
            f[i + 1, j, k] + f[i - 1, j, k] + f[i, j + 1, k] + f[i, j - 1, k]
        )

    @numba.njit
    def flux(f: Any, i: int, j: int, k: int, di: int, dj: int) -> float:
        change = lap(f, i + di, j + dj, k) - lap(f, i, j, k)
        return 0.0 if change * (f[i + di, j + dj, k] - f[i, j, k]) > 0 else change

    @numba.njit(parallel=True)
    def compiled(f: Any, unused: Any, c: Any) -> Any:
        out = np.zeros_like(f)
        n, m, layers = f.shape
        for i in numba.prange(2, n - 2):
            for j in range(2, m - 2):
                for k in range(layers):
                    total = flux(f, i, j, k, 1, 0) - flux(f, i - 1, j, k, 1, 0)
                    total += flux(f, i, j, k, 0, 1) - flux(f, i, j - 1, k, 0, 1)
                    out[i, j, k] = f[i, j, k] - 0.1 * c[i, j, k] * total
        return out

    return compiled


@program(smoke=8, small=16, medium=64, large=200, data=columns, expressions=False)
def vertical_advection(np: Any, u: Any, w: Any, stage: Any) -> Any:
    """An implicit step along each column: a tridiagonal system layer by layer, down and up again."""
    layers = u.shape[2]
    c, d = np.zeros_like(u), np.zeros_like(u)
    gav = -0.25 * (w[1:, :, 1] + w[:-1, :, 1])
    cs = gav * 0.5
    c[:, :, 0] = cs / (1.5 - cs)
    d[:, :, 0] = (1.5 * u[:, :, 0] + stage[:, :, 0] - cs * (u[:, :, 1] - u[:, :, 0])) / (1.5 - cs)
    for k in range(1, layers - 1):
        below = -0.25 * (w[1:, :, k] + w[:-1, :, k])
        above = 0.25 * (w[1:, :, k + 1] + w[:-1, :, k + 1])
        a, cc = below * 0.5, above * 0.5
        b = 1.5 - a - cc
        right = (
            1.5 * u[:, :, k]
            + stage[:, :, k]
            - a * (u[:, :, k - 1] - u[:, :, k])
            - cc * (u[:, :, k + 1] - u[:, :, k])
        )
        factor = 1.0 / (b - c[:, :, k - 1] * a)
        c[:, :, k] = cc * factor
        d[:, :, k] = (right - d[:, :, k - 1] * a) * factor
    a = -0.125 * (w[1:, :, -1] + w[:-1, :, -1])
    right = 1.5 * u[:, :, -1] + stage[:, :, -1] - a * (u[:, :, -2] - u[:, :, -1])
    d[:, :, -1] = (right - d[:, :, -2] * a) / (1.5 - a - c[:, :, -2] * a)
    new = np.zeros_like(u)
    x = d[:, :, -1]
    new[:, :, -1] = 1.5 * (x - u[:, :, -1])
    for k in range(layers - 2, -1, -1):
        x = d[:, :, k] - c[:, :, k] * x
        new[:, :, k] = 1.5 * (x - u[:, :, k])
    return new


class Field:
    """A quantity on a periodic grid, with its differences."""

    def __init__(self, np: Any, values: Any) -> None:
        self.np, self.values = np, values

    def east(self) -> Any:
        return self.np.roll(self.values, -1, axis=1)

    def west(self) -> Any:
        return self.np.roll(self.values, 1, axis=1)

    def north(self) -> Any:
        return self.np.roll(self.values, -1, axis=0)

    def south(self) -> Any:
        return self.np.roll(self.values, 1, axis=0)

    def dx(self, h: float) -> Any:
        return (self.east() - self.west()) / (2 * h)

    def dy(self, h: float) -> Any:
        return (self.north() - self.south()) / (2 * h)


class Velocity(Field):
    """A component of the velocity, with its friction."""

    def friction(self, h: float) -> Any:
        around = self.east() + self.west() + self.north() + self.south()
        return 1e-3 * (around - 4 * self.values) / h**2


@program(smoke=16, small=64, medium=256, large=1000, data=layer)
def shallow_water(np: Any, h0: Any, u0: Any, v0: Any) -> Any:
    """A bump that becomes rings, with the fields as objects."""
    h, u, v = Field(np, h0), Velocity(np, u0), Velocity(np, v0)
    dx = 2.0 / len(h0)
    dt = 0.1 * dx
    energy = []
    for _ in range(20):
        du = (
            -(u.values * u.dx(dx) + v.values * u.dy(dx))
            - 9.81 * h.dx(dx)
            + u.friction(dx)
            + 0.1 * v.values
        )
        dv = (
            -(u.values * v.dx(dx) + v.values * v.dy(dx))
            - 9.81 * h.dy(dx)
            + v.friction(dx)
            - 0.1 * u.values
        )
        u.values = u.values + dt * du
        v.values = v.values + dt * dv
        carried_x, carried_y = Field(np, h.values * u.values), Field(np, h.values * v.values)
        h.values = h.values - dt * (carried_x.dx(dx) + carried_y.dy(dx))
        energy.append(
            np.sum(0.5 * h.values * (u.values**2 + v.values**2) + 0.5 * 9.81 * h.values**2)
        )
    return h.values, np.array(energy)


@form(shallow_water, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(h: Any, u: Any, v: Any) -> Any:
        d = 2.0 / len(h)
        dt = 0.1 * d

        def dx(a: Any) -> Any:
            return (np.roll(a, -1, 1) - np.roll(a, 1, 1)) / (2 * d)

        def dy(a: Any) -> Any:
            return (np.roll(a, -1, 0) - np.roll(a, 1, 0)) / (2 * d)

        def friction(a: Any) -> Any:
            around = np.roll(a, -1, 1) + np.roll(a, 1, 1) + np.roll(a, -1, 0) + np.roll(a, 1, 0)
            return 1e-3 * (around - 4 * a) / d**2

        def step(state: Any, _: Any) -> Any:
            h, u, v = state
            du = -(u * dx(u) + v * dy(u)) - 9.81 * dx(h) + friction(u) + 0.1 * v
            dv = -(u * dx(v) + v * dy(v)) - 9.81 * dy(h) + friction(v) - 0.1 * u
            u, v = u + dt * du, v + dt * dv
            h = h - dt * (dx(h * u) + dy(h * v))
            return (h, u, v), np.sum(0.5 * h * (u**2 + v**2) + 0.5 * 9.81 * h**2)

        (h, u, v), energy = jax.lax.scan(step, (h, u, v), None, length=20)
        return h, energy

    return compiled


@program(smoke=8, small=16, medium=64, large=200, data=columns, expressions=False)
def convective_adjustment(np: Any, temperature: Any, unused: Any, salt: Any) -> Any:
    """Layers that are heavier than those below them are mixed, level by level under a mask."""
    layers = temperature.shape[2]
    mixed = np.zeros(temperature.shape[:2], dtype=int)
    for _ in range(2):
        for k in range(layers - 1):
            upper = 0.8 * salt[:, :, k] - 0.2 * temperature[:, :, k]
            lower = 0.8 * salt[:, :, k + 1] - 0.2 * temperature[:, :, k + 1]
            heavy = upper > lower
            mixed[heavy] += 1
            for tracer in (temperature, salt):
                mean = 0.5 * (tracer[:, :, k] + tracer[:, :, k + 1])
                tracer[:, :, k] = np.where(heavy, mean, tracer[:, :, k])
                tracer[:, :, k + 1][heavy] = mean[heavy]
    return temperature, salt, mixed


@program(smoke=12, small=60, medium=250, large=1000, data=layer)
def staggered_wave(np: Any, h: Any, u: Any, v: Any) -> Any:
    """Waves with borders and islands: differences added into slices of fields, masks multiplied in."""
    n = len(h)
    mask = np.ones((n, n))
    mask[n // 3 : n // 2, n // 3 : n // 2] = 0.0
    p = (h - 1.0) * mask
    old = p.copy()
    for _ in range(20):
        q = (p[1:, :] - p[:-1, :]) * mask[1:, :] * mask[:-1, :]
        r = (p[:, 1:] - p[:, :-1]) * mask[:, 1:] * mask[:, :-1]
        lap = np.zeros_like(p)
        lap[:-1] += q
        lap[1:] -= q
        lap[:, :-1] += r
        lap[:, 1:] -= r
        new = 2 * p - old + 0.2 * lap
        new *= mask
        new[0] = new[-1] = 0.0
        new[:, 0] = 0.0
        new[:, -1] = new[:, -2]
        old, p = p, new
    return p


@form(staggered_wave, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(h: Any, u: Any, v: Any) -> Any:
        n = len(h)
        mask = np.ones((n, n)).at[n // 3 : n // 2, n // 3 : n // 2].set(0.0)

        def step(_: Any, state: Any) -> Any:
            p, old = state
            q = (p[1:, :] - p[:-1, :]) * mask[1:, :] * mask[:-1, :]
            r = (p[:, 1:] - p[:, :-1]) * mask[:, 1:] * mask[:, :-1]
            lap = np.zeros_like(p).at[:-1].add(q).at[1:].add(-q)
            lap = lap.at[:, :-1].add(r).at[:, 1:].add(-r)
            new = (2 * p - old + 0.2 * lap) * mask
            new = new.at[0].set(0.0).at[-1].set(0.0).at[:, 0].set(0.0)
            return new.at[:, -1].set(new[:, -2]), p

        p = (h - 1.0) * mask
        return jax.lax.fori_loop(0, 20, step, (p, p))[0]

    return compiled
