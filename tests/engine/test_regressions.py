"""Mistakes that were found in the engine once, each held by the smallest program that showed it."""

import numpy as np
import pytest

import atoll
from atoll import Layout
from atoll.config import config


@pytest.fixture(autouse=True)
def large():
    with config(small=0):
        yield


def test_programs_differ_by_what_is_wanted():
    """Two windows over the same operations, of which different ones are wanted."""
    x = np.arange(10.0) - 5
    for which in (0, 1):
        a = atoll.array(x) > 0
        b = ~a
        c = b * 2.0
        target = atoll.array(np.zeros(10))
        seen = np.asarray(target)
        atoll.multiply(c, 1.0, out=target, where=(b, a)[which])
        expected = np.where(((x <= 0), (x > 0))[which], (x <= 0) * 2.0, 0)
        np.testing.assert_array_equal(seen, expected)


@pytest.mark.simulated(1, 2, 3)
@pytest.mark.ranks(2)
def test_programs_differ_by_how_blocks_lie_in_memory(rank, size):
    whole = np.arange(42.0).reshape(6, 7)
    layout = Layout((6, 7), "bn", size=size)
    rows = layout.region(rank)[0].array()
    for order in "CFC":
        block = np.array(whole[rows], order=order)
        a = atoll.from_local(block, layout)
        np.testing.assert_array_equal(np.asarray(a * 2 + 1), whole * 2 + 1)
        a += 1
        np.testing.assert_array_equal(block, whole[rows] + 1)


@pytest.mark.simulated(2, 3)
@pytest.mark.ranks(2)
def test_an_assigned_array_stays_where_it_is(size):
    whole = np.arange(42.0).reshape(6, 7)
    rows, columns = Layout((6, 7), "bn", size=size), Layout((6, 7), "nb", size=size)
    a = atoll.asarray(whole.copy()).redistribute(rows)
    b = atoll.asarray(whole.copy()).redistribute(columns)
    a[...] = b
    assert a.layout == rows
    a[...] = b + 1
    assert a.layout == rows
    atoll.add(b, 2, out=a)
    assert a.layout == rows
    np.testing.assert_array_equal(np.asarray(a), whole + 2)


def doubled_rows(np):
    a = np.arange(24.0).reshape(4, 6)
    a[::2] *= 2
    return a


def lines_of_other_shapes(np):
    a = np.zeros((5, 7))
    a.reshape(7, 5)[1:, 2] = 3
    np.fill_diagonal(a, 7)
    a.flat[3::4] += 1
    a.reshape(-1)[5:9] *= 3
    return a


def halves_of_two_axes(np):
    a = np.arange(36.0).reshape(6, 6) + 1
    b = a.reshape(2, 3, 6)
    b[1] += a[:3]
    b[0, :, ::2] = a.T[3:, :3]
    return a


@pytest.mark.parametrize("program", [doubled_rows, lines_of_other_shapes, halves_of_two_axes])
@pytest.mark.simulated(1, 2, 3)
@pytest.mark.ranks(2)
def test_assignments_through_views_that_cross_axes(program):
    """The owners of what is written are no grid of the view's own axes."""
    np.testing.assert_array_equal(np.asarray(program(atoll)), program(np))


WRITES = [
    "a[2:5] = 9",
    "a[...] = 0",
    "a[1:, 1:] = a[:-1, :-1]",
    "a[::2, ::-1] += 1",
    "a[a > 10] = -1",
    "a[:, 2] = a[2, 0]",
    "a.T[1] = 5",
    "a[3] = np.arange(6.0)",
    "a[1, 1] = 7",
    "np.multiply(a[1:], 2, out=a[:-1])",
    "np.copyto(a, 3, where=a > 5)",
    "a[[1, 3]] = 8",
    "a.reshape(6, 7)[2:4] = 1",
    "a.flat[3:9] = 2",
]


@pytest.mark.simulated(1, 3, 8)
@pytest.mark.ranks(2)
def test_writes_into_memory_that_is_known_outside(rank, size):
    """Each rank writes what falls into its own block, at once."""
    whole = np.arange(42.0).reshape(7, 6)
    layout = Layout((7, 6), "bn", size=size)
    rows = layout.region(rank)[0].array()
    for line in WRITES:
        expected = whole.copy()
        exec(line, {"np": np, "a": expected})
        imported = whole[rows]
        exec(line, {"np": atoll, "a": atoll.from_local(imported, layout)})
        np.testing.assert_array_equal(imported, expected[rows], err_msg=line)
        a = atoll.array(whole).redistribute(layout)
        exported = a.local
        exec(line, {"np": atoll, "a": a})
        np.testing.assert_array_equal(exported, expected[rows], err_msg=line)


