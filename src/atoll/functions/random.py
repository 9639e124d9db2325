"""``atoll.random``: NumPy's generators, whose results are arrays of ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from ..comm.in_step import bcast_object
from ..comm.world import current_world
from ..lazy.fallback import by_numpy
from ..lazy.small import GENERAL, at_once
from ..lazy.views import Handle
from .namespaces import Namespace
from .public import is_large, look_like, publish

_IN_PLACE = {"shuffle"}
_ORDERED = {"permutation", "shuffle", "choice"}
_SEEDED = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "SeedSequence")


def _may_be_long(args: tuple[Any, ...]) -> bool:
    """Whether what is permuted may be too long for every rank to have all of its order."""
    first = args[0] if args else None
    return isinstance(first, (int, np.integer)) or is_large(first)


def _is_sequence(value: Any) -> bool:
    """Whether a value is no array: its elements change places as they are, whatever they are."""
    return not isinstance(value, (Handle, np.ndarray))


def _shuffle(x: Any) -> None:
    """``numpy.random.shuffle``."""
    if _is_sequence(x):
        np.random.shuffle(x)
    else:
        by_numpy(np.random.shuffle, (x,), {}, writes=(0,))


def _numpy_generator(generator: Any) -> Any:
    """NumPy's own generator over the same stream: its methods call each other, without us between."""
    found = generator.__dict__.get("_numpy")
    if found is None:
        if isinstance(generator, np.random.Generator):
            found = np.random.Generator(generator.bit_generator)
        else:
            found = np.random.RandomState(generator._bit_generator)
        generator.__dict__["_numpy"] = found
    return found


def _drawing(kind: type, name: str) -> Callable[..., Any]:
    original = getattr(kind, name)
    writes = (1,) if name in _IN_PLACE else ()
    # An old generator keeps half of the normal numbers that it drew for itself: only these draw none.
    shared = name != "spawn" if kind is np.random.Generator else name in ("choice", "permutation")

    def draw(self: Any, *args: Any, **options: Any) -> Any:
        if name in _IN_PLACE and args and _is_sequence(args[0]):
            return original(self, *args, **options)
        from ..lazy import drawing

        result = drawing.drawn(self, name, original, args, options)
        if result is NotImplemented and name in _ORDERED and _may_be_long(args):
            shuffling = import_module(".spread.shuffling", __package__)
            result = shuffling.ordered(self, name, args, options)
        if result is not NotImplemented:
            return result
        drawer = _numpy_generator(self) if shared else self
        result = at_once(partial(original, drawer), args, options, bare=True)
        if result is GENERAL:
            result = by_numpy(original, (drawer, *args), options, writes=writes)
        if name == "choice" and isinstance(result, Handle) and not result._shape_of_view().shape:
            # NumPy's old generators take the number out of arrays that are its own
            size = args[1] if len(args) > 1 else options.get("size")
            return result._array().item() if size is None else result
        return result

    draw.__name__ = name
    draw.__doc__ = original.__doc__
    return draw


def _with_our_results(kind: type) -> type:
    """A subclass of one of NumPy's generators that returns our arrays."""
    skipped = {"bit_generator", "get_state", "set_state", "seed"}
    methods = {
        name: _drawing(kind, name)
        for name in dir(kind)
        if not name.startswith("_") and name not in skipped and callable(getattr(kind, name))
    }
    more = {"__reduce__": _pickled, "__doc__": kind.__doc__, "__module__": "atoll.random"}
    return type(kind.__name__, (kind,), methods | more)


def _pickled(generator: Any) -> tuple[Any, ...]:
    """How ``pickle`` and ``copy`` make a generator again: of its own class, and in its own state."""
    if isinstance(generator, np.random.Generator):
        return type(generator), (generator.bit_generator,), None
    stream = generator._bit_generator
    return type(generator), (stream,), generator.get_state(legacy=False)


class _Seeded(type):
    """The class of our streams: NumPy's own objects are instances of them, too."""

    def __instancecheck__(cls, value: Any) -> bool:
        base = cls.__base__ if cls.__module__ == "atoll.random" else None
        return isinstance(value, base) if base else super().__instancecheck__(value)


def _with_our_seeds(kind: type) -> type:
    """A subclass of one of NumPy's streams, or of its seeds, that may start from arrays of ours."""
    original: Callable[..., None] = vars(kind)["__init__"]

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        plain = {name: _plain(value) for name, value in options.items()}
        original(self, *map(_plain, args), **plain)

    members = {"__init__": __init__, "__doc__": kind.__doc__, "__module__": "atoll.random"}
    return _Seeded(kind.__name__, (kind,), members)


def _plain(value: Any) -> Any:
    """What NumPy gets for a seed: an array of its own for one of ours."""
    return np.asarray(value) if isinstance(value, Handle) else value


class _Random:
    """The parts of ``atoll.random`` that are made when they are first needed."""

    def __init__(self) -> None:
        self.generator = _with_our_results(np.random.Generator)
        self.state = _with_our_results(np.random.RandomState)

    def default_rng(self, seed: Any = None) -> Any:
        """A new generator; see NumPy."""
        if isinstance(seed, self.generator):
            return seed
        if seed is None:
            seed = _shared_entropy()
        return self.generator(np.random.default_rng(_plain(seed)).bit_generator)


def _shared_entropy() -> int | None:
    """What a generator starts from that was given no seed: the same on all ranks."""
    world = current_world()
    if world.size == 1:
        return None
    drawn = np.random.SeedSequence().entropy if world.rank == 0 else None
    entropy: int = bcast_object(world.communicator, drawn, 0, "the seed of a random generator")
    return entropy


def _drawing_old(state: Any, name: str) -> Callable[..., Any]:
    """One of the functions that draw from NumPy's own generator."""
    public = getattr(np.random, name)

    def draw(*args: Any, **options: Any) -> Any:
        sampler, given, more = name, args, options
        if name in ("rand", "randn") and args:
            sampler = "random_sample" if name == "rand" else "standard_normal"
            given, more = (), {"size": args}
        from ..lazy import drawing

        result = drawing.drawn(state, sampler, getattr(type(state), sampler), given, more)
        if result is NotImplemented:
            result = at_once(public, args, options, bare=True)
        return by_numpy(public, args, options) if result is GENERAL else result

    look_like(public, draw, f"random.{name}")
    return draw


def _own() -> dict[str, Any]:
    from ..lazy.drawing import SIZE_AT

    if current_world().communicator.kind == "MPI":
        # NumPy's own generator, which the old functions draw from; simulated ranks share one
        np.random.seed((_shared_entropy() or 0) % (1 << 32))
    made = _Random()
    old = np.random.mtrand._rand
    functions = {
        name: _drawing_old(old, name) for name in ("random", *SIZE_AT, "rand", "randn")
        if hasattr(old, name) and hasattr(np.random, name)
    }  # fmt: skip
    return {
        **functions,
        **{name: _with_our_seeds(getattr(np.random, name)) for name in _SEEDED},
        "shuffle": _shuffle,
        "Generator": made.generator,
        "RandomState": made.state,
        "default_rng": made.default_rng,
    }


random = Namespace("random", _own)
publish("random", random, "data")
