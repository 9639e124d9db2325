"""No operation holds more on a rank than a small multiple of its own share."""

import tracemalloc

import numpy as np
import pytest

import atoll
from atoll.comm import simulated
from atoll.config import config
from atoll.layout import Layout
from atoll.run import statistics
from atoll.run.memory import pool

RANKS = 16
ROWS, COLUMNS = 1024, 256
WHOLE = ROWS * COLUMNS * 8
LIMIT = 13
"""In multiples of the array: if every rank had the whole, it would be more than 16."""


OPERATIONS = {
    "a @ b": lambda np, a: a @ a.T[:, :COLUMNS],
    "a.T @ a": lambda np, a: a.T @ a,
    "a @ x": lambda np, a: a @ a[0],
    "tensordot": lambda np, a: np.tensordot(a, a, ((0,), (0,))),
    "sum over rows": lambda np, a: a.sum(0),
    "variance of rows": lambda np, a: a.var(1),
    "positions": lambda np, a: a.argmax(0),
    "scan": lambda np, a: a.cumsum(0),
    "flat scan": lambda np, a: a.cumsum(),
    "reshape": lambda np, a: a.reshape(COLUMNS, ROWS) + 1,
    "ravel": lambda np, a: a.ravel() * 2,
    "transpose and ravel": lambda np, a: a.T.ravel() * 2,
    "every third": lambda np, a: a.reshape(-1)[::3] + 0,
    "rows by indices": lambda np, a: a[np.arange(ROWS)[::-1] * 1],
    "columns by indices": lambda np, a: a[:, np.arange(COLUMNS)[::-1] * 1],
    "elements by indices": lambda np, a: a[np.arange(ROWS) * 1, np.arange(ROWS) % COLUMNS],
    "under a mask": lambda np, a: a[a > 0.5],
    "positions under a mask": lambda np, a: np.argwhere(a > 0.5),
    "take": lambda np, a: np.take(a, np.arange(ROWS)[::-1] * 1, 0),
    "along an axis": lambda np, a: np.take_along_axis(a, (a > 0.5).astype(int), 0),
    "joined": lambda np, a: np.concatenate([a, a], 1),
    "stacked": lambda np, a: np.stack([a, a]),
    "rolled": lambda np, a: np.roll(a, 5, 0),
    "padded": lambda np, a: np.pad(a, 3),
    "flipped": lambda np, a: np.flip(a) + 0,
    "tiled": lambda np, a: np.tile(a[: ROWS // 2], (2, 1)),
    "repeated": lambda np, a: np.repeat(a[: ROWS // 2], 2, 0),
    "sorted line": lambda np, a: np.sort(a, None),
    "order of a line": lambda np, a: np.argsort(a.ravel(), kind="stable"),
    "sorted rows": lambda np, a: np.sort(a, 1),
    "different elements": lambda np, a: np.unique(a),
    "random": lambda np, a: np.random.default_rng(3).random((ROWS, COLUMNS)),
    "real": lambda np, a: (a + 1j).real * 2,
}
CHANGES = {
    "rows": lambda np, a: a.__setitem__(np.arange(ROWS)[::-1] * 1, a),
    "rows set to one number": lambda np, a: a.__setitem__(np.arange(ROWS)[::2] * 1, 3.0),
    "under a mask": lambda np, a: a.__setitem__(a > 0.5, a[a > 0.5] * 2),
    "put": lambda np, a: a.put(np.arange(ROWS), np.arange(ROWS) * 1.0),
    "through a reshape": lambda np, a: a.reshape(-1)[::3].__setitem__(slice(None), 1.0),
    "columns": lambda np, a: a.__setitem__((slice(None), slice(0, None, 2)), a[:, 1::2]),
}


def peak_of(operation, maps):
    """The most bytes that all ranks together asked for beyond the operand, in buffers of the pool and
    in arrays of NumPy's, as multiples of the whole; what NumPy makes of it is compared, too."""
    values = np.random.default_rng(0).random((ROWS, COLUMNS))
    traced = []

    def work():
        layout = Layout((ROWS, COLUMNS), maps, size=RANKS)
        a = atoll.asarray(values).redistribute(layout)
        communicator = atoll.world.communicator
        communicator.barrier()
        if communicator.rank == 0:
            statistics.reset_stats()
            before = pool.usage().used
            tracemalloc.start()
        communicator.barrier()
        result = operation(atoll, a)
        result = a if result is None else result
        result._evaluate()
        communicator.barrier()
        if communicator.rank == 0:
            traced.append(tracemalloc.get_traced_memory()[1])
            traced.append(statistics.stats().peak_bytes - before)
            tracemalloc.stop()
        communicator.barrier()
        return np.asarray(result) if communicator.rank in (0, RANKS - 1) else result.__array__()

    with config(small=0):
        found = simulated.run(RANKS, work)
    theirs = values.copy()
    expected = operation(np, theirs)
    for mine in (found[0], found[-1]):
        np.testing.assert_allclose(mine, theirs if expected is None else expected, rtol=1e-10)
    return sum(traced) / WHOLE


@pytest.mark.parametrize("maps", ["bb", "nc"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_results(name, maps):
    assert peak_of(OPERATIONS[name], maps) < LIMIT


@pytest.mark.parametrize("maps", ["bb", "nc"])
@pytest.mark.parametrize("name", CHANGES)
def test_changes(name, maps):
    assert peak_of(CHANGES[name], maps) < LIMIT