@pytest.mark.simulated(1, 3, 7)
@pytest.mark.ranks(2)
def test_writes_from_ranks_into_memory_that_every_rank_has(rank, size):
    """What is written lies in shares, and so does the mask: each rank writes all of it."""
    whole = np.arange(6.0)
    spread = atoll.asarray(whole)
    shared = atoll.asarray(whole).redistribute(Layout((6,), "n", size=size))
    block = shared.local
    shared[...] = spread * 2
    np.testing.assert_array_equal(block, whole * 2)
    shared[spread > 2] = spread[spread > 2] - 9
    np.testing.assert_array_equal(block, np.where(whole > 2, whole - 9, whole * 2))
    one = atoll.ones((1,)).redistribute(Layout((1,), "n", size=size))
    block = one.local
    one[atoll.asarray(np.array([True])).redistribute(Layout((1,), "b", size=size))] = 5
    assert block.tolist() == [5]


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(2)
def test_parts_of_elements_where_a_rank_has_only_one(size):
    """What is calculated from the imaginary part of a share of one element is not written over that part."""
    whole = np.array([4 - 4j, 2 + 1j, 3j])[:size]
    a = atoll.asarray(whole).redistribute(Layout((size,), "b", size=size))
    a.real = -a.imag
    np.testing.assert_array_equal(np.asarray(a), -whole.imag + 1j * whole.imag)
    np.add(a.real, 1, out=a.imag)
    np.testing.assert_array_equal(np.asarray(a), -whole.imag + 1j * (1 - whole.imag))


@pytest.mark.simulated(1, 2, 3)
@pytest.mark.ranks(2)
def test_a_mask_that_lies_elsewhere_than_what_is_computed_under_it(size):
    """The value is computed where the mask is true only, so each rank asks for the mask twice."""
    whole = np.arange(7.0)
    backwards = Layout((7,), "b", grid=(size,), size=size, ranks=range(size)[::-1])
    a, mask = atoll.asarray(whole).redistribute(backwards), atoll.asarray(whole % 3 == 0)
    same = a[:]
    atoll.add(same, 1, out=a, where=mask)
    np.testing.assert_array_equal(np.asarray(a), whole + (whole % 3 == 0))


def test_an_old_version_that_a_strided_assignment_still_reads():
    """An assignment to every other element reads a version that a later one would overwrite."""

    def program(module):
        a, b = module.array(np.zeros(100)), module.array(np.arange(100.0))
        b[1:60] = b[2:61] * 2
        a[1::2] = b[::2] * 3
        b[3:40] = b[50:87] + 1
        return b + a, a, b

    for ours, theirs in zip(program(atoll), program(np), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize("name", ["sum", "max", "argmax", "mean"])
@pytest.mark.parametrize("wrong", [True, 1.0])
def test_what_equals_an_axis_is_none(name, wrong):
    """An axis that was met before is found again by its value."""
    with atoll.config(small=0):
        a = atoll.arange(24.0).reshape(4, 6) + 1
        getattr(a, name)(axis=1)
        with pytest.raises(TypeError):
            getattr(a, name)(axis=wrong)


@pytest.mark.slow
@pytest.mark.parametrize("step", [0, 1, 2])
def test_elements_that_share_memory_are_written_in_numpys_order(step):
    """Of elements in one place the last one stays, on any number of threads; what was recorded before sees the old ones."""
    shape = (7, 104, 609)
    values = np.random.default_rng(3).integers(0, 1 << 15, shape).astype(np.int16)

    def program(m):
        x = m.array(values)
        view = m.lib.stride_tricks.as_strided(x, shape, (step, *values.strides[1:]))
        before = view + 1
        m.invert(x, out=view)
        view[2:] = m.array(values)[2:]
        return before, x, view + 0

    for found, wanted in zip(program(atoll), program(np)):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.simulated(2, 3)
def test_numpy_computes_nothing_where_a_rank_has_no_elements(size):
    """Operands of one element, of which nothing comes to such a rank, are not broadcast there."""
    whole = np.arange(12).reshape(3, 4) + 1j
    rows = atoll.Block((0, 3) + (3,) * (size - 1))
    for power in (np.array([2]), np.array([[1], [2], [0]])):
        a = atoll.array(whole).redistribute(Layout((3, 4), (rows, "n"), size=size))
        a **= atoll.array(power)
        np.testing.assert_allclose(np.asarray(a), whole**power, rtol=1e-14)
