"""``atoll.random``: NumPy's generators, which return atoll arrays; permutations and choices on ranks.

NumPy shuffles a sequence in an order that depends on the length alone. Up to ``known_order``
elements (see ``policy``) every rank draws that order, so the values are NumPy's. A longer order is the sort order of random words,
one for each element, drawn by the rank that owns it; it is the same on any number of ranks, one
included. The old functions always draw NumPy's order. In either order, owners send the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .. import front, policy
from ..comm.in_step import bcast_object
from ..comm.world import current_world
from ..front import PLACE, Kind
from ..lazy import creation
from ..lazy.agreement import in_step
from ..lazy.conversion import is_small
from ..lazy.creation import asarray
from ..lazy.fallback import by_numpy
from ..lazy.views import Handle
from .blocks import call
from .namespaces import Namespace
from .public import collective, in_layout, is_large, look_like, numpy_function, publish, show_layout

_IN_PLACE = {"shuffle"}
_STATES = frozenset({"bytes", "get_state", "seed", "set_state", "shuffle", "spawn"})
"""Methods that draw no array, and so have no argument ``layout``."""
_SEEDED = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "SeedSequence")


def _order(generator: Any, length: int) -> Any:
    """The order of elements after a shuffle."""
    if isinstance(generator, np.random.Generator) and length > policy.limits.known_order:
        return call("argsort", generator.integers(0, 1 << 63, length), kind="stable")
    kind: Any = np.random.Generator
    if not isinstance(generator, kind):
        kind = np.random.RandomState
    return asarray(kind.permutation(generator, length))


def _permutation(generator: Any, x: Any, axis: int = 0) -> Any:
    if isinstance(x, (int, np.integer)):
        return _order(generator, int(x))
    x = asarray(x)
    if not x.ndim:
        return NotImplemented
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    return x[(*(slice(None),) * axis, _order(generator, x.shape[axis]))]


def _shuffled(generator: Any, x: Any, axis: int = 0) -> Any:
    if not isinstance(x, Handle):
        return NotImplemented
    target: Any = x
    target[...] = _permutation(generator, x, axis)
    return None


def _choice(
    generator: Any, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0,
    shuffle: bool = True,
) -> Any:  # fmt: skip
    number = isinstance(a, (int, np.integer))
    a = a if number else asarray(a)
    length = int(a) if number else a.shape[axis] if a.ndim else 0
    if not length:
        return NotImplemented
    shape = () if size is None else creation.shape_of(size)
    new = isinstance(generator, np.random.Generator)
    wanted = None if size is None else shape
    if replace and p is None:
        draw = generator.integers if new else generator.randint
        places = draw(0, length, wanted)
    elif replace:
        bounds = _cumulative(generator, asarray(p), length)
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


def _cumulative(generator: Any, p: Any, length: int) -> Any:
    """The cumulative sums of the probabilities; NumPy rejects invalid ones."""
    if p.shape != (length,):
        raise ValueError("a and p must have same size")
    kind = p.dtype if p.dtype.kind == "f" else np.dtype(np.float64)
    if length <= policy.limits.known_order:
        p = asarray(np.asarray(p, np.float64))
    p = p.astype(np.float64, copy=False)
    wrong = np.nan
    if bool(call("isfinite", p).all()):
        wrong = -1.0 if bool((p < 0).any()) else float(p.sum())
    if wrong != 1.0:  # NumPy knows how near to it is near enough, and raises its own error
        new = isinstance(generator, np.random.Generator)
        probe: Any = np.random.default_rng(0) if new else np.random.RandomState(0)
        probe.choice(3, p=np.array([wrong, 0.0, 0.0], kind))
    bounds = call("cumsum", p)
    return bounds / bounds[-1]


def _different(generator: Any, length: int, shape: tuple[int, ...], shuffle: bool) -> Any:
    """Random indices without repetition."""
    count = prod(shape)
    if count > length:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    if not isinstance(generator, np.random.Generator):
        return asarray(np.random.RandomState.choice(generator, length, shape, False))
    if length <= policy.limits.known_order or count <= min(length // 50, policy.limits.known_order):
        return asarray(np.random.Generator.choice(generator, length, shape, False, shuffle=shuffle))
    return call("reshape", _order(generator, length)[:count], shape)


_ORDERED: dict[str, Callable[..., Any]] = {
    "permutation": _permutation,
    "shuffle": _shuffled,
    "choice": _choice,
}


def _ordered(generator: Any, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A permutation or a choice on ranks, or one too long for NumPy's order; else ``NotImplemented``."""
    first: Any = args[0] if args else options.get("a", options.get("x"))
    if isinstance(first, (int, np.integer)) and not is_small((int(first),)):
        length = int(first)
    elif is_large(first):
        length = max(first.shape, default=0)
    else:
        return NotImplemented
    world = current_world()
    if world.size == 1 and (name == "choice" or length <= policy.limits.known_order):
        return NotImplemented
    if world.size > 1:
        in_step(world, name, generator, *args, *([options] if options else []))
    return _ORDERED[name](generator, *args, **options)


