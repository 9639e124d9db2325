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
    "argmin along an axis": (lambda m, line, grid: m.argmin(grid.astype(complex), axis=1)),
    "elements at indices": (lambda m, line, grid: line[PLACES]),
    "elements at indices that lie on ranks": (lambda m, line, grid: line[m.array(PLACES)]),
    "rows": (lambda m, line, grid: grid[m.array(PLACES % 13)]),
    "columns": (lambda m, line, grid: grid[:, PLACES % 17]),
    "columns of a slice": (lambda m, line, grid: grid[2:11, ::2][:, m.array(PLACES % 9)]),
    "rows of a transpose": (lambda m, line, grid: grid.T[PLACES % 17]),
    "rows backwards": (lambda m, line, grid: grid[::-1][PLACES % 13]),
    "pairs of indices": (lambda m, line, grid: grid[PLACES % 13, m.array(PLACES % 17)]),
    "an open mesh": (lambda m, line, grid: grid[PLACES[:5, None] % 13, m.array(PLACES % 17)]),
    "masks of axes": (lambda m, line, grid: grid[GRID[:, 0] > 0][:, m.array(GRID[0] > 0)]),
    "a table": (lambda m, line, grid: (m.arange(91) * 3)[m.array(PLACES)]),
    "bytes as indices": (lambda m, line, grid: line[m.array(PLACES % 91, dtype="u1")]),
    "take": (lambda m, line, grid: m.take(grid, PLACES % 17, axis=1)),
    "take of the flat array": (lambda m, line, grid: m.take(grid, m.array(PLACES))),
    "take, wrapped": (lambda m, line, grid: m.take(line, m.array(PLACES) * 5, mode="wrap")),
    "searchsorted": (lambda m, line, grid: m.searchsorted(m.sort(line), grid)),
    "searchsorted of bins": (
        lambda m, line, grid: m.searchsorted(m.array(LINE[:1]), grid, "right")
    ),
    "interp": (lambda m, line, grid: m.interp(grid, m.sort(line), line, right=7.0)),
    "interp in a table": (lambda m, line, grid: m.interp(grid, m.arange(9.0) - 4, line[:9])),
    "reduceat": (lambda m, line, grid: m.add.reduceat(line, PLACES[PLACES >= 0])),
    "reduceat of columns": (lambda m, line, grid: m.maximum.reduceat(grid, [3, 0, 5, 5], axis=1)),
    "another layout": (lambda m, line, grid: relaid(m, grid) * 2),
    "take along an axis": (lambda m, line, grid: m.take_along_axis(grid, ROWS, axis=0)),
}
WRITES = {
    "numbers": (lambda m, a, line: a.__setitem__(m.array(PLACES % 13), 5)),
    "values": (lambda m, a, line: a.__setitem__(PLACES % 13, a[:1])),
    "values on ranks": (lambda m, a, line: a.__setitem__(m.array(PLACES % 13), line[:85, None])),
    "its own rows": (lambda m, a, line: a.__setitem__(m.arange(13)[::-1], a)),
    "columns": (lambda m, a, line: a.__setitem__((slice(2, 9), PLACES % 17), line[:85])),
    "columns of a transpose": (lambda m, a, line: a.T.__setitem__(PLACES % 17, line[:13])),
    "columns backwards": (
        lambda m, a, line: a[::-2, ::-1].__setitem__((slice(None), PLACES % 17), 3)
    ),
    "elements": (lambda m, a, line: a.__setitem__((PLACES % 13, m.array(PLACES % 17)), line[:85])),
    "under a mask": (lambda m, a, line: a.__setitem__(m.array(GRID > 2), line[: (GRID > 2).sum()])),
    "through a reshape": (lambda m, a, line: a.reshape(17, 13).__setitem__(PLACES % 17, 4)),
    "put": (lambda m, a, line: m.put(a, PLACES, line[:7])),
    "put along an axis": (lambda m, a, line: m.put_along_axis(a, m.array(ROWS), 2.5, axis=0)),
    "place": (lambda m, a, line: m.place(a, m.array(GRID > 0), line[:4])),
    "add.at": (lambda m, a, line: m.add.at(a, (m.array(PLACES % 13), PLACES % 17), line[:85])),
    "maximum.at rows": (lambda m, a, line: m.maximum.at(a, m.array(PLACES % 13), line[:17])),
}


def relaid(m, a):
    return a if m is numpy else a.redistribute(np.Layout(a.shape, "nc", size=np.world.size))


PLACES = numpy.random.default_rng(9).integers(-91, 91, 85)
"""Some twice, some negative."""
ROWS = numpy.random.default_rng(10).integers(-13, 13, (6, 17))
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
    assert work() == before or "masks" in name  # which are counted at the call
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
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
@pytest.mark.parametrize("shape", [(40, 3), (13, 17), (17, 13)])
def test_factors_are_recorded(mode, shape):
    plain = numpy.random.default_rng(11).normal(size=shape)
    matrix = np.array(plain) * 1
    parts, wanted = np.linalg.qr(matrix, mode), numpy.linalg.qr(plain, mode)
    matrix[...] = 0
    if mode == "r":
        parts, wanted = (parts,), (wanted,)
    for part, want in zip(parts, wanted, strict=True):
        numpy.testing.assert_allclose(numpy.asarray(part), want, atol=1e-12)


@pytest.mark.ranks(2)
def test_an_error_that_depends_on_values_is_raised_at_the_call():
    with pytest.raises(numpy.linalg.LinAlgError):
        np.linalg.solve(np.zeros((13, 13)), np.array(GRID))
    with pytest.raises(numpy.linalg.LinAlgError):
        np.linalg.cholesky(-np.eye(13))


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


