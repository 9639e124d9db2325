"""What is recorded lies where the rules say, whether they were asked or the answer was at hand."""

from __future__ import annotations

import pytest

import atoll as np
from atoll import Block, Cyclic, Layout
from atoll.errors import WorldError

SHAPE = (12, 9)


def operands(size):
    """Arrays of one shape on several layouts, a row and a column to be broadcast, and what all ranks have."""
    padded = Layout(SHAPE, (Block(padding=[(1, 1)] * size), "n"), size=size)
    return {
        "rows": np.ones(SHAPE),
        "columns": np.ones(SHAPE, layout=Layout(SHAPE, "nb", size=size)),
        "cyclic": np.ones(SHAPE, layout=Layout(SHAPE, (Cyclic(2), "n"), size=size)),
        "padded": np.ones(SHAPE, layout=padded),
        "row": np.ones((1, 9)),
        "column": np.ones((12, 1)),
        "whole": np.ones(SHAPE, layout=Layout(SHAPE, "nn", size=size)),
        "number": np.ones(SHAPE).sum(),
    }


def checked(result):
    """The result, if its node and all that are pending below lie where the rules would have them."""
    stack = [result._cell.node]
    while stack:
        node = stack.pop()
        if node.value is None and node.args:
            below = [arg for arg in node.args if hasattr(arg, "place")]
            placed = [arg for arg in below if arg.place is not None]
            if placed:
                assert node.place is node.op.place(node, placed[0]), node
            stack += below
    return result


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("first", ["rows", "columns", "cyclic", "padded", "row", "column", "whole"])
def test_of_two_operands(size, first):
    for turn in range(2):
        some = operands(size)
        for name in some:
            a, b = some[first], some[name]
            checked(a + b)
            checked(np.where(b > 0, a, 1.0))
            c = checked(a * 2 + b * a - 1)
            if c.shape == SHAPE:
                checked(c[turn + 1 : -1] + c[: -2 - turn])
                checked(c[:, 2:] * c[:, :-2])
                checked(c.T + 1)
                checked(c[None, ::2] - c[::2])
                d = c.copy()
                d[1:] = a[-1] + 2 * c[:-1]
                checked(d)
                d[:, 0] = 3.0
                checked(d)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 3)
def test_while_a_number_of_all_ranks_is_pending(size):
    a = np.ones(SHAPE)
    for turn in range(3):
        total = a.sum()
        b = checked(a + turn)
        mean = b.mean()
        a = checked(b[::-1] * 1.0)
        assert float(total) == pytest.approx(108.0 * (1 + turn * (turn - 1) / 2))
        assert float(mean) == pytest.approx(float(total) / 108 + turn)


@pytest.mark.simulated(2, 3)
def test_arrays_of_two_worlds_do_not_mix(rank, size):
    with np.world.split(0):
        there = np.ones(SHAPE)
    here = np.ones(SHAPE)
    for _ in range(2):
        with pytest.raises(WorldError, match="do not mix"):
            here + there
        checked(here + 1)
        with np.world.split(0):
            checked(there + 1)
