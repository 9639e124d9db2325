"""The array: a handle on a value, with NumPy's operators, indexing and methods, and no mathematics.

:mod:`.lazy` implements everything; this file gives the names. A method without an implementation
there is NumPy's, run on the data.
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Iterator
from operator import getitem
from types import FunctionType, GenericAlias
from typing import Any

import numpy as np

from .errors import DeferredValueError
from .files import raw, writers
from .front import COMPOSED, COPY, VIEW, Kind, adopt, attribute, method
from .graph.node import Site
from .lazy import (
    creation,
    deferred,
    export,
    indexing,
    recorder,
    reductions,
    selections,
    shapes,
    subclasses,
)
from .lazy.agreement import place_of
from .lazy.conversion import from_numpy, has_methods, of_array
from .lazy.elementwise import general
from .lazy.export import text_of
from .lazy.fallback import by_numpy
from .lazy.flags import Flags
from .lazy.flat import flatiter
from .lazy.layouts import Distributed
from .lazy.operators import Operators, in_place
from .lazy.reductions import NOTHING
from .lazy.registry import registry
from .lazy.ufunc_calls import call
from .lazy.views import Handle, is_deferred, register_array_type


class ndarray(Operators, Distributed, metaclass=ABCMeta):
    """An array whose value is computed when the program needs it.

    NumPy arrays, which libraries return to a program, count as instances of this class, but only for ``isinstance`` and ``issubclass``.
    """

    __slots__ = ()

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        buffer: Any = None,
        offset: int = 0,
        strides: Any = None,
        order: Any = None,
    ) -> Any:
        sized = creation.dtype_of(dtype).itemsize > 0  # functions give strings a length
        if sized and buffer is None and strides is None and not offset:
            array = creation.empty(shape, dtype, "C" if order is None else order)
        else:
            if isinstance(buffer, Handle):
                buffer = export.memory(buffer)
            array = of_array(np.ndarray(shape, dtype, buffer, offset, strides, order))
        return array if cls is ndarray else shapes.in_class(cls, array, None)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        subclasses.prepare(cls, ndarray)

    def __array_finalize__(self, parent: Any) -> None:
        """Called on every new array of a subclass, with the array it comes from."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if type(array) is type(self) is not ndarray:
            return array
        result = creation.asarray(array)
        if return_scalar and type(self) is ndarray and not result.shape:
            return result[()]
        return result if type(self) is ndarray else shapes.in_class(type(self), result, self)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if type(args) is not tuple or type(kwargs) is not dict:
            return np.empty(0).__array_function__(func, types, args, kwargs)  # NumPy's error
        ours = registry.find(func)
        if ours is not None:
            return ours(*args, **kwargs)
        if not all(issubclass(kind, (Handle, np.ndarray)) for kind in types):
            return NotImplemented
        name = getattr(func, "__name__", "")
        # NumPy's submodules, such as numpy.fft, work on the data by design
        missing = f"numpy.{name}" if getattr(func, "__module__", "") == "numpy" else ""
        return by_numpy(func, args, kwargs, name=missing)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version is not None:
            numpys: Any = np.empty(0)
            numpys.__array_namespace__(api_version=api_version)  # NumPy's error
        return sys.modules[__package__]

    # -- what it is

    @attribute
    def shape(self) -> tuple[int, ...]:
        """The length of each axis; assigning reshapes in place."""
        return self._geometry.shape if self._np is None else self._np.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        shapes.set_shape(self, shape)

    @attribute
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements; assigning reinterprets the memory."""
        return self._geometry.dtype if self._np is None else self._np.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        shapes.set_dtype(self, dtype)

    @attribute
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, by axis. Assigning to it changes the view, as in NumPy."""
        return shapes.strides_of(self)

    @strides.setter
    def strides(self, strides: Any) -> None:
        shapes.set_strides(self, strides)

    @attribute
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @attribute
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Flags:
        """Properties of the memory, under NumPy's names."""
        return Flags(self)

    @property
    def base(self) -> Any:
        """The array that this is a view of."""
        return shapes.base_of(self)

    @property
    def data(self) -> Any:
        """The memory itself."""
        return export.memory(self).data

    @property
    def ctypes(self) -> Any:
        """NumPy's ctypes view of the memory, which keeps its address from then on."""
        return export.ctypes_of(self)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        if write is not None:
            flags: Any = self.flags
            flags.writeable = write

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __sizeof__(self) -> int:
        own = self.nbytes if self.flags.owndata else 0
        return object.__sizeof__(self) + 2 * np.dtype(np.intp).itemsize * self.ndim + own

    # -- looking

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return export.shown(self, dtype, copy)

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """The result of ``numpy.asarray``, under the name that libraries for plots and tables call."""
        return export.shown(self, None, None)

    def __repr__(self) -> str:
        if is_deferred(self):
            return deferred.text_of(self)
        if type(self) is ndarray:
            return text_of(self, repr)
        named = type(
            type(self).__name__, (np.ndarray,), {}
        )  # NumPy writes the name, and indents the lines below it
        return text_of(self, lambda values: repr(values.view(named)))

    def __str__(self) -> str:
        return deferred.text_of(self) if is_deferred(self) else text_of(self, str)

    def _repr_html_(self) -> str:
        from .lazy import display

        return display.html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        from .lazy import display

        return display.bundle(self, include, exclude)

    def __format__(self, spec: str) -> str:
        array = self._array()
        return format(array[()] if array.ndim == 0 else array, spec)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self.shape[0]))

    def __contains__(self, item: Any) -> bool:
        return bool(creation.asarray(self == item).any())

    def __buffer__(self, flags: int) -> memoryview:
        """The memory itself; Python asks for it from 3.12 on."""
        return export.buffer(self, flags)

    def __bytes__(self) -> bytes:
        return self._array().tobytes()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return export.interface(self)

    def __dlpack__(self, **options: Any) -> Any:
        return export.dlpack(self, options)

    def __dlpack_device__(self) -> Any:
        return (1, 0)

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Any:
        if self.dtype.hasobject:
            return shapes.like(self, from_numpy(self._array().__deepcopy__(memo)))
        return self.copy("K")

    def __reduce__(self) -> Any:
        return _unpickled, (type(self), self._array(), getattr(self, "__dict__", None))

    def dumps(self) -> bytes:
        import pickle

        return pickle.dumps(self)

    dump = writers.dump
    tofile = raw.tofile

    # -- deferred values

    def tagged(self, tags: Any) -> Any:
        """The same value with tags on it, which ``atoll.dataflow`` reads."""
        return deferred.tagged(self, tags)

    # -- indexing

    def __getitem__(self, key: Any) -> Any:
        try:
            return indexing.get(self, key)
        except DeferredValueError:
            return by_numpy(getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            indexing.put(self, key, value)
        except DeferredValueError as error:
            error.__traceback__ = None  # its frames refer to the memory
            deferred.put(self, key, value)

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    # -- views

    @attribute
    def T(self) -> Any:
        """The transpose."""
        return shapes.view(self, "T", lambda s: s.T)

    @attribute
    def mT(self) -> Any:
        """The last two axes swapped."""
        return shapes.view(self, "mT", lambda s: s.mT)

    @property
    def real(self) -> Any:
        """The real parts."""
        return shapes.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        shapes.real(self)[...] = creation.asarray(value)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return shapes.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind not in "cO":
            raise TypeError("array does not have imaginary part to set")
        shapes.imag(self)[...] = creation.asarray(value)

    @property
    def flat(self) -> flatiter:
        """The elements in C order."""
        if self.ndim > 32:
            _ = np.broadcast_to(False, self.shape).flat  # NumPy's error
        return flatiter(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        flatiter(self)[:] = value

    @method(Kind.VIEWS, VIEW)
    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
        return shapes.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy)

    @method(Kind.VIEWS, VIEW)
    def transpose(self, *axes: Any) -> Any:
        if len(axes) == 1 and axes[0] is None:
            axes = ()
        elif len(axes) == 1 and hasattr(axes[0], "__len__"):
            axes = tuple(axes[0])
        return shapes.transpose(self, axes or None)

    @method(Kind.VIEWS, VIEW)
    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        return shapes.view(self, ("swap", axis1, axis2), lambda s: s.swapaxes(axis1, axis2))

    @method(Kind.VIEWS)
    def squeeze(self, axis: Any = None) -> Any:
        if type(axis) is list:
            axis = tuple(axis)
        return shapes.view(self, ("squeeze", axis), lambda s: s.squeeze(axis))

    @method()
    def diagonal(self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
        key = ("diagonal", offset, axis1, axis2)
        return shapes.view(self, key, lambda s: s.diagonal(offset, axis1, axis2))

    @method(Kind.VIEWS, VIEW)
    def ravel(self, order: Any = "C") -> Any:
        return shapes.ravel(self, order)

    def view(self, dtype: Any = NOTHING, type: Any = None) -> Any:
        return subclasses.viewed(self, dtype, type)

    # -- copies

    @method()
    def flatten(self, order: Any = "C") -> Any:
        return shapes.flatten(self, order)

    @method(Kind.ARRAYS, COPY)
    def copy(self, order: Any = "C") -> Any:
        return shapes.copied(self, order)

    @method(Kind.ARRAYS, COMPOSED)
    def astype(
        self,
        dtype: Any,
        order: Any = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        result = creation.astype(self, dtype, order, casting, copy=copy)
        return shapes.like(self, result) if subok else creation.asarray(result)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        if stream is not None or device != "cpu":
            self._array().to_device(device, stream=stream)
        return self

    def byteswap(self, inplace: bool = False) -> Any:
        if inplace and place_of(self) is None:
            return by_numpy(np.ndarray.byteswap, (self, True), {}, writes=(0,))
        swapped: Any = registry.find(np.ndarray.byteswap)
        return shapes.like(self, swapped(self, inplace))

    @method(Kind.WRITES)
    def fill(self, value: Any) -> None:
        if self._np is not None or type(value) in (list, tuple) or has_methods(type(value)):
            by_numpy(np.ndarray.fill, (self, value), {}, writes=(0,))
        else:
            indexing.put(self, ..., value)

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        selections.resize(self, shape, refcheck)

    # -- arithmetic

    @method()
    def conj(self, out: Any = None, /) -> Any:
        kind = self.dtype.kind
        if kind not in "biufcO":
            raise TypeError("cannot conjugate non-numeric dtype")
        if out is not None:
            return call(np.conjugate, (self,), {"out": out})
        return self if kind in "biuf" else general(np.conjugate, self)

    conjugate = conj

    @method(Kind.ARRAYS, COMPOSED)
    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        return selections.rounded(self, decimals, out)

    @method(Kind.ARRAYS, COMPOSED)
    def clip(self, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
        return selections.clip(self, min, max, out, options)

    @method(Kind.LARGE, reductions.PRODUCT)
    def dot(self, b: Any, out: Any = None) -> Any:
        return registry.names["dot"](self, b, out)

    def __imatmul__(self, other: Any) -> Any:
        if has_methods(type(other)):
            return by_numpy(np.ndarray.__imatmul__, (self, other), {}, writes=(0,))
        if self.ndim < 1 or getattr(other, "ndim", 2) < 2:
            np.empty(1).__imatmul__(np.empty(1))  # NumPy's error
        return in_place(np.matmul, self, other)

    def __dir__(self) -> list[str]:
        return sorted(name for name in object.__dir__(self) if name not in _NOT_PUBLIC)

    def __class_getitem__(cls, item: Any) -> Any:
        count = len(item) if type(item) is tuple else 1
        if not 1 <= count <= 2:
            raise TypeError(f"Too {'many' if count else 'few'} arguments for {cls.__name__}")
        return GenericAlias(cls, item)


def enter_method(original: Any, function: Any) -> None:
    """Add the replacement of a NumPy method to the class, unless it defines the method itself."""
    name = original.__name__
    if original is getattr(np.ndarray, name, None) and not hasattr(ndarray, name):
        function.__qualname__ = f"ndarray.{name}"
        setattr(ndarray, name, function)


def _add_methods() -> None:
    for name, reduction in reductions.METHODS.items():
        setattr(ndarray, name, reduction)
    for name in dir(np.ndarray):
        own, numpys = getattr(ndarray, name, None), getattr(np.ndarray, name)
        if not isinstance(own, FunctionType):
            continue
        if not name.startswith("__") and not own.__doc__:
            own.__doc__ = numpys.__doc__
        if getattr(numpys, "__text_signature__", None):  # from NumPy 2.4 on
            own.__wrapped__ = numpys  # type: ignore[attr-defined]


def _unpickled(kind: type, array: np.ndarray[Any, Any], state: dict[str, Any] | None) -> Any:
    handle = from_numpy(array)
    if kind is not ndarray:
        handle = shapes.in_class(kind, handle, None)
    if state:
        handle.__dict__.update(state)
    return handle


ndarray.__hash__ = None  # type: ignore[assignment]
register_array_type(ndarray)
_add_methods()
recorder.install(ndarray, flatiter)
adopt(ndarray, np.ndarray)
ndarray.register(np.ndarray)

OWN = (
    "access", "exchange_halos", "layout", "local", "local_padded", "owns", "redistribute", "tagged", "to_numpy", "world",
    "__distarray__", "__partitioned__",
)  # fmt: skip
"""The public attributes that NumPy's arrays do not have."""

_NOT_PUBLIC = frozenset(dir(ndarray)).difference(
    dir(np.ndarray), dir(object), OWN, ("__module__", "__buffer__", "__bytes__")
)

__all__ = ["Site", "ndarray"]
