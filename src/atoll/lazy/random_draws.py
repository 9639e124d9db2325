"""Random arrays of which each rank draws its own part: streams that follow the global index.

An element's value depends on the state of the generator, on the sampler, and on the index of the
element in the flattened array; never on the number of ranks or on the owner of the element.
There are three kinds of samplers:

*One word for each element* (``random``, ``uniform``, integers from a range whose length is a power of
two, where each takes 64 bits, or half of them). A rank jumps to its elements with ``advance``. The
values are NumPy's, and afterwards the generator is in the state in which NumPy would leave it.

*As many words as it takes* (``normal``, other integers, ``gamma``, ...). The flattened array is cut
into blocks of ``BLOCK`` elements. The first is drawn as NumPy draws it, and block ``k`` from the
generator's state jumped ``k`` times, as ``jumped`` does. So arrays of one block have NumPy's values, and
larger ones the same values on any number of ranks, one included. Then the generator goes on by ``LEAP``
words, which no block comes near to using.

*The old functions and other bit generators*, which cannot advance: every rank draws NumPy's stream, a
block at a time, and keeps its own elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from .. import policy
from ..backend.memory import new_array
from ..collective import Section
from ..collective.movement import flat_indices, line_bounds
from ..collective.operation import result_layout
from ..comm.world import current_world
from ..config import config
from ..layout import Layout
from .agreement import in_step
from .conversion import is_modest, is_small
from .creation import shape_of
from .sections import of_section

Array = np.ndarray[Any, Any]
BLOCK = 1 << 16
LEAP = 1 << 40

SIZE_AT = {
    "random": 0, "standard_normal": 0, "standard_exponential": 0, "standard_cauchy": 0,
    "exponential": 1, "poisson": 1, "standard_gamma": 1, "chisquare": 1, "geometric": 1, "rayleigh": 1,
    "standard_t": 1, "weibull": 1, "power": 1, "pareto": 1, "zipf": 1, "logseries": 1,
    "normal": 2, "uniform": 2, "integers": 2, "gamma": 2, "beta": 2, "binomial": 2, "gumbel": 2,
    "laplace": 2, "logistic": 2, "lognormal": 2, "vonmises": 2, "wald": 2, "negative_binomial": 2,
    "f": 2, "noncentral_chisquare": 2, "triangular": 3, "hypergeometric": 3, "noncentral_f": 3,
    "random_sample": 0, "randint": 2, "tomaxint": 0,
}  # fmt: skip
"""Samplers of numbers, and the place of the argument ``size`` of each."""


class _Position:
    """Position of a bit generator in its stream, in words of 64 bits, and a half that is left."""

    def __init__(self, bit_generator: Any) -> None:
        self.state = bit_generator.state
        self.copy = type(bit_generator)(0)
        self.half = int(self.state["has_uint32"])

    def at_word(self, number: int) -> np.random.Generator:
        """A copy of the generator after this number of words."""
        self.copy.state = self.state
        self.copy.advance(number)
        return np.random.Generator(self.copy)

    def at_half(self, number: int) -> np.random.Generator:
        """A copy of the generator after this number of half words, a half that was left first."""
        self.copy.state = self.state
        if number:
            words, odd = divmod(number - self.half, 2)
            self.copy.advance(words)
            if odd:
                np.random.Generator(self.copy).integers(0, 1 << 32, dtype=np.uint32)
        return np.random.Generator(self.copy)

    def at_block(self, number: int) -> np.random.Generator:
        """A generator for a block of elements."""
        self.copy.state = self.state
        return np.random.Generator(self.copy.jumped(number) if number else self.copy)


def can_advance(generator: Any) -> bool:
    """True if a generator's stream can be entered anywhere, and has words of 64 bits."""
    return isinstance(generator.bit_generator, (np.random.PCG64, np.random.PCG64DXSM))


