"""Call sites: the places in the user's program that call atoll.

A call site is a code object and an instruction in it. Two calls on one line differ by their instruction. A call site in
an installed package has the line of the user's program with it, from which the package was called: texts name that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from opcode import opmap
from types import CodeType, FrameType
from typing import Any

from ..front import native
from .caches import Memo
from .sources import is_ours, is_users, place_text

Line = tuple[CodeType, int]
Site = Line | tuple[CodeType, int, Line]

INSTALLED = "installed"
_origins: Memo[str, bool | str] = Memo()
"""By file: ``False`` for files of the user, ``True`` for files of atoll, ``INSTALLED`` for files of packages."""


def origin(file: str) -> bool | str:
    """The owner of a file, as in ``_origins``."""
    known = _origins.get(file)
    if known is None:
        known = _origins[file] = is_ours(file) or (not is_users(file) and INSTALLED)
    return known


def site_from(frame: FrameType | None) -> Site | None:
    """The first line outside atoll, from a frame outwards; if it is in a package, with the user's line."""
    known = _origins.get
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        kind = known(file)
        if kind is None:
            kind = origin(file)
        if kind is False:
            return code, frame.f_lasti
        if kind is INSTALLED:
            user = user_frame(frame)
            here = code, frame.f_lasti
            return here if user is frame or user is None else (*here, (user.f_code, user.f_lasti))
        frame = frame.f_back
    return None


def _user_site() -> Site | None:
    return site_from(sys._getframe(2))


user_site: Callable[[], Site | None] = _user_site if native is None else native.site
"""The current call site: the line of the user's program that called atoll."""


def calling_frame(frame: FrameType | None) -> FrameType | None:
    """The first frame outside atoll, from a frame outwards."""
    while frame is not None and origin(frame.f_code.co_filename) is True:
        frame = frame.f_back
    return frame


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """The frame of the user's line: the first outside atoll and installed packages, from a frame (or the caller's) outwards.

    A program that is itself installed has no such frame. The result is then the first frame outside atoll.
    """
    first = frame = calling_frame(frame or sys._getframe(1))
    while frame is not None:
        if origin(frame.f_code.co_filename) is False:
            return frame
        frame = frame.f_back
    return first


def user_line() -> str:
    """The user's line as text, in the form of :func:`site_text`; empty if atoll was not called from Python."""
    frame = user_frame(sys._getframe(1))
    return "" if frame is None else place_text(frame.f_code.co_filename, frame.f_lineno)


def line_in_program(site: Site) -> Line:
    """The user's line of a call site, which may be in a package."""
    return site[2] if len(site) == 3 else site


_numbered: Memo[int, tuple[CodeType, int, frozenset[int]]] = Memo()
_PRECALL = opmap.get("PRECALL", -1)
"""Python 3.11 calls in two instructions, or in the first of them alone once it has specialised it: one call site."""


def site_number(site: Site | None) -> int:
    """A number for a call site: equal for code that is compiled from the same line again.

    It is computed from text, so that ranks agree on sites whatever code objects each has dropped.
    """
    if site is None:
        return 0
    code, instruction = site[0], site[1]
    known = _numbered.get(id(code))
    if known is None or known[0] is not code:
        number = hash((code.co_filename, code.co_qualname, code.co_firstlineno))
        places = [2 * k for k, operation in enumerate(code.co_code[::2]) if operation == _PRECALL]
        known = _numbered[id(code)] = code, number, frozenset(places)
    return known[1] + instruction + (4 if instruction in known[2] else 0)


def instructions(site: Site) -> tuple[int, ...]:
    """The instructions at which a frame may be when it calls from a call site."""
    site_number(site)
    code, instruction = site[0], site[1]
    first = _numbered[id(code)][2]
    if instruction in first:
        return instruction, instruction + 4
    return (instruction, instruction - 4) if instruction - 4 in first else (instruction,)


def line_of(code: Any, instruction: int) -> int:
    """The line of an instruction in a code object."""
    for start, stop, line in code.co_lines():
        if start <= instruction < stop and line is not None:
            return int(line)
    return int(code.co_firstlineno)


def site_text(site: Site | None) -> str:
    """The user's line of a call site: ``program.py:7``, in a notebook ``Cell In[3], line 2``."""
    if site is None:
        return ""
    code, instruction = line_in_program(site)
    return place_text(code.co_filename, line_of(code, instruction))
