"""Calls of ufuncs with all arguments: outputs, masks, methods.

Calls that :mod:`.elementwise` supports are recorded; results with an ``out`` are assigned to it.
NumPy itself runs the rest on the data, and raises its own errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..context.interrupts import passed_on
from ..context.warn import come_first
from ..ops.elementwise import is_native
from ..ops.ufuncs import is_known
from . import shapes
from .agreement import chosen_by, world_of
from .conversion import answered, has_methods, of_small, plain
from .creation import asarray
from .elementwise import apply, assign, few, operand_of, together
from .fallback import GENERAL, by_numpy, computed_jointly
from .flat import flatiter
from .views import Handle, arrays_among

_BOOL = np.dtype(np.bool_)


def overrides(value: Any) -> bool:
    """True if an operand has a protocol of its own, which NumPy must find."""
    if type(value) is tuple:
        return any(map(overrides, value))
    if isinstance(value, (Handle, np.ndarray, np.generic, int, float, complex, str, list)):
        return False
    return hasattr(type(value), "__array_ufunc__") and not isinstance(value, flatiter)


def takes_over(values: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """True if an operand is of a subclass of atoll's array that handles ufuncs itself."""
    out, own = options.get("out"), Handle.array_type.__array_ufunc__
    operands = (*values, *(out if type(out) is tuple else (out,)), options.get("where"))
    kinds: list[Any] = [type(value) for value in operands if isinstance(value, Handle)]
    return any(kind.__array_ufunc__ is not own for kind in kinds)


