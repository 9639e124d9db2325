"""NumPy classes that stand in for subclasses of users while NumPy computes.

Which of NumPy's functions keep a subclass, and in which of their results, is decided in a hundred
places of NumPy's. So where NumPy runs a function on the data of an array of a user's subclass, it
gets the memory as an array of a *twin*: an empty subclass of NumPy's array with the same priority.
Results that are of a twin become arrays of the user's class again, told by ``__array_finalize__`` whom
they come from; results that are not have lost it in NumPy as well.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .views import Handle

Array = np.ndarray[Any, Any]


class Twin(np.ndarray[Any, Any]):
    """The base of all twins."""


_twins: WeakKeyDictionary[type, type[Twin]] = WeakKeyDictionary()


def is_subclass(handle: Any) -> bool:
    """Whether this is an array of a user's class whose results are of that class."""
    kind = type(handle)
    base = Handle.array_type
    return kind is not base and isinstance(handle, base) and bool(handle.inherits)


def twin_of(handle: Any, array: Array) -> Array:
    """The memory of an array of a user's class, as an array of its twin."""
    kind = type(handle)
    twin = _twins.get(kind)
    if twin is None:
        names = {"__array_priority__": kind.__array_priority__, "__module__": kind.__module__}
        twin = _twins[kind] = type(kind.__name__, (Twin,), names)
    return array.view(twin)
