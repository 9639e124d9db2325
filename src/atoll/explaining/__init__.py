"""``atoll.explain``: the computation of a value, explained without computing it.

A pending value is planned as in its evaluation, except that kernels are not compiled; a known plan is reused. Memory keeps a
reference to the program that computed it, so computed values can be explained, too. This module never communicates: each
rank explains its own share.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ..context.threads import turn
from ..errors import a_type
from ..execute.program import Program
from ..graph.geometry import shape_text
from ..graph.node import Node
from ..graph.words import view_text
from ..lazy.evaluation import computed_by, look_up, stored_too
from ..lazy.planning import make_program
from ..lazy.replication import reason_of
from ..lazy.views import Handle
from ..plan.samples import Sample
from .facts import Access as Access
from .facts import Collective as Collective
from .facts import Explanation as Explanation
from .facts import Group as Group
from .facts import Launch as Launch
from .facts import Memory as Memory
from .facts import Message as Message
from .facts import Stored as Stored
from .reading import Planned, Reader


def explain(x: Any) -> Explanation:
    """Explain how the value of an array is, or was, computed.

    For a pending value the explanation shows the planned evaluation; for a computed value, the past one. A
    scalar such as ``x.sum()`` is computed at the call: ``explain(x.sum)`` explains the call. Any function without
    arguments is called, up to its first evaluation. The explanation prints as text, and has fields: stored values and
    groups of loops, with reasons; kernels; memory; messages.
    """
    if isinstance(x, np.generic):
        raise TypeError(
            f"explain: {a_type(x)} is a number, computed at the call; explain the function that returns it, explain(x.sum) or explain(lambda: x.sum())"
        )
    if not isinstance(x, Handle) and callable(x):
        return _explain_call(x)
    if not isinstance(x, Handle):
        raise TypeError(
            f"explain: needs an atoll array or a function that returns one, not {a_type(x)}"
        )
    small = x._np
    if small is not None:
        what = f"{shape_text(small.shape)} {small.dtype}"
        return _without_program(what, "small")
    node = x._cell.node
    what = _what(x, node)
    if node.value is None:
        with turn.lock:
            return _explain_pending([node], what)
    program: Program | tuple[Any, ...] | None = node.value.program
    if program is None:
        return _without_program(what, "data")
    return Reader(_readable(program), None).explanation(what, "evaluated", "")


def _readable(program: Program | tuple[Any, ...]) -> Program:
    """The program with its description: a program that was bound to slices is planned again. In a tuple the program comes first,
    before the geometries and the places to which the native evaluation bound it."""
    if isinstance(program, tuple):
        described: Program = program[0].plan.described(Sample(*program[1:]), Planned)
        return described
    return program if program.described is None else program.described(Planned)


def _what(x: Any, node: Node) -> str:
    geometry = x._geometry
    text = f"{shape_text(geometry.shape)} {geometry.dtype}"
    if not geometry.is_base:
        text += f", the view {view_text(geometry)} of {shape_text(node.geometry.shape)}"
    return ", ".join(filter(None, (text, reason_of(node))))


def _without_program(what: str, state: str) -> Explanation:
    return Explanation(what, state, "", 0, (), (), (), 0, 0, 1)


class _Explained(BaseException):
    """Raised to end a call at its first evaluation."""


def _explain_call(function: Callable[[], Any]) -> Explanation:
    explanation: Explanation | None = None

    def stop(wanted: list[Node]) -> None:
        nonlocal explanation
        if (
            explanation is None
        ):  # else the call goes on after its first evaluation, as in a ``finally``
            geometry = wanted[0].geometry
            explanation = _explain_pending(wanted, f"{shape_text(geometry.shape)} {geometry.dtype}")
        raise _Explained

    with suppress(_Explained), computed_by(stop):
        function()
    return explanation or _without_program("a call that looks at nothing", "small")


def _explain_pending(nodes: list[Node], what: str) -> Explanation:
    roots = [*nodes, *stored_too(nodes)]
    plan = look_up(roots)
    if plan.program is not None:
        reader = Reader(_readable(plan.program), plan.scalars)
        return reader.explanation(what, "pending", "known")
    program = make_program(plan, roots, Planned)
    return Reader(program, plan.scalars).explanation(what, "pending", "new")
