"""NumPy's functions on the data: conversion of arguments and results, and views among them.

A result of NumPy may be new memory, an argument, or a view of an argument. New memory becomes an
atoll array, an argument is returned as its handle, and a view becomes a view of that handle's
cell; the address tells them apart. So aliasing holds for every NumPy function.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from functools import partial
from sys import getrefcount
from types import FrameType
from typing import Any

import numpy as np

from .. import policy
from ..backend.memory import in_words, release
from ..comm import common_warnings
from ..comm.world import World, current_world
from ..config import config
from ..context.caches import remembered
from ..context.call_sites import user_frame
from ..context.interrupts import passed_on
from ..context.warn import Keep, come_first, register_keeping
from ..errors import FallbackWarning, OutOfMemoryError
from .agreement import in_step, place_of, world_of
from .conversion import (
    PASSED,
    from_numpy,
    has_methods,
    in_class,
    is_familiar,
    is_long,
    is_numpys,
    of_array,
    of_small,
    of_view,
    present,
)
from .protocols import meet
from .result_classes import class_giver, in_class_of, is_subclass, twin_of
from .shared_calls import shared
from .views import SOLE, Handle, arrays_among, is_deferred

Array = np.ndarray[Any, Any]
GENERAL = object()
"""The answer of :func:`at_hand` where a call has to take the general way."""


class Unsupported(Exception):
    """A function does not support the arguments of a call: NumPy computes it."""


def expect(condition: Any) -> None:
    """In a declared function: leave the call to NumPy unless a condition holds."""
    if not condition:
        raise Unsupported


class Given:
    """The arguments of one NumPy call, and the handles that they came from.

    With ``classes``, arrays of users' classes are passed as arrays of twins, and results come back in the user's class.
    """

    __slots__ = ("classes", "foreign", "handles", "large", "others", "parents", "pins", "written")
    pins: ExitStack

    def __init__(self, *, classes: bool = False) -> None:
        self.classes = classes
        self.parents: dict[type, Handle] = {}
        self.handles: list[tuple[Array, Handle]] = []
        self.written: list[tuple[Array, Handle]] = []
        self.others: list[Array] = []
        self.large = False
        self.foreign = False

    def array(self, handle: Handle, *, write: bool = False) -> Any:
        """The memory of one handle."""
        if write:
            self.pins.enter_context(handle._held())
        array = handle._array_to_write() if write else handle._array()
        if handle._np is None:
            self.large = True
        if self.classes and is_subclass(handle):
            array = twin_of(handle, array)
            self.parents.setdefault(type(array), handle)
        self.handles.append((array, handle))
        if write:
            self.written.append((array, handle))
        return array

    def done(self) -> None:
        """Note that NumPy has written into the arrays passed for writing."""
        for array, handle in self.written:
            handle._written(array)

    def give(self, value: Any, *, write: bool = False) -> Any:
        """A value for NumPy, containers searched through."""
        if isinstance(value, Handle):
            return self.array(value, write=write)
        kind = type(value)
        if kind is tuple:
            return tuple([self.give(v, write=write) for v in value])
        if kind is list:
            return value if is_numpys(value) else [self.give(v, write=write) for v in value]
        if kind is dict:
            return {k: self.give(v, write=write) for k, v in value.items()}
        if kind is np.ndarray:
            self.others.append(value)
            return value
        own = getattr(kind, "_to_numpy", None)
        if own is not None:
            return own(value, self, write)
        if has_methods(kind):
            meet(kind)
            self.foreign |= not (isinstance(value, (type, np.dtype, slice)) or callable(value))
        return value

    def take(self, result: Any) -> Any:
        """Convert a result of NumPy to atoll arrays."""
        kind = type(result)
        if kind is np.ndarray:
            return self._taken(result)
        if kind in self.parents:
            return self._of_class(result)
        if kind is tuple:
            return tuple([self.take(r) for r in result])
        if kind is list:
            return [self.take(r) for r in result]
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return kind(*[self.take(r) for r in result])
        return result

    def _of_class(self, result: Array) -> Any:
        """A result that is an array of a twin, in the user's class."""
        for array, handle in self.handles:
            if result is array:
                return handle
        parent = self.parents[type(result)]
        plain = self._taken(result if result.base is None else result.view(np.ndarray))
        return in_class(type(parent), plain, parent)

    def _taken(self, result: Array) -> Any:
        for array, handle in self.handles:
            if result is array:
                return handle
        if any(result is other for other in self.others):
            return result
        if result.base is None and result.flags.owndata:
            if self.foreign and current_world().size == 1:
                return of_array(result)  # it may be the result of an ``__array__`` method
            own = result if type(result) is np.ndarray else result.view(np.ndarray)
            return from_numpy(own, self.whole())
        if _has_new_memory(result):
            return from_numpy(result, self.whole())
        if any(np.may_share_memory(result, other) for other in self.others):
            return of_array(result)
        shared = False
        for array, handle in self.handles:
            if not np.may_share_memory(array, result):
                continue
            shared = True
            if handle._np is not None:
                return of_small(result)
            cell = handle._cell
            memory = cell.node.value
            if memory is not None and result.size and cell.node.place is None:
                offset = result.__array_interface__["data"][0] - memory.address
                return of_view(cell, cell.geometry.at(result, offset))
        if self.foreign and not shared:
            return of_array(result)
        array = result.copy(order="K")
        if array.strides != result.strides and not shared and current_world().size == 1:
            return of_array(result)  # such as every second number of something that NumPy has made
        copy = from_numpy(array, self.whole())
        if shared:
            copy.flags.writeable = False  # writes into a copy would be lost
        return copy

    def whole(self) -> int:
        """The number of elements of the largest array that every rank has; results that are no larger stay on every rank."""
        return max([a.size for a, handle in self.handles if place_of(handle) is None], default=0)