def _is_sequence(value: Any) -> bool:
    """True if a value is no array: its elements are swapped as objects, of any class."""
    return not isinstance(value, (Handle, np.ndarray))


def _numpy_generator(generator: Any) -> Any:
    """NumPy's own generator over the same stream: its methods call each other without atoll's methods in between."""
    drawer = generator.__dict__.get("_numpy")
    if drawer is None:
        if isinstance(generator, np.random.Generator):
            drawer = np.random.Generator(generator.bit_generator)
        else:
            drawer = np.random.RandomState(generator._bit_generator)
        generator.__dict__["_numpy"] = drawer
    return drawer


def _drawing(kind: type, name: str) -> Callable[..., Any]:
    public = original = getattr(kind, name)
    if public is np.random.RandomState.random:  # which would call our ``random_sample``
        original = np.random.RandomState.random_sample
    writes, lays = (0,) if name in _IN_PLACE else (), name not in _STATES
    # An old generator keeps half of the normal numbers that it drew for itself: only these draw none.
    shared = name != "spawn" if kind is np.random.Generator else name in ("choice", "permutation")

    def draw(self: Any, *args: Any, **options: Any) -> Any:
        if lays and "layout" in options:
            return in_layout(draw, (self, *args), options)
        if name in _IN_PLACE and args and _is_sequence(args[0]):
            return original(self, *args, **options)
        from ..lazy import random_draws

        result = random_draws.drawn(self, name, original, args, options)
        if result is NotImplemented and name in _ORDERED:
            result = _ordered(self, name, args, options)
        if result is not NotImplemented:
            return result
        drawer = _numpy_generator(self) if shared else self
        result = by_numpy(original.__get__(drawer), args, options, writes=writes)
        if name == "choice" and isinstance(result, Handle) and not result._shape_of_view().shape:
            # NumPy's old generators extract the number from NumPy arrays only
            size = args[1] if len(args) > 1 else options.get("size")
            return result._array().item() if size is None else result
        return result

    draw.__name__ = name
    draw.__doc__ = public.__doc__
    if lays:
        show_layout(draw, public)
    natively = _drawn_natively(kind, name)
    return draw if natively is None else front.function(original, draw, natively)


_PLACES = {"permutation": 0, "choice": 1}
_OLD = ("rand", "randn")


def _drawn_natively(kind: type, name: str) -> int | None:
    """The kind of a method that the native front may call in a process by itself (see ``_native/functions.c``); ``None`` for the others."""
    from ..lazy.random_draws import SIZE_AT

    if front.native is None:
        return None
    if kind is not np.random.Generator:
        old = name in SIZE_AT or name in _OLD
        return Kind.ANY | Kind.DRAWS | Kind.ALONE if old else None
    place = SIZE_AT.get(name, _PLACES.get(name))
    if place is None:
        return None
    bounded = 0 if name in ("random", "uniform", "choice") else Kind.BOUNDED
    orders = Kind.ORDERS if name in _PLACES else 0
    return Kind.ANY | Kind.DRAWS | bounded | orders | (place + 1) << PLACE


def _with_our_results(kind: type) -> type:
    """Subclass of a NumPy generator class that returns atoll arrays."""
    skipped = {"bit_generator", "get_state", "set_state", "seed"}
    methods = {
        name: _drawing(kind, name)
        for name in dir(kind)
        if not name.startswith("_") and name not in skipped and callable(getattr(kind, name))
    }
    more = {"__reduce__": _pickled, "__doc__": kind.__doc__, "__module__": "atoll.random"}
    return type(kind.__name__, (kind,), methods | more)


def _pickled(generator: Any) -> tuple[Any, ...]:
    """Recipe for ``pickle`` and ``copy`` to make a generator of the same class and state."""
    if isinstance(generator, np.random.Generator):
        return type(generator), (generator.bit_generator,), None
    stream = generator._bit_generator
    return type(generator), (stream,), generator.get_state(legacy=False)


class _Seeded(type):
    """Metaclass of atoll's bit generators: NumPy's own objects count as instances of them, too."""

    def __instancecheck__(cls, value: Any) -> bool:
        base = cls.__base__ if cls.__module__ == "atoll.random" else None
        return isinstance(value, base) if base else super().__instancecheck__(value)


