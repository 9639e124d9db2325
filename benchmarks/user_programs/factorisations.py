"""Matrices taken apart and solved as in a textbook: by rows, by columns, by elements."""

from __future__ import annotations

from typing import Any

from .program import form, program


def positive(np: Any, n: int) -> tuple[Any, ...]:
    """A symmetric matrix with positive eigenvalues."""
    generator = np.random.default_rng(11)
    B = generator.random((n, n))
    return (B @ B.T / n + np.eye(n),)


def dominant(np: Any, n: int) -> tuple[Any, ...]:
    """A matrix that needs no pivots, and a right side."""
    generator = np.random.default_rng(12)
    return generator.random((n, n)) + n * np.eye(n), generator.random(n)


def tall(np: Any, n: int) -> tuple[Any, ...]:
    """A matrix with more rows than columns."""
    generator = np.random.default_rng(13)
    return (generator.random((2 * n, n)),)


def series(np: Any, n: int) -> tuple[Any, ...]:
    """What a Toeplitz matrix is made of."""
    return (0.5 / (np.arange(n) + 2.0),)


@program(smoke=12, small=60, medium=200, large=500, data=positive, expressions=False)
def cholesky(np: Any, A: Any) -> Any:
    """The lower triangle, element by element with dot products of rows."""
    n = A.shape[0]
    L = np.zeros_like(A)
    for i in range(n):
        for j in range(i):
            L[i, j] = (A[i, j] - np.dot(L[i, :j], L[j, :j])) / L[j, j]
        L[i, i] = np.sqrt(A[i, i] - np.dot(L[i, :i], L[i, :i]))
    return L


