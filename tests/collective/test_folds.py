"""Folds over distributed axes whose results are distributed, positions and scans."""

import numpy as np
import pytest

import atoll

from .distributions import LINES, MAPS, normal, put, same, uneven


@pytest.mark.slow
@pytest.mark.simulated(1, 7)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_folds(maps, size):
    a = normal((6, 8))
    for ours in (put(a, maps, size), uneven(a, size)):
        for axis in (0, 1, -1):
            for name in ("sum", "prod", "min", "max", "mean", "var", "std"):
                same(getattr(ours, name)(axis), getattr(a, name)(axis))
            same(ours.mean(axis, keepdims=True), a.mean(axis, keepdims=True))
            same((ours > 0).any(axis), (a > 0).any(axis))
            same((ours > -1).all(axis), (a > -1).all(axis))
            same(ours - ours.mean(axis, keepdims=True), a - a.mean(axis, keepdims=True))
            same(atoll.count_nonzero(ours > 0, axis), np.count_nonzero(a > 0, axis))
        same((ours * 2 + 1).sum(0) + ours[0], (a * 2 + 1).sum(0) + a[0])
        same(ours.T.sum(1), a.T.sum(1))
        same(ours[1:, ::2].max(0), a[1:, ::2].max(0))
        same((ours * 8).astype(int).sum(0), (a * 8).astype(int).sum(0))
        total = ours.sum(0)
        total[2:] += 1
        assert size == 1 or total.layout.cells > 1


@pytest.mark.slow
@pytest.mark.simulated(4)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", ["bnn", "nbn", "nnb", "bbn", "nbb", "cnc", "bbb"])
def test_folds_of_three_axes(maps, size):
    a = normal((4, 5, 6))
    ours = put(a, maps, size)
    for axis in (0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        same(ours.sum(axis), a.sum(axis))
        same(ours.min(axis, keepdims=True), a.min(axis, keepdims=True))
    for axis in (0, 1, 2):
        same(ours.argmin(axis), a.argmin(axis))
        same(ours.cumsum(axis), a.cumsum(axis))


@pytest.mark.slow
@pytest.mark.simulated(1, 3, 7)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_positions(maps, size):
    a = np.round(normal((6, 8)))  # with equal elements, of which the first counts
    a[3, 4] = np.nan
    for whole in (a, (normal((6, 8)) * 3).astype(np.int16)):
        for ours in (put(whole, maps, size), uneven(whole, size)):
            for axis in (None, 0, 1):
                same(np.intp(ours.argmin(axis)) if axis is None else ours.argmin(axis),
                     whole.argmin(axis))  # fmt: skip
                same(atoll.argmax(ours, axis, keepdims=True), whole.argmax(axis, keepdims=True))


@pytest.mark.simulated(1, 7)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_scans(maps, size):
    a = normal((6, 8))
    for ours in (put(a, maps, size), uneven(a, size)):
        for axis in (None, 0, 1):
            same(ours.cumsum(axis), a.cumsum(axis))
            same(atoll.cumprod(ours, axis), np.cumprod(a, axis))
        same((ours > 0).cumsum(), (a > 0).cumsum())
        same(atoll.maximum.accumulate(ours, 1), np.maximum.accumulate(a, 1))
        same(ours[::-1].cumsum(0), a[::-1].cumsum(0))
    for line in LINES:
        same(atoll.cumsum(put(a[0], line, size)), a[0].cumsum())
