"""Ranks plan alike however many views and layouts each has met: of equal ones, one only is alive."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy
import pytest

import atoll
from atoll import policy
from atoll.comm.simulated import run
from atoll.comm.world import current_world
from atoll.graph import geometry
from atoll.graph.identities import Interned


def turns(np, count, between=lambda: None):
    """Waves, whose flux is read through one view, taken twice; every rank does the same, but for what is in between."""
    x = np.arange(140.0).reshape(20, 7)
    p, h = x * 0, 1 + x / 140
    for _ in range(count):
        flux = p * p / h + h * h
        first = flux[1:] - flux[:-1]
        between()
        second = flux[1:] + flux[:-1]
        p, h = p.copy(), h.copy()
        p[:-1] = (p[:-1] + p[1:]) / 2 - 0.01 * first
        h[1:] += 0.001 * second
    return h, p


@pytest.mark.parametrize("size", [2, 3])
def test_views_that_one_rank_alone_has_met(size, monkeypatch):
    """Each look at another view pushes those of the loop out of the tables, on the ranks that take it."""
    monkeypatch.setattr(policy, "limits", replace(policy.limits, entries=2))
    wanted = turns(numpy, 8)

    def program() -> None:
        rank = current_world().rank
        met = numpy.random.default_rng(rank)

        def between() -> None:
            for _ in range(rank * int(met.integers(4))):
                atoll.zeros(int(met.integers(5, 500)))[1:-1:2]
                gc.collect(0)

        for ours, right in zip(turns(atoll, 8, between), wanted, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(ours), right, rtol=1e-12)

    with atoll.config(small=0):
        run(size, program)


class Thing:
    """What can be referred to weakly."""


def test_of_equal_objects_one_is_alive(monkeypatch):
    monkeypatch.setattr(policy, "limits", replace(policy.limits, entries=2))
    table: Interned[Thing] = Interned()

    def living(key: object) -> Thing | None:
        known = table.known.get(key)
        return known and known()

    first = table.only("a", Thing())
    for key in range(10):
        table.only(key, Thing())
        assert living("a") is first
        assert table.only("a", Thing()) is first
    gc.collect()
    assert sum(living(key) is not None for key in range(10)) <= 2  # the newest


def test_views_are_the_same_while_they_live(monkeypatch):
    monkeypatch.setattr(policy, "limits", replace(policy.limits, entries=2))
    base = geometry.dense((9, 5), numpy.dtype(float))
    view = base.index((slice(1, 4), slice(None)))
    for k in range(20):
        base.index((slice(k % 7, 8), slice(None, 3)))
        base._memo.clear()
    geometry._bases.clear()
    assert geometry.dense((9, 5), numpy.dtype(float)) is base
    assert base.index((slice(1, 4), slice(None))) is view
