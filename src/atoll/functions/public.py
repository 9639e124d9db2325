"""Declares functions: what each public name is, and how it is computed.

A function is declared once, under NumPy's name, for any number of ranks: with :func:`native` (recorded, or composed
of what is recorded), with :func:`collective` (ranks compute it together, one process leaves it to NumPy), or with
:func:`on_data` (NumPy's own, on whole arrays: input and output). A name without a declaration is NumPy's own, too, but
says so with a :class:`~atoll.errors.FallbackWarning`. Either way NumPy's dispatch (``numpy.sum(array)``) comes
to the same function. All of it is in :mod:`..lazy.registry`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import numpy as np

from .. import front
from ..array import ndarray
from ..comm.world import current_world
from ..errors import DeferredValueError, MixedArraysError
from ..front import Kind
from ..lazy import protocols
from ..lazy.calling import overrides
from ..lazy.classed import in_class_of, is_subclass
from ..lazy.creation import asarray
from ..lazy.distributed import laid_out
from ..lazy.fallback import GENERAL, at_hand, by_numpy, has_class, is_foreign
from ..lazy.flat import flatiter
from ..lazy.protocols import knows_atoll
from ..lazy.registry import registry
from ..lazy.shaping import in_order
from ..lazy.shared_calls import is_cut
from ..lazy.spread import place_of
from ..lazy.views import Handle, arrays_among

Function = TypeVar("Function", bound=Callable[..., Any])
Order = Callable[[Any], "tuple[int, ...] | None"]

names = registry.names
kinds = registry.kinds
publish = registry.publish


_PLAIN = frozenset({ndarray, np.ndarray, list, tuple, int, float})

_ANSWERED = (Handle, np.ndarray, list, tuple, flatiter)
"""What functions compute of by themselves; NumPy knows what to do with everything else."""

_SIZED = Kind.SHAPED | Kind.SQUARE | Kind.RANGE | Kind.SPACED | Kind.OUTER
KINDS = dict.fromkeys((
    "bartlett", "blackman", "empty", "fft.fftfreq", "fft.rfftfreq", "full", "hamming", "hanning", "indices", "ones", "zeros",
), Kind.SHAPED) | dict.fromkeys(("eye", "identity", "tri", "tril_indices", "triu_indices"), Kind.SQUARE) | dict.fromkeys((
    "geomspace", "linspace", "logspace",
), Kind.SPACED) | {
    "arange": Kind.RANGE, "outer": Kind.OUTER, "roll": Kind.ROLLS,
} | dict.fromkeys(("dot", "inner", "vdot"), Kind.LARGE | Kind.LINES) | dict.fromkeys((
    "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "expand_dims", "flip", "fliplr", "flipud", "hsplit",
    "matrix_transpose", "moveaxis", "permute_dims", "ravel", "reshape", "rollaxis", "rot90", "split", "squeeze", "swapaxes",
    "transpose", "vsplit",
), Kind.VIEWS) | dict.fromkeys(("fill_diagonal", "put", "put_along_axis"), Kind.LARGE | Kind.WRITES) | dict.fromkeys((
    "copyto", "place", "putmask",
), Kind.WRITES) | dict.fromkeys((
    "all", "any", "count_nonzero",
), Kind.EXACT | Kind.LINES) | dict.fromkeys(("argmax", "argmin"), Kind.EXACT | Kind.WHOLE | Kind.LINES) | dict.fromkeys((
    "mean", "prod", "std", "sum", "var",
), Kind.LINES) | dict.fromkeys(("amax", "amin", "max", "min"), Kind.EXACT | Kind.WHOLE | Kind.INTEGERS | Kind.LINES) | dict.fromkeys((
    "cumprod", "cumsum",
), Kind.INTEGERS | Kind.WHOLE)  # fmt: skip
"""What the size of a result follows from, and what a function does with its first argument; see ``_native/functions.c``."""

EXPANDING = frozenset(
    {"broadcast_to", "broadcast_arrays", "meshgrid", "outer", "zeros", "ones", "empty", "arange"}
)
"""What may make a large result of small arrays without any memory for it."""

CREATING = frozenset({"full", "zeros_like", "ones_like", "empty_like", "full_like", "linspace", "logspace", "eye",
    "identity", "tri", "indices", "tril_indices", "triu_indices", "diag_indices", "mask_indices", "tile", "repeat",
    "pad", "roll"})  # fmt: skip
"""What may make a large result of numbers alone."""

_ON_DEVICE = frozenset({"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like",
    "arange", "asarray", "asanyarray", "astype", "linspace", "eye"})  # fmt: skip
"""Functions with an argument ``device``: the only device is the processor."""

CREATED = frozenset({"arange", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray",
    "astype", "bartlett", "blackman", "copy", "diag", "diag_indices", "diagflat", "empty", "empty_like", "eye", "fft.fftfreq",
    "fft.rfftfreq", "from_dlpack", "frombuffer", "fromfunction", "fromiter", "fromregex", "fromstring", "full", "full_like",
    "geomspace", "hamming", "hanning", "identity", "indices", "kaiser", "linspace", "logspace", "mask_indices", "meshgrid",
    "ones", "ones_like", "require", "tri", "tril", "tril_indices", "triu", "triu_indices", "vander", "zeros",
    "zeros_like"})  # fmt: skip
"""Functions that make arrays, and so take ``layout=``; those that read files take it by themselves."""

_STATES = frozenset({"bytes", "default_rng", "get_bit_generator", "get_state", "seed", "set_bit_generator", "set_state",
    "shuffle", "spawn"})  # fmt: skip
"""What draws no array; everything else in ``atoll.random`` does."""

_BY_CLASS = frozenset((
    "angle", "append", "astype", "average", "broadcast_arrays", "broadcast_to", "compress",
    "corrcoef", "count_nonzero", "cov", "diag", "diff", "dot", "ediff1d", "extract",
    "expand_dims", "fix", "flip", "fliplr", "flipud", "gradient", "i0", "imag", "inner",
    "isclose", "isposinf", "isneginf", "isreal", "iscomplex", "linspace", "matrix_transpose", "median",
    "meshgrid", "moveaxis", "nan_to_num", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd",
    "nansum", "nanvar", "ptp", "roll", "rollaxis", "rot90", "squeeze", "swapaxes", "take",
    "take_along_axis", "tile", "trace", "trapezoid", "trim_zeros", "unstack",
))  # fmt: skip
"""Functions that keep a user's class in some results only: with such an array they are NumPy's own."""


_ASKED = frozenset((
    "all", "amax", "amin", "any", "argmax", "argmin", "around", "clip", "flip", "max", "mean", "min", "prod", "ptp",
    "reshape", "round", "squeeze", "std", "sum", "swapaxes", "transpose", "var",
))  # fmt: skip
"""Functions that NumPy leaves to a method or an operator of their first argument, if it is no array: that of a series of pandas
gives a series."""

_JOINING = frozenset(("column_stack", "concatenate", "dstack", "hstack", "stack", "vstack"))
"""Functions whose first argument is a sequence of arrays, each of which may have a class of its own."""


def creates(name: str) -> bool:
    """Whether a function makes arrays, and so takes ``layout=``."""
    module, _, word = name.rpartition(".")
    return word not in _STATES if module == "random" else name in CREATED


def _needs_atoll(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether a call with such an argument is for kernels or ranks: one with a large array, a layout, or, on ranks, an object
    whose class was written with atoll and may hold such an array."""
    given = (*args, *options.values())
    if "layout" in options or any(map(is_large, arrays_among(given))):
        return True
    return current_world().size > 1 and any(
        knows_atoll(getattr(type(value), "__array__", None)) for value in given
    )


