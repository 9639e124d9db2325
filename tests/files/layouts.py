"""Layouts and dtypes of each kind for round trips through files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

import atoll as np
from atoll import Block, Cyclic, Layout, Unstructured, policy


def layouts(shape: tuple[int, ...], size: int) -> dict[str, Layout]:
    """One layout of each kind for a matrix on a number of ranks."""
    rows = shape[0]
    order = numpy.random.default_rng(3).permutation(rows)
    scattered = [order[k::size] for k in range(size)]
    bounds = [0, *[min(5, rows)] * (size - 1), rows]
    return {
        "rows": Layout(shape, "bn", size=size),
        "columns": Layout(shape, "nb", size=size),
        "blocks": Layout(shape, "bb", size=size),
        "cyclic rows": Layout(shape, "cn", size=size),
        "cyclic columns": Layout(shape, (None, Cyclic(3)), size=size),
        "uneven, some empty": Layout(shape, (Block(bounds=bounds), None), size=size),
        "halos": Layout(shape, (Block(padding=(1, 1)), None), size=size),
        "scattered": Layout(shape, (Unstructured(scattered), None), size=size),
        "replicated": Layout(shape, "nn", size=size),
        "reversed ranks": Layout(shape, "bn", size=size, ranks=range(size)[::-1]),
    }


DTYPES = [
    "f8", ">f4", "?", "c16", "i1", "U3", "S5", "M8[s]",
    [("x", "f8"), ("y", "<i2", (2,)), ("z", "S3")],
]  # fmt: skip


def values(shape: tuple[int, ...], dtype: Any = "f8") -> Any:
    """Different elements of any dtype."""
    numbers = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape)
    dtype = numpy.dtype(dtype)
    if dtype.names is None:
        return (numbers % 100).astype(dtype)
    made = numpy.zeros(shape, dtype)
    for name in dtype.names:
        field = made[name]
        field[...] = numbers.reshape(shape + (1,) * (field.ndim - len(shape))).astype(field.dtype)
    return made


def on_ranks(array: Any, layout: Layout) -> Any:
    """The array, as all ranks have it, in a layout."""
    blank = np.zeros(array.shape, array.dtype, layout=layout)
    blank[...] = array
    return blank


@contextmanager
def limited(**changes: int) -> Iterator[None]:
    """Other limits for all ranks at the same step: simulated ones share them."""
    np.world.barrier()
    with policy.limited(**changes):
        np.world.barrier()
        yield
        np.world.barrier()
    np.world.barrier()
