"""Calls whose arrays are all small: NumPy at once, and nothing in between.

A program of tiny arrays spends its time on the way from a call to NumPy. So there is a short way for
what such calls consist of: small arrays, numbers, words and dtypes, also in short lists. They need no question about
ranks, values that are still to come, or memory that is written to. Whatever else is among the arguments
(views of large arrays, objects with protocols, functions of the user) makes the call take the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from .cells import Handle
from .making import from_numpy, of_small

GENERAL = object()
"""What is answered where the call has to take the general way."""

LONGEST = 32
"""Up to how many numbers of a list are looked at."""

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
) -> Any:
    """``function(*args, **options)`` by NumPy, if the arrays among the arguments are small; else ``GENERAL``.

    ``bare`` says that there need not be any.
    """
    owners: Owners = {}
    plain: list[Any] = []
    own = Handle.array_type
    for value in args:
        kind = type(value)
        if kind is own:
            small = value._np
            if small is None:
                return GENERAL
            owners[id(small)] = value
            plain.append(small)
        elif kind in PASSED:
            plain.append(value)
        else:
            value = _inside(value, kind, owners)
            if value is GENERAL:
                return GENERAL
            plain.append(value)
    if options:
        named = {}
        for name, value in options.items():
            value = _inside(value, type(value), owners)
            if value is GENERAL:
                return GENERAL
            named[name] = value
        options = named
    if not owners and not bare:
        return GENERAL
    return _taken(function(*plain, **options), owners)


def _inside(value: Any, kind: type, owners: Owners) -> Any:
    """A value for NumPy, with the arrays in it noted."""
    own = Handle.array_type
    if kind is own:
        small = value._np
        if small is None:
            return GENERAL
        owners[id(small)] = value
        return small
    if kind in PASSED:
        return value
    if (kind is list or kind is tuple) and (len(value) <= LONGEST or type(value[0]) is own):
        made = []
        for item in value:
            item = _inside(item, type(item), owners)
            if item is GENERAL:
                return GENERAL
            made.append(item)
        return made if kind is list else tuple(made)
    return GENERAL


def _taken(result: Any, owners: Owners) -> Any:
    """What NumPy returned, in our hands: an argument, a view of one, or memory of its own."""
    kind = type(result)
    if kind is np.ndarray:
        return _array_taken(result, owners)
    if kind is tuple:
        return tuple([_taken(one, owners) for one in result])
    if kind is list:
        return [_taken(one, owners) for one in result]
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return kind(*[_taken(one, owners) for one in result])
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
