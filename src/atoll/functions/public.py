"""Declaration of functions: the implementation of each public name.

A function is declared once, under NumPy's name, for any number of ranks: with :func:`native` (recorded, or composed
of recorded functions), with :func:`collective` (ranks compute it together, one process leaves it to NumPy), or with
:func:`on_data` (NumPy's own, on whole arrays: input and output). A name without a declaration is NumPy's own, too, but
warns with a :class:`~atoll.errors.FallbackWarning`. In all cases NumPy's dispatch (``numpy.sum(array)``) calls
the same function. :mod:`..lazy.registry` stores the declarations, and :mod:`.operands` describes the arguments that a
function supports.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import front
from ..array import enter_method, ndarray
from ..comm.world import current_world
from ..errors import DeferredValueError, MixedArraysError
from ..front import UNRECORDED, Kind, Recording
from ..lazy import protocols
from ..lazy.agreement import place_of
from ..lazy.conversion import PASSED
from ..lazy.creation import asarray
from ..lazy.fallback import GENERAL, Unsupported, at_hand, by_numpy, has_class, is_foreign
from ..lazy.flat import flatiter
from ..lazy.layouts import laid_out
from ..lazy.protocols import knows_atoll
from ..lazy.registry import registry
from ..lazy.result_classes import in_class_of, is_subclass
from ..lazy.shapes import in_order
from ..lazy.shared_calls import Cut, register_cut
from ..lazy.ufunc_calls import overrides
from ..lazy.views import Handle, arrays_among

Order = Callable[[Any], "tuple[int, ...] | None"]

names = registry.names
kinds = registry.kinds
publish = registry.publish


_FAMILIAR = PASSED | {ndarray, np.ndarray}
"""Argument classes without protocols that could affect a call."""

_ANSWERED = (Handle, np.ndarray, list, tuple, flatiter)
"""Argument classes that functions support; NumPy handles all others."""

_SIZED = Kind.SHAPED | Kind.SQUARE | Kind.RANGE | Kind.SPACED | Kind.OUTER


def _needs_atoll(given: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """True if an argument requires kernels or ranks: a large array, a layout, or, on ranks, an object
    whose class was written with atoll and may hold a large array."""
    if "layout" in options or any(map(is_large, arrays_among(given))):
        return True
    return current_world().size > 1 and any(
        knows_atoll(getattr(type(value), "__array__", None)) for value in given
    )


def look_like(original: Any, function: Any, name: str, *, creates: bool = False) -> None:
    """Give a function the name, docstring and signature of NumPy's, and a name in atoll's modules."""
    module, _, function.__name__ = f"atoll.{name}".rpartition(".")
    function.__module__, function.__qualname__ = module, function.__name__
    function.__doc__ = original.__doc__
    function.__wrapped__ = original
    if creates:
        show_layout(function, original)
        return
    for text in ("__signature__", "__text_signature__"):
        shown = getattr(original, text, None)
        if shown is not None:
            setattr(function, text, shown)


def show_layout(function: Any, original: Any) -> None:
    """Set the signature of a function to NumPy's with ``layout=`` added."""
    text = getattr(original, "__text_signature__", None)
    try:
        if text is None:
            signature = inspect.signature(original)
        else:  # ``inspect`` takes a millisecond to read it
            signature = inspect.signature(eval(f"(lambda {text.strip('()')}: 0)".replace("$", "")))
    except ValueError:  # NumPy has no signature
        return
    names = [*signature.parameters.values()]
    place = len(names) - (bool(names) and names[-1].kind is inspect.Parameter.VAR_KEYWORD)
    names.insert(place, inspect.Parameter("layout", inspect.Parameter.KEYWORD_ONLY, default=None))
    function.__signature__ = signature.replace(parameters=names)


