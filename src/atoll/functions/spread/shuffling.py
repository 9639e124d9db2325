"""Permutations and choices: an order is drawn, and elements are taken in it from their owners.

NumPy shuffles whatever it is given in an order that depends on the length alone. Up to ``known_order`` (see ``policy``)
elements every rank draws that order, so that the values are NumPy's. A longer order is that of random words,
one for each element, of which each rank draws its own; it is the same on any number of ranks, one
included. The old functions always draw NumPy's order.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ... import policy
from ...comm.world import current_world
from ...lazy import creation
from ...lazy.creation import asarray
from ...lazy.making import is_small
from ...lazy.spread import in_step
from ...lazy.views import Handle
from ..blocks import call
from .table import on_ranks

_Generator = np.random.Generator
_State = np.random.RandomState


def _order(generator: Any, length: int) -> Any:
    """The places of elements after a shuffle."""
    if isinstance(generator, _Generator) and length > policy.limits.known_order:
        return call("argsort", generator.integers(0, 1 << 63, length), kind="stable")
    kind = _Generator if isinstance(generator, _Generator) else _State
    return asarray(kind.permutation(generator, length))


def is_long(args: tuple[Any, ...]) -> bool:
    """Whether what is permuted is longer than an order that every rank has."""
    first = args[0] if args else 0
    return (
        max(getattr(first, "shape", None) or (first if isinstance(first, int) else 0,))
        > policy.limits.known_order
    )


def permutation(generator: Any, x: Any, axis: int = 0) -> Any:
    if isinstance(x, (int, np.integer)):
        return _order(generator, int(x))
    x = asarray(x)
    if not x.ndim:
        return NotImplemented
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    return x[(*(slice(None),) * axis, _order(generator, x.shape[axis]))]


def shuffle(generator: Any, x: Any, axis: int = 0) -> Any:
    if not isinstance(x, Handle):
        return NotImplemented
    target: Any = x
    target[...] = permutation(generator, x, axis)
    return None


def choice(
    generator: Any, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
    shuffle: bool = True,
) -> Any:  # fmt: skip
    number = isinstance(a, (int, np.integer))
    a = a if number else asarray(a)
    length = int(a) if number else a.shape[axis] if a.ndim else 0
    if not length:
        return NotImplemented
    shape = () if size is None else creation.shape_of(size)
    new = isinstance(generator, _Generator)
    wanted = None if size is None else shape
    if replace and p is None:
        draw = generator.integers if new else generator.randint
        places = draw(0, length, wanted)
    elif replace:
        bounds = _cumulative(asarray(p), length)
        drawn = generator.random(wanted) if new else generator.random_sample(wanted)
        places = call("searchsorted", bounds, drawn, "right")
    elif p is None:
        places = _different(generator, length, shape, shuffle)
    else:
        return NotImplemented
    if size is None:
        place = int(places)
        return place if number else a[(slice(None),) * axis + (place,)]
    return places if number else call("take", a, places, axis)


def _cumulative(p: Any, length: int) -> Any:
    """The bounds of shares that are as wide as the probabilities."""
    if p.shape != (length,):
        raise ValueError("a and p must have same size")
    if length <= policy.limits.known_order:
        p = asarray(np.asarray(p, np.float64))
    if bool((p < 0).any()):
        raise ValueError("Probabilities are not non-negative")
    if abs(float(p.sum()) - 1.0) > 1e-8:
        raise ValueError("Probabilities do not sum to 1")
    bounds = call("cumsum", p.astype(np.float64))
    return bounds / bounds[-1]


def _different(generator: Any, length: int, shape: tuple[int, ...], shuffle: bool) -> Any:
    """Places of which none is drawn twice."""
    count = prod(shape)
    if count > length:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    if not isinstance(generator, _Generator):
        return asarray(_State.choice(generator, length, shape, False))
    if length <= policy.limits.known_order or count <= min(length // 50, policy.limits.known_order):
        return asarray(_Generator.choice(generator, length, shape, False, shuffle=shuffle))
    return call("reshape", _order(generator, length)[:count], shape)


DRAWN: dict[str, Callable[..., Any]] = {
    "permutation": permutation,
    "shuffle": shuffle,
    "choice": choice,
}
for _name, _function in DRAWN.items():
    on_ranks(getattr(_Generator, _name), getattr(_State, _name))(_function)


def ordered(generator: Any, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A permutation or a choice too long for each rank to have its order; else ``NotImplemented``."""
    world = current_world()
    if world.size == 1 and (name == "choice" or not is_long(args)):
        return NotImplemented
    first = args[0] if args else None
    if isinstance(first, (int, np.integer)) and is_small((int(first),)):
        return NotImplemented
    if world.size > 1:
        in_step(world, name, generator, *args, *([options] if options else []))
    return DRAWN[name](generator, *args, **options)


def _old(name: str) -> None:
    """One of the old functions, which draw from a generator that all share."""

    def function(*args: Any, **options: Any) -> Any:
        generator = np.random.mtrand._rand
        world = current_world()
        if world.size > 1:
            in_step(world, name, generator, *args, *([options] if options else []))
        return DRAWN[name](generator, *args, **options)

    on_ranks(getattr(np.random, name))(function)


for _name in DRAWN:
    _old(_name)
