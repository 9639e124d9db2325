"""Warnings that name the line of the user's program.

NumPy warns from compiled code, and Python attributes the warning to the running Python function: with a small array that
is a line of atoll, and since Python shows a warning once per line, all but the first of a program would be lost. A check
at each operation would cost more than the operation. So atoll puts one filter in front of the others. Python consults the
filters only when a warning is issued, and compares text, module and category. The filter records the three. If the module
belongs to atoll, it re-issues the warning at the user's line, through the other filters, and ignores the original.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from .call_sites import Site, line_of
from .sources import ROOT

_PACKAGE = __name__.partition(".")[0]
_collecting: Any = getattr(warnings, "_showwarnmsg_impl", None)
_shown: Any = warnings.showwarning
filters_changed: Callable[[], None] = getattr(warnings, "_filters_mutated", lambda: None)
"""Tell Python that the list of filters has changed."""


class _Heard(threading.local):
    """The last lookup; ``busy`` is True while atoll issues a warning."""

    text = ""
    package = ""
    busy = False


_heard = _Heard()


class _Pattern:
    """Stands for a compiled pattern. In a copy of the filter, as scikit-learn makes of all filters, the pattern matches nothing."""

    pattern, flags = "(?!)", 0


class _Text(_Pattern):
    """Stands for a pattern of texts: records each text, and matches it."""

    def match(self, text: str) -> bool:
        _heard.text = text
        return True

    def __reduce__(self) -> str:
        return "TEXT"


class _Module(_Pattern):
    """Stands for a pattern of modules: matches those of this package and of NumPy."""

    def match(self, module: str) -> bool:
        package, point, _ = module.partition(".")
        _heard.package = package if point and package in (_PACKAGE, "numpy") else ""
        return bool(_heard.package)

    def __reduce__(self) -> str:
        return "MODULE"


class _Retelling(type):
    """Metaclass whose subclass check re-issues a warning at the user's line, and is True if it did."""

    def __subclasscheck__(cls, category: type) -> bool:
        package, _heard.package = _heard.package, ""  # a copy of the filter lacks the module
        if _heard.busy or not package:
            return False
        _heard.busy = True
        try:
            return _retold(_heard.text, category, ours=package == _PACKAGE)
        finally:
            _heard.busy = False


class Retold(Warning, metaclass=_Retelling):
    """Stands for a class of warnings: those re-issued at the user's line."""


TEXT, MODULE = _Text(), _Module()
_FILTER: Any = ("ignore", TEXT, Retold, MODULE, 0)
Line = tuple[str, int, str]
"""A line of the program: file, number, module."""

Keep = Callable[[str, type[Warning], Line], None]
"""A function that stores a warning for later."""

_site_of: list[Callable[[FrameType], Site | None]] = []
_kept_by: list[Callable[[FrameType], Keep | None]] = []


def register_sites(find: Callable[[FrameType], Site | None]) -> None:
    """Register ``find``, which maps a frame that computes a recorded operation to the call site that recorded it."""
    _site_of.append(find)


def register_keeping(find: Callable[[FrameType], Keep | None]) -> None:
    """Register ``find``, which maps a frame in which ranks compute together to the function that stores this rank's warnings."""
    _kept_by.append(find)


def come_first() -> None:
    """Put atoll's filter in front of the others."""
    filters: Any = warnings.filters
    if not filters or filters[0] is not _FILTER:
        filters.insert(0, _FILTER)
        filters_changed()


def is_collecting() -> bool:
    """True if warnings are collected instead of shown."""
    return (
        getattr(warnings, "_showwarnmsg_impl", None) is not _collecting
        or warnings.showwarning is not _shown
    )


def _retold(text: str, category: type[Warning], *, ours: bool) -> bool:
    """Issue or store a warning at the line of the program; a warning at a line of NumPy is only stored."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith(ROOT):
        frame = frame.f_back
    site: Site | None = None
    keep: Keep | None = None
    while frame is not None and frame.f_code.co_filename.startswith(ROOT):
        for find in _site_of:
            site = site or find(frame)
        for kept_by in _kept_by:
            keep = keep or kept_by(frame)
        frame = frame.f_back
    if (site is None and frame is None) or not (ours or keep):
        return False
    if site is not None:
        line = line_at(site)
    else:
        assert frame is not None
        line = frame.f_code.co_filename, frame.f_lineno, _name_in(frame.f_globals)
    (keep or warn_in)(text, category, line)
    return True


def warn_at(site: Site, text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Issue a warning for a call site: the line that NumPy would name, even in a package."""
    warn_in(text, category, line_at(site))


def line_at(site: Site) -> Line:
    """The line of a call site."""
    code, instruction = site[0], site[1]
    file = code.co_filename
    return file, line_of(code, instruction), _name_in(_globals_of(file))


def _name_in(names: dict[str, Any]) -> str:
    return names.get("__name__") or "<unknown>"


def warn_in(text: str, category: type[Warning], line: Line) -> None:
    """Issue a warning for a line."""
    registry = _globals_of(line[0]).setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, category, *line, registry)


_elsewhere: dict[str, dict[str, Any]] = {}


def _globals_of(name: str) -> dict[str, Any]:
    """The globals of the module whose code is in a file."""
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
