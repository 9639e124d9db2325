"""Users' subclasses of ``ndarray``: results in their class, with ``__array_finalize__``.

The base class pays nothing for this. When a subclass is made, each method that returns arrays
is wrapped for it, unless the subclass has its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from ..ops.folds import FOLDS
from ..ops.ufuncs import BINARY, COMPARISONS, UNARY
from . import protocols, shapes
from .conversion import in_base_class, in_class
from .export import memory
from .reductions import NOTHING
from .ufunc_calls import in_class_of_call
from .views import Handle

_VIEWING = ("__getitem__", "copy", "flatten")
_METHODS: Any = import_module("numpy._core._methods")
"""The functions of Python that NumPy's methods call."""


def prepare(kind: type, base: type) -> None:
    """Wrap the methods of a new subclass that make results."""
    protocols.meet(kind)
    overridden = kind.__array_ufunc__ is not base.__array_ufunc__  # type: ignore[attr-defined]
    wraps = kind.__array_wrap__ is not base.__array_wrap__  # type: ignore[attr-defined]
    for name in _VIEWING:
        if getattr(kind, name) is getattr(base, name):
            setattr(kind, name, _viewing(getattr(base, name)))
    for name, ufunc in (BINARY | COMPARISONS | UNARY).items():
        for prefix in ("", "r", "i"):
            method = f"__{prefix}{name}__"
            inherited = getattr(base, method, None)
            if inherited is None or getattr(kind, method) is not inherited:
                continue
            if overridden:
                setattr(kind, method, _asking(ufunc, prefix))
            elif prefix != "i" or wraps:
                setattr(kind, method, _wrapping(inherited, ufunc, prefix))
    if overridden:
        for name in ("clip", *filter(None, [fold.method for fold in FOLDS.values()])):
            if getattr(kind, name) is getattr(base, name):
                setattr(kind, name, _calling(name))


def _viewing(inherited: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(inherited)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        result = inherited(self, *args, **options)
        if not isinstance(result, Handle) or type(result) is type(self):
            return result
        return shapes.like(self, result)

    return call


def _wrapping(inherited: Callable[..., Any], ufunc: np.ufunc, prefix: str) -> Callable[..., Any]:
    @wraps(inherited)
    def call(self: Any, *args: Any) -> Any:
        result = inherited(self if prefix == "i" else in_base_class(self), *args)
        if result is NotImplemented:
            return result
        inputs = (*args, self) if prefix == "r" else (self, *args)
        return in_class_of_call(ufunc, inputs, (self,) if prefix == "i" else (), result)

    return call


def _asking(ufunc: np.ufunc, prefix: str) -> Callable[..., Any]:
    """An operator that asks the subclass's own ``__array_ufunc__``."""

    def call(self: Any, *others: Any) -> Any:
        if prefix == "r":
            return ufunc(*others, self)
        if prefix == "i":
            return ufunc(self, *others, out=(self,))
        return ufunc(self, *others)

    return call


def _calling(name: str) -> Callable[..., Any]:
    """A method that calls the subclass's own ``__array_ufunc__``, as NumPy's does."""
    inner = getattr(_METHODS, f"_{name}", None) or getattr(_METHODS, f"_a{name}")
    return wraps(getattr(np.ndarray, name))(inner)


def viewed(handle: Any, dtype: Any, kind: Any) -> Any:
    """``a.view(dtype, type)``, where the first argument may be the class."""
    if isinstance(dtype, type) and issubclass(dtype, (Handle, np.ndarray)):
        dtype, kind = NOTHING, dtype
    if kind is not None and not (isinstance(kind, type) and issubclass(kind, (Handle, np.ndarray))):
        raise ValueError("Type must be a sub-type of ndarray type")
    result = handle
    if handle._np is None:
        handle._cell.viewed_from(handle)
    if dtype is not NOTHING and dtype is not None:
        result = shapes.of_dtype(handle, dtype)
    kind = type(handle) if kind is None else kind
    if kind not in (Handle.array_type, np.ndarray):
        numpys = issubclass(kind, np.ndarray)
        return memory(handle).view(kind) if numpys else in_class(kind, result, handle)
    bare = in_base_class(result)
    if bare._np is not None:
        bare._np = bare._np.view()
    return bare
