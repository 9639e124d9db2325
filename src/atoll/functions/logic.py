"""Comparisons of whole arrays, and queries of dtypes and memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..context.interrupts import passed_on
from ..lazy import creation
from ..lazy.agreement import place_of
from ..lazy.conversion import plain
from ..lazy.creation import asarray
from ..lazy.elementwise import general
from ..lazy.fallback import by_numpy, expect
from ..lazy.float_errors import free
from ..lazy.views import Handle
from .operands import DEFAULT, Operands, Recorded, accepts
from .public import array_of, declare, is_large, look_like, native, on_data, publish

_DOUBLE = np.dtype(np.float64)


@native(keeps="arrays")
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    numbers = (int, float, complex)
    given = [v if isinstance(v, numbers) else array_of(v) for v in (a, b, rtol, atol)]
    expect(all(getattr(v, "dtype", _DOUBLE).kind in "fciub" for v in given))
    expect(any(map(is_large, given)) and free())
    x, y, rtol, atol = given
    if not isinstance(y, numbers):
        y = y.astype(np.result_type(y.dtype, 1.0), copy=False)
    elif isinstance(y, int):
        y = float(y)
    # by operators, so that Python's numbers stay weak
    near = abs(x - y) <= atol + rtol * abs(y)
    result = near & general(np.isfinite, y) | (x == y)
    if equal_nan:
        result |= general(np.isnan, x) & general(np.isnan, y)
    return result


@native()
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    result = isclose(a, b, rtol, atol, equal_nan)
    return bool(result.all())


def _pair(a1: Any, a2: Any) -> list[Any]:
    """Both values as arrays, or an empty list if one cannot be converted."""
    expect(is_large(a1) or is_large(a2))
    try:
        arrays = [asarray(a1), asarray(a2)]
    except Exception as problem:  # of a method of the program's: NumPy calls them unequal
        passed_on(problem)
        return []
    return Operands().accept(arrays)


@native()
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    arrays = _pair(a1, a2)
    if not arrays:
        return False
    x, y = arrays
    if x.shape != y.shape:
        return False
    same = x == y
    if equal_nan:
        same = same | ((x != x) & (y != y))
    return bool(same.all())


@native()
def array_equiv(a1: Any, a2: Any) -> Any:
    arrays = _pair(a1, a2)
    if not arrays:
        return False
    try:
        np.broadcast_shapes(arrays[0].shape, arrays[1].shape)
    except ValueError as problem:
        passed_on(problem)
        return False
    return bool((arrays[0] == arrays[1]).all())


def _dtyped(value: Any) -> Any:
    """An object of the same dtype, for queries of the dtype."""
    if isinstance(value, Handle):
        return value.dtype if value.ndim else np.empty((), value.dtype)  # type: ignore[attr-defined]
    return plain(value)


@native()
def result_type(*arrays_and_dtypes: Any) -> Any:
    return np.result_type(*[_dtyped(a) for a in arrays_and_dtypes])


@native()
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_dtyped(from_), to, casting)


@native()
def iscomplexobj(x: Any) -> bool:
    return bool(x.dtype.kind == "c") if isinstance(x, Handle) else np.iscomplexobj(plain(x))  # type: ignore[attr-defined]


@native()
def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)


def _sharing(exact: bool) -> Any:
    compare = np.shares_memory if exact else np.may_share_memory

    def function(*args: Any, **options: Any) -> Any:
        if len(args) > 1 and all(map(is_large, args[:2])):
            a, b, *rest = args
            if a._cell is b._cell:
                return compare(a._geometry.shadow, b._geometry.shadow, *rest, **options)
            if not (a._cell.pins and b._cell.pins) or place_of(a) or place_of(b):
                apart: Any = np.empty(0), np.empty(0)
                return compare(*apart, *rest, **options)
        return by_numpy(compare, args, options)

    look_like(compare, function, compare.__name__)
    return function


shares_memory, may_share_memory = _sharing(True), _sharing(False)
publish("shares_memory", shares_memory, "native", np.shares_memory)
publish("may_share_memory", may_share_memory, "native", np.may_share_memory)


@native()
def isfortran(a: Any) -> bool:
    return bool(a.flags.fnc)


@native()
def isscalar(element: Any) -> bool:
    return np.isscalar(element)


def _is_infinity(name: str, infinity: float) -> None:
    @accepts(x=Recorded("iuf"), out=DEFAULT)
    def function(x: Any, out: Any = None) -> Any:
        return general(np.equal, x, infinity)

    declare(function, getattr(np, name), name, keeps="arrays")


_is_infinity("isposinf", np.inf)
_is_infinity("isneginf", -np.inf)


@native(keeps="arrays")
@accepts(x=Recorded())
def isreal(x: Any) -> Any:
    return general(np.equal, x.imag, 0)


@native(keeps="")
@accepts(x=Recorded())
def iscomplex(x: Any) -> Any:
    if x.dtype.kind != "c":
        return creation.zeros(x.shape, bool, "C")
    return general(np.not_equal, x.imag, 0)


@native()
@accepts(a=Recorded())
def real_if_close(a: Any, tol: Any = 100) -> Any:
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = np.finfo(a.dtype.type).eps * tol
    return a.real if bool((abs(a.imag) < tol).all()) else a


on_data("common_type", "min_scalar_type", "mintypecode")
