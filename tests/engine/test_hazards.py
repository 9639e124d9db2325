"""What a loop stores, and reads again: under masks, through other views of the same memory, and in plans that have moved."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll.comm import simulated
from atoll.layout import Layout, Undistributed

from ..plan.proof import proving
from . import comparison, loop_statements, masked_statements, statements
from .random_layouts import lying

pytestmark = pytest.mark.timeout(120)

VIEWS = {
    "ravel": lambda y: y.ravel(),
    "all": lambda y: y[:],
    "reshape": lambda y: y.reshape(-1),
    "transpose": lambda y: y.T,
    "squeeze": lambda y: y.squeeze(),
    "twice": lambda y: y[::-1][::-1],
    "itself": lambda y: y,
}
WAYS = {
    "assigned": lambda m, y, k, view: y.__setitem__(k, view(y)[k] + 1),
    "output": lambda m, y, k, view: m.add(view(y), 1, out=y[...], where=k),
    "copied": lambda m, y, k, view: m.copyto(y, view(y) + 1, where=k),
    "put": lambda m, y, k, view: m.putmask(y, k, view(y) * 2),
    "chosen": lambda m, y, k, view: y.__setitem__(..., m.where(k, view(y) + 1, y)),
    "twice": lambda m, y, k, view: (y.__setitem__(k, 3), y.__setitem__(k, view(y)[k] + y[k])),
}
FIRST = {
    "doubled": lambda y: y.__imul__(2),
    "filled": lambda y: y.__setitem__(..., 5),
    "divided": lambda y: y.__setitem__(..., y // (y % 2)),
}


def written(m, dtype, n, view, way, first):
    """What arrays hold after one was stored and then written under a mask."""
    y = m.array((numpy.arange(n) % 11).astype(dtype))
    k, z = m.array(numpy.arange(n) % 3 == 0), m.array(numpy.arange(n) % 7).astype(dtype)
    y = FIRST[first](y) if first == "doubled" else (FIRST[first](y), y)[1]
    WAYS[way](m, y, k, VIEWS[view])
    z[k] = y[k]
    return y, z + y


@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("dtype", ["f8", "i8", "c16", "f4"])
def test_what_a_group_stores_is_read_under_a_mask(dtype, way):
    with np.config(small=0), numpy.errstate(all="ignore"):
        for view in sorted(VIEWS):
            for first in sorted(FIRST) if dtype != "c16" else ["doubled", "filled"]:
                for ours, theirs in zip(
                    written(np, dtype, 301, view, way, first),
                    written(numpy, dtype, 301, view, way, first),
                    strict=True,
                ):
                    numpy.testing.assert_array_equal(ours, theirs, f"{view} {first}")


def levels(m, lows, wall):
    """Fields of two sizes, each put together in slices, written under masks, and looked at under others."""
    nx, ny, nz = 14, 20, 12
    bottom = m.array(numpy.arange(nx * ny).reshape(nx, ny) % 3)
    steps = m.array(numpy.arange(nz) + 1.0)
    found = []
    for low in lows:
        k = bottom[low:-2, low:-2]
        level = m.arange(nz)[None, None, :]
        water = m.logical_and((k >= 0)[:, :, None], level >= k[:, :, None])
        edge = m.logical_and((k >= 0)[:, :, None], level == k[:, :, None])
        a = m.full((nx, ny, nz), 0.0)[low:-2, low:-2].copy()
        flux = m.full((nx, ny, nz), 0.0)[low:-2, low:-2].copy()
        flux[:, :, :-1] = wall
        a[:, :, 1:] = -flux[:, :, :-1] * steps[None, None, 1:]
        a.flags.writeable = False
        a = a.copy()
        a[edge] = 0
        a.flags.writeable = False  # which makes another view of it
        found.append(a[water])
        found.append(float(abs(found[-1]).sum()))
    return found


@pytest.mark.parametrize("lows", [(2, 2, 1, 1), (1, 2, 3, 2, 1), (3, 1, 1, 2)])
def test_a_moved_plan_reads_what_it_has_stored(lows):
    with np.config(small=0):
        for ours, theirs in zip(levels(np, lows, 2.0), levels(numpy, lows, 2.0), strict=True):
            numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.usefixtures("by_numpy")
def test_a_moved_plan_is_what_would_be_planned():
    """Overlap, extents of one, order of strides, what is in place: whatever depends on slices decides alike."""
    with np.config(small=0, debug=True), proving() as moved:
        levels(np, (2, 2, 1, 1, 3), 2.0)
        for seed in range(43_000, 43_006):
            comparison.check(statements.draw(seed, 14, kind=loop_statements.LoopStatements))
            comparison.check(statements.draw(seed, 14, kind=masked_statements.MaskedStatements))
    assert len(moved) > 10


def reversed_mask(m, a, k):
    a[a[::-1] > 3] = 0


def shifted_mask(m, a, k):
    a[1:][(a[::-1] > a)[1:]] = k


def masked_output(m, a, k):
    m.add(a, 1, out=a, where=m.roll(a, 1) > 3)


def two_names(m, a, k):
    b = a.reshape(-1)
    b[::-1][a.ravel() > 2] -= 1


def rows(m, a, k):
    a[1:][a[:-1] > 3] = k


@pytest.mark.ranks(1, 2)
@pytest.mark.parametrize("way", [reversed_mask, shifted_mask, masked_output, two_names, rows])
def test_a_mask_is_made_before_what_it_is_read_from_is_written(way):
    for shape in ((60,), (12, 5)):
        start = (numpy.arange(60) % 7).reshape(shape) * 1.0
        ours, theirs = np.array(start), start.copy()
        for k in range(1, 4):
            for m, a in ((np, ours), (numpy, theirs)):
                a += 1
                way(m, a, k)
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.ranks(1, 2)
def test_a_value_that_a_reduction_reads_past_keeps_what_it_is_made_of():
    found = []
    for m in (np, numpy):
        a, b = m.array(numpy.arange(144.0).reshape(9, 16)), m.array(numpy.ones((9, 16)))
        a = a - b
        a.flags.writeable = False
        a = a.copy()
        a[b == 0] = 1
        a.flags.writeable = False
        a = a.copy()
        total = float(a.sum())
        found.append((total, numpy.asarray(a)))
    assert found[0][0] == found[1][0]
    numpy.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.simulated(3)
def test_a_mask_that_is_laid_out_evenly_when_it_is_counted(rank, size):
    """What lies on few ranks is moved once it is computed with; then the mask lies otherwise than its array."""
    few = Layout((5,), (Undistributed(),), grid=(1,), size=size, ranks=[2])
    numbers = numpy.arange(5.0)
    a, k = lying(numbers, few), lying(numbers % 2 == 0, few)
    numpy.testing.assert_array_equal(a[k] + 1, [1, 3, 5])


@pytest.mark.simulated(2)
@pytest.mark.parametrize("value", [-3, 300, [1, -3]], ids=str)
def test_numbers_that_do_not_fit_are_refused_under_a_mask(rank, size, value):
    apart = Layout((6,), ("c",), size=size)
    a = lying(numpy.zeros(6, "u1"), apart)
    with pytest.raises(OverflowError):
        a[np.array([True, True, False, False, False, False])] = value


@pytest.mark.slow
def test_drawn_programs_with_kernels():
    """A few of those that ``python -m tests.engine.search 0:20000 1 masked kernels`` draws."""
    for seed in range(40_000, 40_030):
        comparison.check(
            statements.draw(seed, 14, exports=True, kind=masked_statements.MaskedStatements)
        )


@pytest.mark.slow
@pytest.mark.usefixtures("by_numpy")
def test_drawn_programs_on_simulated_ranks():
    for seed in range(41_000, 41_012):
        program = statements.draw(seed, 14, ranks=True, kind=masked_statements.MaskedStatements)
        simulated.run(2 + seed % 2, comparison.check, program, seed=seed)


@pytest.mark.ranks(2)
def test_drawn_programs_on_ranks(rank):
    for seed in range(42_000, 42_006):
        comparison.check(
            statements.draw(seed, 14, ranks=True, kind=masked_statements.MaskedStatements)
        )


def test_what_numpy_reads_is_not_stored_over_by_what_it_asks_for_next():
    """NumPy gets the memory of its arguments when all of them have been computed."""

    def program(xp):
        a, b = xp.arange(40_000.0) + 1, xp.arange(40_000.0) * 3
        xp.add(a[..., None][..., 0], b, out=a, where=b > 7)
        finite = xp.isfinite(a)
        xp.add(b, b + 1, out=b, where=finite, casting="unsafe")
        return b

    with np.config(small=0):
        numpy.testing.assert_array_equal(program(np), program(numpy))
