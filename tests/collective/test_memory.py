"""No operation holds more on a rank than a small multiple of its own share."""

import tracemalloc
from itertools import cycle

import numpy as np
import pytest

import atoll
from atoll.backend.memory import pool
from atoll.comm import simulated
from atoll.config import config
from atoll.context import statistics
from atoll.layout import Layout

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
FUNCTIONS = {
    "counts of values": lambda np, a: np.bincount((a * 1000).astype(int).ravel()),
    "histogram": lambda np, a: np.histogram(a, 20)[0],
    "digitized": lambda np, a: np.digitize(a, [0.2, 0.5]),
    "searched in a line": lambda np, a: np.searchsorted(np.sort(a[:, 0]), a),
    "numbers of different elements": lambda np, a: np.unique(a, return_inverse=True)[1],
    "median": lambda np, a: np.median(a, keepdims=True),
    "median of columns": lambda np, a: np.median(a, 0),
    "quantiles of rows": lambda np, a: np.quantile(a, [0.1, 0.5], axis=1),
    "intersection": lambda np, a: np.intersect1d(a[: ROWS // 2], a[ROWS // 4 : ROWS // 2]),
    "among": lambda np, a: np.isin(a[:, : COLUMNS // 2], a[:, COLUMNS // 4 :]),
    "convolution": lambda np, a: np.convolve(a.ravel(), [1.0, 2.0, 1.0]),
    "transform of columns": lambda np, a: np.fft.fft(a[:, : COLUMNS // 2], axis=0),
    "transform of a line": lambda np, a: np.fft.fft(a[: ROWS // 2].ravel()),
    "equations": lambda np, a: np.linalg.solve(a[:32, :32] + 9 * np.eye(32), a[:32]),
    "permutation": lambda np, a: np.random.default_rng(3).permutation(a),
    "choice": lambda np, a: np.random.default_rng(3).choice(a.ravel(), ROWS * COLUMNS // 2),
    "repeated by counts": lambda np, a: np.repeat(a, np.arange(ROWS) % 3, 0),
    "put in": lambda np, a: np.insert(a, 5, 1.0, axis=0),
    "left out": lambda np, a: np.delete(a, [1, 5, 7], axis=0),
    "chosen": lambda np, a: np.choose((a > 0.5).astype(int), [a, a + 1]),
    "by two keys": lambda np, a: np.lexsort((a[:, 0], a[:, 1])),
    "wrapped": lambda np, a: np.pad(a, 3, "wrap"),
    "interpolated": lambda np, a: np.interp(a[:64], np.sort(a[:, 0]), a[:, 1]),
    "stretches": lambda np, a: np.add.reduceat(a, [0, 5, 700], axis=0),
    "many parts": lambda np, a: np.concatenate([a[:64]] * 12),
}
CHANGES = {
    "rows": lambda np, a: a.__setitem__(np.arange(ROWS)[::-1] * 1, a),
    "rows set to one number": lambda np, a: a.__setitem__(np.arange(ROWS)[::2] * 1, 3.0),
    "under a mask": lambda np, a: a.__setitem__(a > 0.5, a[a > 0.5] * 2),
    "put": lambda np, a: a.put(np.arange(ROWS), np.arange(ROWS) * 1.0),
    "through a reshape": lambda np, a: a.reshape(-1)[::3].__setitem__(slice(None), 1.0),
    "flat": lambda np, a: a.flat.__setitem__(slice(0, ROWS * COLUMNS // 2, 3), 1.0),
    "joined at": lambda np, a: np.add.at(a, np.arange(ROWS) // 2, 1.0),
    "masked": lambda np, a: np.putmask(a, a > 0.5, a * 2),
    "sorted in place": lambda np, a: a.sort(0),
    "into itself": lambda np, a: np.cumsum(a, 0, out=a),
    "columns": lambda np, a: a.__setitem__((slice(None), slice(0, None, 2)), a[:, 1::2]),
}


def peak_of(operation, maps):
    """The most bytes that all ranks together asked for beyond the operand, in buffers of the pool and
    in arrays of NumPy's, as multiples of the whole; what NumPy makes of it is compared, too.

    What grows with the ranks is at most twice as much on twice as many, so half of them decide where they ask for little.
    The first turn in a process also imports and compiles: where it asks for more than the limit, the next decides."""
    for ranks in (RANKS // 2, RANKS, RANKS):
        peak = _peak_of(operation, maps, ranks) * RANKS / ranks
        if peak < LIMIT:
            break
    return peak


def _peak_of(operation, maps, ranks):
    values = np.random.default_rng(0).random((ROWS, COLUMNS))
    traced = []

    def work():
        layout = Layout((ROWS, COLUMNS), maps, size=ranks)
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
        return np.asarray(result) if communicator.rank in (0, ranks - 1) else result.__array__()

    with config(small=0):
        found = simulated.run(ranks, work)
    theirs = values.copy()
    expected = operation(np, theirs)
    for mine in (found[0], found[-1]):
        np.testing.assert_allclose(mine, theirs if expected is None else expected, rtol=1e-10)
    return sum(traced) / WHOLE


@pytest.mark.slow
@pytest.mark.parametrize(("name", "maps"), list(zip(OPERATIONS, cycle(["bb", "nc"]))))
def test_results(name, maps):
    assert peak_of(OPERATIONS[name], maps) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize(("name", "maps"), list(zip(CHANGES, cycle(["nc", "bb"]))))
def test_changes(name, maps):
    assert peak_of(CHANGES[name], maps) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    maps = "bb" if len(name) % 2 else "nc"
    assert peak_of(FUNCTIONS[name], maps) < LIMIT
