"""The world on which values are distributed, and the facts about collective functions that ranks compare."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .. import policy
from ..comm.world import World, current_world
from ..config import config
from ..context.caches import remembered
from ..errors import WorldError
from ..graph.geometry import Geometry
from ..graph.node import view_of
from ..graph.words import view_text
from ..ops.fingerprint import dtype_words, of_layout, of_view
from ..ops.placement import Place, placed_view
from .float_errors import free
from .replication import brought, called
from .views import Handle, is_deferred


def place_of(value: Any) -> Place | None:
    """The distribution of an array or a view; ``None`` if it is replicated."""
    if not isinstance(value, Handle) or value._np is not None:
        return None
    place = value._cell.node.place
    if place is None or value._geometry.is_base:
        return place  # type: ignore[no-any-return]
    return placed_view(place, value._geometry)


def world_of(values: Iterable[Any]) -> World | None:
    """The world of several ranks on which one of the values lies, if there is one, for an operation that begins. Collective."""
    world: World | None = None
    for value in values:
        place = place_of(value)
        if place is None or place.world.size == 1:
            continue
        if place.log.undivided and brought(value._cell.node):
            continue
        if world is not None and place.world is not world and place.world != world:
            raise WorldError(
                f"one operand lies on {world!r}, another on {place.world!r}; arrays of different worlds do not mix: copy one by atoll.copy_between"
            )
        world = place.world
    return None if not free() else world


def in_step(world: World, name: str, *facts: Any, moves: str = "") -> None:
    """Record a collective call in the log before it runs.

    The work on a rank's own block may need no message, and messages of one size look alike. So ranks that call
    different functions, or one function with different arrays, numbers, shapes, axes or strings, would produce a wrong
    result. Inexact numbers are compared if all ranks compute equal ones.

    The time of the call is added to the accounts of the arrays. If elements of the first fact are ``"read"``, ``"written"`` or
    ``"combined"`` with others, the arrays behind it say where they are. Each rank reads elements from others, or all of them; owners
    alone write them, which takes as long as one rank needs for all of them; and each rank combines its own before they travel.
    """
    exact: list[Any] = []
    log = world.communicator.log
    alike = log.exact or config.debug
    words = f"{name}({', '.join([_said(fact, exact, alike) for fact in facts])})"
    log.step(zlib.crc32(f"{words} {exact}".encode()), words)
    if config.settings().everywhere is None and log.computes:
        _account(facts, moves)


def _account(facts: tuple[Any, ...], moves: str) -> None:
    """Add the time of a call to the accounts of its arrays."""
    sizes = [(array, _nbytes_of(array)) for array in _arrays_among(facts)]
    leads = bool(sizes) and sizes[0][0] is facts[0]
    behind = max([nbytes for _, nbytes in sizes[leads:]], default=0)
    for array, nbytes in sizes[:1] if moves == "read" else sizes:
        if place_of(array) is None:
            continue
        if moves == "read":
            called(array._cell.node, nbytes=behind, travelled=min(behind, nbytes) // 2)
        elif moves == "combined":
            called(array._cell.node, nbytes=behind, travelled=min(behind, sizes[0][1]))
        elif moves:
            called(array._cell.node, travelled=behind)
        else:
            called(array._cell.node, nbytes=min([nbytes for _, nbytes in sizes]))


def _nbytes_of(array: Any) -> int:
    """The bytes of an array, or of a view of one."""
    memory: Any = array if isinstance(array, np.ndarray) else array._np
    nbytes: int = array._geometry.nbytes if memory is None else memory.nbytes
    return nbytes


def _arrays_among(facts: Iterable[Any]) -> list[Any]:
    arrays: list[Any] = []
    for fact in facts:
        if isinstance(fact, (Handle, np.ndarray)):
            arrays.append(fact)
        elif type(fact) is tuple:
            arrays += _arrays_among(fact)
    return arrays


def chosen_by(mask: Any, *values: Any) -> None:
    """Note which elements of values are chosen, where some of these lie on ranks and the mask does not."""
    if isinstance(mask, (Handle, np.ndarray, list)) and place_of(mask) is None:
        world = world_of(values)
        if world is not None:
            in_step(world, "a choice of elements", mask)


def _said(fact: Any, exact: list[Any], alike: bool) -> str:
    """Text of an argument that is the same on all ranks; ``exact`` collects values for the comparison only. ``alike``: inexact
    numbers are equal on all ranks."""
    kind = type(fact)
    if fact is None or kind is int or kind is bool or kind is str:
        return repr(fact)
    if isinstance(fact, Handle | np.ndarray):
        ours: Any = fact
        if isinstance(fact, Handle) and fact._np is None and fact._geometry.is_base:
            node = fact._cell.node
            if node.place is not None:  # as below, in fewer steps
                said, layout = _said_of_divided(fact._geometry, node.place)
                exact += [layout] if node.value is None else [layout, node.born]
                return said
        array, place = ours if isinstance(fact, np.ndarray) else ours._np, place_of(fact)
        lies: Any = ours._geometry if array is None else array
        if place is not None:
            exact.append(of_layout(place.layout))
            if ours._cell.node.value is not None:  # else it is computed next, and compared then
                exact.append(ours._cell.node.born)
            if not ours._geometry.is_base:
                exact.append(of_view(ours._geometry))
        words = f"{dtype_words(lies.dtype)} {lies.shape}"
        if place is not None or is_deferred(fact) or (array is None and ours._cell.node.place):
            return words
        decides = lies.dtype.kind in "biu" and (
            array is not None or lies.size <= policy.limits.pieces * policy.limits.chunk
        )
        if not (decides or config.debug or (alike and lies.size <= policy.limits.small)):
            return words
        return words + (_digest_of(ours) if array is None else _digest(array))
    if type(fact) is Geometry:
        exact.append(of_view(fact))
        return f"{fact.shape} {view_text(fact)}"
    if isinstance(fact, np.integer | np.bool_):
        return repr(fact.item())
    if kind is slice:
        return ":".join([_said(part, exact, alike) for part in (fact.start, fact.stop, fact.step)])
    if isinstance(fact, float | complex | np.inexact):
        if not alike:
            return kind.__name__
        return repr(fact.item() if isinstance(fact, np.inexact) else fact)
    if isinstance(fact, list | tuple):
        if len(fact) > policy.limits.numbers:
            plain = set(map(type, fact)) <= {int, bool}
            each = fact if plain else [_said(part, exact, alike) for part in fact]
            return f"{len(fact)} values #{zlib.crc32(repr(each).encode()):08x}"
        return f"[{', '.join([_said(part, exact, alike) for part in fact])}]"
    if kind is dict:
        return ", ".join([f"{name}={_said(part, exact, alike)}" for name, part in fact.items()])
    if isinstance(fact, np.random.Generator | np.random.RandomState):
        return _said_of_generator(fact)
    return getattr(fact, "__name__", kind.__name__)


@remembered
def _said_of_divided(geometry: Geometry, place: Place) -> tuple[str, int]:
    """Text of an array that ranks divide, and the fingerprint of its layout."""
    return f"{dtype_words(geometry.dtype)} {geometry.shape}", of_layout(place.layout)


def _digest_of(handle: Handle) -> str:
    """Word for the elements of a large array that every rank has; for integers that the program does not hold it is found once."""
    cell, geometry = handle._cell, handle._geometry
    value = cell.settle()
    lasts = geometry.is_base and geometry.dtype.kind in "iu" and not (cell.held() or value.pinned)
    if lasts and type(value.known) is tuple and len(value.known) > 2:
        known: str = value.known[2]
        return known
    digest = _digest(view_of(value.array, geometry))
    if lasts and geometry.size:
        value.known = int(value.array.min()), int(value.array.max()), digest
    return digest


def _digest(array: np.ndarray[Any, Any]) -> str:
    """Word for the elements of an array."""
    data = np.ascontiguousarray(array)
    told: Any = str(data.tolist()).encode() if data.dtype.hasobject else data.view(np.uint8)
    return f" #{zlib.crc32(told):08x}"


def _said_of_generator(generator: np.random.Generator | np.random.RandomState) -> str:
    """A generator by its state: ranks with seeds of their own would draw parts of different streams."""
    if generator is np.random.mtrand._rand and current_world().communicator.kind != "MPI":
        return "a generator that simulated ranks share"
    if isinstance(generator, np.random.Generator):
        state = generator.bit_generator.state
    else:
        state = generator.get_state(legacy=False)
    return f"a generator in state {zlib.crc32(_state_words(state).encode()):08x}"


def _state_words(state: Any) -> str:
    if isinstance(state, Mapping):
        return " ".join([f"{name} {_state_words(value)}" for name, value in state.items()])
    if isinstance(state, np.ndarray):
        return str(zlib.crc32(np.ascontiguousarray(state).tobytes()))
    return repr(state)
