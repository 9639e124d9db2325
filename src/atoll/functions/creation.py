"""Creates arrays: empty, constant, from functions of the index, and from other arrays."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from ..array import ndarray
from ..comm.world import current_world
from ..front import COMPOSED, COPY, UNRECORDED, Kind, Recording
from ..layout import Layout
from ..lazy import creation, shapes
from ..lazy.agreement import place_of
from ..lazy.conversion import from_numpy, in_base_class, is_modest, is_small, of_array, plain
from ..lazy.creation import asarray as _asarray
from ..lazy.elementwise import general
from ..lazy.fallback import expect
from ..lazy.views import Handle
from ..ops.elementwise import is_native
from .operands import Operand, accepts
from .public import array_of, collective, declare, is_large, names, native, on_data

_NATIVE_KINDS = "biufc"


def _of_shape(
    name: str, make: Callable[..., Any], recording: Recording = COMPOSED
) -> Callable[..., Any]:
    def function(shape: Any, dtype: Any = None, order: Any = "C", *, layout: Any = None) -> Any:
        shape = shape if type(shape) is int else plain(shape)
        return make(shape, float if dtype is None else dtype, order, layout)

    traits: Any = {"short": False, "creates": True, "device": True}
    return declare(
        function, getattr(np, name), name, kind=Kind.SHAPED, recording=recording, **traits
    )


zeros, empty = _of_shape("zeros", creation.zeros), _of_shape("empty", creation.empty, UNRECORDED)
ones = _of_shape("ones", lambda shape, *given: creation.filled(shape, 1, *given))


@native(recording=COMPOSED, kind=Kind.SHAPED, grows=True, creates=True, device=True)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, layout: Any = None
) -> Any:
    if dtype is None:
        dtype = getattr(fill_value, "dtype", None) or np.array(plain(fill_value)).dtype
    extents = creation.shape_of(plain(shape))
    if (
        (is_small(extents) and layout is None)
        or not np.isscalar(fill_value)
        or np.dtype(dtype).kind not in _NATIVE_KINDS
    ):
        if not is_large(fill_value):
            if layout is None:
                return from_numpy(np.full(extents, plain(fill_value), dtype, order))
            fill_value = np.asarray(plain(fill_value))
            if not fill_value.ndim:
                return creation.filled(extents, fill_value, dtype, order, layout)
        result = creation.empty(extents, dtype, order, layout)
        result[...] = fill_value
        return result
    return creation.filled(extents, fill_value, dtype, order, layout)


def _like_order(a: Any, order: Any, shape: Any) -> Any:
    """Memory order that ``order='K'`` or ``'A'`` means for an array like ``a``."""
    order = "K" if order is None else str(order).upper()
    if order not in "KA":
        return order
    flags = a.flags
    kept = order == "A" or shape is None or len(shape) == a.ndim
    return "F" if kept and flags.f_contiguous and not flags.c_contiguous else "C"


def _shaped_like(
    a: Any, make: Callable[..., Any], value: Any, dtype: Any, order: Any, subok: bool, shape: Any
) -> Any:
    """A new array such as ``a``, made by ``make(shape, *value, dtype=, order=)``."""
    a = array_of(a)
    kind = a.dtype if dtype is None else creation.dtype_of(dtype)
    wanted = a.shape if shape is None else creation.shape_of(plain(shape))
    flags = a.flags
    simple = flags.c_contiguous or flags.f_contiguous or str(order).upper() in ("C", "F")
    if is_native(kind) and simple:
        order = _like_order(a, order, shape)
        if place_of(a) is None or is_small(wanted) or not is_modest(wanted):
            result = make(wanted, *value, dtype=kind, order=order)
        else:
            layout = Layout.default(wanted, current_world().size)
            result = make(wanted, *value, dtype=kind, order=order, layout=layout)
    else:
        template = a._np if a._np is not None else a._geometry.shadow
        array = np.empty_like(template, kind if dtype is None else dtype, order, False, shape)
        if make is zeros:
            array = np.zeros_like(array)
        elif make is ones:
            array = np.ones_like(array)
        elif value:
            np.copyto(array, plain(value[0]), casting="unsafe")
        result = from_numpy(array)
    return shapes.like(a, result) if subok else result


@native(recording=COMPOSED, grows=True, creates=True, device=True)
def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    return _shaped_like(a, zeros, (), dtype, order, subok, shape)


@native(recording=COMPOSED, grows=True, creates=True, device=True)
def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    return _shaped_like(a, ones, (), dtype, order, subok, shape)


@native(grows=True, creates=True, device=True)
def empty_like(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    return _shaped_like(prototype, empty, (), dtype, order, subok, shape)


@native(recording=COMPOSED, grows=True, creates=True, device=True)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
) -> Any:
    return _shaped_like(a, full, (fill_value,), dtype, order, subok, shape)


@native(recording=COMPOSED, kind=Kind.RANGE, short=False, creates=True, device=True)
def arange(*args: Any, dtype: Any = None, **named: Any) -> Any:
    if len(args) == 0 and "stop" not in named and "start" in named:
        numpy_arange: Any = np.arange
        numpy_arange(start=0)  # NumPy's error
    if not 1 <= len(args) + len(named) <= 4:
        theirs: Any = np.arange
        return theirs(*args, dtype=dtype, **named)
    given = dict(zip(("start", "stop", "step", "dtype"), args))
    dtype = given.pop("dtype", dtype)
    result = None
    if not given.keys() & named.keys() and named.keys() <= {"start", "stop", "step"}:
        given.update(named)
        result = creation.arange(given.get("start"), given.get("stop"), given.get("step"), dtype)
    if result is not None:
        return result
    return from_numpy(np.arange(*[plain(a) for a in args[:3]], dtype=dtype, **plain(named)))


@native(creates=True)
def array(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    ndmax: Any = None,
) -> Any:  # fmt: skip
    if type(copy) is not bool and isinstance(copy, (str, np._CopyMode)):
        np.array(np.empty(0), copy=copy)  # type: ignore[arg-type]  # NumPy's error
        copy = None if copy is np._CopyMode.IF_NEEDED else bool(copy)
    if ndmax is not None:  # the depth to which NumPy reads nested sequences
        object = np.array(plain(object), dtype, ndmin=ndmin, ndmax=ndmax)
    if subok:
        result = _in_class(object, dtype, order, copy)
    else:
        result = _asarray(object, dtype, order, copy if copy is None else bool(copy))
    if result.ndim < index(ndmin):
        result = shapes.reshape(result, (1,) * (ndmin - result.ndim) + result.shape)
    return result


@native(creates=True, device=True)
def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None) -> Any:
    return _asarray(a, dtype, order, copy)


@native(creates=True, device=True)
def asanyarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None) -> Any:
    return _in_class(a, dtype, order, copy)


def _in_class(a: Any, dtype: Any, order: Any, copy: Any) -> Any:
    """An array of the class of ``a``; the same array if it has the class already."""
    if not isinstance(a, Handle) or type(a) is ndarray:
        return _asarray(a, dtype, order, copy if copy is None else bool(copy))
    base = in_base_class(a)
    result = _asarray(base, dtype, order, copy)
    return a if result is base else shapes.like(a, result)


def _contiguous(name: str, order: str) -> None:
    def function(a: Any, dtype: Any = None) -> Any:
        result = asarray(a, dtype, order)
        return shapes.reshape(result, (1,)) if result.ndim == 0 else result

    declare(function, getattr(np, name), name, creates=True)


_contiguous("ascontiguousarray", "C")
_contiguous("asfortranarray", "F")


@native(recording=COPY, creates=True)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    result = shapes.copied(array_of(a), order)
    return result if subok else _asarray(result)


@native(recording=COMPOSED, creates=True, device=True, keeps="arrays")
def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    if not isinstance(x, (Handle, np.ndarray, np.generic)):
        raise TypeError(f"Input should be a NumPy array or scalar. It is a {type(x)} instead.")
    return creation.astype(_asarray(x), dtype, copy=copy)


@native(recording=COMPOSED, kind=Kind.SPACED, grows=True, creates=True, device=True, keeps="")
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0,
) -> Any:  # fmt: skip
    start, stop = plain(start), plain(stop)
    division = index(num) - 1 if endpoint else index(num)
    expect(np.isscalar(start) and np.isscalar(stop) and not is_small((index(num),)))
    expect(np.result_type(start, stop, 1.0) == np.float64 and division > 0)
    expect(dtype is None or np.dtype(dtype) == np.float64)
    step = (stop * 1.0 - start * 1.0) / division
    expect(step != 0 and np.isfinite(step))
    places = creation.counted(0.0, 1.0, (index(num),), 0, np.dtype(float))
    result = places * float(step) + float(start)
    if endpoint:
        result[-1] = stop
    return (result, np.float64(step)) if retstep else result


@native(kind=Kind.SPACED, grows=True, creates=True)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None,
    axis: int = 0,
) -> Any:  # fmt: skip
    expect(all(np.isscalar(plain(value)) for value in (start, stop)) and np.isscalar(base))
    result = general(np.power, base, linspace(start, stop, num, endpoint))
    return result if dtype is None else creation.astype(result, dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """An array over the memory of an object that shows it by DLPack."""
    return of_array(np.from_dlpack(x, device=device, copy=copy))


def frombuffer(buffer: Any, *args: Any, **options: Any) -> Any:
    """An array over the memory of a buffer."""
    if isinstance(buffer, Handle):
        buffer = np.asarray(buffer)
    array: Any = np.frombuffer(buffer, *args, **options)
    return of_array(array) if type(array) is np.ndarray else array


for _shown in (from_dlpack, frombuffer):
    declare(_shown, getattr(np, _shown.__name__), _shown.__name__, short=False, creates=True)


@collective(np.vander, creates=True)
@accepts(x=Operand(ndim=1))
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    columns = x.size if N is None else int(N)
    kind = np.promote_types(x.dtype, int)
    expect(columns)
    wide = shapes.broadcast_to(shapes.reshape(x.astype(kind), (-1, 1)), (x.size, columns))
    first = creation.filled((x.size, 1), 1, kind)
    if columns == 1:
        return first
    powers = names["cumprod"](names["concatenate"]((first, wide[:, 1:]), 1), axis=1).astype(kind)
    return powers if increasing else powers[:, ::-1].copy()


@collective(np.asarray_chkfinite, creates=True)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    array = asarray(a, dtype, order)
    if array.dtype.kind in "fc" and not bool(general(np.isfinite, array).all()):
        raise ValueError("array must not contain infs or NaNs")
    return array


@collective(np.require, creates=True, keeps="arrays")
def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    asked = {str(word).upper() for word in requirements or ()}
    expect(asked <= _IN_C_ORDER | _WRITABLE | {"A", "ALIGNED"})
    result = asarray(a, dtype, "C" if asked & _IN_C_ORDER else None)
    return result.copy() if asked & _WRITABLE and not result.flags.writeable else result


_IN_C_ORDER, _WRITABLE = {"C", "C_CONTIGUOUS", "CONTIGUOUS"}, {"W", "WRITEABLE"}


on_data("fromiter", "fromregex", "fromstring", "kaiser", creates=True)
on_data("bartlett", "blackman", "hamming", "hanning", kind=Kind.SHAPED, creates=True)
on_data("geomspace", kind=Kind.SPACED, creates=True)
