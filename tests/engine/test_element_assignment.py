"""Assigning one element of an array on ranks: its owner writes, and nobody else."""

from __future__ import annotations

import numpy as np
import pytest

import atoll


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2, 4)
def test_one_element_in_a_loop(size):
    def program(module):
        a = module.arange(40.0)
        found = []
        for step in range(5):
            old = a.copy()
            a[1:-1] = (a[2:] + a[:-2]) / 2
            a[0] = step
            a[-1] = a[-2] * 2
            found.append(float(abs(a - old).max()))
        return found, np.asarray(a)

    ours, a = program(atoll)
    theirs, b = program(np)
    assert ours == theirs
    assert (a == b).all()


@pytest.mark.simulated(3)
def test_only_the_owner_has_a_loop(rank):
    a = atoll.zeros(12)
    b = a + 1
    atoll.sync()
    before = b.local.copy()
    b[7] = 5.0
    assert (b.local != before).sum() == (rank == 1)
