"""Makes warnings name the line of the user's program.

NumPy warns from compiled code, and Python blames the running function: with a small array that is a line of atoll, and
since Python shows a warning once per line, all but the first of a program would be lost. A check at each operation
would cost more than the operation. So atoll puts one filter in front of the others. Python consults the filters only
when a warning is issued, and compares their text, module and category. The filter records the three, and if the module
is one of atoll's, it issues the same warning for the user's line, by the other filters, and ignores the first one.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .call_sites import Site, line_of
from .sources import ROOT

_PACKAGE = __name__.partition(".")[0]
_collecting: Any = getattr(warnings, "_showwarnmsg_impl", None)
_shown: Any = warnings.showwarning
filters_changed: Callable[[], None] = getattr(warnings, "_filters_mutated", lambda: None)
"""What Python requires after a change of the list of filters."""


class _Heard(threading.local):
    """The last lookup, and whether atoll is issuing a warning."""

    text = ""
    ours = False
    busy = False


_heard = _Heard()


class _Pattern:
    """Stands for a compiled pattern. The pattern of a copy of the filter, as scikit-learn makes of all filters, matches nothing."""

    pattern, flags = "(?!)", 0


class _Text(_Pattern):
    """Stands for a pattern of texts: takes each down."""

    def match(self, text: str) -> bool:
        _heard.text = text
        return True

    def __reduce__(self) -> str:
        return "TEXT"


class _Module(_Pattern):
    """Stands for a pattern of modules: those of this package."""

    def match(self, module: str) -> bool:
        package, point, _ = module.partition(".")
        _heard.ours = package == _PACKAGE and bool(point)
        return _heard.ours

    def __reduce__(self) -> str:
        return "MODULE"


class _Retelling(type):
    """Has the warnings that were given again for the user's line for subclasses of its class."""

    def __subclasscheck__(cls, category: type) -> bool:
        ours, _heard.ours = _heard.ours, False  # a copy of the filter asks without the module
        if _heard.busy or not ours:
            return False
        _heard.busy = True
        try:
            return _retold(_heard.text, category)
        finally:
            _heard.busy = False


class Retold(Warning, metaclass=_Retelling):
    """Stands for a class of warnings: those that were given again for the user's line."""


TEXT, MODULE = _Text(), _Module()
_FILTER: Any = ("ignore", TEXT, Retold, MODULE, 0)
_site_of: list[Callable[[FrameType], Site | None]] = []


def register_sites(find: Callable[[FrameType], Site | None]) -> None:
    """Let ``find`` say, for a frame in which something recorded is computed, which line recorded it."""
    _site_of.append(find)


def come_first() -> None:
    """Put our filter in front of the others."""
    filters: Any = warnings.filters
    if not filters or filters[0] is not _FILTER:
        filters.insert(0, _FILTER)
        filters_changed()


def is_collecting() -> bool:
    """Whether warnings are collected instead of shown."""
    return (
        getattr(warnings, "_showwarnmsg_impl", None) is not _collecting
        or warnings.showwarning is not _shown
    )


def _retold(text: str, category: type[Warning]) -> bool:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith(ROOT):
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename.startswith(ROOT):
        for find in _site_of:
            site = find(frame)
            if site is not None:
                warn_at(site, text, category)
                return True
        frame = frame.f_back
    if frame is None:
        return False
    _warn(text, category, frame.f_code, frame.f_lineno, frame.f_globals)
    return True


def warn_at(site: Site, text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Give a warning for a call site: the line that NumPy would name, even in a package."""
    code, instruction = site[0], site[1]
    _warn(text, category, code, line_of(code, instruction), _globals_of(code))


def _warn(
    text: str, category: type[Warning], code: CodeType, line: int, names: dict[str, Any]
) -> None:
    warnings.warn_explicit(
        text,
        category,
        code.co_filename,
        line,
        names.get("__name__") or "<unknown>",
        names.setdefault("__warningregistry__", {}),
    )


_elsewhere: dict[str, dict[str, Any]] = {}


def _globals_of(code: CodeType) -> dict[str, Any]:
    """The names of the module that a piece of code belongs to."""
    name = code.co_filename
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == name:
            return frame.f_globals
        frame = frame.f_back
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == name:
            return module.__dict__
    return _elsewhere.setdefault(name, {"__name__": name.removesuffix(".py")})


come_first()
