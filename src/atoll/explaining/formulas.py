"""A kernel in the form of assignments: its operands and its body.

An operand is a pointer and a byte stride per loop. Offset and strides are decomposed by the strides of the memory, as
digits of a number. The result is the region of the array that the loops cover; adding the first index of this rank's share
gives a region of the whole array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backend.spec import KernelSpec, arguments
from ..graph.geometry import Geometry
from ..graph.words import key_text, scalar_text, slice_text
from ..layout import IndexSet
from ..plan.description import RegisterNote
from ..plan.launches import Launch

_INFIX = {
    "add": ("+", 6), "subtract": ("-", 6), "multiply": ("*", 7), "divide": ("/", 7), "floor_divide": ("//", 7),
    "remainder": ("%", 7), "power": ("**", 9), "less": ("<", 4), "less_equal": ("<=", 4), "greater": (">", 4),
    "greater_equal": (">=", 4), "equal": ("==", 4), "not_equal": ("!=", 4), "logical_and": ("and", 2),
    "logical_or": ("or", 1), "bitwise_and": ("&", 5), "bitwise_or": ("|", 3), "bitwise_xor": ("^", 4),
    "left_shift": ("<<", 5), "right_shift": (">>", 5),
}  # fmt: skip
_PREFIX = {"negative": ("-", 8), "invert": ("~", 8), "logical_not": ("not ", 3)}
_ATOM = 10


@dataclass(frozen=True, slots=True)
class Region:
    """The part of an array that the loops of a launch run over."""

    text: str
    bounds: tuple[tuple[int, int], ...]
    """First and last index in memory on each axis; empty if no box describes it."""


def digits(distance: int, geometry: Geometry) -> list[int] | None:
    """A distance in bytes as one index per axis, or ``None`` if no index has this distance."""
    digits_by_axis = [0] * geometry.ndim
    order = sorted(
        (k for k in range(geometry.ndim) if geometry.shape[k] > 1),
        key=lambda k: -abs(geometry.strides[k]),
    )
    for k in order:
        stride = geometry.strides[k]
        if stride <= 0:
            return None
        digits_by_axis[k], distance = divmod(distance, stride)
        if not 0 <= digits_by_axis[k] < geometry.shape[k]:
            return None
    return digits_by_axis if distance == 0 else None


def region_of(
    note: RegisterNote, offset: int, strides: Sequence[int], extents: Sequence[int]
) -> Region:
    """The region covered by loops that start ``offset`` bytes into a register and step by ``strides``."""
    local = note.local
    reach = sum(stride * (extent - 1) for stride, extent in zip(strides, extents, strict=True))
    start, end = digits(offset, local), digits(offset + reach, local)
    before = digits(note.padding, local)
    if start is None or end is None or before is None:
        return Region(f" from byte {offset}", ())
    steps = [0] * local.ndim
    for stride, extent in zip(strides, extents, strict=True):
        if stride and extent > 1:
            moved = digits(abs(stride), local)
            if moved is None or sum(map(bool, moved)) != 1:
                return Region(f" from byte {offset}, in steps of {tuple(strides)} bytes", ())
            axis = next(k for k, n in enumerate(moved) if n)
            steps[axis] = min(steps[axis], moved[axis]) if steps[axis] else moved[axis]
    whole = note.layout is None or note.layout.is_block
    parts = []
    for k in range(local.ndim):
        # a scattered share has no corner: its indices count within this rank's share
        shift = note.corner[k] - before[k]
        n = note.shape[k] if whole else local.shape[k]
        if start[k] == end[k]:
            parts.append(":" if n == 1 else str(start[k] + shift))
            continue
        step = steps[k] or 1
        count = abs(end[k] - start[k]) // step + 1
        sign = 1 if end[k] > start[k] else -1
        parts.append(slice_text(start[k] + shift, count, sign * step, n))
    text = key_text(parts) + ("" if whole else " of this rank's share")
    return Region(text, tuple([(min(a, b), max(a, b)) for a, b in zip(start, end, strict=True)]))


def sets_text(region: Sequence[IndexSet], shape: Sequence[int]) -> str:
    """A product of index sets as an index."""
    parts = []
    for part, n in zip(region, shape, strict=True):
        if not len(part):
            parts.append("0:0")
        elif part.is_contiguous:
            parts.append(slice_text(part.lowest, len(part), 1, n))
        else:
            parts.append(f"{len(part)} of {part.lowest}:{part.highest + 1}")
    return key_text(parts)


def operations_of(spec: KernelSpec) -> tuple[str, ...]:
    """The operations of the body, except for loads and stores."""
    operations = []
    for instruction in spec.body:
        if instruction.op == "call":
            operations.append(instruction.name)
        elif instruction.op == "cast":
            operations.append(f"astype {_dtype(instruction.dtype)}")
        elif instruction.op not in ("load", "store", "scalar", "const", "index"):
            operations.append(instruction.op)
    return tuple(operations)


def code_of(
    launch: Launch,
    operands: Sequence[str],
    targets: Sequence[str],
    results: Sequence[str],
    numbers: Sequence[Any] | None,
) -> tuple[str, ...]:
    """The body as lines.

    ``operands`` are the names of memory in reads, ``targets`` in writes, ``results`` the names of reductions.
    ``numbers`` are the run-time scalars of the program, if known.
    """
    spec = launch.spec
    uses = [0] * len(spec.body)
    for instruction in spec.body:
        for place in arguments(instruction):
            uses[place] += 1
    for reduction in spec.reductions:
        uses[reduction.value] += 1
    texts: list[tuple[str, int]] = []
    lines: list[str] = []
    temporaries = 0
    for number, instruction in enumerate(spec.body):
        op, args = instruction.op, [int(a.real) for a in instruction.args]
        if op == "store":
            masked = f" where {texts[args[2]][0]}" if len(args) == 3 else ""
            lines.append(f"{targets[args[0]]} = {texts[args[1]][0]}{masked}")
            texts.append(("", _ATOM))
            continue
        again = op == "load" and len(args) == 2
        text, binding = _expression(launch, number, texts, targets if again else operands, numbers)
        simple = op in ("load", "scalar", "const", "index")
        if uses[number] > 1 and not simple:
            temporaries += 1
            lines.append(f"t{temporaries} = {text}")
            text, binding = f"t{temporaries}", _ATOM
        texts.append((text, binding))
    for reduction, name in zip(spec.reductions, results, strict=True):
        lines.append(f"{name} = {reduction.op} of {texts[reduction.value][0]}")
    return tuple(lines)


def _expression(
    launch: Launch,
    number: int,
    texts: list[tuple[str, int]],
    operands: Sequence[str],
    numbers: Sequence[Any] | None,
) -> tuple[str, int]:
    """One instruction as text, and its operator precedence."""
    instruction = launch.spec.body[number]
    op, name = instruction.op, instruction.name
    if op == "const":
        return scalar_text(instruction.args[0]), _ATOM
    args = [int(a.real) for a in instruction.args]
    if op == "load":
        return operands[args[0]], _ATOM
    if op == "scalar":
        which, _, literal = launch.scalars[args[0]]
        if which < 0:
            return scalar_text(literal), _ATOM
        if numbers is None:
            return f"s{which + 1}", _ATOM
        text = scalar_text(numbers[which])
        return text, 8 if text.startswith("-") else _ATOM
    if op == "index":
        return f"index{launch.axes[args[0]][0]}", _ATOM
    if op == "call" and name in _INFIX:
        sign, binding = _INFIX[name]
        left, right = texts[args[0]], texts[args[1]]
        return f"{_bracketed(left, binding)} {sign} {_bracketed(right, binding + 1)}", binding
    if op == "call" and name in _PREFIX:
        sign, binding = _PREFIX[name]
        return sign + _bracketed(texts[args[0]], binding), binding
    called = name if op == "call" else _dtype(instruction.dtype) if op == "cast" else op
    return f"{called}({', '.join(texts[a][0] for a in args)})", _ATOM


def _bracketed(part: tuple[str, int], binding: int) -> str:
    text, own = part
    return text if own >= binding else f"({text})"


def _dtype(code: str) -> str:
    return "bool" if code == "b1" else str(np.dtype(code))


def touched(regions: Sequence[tuple[int, Region]], itemsize: Callable[[int], int]) -> int:
    """The approximate number of bytes in regions, each given with its register, with overlaps counted once."""
    hulls: dict[int, list[tuple[int, int]]] = {}
    for register, region in regions:
        hull = hulls.setdefault(register, list(region.bounds))
        for k, (low, high) in enumerate(region.bounds):
            hull[k] = (min(hull[k][0], low), max(hull[k][1], high))
    total = 0
    for register, hull in hulls.items():
        size = itemsize(register)
        for low, high in hull:
            size *= high - low + 1
        total += size
    return total
