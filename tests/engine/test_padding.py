"""Arrays with communication padding, and lists that name an element on several ranks: no operation reads what lies in
padding, and all who hold an element have what was written to it."""

from __future__ import annotations

import numpy as np
import pytest

import atoll
from atoll import Block, Cyclic, Layout, Undistributed, Unstructured

from .random_layouts import lying

pytestmark = [pytest.mark.timeout(240), pytest.mark.usefixtures("by_numpy")]


CHANGES = [
    "a += 1",
    "a[1:] = a[:-1] * 2",
    "a[2:4, 1] = 7",
    "a.T[...] = np.arange(48.0).reshape(6, 8)",
    "a[a > 20] = 0",
    "a[a > 20] *= 2",
    "a[[0, 3], [1, -1]] = 5",
    "a[np.array([7, 0, 1])] += 1",
    "a.T.sort(axis=-1)",
    "a.reshape(-1)[::5] = 3",
    "np.add.at(a, [1, 2], 1)",
    "np.put(a, [3, 40], 9)",
    "a[...] = a[::-1]",
    "a.flat[::7] = 1",
    "np.copyto(a, a.T.reshape(8, 6), where=a > 3)",
]
READS = [
    "a.sum()",
    "a.sum(axis=0)",
    "np.count_nonzero(a > 3, axis=1)",
    "a.argmax()",
    "np.cumsum(a, axis=0)",
    "a.reshape(6, 8) + 1",
    "a.T @ a",
    "a[a > 20]",
    "np.sort(a, axis=None)",
    "np.concatenate([a, a[:2]])",
    "a[1:] - a[:-1]",
    "np.hypot(a, a.T.reshape(8, 6))",
]


def layouts(size):
    """For some number of ranks from two on, what each way of padding and of sharing makes of (8, 6)."""
    lists = [[k, (k + 1) % 8] for k in range(size - 1)] + [list(range(size - 1, 8))]
    wide = Block(padding=(1, 1))
    return {
        "rows": Layout((8, 6), [wide, None], size=size),
        "right only": Layout((8, 6), [Block(padding=(0, 1)), None], size=size),
        "left only": Layout((8, 6), [Block(padding=(1, 0)), None], size=size),
        "periodic": Layout((8, 6), [Block(padding=(1, 1), periodic=True), None], size=size),
        "columns and all rows": Layout(
            (8, 6), [Undistributed(padding=(1, 1), periodic=True), wide], size=size
        ),
        "padded and dealt out": Layout(
            (8, 6), [wide, Cyclic(3)], grid=(size // 2 or 1, 2), size=size
        ),
        "shared": Layout((8, 6), [Unstructured(lists), None], size=size),
        "copies": Layout((8, 6), [wide, None], grid=(2, 1), size=size, ranks=range(size // 2 * 2)),
    }


def check(line, name, layout):
    whole = np.arange(48.0).reshape(8, 6) ** 2 % 31
    a = lying(whole, layout)
    names = {"np": np, "a": whole}, {"np": atoll, "a": a}
    for one in names:
        exec(line, one)
    expected, found = (one.get("v", one["a"]) for one in names)
    np.testing.assert_array_equal(np.asarray(found), expected, err_msg=f"{line}, {name}")
    if line in CHANGES:
        assert a.layout == layout
        held = whole[np.ix_(*[part.array() for part in layout.region(atoll.world.rank)])]
        np.testing.assert_array_equal(a.local, held, err_msg=f"the block, {line}, {name}")


@pytest.mark.slow
@pytest.mark.simulated(6)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("line", [*CHANGES, *[f"v = {line}" for line in READS]])
def test_what_is_written_and_read(line, size):
    for name, layout in layouts(size).items():
        check(line, name, layout)
