"""Sequences, populations, nerves."""

from __future__ import annotations

from typing import Any

from .program import program


@program(smoke=40, small=100, medium=400, large=1500, tolerance=0.0, expressions=False)
def align(np: Any, n: int) -> Any:
    """The alignment of Needleman and Wunsch, one diagonal after the other."""
    generator = np.random.default_rng(1)
    a = generator.integers(0, 4, n)
    b = generator.integers(0, 4, n + n // 10)
    m = len(b)
    score = np.zeros((n + 1, m + 1), dtype=np.int64)
    score[:, 0] = -2 * np.arange(n + 1)
    score[0, :] = -2 * np.arange(m + 1)
    for d in range(2, n + m + 1):
        i = np.arange(max(1, d - m), min(n, d - 1) + 1)
        j = d - i
        match = np.where(a[i - 1] == b[j - 1], 1, -1)
        best = np.maximum(score[i - 1, j - 1] + match, score[i - 1, j] - 2)
        score[i, j] = np.maximum(best, score[i, j - 1] - 2)
    return score


@program(smoke=60, small=150, medium=600, large=2500, tolerance=0.0, expressions=False)
def align_local(np: Any, n: int) -> Any:
    """The alignment of Smith and Waterman, row by row, gaps by a running maximum."""
    generator = np.random.default_rng(2)
    a = generator.integers(0, 4, n)
    b = generator.integers(0, 4, n)
    score = np.zeros((n + 1, n + 1))
    gaps = 2.0 * np.arange(n)
    best = 0.0
    for i in range(1, n + 1):
        match = np.where(b == a[i - 1], 3.0, -3.0)
        row = np.maximum(score[i - 1, :-1] + match, score[i - 1, 1:] - 2.0)
        row = np.maximum(row, 0.0)
        score[i, 1:] = np.maximum.accumulate(row + gaps) - gaps
        best = max(best, score[i].max())
    return score, best


@program(smoke=200, small=1000, medium=20000, large=500000, tolerance=0.0, expressions=False)
def kmers(np: Any, n: int) -> Any:
    """How often each word of six letters stands in a strand."""
    generator = np.random.default_rng(3)
    strands = generator.integers(0, 4, (20, n))
    counts = np.zeros(4**6, dtype=np.int64)
    for strand in strands:
        codes = np.zeros(n - 5, dtype=np.int64)
        for k in range(6):
            codes = codes * 4 + strand[k : n - 5 + k]
        counts += np.bincount(codes, minlength=4**6)
    order = np.argsort(-counts, kind="stable")
    return order[:20], counts[order[:20]]


@program(smoke=50, small=200, medium=1000, large=2500)
def neurons(np: Any, n: int) -> Any:
    """A thousand nerves of Izhikevich that excite and inhibit each other."""
    generator = np.random.default_rng(4)
    excite, inhibit = n * 4 // 5, n - n * 4 // 5
    re, ri = generator.random(excite), generator.random(inhibit)
    a = np.concatenate([0.02 * np.ones(excite), 0.02 + 0.08 * ri])
    b = np.concatenate([0.2 * np.ones(excite), 0.25 - 0.05 * ri])
    c = np.concatenate([-65 + 15 * re**2, -65 * np.ones(inhibit)])
    d = np.concatenate([8 - 6 * re**2, 2 * np.ones(inhibit)])
    S = np.hstack([0.5 * generator.random((n, excite)), -generator.random((n, inhibit))])
    v = -65 * np.ones(n)
    u = b * v
    spikes = []
    for _ in range(200):
        current = 5 * generator.random(n)
        fired = np.where(v >= 30)[0]
        spikes.append(len(fired))
        v[fired] = c[fired]
        u[fired] += d[fired]
        current = current + S[:, fired].sum(axis=1)
        v += 0.5 * (0.04 * v**2 + 5 * v + 140 - u + current)
        v += 0.5 * (0.04 * v**2 + 5 * v + 140 - u + current)
        u += a * (b * v - u)
    return np.array(spikes)


@program(smoke=1000, small=4096, medium=65536, large=1048576, tolerance=0.0)
def epidemic(np: Any, n: int) -> Any:
    """People who meet by chance, fall ill, and recover."""
    generator = np.random.default_rng(5)
    state = np.zeros(n, dtype=np.int8)
    state[generator.integers(0, n, 10)] = 1
    history = []
    for _ in range(60):
        ill = state == 1
        meets = generator.integers(0, n, n)
        caught = (state == 0) & ill[meets] & (generator.random(n) < 0.4)
        recovers = ill & (generator.random(n) < 0.1)
        state[caught] = 1
        state[recovers] = 2
        history.append([np.count_nonzero(state == k) for k in range(3)])
    return np.array(history)


@program(smoke=20, small=50, medium=200, large=10000, expressions=False)
def genetic(np: Any, n: int) -> Any:
    """A population of answers that is selected, crossed and changed."""
    generator = np.random.default_rng(6)
    genes = 30
    population = generator.uniform(-5, 5, (n, genes))
    best = []
    for _ in range(150):
        fitness = np.sum(population**2 - 10 * np.cos(2 * np.pi * population) + 10, axis=1)
        rivals = generator.integers(0, n, (n, 2))
        first = fitness[rivals[:, 0]] < fitness[rivals[:, 1]]
        parents = population[np.where(first, rivals[:, 0], rivals[:, 1])]
        partner = parents[generator.permutation(n)]
        mask = generator.random((n, genes)) < 0.5
        children = np.where(mask, parents, partner)
        changed = generator.random((n, genes)) < 0.05
        children[changed] += generator.normal(0, 0.3, changed.sum())
        children[0] = population[np.argmin(fitness)]
        population = np.clip(children, -5, 5)
        best.append(fitness.min())
    return np.array(best)


@program(smoke=20, small=300, medium=3000, large=20000, expressions=False)
def hidden_markov(np: Any, n: int) -> Any:
    """The likeliest path through hidden states, by Viterbi, and the forward sums."""
    generator = np.random.default_rng(7)
    states, letters = 12, 20
    move = generator.random((states, states))
    move /= move.sum(axis=1, keepdims=True)
    emit = generator.random((states, letters))
    emit /= emit.sum(axis=1, keepdims=True)
    seen = generator.integers(0, letters, n)
    logs = np.log(move)
    score = np.log(emit[:, seen[0]] / states)
    back = np.zeros((n, states), dtype=int)
    alpha = emit[:, seen[0]] / states
    total = 0.0
    for t in range(1, n):
        all_ways = score[:, None] + logs
        back[t] = np.argmax(all_ways, axis=0)
        score = np.max(all_ways, axis=0) + np.log(emit[:, seen[t]])
        alpha = (alpha @ move) * emit[:, seen[t]]
        scale = alpha.sum()
        total += np.log(scale)
        alpha /= scale
    path = [int(np.argmax(score))]
    for t in range(n - 1, 0, -1):
        path.append(int(back[t, path[-1]]))
    return np.array(path[::-1]), total
