"""Whole numbers, graphs, matrices."""

from __future__ import annotations

from typing import Any

from .program import program


@program(smoke=1000, small=10000, medium=1000000, large=20000000, tolerance=0.0, expressions=False)
def sieve(np: Any, n: int) -> Any:
    """The primes up to a million, and the gaps between them."""
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    for k in range(2, int(n**0.5) + 1):
        if prime[k]:
            prime[k * k :: k] = False
    primes = np.nonzero(prime)[0]
    gaps = np.diff(primes)
    return len(primes), primes[-5:], gaps.max(), np.bincount(gaps)


@program(smoke=300, small=1000, medium=20000, large=300000, tolerance=0.0)
def collatz(np: Any, n: int) -> Any:
    """How long the steps of Collatz take from each number."""
    values = np.arange(1, n + 1)
    steps = np.zeros(n, dtype=int)
    active = values > 1
    while active.any():
        odd = values % 2 == 1
        values = np.where(active, np.where(odd, 3 * values + 1, values // 2), values)
        steps += active
        active = values > 1
    return steps


@program(smoke=20, small=60, medium=250, large=600)
def floyd(np: Any, n: int) -> Any:
    """The shortest ways between all towns, by Floyd and Warshall."""
    generator = np.random.default_rng(1)
    distance = generator.uniform(1, 10, (n, n))
    distance[generator.random((n, n)) < 0.7] = np.inf
    np.fill_diagonal(distance, 0)
    for k in range(n):
        distance = np.minimum(distance, distance[:, k, None] + distance[None, k, :])
    return distance


@program(smoke=40, small=200, medium=1000, large=4000)
def pagerank(np: Any, n: int) -> Any:
    """How important pages are that others point to."""
    generator = np.random.default_rng(2)
    links = (generator.random((n, n)) < 0.01).astype(float)
    out = links.sum(axis=0)
    links[:, out == 0] = 1.0
    M = links / links.sum(axis=0)
    rank = np.ones(n) / n
    for _ in range(100):
        new = 0.15 / n + 0.85 * (M @ rank)
        if np.abs(new - rank).sum() < 1e-10:
            break
        rank = new
    return rank


@program(smoke=20, small=40, medium=120, large=300, tolerance=1e-7, expressions=False)
def gauss(np: Any, n: int) -> Any:
    """Elimination with pivots, row by row."""
    generator = np.random.default_rng(3)
    A = generator.random((n, n)) + np.eye(n)
    b = generator.random(n)
    for k in range(n):
        pivot = k + np.argmax(np.abs(A[k:, k]))
        if pivot != k:
            A[[k, pivot]] = A[[pivot, k]]
            b[[k, pivot]] = b[[pivot, k]]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k:] -= factor * A[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


@program(smoke=20, small=50, medium=200, large=600, tolerance=1e-7, expressions=False)
def orthogonal(np: Any, n: int) -> Any:
    """Vectors made orthogonal by Gram and Schmidt, then the largest eigenvalue by powers."""
    generator = np.random.default_rng(4)
    A = generator.random((n, n))
    Q = np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        v -= Q[:, :j] @ (Q[:, :j].T @ v)
        Q[:, j] = v / np.linalg.norm(v)
    S = A + A.T
    x = np.ones(n)
    for _ in range(100):
        x = S @ x
        x /= np.linalg.norm(x)
    return np.abs(Q.T @ Q - np.eye(n)).max() < 1e-9, x @ S @ x


@program(smoke=20, small=100, medium=400, large=2000, tolerance=0.0, expressions=False)
def automaton(np: Any, n: int) -> Any:
    """Wolfram's rule 110, a row after the other."""
    rule = np.array([(110 >> k) & 1 for k in range(8)], dtype=np.uint8)
    grid = np.zeros((n, 2 * n), dtype=np.uint8)
    grid[0, -1] = 1
    for t in range(n - 1):
        row = grid[t]
        grid[t + 1] = rule[4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)]
    return grid
