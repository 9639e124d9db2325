"""Learning, graphs, matrices, tables, words and days, games, and decisions."""

import itertools

from . import user


@user
def kmeans(np):
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(c, 0.3, (40, 2)) for c in ((0, 0), (3, 1), (1, 4))])
    centers = points[[0, 50, 100]].copy()
    for _ in range(8):
        d = ((points[:, None] - centers[None]) ** 2).sum(-1)
        label = d.argmin(1)
        for k in range(3):
            centers[k] = points[label == k].mean(0)
    return (
        centers,
        label,
        np.bincount(label, minlength=3),
        [float(points[label == k].std()) for k in range(3)],
    )


@user
def logistic_regression(np):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((120, 6))
    w = np.arange(6) - 2.5
    y = (x @ w + 0.3 * rng.standard_normal(120) > 0).astype(float)
    a = np.zeros(6)
    losses = []
    for _ in range(30):
        p = 1 / (1 + np.exp(-(x @ a)))
        a -= 0.5 * x.T @ (p - y) / len(y)
        losses.append(float(-np.mean(y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9))))
    order = np.argsort(-abs(a), kind="stable")
    return a, losses, order, (p > 0.5).mean()


@user
def tiny_network(np):
    rng = np.random.RandomState(4)
    x = rng.randn(60, 5)
    y = np.sin(x.sum(1, keepdims=True))
    w1, b1, w2, b2 = rng.randn(5, 16) * 0.3, np.zeros(16), rng.randn(16, 1) * 0.3, np.zeros(1)
    for _ in range(20):
        h = np.maximum(x @ w1 + b1, 0)
        out = h @ w2 + b2
        g = 2 * (out - y) / len(x)
        gw2, gb2 = h.T @ g, g.sum(0)
        gh = g @ w2.T
        gh[h <= 0] = 0
        w1 -= 0.05 * x.T @ gh
        b1 -= 0.05 * gh.sum(0)
        w2 -= 0.05 * gw2
        b2 -= 0.05 * gb2
    return w1, b1, w2, b2, float(((out - y) ** 2).mean())


@user
def pca_by_power(np):
    rng = np.random.default_rng(2)
    data = rng.standard_normal((80, 12)) * np.linspace(3, 0.1, 12)
    data -= data.mean(0)
    cov = data.T @ data / (len(data) - 1)
    found = []
    for _ in range(3):
        v = np.ones(12)
        for _ in range(200):
            v = cov @ v
            v /= np.linalg.norm(v)
        lam = v @ cov @ v
        cov = cov - lam * np.outer(v, v)
        found.append((float(lam), abs(v)))
    return found


@user
def page_rank(np):
    n = 50
    links = (np.arange(n * n).reshape(n, n) * 7919 % 101 < 8).astype(float)
    np.fill_diagonal(links, 0)
    out = links.sum(1)
    links[out == 0] = 1
    out = links.sum(1, keepdims=True)
    p = (links / out).T
    r = np.full(n, 1 / n)
    k = 0
    while k < 100:
        k += 1
        new = 0.85 * p @ r + 0.15 / n
        if abs(new - r).sum() < 1e-10:
            break
        r = new
    return r, k, np.sort(r)[::-1][:5]


@user
def floyd_warshall(np):
    n = 30
    d = (np.arange(n * n).reshape(n, n) * 37 % 97 + 1).astype(float)
    d[d > 40] = np.inf
    d[np.arange(n), np.arange(n)] = 0
    for k in range(n):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1])
    e = d.copy()
    for k in range(n):
        np.minimum(e, e[:, k, None] + e[None, k], out=e)
    return d, e, np.isinf(d).sum()


@user
def bfs_levels(np):
    n = 60
    edges = np.array(
        [(k, (k * 7 + 3) % n) for k in range(n)] + [(k, (k + 1) % n) for k in range(0, n, 4)]
    )
    adjacency = np.zeros((n, n), bool)
    adjacency[edges[:, 0], edges[:, 1]] = True
    adjacency |= adjacency.T
    level = np.full(n, -1)
    frontier = np.zeros(n, bool)
    frontier[0] = True
    depth = 0
    while frontier.any():
        level[frontier] = depth
        frontier = adjacency[frontier].any(0) & (level < 0)
        depth += 1
    degree = adjacency.sum(1)
    return level, degree, np.unique(level, return_counts=True)


