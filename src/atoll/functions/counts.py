"""Counts of values: each rank counts its own, and the owners of the bins add them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import policy
from ..collective import even_line, store
from ..collective.elements import combine_lines, densely, total_everywhere
from ..collective.section import Section, empty, replicated
from ..comm.world import World
from ..config import config
from ..context.interrupts import passed_on
from ..exchange.trees import added
from ..lazy import shapes
from ..lazy.agreement import place_of
from ..lazy.creation import asarray
from ..lazy.fallback import expect
from ..lazy.sections import bounds_of, line_of, of_section, small_or_there
from .blocks import alike, call
from .operands import Operand, accepts
from .public import collective


@collective(np.bincount)
@accepts(x=Operand("iu", ndim=1, empty=False), weights=Operand("biuf"))
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0, *, world: World) -> Any:
    expect(weights is None or weights.shape == x.shape)
    np.bincount(np.empty(0, np.intp), minlength=minlength)  # or NumPy's error
    sections = alike([x] if weights is None else [x, weights], world)
    block = sections[0].block
    share = None if weights is None else sections[1].block.astype(np.float64, copy=False)
    smallest, largest = bounds_of(x, sections[0])
    if smallest < 0:
        raise ValueError("'list' argument must have no negative elements")
    length, what = max(largest + 1, int(minlength)), "counts of values"
    dtype = np.dtype(np.intp if share is None else np.float64)
    if length <= densely(sections[0].layout.size // world.size):
        counts = np.bincount(block, share, length).astype(dtype, copy=False)  # integers of nothing
        if world.size <= policy.limits.few_ranks:
            if length < config.results:
                total = total_everywhere(world.communicator, counts, what)
                if total is not None:
                    return of_section(replicated(total, world.communicator), world)
            bins = _bins_of(length, dtype, world)
            combine_lines(bins, counts, np.add, what)
            return small_or_there(bins, world)
        numbers = np.flatnonzero(counts)
        counts = counts[numbers]
    else:
        numbers, inverse = np.unique(block, return_inverse=True)
        counts = np.bincount(inverse, share, len(numbers)).astype(dtype, copy=False)
    bins = _bins_of(length, dtype, world)
    store(bins, (numbers.astype(np.int64),), counts, np.add)
    return small_or_there(bins, world)


def _bins_of(length: int, dtype: Any, world: World) -> Section:
    """Bins without counts, in even blocks."""
    bins = empty(even_line(length, world.size), dtype, world.communicator)
    bins.block[...] = 0
    return bins


def _range_of(a: Any, range: Any) -> tuple[float, float]:
    """The first and the last edge of equal bins."""
    if range is not None:
        low, high = range
        if low > high:
            raise ValueError("max must be larger than min in range parameter.")
    elif not a.size:
        low, high = 0, 1
    else:
        low, high = a.min(), a.max()
    # Python's numbers are of no dtype of their own, and stay so
    low, high = [
        edge if type(edge) in (int, float) else np.asarray(edge)[()] for edge in (low, high)
    ]
    if not (np.isfinite(low) and np.isfinite(high)):
        kind = "supplied" if range is not None else "autodetected"
        raise ValueError(f"{kind} range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return low, high


def _width(name: str, a: Any) -> float:
    """Width of bins by a named rule."""
    size = a.size
    spread = float(call("ptp", a))
    if name == "sqrt":
        return float(spread / np.sqrt(size))
    if name == "sturges":
        return float(spread / (np.log2(size) + 1.0))
    if name == "rice":
        return float(spread / (2.0 * size ** (1.0 / 3)))
    if name == "scott":
        return float((24.0 * np.pi**0.5 / size) ** (1.0 / 3.0) * float(a.std()))
    high, low = np.asarray(call("percentile", a, [75, 25])).tolist()
    return float(2.0 * (high - low) * size ** (-1.0 / 3.0))


def _bins(a: Any, bins: Any, range: Any, weights: Any) -> Any:
    """An integer, or replicated edges."""
    if isinstance(bins, str):
        known = ("sqrt", "sturges", "rice", "scott", "fd", "auto")
        expect(bins in known and weights is None and a.dtype.kind in "fiu")
        low, high = _range_of(a, range)
        if range is not None:
            a = a[(a >= low) & (a <= high)]
        if not a.size:
            return 1
        width = _width("fd" if bins == "auto" else bins, a)
        if bins == "auto":
            width = min(max(width, _width("sqrt", a) / 2), _width("sturges", a))
        if a.dtype.kind in "iu" and 0 < width < 1:
            width = 1.0
        return int(np.ceil(float(high - low) / width)) if width else 1
    if isinstance(bins, (int, np.integer)):
        return int(bins)
    edges = asarray(bins)._array()
    expect(edges.ndim == 1 and not (edges[:-1] > edges[1:]).any())
    return edges


@collective(np.histogram_bin_edges)
@accepts(a=Operand())
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    a = shapes.ravel(a)
    edges = _bins(a, bins, range, weights)
    if not isinstance(edges, int):
        return asarray(edges)
    low, high = _range_of(a, range)
    return asarray(np.histogram_bin_edges(np.array([low, high], a.dtype), edges, (low, high)))


@collective(np.histogram)
@accepts(a=Operand("fiu"), weights=Operand())
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None, *, world: World
) -> Any:  # fmt: skip
    expect(weights is None or weights.shape == a.shape)
    spec = _bins(a, bins, range, weights)
    limits = _range_of(a, range) if isinstance(spec, int) else None
    sections = alike([a] if weights is None else [a, weights], world)
    share = None if weights is None else sections[1].block
    mine, edges = np.histogram(sections[0].block, spec, limits, weights=share)
    expect(sections[0].layout.copies == 1)
    counts = added(world.communicator, mine, "a histogram")
    if density:
        counts = counts / np.diff(edges) / counts.sum()
    return asarray(counts), asarray(edges)


@collective(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    sample = asarray(sample) if place_of(sample) is not None else call("stack", list(sample), 1)
    return _histogram(sample, bins, range, density, weights)


@accepts(sample=Operand("fiu", ndim=2), weights=Operand())
def _histogram(
    sample: Any, bins: Any, range: Any, density: Any, weights: Any = None, *, world: World
) -> Any:
    dimensions = sample.shape[1]
    each = [bins] * dimensions if isinstance(bins, (int, np.integer)) else list(bins)
    limits = [None] * dimensions if range is None else list(range)
    expect(len(each) == len(limits) == dimensions)
    columns = [sample[:, k] for k in np.arange(dimensions).tolist()]
    specs = [_bins(c, b, r, None) for c, b, r in zip(columns, each, limits)]
    ends = [
        _range_of(c, r) if isinstance(spec, int) else (spec[0], spec[-1])
        for c, spec, r in zip(columns, specs, limits)
    ]
    lines = [line_of(c, world) for c in columns]
    block = np.stack([line.block for line in lines], 1)
    share = None if weights is None else line_of(weights, world).block
    mine, edges = np.histogramdd(block, specs, ends, weights=share)
    counts = added(world.communicator, mine, "a histogram")
    if density:
        counts = counts / counts.sum()
        for axis, edge in enumerate(edges):
            counts /= np.diff(edge).reshape([-1 if k == axis else 1 for k in np.arange(dimensions)])
    return asarray(counts), tuple([asarray(edge) for edge in edges])


@collective(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    try:
        many = len(bins)
    except TypeError as problem:  # a number
        passed_on(problem)
        many = 1
    if many not in (1, 2):
        bins = [asarray(bins)._array()] * 2
    counts, edges = histogramdd([asarray(x), asarray(y)], bins, range, density, weights)
    return counts, edges[0], edges[1]
