"""Tracebacks of errors that leave atoll: the user's lines, without the frames of atoll between and below them.

Every public function and method ends here if it fails: those of the native front from C, the others by
:func:`..front.boundary`. The type, the message and the cause of an error stay as they are, and so do the frames of the user's
functions that atoll calls, and those of NumPy. An error that only a defect of atoll can explain keeps all frames, and says so.
``ATOLL_TRACEBACK=full`` keeps all frames of all errors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from enum import Enum
from opcode import opname
from types import FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any

from ..config import config
from ..errors import AtollError
from ..front import boundary, register_shortening
from .call_sites import Site, site_text, user_line
from .sources import is_ours

DEFECT = "This error comes from atoll itself, so all frames are shown. Please report it with this traceback."
_DEFECTS = (
    AttributeError, NameError, AssertionError, KeyError, SystemError, RecursionError, NotImplementedError, ZeroDivisionError,
)  # fmt: skip
"""What Python itself raises in atoll only where atoll is wrong."""
_DEFECTIVE = re.compile(
    r"^(list|tuple|deque|pop|string) .*(index|empty|range)|'NoneType' object is not|unsupported operand .*'NoneType'"
)
_ARGUMENTS = re.compile(r"\(\) (takes|missing|got an unexpected)")
_PACKAGE = __name__.partition(".")[0]
_DATA = (BaseException, tuple, Enum)
_HEAP_TYPE = 1 << 9
"""The flag of classes that Python makes, whose attributes may be set."""
_COMPILER = ("llvmlite",)
"""Packages that never see a value of the user's: their errors are atoll's."""


def shorten(error: BaseException, caller: FrameType | None) -> None:
    """Hide atoll's frames in the traceback of an error that leaves atoll for ``caller``."""
    if caller is not None and is_ours(caller.f_code.co_filename):
        return  # it has not left atoll yet
    if config.traceback == "full":
        return
    if is_defect(error):
        if DEFECT not in getattr(error, "__notes__", ()):
            error.add_note(DEFECT)
        return
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        while current.__context__ is not None and _was_caught_inside(current.__context__):
            if current.__context__ is current.__cause__:
                break
            current.__context__ = current.__context__.__context__
        current.__traceback__ = without_ours(current.__traceback__)
        current = current.__cause__ or current.__context__


def note_recording(error: BaseException, site: Site | None) -> None:
    """Name the line that recorded an operation in the error of its evaluation, which another line has asked for."""
    recorded, asked = site_text(site), user_line()
    if recorded and recorded != asked and recorded not in str(error):
        error.add_note(
            f"The operation was recorded at {recorded}, and computed when {asked} needed its value."
        )


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of atoll."""
    kept = [entry for entry in _entries(traceback) if not _is_ours(entry)]
    following = None
    for entry in reversed(kept):
        entry.tb_next = following
        following = entry
    return following


def is_defect(error: BaseException) -> bool:
    """True if only a defect of atoll explains an error: Python itself has raised it in a function of atoll's."""
    last = None
    for entry in _entries(error.__traceback__):
        last = entry
    if last is None or isinstance(error, AtollError | KeyboardInterrupt | SystemExit):
        return False
    if not _is_ours(last):
        return last.tb_frame.f_globals.get("__name__", "").partition(".")[0] in _COMPILER
    operation = _operation(last)
    if operation in ("RAISE_VARARGS", "RERAISE"):
        return isinstance(error, AssertionError | NotImplementedError)
    if isinstance(error, _DEFECTS):
        return True
    text = str(error)
    if isinstance(error, TypeError | IndexError) and _DEFECTIVE.search(text):
        return True
    return (
        isinstance(error, TypeError)
        and operation != "CALL_FUNCTION_EX"
        and bool(_ARGUMENTS.search(text))
    )


def _was_caught_inside(error: BaseException) -> bool:
    """True if atoll has caught an error: then the outermost frame that it has passed is atoll's."""
    return error.__traceback__ is None or _is_ours(error.__traceback__)


def _is_ours(entry: TracebackType) -> bool:
    code = entry.tb_frame.f_code
    if code.co_filename == "<string>":  # what dataclasses write
        return str(entry.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == _PACKAGE
    return is_ours(code.co_filename)


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _operation(entry: TracebackType) -> str:
    """The name of the instruction that has failed."""
    code, place = entry.tb_frame.f_code.co_code, entry.tb_lasti
    while place > 0 and opname[code[place]] == "CACHE":
        place -= 2
    return opname[code[place]]


# -- which functions are public

_QUIET = frozenset({
    "__class__", "__init_subclass__", "__class_getitem__", "__array_finalize__", "__sizeof__", "__reduce__", "__new__",
    "__hash__", "__eq__", "__ne__", "__del__", "__post_init__", "__set_name__", "__float__", "__int__", "__complex__", "__bool__",
    "__index__", "settings",
})  # fmt: skip
"""Methods that do not fail, or that call :func:`..front.leave_with` themselves."""
_ATTRIBUTES = frozenset({
    "ndim", "shape", "dtype", "size", "itemsize", "nbytes", "rank", "real", "imag", "flat", "base", "flags", "small", "threads",
})  # fmt: skip
"""Attributes that do not fail when they are read."""


def guarded(value: Any) -> Any:
    """A public value: a function of atoll's is a boundary, and so are the methods of a class, or of an object's class."""
    if isinstance(value, FunctionType | MethodType):
        ours = type(value) is FunctionType and is_ours(value.__code__.co_filename)
        return _guarded_function(value) if ours else value
    for kind in (value if isinstance(value, type) else type(value)).__mro__:
        ours = kind.__module__.partition(".")[0] == _PACKAGE
        if ours and kind.__flags__ & _HEAP_TYPE and not issubclass(kind, _DATA):
            _guard_class(kind)
    return value


def _guarded_function(function: Any) -> Any:
    public: Any = boundary(function)
    name, home = function.__name__, sys.modules.get(function.__module__)
    if getattr(home, name, None) is function:  # pickle looks there
        setattr(home, name, public)
    return public


def _guard_class(kind: type) -> None:
    """Let the public methods and properties of a class end here."""
    for name, value in list(vars(kind).items()):
        if name in _QUIET or (name.startswith("_") and not name.endswith("__")):
            continue
        if type(value) is FunctionType:
            setattr(kind, name, boundary(value))
        elif type(value) is classmethod or type(value) is staticmethod:
            setattr(kind, name, type(value)(boundary(value.__func__)))
        elif type(value) is property:
            ways: list[Any] = [value.fget, value.fset, value.fdel]
            get, put, remove = [way and boundary(way) for way in ways]
            get = value.fget if name in _ATTRIBUTES else get
            setattr(kind, name, property(get, put, remove, value.__doc__))


def guard(module: ModuleType) -> None:
    """Let the public functions and classes of a module, or of the modules below it, end here."""
    for name, value in list(vars(module).items()):
        home = str(getattr(value, "__module__", ""))
        if not name.startswith("_") and f"{home}.".startswith(f"{module.__name__}."):
            setattr(module, name, guarded(value))


register_shortening(shorten)