@user
def lu_by_hand(np):
    n = 25
    a = np.sin(np.arange(n * n)).reshape(n, n) + 5 * np.eye(n)
    lu = a.copy()
    perm = np.arange(n)
    for k in range(n - 1):
        p = k + int(abs(lu[k:, k]).argmax())
        if p != k:
            lu[[k, p]] = lu[[p, k]]
            perm[[k, p]] = perm[[p, k]]
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 :] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 :])
    low, up = np.tril(lu, -1) + np.eye(n), np.triu(lu)
    b = np.arange(n) + 1.0
    y = np.zeros(n)
    x = np.zeros(n)
    for i in range(n):
        y[i] = b[perm][i] - low[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - up[i, i + 1 :] @ x[i + 1 :]) / up[i, i]
    return np.abs(low @ up - a[perm]).max() < 1e-10, x, np.abs(a @ x - b).max() < 1e-9


@user
def gram_schmidt(np):
    a = np.cos(np.arange(200.0) ** 1.5).reshape(20, 10)
    q = np.zeros_like(a)
    r = np.zeros((10, 10))
    for j in range(10):
        v = a[:, j].copy()
        for i in range(j):
            r[i, j] = q[:, i] @ a[:, j]
            v -= r[i, j] * q[:, i]
        r[j, j] = np.sqrt(v @ v)
        q[:, j] = v / r[j, j]
    return q, r, np.allclose(q @ r, a)


@user
def conjugate_gradient(np):
    n = 60

    def apply(v):
        w = 2.1 * v
        w[1:] -= v[:-1]
        w[:-1] -= v[1:]
        return w

    b = np.ones(n)
    x = np.zeros(n)
    r = b - apply(x)
    p = r.copy()
    rs = r @ r
    steps = 0
    while rs > 1e-18 and steps < 200:
        ap = apply(p)
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + new / rs * p
        rs = new
        steps += 1
    return x, abs(apply(x) - b).max() < 1e-8


@user
def black_scholes_and_paths(np):
    s = np.linspace(50, 150, 41)[:, None]
    k = np.array([80.0, 100, 120])
    t = 0.5
    d1 = (np.log(s / k) + 0.5 * 0.04 * t) / (0.2 * np.sqrt(t))
    phi = 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (d1 + 0.044715 * d1**3)))
    price = s * phi - k * phi * 0.97
    rng = np.random.default_rng(0)
    z = rng.standard_normal((30, 12))
    paths = 100 * np.exp(np.cumsum(0.02 * z, axis=1))
    payoff = np.maximum(paths[:, -1] - 100, 0)
    asian = np.maximum(paths.mean(1) - 100, 0)
    return (
        price,
        payoff.mean(),
        asian.mean(),
        paths.max(0),
        np.cov(paths[:, :3].T),
        np.corrcoef(payoff, asian),
    )