def _bits(name: str, arguments: dict[str, Any]) -> int:
    """The bits that each element takes, 0 if the number depends on its value."""
    if name == "uniform":
        return 64
    if name == "random":
        return 64 if np.dtype(arguments.get("dtype", "f8")) == np.float64 else 32
    if name != "integers":
        return 0
    low, high = arguments.get("low"), arguments.get("high")
    if high is None:
        low, high = 0, low
    kind = np.dtype(arguments.get("dtype", np.int64))
    if type(low) is not int or type(high) is not int or kind.itemsize < 4:
        return 0
    length = high - low + bool(arguments.get("endpoint", False))
    if length < 2 or length & (length - 1):
        return 0
    return 32 if length <= 1 << 32 else 64


_NAMES = {
    "random": ("size", "dtype", "out"),
    "uniform": ("low", "high", "size"),
    "integers": ("low", "high", "size", "dtype", "endpoint"),
}


def drawn(generator: Any, name: str, sampler: Any, args: tuple[Any, ...], options: Any) -> Any:
    """Draws of ``sampler`` of a generator, or ``NotImplemented`` where NumPy draws all of them."""
    place = SIZE_AT.get(name)
    if place is None or options.get("out") is not None:
        return NotImplemented
    size = args[place] if len(args) > place else options.get("size")
    if size is None or (type(size) is int and size < config.small):
        return NotImplemented
    args, options = list(args), dict(options)  # type: ignore[assignment]
    rest = [*args[:place], *args[place + 1 :], *[v for k, v in options.items() if k != "size"]]
    if not all(_is_plain(value) for value in rest):
        return NotImplemented
    shape = shape_of(size)
    if not shape or is_small(shape) or not prod(shape):
        return NotImplemented
    advances = can_advance(generator) if hasattr(generator, "bit_generator") else False
    named = dict(zip(_NAMES.get(name, ()), args)) | options
    bits = _bits(name, named) if advances else 0
    here = current_world().size == 1 or is_modest(shape)
    if here and (not advances or bits or prod(shape) <= BLOCK):
        return NotImplemented  # NumPy's own stream, all of it here
    if current_world().size > 1:  # a rank that draws alone has another stream from then on
        in_step(current_world(), name, generator, *args, *([options] if options else []))

    def sample(drawer: Any, count: int) -> Array:
        given, more = list(args), dict(options)
        if len(given) > place:
            given[place] = count
        else:
            more["size"] = count
        values: Array = sampler(drawer, *given, **more)
        return values

    source = _source(generator, bits, advances, prod(shape), sample)
    return _shares(shape, source, policy.limits.short if bits else BLOCK)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, type, np.dtype, np.generic))


Span = Callable[[int, int], Array]


def _source(
    generator: Any, bits: int, advances: bool, total: int, sample: Callable[[Any, int], Array]
) -> tuple[Span, bool]:
    """Function that returns the elements from one index to another, within one block; and True if
    it must be called for all blocks, in order."""
    if not advances:

        def in_order(start: int, stop: int) -> Array:
            return sample(generator, stop - start)

        return in_order, True
    bit_generator = generator.bit_generator
    position = _Position(bit_generator)
    if total <= BLOCK and not bits:
        whole = sample(generator, total)
        return (lambda start, stop: whole[start:stop]), False
    if bits == 64:
        _leave(bit_generator, position, total)
        return (lambda start, stop: sample(position.at_word(start), stop - start)), False
    if bits == 32:
        bit_generator.state = position.at_half(total).bit_generator.state
        return (lambda start, stop: sample(position.at_half(start), stop - start)), False
    _leave(bit_generator, position, LEAP)

    def in_block(start: int, stop: int) -> Array:
        number, begin = divmod(start, BLOCK)
        return sample(position.at_block(number), begin + stop - start)[begin:]

    return in_block, False


def _leave(bit_generator: Any, position: _Position, words: int) -> None:
    """Advance a generator by a number of words; a half that was left stays left."""
    bit_generator.advance(words)
    state = bit_generator.state
    half = {name: position.state[name] for name in ("has_uint32", "uinteger")}
    bit_generator.state = state | half


