"""Networks written by hand: layers as functions and as classes, forwards and backwards."""

from __future__ import annotations

from typing import Any

from .program import form, program


def images(np: Any, n: int) -> tuple[Any, ...]:
    """Some pictures with channels last, and filters."""
    generator = np.random.default_rng(51)
    return (
        generator.random((4, n, n, 3)),
        generator.random((5, 5, 3, 8)) - 0.5,
        generator.random(8),
    )


def tokens(np: Any, n: int) -> tuple[Any, ...]:
    """What words are to an attention with four heads."""
    generator = np.random.default_rng(52)
    width = 64
    x = generator.standard_normal((n, width))
    return x, *[generator.standard_normal((width, width)) / 8 for _ in range(4)]


def digits(np: Any, n: int) -> tuple[Any, ...]:
    """Points in ten heaps, with the heap they belong to, in batches."""
    generator = np.random.default_rng(53)
    kinds = generator.integers(0, 10, n)
    return 0.3 * generator.standard_normal((n, 64)) + generator.random((10, 64))[kinds], kinds


@program(smoke=12, small=32, medium=96, large=256, data=images, expressions=False)
def convolution(np: Any, x: Any, filters: Any, bias: Any) -> Any:
    """A convolution as a loop over windows, then a rectifier and the largest of each 2 by 2."""
    k = filters.shape[0]
    count, height, width, _ = x.shape
    rows, columns = height - k + 1, width - k + 1
    out = np.empty((count, rows, columns, filters.shape[3]))
    for i in range(rows):
        for j in range(columns):
            out[:, i, j, :] = np.sum(
                x[:, i : i + k, j : j + k, :, np.newaxis] * filters[np.newaxis], axis=(1, 2, 3)
            )
    out = np.maximum(out + bias, 0)
    pooled = np.empty((count, rows // 2, columns // 2, filters.shape[3]))
    for i in range(rows // 2):
        for j in range(columns // 2):
            pooled[:, i, j] = np.max(out[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
    return pooled


@form(convolution, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(x: Any, filters: Any, bias: Any) -> Any:
        k, _, depth, kinds = filters.shape
        count, height, width, _ = x.shape
        rows, columns = (height - k + 1) // 2, (width - k + 1) // 2
        pooled = np.zeros((count, rows, columns, kinds))
        for i in numba.prange(rows):
            sums = np.empty(kinds)
            for b in range(count):
                for j in range(columns):
                    for di in range(2):
                        for dj in range(2):
                            sums[:] = bias
                            for p in range(k):
                                for q in range(k):
                                    for c in range(depth):
                                        value = x[b, 2 * i + di + p, 2 * j + dj + q, c]
                                        for o in range(kinds):
                                            sums[o] += value * filters[p, q, c, o]
                            for o in range(kinds):
                                pooled[b, i, j, o] = max(pooled[b, i, j, o], sums[o])
        return pooled

    return compiled


@form(convolution, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(x: Any, filters: Any, bias: Any) -> Any:
        out = jax.lax.conv_general_dilated(
            x, filters, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        out = np.maximum(out + bias, 0)
        b, h, w, c = out.shape
        out = out[:, : h // 2 * 2, : w // 2 * 2].reshape(b, h // 2, 2, w // 2, 2, c)
        return out.max(axis=(2, 4))

    return compiled


@program(smoke=12, small=64, medium=256, large=1024, data=tokens, jax=True)
def attention(np: Any, x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
    """Four heads that look back only, a sum with what came in, and a normalisation."""

    def softmax(z: Any) -> Any:
        e = np.exp(z - np.max(z, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)

    def split(z: Any) -> Any:
        return z.reshape(n, 4, width // 4).transpose(1, 0, 2)

    n, width = x.shape
    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(width / 4)
    later = np.triu(np.ones((n, n)), 1)
    scores = scores - 1e9 * later
    heads = softmax(scores) @ v
    y = x + heads.transpose(1, 0, 2).reshape(n, width) @ wo
    mean = y.mean(axis=-1, keepdims=True)
    variance = ((y - mean) ** 2).mean(axis=-1, keepdims=True)
    return (y - mean) / np.sqrt(variance + 1e-5)


@program(smoke=8, small=16, medium=48, large=128, data=images, jax=True)
def batch_norm(np: Any, x: Any, filters: Any, bias: Any) -> Any:
    """Pictures mixed by channels, normalised over the batch, rectified, added to what came in."""

    def normal(y: Any) -> Any:
        mean = np.mean(y, axis=0, keepdims=True)
        std = np.std(y, axis=0, keepdims=True)
        return (y - mean) / np.sqrt(std + 1e-5)

    mix = filters[0, 0]
    y = np.maximum(normal(x @ mix + bias), 0)
    y = np.maximum(normal(y @ mix.T @ mix), 0)
    return np.maximum(normal(y @ mix.T) + x, 0)


class Dense:
    """A layer that knows what went through it."""

    def __init__(self, np: Any, generator: Any, inputs: int, outputs: int) -> None:
        self.np = np
        self.w = generator.standard_normal((inputs, outputs)) * (2.0 / inputs) ** 0.5
        self.b = np.zeros(outputs)

    def forward(self, x: Any) -> Any:
        self.x = x
        return x @ self.w + self.b

    def backward(self, grad: Any) -> Any:
        self.dw = self.x.T @ grad
        self.db = grad.sum(axis=0)
        return grad @ self.w.T

    def parameters(self) -> list[tuple[Any, Any]]:
        return [(self.w, self.dw), (self.b, self.db)]


class Rectifier:
    """What is negative becomes nothing."""

    def __init__(self, np: Any) -> None:
        self.np = np

    def forward(self, x: Any) -> Any:
        self.mask = x > 0
        return x * self.mask

    def backward(self, grad: Any) -> Any:
        return grad * self.mask

    def parameters(self) -> list[tuple[Any, Any]]:
        return []


class Adam:
    """Steps as long as the slope has been steady."""

    def __init__(self, np: Any, rate: float = 1e-3) -> None:
        self.np, self.rate, self.t = np, rate, 0
        self.m: dict[int, Any] = {}
        self.v: dict[int, Any] = {}

    def step(self, parameters: list[tuple[Any, Any]]) -> None:
        np = self.np
        self.t += 1
        for k, (p, g) in enumerate(parameters):
            if k not in self.m:
                self.m[k], self.v[k] = np.zeros_like(p), np.zeros_like(p)
            self.m[k] = 0.9 * self.m[k] + 0.1 * g
            self.v[k] = 0.999 * self.v[k] + 0.001 * g**2
            m_hat = self.m[k] / (1 - 0.9**self.t)
            v_hat = self.v[k] / (1 - 0.999**self.t)
            p -= self.rate * m_hat / (np.sqrt(v_hat) + 1e-8)


@program(smoke=128, small=1024, medium=4096, large=16384, data=digits, expressions=False)
def classifier(np: Any, X: Any, kinds: Any) -> Any:
    """A net of classes, trained by Adam in batches of 128."""
    generator = np.random.default_rng(1)
    layers = [Dense(np, generator, 64, 64), Rectifier(np), Dense(np, generator, 64, 10)]
    adam = Adam(np)
    losses = []
    for _ in range(2):
        for start in range(0, len(X), 128):
            x, y = X[start : start + 128], kinds[start : start + 128]
            for layer in layers:
                x = layer.forward(x)
            x = x - x.max(axis=1, keepdims=True)
            p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
            rows = np.arange(len(y))
            losses.append(float(-np.mean(np.log(p[rows, y] + 1e-12))))
            p[rows, y] -= 1
            grad = p / len(y)
            for layer in reversed(layers):
                grad = layer.backward(grad)
            adam.step([pair for layer in layers for pair in layer.parameters()])
    return np.array(losses), layers[0].w


@program(smoke=12, small=50, medium=200, large=800, data=tokens, expressions=False)
def lstm(np: Any, x: Any, wi: Any, wf: Any, wo: Any, wg: Any) -> Any:
    """A recurrent cell that reads a sequence, a word at a time."""

    def sigmoid(z: Any) -> Any:
        return 1 / (1 + np.exp(-z))

    width = x.shape[1]
    h, c = np.zeros(width), np.zeros(width)
    states = np.zeros_like(x)
    for t in range(len(x)):
        z = x[t] + h
        i, f, o = sigmoid(z @ wi), sigmoid(z @ wf + 1.0), sigmoid(z @ wo)
        c = f * c + i * np.tanh(z @ wg)
        h = o * np.tanh(c)
        states[t] = h
    return states


@form(lstm, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(x: Any, wi: Any, wf: Any, wo: Any, wg: Any) -> Any:
        def cell(state: Any, word: Any) -> Any:
            h, c = state
            z = word + h
            i, f, o = (jax.nn.sigmoid(g) for g in (z @ wi, z @ wf + 1.0, z @ wo))
            c = f * c + i * np.tanh(z @ wg)
            h = o * np.tanh(c)
            return (h, c), h

        return jax.lax.scan(cell, (np.zeros(x.shape[1]), np.zeros(x.shape[1])), x)[1]

    return compiled


@program(smoke=8, small=16, medium=48, large=128, data=images, expressions=False)
def im2col(np: Any, x: Any, filters: Any, bias: Any) -> Any:
    """The same convolution by a matrix of windows, and its slope on the way back."""
    k, _, depth, kinds = filters.shape
    count, height, width, _ = x.shape
    rows, columns = height - k + 1, width - k + 1
    windows = np.empty((count, rows, columns, k * k * depth))
    for i in range(k):
        for j in range(k):
            at = (i * k + j) * depth
            windows[..., at : at + depth] = x[:, i : i + rows, j : j + columns, :]
    flat = windows.reshape(-1, k * k * depth)
    w = filters.reshape(-1, kinds)
    out = (flat @ w + bias).reshape(count, rows, columns, kinds)
    grad = np.where(out > 0, out, 0.1 * out)
    dw = flat.T @ grad.reshape(-1, kinds)
    back = (grad.reshape(-1, kinds) @ w.T).reshape(windows.shape)
    dx = np.zeros_like(x)
    for i in range(k):
        for j in range(k):
            at = (i * k + j) * depth
            dx[:, i : i + rows, j : j + columns, :] += back[..., at : at + depth]
    return dw, dx, grad.sum(axis=(0, 1, 2))