def look_like(original: Any, function: Any, name: str) -> None:
    """Give a function the name, the text and the signature of NumPy's, and a place in atoll's modules."""
    module, _, function.__name__ = f"atoll.{name}".rpartition(".")
    function.__module__, function.__qualname__ = module, function.__name__
    function.__doc__ = original.__doc__
    function.__wrapped__ = original
    if creates(name):
        show_layout(function, original)
        return
    for text in ("__signature__", "__text_signature__"):
        shown = getattr(original, text, None)
        if shown is not None:
            setattr(function, text, shown)


def show_layout(function: Any, original: Any) -> None:
    """Let the signature of a function be that of NumPy's, with ``layout=``."""
    text = getattr(original, "__text_signature__", None)
    try:
        if text is None:
            signature = inspect.signature(original)
        else:  # which ``inspect`` takes a millisecond to read
            signature = inspect.signature(eval(f"(lambda {text.strip('()')}: 0)".replace("$", "")))
    except ValueError:  # NumPy says nothing
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
    """Make an array with ``like=``: a class of its own has a say, by NumPy's dispatch."""
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
    short: bool = True,
) -> Callable[..., Any]:
    """Make ``function`` public in place of NumPy's ``original``, with its text and signature.

    Where ``function`` answers ``NotImplemented``, NumPy computes the result on the data. ``short`` says that NumPy
    may do it at once where all arrays are small. NumPy's own subclasses (masked arrays, matrices) stay what they
    are: NumPy runs the function.
    """

    short = short and name not in EXPANDING
    asked, joins = name in _ASKED, name in _JOINING
    bare, on_device = name not in CREATING, name in _ON_DEVICE
    lays, created = "layout" in (function.__kwdefaults__ or ()), creates(name)

    def call(*args: Any, **options: Any) -> Any:
        if "like" in options:
            return _alike(call, original, args, options)
        laid = created and "layout" in options
        if laid and (not lays or options["layout"] is None):
            return in_layout(call, args, options)
        if short and not laid:
            result = at_hand(original, args, options, bare=bare)
            if result is not GENERAL:
                return result
        giver = None
        if asked and not isinstance(args[0] if args else options.get("a", ()), _ANSWERED):
            return by_numpy(original, args, options)
        for value in (*args, *options.values()) if options else args:
            if type(value) not in _PLAIN:
                if (
                    has_class(value)
                    or overrides(value)
                    or (name in _BY_CLASS and is_subclass(value) and place_of(value) is None)
                ):
                    return by_numpy(original, args, options)
                if giver is None and is_subclass(value):
                    giver = value
            elif joins and type(value) in (list, tuple) and any(map(has_class, value)):
                return by_numpy(original, args, options)
        if any(map(is_foreign, (*args, *options.values()))) and not _needs_atoll(args, options):
            return by_numpy(original, args, options)
        if on_device and "device" in options:
            device = options.pop("device")
            if device not in (None, "cpu"):
                np.empty(0, device=device)  # NumPy's words
        try:
            result = function(*args, **options)
        except (DeferredValueError, MixedArraysError):
            # the function read values that do not exist yet: NumPy can wait
            return by_numpy(original, args, options)
        if result is NotImplemented:
            result = by_numpy(original, args, options)
        return (
            result
            if giver is None or place_of(giver) is None
            else in_class_of(giver, name, options, result)
        )

    look_like(original, call, name)
    kind = KINDS.get(name, Kind.ARRAYS)
    kind |= bare and not kind & _SIZED
    at_once_natively = short or name in KINDS
    public = front.function(original, call, kind if at_once_natively else Kind.RECORDED)
    publish(name, public, "native", original)
    return public