def call(ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``ufunc(*inputs, **options)``."""
    result = few(ufunc, inputs, options)
    if result is not GENERAL:
        return result
    nin = ufunc.nin
    if len(inputs) > nin:
        if "out" in options or len(inputs) > ufunc.nargs or any(i is ... for i in inputs[nin:]):
            return by_numpy(ufunc, inputs, options)
        options = {**options, "out": inputs[nin:] + (None,) * (ufunc.nargs - len(inputs))}
        inputs = inputs[:nin]
    out = options.get("out", ...)
    outs: tuple[Any, ...] = out if type(out) is tuple else () if out is ... else (out,)
    if len(outs) == ufunc.nout and all(o is None for o in outs):
        outs, options = (), {name: value for name, value in options.items() if name != "out"}
    asked, result = inputs, NotImplemented
    told = len(inputs) == nin and len(outs) == (ufunc.nout if "out" in options else 0)
    if told and options.keys() <= {"out", "where"} and is_known(ufunc):
        where = options.get("where", True)
        if _may_record(ufunc, inputs, outs, where):
            asked = tuple([answered(value) for value in inputs])
            result = _recorded(ufunc, asked, outs, where)
    if result is NotImplemented:
        result = by_numpy(ufunc, asked, options, jointly=together.get(ufunc))
    if any(map(overrides, (*inputs, *outs))):
        return result
    return in_class_of_call(ufunc, inputs, outs, result, options.get("subok", True))


def _may_record(
    ufunc: np.ufunc, inputs: tuple[Any, ...], outs: tuple[Any, ...], where: Any
) -> bool:
    """True if no argument requires NumPy itself; inputs may have an ``__array__``."""
    if has_methods(type(where)) or any(map(overrides, inputs)):
        return False
    if len(outs) > 1 and outs[0] is not None and outs[1] is not None and shapes.is_view_of(*outs):
        return False  # NumPy writes all results of an element before those of the next
    return all(_can_take(o, ufunc) for o in outs) if outs else where is True


def _recorded(ufunc: np.ufunc, inputs: tuple[Any, ...], outs: tuple[Any, ...], where: Any) -> Any:
    try:
        result = apply(ufunc, inputs)
    except ValueError:  # of two broken rules, NumPy names the cast
        refuse(ufunc, inputs, outs, where)
        raise
    if result is NotImplemented or not outs:
        return result
    results = result if isinstance(result, tuple) else (result,)
    for o, r in zip(outs, results):
        if o is not None and not _fits(o, r):
            return NotImplemented
    mask = None
    if where is not True:
        operand = operand_of(where)
        if operand is None or operand.kind != _BOOL or operand.geometry is None:
            return NotImplemented
        if any(o is None or operand.geometry.shape != o.shape for o in outs):
            return NotImplemented
        mask = operand.node
        chosen_by(where, *outs)
    finished = [r if o is None else assigned_to(o, r, mask) for o, r in zip(outs, results)]
    return tuple(finished) if len(finished) > 1 else finished[0]


def refuse(ufunc: np.ufunc, inputs: Sequence[Any], outs: Sequence[Any], where: Any = True) -> None:
    """Raise NumPy's error where an output cannot take the dtype of the result, or shapes do not fit together."""
    outs = outs if len(outs) == ufunc.nout else (None,) * ufunc.nout
    operands = [operand_of(value) for value in inputs]
    kinds = tuple([o.kind for o in operands if o is not None])
    if len(kinds) == ufunc.nin:
        outputs = tuple([None if o is None else o.dtype for o in outs])
        ufunc.resolve_dtypes((*kinds, *outputs), casting="same_kind")
    try:
        np.broadcast_shapes(*[np.shape(value) for value in (*inputs, *outs, where)])
    except ValueError as problem:
        passed_on(problem)
        masked = {} if where is True else {"where": _without_memory(where)}
        ufunc(*map(_without_memory, inputs), out=tuple(map(_without_memory, outs)), **masked)


def _without_memory(value: Any) -> Any:
    """An array of one element that is repeated to the shape of another one; else the value."""
    if not isinstance(value, (Handle, np.ndarray)):
        return value
    array: Any = value
    steps = (0,) * len(array.shape)
    return np.lib.stride_tricks.as_strided(np.ones((), array.dtype), array.shape, steps)


def _can_take(out: Any, ufunc: np.ufunc) -> bool:
    if not isinstance(out, Handle):
        return out is None
    if out._np is not None:  # results of large operands may be small
        return ufunc.signature is not None
    writeable = out._cell.writeable and out._geometry.writeable
    return writeable and is_native(out._geometry.dtype)


def _fits(out: Any, result: Any) -> bool:
    """True if NumPy would let ``out`` take the result."""
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        return False
    try:
        return bool(np.broadcast_shapes(result.shape, out.shape) == out.shape)
    except ValueError as problem:
        passed_on(problem)
        return False


def assigned_to(out: Any, result: Any, mask: Any = None) -> Any:
    """``out`` after the result was written into it."""
    if out._np is not None or not assign(out._cell, out._geometry, result, mask):
        array = plain(result)
        out._mutate(lambda memory: np.copyto(memory, array, casting="same_kind"))
    return out


def check_shape(out: Any, shape: tuple[int, ...]) -> None:
    """Raise unless a result of this shape fits into ``out``."""
    if out.shape != shape:
        raise ValueError(f"out: it has shape {out.shape}, the result has shape {shape}")


def into(out: Any, result: Any, casting: Any = "same_kind") -> Any:
    """``out`` with the result in it, or the result if ``out`` is ``None``."""
    if out is None or result is NotImplemented:
        return result
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    if not hasattr(out, "dtype"):
        return NotImplemented  # NumPy raises the error
    array: Any = result if isinstance(result, Handle) else np.asarray(result)
    check_shape(out, array.shape)
    if not np.can_cast(array.dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {array.dtype!r} to {out.dtype!r} according to the rule "
            f"'{casting}'"
        )
    out[...] = array if isinstance(out, Handle) else np.asarray(array)
    return out


def in_class_of_call(
    ufunc: np.ufunc | None,
    inputs: tuple[Any, ...],
    outs: tuple[Any, ...],
    result: Any,
    subok: bool = True,
) -> Any:
    """The results of a call in users' classes: the class of each output passed, else of the operand with the
    highest priority."""
    base = Handle.array_type
    own: list[Any] = [v for v in inputs if isinstance(v, Handle) and type(v) is not base]
    parent = max(own, key=attrgetter("__array_priority__"), default=None) if subok else None
    if parent is None and not any(map(_wraps, outs)):
        return result
    finished = []
    for k, part in enumerate(result if isinstance(result, tuple) else (result,)):
        out = outs[k] if outs else None
        context = None if ufunc is None else (ufunc, inputs + outs, k)
        if out is not None:
            finished.append(_wrapped_by(out, out, context, False) if _wraps(out) else part)
        else:
            finished.append(part if parent is None else wrapped(parent, part, context))
    return tuple(finished) if isinstance(result, tuple) else finished[0]


def _wraps(out: Any) -> bool:
    """True if an output is of a class with an ``__array_wrap__`` of its own."""
    own = getattr(type(out), "__array_wrap__", None)
    return isinstance(out, Handle) and own is not Handle.array_type.__array_wrap__


def wrapped(parent: Any, result: Any, context: Any = None) -> Any:
    """A result wrapped by ``__array_wrap__`` of an operand; ``context`` is NumPy's description of the call."""
    number = isinstance(result, np.generic)
    if number:
        result = of_small(np.asarray(result))
    return _wrapped_by(parent, result, context, number) if isinstance(result, Handle) else result


def _wrapped_by(parent: Any, array: Any, context: Any, number: bool) -> Any:
    """Call ``__array_wrap__`` with the arguments of NumPy 2 or, with NumPy's warning, those of earlier versions."""
    try:
        return parent.__array_wrap__(array, context, number)
    except TypeError as error:
        for arguments in ((array, context), (array,)):
            try:
                result = parent.__array_wrap__(*arguments)
            except TypeError:
                continue
            come_first()
            warnings.warn(_DEPRECATED_WRAP, DeprecationWarning, stacklevel=2)
            return result
        raise error


_DEPRECATED_WRAP = "__array_wrap__ must accept context and return_scalar arguments (positionally) in the future. (Deprecated NumPy 2.0)"


methods: dict[str, Callable[..., Any]] = {}
"""Methods of ufuncs that all ranks compute together; ``NotImplemented`` where NumPy has to."""
register_method = methods.__setitem__


def method(ufunc: np.ufunc, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``ufunc.accumulate``, ``reduceat``, ``at`` or ``outer``."""
    if name == "outer" and len(args) == 2 and ufunc.nin == 2:
        result = _outer(ufunc, args, options)
        if result is not NotImplemented:
            return result
    jointly, result = methods.get(name), NotImplemented
    if jointly is not None:
        world = world_of(arrays_among((args, options)))
        result = computed_jointly(jointly, (ufunc, *args), options, world)
    if result is NotImplemented:
        result = by_numpy(getattr(ufunc, name), args, options, writes=(0,) if name == "at" else ())
    own = result is None or _is_out(result, args, options)
    return result if own else in_class_of_call(None, args[:2], (), result)


def _is_out(result: Any, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """True if a result is its ``out`` array."""
    out = options.get("out")
    outs = out if isinstance(out, tuple) else (out,)
    return any(result is value for value in (*args, *outs))


def folded(array: Any, result: Any, out: Any = None) -> Any:
    """The result of a reduction in the class of a user's array, which has no scalars.

    An array passed as ``out`` keeps its class; ``out=...`` asks for an array, never a scalar.
    """
    if (out is not None and out is not ...) or not isinstance(array, Handle) or not array.inherits:
        return result
    same = type(array) in (Handle.array_type, type(result))
    return result if same else wrapped(array, result)


def _outer(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    base = Handle.array_type
    own_class = any(isinstance(value, Handle) and type(value) is not base for value in args)
    a, b = [asarray(v) if own_class and type(v) is list else v for v in args]
    if not (isinstance(a, Handle) and isinstance(b, Handle)) or options:
        return NotImplemented
    shape = a.shape + (1,) * b.ndim  # type: ignore[attr-defined]
    spread = shapes.reshape(a, shape)
    if spread.shape != shape:
        raise TypeError(
            f"{ufunc.__name__}.outer() called with ndarray-subclass of type '{type(a).__name__}' which modified its shape after a "
            "reshape. `outer()` relies on reshaping the inputs and is for example not supported for the 'np.matrix' class "
            "(the usage of matrix is generally discouraged). To work around this issue, please convert the inputs to numpy "
            "arrays."
        )
    return call(ufunc, (spread, b), {})
