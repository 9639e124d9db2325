"""One step of each capability, on shares that are equally large whatever the number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import atoll as np
from atoll import Cyclic, Layout

SHARE = 8
"""How many elements a rank has along each axis that is divided."""


def array(size: int, maps: Any, rows: int = SHARE) -> Any:
    """An array in memory, whose axes are divided as ``maps`` says among all ranks."""
    count = len(maps)
    grid = Layout((1 << 60,) * count, maps, size=size).grid
    shape = tuple([rows * n for n in grid])
    a = np.zeros(shape, layout=Layout(shape, maps, size=size, grid=grid))
    a[(0,) * count] = 1.0
    np.sync()
    return a


def of(maps: Any, step: Callable[..., Any], count: int = 1) -> Callable[[int], Callable[[], Any]]:
    """A program over arrays that lie in one way; what it returns is evaluated."""

    def setup(size: int) -> Callable[[], Any]:
        arrays = [array(size, maps) for _ in range(count)]

        def advance() -> None:
            result = step(*arrays)
            for each in result if isinstance(result, tuple) else (result,):
                if isinstance(each, np.ndarray):
                    each._evaluate()

        return advance

    return setup


def laplace(u: Any) -> Any:
    """A step of a relaxation in any number of dimensions, and its change."""
    old, inner = u.copy(), slice(1, -1)
    total: Any = 0
    for axis in range(u.ndim):
        for shift in (slice(None, -2), slice(2, None)):
            total = total + u[tuple([shift if k == axis else inner for k in range(u.ndim)])]
    u[(inner,) * u.ndim] = total / (2 * u.ndim)
    return np.sqrt(((u - old) ** 2).sum())


def assigned(u: Any) -> Any:
    """Assignments to parts, and what they leave."""
    u[1 : u.shape[0] // 2] = u[: u.shape[0] // 2 - 1] + 1
    u[::2] *= 2
    return u


def columns(u: Any) -> Any:
    """The transpose of an array in rows, in rows: each rank sends to each."""
    return u.redistribute(Layout(u.shape, "nb", size=u.layout.processes))


PROGRAMS: dict[str, Callable[[int], Callable[[], Any]]] = {
    "stencil in 1 dimension": of("b", laplace),
    "stencil in rows": of("bn", laplace),
    "stencil in 2 dimensions": of("bb", laplace),
    "stencil in 3 dimensions": of("bbb", laplace),
    "cyclic stencil": of("c", lambda u: u[1:] - u[:-1]),
    "block-cyclic shift": of([Cyclic(4)], lambda u: u[1:] - u[:-1]),
    "strides": of("b", lambda u: u[::2] + u[1::2]),
    "backwards": of("b", lambda u: u + u[::-1]),
    "assignments": of("b", assigned),
    "gradient": of("b", lambda u: np.gradient(u)),
    "roll": of("bb", lambda u: np.roll(u, 3, 0)),
    "concatenate": of("bb", lambda u, v: np.concatenate([u, v]), 2),
    "transpose": of("bb", lambda u: u + u.T if u.shape[0] == u.shape[1] else u.T + 1),
    "broadcasting": of("bb", lambda u: u - u[0]),
    "broadcast row": of("bn", lambda u: u - u[0]),
    "broadcast column": of("nb", lambda u: u - u[:, :1]),
    "broadcast element": of("bb", lambda u: u * u[3:4, 4:5]),
    "broadcast cyclic row": of("cn", lambda u: u - u[0]),
    "sum over all": of("bb", lambda u: u.sum()),
    "sum of columns": of("bb", lambda u: u.sum(0)),
    "argmax": of("bb", lambda u: u.argmax()),
    "argmax of columns": of("bn", lambda u: u.argmax(0)),
    "columns without their means": of("bn", lambda u: u - u.mean(0)),
    "cumsum": of("b", lambda u: np.cumsum(u)),
    "reshape": of("bn", lambda u: u.reshape(-1, 2) + 1),
    "redistribution": of(
        "b", lambda u: u.redistribute(Layout(u.shape, [Cyclic(4)], size=u.layout.processes))
    ),
    "random": of("bb", lambda u: np.random.default_rng(1).random(u.shape) + u),
    "fancy indexing": of("b", lambda u: u[np.arange(1, u.shape[0], 2)]),
    "rows at indices": of("bn", lambda u: u[np.arange(1, u.shape[0], 2)]),
    "elements at two indices": of(
        "bn", lambda u: u[np.arange(u.shape[0]), np.arange(u.shape[0]) % SHARE]
    ),
    "fancy assignment": of("b", lambda u: u.__setitem__(np.arange(0, u.shape[0], 3), 1.0)),
    "boolean mask": of("b", lambda u: u[u > 0.5]),
    "sort": of("b", np.sort),
    "unique": of("b", np.unique),
    "searchsorted": of("b", lambda u, v: np.searchsorted(u, v), 2),
    "matrix product": of(
        "bb", lambda u, v: u @ v[: u.shape[1]].T if u.shape[1] != v.shape[0] else u @ v, 2
    ),
    "matrix and vector": of("bn", lambda u: u @ u[0]),
    "rows and a block": of("bn", lambda u: u @ u[:8]),
    "vector and rows": of("bn", lambda u: u[:, 0] @ u),
    "vector and matrix": of("bb", lambda u, v: v[: u.shape[0], 0] @ u, 2),
    "Gram matrix": of("bn", lambda u: u.T @ u),
    "tall QR": of("bn", lambda u: np.linalg.qr(u)[1]),
    "FFT along lines": of("bn", lambda u: np.fft.fft(u, axis=1)),
    "FFT": of("bn", lambda u: np.fft.fft(u, axis=0)),
    "median": of("bn", lambda u: np.median(u, axis=1)),
    "histogram": of("b", lambda u: np.histogram(u, bins=8, range=(0, 1))[0]),
    "sync": of("b", lambda u: [u + 1, np.sync()][0]),
    "convolution": of("b", lambda u: np.convolve(u, [1.0, 2.0, 1.0], "same")),
    "bits": of("b", lambda u: np.packbits(u > 0.5)),
    "percentile": of("b", lambda u: np.percentile(u, 30)),
    "print": of("bn", str),
    "one element": of("b", lambda u: float(u[3])),
    "__distarray__": of("bb", lambda u: u.__distarray__()),
    "__partitioned__": of("bb", lambda u: u.__partitioned__["partitions"][0, 0]),
}
