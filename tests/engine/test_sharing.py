"""Arrays that share most of their work are computed together, where one of them is needed; what died is not stored."""

import numpy as np
import pytest

import atoll


def polynomial(x, terms):
    total = x * 0.0
    for k in range(terms):
        total = total * x + 0.5**k
    return total


def fields(np, x, terms=20):
    """Two fields that are made of one long formula, and one that has little to do with it."""
    volume = polynomial(x, terms)
    slope = volume * 0.5 + x
    return volume + 1, np.sqrt(abs(slope)), x * 2


def test_fields_of_one_formula_are_one_evaluation():
    x = np.linspace(0, 1, 500)
    with atoll.config(small=0):
        ours = fields(atoll, atoll.array(x))
        told = atoll.explain(ours[0])
        assert len(told.stored) == 2
        atoll.reset_stats()
        for mine, right in zip(ours, fields(np, x), strict=True):
            np.testing.assert_allclose(np.asarray(mine), right, rtol=1e-13)
        assert atoll.stats().plans_made + atoll.stats().plans_reused == 2
        atoll.reset_stats()
        for mine in fields(atoll, atoll.array(x)):
            np.asarray(mine)
        assert atoll.stats().plans_made == 0


def test_what_only_locals_held_is_not_stored():
    with atoll.config(small=0):
        volume, *rest = fields(atoll, atoll.array(np.linspace(0, 1, 500)))
        del rest
        assert len(atoll.explain(volume).stored) == 1


def test_short_formulas_are_computed_alone():
    with atoll.config(small=0):
        ours = fields(atoll, atoll.array(np.linspace(0, 1, 500)), 3)
        assert len(atoll.explain(ours[0]).stored) == 1


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(2)
def test_ranks_compute_fields_whoever_still_holds_them(rank):
    x = np.linspace(0, 1, 500)
    with atoll.config(small=0, everywhere=0):
        ours = list(fields(atoll, atoll.array(x)))
        right = fields(np, x)
        if rank == 0:
            kept = ours[1] * 2
            del kept
        np.testing.assert_allclose(np.asarray(ours[0]), right[0], rtol=1e-13)
        np.testing.assert_allclose(np.asarray(ours[1]), right[1], rtol=1e-13)