def _has_new_memory(result: Array) -> bool:
    """True if a large array covers the whole memory of an otherwise unreferenced base, such as a reshaped one."""
    base: Any = result.base
    if type(base) is not np.ndarray or result.size < config.small:
        return False
    whole = base.flags.owndata and base.nbytes == result.nbytes
    del base
    return whole and result.flags.writeable and getrefcount(result.base) == SOLE


def warn(name: str) -> None:
    """Warn, once for each line of the program, that NumPy computes ``name`` on the data."""
    frame = user_frame()
    if frame is None:
        return
    warnings.warn_explicit(
        f"atoll has no kernel for {name} yet: NumPy computes it from the whole array, on one core. To hide this warning: "
        "warnings.simplefilter('ignore', atoll.errors.FallbackWarning)",
        FallbackWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


@remembered
def _place_of_out(function: Callable[..., Any]) -> int:
    """Position of ``out`` among the arguments of a NumPy function; -1 if it has none."""
    for candidate in (function, getattr(np, getattr(function, "__name__", ""), None)):
        try:
            names = inspect.signature(candidate).parameters  # type: ignore[arg-type]
            if names["out"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
                return list(names).index("out")
        except (KeyError, TypeError, ValueError) as problem:  # no signature, or no out
            passed_on(problem)
            continue
    return -1


def by_numpy(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], **how: Any
) -> Any:
    """``function(*args, **options)`` by NumPy; see :func:`_by_numpy`. A call that ran out of memory is repeated, if it may be."""
    try:
        return _by_numpy(function, args, options, **how)
    except MemoryError:
        if not (_may_repeat(function, args, options) and release()):
            raise
    return _by_numpy(function, args, options, **how)


def _may_repeat(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """True if a call that ran out of memory may be repeated: it has called no code of the program, and changed no array."""
    given = [*args, *options.values()]
    plain = all(type(value) in PASSED or type(value) is Handle.array_type for value in given)
    return (
        plain
        and current_world().size == 1
        and not options.get("allow_pickle")
        and not isinstance(getattr(function, "__self__", None), np.ndarray)
        and not calls_program(function)
        and not has_objects([a._np for a in given if isinstance(a, Handle) and a._np is not None])
    )


def _by_numpy(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    *,
    writes: Collection[int | str] = (),
    name: str = "",
    jointly: Callable[..., Any] | None = None,
    alone: bool = False,
    keeps: str | None = None,
) -> Any:
    """Run a NumPy function on the data. A ``name`` asks for a warning.

    ``writes`` has the positions or names of the arguments that the function writes into; ``out``
    is always one, by name or by position. A call with a deferred array is deferred too.
    ``jointly`` is the collective replacement of the function if an array lies on several ranks; with ``alone`` it
    runs for every large array. Its result ``NotImplemented`` leaves the call to NumPy. ``keeps`` declares the
    results of ``jointly`` that have a user's class.
    """
    if len(args) > 1 and any(isinstance(a, Handle) for a in args[1:]):
        place = _place_of_out(function)
        if 0 < place < len(args):
            writes = (*writes, place)
    if not writes:
        here = not (name or (alone and jointly is not None))
        result = at_hand(function, args, options, here=here)
        if result is not GENERAL:
            return result
    arrays = arrays_among([*args, *options.values()])
    if any(map(is_deferred, arrays)):
        return Handle.call_later(function, args, options, writes)
    on_ranks = current_world().size > 1 and any(
        array._np is None and array._cell.node.place is not None for array in arrays
    )
    world = world_of(arrays) if on_ranks else None
    if world is not None:
        # Gathering looks alike for all functions, and each rank computes the result by itself.
        name_of = getattr(function, "__name__", type(function).__name__)
        in_step(world, name_of, *args, *([options] if options else []))
    elif alone:
        small = [handle._np is not None for handle in arrays_among(args)]
        alone = not (small and all(small)) and not any(map(is_foreign, args))
    if jointly is not None and (on_ranks or alone) and not any(map(has_class, args)):
        result = computed_jointly(jointly, args, options, world)
        if result is not NotImplemented:
            giver = class_giver((*args, *options.values()))
            if giver is None:
                return result
            return in_class_of(giver, keeps, options, result)
    if on_ranks:
        _check_gathered(function, arrays)
    come_first()
    # All values come before any memory is handed out: a program that computes one of them may store it
    # over an older version of another, which nothing pending refers to any more.
    for handle in arrays:
        if handle._np is None:
            handle._cell.settle()
    owner = getattr(function, "__self__", function)
    given = Given(classes=not isinstance(owner, np.ufunc))
    with ExitStack() as given.pins:
        plain_args = [given.give(a, write=k in writes) for k, a in enumerate(args)]
        plain_options = {
            k: given.give(v, write=k == "out" or k in writes) for k, v in options.items()
        }
        if name and given.large:
            warn(name)
        if given.written:
            try:
                result = function(*plain_args, **plain_options)
            except (FloatingPointError, Warning):  # raised after NumPy has written the results
                given.done()
                raise
        else:
            result = shared(function, plain_args, plain_options)
        given.done()
    return given.take(result)


def computed_jointly(
    jointly: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    world: World | None,
) -> Any:
    """Run ``jointly`` on all ranks of a world, if there is one; a warning of one rank is issued on all. Collective."""
    come_first()
    if world is not None:
        world.communicator.log.unasked = True
    try:
        result = jointly(*args, **options)
    except Unsupported:
        return NotImplemented
    if world is not None and result is not NotImplemented:
        if result is None or place_of(result) is not None:  # no value reaches the program
            world.communicator.log.unasked = True
        else:
            common_warnings.ask(world.communicator)
    return result


def _keeping(frame: FrameType) -> Keep | None:
    """Function that keeps NumPy's warnings of a collective computation, if ``frame`` is one of :func:`computed_jointly`."""
    world = frame.f_locals.get("world") if frame.f_code is computed_jointly.__code__ else None
    return None if world is None else partial(common_warnings.note, world.communicator.log)


register_keeping(_keeping)


def at_hand(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    *,
    bare: bool = False,
    here: bool = False,
) -> Any:
    """``function(*args, **options)`` by NumPy if the arrays among the arguments are small, or short views of values in memory;
    else ``GENERAL``. ``bare``: no array is required. ``here``: an array may also have its value in this process.
    """
    given = Given(classes=True)
    plain: list[Any] = []
    for value in args:
        value = _memory_at_hand(value, given, here)
        if value is GENERAL:
            return GENERAL
        plain.append(value)
    named = {name: _memory_at_hand(value, given, False) for name, value in options.items()}
    if not (given.handles or bare) or (named and any(v is GENERAL for v in named.values())):
        return GENERAL
    shown = given.large
    if shown and (calls_program(function) or has_objects([array for array, _ in given.handles])):
        return GENERAL  # no call of the program's code may be made twice
    come_first()
    try:
        result = shared(function, plain, named)
    except ValueError as problem:
        if not shown:
            raise
        passed_on(problem)  # perhaps because a view cannot be written to
        return GENERAL
    if type(result) in PASSED:
        return result
    if type(result) is np.ndarray and result.base is None and result.flags.owndata:
        for memory, handle in given.handles:
            if result is memory:
                return handle
        return of_small(result, given.whole())
    parts = result if isinstance(result, (tuple, list)) else (result,)
    if shown and any(isinstance(part, np.ndarray) and part.base is not None for part in parts):
        return GENERAL  # it shows the view
    return given.take(result)


def _memory_at_hand(value: Any, given: Given, here: bool) -> Any:
    """A value for NumPy, with its arrays noted in ``given``; read-only for a short view. ``GENERAL`` if it is not in memory."""
    kind = type(value)
    if kind is Handle.array_type:
        memory = value._np
        if memory is None:
            node = value._cell.node
            memory = present(value)
            if memory is not None:
                memory = memory.view()
                memory.flags.writeable, given.large = False, True
            elif here and node.value is not None and node.place is None:
                memory = value._array()
            else:
                return GENERAL
        given.handles.append((memory, value))
        return memory
    if kind in PASSED:
        return value
    if kind not in (list, tuple) or not (
        len(value) <= policy.limits.numbers or type(value[0]) is Handle.array_type
    ):
        return GENERAL
    if any(type(item) is Handle.array_type and is_long(item) for item in value):
        return GENERAL  # no other item is evaluated for a call that is recorded
    items = [_memory_at_hand(item, given, False) for item in value]
    return GENERAL if any(item is GENERAL for item in items) else kind(items)


def calls_program(function: Any) -> bool:
    """True if a ufunc, or a method of one, has loops over Python objects only, as those of ``frompyfunc``."""
    owner = getattr(function, "__self__", function)
    return isinstance(owner, np.ufunc) and owner.ntypes == 1 and set(owner.types[0]) <= {*"O->"}


def has_objects(arrays: Iterable[Array]) -> bool:
    """True if an array holds Python objects, whose methods NumPy functions may call."""
    return any(array.dtype.hasobject for array in arrays)


def taken_of(result: Any, args: tuple[Any, ...]) -> Any:
    """Convert a result of NumPy for these arguments to atoll arrays."""
    given = Given()
    given.handles = [(a._np, a) for a in arrays_among(args) if a._np is not None]
    return given.take(result)


def _check_gathered(function: Any, arrays: Iterable[Any]) -> None:
    """Raise an error for a call that needs large whole arrays on every rank."""
    each = {id(array): array for array in arrays}
    divided = [array for array in each.values() if place_of(array) is not None]
    nbytes = sum([array._geometry.size * array._geometry.dtype.itemsize for array in divided])
    limit = config.gather_bytes
    if nbytes <= limit:
        return
    name = getattr(function, "__name__", type(function).__name__)
    shapes = ", ".join([str(array._geometry.shape) for array in divided])
    raise OutOfMemoryError(
        f"{name}: NumPy needs the whole of the distributed array{'s' * (len(divided) > 1)} {shapes}: {in_words(nbytes)} on each of "
        f"{current_world().size} ranks, and config.gather_bytes allows {in_words(limit)}. If every rank has the memory, raise the limit "
        f"by np.config(gather_bytes={nbytes}); otherwise use a function that ranks compute together, or each rank's block, a.local"
    )


def is_foreign(value: Any) -> bool:
    """True if NumPy may call methods of the program's to read an argument, or one in a short list."""
    kind = type(value)
    if kind is list or kind is tuple:
        return len(value) <= policy.limits.numbers and not is_familiar(value)
    if not has_methods(kind) or isinstance(value, (type, np.dtype, slice)) or callable(value):
        return False
    meet(kind)
    return not hasattr(kind, "_to_numpy")


def has_class(value: Any) -> bool:
    """True if the class of a value affects results: a subclass of NumPy's array, such as masked arrays, or a class
    that implements ``__array_function__``."""
    kind = type(value)
    if issubclass(kind, np.ndarray):
        return kind is not np.ndarray
    return hasattr(kind, "__array_function__") and not issubclass(kind, Handle)