@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_is_recorded(name):
    line, grid = np.array(LINE), np.array(GRID) * 2
    view, before = grid[1:, 3:8], grid + 1
    grid._evaluate()
    WRITES[name](np, grid, line)
    told = np.explain(grid)
    assert told.state == "pending"
    assert told.collectives
    line[...] = 0
    want = GRID * 2
    WRITES[name](numpy, want, LINE)
    numpy.testing.assert_array_equal(numpy.asarray(grid), want)
    numpy.testing.assert_array_equal(numpy.asarray(view), want[1:, 3:8])
    numpy.testing.assert_array_equal(numpy.asarray(before), GRID * 2 + 1)


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("name", WRITES)
def test_writes_into_any_layout(name, size):
    for maps in ("bn", "nb", "cc", "nn"):
        layout = np.Layout(GRID.shape, maps, size=size)
        grid, want = np.array(GRID).redistribute(layout), GRID.copy()
        read = grid[:, [3, 1, 3]]
        for _ in range(2):
            WRITES[name](np, grid, np.array(LINE))
            WRITES[name](numpy, want, LINE)
        assert size == 1 or grid.layout == layout
        numpy.testing.assert_array_equal(numpy.asarray(grid), want)
        numpy.testing.assert_array_equal(numpy.asarray(read), GRID[:, [3, 1, 3]])


@pytest.mark.ranks(2, 3)
def test_memory_that_the_program_holds_is_written_to():
    grid, want = np.array(GRID), GRID.copy()
    local = grid.local
    for change in WRITES.values():
        change(np, grid, np.array(LINE))
        change(numpy, want, LINE)
    (rows, columns) = [held.array() for held in grid.layout.region(np.world.rank)]
    numpy.testing.assert_array_equal(local, want[numpy.ix_(rows, columns)])


@pytest.mark.simulated(2, 3)
def test_an_assignment_takes_the_old_memory():
    line = np.array(LINE) * 2
    line._evaluate()
    line[PLACES] = 3
    (group,) = np.explain(line).groups
    assert [memory.how for memory in group.memories] == ["in place of a"]
    kept = line + 1
    line[PLACES] = 4
    assert "copy" in str(np.explain(line))
    numpy.testing.assert_array_equal(numpy.asarray(kept)[PLACES], 4)


@pytest.mark.simulated(2)
@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_values_that_do_not_fit_a_mask_are_numpys_error(shape):
    plain, grid = GRID.copy(), np.array(GRID)
    with pytest.raises((ValueError, TypeError)) as wanted:
        plain[GRID > 0] = numpy.ones(shape)
    with pytest.raises(wanted.type, match=str(wanted.value)):
        grid[np.array(GRID > 0)] = numpy.ones(shape)
    numpy.testing.assert_array_equal(numpy.asarray(grid), GRID)


PARTS = {
    "real": lambda m, c, r: c.real.__setitem__([3, 5, 3], [7, 8, 9]),
    "a slice of imag": lambda m, c, r: c.imag[::2].__setitem__(m.array([1, -1]), 5),
    "add.at": lambda m, c, r: m.add.at(c.real, m.array([1, 1]), 10.0),
    "put": lambda m, c, r: m.put(c.imag, [0, 19], [1.0, 2.0]),
    "a reshape": lambda m, c, r: c.reshape(4, 5).real.__setitem__((m.array([1, 3]), 2), -1),
    "a field": lambda m, c, r: r["b"].__setitem__([2, 7, 12], 4),
    "a field under a mask": lambda m, c, r: r["a"].__setitem__(r["b"] == 0, 2),
    "whole structures": lambda m, c, r: r.__setitem__([1, 2], r[[7, 8]]),
}


@pytest.mark.simulated(1, 2, 3)
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_elements(name):
    plain = numpy.arange(20) + 1j * numpy.arange(20)[::-1]
    fields = numpy.zeros(13, [("a", "f8"), ("b", "i4")])
    fields["b"] = numpy.arange(13) % 3
    ours = np.array(plain) * 1, np.array(fields).redistribute(np.Layout(13, "b"))
    PARTS[name](np, *ours)
    PARTS[name](numpy, plain, fields)
    for array, want in zip(ours, (plain, fields), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(array), want)


@pytest.mark.ranks(1, 2, 3)
def test_indices_that_change_later_do_not_matter():
    line, places = np.array(LINE), np.array(PLACES)
    ours = PLACES.copy()
    read, again = line[places], line[ours]
    line[places] = 1
    line[ours] = 2
    ours[...] = 0
    places[...] = 0
    want = LINE.copy()
    want[PLACES] = 2
    numpy.testing.assert_array_equal(numpy.asarray(read), LINE[PLACES])
    numpy.testing.assert_array_equal(numpy.asarray(again), LINE[PLACES])
    numpy.testing.assert_array_equal(numpy.asarray(line), want)


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("pending", [False, True])
def test_indices_out_of_range_are_an_error_at_the_call(pending):
    line, grid = np.array(LINE), np.array(GRID)
    places = np.array(PLACES) + 91 * pending
    with pytest.raises(IndexError, match="index 91 is out of bounds for axis 0 with size 91"):
        line[np.where(places == places[5], 91, 0) if pending else numpy.array([0, 91])]
    with pytest.raises(IndexError, match="index -14 is out of bounds for axis 0 with size 13"):
        grid[np.array([0, -14]) + 0 * pending, 3] = 1
    with pytest.raises(IndexError):
        np.take(line, np.array([-92, 0]))
    with pytest.raises(IndexError):
        np.put_along_axis(grid, np.full((1, 17), 13), 0, 0)
    numpy.testing.assert_array_equal(numpy.asarray(line), LINE)
    numpy.testing.assert_array_equal(numpy.asarray(grid), GRID)


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


@pytest.mark.slow
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
