"""The native front, if it was built: the C base classes of arrays, functions and methods.

The C code in ``_native`` calls NumPy if all elements are in memory, and wraps the result. It calls the Python functions registered
here for everything else, so both fronts compute the same. ``ATOLL_FRONT=python`` disables the native front.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar, Token
from enum import IntEnum, IntFlag
from functools import wraps
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .native_sources import is_stale

BUILD = "python hatch_build.py, or pip install --force-reinstall --no-deps . in a clone"
"""The commands that build the native front."""

native: Any = None
if os.environ.get("ATOLL_FRONT", "") != "python":
    try:
        native = import_module("atoll._front")
    except ModuleNotFoundError:  # it was not built
        native = None
    except ImportError as problem:
        native = None
        warnings.warn(
            f"the native front was built but cannot be loaded, so small calls are slower: {problem}; build it anew "
            f"({BUILD})",
            RuntimeWarning,
            stacklevel=2,
        )
    if native is not None and is_stale(native.__file__, getattr(native, "sources", "")):
        raise ImportError(
            f"{native.__file__} was built from other C sources than those beside it, so Python and C may disagree; build "
            f"it anew ({BUILD}), or set ATOLL_FRONT=python"
        )


class Kind(IntFlag):
    """Properties of a function that decide whether a call runs at once; ``_native/functions.c`` has the same numbers."""

    ARRAYS = 0
    ANY = 1
    SHAPED = 2
    SQUARE = 4
    RANGE = 8
    SPACED = 16
    OUTER = 32
    LARGE = 64
    VIEWS = 128
    WRITES = 256
    RECORDED = 512
    EXACT = 1024
    DRAWS = 2048
    BOUNDED = 4096
    SHARED = 8192
    WHOLE = 16384
    LINES = 32768
    DATA = 65536
    INTEGERS = 131072
    ALONE = 262144
    ROLLS = 524288
    ORDERS = 1048576


PLACE = 21
"""The bit from which on a kind has a place among arguments."""


class Way(IntEnum):
    """Way of recording a function; ``_native/recorder.h`` has the same numbers."""

    ELEMENTWISE = 0
    VIEW = 1
    COPY = 2
    FOLD = 3
    DOT = 4
    PRODUCTS = 5
    RECIPE = 6


class Recording(NamedTuple):
    """How the native front records the calls of a function that it does not compute at once."""

    way: Way = Way.ELEMENTWISE
    known: Any = None
    """The forms of nodes that calls were met to record."""
    fold: Callable[..., Any] | None = None
    """The method of a ufunc that does all that the function does for whole arrays of numbers."""


UNRECORDED = Recording()
COMPOSED = Recording(Way.RECIPE)
"""Geometries and plain arguments determine the operations of a call: a recipe records them again."""
VIEW, COPY = Recording(Way.VIEW), Recording(Way.COPY)


if TYPE_CHECKING or native is None:

    class Front:
        """Base class of array handles."""

        __slots__ = ("__weakref__", "_cell", "_geometry", "_np")

    class NodeBase:
        """The members of a node."""

        __slots__ = (
            "args", "born", "code", "geometry", "mark", "name", "op", "params", "passed", "place", "site", "value", "weight",
        )  # fmt: skip

    class Box:
        """The members of a box."""

        __slots__ = (
            "_first", "geometry", "node", "pieces", "pins", "shared", "sites", "writeable",
        )  # fmt: skip

    class ValueBase:
        """The members of a value."""

        __slots__ = (
            "_address",
            "array",
            "counted",
            "known",
            "pinned",
            "pooled",
            "program",
        )

    class GeometryBase:
        """The members of a geometry that C reads."""

        __slots__ = (
            "base", "c_contiguous", "dense", "dtype", "is_base", "number", "offset", "overlapping", "shape", "short", "size", "strides",
            "through", "writeable",
        )  # fmt: skip

    class Function:
        """Base class of ufuncs: NumPy's function, and the Python function for calls that NumPy cannot compute at once."""

        _python: Callable[..., Any]
        _known: Any

        def __new__(cls, original: Any, python: Any, kind: int = Kind.ARRAYS) -> Any:
            return object.__new__(cls)

        def __call__(self, *args: Any, **options: Any) -> Any:
            return self._python(*args, **options)

    class Forms(dict[Any, Any]):
        """Node forms by the properties of their operands; unused without the native recorder."""

        def keep(self, key: tuple[Any, ...], form: Any, convert: Any) -> None:
            """Keep nothing: only the native recorder reads forms."""

    Lock: Any = threading.RLock
    """The class of the locks for changes of arrays."""

else:
    Box, Front, Function = native.Box, native.Front, native.Function
    NodeBase, ValueBase, GeometryBase = native.Node, native.Value, native.Geometry
    Forms, Lock = native.Forms, native.Lock


_Setting = TypeVar("_Setting")
_Call = TypeVar("_Call", bound=Callable[..., Any])


def vary(variable: ContextVar[_Setting], value: _Setting) -> Token[_Setting]:
    """Set a context variable; native code reads such variables once one of them has been set."""
    if native is not None:
        native.vary()
    return variable.set(value)


