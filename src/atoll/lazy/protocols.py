"""NumPy's protocols of classes that were written with atoll: ``__array_ufunc__``, ``__array_function__`` and ``__array__``.

Such a class compares the function that it is asked by with those that its module knows: ``ufunc is np.add``, or a table by
functions. But NumPy asks by its own, and refuses an ``__array__`` that answers with an array of ours. So when atoll
first meets a class whose module imported atoll, its methods are wrapped: from then on it hears of atoll's functions, and
NumPy gets its own arrays. Atoll meets a subclass of its arrays as it is made, others as an argument.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

from ..context.caches import Living
from .registry import registry
from .views import Handle

_met: Living[type] = Living()


def meet(kind: type) -> None:
    """Wrap the methods of a class, if its module imported atoll."""
    if kind in _met:
        return
    _met.add(kind)
    for owner in kind.__mro__:
        for name, wrap in _WRAPPERS.items():
            method = vars(owner).get(name)
            if isinstance(method, FunctionType) and _has_atoll(method):
                setattr(owner, name, wrap(method))


def _has_atoll(method: FunctionType) -> bool:
    """Whether a method was written in a module that imported atoll, and not within atoll."""
    package = __name__.partition(".")[0]
    home = method.__globals__
    if str(home.get("__name__")).partition(".")[0] == package:
        return False
    return any(value is sys.modules[package] for value in home.values())


def _translated(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, function: Any, *args: Any, **options: Any) -> Any:
        return method(self, registry.find(function) or function, *args, **options)

    return call


def _for_numpy(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        result = method(self, *args, **options)
        return result._array() if isinstance(result, Handle) else result

    return call


_WRAPPERS = {
    "__array_ufunc__": _translated,
    "__array_function__": _translated,
    "__array__": _for_numpy,
}
