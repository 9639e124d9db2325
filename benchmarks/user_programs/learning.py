"""Nets, clusters, components."""

from __future__ import annotations

from typing import Any

from .program import program


@program(smoke=200, small=300, medium=2000, large=6000, expressions=False)
def neural(np: Any, n: int) -> Any:
    """A net with one hidden layer that learns digits, in batches of 64."""
    generator = np.random.default_rng(1)
    centers = generator.random((10, 784))
    kinds = generator.integers(0, 10, n)
    X = centers[kinds] + 0.3 * generator.random((n, 784))
    Y = np.eye(10)[kinds]
    W1 = 0.05 * (generator.random((784, 64)) - 0.5)
    b1 = np.zeros(64)
    W2 = 0.3 * (generator.random((64, 10)) - 0.5)
    b2 = np.zeros(10)
    losses = []
    for _ in range(3):
        order = generator.permutation(n)
        for start in range(0, n, 64):
            rows = order[start : start + 64]
            x, y = X[rows], Y[rows]
            h = np.maximum(0, x @ W1 + b1)
            z = h @ W2 + b2
            e = np.exp(z - z.max(axis=1, keepdims=True))
            p = e / e.sum(axis=1, keepdims=True)
            losses.append(-np.log(p[np.arange(len(rows)), y.argmax(axis=1)] + 1e-12).mean())
            dz = (p - y) / len(rows)
            dW2, db2 = h.T @ dz, dz.sum(axis=0)
            dh = (dz @ W2.T) * (h > 0)
            dW1, db1 = x.T @ dh, dh.sum(axis=0)
            W1 -= 0.1 * dW1
            b1 -= 0.1 * db1
            W2 -= 0.1 * dW2
            b2 -= 0.1 * db2
    return np.array(losses)


@program(smoke=60, small=100, medium=400, large=1200, tolerance=1e-6)
def pca(np: Any, n: int) -> Any:
    """What a few directions explain of many measurements."""
    generator = np.random.default_rng(2)
    X = generator.random((n, 5)) @ generator.random((5, 100)) + 0.1 * generator.random((n, 100))
    X = X - X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)
    _, S, Vt = np.linalg.svd(X, full_matrices=False)
    explained = S**2 / np.sum(S**2)
    scores = X @ Vt[:5].T
    again = scores @ Vt[:5]
    covariance = np.cov(X, rowvar=False)
    values = np.linalg.eigvalsh(covariance)[::-1]
    return explained, ((X - again) ** 2).mean(), values


@program(smoke=100, small=500, medium=5000, large=30000)
def kmeans(np: Any, n: int) -> Any:
    """Points around centres that move."""
    generator = np.random.default_rng(3)
    points = generator.random((n, 2)) + 2 * generator.integers(0, 3, (n, 2))
    centres = points[:9].copy()
    for _ in range(30):
        distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = distance.argmin(axis=1)
        new = np.array(
            [
                points[nearest == k].mean(axis=0) if np.any(nearest == k) else centres[k]
                for k in range(9)
            ]
        )
        if np.allclose(new, centres):
            break
        centres = new
    return centres, np.bincount(nearest, minlength=9)


@program(smoke=200, small=1000, medium=10000, large=200000)
def logistic(np: Any, n: int) -> Any:
    """Logistic regression by descending the slope."""
    generator = np.random.default_rng(4)
    X = generator.random((n, 20)) - 0.5
    w = np.linspace(-2, 2, 20)
    y = (1 / (1 + np.exp(-(X @ w))) > generator.random(n)).astype(float)
    theta = np.zeros(20)
    for _ in range(100):
        p = 1 / (1 + np.exp(-X @ theta))
        theta -= 0.5 * (X.T @ (p - y) / n + 0.001 * theta)
    loss = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    accuracy = ((p > 0.5) == (y > 0.5)).mean()
    return theta, loss, accuracy


@program(smoke=60, small=500, medium=2000, large=50000, tolerance=0.0, expressions=False)
def neighbours(np: Any, n: int) -> Any:
    """What the nearest five say about each of 200 others."""
    generator = np.random.default_rng(5)
    train = generator.random((n, 8))
    kinds = (train.sum(axis=1) * 3).astype(int) % 4
    found = []
    for point in generator.random((200, 8)):
        distance = np.sqrt(((train - point) ** 2).sum(axis=1))
        nearest = np.argsort(distance)[:5]
        found.append(np.bincount(kinds[nearest], minlength=4).argmax())
    return np.array(found)


@program(smoke=40, small=80, medium=400, large=1500)
def gaussian_process(np: Any, n: int) -> Any:
    """A curve through noisy points, and how sure it is."""
    generator = np.random.default_rng(6)
    x = np.sort(generator.uniform(0, 10, n))
    y = np.sin(x) + 0.1 * generator.standard_normal(n)
    at = np.linspace(0, 10, 200)

    def kernel(a: Any, b: Any) -> Any:
        return np.exp(-0.5 * (a[:, None] - b[None, :]) ** 2)

    K = kernel(x, x) + 0.01 * np.eye(n)
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    Ks = kernel(x, at)
    mean = Ks.T @ alpha
    v = np.linalg.solve(L, Ks)
    variance = 1 - np.sum(v**2, axis=0)
    return mean, variance
