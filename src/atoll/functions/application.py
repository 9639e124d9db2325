"""Functions of the user, applied along axes and to elements."""

from __future__ import annotations

from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from ..comm.world import current_world
from ..graph.geometry import kept_order
from ..lazy import shapes
from ..lazy.agreement import place_of, world_of
from ..lazy.creation import asarray
from ..lazy.fallback import Given, Unsupported, expect
from ..lazy.result_classes import class_giver, in_class_of
from ..ops.elementwise import is_native
from .blocks import along, by_blocks, call, every_rank
from .operands import Operand, Operands
from .public import collective, publish

Array = np.ndarray[Any, Any]


@collective(np.apply_along_axis, keeps="arrays")
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **options: Any) -> Any:
    arr = Operand(empty=False).accept(arr)
    world: Any = world_of([arr])
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    others = (*arr.shape[:axis], *arr.shape[axis + 1 :])
    expect(world is not None and prod(others) >= world.size)

    def rows(block: Array) -> Array:
        def compute() -> Array:
            if not len(block):
                probe = np.apply_along_axis(
                    func1d, 1, np.ones((1, arr.shape[axis]), arr.dtype), *args, **options
                )
                return np.asarray(probe)[:0]
            return np.asarray(np.apply_along_axis(func1d, 1, block, *args, **options))

        results: Array = every_rank(world, compute, "whether a function raised")
        return results

    result = along(arr, (axis,), world, rows, lambda line: line)
    extra = result.shape[1:]
    result = shapes.reshape(result, (*others, *extra))
    places = range(len(others), len(others) + len(extra))
    return call("moveaxis", result, tuple(places), tuple(range(axis, axis + len(extra))))


@collective(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    value = asarray(a)
    for axis in np.atleast_1d(np.asarray(axes)).tolist():
        result = asarray(func(value, axis % a.ndim))
        if result.ndim != a.ndim:
            result = call("expand_dims", result, axis % a.ndim)
        if result.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value


def _vectorized(function: Any, otypes: Any, args: tuple[Any, ...]) -> Any:
    """Apply a Python function to the elements of this rank's blocks; the first element determines the dtype."""
    given = Operands(empty=False).accept(args)
    world: Any = world_of(given)
    expect(world is not None)
    if not otypes:
        first = function(*[array[(0,) * array.ndim] for array in given])
        outputs = first if isinstance(first, tuple) else (first,)
        otypes = "".join([np.asarray(output).dtype.char for output in outputs])
    expect(all(is_native(np.dtype(char)) for char in otypes))
    result = by_blocks(np.vectorize(function, otypes), given, world, agrees=True)
    results = result if isinstance(result, tuple) else (result,)
    order = kept_order(results[0].shape, [operand._shape_of_view() for operand in given])
    turned = tuple([shapes.in_order(output, order) for output in results])
    return turned if isinstance(result, tuple) else turned[0]


class vectorize(np.vectorize):
    """A Python function applied to each element; NumPy calls it."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        plain = not options and self.signature is None and not self.excluded
        if plain and current_world().size > 1 and any(place_of(a) is not None for a in args):
            with suppress(Unsupported):
                result = _vectorized(self.pyfunc, self.otypes, args)
                giver = class_giver(args)
                return result if giver is None else in_class_of(giver, "arrays", {}, result)
        given = Given(classes=True)
        return given.take(super().__call__(*given.give(args), **given.give(options)))


publish("vectorize", vectorize, "data")
