"""Tables that are filled from a corner, a row or an element after the other."""

from __future__ import annotations

from typing import Any

from .program import form, program


def _words(np: Any, n: int) -> tuple[Any, ...]:
    generator = np.random.default_rng(31)
    return generator.integers(0, 4, n), generator.integers(0, 4, n)


def _bases(np: Any, n: int) -> tuple[Any, ...]:
    return (np.random.default_rng(32).integers(0, 4, n),)


def _things(np: Any, n: int) -> tuple[Any, ...]:
    generator = np.random.default_rng(33)
    return generator.integers(1, 60, 100), generator.integers(1, 1000, 100), n


def _terrain(np: Any, n: int) -> tuple[Any, ...]:
    return (np.random.default_rng(34).random((n, n)),)


def _chances(np: Any, n: int) -> tuple[Any, ...]:
    generator = np.random.default_rng(35)
    sizes = generator.integers(5, 50, n + 1)
    return (sizes.astype(float),)


@program(smoke=10, small=40, medium=120, large=250, data=_words, tolerance=0.0, expressions=False)
def edit_distance(np: Any, a: Any, b: Any) -> Any:
    """How many letters must change to make one word another, an element at a time."""
    n, m = len(a), len(b)
    D = np.zeros((n + 1, m + 1), dtype=int)
    D[:, 0] = np.arange(n + 1)
    D[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                D[i, j] = D[i - 1, j - 1]
            else:
                D[i, j] = 1 + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D


@form(edit_distance, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit
    def compiled(a: Any, b: Any) -> Any:
        n, m = len(a), len(b)
        D = np.zeros((n + 1, m + 1), dtype=np.int64)
        D[:, 0] = np.arange(n + 1)
        D[0, :] = np.arange(m + 1)
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                if a[i - 1] == b[j - 1]:
                    D[i, j] = D[i - 1, j - 1]
                else:
                    D[i, j] = 1 + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
        return D

    return compiled


@program(
    smoke=20, small=200, medium=1000, large=3000, data=_words, tolerance=0.0, expressions=False
)
def common_letters(np: Any, a: Any, b: Any) -> Any:
    """The longest sequence that two words have in common, by antidiagonals kept as three lines."""
    n = len(a)
    before, last = np.zeros(n + 1, dtype=int), np.zeros(n + 1, dtype=int)
    for d in range(2, 2 * n + 1):
        low, high = max(1, d - n), min(n, d - 1)
        i = np.arange(low, high + 1)
        same = a[i - 1] == b[d - i - 1]
        now = np.zeros(n + 1, dtype=int)
        now[low : high + 1] = np.where(
            same, before[low - 1 : high] + 1, np.maximum(last[low - 1 : high], last[low : high + 1])
        )
        before, last = last, now
    return last[n]


@program(smoke=100, small=1000, medium=20_000, large=300_000, data=_things, tolerance=0.0)
def knapsack(np: Any, weights: Any, values: Any, room: int) -> Any:
    """What a sack can hold at most, one thing after the other."""
    best = np.zeros(room + 1, dtype=np.int64)
    taken = np.zeros((len(weights), room + 1), dtype=bool)
    for k in range(len(weights)):
        w = int(weights[k])
        with_it = best[:-w] + values[k]
        taken[k, w:] = with_it > best[w:]
        best[w:] = np.maximum(best[w:], with_it)
    return best, taken.sum(axis=1)


@form(knapsack, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit
    def compiled(weights: Any, values: Any, room: Any) -> Any:
        best = np.zeros(room + 1, dtype=np.int64)
        counts = np.zeros(len(weights), dtype=np.int64)
        for k in range(len(weights)):
            w = weights[k]
            for r in range(room, w - 1, -1):
                if best[r - w] + values[k] > best[r]:
                    best[r] = best[r - w] + values[k]
                    counts[k] += 1
        return best, counts

    return compiled


@program(smoke=10, small=40, medium=100, large=200, data=_bases, tolerance=0.0, expressions=False)
def nussinov(np: Any, seq: Any) -> Any:
    """How a strand of RNA folds upon itself: a triangle filled from its diagonal."""
    n = len(seq)
    table = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            pair = 1 if seq[i] + seq[j] == 3 else 0
            inner = table[i + 1, j - 1] + (pair if i < j - 1 else 0)
            split = np.max(table[i, i:j] + table[i + 1 : j + 1, j])
            table[i, j] = max(best, inner, split)
    return table


@form(nussinov, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit
    def compiled(seq: Any) -> Any:
        n = len(seq)
        table = np.zeros((n, n), dtype=np.int64)
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                best = max(table[i, j - 1], table[i + 1, j])
                pair = 1 if seq[i] + seq[j] == 3 and i < j - 1 else 0
                best = max(best, table[i + 1, j - 1] + pair)
                for k in range(i, j):
                    best = max(best, table[i, k] + table[k + 1, j])
                table[i, j] = best
        return table

    return compiled


@program(smoke=20, small=200, medium=1000, large=4000, data=_terrain, expressions=False)
def cheapest_path(np: Any, cost: Any) -> Any:
    """The cheapest way down a slope, row after row, and back up along it."""
    n = len(cost)
    total = cost.copy()
    for i in range(1, n):
        left = np.concatenate(([np.inf], total[i - 1, :-1]))
        right = np.append(total[i - 1, 1:], np.inf)
        total[i] += np.minimum(np.minimum(left, total[i - 1]), right)
    path = np.zeros(n, dtype=int)
    path[-1] = np.argmin(total[-1])
    for i in range(n - 2, -1, -1):
        low = max(path[i + 1] - 1, 0)
        path[i] = low + np.argmin(total[i, low : path[i + 1] + 2])
    return total[-1], path


@program(smoke=10, small=40, medium=120, large=250, data=_chances, tolerance=0.0, expressions=False)
def matrix_chain(np: Any, sizes: Any) -> Any:
    """In which order to multiply a chain of matrices."""
    n = len(sizes) - 1
    cost = np.zeros((n, n))
    split = np.zeros((n, n), dtype=int)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            ways = (
                cost[i, i:j]
                + cost[i + 1 : j + 1, j]
                + sizes[i] * sizes[i + 1 : j + 1] * sizes[j + 1]
            )
            k = np.argmin(ways)
            cost[i, j] = ways[k]
            split[i, j] = i + k
    return cost, split


@program(smoke=20, small=100, medium=400, large=1500, data=_words, expressions=False)
def time_warping(np: Any, a: Any, b: Any) -> Any:
    """How far two series are apart if time may stretch; a row depends on the one above and on itself."""
    x, y = np.cumsum(a - 1.5), np.cumsum(b - 1.5)
    n, m = len(x), len(y)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        local = np.abs(x[i - 1] - y)
        above = np.minimum(D[i - 1, 1:], D[i - 1, :-1])
        run = np.cumsum(local)
        D[i, 1:] = run + np.minimum.accumulate(above + local - run)
    return D[-1, -1], D[1:, -1]