def _shares(shape: tuple[int, ...], source: tuple[Span, bool], most: int) -> Any:
    """The array of which this rank draws its own elements, block by block, and up to ``most`` elements of others between them."""
    world = current_world()
    if world.size == 1 or is_modest(shape):
        layout = Layout.replicated(shape, world.size)
    else:
        layout = result_layout(shape, world.size)
    span, every = source
    block: Array | None = None
    ours, pieces = _ours(layout, world.rank, every, most)
    for start, stop, first, last, chosen in pieces:
        values = span(start, stop)
        if block is None:
            block = new_array(ours, values.dtype)
        block[first:last] = values[chosen]
    if block is None:  # this rank has nothing, but a dtype
        block = span(0, 0)
    return of_section(
        Section(block.reshape(layout.local_shape(world.rank)), layout, world.communicator), world
    )


_Pieces = Iterator[tuple[int, int, int, int, Any]]


def _ours(layout: Layout, rank: int, every: bool, most: int) -> tuple[int, _Pieces]:
    """Number of elements of this rank, and, for each block with some of them (or for every one): the spans of
    elements to draw, the elements of this rank in each, and their positions among the draws."""
    total = layout.size
    bounds = line_bounds(layout)
    if layout.is_replicated:
        return total, _line_blocks(0, total, total, every)
    if bounds is not None:
        first, last = int(bounds[rank]), int(bounds[rank + 1])
        return last - first, _line_blocks(first, last, total, every)
    flat = flat_indices(layout.region(rank), layout.shape)
    if layout.coordinates(rank) is None:
        flat = flat[:0]
    return flat.size, _blocks(flat, total, every, most)


def _line_blocks(first: int, last: int, total: int, every: bool) -> _Pieces:
    """The blocks of a contiguous range of elements."""
    low, high = (0, total) if every else (first, last)
    for begin in range(low - low % BLOCK, high, BLOCK):
        start, stop = max(begin, low), min(begin + BLOCK, high)
        mine, end = max(start, first), min(stop, last)
        if mine < end:
            yield start, stop, mine - first, end - first, slice(mine - start, end - start)
        elif every:
            yield start, stop, 0, 0, slice(0, 0)


def _blocks(flat: Array, total: int, every: bool, most: int) -> _Pieces:
    """The spans of the blocks of elements at ascending indices: one for each block, unless there are more than ``most`` other
    elements between some of them."""
    numbers = np.arange(-(-total // BLOCK)) if every else _numbers_of(flat)
    edges = [np.searchsorted(flat, numbers * BLOCK), np.searchsorted(flat, (numbers + 1) * BLOCK)]
    for number, first, last in zip(numbers.tolist(), *[e.tolist() for e in edges], strict=True):
        begin, end = number * BLOCK, min((number + 1) * BLOCK, total)
        if first == last:
            if every:
                yield begin, end, first, last, slice(0, 0)
            continue
        stops = [last]
        if not every and flat[last - 1] - flat[first] - (last - first) >= most:
            stops = [*(np.flatnonzero(np.diff(flat[first:last]) > most) + first + 1).tolist(), last]
        for stop in stops:
            low, high = int(flat[first]), int(flat[stop - 1]) + 1
            if not every:
                begin, end = low, high
            if high - low == stop - first:
                yield begin, end, first, stop, slice(low - begin, high - begin)
            else:
                yield begin, end, first, stop, flat[first:stop] - begin
            first = stop


def _numbers_of(flat: Array) -> Array:
    """Numbers of the blocks of ascending indices, some without any if that is quicker."""
    if not flat.size:
        return flat
    low, high = int(flat[0]) // BLOCK, int(flat[-1]) // BLOCK + 1
    return np.arange(low, high) if high - low <= flat.size else np.unique(flat // BLOCK)
