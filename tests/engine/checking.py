"""Running the programs of ``wider.py`` in atoll, and comparing."""

from __future__ import annotations

import random
import warnings
from itertools import pairwise
from typing import Any

import numpy as np

import atoll
from atoll import Block, Cyclic, Layout, Undistributed, Unstructured
from atoll.comm.world import current_world
from atoll.graph.geometry import dense
from atoll.graph.node import source
from atoll.ops.placement import Place
from atoll.recording.cells import Cell
from atoll.recording.making import of_view
from atoll.run import statistics


def random_map(rng: random.Random, n: int, processes: int) -> Any:
    """How one axis of ``n`` elements lies on so many processes: in uneven blocks, in turn, by lists."""
    kind = rng.random()
    if kind < 0.3:
        return Block()
    if kind < 0.5:
        return Block((0, *sorted(rng.randint(0, n) for _ in range(processes - 1)), n))
    if kind < 0.75:
        size = rng.randint(1, 3)
        return Cyclic(size, rng.randrange(size))
    order = rng.sample(range(n), n)
    cuts = [0, *sorted(rng.randint(0, n) for _ in range(processes - 1)), n]
    return Unstructured([order[a:b] for a, b in pairwise(cuts)], one_to_one=True)


def random_layout(rng: random.Random, shape: tuple[int, ...], size: int) -> Layout | None:
    """A layout over all ranks or some of them, or none: the whole array on every rank."""
    if size == 1 or not shape or rng.random() < 0.15:
        return None
    if rng.random() < 0.15:
        return Layout.default(shape)
    ranks = rng.sample(range(size), rng.choice([size, size, rng.randint(1, size)]))
    grid, left = [], len(ranks)
    for _ in shape:
        grid.append(rng.choice([k for k in range(1, left + 1) if left % k == 0]))
        left //= grid[-1]
    if left > 1 and rng.random() < 0.5:
        grid[0] *= left
    axes = zip(shape, grid, strict=True)
    maps = [
        random_map(rng, n, k) if k > 1 or rng.random() < 0.2 else Undistributed() for n, k in axes
    ]
    return Layout(shape, maps, grid=grid, size=size, ranks=ranks)


def made(array: np.ndarray, seed: int) -> Any:
    """The array in atoll, on the ranks by a layout that the seed says."""
    world = current_world()
    layout = random_layout(random.Random(seed), array.shape, world.size)
    place = block = None
    if layout is None:
        block = array.copy()
    else:
        statistics.add("distributed")
        place = Place.of(layout, world)
        if layout.coordinates(world.rank) is None:
            block = np.empty(layout.local_shape(world.rank), array.dtype)
        else:
            block = array[np.ix_(*[part.array() for part in layout.region(world.rank)])].copy()
    cell = Cell(source(block, dense(array.shape, array.dtype), place=place))
    return of_view(cell, cell.geometry)


def moved(array: Any, number: int) -> Any:
    """A copy that lies elsewhere."""
    layout = random_layout(random.Random(number), array.shape, current_world().size)
    return array.copy() if layout is None else array.redistribute(layout)


def bumped(array: Any) -> None:
    """Each rank writes into its own block."""
    try:
        block = array.local
    except ValueError:  # its shape was set: no block lies as it does now
        block = array
    block += 1


def same(got: Any, expected: Any, *, rounded: bool) -> bool:
    """Whether two answers are one in value, shape and dtype."""
    if isinstance(expected, (np.ndarray, np.generic)):
        if not hasattr(got, "dtype"):
            return False
        value = np.asarray(got)
        if (value.shape, value.dtype) != (expected.shape, expected.dtype):
            return False
        if rounded and value.dtype.kind in "fc":
            near = (
                2e-2
                if value.dtype.itemsize <= 2
                else 1e-4
                if value.dtype == "f4" or value.dtype == "c8"
                else 1e-10
            )
            return bool(np.allclose(value, expected, rtol=near, atol=near, equal_nan=True))
        return bool(np.array_equal(value, expected, equal_nan=value.dtype.kind in "fc"))
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(
            same(g, e, rounded=rounded) for g, e in zip(got, expected, strict=True)
        )
    return type(got) is type(expected) and bool(got == expected or got != got)


def check(program: Any, wider: Any) -> None:
    """Run a program and compare each line, then all arrays, and what was handed out."""
    names = {"np": atoll, "moved": moved, "bumped": bumped, "exported": np.asarray}
    with atoll.config(small=0), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names |= {k: made(v, program.seed * 3 + int(k[1:])) for k, v in program.start.items()}
        for number, line in enumerate(program.lines):
            got, error = wider.run_line(line.text, names)
            if line.error is None and isinstance(error, ValueError) and "read-only" in str(error):
                return  # NumPy lets a read-only array be assigned to itself
            if line.error is None and error is None:
                ok = line.value is None or same(got, line.value, rounded=line.text[0] == "w")
            else:
                ok = line.error is not None and isinstance(error, line.error)
            if not ok:
                report = AssertionError(
                    f"{program.text(number + 1)}\nraised {error!r} and gave {got!r}"
                    f"\nNumPy: {line.error}, {line.value!r}"
                )
                raise report from error
        for name in sorted(program.arrays):
            if name[0] == "e":
                got, expected = names[name], program.arrays[name]
                assert np.array_equal(got, expected, equal_nan=expected.dtype.kind in "fc"), (
                    f"{program.text()}\n{name}: {got!r}\nNumPy: {expected!r}"
                )
        for name in sorted(program.arrays):
            got, expected = names[name], program.arrays[name]
            assert same(got, expected, rounded=False), (
                f"{program.text()}\n{name}: {got!r}\nNumPy: {expected!r}"
            )
