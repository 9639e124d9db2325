"""Cells that look at their neighbours."""

from __future__ import annotations

from typing import Any

from .program import form, program


def cells(np: Any, n: int) -> tuple[Any, ...]:
    """A field of cells, some of them alive."""
    return ((np.random.default_rng(71).random((n, n)) < 0.3).astype(np.int64),)


@program(smoke=16, small=64, medium=256, large=1000, data=cells, tolerance=0.0, jax=True)
def rolled_life(np: Any, grid: Any) -> Any:
    """Conway's game on a torus, eight rolled copies summed."""
    for _ in range(20):
        around = sum(
            np.roll(np.roll(grid, i, 0), j, 1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        )
        grid = np.where((around == 3) | ((grid == 1) & (around == 2)), 1, 0)
    return grid, grid.sum()


@form(rolled_life, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def step(g: Any) -> Any:
        n = len(g)
        new = np.empty_like(g)
        for i in numba.prange(n):
            up, down = (i - 1) % n, (i + 1) % n
            for j in range(n):
                a, b = (j - 1) % n, (j + 1) % n
                s = g[up, a] + g[up, j] + g[up, b] + g[i, a] + g[i, b]
                s += g[down, a] + g[down, j] + g[down, b]
                new[i, j] = 1 if s == 3 or (g[i, j] == 1 and s == 2) else 0
        return new

    def compiled(grid: Any) -> Any:
        for _ in range(20):
            grid = step(grid)
        return grid, grid.sum()

    return compiled


@program(smoke=16, small=64, medium=256, large=1000, data=cells, tolerance=0.0)
def border_life(np: Any, grid: Any) -> Any:
    """The same within a border of dead cells: neighbours added into an array, then masks."""
    for _ in range(20):
        N = np.zeros(grid.shape, dtype=int)
        N[1:-1, 1:-1] += (
            grid[:-2, :-2] + grid[:-2, 1:-1] + grid[:-2, 2:]
            + grid[1:-1, :-2] + grid[1:-1, 2:]
            + grid[2:, :-2] + grid[2:, 1:-1] + grid[2:, 2:]
        )  # fmt: skip
        birth = (N == 3) & (grid == 0)
        survive = ((N == 2) | (N == 3)) & (grid == 1)
        grid[...] = 0
        grid[birth | survive] = 1
    return grid


@form(border_life, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(grid: Any) -> Any:
        def step(_: Any, g: Any) -> Any:
            inner = (
                g[:-2, :-2] + g[:-2, 1:-1] + g[:-2, 2:] + g[1:-1, :-2] + g[1:-1, 2:]
                + g[2:, :-2] + g[2:, 1:-1] + g[2:, 2:]
            )  # fmt: skip
            N = np.zeros_like(g).at[1:-1, 1:-1].set(inner)
            return ((N == 3) | ((N == 2) & (g == 1))).astype(g.dtype)

        return jax.lax.fori_loop(0, 20, step, grid)

    return compiled


@program(smoke=16, small=64, medium=256, large=1000, data=cells, tolerance=0.0)
def forest_fire(np: Any, trees: Any) -> Any:
    """Trees that grow, burn, and set those beside them on fire."""
    generator = np.random.default_rng(72)
    burning = np.zeros(trees.shape, dtype=bool)
    trees = trees.astype(bool)
    counts = []
    for _ in range(20):
        beside = np.zeros_like(burning)
        beside[1:] |= burning[:-1]
        beside[:-1] |= burning[1:]
        beside[:, 1:] |= burning[:, :-1]
        beside[:, :-1] |= burning[:, 1:]
        chance = generator.random(trees.shape)
        catches = trees & (beside | (chance < 0.001))
        grows = ~trees & ~burning & (chance > 0.95)
        trees = (trees & ~catches) | grows
        burning = catches
        counts.append((np.count_nonzero(trees), np.count_nonzero(burning)))
    return np.array(counts), trees


def _sand(np: Any, n: int) -> tuple[Any, ...]:
    return (np.random.default_rng(73).integers(0, 6, (n, n)),)


@program(smoke=12, small=40, medium=150, large=500, data=_sand, tolerance=0.0)
def sandpile(np: Any, grains: Any) -> Any:
    """Heaps of more than three grains that topple onto their neighbours until all is quiet."""
    toppled = 0
    for _ in range(200):
        high = grains > 3
        if not np.any(high):
            break
        toppled += int(high.sum())
        grains[high] -= 4
        grains[1:, :][high[:-1, :]] += 1
        grains[:-1, :][high[1:, :]] += 1
        grains[:, 1:][high[:, :-1]] += 1
        grains[:, :-1][high[:, 1:]] += 1
    return grains, toppled


class Agents:
    """Walkers on a torus that leave a scent and follow it."""

    def __init__(self, np: Any, n: int, size: int) -> None:
        generator = np.random.default_rng(74)
        self.np, self.size = np, size
        self.x, self.y = generator.random(n) * size, generator.random(n) * size
        self.angle = generator.random(n) * 2 * np.pi
        self.scent = np.zeros((size, size))

    def smell(self, turn: float) -> Any:
        np = self.np
        i = (self.x + 3 * np.cos(self.angle + turn)).astype(int) % self.size
        j = (self.y + 3 * np.sin(self.angle + turn)).astype(int) % self.size
        return self.scent[i, j]

    def move(self) -> None:
        np = self.np
        left, ahead, right = self.smell(0.4), self.smell(0.0), self.smell(-0.4)
        self.angle = self.angle + np.where(
            ahead >= np.maximum(left, right), 0.0, np.where(left > right, 0.3, -0.3)
        )
        self.x = (self.x + np.cos(self.angle)) % self.size
        self.y = (self.y + np.sin(self.angle)) % self.size
        np.add.at(self.scent, (self.x.astype(int) % self.size, self.y.astype(int) % self.size), 1.0)
        s = self.scent
        mean = (s + np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)) / 5
        self.scent = 0.9 * mean


@program(smoke=100, small=1000, medium=20_000, large=200_000)
def slime(np: Any, n: int) -> Any:
    """A slime mould of agents with a class of their own."""
    agents = Agents(np, n, max(16, int(n**0.5)))
    for _ in range(15):
        agents.move()
    return agents.scent
