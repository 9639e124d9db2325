"""Kernels that one call runs: the same values and flags as one after the other."""

import warnings

import numpy
import pytest

import atoll as np
from atoll.backend.llvm import workers
from atoll.backend.llvm.launch import KernelSteps


def step(u):
    old = u.copy()
    u[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) / 4
    return ((u - old) ** 2).sum()


def steps_of(u):
    return u._cell.node.value.program.quick


def run(n, times):
    """Values of a loop in atoll and in NumPy, and the steps of atoll's program."""
    ours, theirs = np.zeros((n, n)), numpy.zeros((n, n))
    ours[0] = theirs[0] = 1.0
    for _ in range(times):
        mine, other = float(step(ours)), float(step(theirs))
    assert mine == pytest.approx(other, rel=1e-13)
    assert numpy.array_equal(numpy.asarray(ours.copy()), theirs)
    return steps_of(ours)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [9, 400])
def test_values(n, threads):
    with np.config(small=0, threads=threads):
        quick = run(n, 6)
    if workers.team().compiled:
        joined = [one for one in quick if type(one) is KernelSteps]
        assert len(joined) == 1
        assert len(joined[0].steps) == 5
        assert joined[0].shared == (n == 400)


def test_where_there_is_no_compiled_loop(monkeypatch):
    monkeypatch.setattr(workers, "_team", workers.PortableTeam())
    with np.config(small=0):
        assert not [one for one in run(31, 5) if type(one) is KernelSteps]


def test_flags_of_any_of_them():
    with np.config(small=0):
        for turn in range(6):
            a = np.ones((8, 8))
            a[3, 3] = turn % 2
            b = np.ones((8, 8))
            np.sync()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                b[1:-1, 1:-1] = 1 / a[1:-1, 1:-1]
                total = (b + a).sum()
                assert numpy.isinf(float(total)) == (turn % 2 == 0)
            assert len(caught) == (turn % 2 == 0)
            assert all("divide by zero" in str(one.message) for one in caught)
