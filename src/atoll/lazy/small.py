"""Calls whose arrays are all small: a direct call of NumPy.

A program of tiny arrays spends its time on the way from a call to NumPy. So there is a short way for
what such calls consist of: small arrays, numbers, words and dtypes, also in short lists. They need no question about
ranks, values that are still to come, or memory that is written to. Short views of large arrays whose values are
there go along. Whatever else is among the arguments
(large arrays, objects with protocols, functions of the user) makes the call take the general way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from .. import policy
from ..context.interrupts import passed_on
from ..context.warn import come_first
from .making import from_numpy, of_small, present
from .views import Handle

GENERAL = object()
"""What is answered where the call has to take the general way."""


ndarray = np.ndarray
_scalars = {np.dtype(code).type for code in np.typecodes["All"]}
PASSED = frozenset(
    {int, float, complex, bool, str, bytes, NoneType, slice, EllipsisType, type}
    | _scalars
    | {type(np.dtype(kind)) for kind in _scalars}
)
"""Classes of values that NumPy gets as they are."""

Array = np.ndarray[Any, Any]
Owners = dict[int, Handle]
"""The arrays that were given, by the identity of their memory's array."""


def at_once(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    *,
    bare: bool = False,
    reads: bool = True,
) -> Any:
    """``function(*args, **options)`` by NumPy, if the arrays among the arguments are small; else ``GENERAL``.

    ``bare`` says that there need not be any. Short views of larger arrays are small, too, where their values are
    there and the function only ``reads``; what is seen through the result has to be done the general way.
    """
    come_first()
    own = Handle.array_type
    plain: list[Any] = []
    arrays = shown = False
    for value in args:
        kind = type(value)
        if kind is own:
            small = value._np
            if small is None:
                small = _shown(value) if reads else None
                if small is None:
                    return GENERAL
                shown = True
            value = small
            arrays = True
        elif kind not in PASSED:
            return _nested(function, args, options, bare, reads)
        plain.append(value)
    if options:
        return _nested(function, args, options, bare, reads)
    if not (arrays or bare):
        return GENERAL
    if shown:
        return _of_shown(function, plain, {}, _owners(args))
    result = function(*plain)
    if type(result) is not ndarray:
        if type(result) not in PASSED:
            return _taken(result, _owners(args))
        return result
    if result.base is not None or id(result) in map(id, plain):
        return _array_taken(result, _owners(args))
    return from_numpy(result if result.flags.owndata else result.copy(order="K"))


def _shown(handle: Handle) -> Array | None:
    """The memory of a short view whose value is there, for reading; ``None`` where there is no such thing."""
    if not handle._geometry.short:
        return None
    memory = present(handle)
    if memory is not None:
        memory = memory.view()
        memory.flags.writeable = False
    return memory


def _of_shown(
    function: Callable[..., Any], plain: list[Any], named: dict[str, Any], owners: Owners
) -> Any:
    """The result of a call that reads short views; ``GENERAL`` where it writes to them, or shows them."""
    if isinstance(getattr(function, "__self__", None), (*_drawing(), np.ndarray)):
        return GENERAL  # no call that changes something else may be made twice
    if calls_program(function) or has_objects(plain) or has_objects(named.values()):
        return GENERAL  # nor one that calls functions of the program
    try:
        result = function(*plain, **named)
    except ValueError as problem:  # perhaps because they cannot be written to
        passed_on(problem)
        return GENERAL
    for part in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(part, ndarray):
            if part.base is not None or type(part) is not ndarray:
                return GENERAL
        elif type(part) not in PASSED:
            return GENERAL
    return _taken(result, owners)


def calls_program(function: Any) -> bool:
    """Whether a ufunc, or a method of one, has loops over Python objects only, as those of ``frompyfunc``."""
    owner = getattr(function, "__self__", function)
    return isinstance(owner, np.ufunc) and all(
        set(types) <= {"O", "-", ">"} for types in owner.types
    )


def has_objects(values: Iterable[Any]) -> bool:
    """Whether there are arrays of Python objects among values, which functions of NumPy's may call."""
    return any(
        value.dtype.hasobject
        if isinstance(value, ndarray)
        else isinstance(value, (list, tuple)) and has_objects(value)
        for value in values
    )


def _drawing() -> tuple[type, ...]:
    """NumPy's sources of chance, if they were ever imported."""
    module = sys.modules.get("numpy.random")
    return () if module is None else (module.Generator, module.RandomState)


def _owners(args: tuple[Any, ...]) -> Owners:
    """The small arrays among arguments."""
    own = Handle.array_type
    return {id(value._np): value for value in args if type(value) is own}


def _nested(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    bare: bool,
    reads: bool,
) -> Any:
    """The same for arguments by name, and for lists."""
    owners: Owners = {}
    plain: list[Any] = []
    seen: list[Handle] = []
    for value in args:
        value = _inside(value, type(value), owners, seen)
        if value is GENERAL:
            return GENERAL
        plain.append(value)
    named = {}
    for name, value in options.items():
        value = _inside(value, type(value), owners, seen)
        if value is GENERAL:
            return GENERAL
        named[name] = value
    if seen:
        if not reads:
            return GENERAL
        return _of_shown(function, plain, named, owners)
    if not owners and not bare:
        return GENERAL
    return _taken(function(*plain, **named), owners)


def _inside(value: Any, kind: type, owners: Owners, seen: list[Handle]) -> Any:
    """A value for NumPy, with the arrays in it noted: small ones, and short views."""
    own = Handle.array_type
    if kind is own:
        small = value._np
        if small is None:
            small = _shown(value)
            if small is None:
                return GENERAL
            seen.append(value)
            return small
        owners[id(small)] = value
        return small
    if kind in PASSED:
        return value
    if (kind is list or kind is tuple) and (
        len(value) <= policy.limits.numbers or type(value[0]) is own
    ):
        if PASSED.issuperset(map(type, value)):
            return value
        items = [_inside(item, type(item), owners, seen) for item in value]
        return GENERAL if any(item is GENERAL for item in items) else kind(items)
    return GENERAL


def _taken(result: Any, owners: Owners) -> Any:
    """What NumPy returned, in our hands: an argument, a view of one, or memory of its own."""
    kind = type(result)
    if kind is ndarray:
        return _array_taken(result, owners)
    if kind is tuple:
        return tuple([_taken(part, owners) for part in result])
    if kind is list:
        return [_taken(part, owners) for part in result]
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return kind(*[_taken(part, owners) for part in result])
    return result


def _array_taken(result: Array, owners: Owners) -> Any:
    handle = owners.get(id(result))
    if handle is not None:
        return handle
    base = result.base
    if base is None:
        return from_numpy(result if result.flags.owndata else result.copy(order="K"))
    if id(base) in owners or any(
        np.may_share_memory(result, handle._array()) for handle in owners.values()
    ):
        return of_small(result)
    return from_numpy(result.copy(order="K"))


def taken_of(result: Any, args: tuple[Any, ...]) -> Any:
    """What NumPy returned for these arguments, in our hands."""
    owners: Owners = {}
    for value in args:
        _inside(value, type(value), owners, [])
    return _taken(result, owners)