@user
def edit_distance(np):
    a, b = "the quick brown fox jumps", "that thick crown box dumps"
    d = np.zeros((len(a) + 1, len(b) + 1), int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(
                d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            )
    return d, d[-1, -1]


@user
def knapsack_and_lis(np):
    w, v = [3, 4, 5, 9, 14, 2], [3, 4, 4, 10, 15, 1]
    best = np.zeros(41, int)
    take = np.zeros((6, 41), bool)
    for i, (a, b) in enumerate(zip(w, v)):
        shifted = best[:-a] + b
        take[i, a:] = shifted > best[a:]
        best[a:] = np.maximum(best[a:], shifted)
    left, chosen = 40, []
    for i in range(5, -1, -1):
        if take[i, left]:
            chosen.append(i)
            left -= w[i]
    seq = np.arange(40) * 17 % 41
    longest = np.ones(40, int)
    for i in range(1, 40):
        smaller = longest[:i][seq[:i] < seq[i]]
        if smaller.size:
            longest[i] = smaller.max() + 1
    return best, chosen, longest, longest.max()


@user
def viterbi(np):
    rng = np.random.default_rng(6)
    trans = rng.random((4, 4))
    trans /= trans.sum(1, keepdims=True)
    emit = rng.random((4, 3))
    emit /= emit.sum(1, keepdims=True)
    seen = rng.integers(0, 3, 30)
    score = np.log(np.full(4, 0.25)) + np.log(emit[:, seen[0]])
    back = np.zeros((30, 4), int)
    for t in range(1, 30):
        m = score[:, None] + np.log(trans)
        back[t] = m.argmax(0)
        score = m.max(0) + np.log(emit[:, seen[t]])
    path = np.zeros(30, int)
    path[-1] = score.argmax()
    for t in range(29, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score


@user
def strings_and_dates(np):
    words = np.array(["the", "cat", "sat", "on", "the", "mat", "and", "the", "dog", "sat"])
    names, counts = np.unique(words, return_counts=True)
    days = np.arange("2024-01-28", "2024-03-05", dtype="datetime64[D]")
    weekday = (days.astype(int) + 3) % 7
    months = days.astype("datetime64[M]")
    values = np.arange(len(days)) * 1.5
    by_month = [float(values[months == m].sum()) for m in np.unique(months)]
    gap = np.diff(days[weekday < 5])
    late = days[values > 40]
    return (
        names.tolist(),
        counts,
        weekday,
        by_month,
        gap.max().astype(int),
        late.astype(str).tolist(),
        np.char.upper(words).tolist(),
        (words == "the").sum(),
        np.isin(words, ["cat", "dog"]),
    )


@user
def records(np):
    kind = [("name", "U8"), ("age", "i4"), ("pay", "f8")]
    people = np.array(
        [("ann", 31, 10.5), ("bob", 25, 7.25), ("cyd", 40, 12.0), ("dan", 25, 9.0)], dtype=kind
    )
    people["pay"] *= 1.1
    people["age"][people["name"] == "bob"] += 1
    order = np.argsort(people, order=["age", "pay"])
    older = people[people["age"] > 26]
    return (
        people["pay"],
        people["name"].tolist(),
        order,
        older["name"].tolist(),
        people[order]["age"],
        np.sort(people["pay"])[::-1],
    )


@user
def statistics_and_groups(np):
    rng = np.random.default_rng(12)
    group = rng.integers(0, 5, 200)
    x = rng.normal(group, 1.0)
    x[::17] = np.nan
    mean = np.array([np.nanmean(x[group == k]) for k in range(5)])
    sums = np.bincount(group, weights=np.nan_to_num(x), minlength=5)
    order = np.lexsort((np.nan_to_num(x), group))
    edges = np.flatnonzero(np.diff(group[order])) + 1
    splits = np.split(np.nan_to_num(x)[order], edges)
    quant = np.nanpercentile(x, [10, 50, 90])
    z = (x - np.nanmean(x)) / np.nanstd(x)
    starts = np.concatenate([[0], edges])
    folded = np.add.reduceat(np.nan_to_num(x)[order], starts)
    fit = np.polyfit(group[~np.isnan(x)], x[~np.isnan(x)], 1)
    return (
        mean,
        sums,
        [len(s) for s in splits],
        quant,
        np.nansum(z**2),
        folded,
        fit,
        np.histogram(x[~np.isnan(x)], bins=[-3, 0, 2, 9])[0],
    )


@user
def sieve_and_numbers(np):
    n = 500
    prime = np.ones(n, bool)
    prime[:2] = False
    for k in range(2, 23):
        if prime[k]:
            prime[k * k :: k] = False
    primes = np.flatnonzero(prime)
    gaps = np.diff(primes)
    fact = np.cumprod(np.arange(1, 15))
    collatz = np.arange(1, 60)
    steps = np.zeros(59, int)
    while (collatz > 1).any():
        odd = (collatz % 2 == 1) & (collatz > 1)
        collatz = np.where(collatz == 1, 1, np.where(odd, 3 * collatz + 1, collatz // 2))
        steps += (collatz > 0) & (odd | (collatz >= 1))
    bits = (np.arange(16)[:, None] >> np.arange(4)) & 1
    return (
        primes,
        np.bincount(gaps),
        fact,
        steps,
        bits,
        bits.sum(1),
        np.gcd(primes[:10], 12),
        np.packbits(bits.astype(np.uint8), axis=1).ravel(),
    )


@user
def bookkeeping(np):
    """Views, lists of views, lazily changed."""
    a = np.arange(60.0).reshape(6, 10)
    rows = [a[k] for k in range(6)]
    cols = [a[:, k] for k in range(10)]
    rows[2] += 100
    cols[3] *= -1
    a[4, 4:8] = rows[0][4:8]
    even = a[::2, ::2]
    even[...] = np.where(even > 50, 50, even)
    a[1:4], a[3:6] = a[3:6].copy(), a[1:4].copy()
    t = a.T
    t[2:5] -= t[5:8]
    a.flat[::7] = -1
    total = [float(r.sum()) for r in rows]
    swap = a[[5, 0]]
    a[[0, 5]] = swap
    b = a
    b -= a.mean(0)
    c = a.reshape(3, 20)
    c[1] = 0
    d = np.array_split(a, 4)
    d[1][...] += 1
    e = np.vsplit(a, 2)[1]
    e.sort(axis=1)
    return a, total, rows[1], cols[9], even, t[0], c.sum(1), [x.shape for x in d]


@user
def sparse_by_hand(np):
    n = 40
    rows = np.repeat(np.arange(n), 3)
    cols = (rows * 3 + np.tile([0, 1, 5], n)) % n
    vals = np.sin(rows + cols)
    x = np.linspace(0, 1, n)
    y = np.zeros(n)
    np.add.at(y, rows, vals * x[cols])
    z = np.bincount(rows, vals * x[cols], n)
    dense = np.zeros((n, n))
    np.add.at(dense, (rows, cols), vals)
    indptr = np.searchsorted(rows, np.arange(n + 1))
    q = np.array([(vals[a:b] * x[cols[a:b]]).sum() for a, b in itertools.pairwise(indptr)])
    order = np.lexsort((rows, cols))
    csc = vals[order]
    return (
        y,
        z,
        dense @ x,
        q,
        csc.cumsum(),
        np.unique(cols, return_inverse=True)[1],
        np.argwhere(dense > 0.99),
    )


@user
def spline_and_interp(np):
    x = np.array([0.0, 1, 2.5, 4, 5.5, 7])
    y = np.sin(x)
    h = np.diff(x)
    n = len(x)
    a = np.zeros((n, n))
    b = np.zeros(n)
    a[0, 0] = a[-1, -1] = 1
    for i in range(1, n - 1):
        a[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        b[i] = 6 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
    m = np.linalg.solve(a, b)
    grid = np.linspace(0, 7, 50)
    k = np.clip(np.searchsorted(x, grid) - 1, 0, n - 2)
    t = grid - x[k]
    s = (
        y[k]
        + t * ((y[k + 1] - y[k]) / h[k] - h[k] * (2 * m[k] + m[k + 1]) / 6)
        + m[k] * t**2 / 2
        + (m[k + 1] - m[k]) / (6 * h[k]) * t**3
    )
    return (
        m,
        s,
        np.interp(grid, x, y),
        np.gradient(s, grid),
        np.trapezoid(s, grid),
        np.roots([1, -6, 11, -6]).real.round(6),
        np.piecewise(grid, [grid < 2, grid > 5], [-1, 1, lambda v: v * 2]),
    )


@user
def decisions(np):
    """Control flow that hangs on many small looks."""
    rng = np.random.default_rng(9)
    a = rng.integers(0, 50, 30)
    swaps = 0
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swaps += 1
    low, high, target = 0, len(a) - 1, int(a[7])
    while low < high:
        mid = (low + high) // 2
        if a[mid] < target:
            low = mid + 1
        else:
            high = mid
    stack, depth = [a], 0
    while stack:
        part = stack.pop()
        depth += 1
        if len(part) > 3:
            stack += [part[: len(part) // 2], part[len(part) // 2 :]]
    x = 3.0
    for _ in range(20):
        x = x - float(np.array([x**3 - 2 * x - 5])[0]) / (3 * x * x - 2)
    return a, swaps, low, depth, round(x, 9)
