"""Mistakes that libraries of distributed arrays made before, one test each.

Others have files of their own: destruction that is collective (``agreement/test_garbage.py``), arrays of global size on a
rank (``collective/test_memory.py``), one failing rank that hangs the rest (``cli/test_run.py``), streams of random
numbers that depend on the rank (``collective/test_random.py``), names that are missing (``functions/test_namespace.py``,
``collective/test_calls.py``).
"""

from __future__ import annotations

import time

import numpy as np
import pytest

import atoll
from atoll import Block, Cyclic, Layout
from atoll.comm.simulated import Simulation

pytestmark = pytest.mark.usefixtures("by_numpy")


SHIFTS = [
    "np.add(a[:-1], a[1:], out=a[:-1])",
    "np.add(a[:-1], a[1:], out=a[1:])",
    "np.add(a[:-2], a[2:], out=a[1:-1])",
    "a[1:] += a[:-1]",
    "a[:-3] = a[3:]",
    "a[::-1] += a",
    "np.multiply(a[1:, 1:], 2, out=a[:-1, :-1])",
    "np.subtract(a.T, a, out=a)",
]


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 5)
@pytest.mark.parametrize("maps", ["bn", "cn", "bb", (Cyclic(2), "b")], ids=str)
def test_neighbours_read_what_was_there_before(maps, size):
    whole = np.arange(100.0).reshape(10, 10) ** 2 % 31
    for line in SHIFTS:
        expected = whole.copy()
        exec(line, {"np": np, "a": expected})
        a = atoll.asarray(whole.copy()).redistribute(Layout((10, 10), maps, size=size))
        exec(line, {"np": atoll, "a": a})
        np.testing.assert_array_equal(np.asarray(a), expected, err_msg=line)


def turns():
    """A loop whose arrays die, and are written over, while pieces of them are on their way."""
    with atoll.config(small=0):
        a = atoll.arange(6000.0)
        b = atoll.arange(600.0).reshape(60, 10)
        for _ in range(6):
            shifted = a[2:] * 2 - a[:-2]
            a = atoll.concatenate([shifted, a[:2]]) % 1009
            del shifted
            b[:-1] += b[1:]
            b[5:] = b[:-5] * 3
            b %= 127
        return np.concatenate([np.asarray(a), np.asarray(b).ravel()])


def one_way(columns):
    """Rows go to the rank before only. So the last rank waits for nobody, and what it sends of ``b``
    lies in ``b``, or in a buffer that the next turn uses again."""
    with atoll.config(small=0):
        b = atoll.arange(60.0 * columns).reshape(60, columns) % 1009
        b = b.redistribute(Layout((60, columns), "bn"))
        c = b * 0
        for _ in range(5):
            c[:-1] += b[1:]
            b += 1
        return np.asarray(c)


PROGRAMS = {
    "turns": turns,
    "few bytes one way": lambda: one_way(10),
    "many bytes one way": lambda: one_way(20_000),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(4))
def test_memory_is_not_used_again_while_somebody_may_read_it(name, seed):
    """The receiver comes late, and a send takes the data only when its receive is there."""

    def late(source, dest, nbytes):
        return 0.2 if dest == seed % 3 else 1e-6

    program = PROGRAMS[name]
    (expected,) = Simulation(1).run(program)
    for found in Simulation(3, latency=late, seed=seed, rendezvous=True).run(program):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("columns", [10, 20_000])
