"""NumPy's protocols of classes that were written with atoll: ``__array_ufunc__``, ``__array_function__`` and ``__array__``.

Such a class compares the function in a protocol call with the functions that its module knows: ``ufunc is np.add``, or a table by
functions. But NumPy passes its own functions, and rejects an ``__array__`` that returns an atoll array. So when atoll
first meets a class whose module imported atoll, it wraps the methods: from then on the class receives atoll's functions, and
NumPy receives NumPy arrays. A class that has ``__array__`` and no other protocol may hold atoll arrays without its module
knowing atoll, so its ``__array__`` is wrapped in any case. Atoll meets a subclass of its arrays at its definition, others as
an argument.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import numpy as np

from ..context.caches import Living
from .registry import registry
from .views import Handle

_met: Living[type] = Living()
_only_arrays: Living[type] = Living()
"""Classes with ``__array__`` as the only protocol that NumPy calls."""


def meet(kind: type) -> bool:
    """Wrap the methods of a class; True if ``__array__`` is the only protocol that NumPy calls on its values."""
    if kind in _met:
        return kind in _only_arrays
    only_array = hasattr(kind, "__array__") and not any(hasattr(kind, name) for name in _OWN_WAYS)
    if only_array:
        _only_arrays.add(kind)
    _met.add(kind)
    for owner in kind.__mro__:
        for name, wrap in _WRAPPERS.items():
            method = vars(owner).get(name)
            if isinstance(method, FunctionType) and (
                knows_atoll(method)
                or (name == "__array__" and only_array and not hasattr(method, "_asked"))
            ):
                setattr(owner, name, wrap(method))
    return only_array


_OWN_WAYS = (
    "__array_ufunc__", "__array_function__", "__array_wrap__", "__array_interface__",
    "__array_struct__", "_to_numpy",
)  # fmt: skip


def knows_atoll(method: Any) -> bool:
    """True if a method was written in a module that imported atoll, and not within atoll."""
    package = __name__.partition(".")[0]
    home = getattr(method, "__globals__", {})
    if str(home.get("__name__")).partition(".")[0] == package:
        return False
    return any(value is sys.modules[package] for value in home.values())


def ask(value: Any, *dtype: Any) -> Any:
    """The result of ``value.__array__()``; an atoll array is not converted."""
    method = type(value).__array__
    answer = getattr(method, "_asked", method)(value, *dtype)
    if isinstance(answer, (Handle, np.ndarray)):
        return answer
    raise ValueError("object __array__ method not producing an array")  # NumPy's message


def _translated(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, function: Any, *args: Any, **options: Any) -> Any:
        return method(self, registry.find(function) or function, *args, **options)

    return call


def _for_numpy(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        result = method(self, *args, **options)
        if not isinstance(result, Handle):
            return result
        small = result._np
        return result._cell.export(result._geometry) if small is None else small

    call._asked = method  # type: ignore[attr-defined]
    return call


_WRAPPERS = {
    "__array_ufunc__": _translated,
    "__array_function__": _translated,
    "__array__": _for_numpy,
}
