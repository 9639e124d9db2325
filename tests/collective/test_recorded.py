"""Collective operations are recorded: nothing is computed before a look, and what was recorded stays as it was."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.config import config
from atoll.errors import DivergenceError

LINE = numpy.random.default_rng(7).integers(-40, 40, 91) / 8
GRID = numpy.random.default_rng(8).integers(-40, 40, (13, 17)) / 8

PROGRAMS = {
    "sort a line": (lambda m, line, grid: m.sort(line)),
    "sort rows": (lambda m, line, grid: m.sort(grid, axis=1)),
    "sort columns": (lambda m, line, grid: m.sort(grid, axis=0)),
    "sort a transpose": (lambda m, line, grid: m.sort(grid.T, axis=0)),
    "sort a slice": (lambda m, line, grid: m.sort(grid[2:9, ::3], axis=0)),
    "argsort a line": (lambda m, line, grid: m.argsort(line, kind="stable")),
    "argsort columns": (lambda m, line, grid: m.argsort(grid, axis=0, kind="stable")),
    "cumsum of a line": (lambda m, line, grid: m.cumsum(line)),
    "cumsum of columns": (lambda m, line, grid: m.cumsum(grid, axis=0)),
    "a scan of rows": (lambda m, line, grid: m.maximum.accumulate(grid, axis=1)),
    "a scan of a transpose": (lambda m, line, grid: m.add.accumulate(grid.T, axis=0)),
    "a product": (lambda m, line, grid: grid @ grid.T),
    "a product of slices": (lambda m, line, grid: m.matmul(grid[1:7, 2:9], grid[3:10, :5])),
    "a product with a vector": (lambda m, line, grid: grid @ line[:17]),
    "a vector with a product": (lambda m, line, grid: line[:13] @ grid),
    "tensordot": (lambda m, line, grid: m.tensordot(grid, grid, ((0,), (0,)))),
    "a reshape": (lambda m, line, grid: grid.reshape(17, 13) * 1),
    "argmin along an axis": (lambda m, line, grid: m.argmin(grid.astype(complex), axis=0)),
}
programs = pytest.mark.parametrize("name", PROGRAMS)


@pytest.fixture(autouse=True)
def large():
    with config(small=0, everywhere=0):
        yield


def data():
    line, grid = np.array(LINE), np.array(GRID)
    return (line, grid), (line * 2 + 1, grid * 2 + 1)


def expected(name):
    return PROGRAMS[name](numpy, LINE * 2 + 1, GRID * 2 + 1)


def work():
    now = np.stats()
    return now.kernels_run, now.messages, now.created + now.reused


@pytest.mark.simulated(2, 3)
@programs
def test_nothing_is_computed_before_a_look(name):
    _, operands = data()
    before = work()
    result = PROGRAMS[name](np, *operands)
    told = np.explain(result)
    assert work() == before
    assert told.state == "pending"
    assert told.collectives
    assert "across ranks: " + told.collectives[0].operation in str(told)
    numpy.testing.assert_array_equal(numpy.asarray(result), expected(name))
    assert result.dtype == expected(name).dtype


@pytest.mark.ranks(1, 2, 3)
@programs
def test_what_is_assigned_later_does_not_change_it(name):
    bases, operands = data()
    result, plain = PROGRAMS[name](np, *operands), PROGRAMS[name](np, *bases)
    for one in (*bases, *operands):
        one[1:3] = 99
        one[...] = 0
    numpy.testing.assert_array_equal(numpy.asarray(result * 1), expected(name))
    numpy.testing.assert_array_equal(numpy.asarray(plain), PROGRAMS[name](numpy, LINE, GRID))


@pytest.mark.simulated(2, 3)
def test_what_is_known_to_move_is_told():
    grid = np.array(GRID)
    told = [np.explain(np.sort(grid, axis=k)).collectives[0] for k in (0, 1)]
    whole = next(k for k, one in enumerate(told) if one.nbytes == 0)
    assert told[whole].partners == ()
    assert told[1 - whole].nbytes > 0
    assert np.world.rank not in told[1 - whole].partners
    before = np.stats().bytes_moved
    np.sort(grid, axis=1 - whole)._evaluate()
    assert np.stats().bytes_moved - before == told[1 - whole].nbytes
    assert not np.explain(np.sort(np.array(LINE))).collectives[0].exact


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("maps", ["bn", "nb", "cn", "nn"])
def test_another_layout_has_memory_of_its_own(maps, size):
    grid = np.array(GRID) * 2
    layout = np.Layout(GRID.shape, maps, size=size)
    moved = grid.redistribute(layout)
    grid[...] = 0
    assert moved.layout == layout
    assert moved.local.shape == layout.local_shape(np.world.rank)
    numpy.testing.assert_array_equal(numpy.asarray(moved), GRID * 2)


@pytest.mark.ranks(2, 3)
def test_loops_plan_once():
    grid = np.array(GRID)
    grid = np.sort(grid, axis=0) + 1
    grid._evaluate()
    made = np.stats().plans_made
    want = numpy.sort(GRID, axis=0) + 1
    for turn in range(6):
        grid = np.sort(grid, axis=0) + 1
        grid._evaluate()
        want = numpy.sort(want, axis=0) + 1
        if turn == 1:
            made = np.stats().plans_made
    assert np.stats().plans_made == made
    numpy.testing.assert_array_equal(numpy.asarray(grid), want)


@pytest.mark.simulated(2, 3)
def test_a_long_chain_is_cut():
    grid, want = np.array(GRID), GRID
    for _ in range(600):
        grid, want = np.sort(grid, axis=0).T, numpy.sort(want, axis=0).T
    assert grid._cell.node.weight < 700
    numpy.testing.assert_array_equal(numpy.asarray(grid), want)


@pytest.mark.simulated(2)
def test_other_parameters_are_a_divergence():
    result = (np.sort, np.argsort)[np.world.rank](np.array(LINE))
    with pytest.raises(DivergenceError, match=r"sort\(.*argsort\("):
        result._evaluate()