def test_a_rank_goes_on_while_the_others_are_outside(columns, rank, size, tmp_path):
    """Rank 0 gets what it needs though all others are in code of the user's: nobody has to be inside of atoll
    for what it has sent to arrive."""
    rows = 12 * size
    b = (np.arange(rows * columns) % 31).reshape(rows, columns)
    a = atoll.asarray(b).redistribute(Layout(b.shape, "bn", size=size))
    atoll.sync()
    c = a[1:] + a[:-1]
    mine = c.local
    mark = tmp_path / "rank 0 has all of it"
    if rank == 0:
        np.testing.assert_array_equal(mine, (b[1:] + b[:-1])[: len(mine)])
        mark.touch()
    else:
        end = time.monotonic() + 30
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.001)
        assert mark.exists(), "rank 0 waits for somebody"
    np.testing.assert_array_equal(np.asarray(c), b[1:] + b[:-1])


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 4)
def test_dtypes_of_results_are_not_those_of_operands(rank, size):
    for code in ("i4", "u1", "f4", "i8", "b1"):
        whole = np.arange(1, 13).astype(code)
        a = atoll.array(whole)
        for name in (
            "less",
            "equal",
            "true_divide",
            "logical_and",
            "isfinite",
            "sqrt",
            "add",
            "sum",
            "mean",
            "cumsum",
        ):
            theirs = getattr(np, name)
            binary = isinstance(theirs, np.ufunc) and theirs.nin == 2
            expected = theirs(whole, whole) if binary else theirs(whole)
            found = getattr(atoll, name)(a, a) if binary else getattr(atoll, name)(a)
            assert found.dtype == expected.dtype, (name, code)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 4)
def test_slices_of_one_element_stay_arrays(rank, size):
    whole = np.arange(20.0).reshape(5, 4)
    a = atoll.array(whole)
    for key in ("3:4", "3:4, 2:3", "3:4, 2", "-1:, ::9", "4:5, None, :1", "[3]", "[[2]], [[1]]"):
        found, expected = (eval(f"x[{key}]", {"x": x}) for x in (a, whole))
        assert isinstance(found, atoll.ndarray), key
        assert found.shape == expected.shape, key
        np.testing.assert_array_equal(np.asarray(found), expected)
        np.testing.assert_array_equal(np.asarray(found + a), expected + whole)
    a[3:4, 2:3] = 7
    assert float(a[3, 2]) == 7


TRAPS = [
    "x.reshape(-1)",
    "x.T.reshape(-1)",
    "x.reshape(2, -1)",
    "x[::-2].reshape(-1)",
    "x.reshape(-1) + 1",  # computed on shares: what is looked at as it is, is gathered first
    "x.T.reshape(-1) * np.arange(24)",
    "x.reshape(2, -1) - x.reshape(2, -1)[::-1]",
    "x[::-2].reshape(-1) * 2",
    "np.arange(5, 0, -1)",
    "np.arange(5, 0, -2) * 2",
    "np.arange(0, 5, -1)",
    "np.arange(2.5, -1, -0.5)",
    "(x + 1j * x).real",
    "(x + 1j * x).imag[::-1]",
    "(x + 1j).T.imag + x.T.real",
]


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(1, 4)
@pytest.mark.parametrize("maps", ["bn", "nb", "cn"])
def test_reshapes_ranges_backwards_and_parts_of_complex_numbers(maps, size):
    whole = np.arange(24.0).reshape(4, 6)
    a = atoll.asarray(whole).redistribute(Layout((4, 6), maps, size=size))
    for line in TRAPS:
        expected = eval(line, {"np": np, "x": whole})
        found = eval(line, {"np": atoll, "x": a})
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), line
        np.testing.assert_array_equal(np.asarray(found), expected, err_msg=line)
    z = atoll.asarray(whole + 0j).redistribute(Layout((4, 6), maps, size=size))
    z.imag = a
    z.real[1:] *= 2
    expected = whole + 1j * whole
    expected.real[1:] *= 2
    np.testing.assert_array_equal(np.asarray(z), expected)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
def test_text_is_the_same_on_every_rank(rank, size):
    bounds = (0, *(17 for _ in range(size - 1)), 24)
    for maps in ("b", "c", (Block(bounds),)):
        a = atoll.arange(24.0).redistribute(Layout((24,), maps, size=size))
        for text in (
            repr,
            str,
            lambda x: f"{x.sum():.3f}",
            lambda x: repr(x.layout),
            lambda x: f"{x[3]}",
        ):
            mine = text(a)
            assert mine
            every = [atoll.world.communicator.bcast_object(mine, root) for root in range(size)]
            assert every == [mine] * size