def function(
    original: Any,
    python: Callable[..., Any],
    kind: int = Kind.ARRAYS,
    recording: Recording = UNRECORDED,
) -> Callable[..., Any]:
    """``python``, or a function that calls NumPy's ``original`` at once if all arrays are in memory."""
    if native is None:
        return boundary(python)
    at_once: Callable[..., Any] = native.Function(original, python, kind)
    at_once.__dict__.update(python.__dict__)
    for name, value in recording._asdict().items():
        if value is not None:
            setattr(at_once, f"_{name}", value)
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(at_once, name, getattr(python, name))
    at_once.__wrapped__ = getattr(python, "__wrapped__", python)  # type: ignore[attr-defined]
    return at_once


if TYPE_CHECKING:
    attribute = property
else:

    class attribute(property):
        """A property that NumPy answers if the array is at hand."""


def method(kind: int = Kind.ARRAYS, recording: Recording = UNRECORDED) -> Callable[[_Call], _Call]:
    """Declare a method of arrays that NumPy computes at once if all arrays are in memory."""

    def enter(python: _Call) -> _Call:
        python._native = kind, recording  # type: ignore[attr-defined]
        return python

    return enter


def adopt(array_type: type, numpy_type: type) -> None:
    """Let the native front answer first for operators, and for declared attributes and methods, of the class of arrays."""
    if native is None:
        return
    for name in (*native.operators, "__delitem__", "__iter__"):
        for kind in array_type.__mro__:
            if kind is not native.Front and kind is not object and name in vars(kind):
                delattr(kind, name)
    for name, python in [item for kind in array_type.__mro__[::-1] for item in vars(kind).items()]:
        if isinstance(python, attribute):
            setattr(array_type, name, native.Attribute(name, python))
        elif hasattr(python, "_native"):
            own = function(getattr(numpy_type, name), python, *python._native)
            setattr(array_type, name, own)


_shorten: list[Callable[[BaseException, FrameType | None], object]] = []


def register_shortening(shorten: Callable[[BaseException, FrameType | None], object]) -> None:
    """Pass each error that leaves atoll to ``shorten``, with the frame of the caller."""
    _shorten[:] = [shorten]


def leave_with(error: BaseException) -> None:
    """Called in a public function that is about to raise an error again."""
    for shorten in _shorten:
        shorten(error, sys._getframe(2))


def boundary(function: _Call) -> _Call:
    """A public function: errors that leave it have short tracebacks. A bare ``raise`` adds no frame to them."""
    if hasattr(function, "_is_boundary"):
        return function

    @wraps(function)
    def public(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except BaseException as error:
            leave_with(error)
            raise

    public._is_boundary = True  # type: ignore[attr-defined]
    public.__wrapped__ = getattr(function, "__wrapped__", function)
    return public  # type: ignore[return-value]


class _End(weakref.ref[Any]):
    """Weak reference with a task to run after the end of its object."""

    __slots__ = ("task",)
    task: Callable[[], object]


_ends: dict[int, _End] = {}
_ended: deque[_End] = deque()


def noticed(queue: deque[Any], work: Callable[[], object], often: int = 1) -> Callable[[Any], Any]:
    """Callback for weak references that puts them in a queue, and has ``work`` called soon after every ``often`` of them.

    The callback runs no Python code, which would lose the exception of a signal handler. The interpreter calls ``work`` for the native
    front; without the native front, the next reader of the queue does the work.
    """
    return queue.append if native is None else native.Notice(queue.append, work, often)


def at_end(thing: Any, task: Callable[[], object]) -> None:
    """Let a task be done soon after the end of an object; where it is interrupted, the rest of it is not done."""
    end = _End(thing, _note_end)
    end.task = task
    _ends[id(end)] = end  # by id, since a reference has the hash of its object


class _Finishing(threading.local):
    """True if this thread runs :func:`finish_ends`, whose tasks may call it again."""

    now = False


_finishing = _Finishing()


def finish_ends() -> None:
    """Run the tasks of ended objects."""
    if not _ended or _finishing.now:
        return
    _finishing.now = True
    try:
        while (end := _next_end()) is not None:
            _ends.pop(id(end), None)
            end.task()
    finally:
        _finishing.now = False


def _next_end() -> _End | None:
    try:
        return _ended.popleft()
    except IndexError:  # none is left, or another thread was quicker
        return None


_note_end = noticed(_ended, finish_ends)
_smalls: list[int] = []
_changing = threading.RLock()  # settings may end, with garbage, while others are noted


def _unlock() -> None:
    """Replace the lock in a forked child: another thread of the parent may have held it."""
    global _changing
    _changing = threading.RLock()


os.register_at_fork(after_in_child=_unlock)


def entered(small: int) -> None:
    """Leave arrays of at least ``small`` elements to Python, whose settings decide, until :func:`left`."""
    if native is not None:
        with _changing:
            _smalls.append(small)
            native.limit(min(_smalls))


def left(small: int) -> None:
    """End the effect of :func:`entered` with the same ``small``."""
    if native is not None:
        with _changing:
            _smalls.remove(small)
            native.limit(min(_smalls, default=0))
