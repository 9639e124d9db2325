"""Public NumPy names without a declaration of their own.

Functions run on the data, with a warning that atoll has no kernels for them. Classes, constants
and modules are NumPy's own: they access arrays by the array protocols.
"""

from __future__ import annotations

import types
from abc import ABCMeta
from importlib import import_module
from typing import Any

import numpy as np

from ..array import ndarray
from ..files import npy, npz, raw, text
from ..lazy import protocols
from ..lazy.export import in_one_place
from ..lazy.registry import registry
from ..lazy.views import Handle
from .namespaces import Namespace, attribute, nothing_of_its_own
from .public import kinds, look_like, names, numpy_function, on_data, publish

_TRIVIAL = (
    "array2string", "array_repr", "array_str", "busday_count", "busday_offset", "is_busday", "datetime_as_string",
    "datetime_data", "format_float_positional", "format_float_scientific", "info", "nested_iters",
    "poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "roots", "bmat", "asmatrix",
    "in1d", "trapz",  # of NumPy before 2.4
)  # fmt: skip
"""Functions of small arrays only, or with other dominant costs: no warning is due."""

_UNTOUCHED = ("printoptions", "get_printoptions", "set_printoptions", "geterr", "geterrcall", "getbufsize",
    "setbufsize", "isdtype", "issubdtype", "promote_types", "get_include", "show_config", "show_runtime",
    "typename", "broadcast_shapes", "iterable", "base_repr", "binary_repr")  # fmt: skip
"""Functions without array arguments: NumPy's own objects."""


def _is_function(value: Any) -> bool:
    return (
        callable(value)
        and not isinstance(value, (type, types.ModuleType))
        and type(value).__name__ != "PytestTester"
    )


def _calling() -> dict[str, Any]:
    """Functions that call a function argument, with unconverted arguments."""
    module = import_module("numpy.testing")
    callers = (
        "assert_raises",
        "assert_raises_regex",
        "assert_warns",
        "assert_no_warnings",
        "measure",
    )
    return {name: getattr(module, name) for name in callers}


def _annotations() -> dict[str, Any]:
    """The names of ``numpy.typing``; an array in an annotation is an atoll array."""
    module: Any = import_module("numpy.typing")
    return {
        "ArrayLike": module.ArrayLike,
        "DTypeLike": module.DTypeLike,
        "NDArray": types.GenericAlias(
            ndarray, getattr(module.NDArray, "__value__", module.NDArray).__args__
        ),
    }


def _for_ctypes() -> dict[str, Any]:
    """``numpy.ctypeslib``, with functions that also take the memory of atoll arrays."""
    module: Any = import_module("numpy.ctypeslib")

    def ndpointer(dtype: Any = None, ndim: Any = None, shape: Any = None, flags: Any = None) -> Any:
        checked = module.ndpointer(dtype, ndim, shape, flags)
        kind = _pointers.get(checked)
        if kind is None:

            def from_param(cls: Any, array: Any) -> Any:
                return checked.from_param(
                    in_one_place(array) if isinstance(array, Handle) else array
                )

            members = {"from_param": classmethod(from_param)}
            kind = _pointers[checked] = type(checked.__name__, (checked,), members)
        return kind

    def as_ctypes(obj: Any) -> Any:
        return module.as_ctypes(in_one_place(obj) if isinstance(obj, Handle) else obj)

    own = {name: getattr(module, name) for name in module.__all__}
    for function in (ndpointer, as_ctypes):
        name = function.__name__
        look_like(own[name], function, f"ctypeslib.{name}")
        own[name] = function
    return own


def _format() -> dict[str, Any]:
    """The functions of ``numpy.lib.format`` that write and read arrays."""
    registry.created.add("lib.format.open_memmap")
    return {"write_array": npy.write_array, "open_memmap": npy.open_memmap}