def _with_our_seeds(kind: type) -> type:
    """Subclass of a NumPy bit generator or seed sequence that accepts atoll arrays as seeds."""
    original: Callable[..., None] = vars(kind)["__init__"]

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        plain = {name: _plain(value) for name, value in options.items()}
        original(self, *map(_plain, args), **plain)

    members = {"__init__": __init__, "__doc__": kind.__doc__, "__module__": "atoll.random"}
    return _Seeded(kind.__name__, (kind,), members)


def _plain(value: Any) -> Any:
    """A seed for NumPy: an atoll array is converted to a NumPy array."""
    return np.asarray(value) if isinstance(value, Handle) else value


class _Random:
    """The parts of ``atoll.random`` that are made when they are first needed."""

    def __init__(self) -> None:
        self.generator = _with_our_results(np.random.Generator)
        self.state = _with_our_results(np.random.RandomState)

        generator = self.generator

        def default_rng(seed: Any = None) -> Any:
            if isinstance(seed, generator):
                return seed
            if seed is None:
                seed = _shared_entropy()
            seeded = generator(np.random.default_rng(_plain(seed)).bit_generator)
            _numpy_generator(seeded)  # now, so that the native front has it at the first draw
            return seeded

        self.default_rng = default_rng
        look_like(np.random.default_rng, default_rng, "random.default_rng")


def _shared_entropy() -> int | None:
    """Entropy of a generator without a seed: the same on all ranks, ``None`` on one."""
    world = current_world()
    if world.size == 1:
        return None
    drawn = np.random.SeedSequence().entropy if world.rank == 0 else None
    entropy: int = bcast_object(world.communicator, drawn, 0, "the seed of a random generator")
    return entropy


def _drawing_old(state: Any, name: str) -> Callable[..., Any]:
    """A function that draws from NumPy's global generator."""
    public = getattr(np.random, name)

    def draw(*args: Any, **options: Any) -> Any:
        if "layout" in options:
            return in_layout(draw, args, options)
        sampler, given, more = name, args, options
        if name in _OLD and args:
            sampler = "random_sample" if name == "rand" else "standard_normal"
            given, more = (), {"size": args}
        from ..lazy import random_draws

        result = random_draws.drawn(state, sampler, getattr(type(state), sampler), given, more)
        return by_numpy(public, args, options) if result is NotImplemented else result

    look_like(public, draw, f"random.{name}", creates=True)
    return front.function(public, draw, Kind.ANY | Kind.ALONE)


def _ordering_old(name: str) -> Callable[..., Any]:
    """A shuffle, permutation or choice in an order drawn from NumPy's global generator."""
    original = getattr(np.random, name)

    @collective(original, writes=(0,) if name in _IN_PLACE else ())
    def ordered(*args: Any, **options: Any) -> Any:
        generator = np.random.mtrand._rand
        in_step(current_world(), name, generator)
        return _ORDERED[name](generator, *args, **options)

    def draw(*args: Any, **options: Any) -> Any:
        if name in _IN_PLACE and args and _is_sequence(args[0]):
            return original(*args, **options)
        if "layout" in options and name not in _IN_PLACE:
            return in_layout(draw, args, options)
        return ordered(*args, **options)

    look_like(original, draw, f"random.{name}", creates=name not in _IN_PLACE)
    return draw if name in _IN_PLACE else front.function(original, draw, Kind.ANY | Kind.ALONE)


def _own() -> dict[str, Any]:
    from ..lazy.random_draws import SIZE_AT

    if current_world().communicator.kind == "MPI":
        # the old functions draw from NumPy's global generator; simulated ranks share one
        np.random.seed((_shared_entropy() or 0) % (1 << 32))
    classes = _Random()
    old = np.random.mtrand._rand
    functions = {
        name: _drawing_old(old, name) for name in ("random", *SIZE_AT, *_OLD)
        if hasattr(old, name) and hasattr(np.random, name)
    }  # fmt: skip
    others = {
        name: numpy_function(getattr(np.random, name), f"random.{name}", creates=True) for name in (*dir(old), "ranf", "sample")
        if not (name.startswith("_") or name in _STATES or name in _ORDERED or name in functions) and hasattr(np.random, name)
    }  # fmt: skip
    return {
        **others,
        **functions,
        **{name: _ordering_old(name) for name in _ORDERED},
        **{name: _with_our_seeds(getattr(np.random, name)) for name in _SEEDED},
        "Generator": classes.generator,
        "RandomState": classes.state,
        "default_rng": classes.default_rng,
    }


random = Namespace("random", _own)
publish("random", random, "data")


def _own_of_old() -> dict[str, Any]:
    shared = set(dir(np.random.mtrand)) & set(dir(random))
    return {name: getattr(random, name) for name in shared if not name.startswith("_")}


Namespace("random.mtrand", _own_of_old)
