"""Views that change the shape, under NumPy's names."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from itertools import accumulate, pairwise
from operator import index
from typing import Any

import numpy as np

from ..context.interrupts import passed_on
from ..front import COMPOSED, UNRECORDED, VIEW, Kind
from ..lazy import shapes
from ..lazy.conversion import plain
from ..lazy.fallback import by_numpy, expect
from ..lazy.registry import registry
from ..lazy.result_classes import is_subclass
from .public import array_of, declare, look_like, names, native, publish


def _frozen(value: Any) -> Any:
    """Arguments as hashable values: lists become tuples."""
    value = plain(value)
    if isinstance(value, (list, tuple)):
        return tuple([_frozen(v) for v in value])
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.ndim else value.item()
    return value


def _viewing(original: Any) -> Callable[..., Any]:
    """A function that always returns views: NumPy's own, on the shadow."""
    name, is_public = original.__name__, hasattr(np, original.__name__)

    def function(*args: Any, **options: Any) -> Any:
        if not args:
            try:
                bound = signature(original).bind(**options)
            except TypeError as problem:
                passed_on(problem)
                return by_numpy(original, (), options)  # NumPy's error
            args, options = bound.args, bound.kwargs
        a, *args = args  # type: ignore[assignment]
        handle = array_of(a)
        by_class = not is_public and is_subclass(handle)
        if by_class or handle._np is not None or not handle.ndim:
            # no index may reach an element of a shadow
            return by_numpy(original, (handle, *args), options)
        further, named = _frozen(args), {k: _frozen(v) for k, v in options.items()}
        key = (name, further, tuple(named.items()))
        return shapes.view(handle, key, lambda s: original(s, *further, **named))

    return function


for _name in (
    "expand_dims",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "rollaxis",
    "rot90",
):
    _numpys = getattr(np, _name)
    declare(_viewing(_numpys), _numpys, _name, kind=Kind.VIEWS, keeps="")
for _name, _recording in (("flip", COMPOSED), ("squeeze", UNRECORDED), ("swapaxes", VIEW)):
    _numpys = getattr(np, _name)
    _traits: Any = {"kind": Kind.VIEWS, "recording": _recording, "asks": True, "keeps": ""}
    declare(_viewing(_numpys), _numpys, _name, **_traits)
declare(_viewing(np.broadcast_to), np.broadcast_to, "broadcast_to", short=False, keeps="asked")
sliding_window_view = _viewing(np.lib.stride_tricks.sliding_window_view)
look_like(
    np.lib.stride_tricks.sliding_window_view,
    sliding_window_view,
    "lib.stride_tricks.sliding_window_view",
)
registry.enter(np.lib.stride_tricks.sliding_window_view, sliding_window_view)


@native(kind=Kind.VIEWS, recording=VIEW, asks=True)
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    return shapes.reshape(array_of(a), _frozen(shape), order, copy)


@native(kind=Kind.VIEWS, recording=VIEW)
def ravel(a: Any, order: Any = "C") -> Any:
    return shapes.ravel(array_of(a), order)


@native(kind=Kind.VIEWS, recording=VIEW, asks=True)
def transpose(a: Any, axes: Any = None) -> Any:
    return shapes.transpose(array_of(a), axes)


publish("permute_dims", transpose, "native", np.permute_dims)


@native()
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    return array_of(a).diagonal(offset, axis1, axis2)


@native()
def real(val: Any) -> Any:
    return getattr(val, "real", None) if hasattr(val, "real") else array_of(val).real


@native(keeps="")
def imag(val: Any) -> Any:
    return getattr(val, "imag", None) if hasattr(val, "imag") else array_of(val).imag


def _at_least(ndim: int) -> Any:
    numpy_function = getattr(np, f"atleast_{ndim}d")

    def function(*arys: Any) -> Any:
        arrays = []
        for a in arys:
            handle = array_of(a)
            if handle.ndim < ndim:
                handle = shapes.view(handle, ("atleast", ndim), numpy_function)
            arrays.append(handle)
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    return declare(function, numpy_function, numpy_function.__name__, kind=Kind.VIEWS)


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


@native(short=False, keeps="asked")
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    arrays = [array_of(a) for a in args]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    other = np.broadcast_to(False, shape)
    key = "broadcast", "arrays", shape
    return tuple(
        [
            a
            if a.shape == shape
            else shapes.view(a, key, lambda s: np.broadcast_arrays(s, other)[0])
            for a in arrays
        ]
    )


@native()
def shape(a: Any) -> Any:
    own = getattr(a, "shape", None)
    return np.shape(plain(a)) if own is None else own


@native()
def ndim(a: Any) -> Any:
    own = getattr(a, "ndim", None)
    return np.ndim(plain(a)) if own is None else own


@native()
def size(a: Any, axis: Any = None) -> Any:
    if axis is None and hasattr(a, "size"):
        return a.size
    return np.size(np.broadcast_to(np.empty(()), shape(a)), axis)


@native(keeps="")
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    x = array_of(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    moved = moveaxis(x, axis, 0)
    return tuple([moved[k] for k in range(moved.shape[0])])


moveaxis: Any = names["moveaxis"]


@native(kind=Kind.VIEWS)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    ary = array_of(ary)
    expect(-ary.ndim <= axis < ary.ndim)
    axis = axis % ary.ndim
    total = ary.shape[axis]
    sections = plain(indices_or_sections)
    if np.ndim(sections):
        ends = [0, *[index(k) for k in sections], total]
    else:
        count = int(sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(total, count)
        ends = list(accumulate([0] + extra * [each + 1] + (count - extra) * [each]))
    before = (slice(None),) * axis
    return [ary[(*before, slice(a, b))] for a, b in pairwise(ends)]


@native(kind=Kind.VIEWS)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    ary = array_of(ary)
    sections = plain(indices_or_sections)
    if np.ndim(sections) == 0 and ary.shape[axis] % sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, sections, axis)


def _splitting(name: str, least: int, axis: int) -> None:
    def function(ary: Any, indices_or_sections: Any) -> Any:
        ary = array_of(ary)
        if ary.ndim < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, axis if ary.ndim > 1 else 0)

    declare(function, getattr(np, name), name, kind=Kind.VIEWS)


_splitting("hsplit", 1, 1)
_splitting("vsplit", 2, 0)
_splitting("dsplit", 3, 2)
