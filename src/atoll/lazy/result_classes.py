"""Arrays of users' classes: the results of functions that keep the class.

In one process NumPy itself decides that, in a hundred places of its own, on the memory of the array. So if NumPy runs
a function on the data of an array of a user's subclass, it gets the memory as an array of a *twin*: an empty subclass
of NumPy's array with the same priority. Results of the twin's class become arrays of the user's class again, and
``__array_finalize__`` receives their source; other results have lost the class in NumPy as well.

On ranks there is no such memory. So a function declares the results that keep the class of the first argument that has one:
``"arrays"``; ``"numbers"``, which become arrays without axes, as well; ``"weighted"``, numbers only if ``weights`` are
given, and the first of two results; with ``"asked"`` all lose it unless ``subok`` is set, and with ``""`` results are
unchanged. ``tests/functions/test_classes_of_users.py`` compares them with NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .conversion import in_base_class, in_class, of_small
from .views import Handle

Array = np.ndarray[Any, Any]


class Twin(np.ndarray[Any, Any]):
    """The base of all twins."""


_TWIN = "_atoll_twin"
"""The attribute of a user's class that has its twin."""


def is_subclass(handle: Any) -> bool:
    """True if ``handle`` is an array of a user's class that its results keep."""
    kind = type(handle)
    base = Handle.array_type
    return kind is not base and isinstance(handle, Handle) and bool(handle.inherits)


def twin_of(handle: Any, array: Array) -> Array:
    """The memory of an array of a user's class, as an array of its twin."""
    kind = type(handle)
    twin = vars(kind).get(_TWIN)
    if twin is None:
        names = {"__array_priority__": kind.__array_priority__, "__module__": kind.__module__}
        twin = type(kind.__name__, (Twin,), names)
        setattr(kind, _TWIN, twin)
    return array.view(twin)


def class_giver(values: Iterable[Any]) -> Any:
    """The first array of a user's class, or ``None``."""
    for value in values:
        if type(value) in (list, tuple):
            giver = class_giver(value)
            if giver is not None:
                return giver
        elif is_subclass(value):
            return value
    return None


def in_class_of(giver: Any, keeps: str | None, options: dict[str, Any], result: Any) -> Any:
    """The result of a function of an array of a user's class, in the same classes as in NumPy."""
    if keeps == "asked":
        return result if options.get("subok") else _each(_plain, result)
    if not keeps:
        return result
    numbers = keeps == "numbers" or (keeps == "weighted" and options.get("weights") is not None)
    if keeps == "weighted" and isinstance(result, tuple):
        return (_kept(giver, result[0], numbers), result[1])
    return _each(lambda part: _kept(giver, part, numbers), result)


def _each(change: Callable[[Any], Any], result: Any) -> Any:
    """A change of a result, or of each in a tuple or a list of them."""
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(change, result))
    if isinstance(result, (tuple, list)):
        return type(result)(map(change, result))
    return change(result)


def _kept(giver: Any, part: Any, numbers: bool) -> Any:
    if isinstance(part, np.generic):
        return in_class(type(giver), of_small(np.asarray(part)), giver) if numbers else part
    if type(part) is not Handle.array_type:
        return part
    return in_class(type(giver), part, giver)


def _plain(part: Any) -> Any:
    if not is_subclass(part):
        return part
    bare = in_base_class(part)
    return bare if part.shape else bare[()]
