"""Callees: the function that a frame calls with one argument, from the names in its bytecode and their values.

A protocol such as ``__array__`` or the buffer protocol does not name the function that requests the array. If this module
does not know the instructions, the answer is ``None``.
"""

from __future__ import annotations

import dis
import sys
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType, ModuleType
from typing import Any

from .caches import Memo
from .call_sites import calling_frame

_Names = tuple[str, ...]
_names: Memo[tuple[int, int], tuple[CodeType, _Names]] = Memo()
"""The names ``a``, ``b``, ``c`` of a call ``a.b.c(x)``, by the code object's ``id`` and the instruction; empty for other calls."""


def callee_of_one() -> Any:
    """The function or class that the first frame outside atoll calls with one argument, or ``None``."""
    frame = calling_frame(sys._getframe(1))
    if frame is None:
        return None
    return _value(frame, _known_names(frame.f_code, frame.f_lasti))


def _known_names(code: CodeType, instruction: int) -> _Names:
    known = _names.get((id(code), instruction))
    if known is None or known[0] is not code:
        known = _names[id(code), instruction] = code, _names_called(code, instruction)
    return known[1]


def global_names(code: CodeType, instruction: int) -> _Names | None:
    """The names of a call, which the native front looks up; ``None`` if the first name is local to a function."""
    names = _known_names(code, instruction)
    return None if names and _is_local(code, names[0]) else names


def _is_local(code: CodeType, name: str) -> bool:
    return bool(code.co_flags & CO_OPTIMIZED) and name in (
        *code.co_varnames, *code.co_cellvars, *code.co_freevars,
    )  # fmt: skip


def _value(frame: FrameType, names: _Names) -> Any:
    """The value of ``a.b.c``; ``None`` for properties, which would run code."""
    if not names:
        return None
    first, *rest = names
    code = frame.f_code
    if not code.co_flags & CO_OPTIMIZED:  # a module, whose names are a dictionary
        value = frame.f_locals.get(first)
    elif _is_local(code, first):
        value = _local(frame, first)
    else:
        value = None
    if value is None:
        value = frame.f_globals.get(first)
    for name in rest:
        if isinstance(value, ModuleType):
            value = getattr(value, name, None)
        else:
            value = getattr(value, "__dict__", {}).get(name)
    return value


def _local(frame: FrameType, name: str) -> Any:
    """The value of a local name. Before Python 3.13 a frame keeps the copy of its locals, and their values with it."""
    names = frame.f_locals
    value = names.get(name)
    if (
        type(names) is dict and sys.getrefcount(names) <= _OF_THE_FRAME
    ):  # not a result of ``locals()``
        names.clear()
    return value


_OF_THE_FRAME = 3
"""References to a copy of locals from outside the program: by the frame, by a name here, and by ``getrefcount``."""


_NOT_OF_THE_STACK = ("CACHE", "PRECALL", "PUSH_NULL", "EXTENDED_ARG", "RESUME")


def _names_called(code: CodeType, place: int) -> _Names:
    before: list[dis.Instruction] = []
    call = None
    for instruction in dis.get_instructions(code):
        if instruction.offset == place:
            call = instruction
            break
        if instruction.opname not in _NOT_OF_THE_STACK:
            before.append(instruction)
    if call is None or call.opname not in ("CALL", "PRECALL") or call.arg != 1:
        return ()
    wanted = 1  # the argument, from its last instruction backwards
    while before and wanted > 0:
        wanted -= _pushed(before.pop())
    return () if wanted else _chain(before)


_PUSHED = {"LOAD_METHOD": 0, "LOAD_GLOBAL": 1}
"""Values that these push onto the stack, without the empty slot that a call consumes with its function, as ``PUSH_NULL`` pushes."""


def _pushed(instruction: dis.Instruction) -> int:
    name, argument = instruction.opname, instruction.arg
    if name in ("CALL", "CALL_KW"):
        return -(argument or 0) - (name == "CALL_KW")
    if name == "LOAD_ATTR" or name in _PUSHED:
        return _PUSHED.get(name, 0)
    if instruction.opcode >= dis.HAVE_ARGUMENT:
        return dis.stack_effect(instruction.opcode, argument, jump=False)
    return dis.stack_effect(instruction.opcode)


def _chain(before: list[dis.Instruction]) -> _Names:
    """The names of the value on top of the stack, if it is a name or an attribute of one."""
    names: list[str] = []
    while before:
        instruction = before.pop()
        name = instruction.argval
        if isinstance(name, tuple):  # two instructions as one: the second loads the name
            name = name[-1]
        if not isinstance(name, str) or "LOAD_" not in instruction.opname:
            return ()
        names.append(name)
        if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            return tuple(reversed(names))
    return ()