def native(function: Function) -> Function:
    """Declare a function under its own name, which is NumPy's."""
    name = function.__name__
    return declare(function, getattr(np, name), name)  # type: ignore[return-value]


def numpy_function(
    original: Any,
    name: str,
    *,
    writes: Collection[int | str] = (),
    warns: bool = False,
    jointly: Callable[..., Any] | None = None,
    alone: bool = False,
) -> Callable[..., Any]:
    """A function of NumPy's that is run on the data, or ``jointly`` by ranks (see :func:`by_numpy`)."""
    warning = f"numpy.{name}" if warns else ""
    created = creates(name)

    def function(*args: Any, **options: Any) -> Any:
        if "like" in options:
            return _alike(function, original, args, options)
        if created and "layout" in options:
            return in_layout(function, args, options)
        return by_numpy(
            original,
            args,
            options,
            writes=writes,
            name=warning,
            jointly=jointly,
            alone=alone,
        )

    look_like(original, function, name)
    if warns or name in EXPANDING:
        return function
    kind = KINDS.get(name, Kind.ARRAYS)
    kind |= jointly is not None and name not in CREATING | EXPANDING
    if not (writes or alone):
        kind |= Kind.LARGE | Kind.DATA | (Kind.SHARED if is_cut(original) else 0)
    return front.function(original, function, kind)


def collective(
    *originals: Any,
    writes: Collection[int | str] = (),
    order: Order | None = None,
    alone: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare what ranks compute together in place of functions and methods of NumPy's.

    The function takes their arguments. It is called where an array lies on several ranks (with ``alone``: where an
    array is large), and answers ``NotImplemented`` where it does not know how. Then, and on one process, NumPy
    computes the result on the data. ``writes`` names the arguments that are written into. ``order`` says from the first
    operand in which order of memory NumPy's result lies, where that does not come of the function by itself.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        jointly = function if order is None else _in_order(function, order)
        declared = []
        for original in originals:
            name = original.__name__
            module = (getattr(original, "__module__", None) or "").partition(".")[2]
            path = f"{module}.{name}" if module else name
            standing = numpy_function(original, path, writes=writes, jointly=jointly, alone=alone)
            declared.append(standing)
            if getattr(np, name, None) is original:
                publish(name, standing, "native" if alone else "data", original)
            else:  # a method, or a function of a module of NumPy's, which finds it by the original
                registry.enter(original, standing)
        return declared[0]

    return enter


def _in_order(function: Callable[..., Any], order: Order) -> Callable[..., Any]:
    def ordered(a: Any, *args: Any, **options: Any) -> Any:
        result = function(a, *args, **options)
        if result is NotImplemented or any(result is given for given in (*args, *options.values())):
            return result
        return in_order(result, order(asarray(a)))

    return ordered


def on_data(*wanted: str) -> None:
    """Declare functions that NumPy runs on whole arrays by design."""
    for name in wanted:
        original = getattr(np, name, None)
        if original is not None and name not in names:
            publish(name, numpy_function(original, name), "data", original)


def array_of(value: Any) -> Any:
    """Any value as an array; arrays stay as they are, subclasses included."""
    return value if isinstance(value, Handle) else asarray(value)


def is_large(value: Any) -> bool:
    """Whether a value is an array that is recorded."""
    return isinstance(value, Handle) and value._np is None