@form(cholesky, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit
    def compiled(A: Any) -> Any:
        n = A.shape[0]
        L = np.zeros_like(A)
        for i in range(n):
            for j in range(i + 1):
                s = A[i, j]
                for k in range(j):
                    s -= L[i, k] * L[j, k]
                L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
        return L

    return compiled


@form(cholesky, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(A: Any) -> Any:
        n = A.shape[0]
        below = np.arange(n)

        def column(j: Any, L: Any) -> Any:
            rest = A[:, j] - L @ L[j]
            new = rest / np.sqrt(rest[j])
            return L.at[:, j].set(np.where(below >= j, new, 0.0))

        return jax.lax.fori_loop(0, n, column, np.zeros_like(A))

    return compiled


@program(smoke=12, small=100, medium=400, large=1000, data=positive, expressions=False)
def cholesky_columns(np: Any, A: Any) -> Any:
    """The lower triangle in place, one column and what it changes at a time."""
    n = len(A)
    for k in range(n):
        A[k, k] = np.sqrt(A[k, k])
        A[k + 1 :, k] /= A[k, k]
        for j in range(k + 1, n):
            A[j:, j] -= A[j:, k] * A[j, k]
    return np.tril(A)


@form(cholesky_columns, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(A: Any) -> Any:
        n = A.shape[0]
        for k in range(n):
            A[k, k] = np.sqrt(A[k, k])
            A[k + 1 :, k] /= A[k, k]
            for i in numba.prange(k + 1, n):
                for j in range(k + 1, i + 1):
                    A[i, j] -= A[i, k] * A[j, k]
        return np.tril(A)

    return compiled


@program(smoke=12, small=60, medium=200, large=500, data=dominant, expressions=False)
def lu(np: Any, A: Any, b: Any) -> Any:
    """Doolittle's factors in place, element by element, then both triangles solved."""
    n = len(b)
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    y = np.zeros(n)
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return A, x


@form(lu, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(A: Any, b: Any) -> Any:
        n = len(b)
        for k in range(n):
            for i in numba.prange(k + 1, n):
                A[i, k] /= A[k, k]
                for j in range(k + 1, n):
                    A[i, j] -= A[i, k] * A[k, j]
        y, x = np.zeros(n), np.zeros(n)
        for i in range(n):
            s = b[i]
            for j in range(i):
                s -= A[i, j] * y[j]
            y[i] = s
        for i in range(n - 1, -1, -1):
            s = y[i]
            for j in range(i + 1, n):
                s -= A[i, j] * x[j]
            x[i] = s / A[i, i]
        return A, x

    return compiled


@program(smoke=12, small=100, medium=300, large=800, data=dominant, expressions=False)
def lu_pivots(np: Any, A: Any, b: Any) -> Any:
    """Gauss with row exchanges, the rest of the matrix by an outer product."""
    n = len(b)
    order = np.arange(n)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p], :] = A[[p, k], :]
            order[[k, p]] = order[[p, k]]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    x = b[order]
    for i in range(1, n):
        x[i] -= A[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return order, x


@program(smoke=8, small=40, medium=120, large=300, data=tall, expressions=False)
def gram_schmidt(np: Any, A: Any) -> Any:
    """The modified process: each column taken out of those behind it, one by one."""
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for k in range(n):
        R[k, k] = np.sqrt(np.sum(A[:, k] ** 2))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = np.sum(Q[:, k] * A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


@form(gram_schmidt, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit(parallel=True)
    def compiled(A: Any) -> Any:
        m, n = A.shape
        Q = np.zeros((m, n))
        R = np.zeros((n, n))
        for k in range(n):
            R[k, k] = np.sqrt(np.sum(A[:, k] ** 2))
            Q[:, k] = A[:, k] / R[k, k]
            for j in numba.prange(k + 1, n):
                s = 0.0
                for i in range(m):
                    s += Q[i, k] * A[i, j]
                R[k, j] = s
                for i in range(m):
                    A[i, j] -= Q[i, k] * s
        return Q, R

    return compiled


@form(gram_schmidt, "jax")
def _(jax: Any) -> Any:
    np = jax.numpy

    @jax.jit
    def compiled(A: Any) -> Any:
        m, n = A.shape
        behind = np.arange(n)

        def column(k: Any, state: Any) -> Any:
            A, Q, R = state
            length = np.sqrt(np.sum(A[:, k] ** 2))
            q = A[:, k] / length
            row = np.where(behind > k, q @ A, 0.0)
            A = A - np.outer(q, row)
            return A, Q.at[:, k].set(q), R.at[k].set(row.at[k].set(length))

        return jax.lax.fori_loop(0, n, column, (A, np.zeros((m, n)), np.zeros((n, n))))[1:]

    return compiled


@program(smoke=8, small=60, medium=200, large=500, data=tall, tolerance=1e-8, expressions=False)
def householder(np: Any, A: Any) -> Any:
    """Reflections that make a matrix triangular, and the first row of what they are together."""
    m, n = A.shape
    Q = np.eye(m)
    for k in range(n):
        v = A[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        A[k:, k:] -= 2 * np.outer(v, v @ A[k:, k:])
        Q[:, k:] -= 2 * np.outer(Q[:, k:] @ v, v)
    return np.triu(A[:n]), Q[0]


@program(smoke=12, small=200, medium=1000, large=4000, data=series, expressions=False)
def durbin(np: Any, r: Any) -> Any:
    """The equations of Yule and Walker by Durbin's recursion."""
    n = len(r)
    y = np.zeros(n)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, n):
        beta *= 1 - alpha * alpha
        alpha = -(r[k] + np.dot(r[k - 1 :: -1], y[:k])) / beta
        y[:k] += alpha * y[k - 1 :: -1]
        y[k] = alpha
    return y


@form(durbin, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit
    def compiled(r: Any) -> Any:
        n = len(r)
        y, z = np.zeros(n), np.zeros(n)
        alpha, beta = -r[0], 1.0
        y[0] = -r[0]
        for k in range(1, n):
            beta *= 1 - alpha * alpha
            s = r[k]
            for i in range(k):
                s += r[k - 1 - i] * y[i]
            alpha = -s / beta
            for i in range(k):
                z[i] = y[i] + alpha * y[k - 1 - i]
            y[:k] = z[:k]
            y[k] = alpha
        return y

    return compiled


@program(smoke=12, small=400, medium=2000, large=5000, data=dominant, expressions=False)
def trisolv(np: Any, L: Any, b: Any) -> Any:
    """A lower triangle solved from its first row to its last."""
    n = len(b)
    x = np.empty(n)
    for i in range(n):
        x[i] = (b[i] - np.dot(L[i, :i], x[:i])) / L[i, i]
    return x


@form(trisolv, "numba")
def _(numba: Any) -> Any:
    import numpy as np

    @numba.njit
    def compiled(L: Any, b: Any) -> Any:
        n = len(b)
        x = np.empty(n)
        for i in range(n):
            x[i] = (b[i] - np.dot(L[i, :i], x[:i])) / L[i, i]
        return x

    return compiled


@program(
    smoke=12, small=40, medium=100, large=200, data=positive, tolerance=1e-8, expressions=False
)
def jacobi_rotations(np: Any, A: Any) -> Any:
    """Eigenvalues by rotations of two rows and two columns at a time."""
    n = len(A)
    for _ in range(2):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) < 1e-12:
                    continue
                theta = 0.5 * np.arctan2(2 * A[p, q], A[q, q] - A[p, p])
                c, s = np.cos(theta), np.sin(theta)
                row_p, row_q = A[p].copy(), A[q].copy()
                A[p] = c * row_p - s * row_q
                A[q] = s * row_p + c * row_q
                column_p, column_q = A[:, p].copy(), A[:, q].copy()
                A[:, p] = c * column_p - s * column_q
                A[:, q] = s * column_p + c * column_q
    return np.sort(np.diag(A))
