"""Call sites: where in the user's program atoll is called.

A call site is a code object and an instruction in it. Two calls on one line differ by their instruction.
"""

from __future__ import annotations

import os
import sys
from opcode import opmap
from types import CodeType, FrameType
from typing import Any

from .caches import Memo
from .remote_stacks import ROOT as ROOT

Site = tuple[CodeType, int]

_ours: Memo[str, bool] = Memo()


def is_ours(file: str) -> bool:
    """Whether a file is one of atoll's own, which are no lines of the user's program."""
    known = _ours.get(file)
    if known is None:
        known = _ours[file] = file.startswith(ROOT)
    return known


def user_site() -> Site | None:
    """Where the user's program called atoll."""
    return site_from(sys._getframe(2))


def site_from(frame: FrameType | None) -> Site | None:
    """The first line outside atoll, from a frame outwards."""
    known = _ours.get
    if frame is not None:
        code = frame.f_code
        if known(code.co_filename) is False:
            return code, frame.f_lasti
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        ours = known(file)
        if ours is None:
            ours = is_ours(file)
        if not ours:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


_numbered: Memo[int, tuple[CodeType, int, frozenset[int]]] = Memo()
_PRECALL = opmap.get("PRECALL", -1)
"""Python 3.11 calls in two instructions, or in the first of them alone once it has specialised it: one call site."""


def site_number(site: Site | None) -> int:
    """A number for a call site: the same for code that is compiled from the same line again.

    It is computed from text, so that ranks find the same sites whatever code objects each has dropped.
    """
    if site is None:
        return 0
    code, instruction = site
    known = _numbered.get(id(code))
    if known is None or known[0] is not code:
        number = hash((code.co_filename, code.co_qualname, code.co_firstlineno))
        places = [2 * k for k, operation in enumerate(code.co_code[::2]) if operation == _PRECALL]
        known = _numbered[id(code)] = code, number, frozenset(places)
    return known[1] + instruction + (4 if instruction in known[2] else 0)


def instructions(site: Site) -> tuple[int, ...]:
    """The instructions that a frame may stand at when it calls from a call site."""
    site_number(site)
    code, instruction = site
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
    """A place in the user's program: file and line."""
    if site is None:
        return ""
    code, instruction = site
    return f"{os.path.basename(code.co_filename)}:{line_of(code, instruction)}"
