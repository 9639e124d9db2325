"""Arrays as arguments of functions that Numba compiles, which receive ``numpy.asarray(a)``, a read-only array."""

from __future__ import annotations

import sys
import warnings
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

import numpy as np


def register(array_type: type) -> None:
    """Register the class of arrays with Numba: at once if Numba is imported, else when the program imports it."""
    if "numba" in sys.modules:
        _declare(array_type)
    else:
        sys.meta_path.insert(0, _ImportOfNumba(array_type))


class _ImportOfNumba:
    """Finder in ``sys.meta_path`` that waits for the import of Numba, and registers the class of arrays after it."""

    def __init__(self, array_type: type) -> None:
        self._array_type = array_type

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """The specification of Numba; ``None`` for any other module."""
        if name != "numba":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                try:
                    _declare(self._array_type)
                except Exception as error:
                    warnings.warn(
                        f"this version of Numba does not take atoll arrays ({type(error).__name__}: {error}); give its "
                        "functions numpy.asarray(a)",
                        RuntimeWarning,
                        stacklevel=2,
                    )

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _declare(array_type: type) -> None:
    from numba.core import boxing, cgutils, types
    from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

    class ArrayArgument(types.Array):  # type: ignore[misc]
        """Numba's type of an atoll array, which compiled functions see as a NumPy array."""

    register_model(ArrayArgument)(models.ArrayModel)

    @typeof_impl.register(array_type)  # type: ignore[untyped-decorator]
    def type_of(array: Any, context: Any) -> Any:
        kind = typeof_impl(np.asarray(array), context)
        return ArrayArgument(
            kind.dtype, kind.ndim, kind.layout, not kind.mutable, aligned=kind.aligned
        )

    @unbox(ArrayArgument)  # type: ignore[untyped-decorator]
    def native(kind: Any, array: Any, c: Any) -> Any:
        asarray = c.pyapi.unserialize(c.pyapi.serialize_object(np.asarray))
        plain = c.pyapi.call_function_objargs(asarray, (array,))
        c.pyapi.decref(asarray)
        value = cgutils.alloca_once(c.builder, c.context.get_value_type(kind), zfill=True)
        failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)
        with cgutils.if_likely(c.builder, cgutils.is_not_null(c.builder, plain)):
            read = boxing.unbox_array(kind, plain, c)
            c.builder.store(read.value, value)
            c.builder.store(read.is_error, failed)
            c.pyapi.decref(plain)
        return NativeValue(c.builder.load(value), is_error=c.builder.load(failed))