def in_layout(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Make an array with ``layout=``: where the function has it, and then where the program asks for it."""
    layout = options.pop("layout")
    result = function(*args, **options)
    moved = laid_out(result, layout)
    if moved is not result and options.get("copy") is False:
        raise ValueError(
            f"layout: the array lies as {result.layout!r}, so that layout={layout!r} takes a copy, which copy=False forbids: leave one out"
        )
    return moved


def _alike(function: Any, original: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Make an array with ``like=``: NumPy's dispatch calls the class of ``like`` if it is not an array class."""
    like = options.pop("like")
    if like is None or type(like) in (ndarray, np.ndarray):
        return function(*args, **options)
    protocols.meet(type(like))
    return original(*args, **options, like=like)


def declare(
    function: Callable[..., Any],
    original: Any,
    name: str,
    *,
    kind: Kind | None = None,
    recording: Recording = UNRECORDED,
    short: bool = True,
    grows: bool = False,
    creates: bool = False,
    device: bool = False,
    asks: bool = False,
    joins: bool = False,
    keeps: str | None = None,
) -> Callable[..., Any]:
    """Make ``function`` public in place of NumPy's ``original``, with its docstring and signature.

    If ``function`` returns ``NotImplemented``, or does not support the arguments, NumPy computes the result on the data. NumPy's
    own subclasses (masked arrays, matrices) keep their class: NumPy runs the function. The traits:

    ``kind``: the argument that determines the size of the result, for the native front (see ``_native/functions.c``).
    ``recording``: how the native front records a call, such as ``COMPOSED`` where it may record the same operations again.
    ``short``: NumPy may do it at once where all arrays are small; not if a view of small arrays may be large.
    ``grows``: the result may be large where all arguments are numbers or small.
    ``creates``: it makes arrays, and so has an argument ``layout``; ``device``: it has an argument ``device``.
    ``asks``: NumPy leaves it to a method or an operator of a first argument that is no array, such as a series of pandas.
    ``joins``: the first argument is a sequence of arrays, each of which may have a class of its own.
    ``keeps``: the results that keep a user's class (see :mod:`..lazy.result_classes`). NumPy decides it in one process.
    """

    lays = "layout" in (function.__kwdefaults__ or ())

    def call(*args: Any, **options: Any) -> Any:
        if "like" in options:
            return _alike(call, original, args, options)
        laid = creates and "layout" in options
        if laid and (not lays or options["layout"] is None):
            return in_layout(call, args, options)
        if short and not laid:
            result = at_hand(original, args, options, bare=not grows)
            if result is not GENERAL:
                return result
        giver = None
        if asks and not isinstance(args[0] if args else options.get("a", ()), _ANSWERED):
            return by_numpy(original, args, options)
        given = (*args, *options.values())
        if not _FAMILIAR.issuperset(map(type, given)):
            for value in given:
                if type(value) in (list, tuple):
                    if joins and any(map(has_class, value)):
                        return by_numpy(original, args, options)
                elif (
                    has_class(value)
                    or overrides(value)
                    or (keeps is not None and is_subclass(value) and place_of(value) is None)
                ):
                    return by_numpy(original, args, options)
                elif giver is None and is_subclass(value):
                    giver = value
            if any(map(is_foreign, given)) and not _needs_atoll(given, options):
                return by_numpy(original, args, options)
        if device and "device" in options:
            wanted = options.pop("device")
            if wanted not in (None, "cpu"):  # the only device is the processor
                np.empty(0, device=wanted)  # NumPy's error
        try:
            result = function(*args, **options)
        except (DeferredValueError, MixedArraysError, Unsupported):
            # the function read values that do not exist yet, and NumPy can wait, or it does not know the arguments
            result = NotImplemented
        if result is NotImplemented:
            result = by_numpy(original, args, options)
        return (
            result
            if giver is None or place_of(giver) is None
            else in_class_of(giver, keeps, options, result)
        )

    look_like(original, call, name, creates=creates)
    natively = Kind.RECORDED
    if short or kind is not None:
        natively = kind or Kind.ARRAYS
        natively |= Kind.ANY if not (grows or natively & _SIZED) else 0
    public = front.function(original, call, natively, recording)
    publish(name, public, "native", original, creates=creates)
    return public


def native(**traits: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function under its own name, which is NumPy's; ``traits`` are passed to :func:`declare`."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        return declare(function, getattr(np, name), name, **traits)

    return enter


def numpy_function(
    original: Any,
    name: str,
    *,
    warns: bool = False,
    kind: Kind | None = None,
    cut: Cut | None = None,
    grows: bool = False,
    creates: bool = False,
    **how: Any,
) -> Callable[..., Any]:
    """A NumPy function that runs on the data, or collectively on ranks; ``how`` is passed to :func:`by_numpy`.

    ``cut`` divides the arguments among threads where the data is in this process (see :mod:`..lazy.shared_calls`).
    """
    if cut is not None:
        register_cut(original, cut)
    if warns:
        how["name"] = f"numpy.{name}"

    def function(*args: Any, **options: Any) -> Any:
        if "like" in options:
            return _alike(function, original, args, options)
        if creates and "layout" in options:
            return in_layout(function, args, options)
        return by_numpy(original, args, options, **how)

    look_like(original, function, name, creates=creates)
    if warns:
        return function
    natively = kind or Kind.ARRAYS
    natively |= Kind.ANY if "jointly" in how and not grows else 0
    if not (how.get("writes") or how.get("alone")):
        natively |= Kind.LARGE | Kind.DATA | (Kind.SHARED if cut is not None else 0)
    return front.function(original, function, natively)


def collective(
    *originals: Any, order: Order | None = None, **traits: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the collective replacement of NumPy functions and methods.

    The function takes their arguments. It is called if an array is distributed (with ``alone``: if an
    array is large), and returns ``NotImplemented`` for unsupported calls. Then, and in one process, NumPy
    computes the result on the data. ``writes`` names the arguments that are written into. ``order`` computes from the first
    operand the memory order of NumPy's result, if the function does not produce it by itself. ``cut`` is as in
    :func:`numpy_function`. ``kind``, ``grows``, ``creates`` and ``keeps`` are as in :func:`declare`.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        jointly = function if order is None else _in_order(function, originals[0], order)
        declared = []
        for original in originals:
            name = original.__name__
            module = (getattr(original, "__module__", None) or "").partition(".")[2]
            path = f"{module}.{name}" if module else name
            standing = numpy_function(original, path, jointly=jointly, **traits)
            declared.append(standing)
            if getattr(np, name, None) is original:
                how = "native" if traits.get("alone") else "data"
                publish(name, standing, how, original, creates=bool(traits.get("creates")))
                continue
            registry.enter(original, standing)  # where a NumPy submodule, or the class, finds it
            enter_method(original, standing)
        return declared[0]

    return enter


def _in_order(function: Callable[..., Any], original: Any, order: Order) -> Callable[..., Any]:
    first = next(iter(inspect.signature(original).parameters))

    def ordered(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        if result is NotImplemented or any(
            result is given for given in (*args[1:], *options.values())
        ):
            return result
        return in_order(result, order(asarray(args[0] if args else options[first])))

    return ordered


def on_data(*wanted: str, kind: Kind | None = None, creates: bool = False) -> None:
    """Declare functions that NumPy runs on whole arrays by design."""
    for name in wanted:
        original = getattr(np, name, None)
        if original is not None and name not in names:
            function = numpy_function(original, name, kind=kind, creates=creates)
            publish(name, function, "data", original, creates=creates)


def array_of(value: Any) -> Any:
    """Any value as an array; arrays, subclasses included, are returned unchanged."""
    return value if isinstance(value, Handle) else asarray(value)


def is_large(value: Any) -> bool:
    """True if a value is an array that is recorded."""
    return isinstance(value, Handle) and value._np is None
