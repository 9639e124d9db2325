"""Expressions: where the value of a subscript goes in the statement that has it, from the bytecode.

The value of ``a[m]`` in ``a[m] = np.sqrt(a[m]) + b[m]`` goes through arithmetic into elements under the same key: no variable ever has
it. So nothing but the assignment reads it.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Mapping
from types import CodeType, ModuleType
from typing import Any

from .caches import Memo
from .call_sites import Site, calling_frame

_assigned: Memo[tuple[int, int], tuple[CodeType, bool]] = Memo()
"""By the code object's ``id`` and the instruction of a subscript: whether arithmetic makes of it what elements under its key get."""
_SUBSCRIPT = "BINARY_SUBSCR"
_SHALLOW = 8
"""Values below those of an expression, which it does not touch."""
_WITHOUT_EFFECT = ("CACHE", "PRECALL", "EXTENDED_ARG", "NOP", "UNARY_NEGATIVE", "UNARY_INVERT")
_TAKEN = {"BINARY_OP": 2, "COMPARE_OP": 2, _SUBSCRIPT: 2, "BINARY_SLICE": 3}
"""How many values these take from the stack."""
_LOCAL = "a local name"
_Value = bool | tuple[str, ...]
"""A value on the stack: true if it is the subscript's or made of it, else the names that it was loaded by, if it was."""


def is_assigned(site: Site | None) -> bool:
    """True if a call site, which is at work, is a subscript whose value goes only through arithmetic and functions of NumPy into elements
    that the same statement assigns by the same key, which is a name."""
    if site is None:
        return False
    code, place = site[:2]
    known = _assigned.get((id(code), place))
    if known is None or known[0] is not code:
        frame = calling_frame(sys._getframe(1))
        names = {} if frame is None or frame.f_code is not code else frame.f_globals
        known = _assigned[id(code), place] = code, _goes_into_elements(code, place, names)
    return known[1]


def _goes_into_elements(code: CodeType, place: int, names: Mapping[str, Any]) -> bool:
    """True if the value of the subscript at an instruction goes only into elements that are assigned by its key."""
    instructions = list(dis.get_instructions(code))
    at = max([k for k, each in enumerate(instructions) if each.offset <= place], default=0)
    first = at
    while first and _is_of_expression(_kind(instructions[first - 1])):
        first -= 1
    stack: list[_Value] = [()] * _SHALLOW
    before = all(_apply(each, stack, names) for each in instructions[first:at])
    if not before or _kind(instructions[at]) != _SUBSCRIPT:
        return False
    key = stack[-1]
    stack[-2:] = [True]
    for instruction in instructions[at + 1 :]:
        kind = _kind(instruction)
        if kind == "STORE_SUBSCR":
            return bool(key) and stack[-1] == key and stack.pop(-3) is True and True not in stack
        if not (_is_of_expression(kind) and _apply(instruction, stack, names)):
            return False
    return False


def _kind(instruction: dis.Instruction) -> str:
    """The name of an instruction; a subscript is an operator from Python 3.14 on."""
    name = instruction.opname
    return _SUBSCRIPT if name == "BINARY_OP" and instruction.argrepr == "[]" else name


def _is_of_expression(kind: str) -> bool:
    others = ("COPY", "SWAP", "CALL", "PUSH_NULL", "BUILD_SLICE", "BUILD_TUPLE")
    return kind.startswith("LOAD_") or kind in (*others, *_WITHOUT_EFFECT, *_TAKEN)


def _apply(instruction: dis.Instruction, stack: list[_Value], names: Mapping[str, Any]) -> bool:
    """Do to the stack as an instruction of an expression does; False if something else than arithmetic gets the subscript's value."""
    kind, argument = _kind(instruction), instruction.arg or 0
    if len(stack) <= argument and kind in ("COPY", "SWAP", "CALL", "BUILD_TUPLE"):
        return False
    if kind in _WITHOUT_EFFECT:
        return True
    if kind == "COPY":
        stack.append(stack[-argument])
        return True
    if kind == "SWAP":
        stack[-1], stack[-argument] = stack[-argument], stack[-1]
        return True
    if kind in ("LOAD_ATTR", "LOAD_METHOD"):
        base = stack.pop()
        name = instruction.argval
        loaded: _Value = (*base, name) if isinstance(base, tuple) and base else ()
        stack += [loaded] * (2 + _effect(instruction) - 1)
        return base is not True
    if kind.startswith("LOAD_") or kind == "PUSH_NULL":
        stack += _loaded(kind, instruction)
        return True
    count = _TAKEN.get(kind, argument + 2 * (kind == "CALL"))
    taken = [stack.pop() for _ in range(count)]
    is_given = True in taken
    arithmetic = kind in ("BINARY_OP", "COMPARE_OP")
    if kind == "CALL":
        arithmetic = any(_is_of_numpy(each, names) for each in taken[-2:])
    stack.append(is_given or ())
    return arithmetic or not is_given


def _loaded(kind: str, instruction: dis.Instruction) -> list[_Value]:
    """What a load pushes: names of variables, or values without one."""
    name, count = instruction.argval, _effect(instruction)
    if kind.startswith(("LOAD_FAST", "LOAD_DEREF")):
        return [(_LOCAL, each) for each in ([name] if isinstance(name, str) else name)]
    return [(name,) if kind in ("LOAD_GLOBAL", "LOAD_NAME") else ()] * count


def _effect(instruction: dis.Instruction) -> int:
    has_argument = instruction.opcode >= dis.HAVE_ARGUMENT
    return dis.stack_effect(
        instruction.opcode, instruction.arg if has_argument else None, jump=False
    )


def _is_of_numpy(value: _Value, names: Mapping[str, Any]) -> bool:
    """True if the names of a value are those of a function of NumPy or atoll, or of ``abs``."""
    if not isinstance(value, tuple) or not value:
        return False
    first = names.get(value[0], getattr(builtins, value[0], None))
    if first is abs:
        return len(value) == 1
    return isinstance(first, ModuleType) and first.__name__.partition(".")[0] in ("atoll", "numpy")
