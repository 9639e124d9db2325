"""The building blocks of linear algebra: matrices on ranks, and stacks of them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...collective import Section, even_blocks, redistributed, reshaped
from ...collective.operation import result_layout
from ...comm.in_step import allgather
from ...comm.world import World
from ...lazy import shapes
from ...lazy.creation import asarray
from ...lazy.fallback import expect
from ...lazy.registry import registry
from ...lazy.sections import of_section, section_of, small_or_there
from ..blocks import call, every_rank
from ..operands import Operand, accepts
from ..public import collective

Array = np.ndarray[Any, Any]
TAKEN = "fdFDbhilqBHILQ?"
"""The dtypes that NumPy's linear algebra takes."""
MATRIX = Operand(types=TAKEN, least=2, empty=False)


def floats(x: Any) -> Any:
    """The array, converted from integers to floating point if necessary."""
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def double(x: Any) -> Any:
    """The array in double precision, in which NumPy's linear algebra computes."""
    kind = np.complex128 if x.dtype.kind == "c" else np.float64
    return x if x.dtype == kind else x.astype(kind)


def adjoint(a: Any) -> Any:
    """The conjugate of the transpose."""
    return a.T.conj() if a.dtype.kind == "c" else a.T


def placed(section: Section, kind: Any, world: World) -> Any:
    """An array of dtype ``kind`` over a section, in even blocks; a small one is replicated."""
    section = section.with_block(section.block.astype(kind, copy=False))
    return of_section(redistributed(section, result_layout(section.shape, world.size)), world)


def replicated(array: Array, kind: Any) -> Any:
    """A replicated array of dtype ``kind``."""
    return asarray(array.astype(kind, copy=False))


def of_matrices(
    *, square: bool = False, **traits: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function of ``numpy.linalg`` by its collective computation for one matrix, and the world of the matrix.

    Each rank has some whole matrices of a stack; a stack of fewer matrices than ranks is computed one matrix at a time. ``square``:
    the matrix has to be square. ``traits`` are passed to :func:`collective`.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        original = getattr(np.linalg, function.__name__)

        @accepts(a=MATRIX)
        def of_any(a: Any, /, *args: Any, world: World, **options: Any) -> Any:
            if a.ndim > 2:
                return _of_each(original, a, world, *args, **options)
            expect(not square or a.shape[0] == a.shape[1])
            return function(a, world, *args, **options)

        return collective(original, **traits)(of_any)

    return enter


def _of_each(original: Callable[..., Any], a: Any, world: World, *args: Any, **options: Any) -> Any:
    shape, count = a.shape, prod(a.shape[:-2])
    if count < world.size:
        flat = shapes.reshape(a, (count, *shape[-2:]))
        ours: Any = registry.find(original)
        results = [ours(flat[k], *args, **options) for k in range(count)]
        parts = [call("stack", list(part)) for part in zip(*map(_several, results))]
        kind = type(results[0])
    else:
        section = reshaped(section_of(a, world), even_blocks((count, *shape[-2:]), world.size))
        result = every_rank(
            world, lambda: original(section.block, *args, **options), "whether a function raised"
        )
        parts, kind = _agreed(_several(result), count, world), type(result)
    parts = [shapes.reshape(part, (*shape[:-2], *part.shape[1:])) for part in parts]
    if hasattr(kind, "_fields"):
        return kind(*parts)
    return tuple(parts) if issubclass(kind, tuple) else parts[0]


def _several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _agreed(results: tuple[Any, ...], count: int, world: World) -> list[Any]:
    """Distributed arrays of each rank's results, in a dtype that all agree on: eigenvalues may be complex on some ranks only."""
    kinds = np.array([ord(np.asarray(part).dtype.char) for part in results])
    agreed = allgather(world.communicator, kinds, "dtypes of results").reshape(world.size, -1)
    parts = []
    for part, numbers in zip(results, agreed.T):
        kind = np.result_type(*[np.dtype(chr(n)) for n in sorted(set(numbers.tolist()))])
        block = np.asarray(part).astype(kind, copy=False)
        layout = even_blocks((count, *block.shape[1:]), world.size)
        parts.append(small_or_there(Section(block, layout, world.communicator), world))
    return parts