def _mixins() -> dict[str, Any]:
    """NumPy's operator mixin for a class with ``__array_ufunc__``, wrapped so that the class receives atoll's ufuncs."""

    class NDArrayOperatorsMixin(np.lib.mixins.NDArrayOperatorsMixin):
        __slots__ = ()
        __doc__ = np.lib.mixins.NDArrayOperatorsMixin.__doc__

        def __init_subclass__(cls, **options: Any) -> None:
            super().__init_subclass__(**options)
            protocols.meet(cls)

    return {"NDArrayOperatorsMixin": NDArrayOperatorsMixin}


_WRITING = frozenset({"readwrite", "writeonly"})


class nditer(metaclass=ABCMeta):  # noqa: B024  # so that NumPy's iterators are instances
    """NumPy's iterator, with the memory of the arrays that it writes to."""

    def __new__(
        cls, op: Any, flags: Any = None, op_flags: Any = None, *args: Any, **options: Any
    ) -> Any:
        """Make a NumPy iterator, whose class cannot be subclassed."""
        if op_flags is not None:
            several = isinstance(op, (tuple, list))
            operands = list(op) if several else [op]
            flat = all(isinstance(flag, str) for flag in op_flags)
            for k, told in enumerate([op_flags] * len(operands) if flat else op_flags):
                if isinstance(operands[k], Handle) and not _WRITING.isdisjoint(told):
                    operands[k] = in_one_place(operands[k])
            op = operands if several else operands[0]
        return np.nditer(op, flags, op_flags, *args, **options)


nditer.register(np.nditer)
nditer.__module__, nditer.__doc__ = "atoll", np.nditer.__doc__

_pointers: dict[type, type] = {}
"""Argument types of C functions, by the NumPy types that check the arrays."""


def publish_the_rest() -> None:
    """Publish every NumPy name that is not declared yet."""
    publish("ndarray", ndarray, "native")
    publish("typing", Namespace("typing", _annotations), "data")
    publish("nditer", nditer, "data")
    for name in ("char", "strings", "rec", "lib", "emath"):
        publish(name, Namespace(name, nothing_of_its_own), "data")
    Namespace("lib.mixins", _mixins)
    for name in ("lib.stride_tricks", "lib.scimath", "lib.array_utils"):
        Namespace(name, nothing_of_its_own)
    Namespace("lib.format", _format)
    publish("save", npy.save, "data", np.save)
    publish("load", npz.load, "data", np.load, creates=True)
    publish("savez", npz.savez, "data", np.savez)
    publish("savez_compressed", npz.savez_compressed, "data", np.savez_compressed)
    publish("savetxt", text.savetxt, "data", np.savetxt)
    publish("loadtxt", text.loadtxt, "data", np.loadtxt, creates=True)
    publish("genfromtxt", text.genfromtxt, "data", np.genfromtxt, creates=True)
    publish("fromfile", raw.fromfile, "data", np.fromfile, creates=True)
    publish("testing", Namespace("testing", _calling), "data")
    publish("ctypeslib", Namespace("ctypeslib", _for_ctypes), "data")
    for name in _UNTOUCHED:
        publish(name, getattr(np, name), "same")
    on_data(*_TRIVIAL)
    for name in dir(np):
        if name.startswith("_") or name in names:
            continue
        if name not in np.__dict__:
            registry.kinds[name] = "same"
            continue
        original = getattr(np, name)
        if _is_function(original):
            publish(name, numpy_function(original, name, warns=True), "numpy", original)
        else:
            publish(name, original, "same")


_SPECIAL = {"__config__", "__array_api_version__", "__array_namespace_info__"}


def late(name: str) -> Any:
    """A NumPy module that is imported at first access."""
    private = name.startswith("__") and name not in _SPECIAL
    if private and kinds.get(name) != "same":
        raise AttributeError(f"module 'atoll' has no attribute {name!r}")
    return attribute(np, name, "atoll")


publish_the_rest()


def coverage() -> dict[str, str]:
    """Return the implementation of each public name of NumPy.

    ``native``: compiled loops; ``data``: NumPy on the array's memory, or all ranks together; ``numpy``: NumPy with a
    warning; ``same``: NumPy's own object; ``missing``.
    """
    return {
        name: kinds.get(name, "missing") for name in sorted(dir(np)) if not name.startswith("_")
    }
