"""Graphs, as matrices and as lists of indices."""

from __future__ import annotations

from typing import Any

from .program import form, program


def roads(np: Any, n: int) -> tuple[Any, ...]:
    """The lengths of roads between towns, infinite where there is none."""
    generator = np.random.default_rng(41)
    distance = generator.uniform(1, 10, (n, n))
    distance[generator.random((n, n)) < 0.7] = np.inf
    np.fill_diagonal(distance, 0)
    return (distance,)


def links(np: Any, n: int) -> tuple[Any, ...]:
    """A graph with about eight edges for each node, as two lists of nodes."""
    generator = np.random.default_rng(42)
    return n, generator.integers(0, n, 8 * n), generator.integers(0, n, 8 * n)


def sparse(np: Any, n: int) -> tuple[Any, ...]:
    """A sparse matrix by rows, and a vector."""
    generator = np.random.default_rng(43)
    counts = generator.integers(0, 12, n)
    row = np.zeros(n + 1, dtype=np.int64)
    row[1:] = np.cumsum(counts)
    total = int(row[-1])
    return row, generator.integers(0, n, total), generator.random(total), generator.random(n)


@program(smoke=12, small=60, medium=200, large=500, data=roads, expressions=False)
def floyd_warshall(np: Any, paths: Any) -> Any:
    """The shortest ways between all towns, the table updated in place, row by row."""
    n = len(paths)
    for k in range(n):
        for i in range(n):
            paths[i, :] = np.minimum(paths[i, :], paths[i, k] + paths[k, :])
    return paths


@form(floyd_warshall, "numba")
def _(numba: Any) -> Any:
    @numba.njit(parallel=True)
    def compiled(paths: Any) -> Any:
        n = len(paths)
        for k in range(n):
            for i in numba.prange(n):
                for j in range(n):
                    paths[i, j] = min(paths[i, j], paths[i, k] + paths[k, j])
        return paths

    return compiled


@form(floyd_warshall, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    def through(k: Any, d: Any) -> Any:
        return np.minimum(d, d[:, k, None] + d[None, k, :])

    return jax.jit(lambda d: jax.lax.fori_loop(0, len(d), through, d))


@program(smoke=20, small=1000, medium=10_000, large=50_000, data=sparse, expressions=False)
def sparse_rows(np: Any, row: Any, column: Any, value: Any, x: Any) -> Any:
    """A sparse matrix times a vector, row after row by lists of indices."""
    y = np.empty(len(row) - 1)
    for i in range(len(row) - 1):
        which = column[row[i] : row[i + 1]]
        y[i] = value[row[i] : row[i + 1]] @ x[which]
    return y


@form(sparse_rows, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(row: Any, column: Any, value: Any, x: Any) -> Any:
        y = np.empty(len(row) - 1)
        for i in numba.prange(len(y)):
            s = 0.0
            for k in range(row[i], row[i + 1]):
                s += value[k] * x[column[k]]
            y[i] = s
        return y

    return compiled


@program(smoke=20, small=2000, medium=50_000, large=500_000, data=links)
def page_ranks(np: Any, n: int, source: Any, target: Any) -> Any:
    """How important nodes are that others point to, over a list of edges."""
    out = np.bincount(source, minlength=n)
    share = np.zeros(n)
    share[out > 0] = 1.0 / out[out > 0]
    rank = np.full(n, 1.0 / n)
    for _ in range(20):
        flow = np.bincount(target, weights=rank[source] * share[source], minlength=n)
        lost = rank[out == 0].sum()
        rank = 0.15 / n + 0.85 * (flow + lost / n)
    return rank


@form(page_ranks, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    def run(n: int, source: Any, target: Any) -> Any:
        out = np.zeros(n).at[source].add(1.0)
        share = np.where(out > 0, 1.0 / np.where(out > 0, out, 1.0), 0.0)

        def step(_: Any, rank: Any) -> Any:
            flow = np.zeros(n).at[target].add((rank * share)[source])
            return 0.15 / n + 0.85 * (flow + np.where(out == 0, rank, 0.0).sum() / n)

        return jax.lax.fori_loop(0, 20, step, np.full(n, 1.0 / n))

    return jax.jit(run, static_argnums=0)


@form(page_ranks, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit
    def compiled(n: Any, source: Any, target: Any) -> Any:
        out = np.zeros(n)
        for s in source:
            out[s] += 1
        rank = np.full(n, 1.0 / n)
        for _ in range(20):
            flow = np.zeros(n)
            lost = 0.0
            for i in range(n):
                if out[i] == 0:
                    lost += rank[i]
            for k in range(len(source)):
                flow[target[k]] += rank[source[k]] / out[source[k]]
            rank = 0.15 / n + 0.85 * (flow + lost / n)
        return rank

    return compiled


@program(smoke=20, small=2000, medium=50_000, large=500_000, data=links, tolerance=0.0)
def components(np: Any, n: int, source: Any, target: Any) -> Any:
    """Which nodes hang together: the smallest name spreads along the edges."""
    label = np.arange(n)
    while True:
        least = np.minimum(label[source], label[target])
        new = label.copy()
        np.minimum.at(new, source, least)
        np.minimum.at(new, target, least)
        new = new[new]
        if (new == label).all():
            return label, np.unique(label).size
        label = new


@program(smoke=20, small=200, medium=1000, large=3000, data=roads, tolerance=0.0, expressions=False)
def breadth_first(np: Any, distance: Any) -> Any:
    """How many roads lie between the first town and the others, by fronts in a matrix of neighbours."""
    near = distance < 1.2
    n = len(near)
    level = np.full(n, -1)
    front = np.zeros(n, dtype=bool)
    front[0] = True
    depth = 0
    while front.any():
        level[front] = depth
        front = near[front].any(axis=0) & (level < 0)
        depth += 1
    return level


@program(smoke=20, small=100, medium=400, large=1500, data=roads, expressions=False)
def dijkstra(np: Any, distance: Any) -> Any:
    """The shortest ways from one town, the nearest unknown one next."""
    n = len(distance)
    best = np.full(n, np.inf)
    best[0] = 0.0
    done = np.zeros(n, dtype=bool)
    before = np.full(n, -1)
    for _ in range(n):
        here = np.argmin(np.where(done, np.inf, best))
        done[here] = True
        there = best[here] + distance[here]
        better = ~done & (there < best)
        best[better] = there[better]
        before[better] = here
    return best, before


@program(smoke=20, small=100, medium=300, large=800, data=roads, tolerance=0.0)
def triangles(np: Any, distance: Any) -> Any:
    """How many triangles each node belongs to, and how dense its neighbourhood is."""
    adjacent = distance < 5
    adjacent = (adjacent | adjacent.T).astype(float)
    np.fill_diagonal(adjacent, 0.0)
    count = np.diag(adjacent @ adjacent @ adjacent) / 2
    degree = adjacent.sum(axis=1)
    return count, np.divide(
        2 * count, degree * (degree - 1), out=np.zeros(len(degree)), where=degree > 1
    )
