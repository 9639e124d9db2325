"""Operations that gain nothing from recording, which NumPy computes at their call.

Recording an operation, finding its plan and giving it memory costs some 20 us. Where it is computed together with
others, or is large, that is soon earned; where it is evaluated by itself and has some 10,000 elements, NumPy is
done before. Which of these it is shows only afterwards, but programs repeat themselves. So each evaluation that came
to the same as calling NumPy, or to less, gives *credit* to the lines that recorded it, and a line with credit enough is not
recorded the next times it runs. Now and then it is recorded again, to see whether this still holds: if its value has
become part of something larger meanwhile, it gets no credit any more, and stays recorded.

Which way is taken makes no difference to values: only operations count here whose every bit is settled by their
definition, so that NumPy and kernels agree. It is for a process by itself, since what is read may differ between ranks,
and for arrays of up to some times ``config.small`` elements, so that nothing is left to NumPy where that is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from .. import policy
from ..comm.world import current_world
from ..config import config
from ..context.caches import Memo
from ..context.call_sites import Site
from ..graph.node import Node
from .table import CAST

_AGREED = frozenset(
    {
        "add", "subtract", "multiply", "divide", "negative", "positive", "absolute", "square", "sqrt",
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
        "logical_and", "logical_or", "logical_xor", "logical_not",
        "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
        "isnan", "isfinite", "isinf", "signbit", "floor", "ceil", "trunc", "rint",
    }
)  # fmt: skip
_EXACT = frozenset({"maximum", "minimum", "fmax", "fmin", "sign", "bitwise_count"})
"""Agreed for whole numbers: of two zeros, say, NumPy takes the one or the other."""
_ROUNDED = frozenset({"multiply", "divide", "absolute", "square", "sqrt"})
"""Of complex numbers these depend on how memory is laid out."""
_CASTS = {"b": "?bhilqBHILQfd", "i": "?bhilqBHILQfd", "u": "?bhilqBHILQfd", "f": "?ilqfd"}
"""Which kinds are converted to which in a way that is settled wherever an element stands."""
_ENOUGH = 2


class Line:
    """What is known of a line that records an operation."""

    __slots__ = ("code", "credit", "left", "pending", "turns")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        """Held, so that its identity is not another one's."""
        self.credit = 0
        self.pending = 1
        """How often it was recorded without credit since the last one."""
        self.left = 0
        """How often it is still left to NumPy."""
        self.turns = policy.limits.ignored[0]

    def recorded(self) -> None:
        """It was recorded: if it is not the first time without credit, all is lost."""
        self.pending += 1
        if self.pending > policy.limits.pieces:
            self.pending = self.credit = 0
            self.turns = policy.limits.ignored[0]

    def credited(self) -> None:
        """What was recorded was no gain."""
        self.pending -= 1
        if self.pending > 0:
            return
        self.pending = 0
        self.credit += 1
        if self.credit >= _ENOUGH:
            self.left = self.turns
            self.turns = min(2 * self.turns, policy.limits.ignored[1])


lines: Memo[int | None, Memo[tuple[int, int], Line]] = Memo()
"""By the mark of the operation, and then by the place in the program."""


def line_at(known: dict[tuple[int, int], Line], site: Site | None) -> Line | None:
    """The line, if NumPy shall compute what it says now; else it counts as recorded."""
    if site is None:
        return None
    line = known.get((id(site[0]), site[1]))
    if line is None:
        return None
    if line.left > 0 and current_world().size == 1:
        line.left -= 1
        return line
    line.recorded()
    return None


def credit(nodes: Sequence[Node]) -> None:
    """Note that recording these was no gain."""
    if current_world().size > 1:
        return
    for node in nodes:
        site, mark = node.site, node.mark
        if site is None or mark is None:
            continue
        known = lines.get(mark)
        if known is None:
            known = lines[mark] = Memo()
        place = id(site[0]), site[1]
        line = known.get(place)
        if line is None:
            line = known[place] = Line(site[0])
        line.credited()


def without_gain(order: Sequence[Node], kept: Sequence[int]) -> list[int]:
    """Which nodes of a trace NumPy may compute at their calls in no more time than the trace takes; none if it is more.

    ``kept`` says which of them are stored.
    """
    if current_world().size > 1:
        return []
    small = config.small
    calls: list[int] = []
    spared = 0
    for place, node in enumerate(order):
        if node.op.is_view:
            if place in kept:
                return []
            continue
        if len(order) > policy.limits.pieces or not _is_agreed(node):
            return []
        calls.append(place)
        nbytes = node.geometry.size * node.geometry.dtype.itemsize
        if nbytes > policy.limits.light_bytes * small or node.geometry.size < small:
            return []
        if place not in kept:
            spared += 2 * nbytes
    return calls if spared <= policy.limits.spared_bytes * small else []


def _divides_by_number(node: Node) -> bool:
    """Whether it is a quotient that NumPy computes without dividing."""
    loop: Any = node.params[0]
    return (
        loop.name == "floor_divide" and loop.output.kind in "iu" and type(node.args[1]) is not Node
    )


def _is_agreed(node: Node) -> bool:
    """Whether NumPy and kernels compute a node alike, bit for bit, and about as quickly."""
    if node.place is not None:
        return False
    if node.op is CAST:
        return node.geometry.dtype.char in _CASTS.get(node.args[0].geometry.dtype.kind, "")
    if not node.op.is_ufunc:
        return False
    loop: Any = node.params[0]
    known = loop.name in _AGREED or (loop.name in _EXACT and loop.output.kind in "biu")
    if loop.output.char == "e" or not (known or _divides_by_number(node)):
        return False
    for arg, dtype in zip(node.args, loop.inputs, strict=True):
        if dtype.char == "e" or (dtype.kind == "c" and loop.name in _ROUNDED):
            return False
        if type(arg) is Node and arg.geometry.dtype != dtype:
            return False
    return True
