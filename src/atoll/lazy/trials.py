"""Trials: whether a loop is quicker where its operations are recorded, or where NumPy computes them at the call.

Recording an operation, finding its plan and giving it memory has a cost, and loops of kernels gain where they spare memory, or run on
several threads. Which is more cannot be known beforehand, so both ways are tried. A :class:`Loop` is the call sites whose
operations are evaluated together. One of these call sites, its *anchor*, counts the turns of the loop (``_native/trials.c``). Some turns are
timed while the operations are recorded, some while the native front lets NumPy compute them, in alternation, so that a program whose
slices change has slices of about the same size in both; what counts is the time of a turn as a whole, for each element that the anchor handles.
Turns in which something is planned, compiled or taken from the system are timed again, some times.
Then the loop goes the quicker way, and is tried again, each time a while later, so that a program whose phases change adapts, and trials
take a small part of its time. One loop is tried at a time: what the others do is the same on both ways.

A loop belongs to its call sites, with operands of one magnitude, whatever their slices are. Only operations count that NumPy
and kernels compute alike, bit for bit, and only in a process by itself: ranks must not differ.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import thread_time_ns
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import policy
from ..comm.world import current_world
from ..config import config
from ..context import statistics
from ..context.call_sites import Site, instructions, site_number
from ..front import TimedLoop, TimedTrace, native
from ..graph.node import Node
from .profiles import alone


class Call(NamedTuple):
    """A node of a trace that NumPy could compute at its call, with the same bits."""

    place: int
    """In the trace."""
    site: Site
    operation: Any
    """The ufunc, or the name of what is none."""
    types: tuple[int, int]
    """The numbers of the operands' dtypes; -1 for a number, -2 where there is no operand."""
    size: int
    """Elements of the largest array that it reads or makes."""
    read: int
    """Elements of the largest array that it reads."""
    time: float
    """Nanoseconds that NumPy takes at least."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What a loop knows it by."""
        return site_number(self.site), self.operation, *self.types, magnitude(self.size)


def magnitude(size: int) -> int:
    """What arrays of about one size have in common; ``_native/eager.c`` computes the same."""
    return size.bit_length() // 2


class Loop(TimedLoop):
    """The call sites of a loop, and what its turns take both ways."""

    __slots__ = (
        "asked",
        "before",
        "begun",
        "best",
        "expected",
        "handled",
        "keys",
        "known",
        "latest",
        "length",
        "medium",
        "phases",
        "prepared",
        "seen",
        "settled",
        "spans",
        "spoiled",
        "started",
        "thread",
        "unheard_keys",
        "visits",
        "warming",
    )
    tried: ClassVar[Loop | None] = None
    """The loop of the process that is tried now."""
    recorded: ClassVar[set[Loop]] = set()
    """Those over arrays of medium size that are recorded, or were until their latest trial: their call sites count until another one."""

    def __init__(self, medium: bool) -> None:
        self.medium = medium
        """Whether its arrays are of medium size: such a loop begins with NumPy."""
        self.keys: dict[Any, Any] = {}
        """The call sites, each with the key by which the native front knows it."""
        self.unheard_keys: set[Any] = set()
        """Those that the native front does not see: their operation is part of a function of atoll's."""
        self.visits = 1
        """How often the anchor is visited in a turn."""
        self.expected = 0.0
        """Nanoseconds that NumPy takes at least, for each element that the anchor handles."""
        self.settled = self.eager = medium
        """Whether NumPy computes, as long as nothing is tried."""
        self.length = policy.limits.ignored[0]
        """After how many turns it is tried again, at most."""
        self.known = False
        """Whether a trial was decided."""
        self.begun, self.handled = 0, 0.0
        """When the trial began, and how many elements the anchor has handled since."""
        self.asked = 0
        """How often this loop has waited for another one's trial that did not go on."""
        self.seen: Any = None
        """How far that trial was."""
        self.best = [0.0, 0.0]
        self.phases = self.spoiled = 0
        self.prepared = 0
        """How much had been planned, compiled and taken from the system when the phase began: one in which there was more is repeated
        some times."""
        self.warming = False
        """Whether these turns only lead over from the other way."""
        self.started, self.latest, self.thread = 0, 0, 0
        self.before = 0.0
        """What the anchor had handled at the latest of these times."""
        self.spans: list[float] = []
        """What each turn of a phase took for each element. Their median counts: every few turns there may be those of an outer loop."""
        self.left = policy.limits.judged

    def enter(self, call: Call) -> None:
        """Let a call site belong to this loop."""
        key = self.keys.setdefault(call.key, call.key)
        alone.sites.of(key[0]).loops[key[1:]] = self
        for size in {magnitude(call.size), magnitude(call.read)}:
            for instruction in instructions(call.site):
                native.enter_site(
                    call.site[0], instruction, call.operation, *call.types, size, self, key
                )

    def turned(self) -> None:
        """The anchor was visited as often as was left: called by the native front."""
        self.left = self.visits * policy.limits.judged
        if statistics.attempted(self._turned) is None:
            self.left = self.visits * policy.limits.ignored[1]

    def _turned(self) -> bool:
        if Loop.tried is not self:
            if self._may_try():
                Loop.try_now(self)
                self.best = [float("inf"), float("inf")]
                self.phases = self.spoiled = self.asked = 0
                self.seen = None
                self.begun, self.handled, self.work = thread_time_ns(), 0.0, 0.0
                self._time()
        elif self.warming:
            self._time()
        else:
            now = thread_time_ns()
            self.spans.append((now - self.latest) / max(self.work - self.before, 1.0))
            self.latest, self.before = now, self.work
            if len(self.spans) < policy.limits.judged and now - self.started < policy.limits.timed:
                self.left = self.visits
                return True
            if self.prepared != _prepared() and self.spoiled < policy.limits.patience:
                self.spoiled += 1
                self._time()
                return True
            if self.thread == threading.get_ident():
                way = bool(self.eager)
                self.best[way] = min(self.best[way], sorted(self.spans)[len(self.spans) // 2])
            self.phases += 1
            if self._is_decided():
                self._settle()
            else:
                self.eager = not self.eager
                self.left, self.warming = self.visits, True
        return True

    def _may_try(self) -> bool:
        """Whether no other loop is tried, or it seems to have ended meanwhile."""
        other = Loop.tried
        if other is None:
            return True
        seen, self.seen = self.seen, (other, other.left, other.phases, other.work)
        self.asked = self.asked + 1 if seen == self.seen else 0
        if self.asked <= policy.limits.pieces:
            return False
        other.stop()
        return True

    def _time(self) -> None:
        """Begin to time turns."""
        self.warming = False
        self.handled += self.work
        self.work = 0.0
        self.left, self.spans, self.before = self.visits, [], 0.0
        self.thread = threading.get_ident()
        self.prepared = _prepared()
        self.started = self.latest = thread_time_ns()

    def _is_decided(self) -> bool:
        recorded, numpy = self.best
        if self.phases == 1:
            if self.expected > 1.5 * recorded * policy.limits.margin:
                return True  # NumPy cannot be quicker
            elements = self.work / max(len(self.spans), 1)
            most = policy.limits.patience * self.expected * elements + policy.limits.evaluated
            return (
                not self.settled and most < policy.limits.trials * recorded * elements
            )  # nor would it show
        quicker, slower = sorted([recorded, numpy])
        changes = (numpy < recorded) != self.settled  # which takes more to be believed
        return self.phases >= (4 if slower > (3 if changes else 1.5) * quicker else 6)

    def _settle(self) -> None:
        """Go the quicker way, until another trial takes a small part of the time."""
        recorded, numpy = self.best
        before, self.settled = self.settled, numpy <= recorded * policy.limits.margin
        self.eager = self.settled
        quicker = min(self.best)
        lost = thread_time_ns() - self.begun - (self.handled + self.work) * quicker
        shortest, longest = policy.limits.ignored
        if self.settled != before:  # which may have been a mistake
            self.length = shortest
        turn = max(quicker * self.work / max(len(self.spans), 1), 1.0)  # nanoseconds
        turns = lost / turn / policy.limits.trials
        self.left = self.visits * int(min(max(turns, shortest), self.length))
        self.length = min(4 * self.length, longest)
        self.known = True
        if self.medium:
            is_sure = self.settled == before
            (Loop.recorded.discard if self.settled and is_sure else Loop.recorded.add)(self)
        Loop.try_now(None)

    @classmethod
    def try_now(cls, loop: Loop | None) -> None:
        """Try this loop, or none. Call sites of arrays of medium size count as long as some loop is tried, or recorded."""
        cls.tried = loop
        native.in_trials(len(cls.recorded) + (loop is not None))

    def stop(self) -> None:
        """End a trial without a decision. It begins again as soon as the loop comes back."""
        if Loop.tried is self:
            Loop.try_now(None)
        self.eager, self.warming = self.settled, False
        self.left = self.visits * policy.limits.judged

    def lost(self) -> None:
        """The anchor is visited no longer, though the loop goes on: called by the native front."""
        self.stop()
        self.anchor = None

    def unheard(self) -> None:
        """The anchor is not left to NumPy, though it should: called by the native front."""
        self.unheard_keys.add(self.anchor)
        self.settled = self.medium
        Loop.recorded.discard(self)
        self.lost()


def _prepared() -> int:
    """How much was planned, compiled and taken from the system: what turns that repeat do not need again."""
    return statistics.counters().prepared() + int(native.fresh())


class Judgement(TimedTrace):
    """What a kind of trace consists of that is tried: the loop that it belongs to counts its evaluations."""

    __slots__ = ("calls",)

    def __init__(self, calls: list[Call]) -> None:
        self.calls = calls
        loop = None
        for call in calls:
            key = call.key
            loop = alone.sites.of(key[0]).loops.get(key[1:])
            if loop is not None:
                break
        self.loop = loop or _loop_like(calls)
        for call in calls:
            key = call.key
            if key[1:] not in alone.sites.of(key[0]).loops:
                self.loop.enter(call)

    def compiled_again(self, order: Sequence[Node]) -> None:
        """Let the same call sites, where a program has compiled its code again, belong to their loops, too."""
        first = self.calls[0]
        site = order[first.place].site
        if site is None or site[0] is first.site[0]:
            return
        self.calls = [call._replace(site=order[call.place].site or site) for call in self.calls]
        for call in self.calls:
            alone.sites.of(call.key[0]).loops.get(call.key[1:], self.loop).enter(call)

    def anchored(self) -> None:
        """Count the visits of the loop's anchor, which it is given if it has none: called by the native front."""
        statistics.attempted(self._anchored)

    def _anchored(self) -> None:
        loop = self.loop
        if loop.anchor is None:
            loop.visits = 1
            self._choose()
        self.anchor = loop.anchor
        own = [call for call in self.calls if call.key == loop.anchor]
        self.visits = len(own)
        self.work = float(sum([call.size for call in own]))
        if own:
            loop.visits = max(loop.visits, len(own))  # or phases would be parts of a turn
            loop.expected = sum([call.time for call in self.calls]) / self.work

    def _choose(self) -> None:
        """Let the loop have an anchor: a call site that is visited once in a turn, in the same function as the last one, and large."""
        loop = self.loop
        heard = [call for call in self.calls if call.key in loop.keys.keys() - loop.unheard_keys]
        if not heard:
            return
        keys = [call.key for call in heard]
        code = self.calls[-1].site[0]
        best = min(heard, key=lambda c: (keys.count(c.key), c.site[0] is not code, -c.size))
        loop.anchor = loop.keys[best.key]

    def ran(self, order: Sequence[Node]) -> None:
        """Count an evaluation of such a trace, whose slices may be others than those that it was judged by."""
        if self.visits and self.anchor is self.loop.anchor:
            self.work = float(
                sum(
                    [
                        order[call.place].geometry.size
                        for call in self.calls
                        if call.key == self.anchor
                    ]
                )
            )
        native.evaluated(self)


def _loop_like(calls: list[Call]) -> Loop:
    """A new loop. What was decided at its call sites for arrays of another magnitude is the first guess."""
    loop = Loop(max([call.size for call in calls]) < config.small)
    if loop.medium:
        return loop
    for call in calls:
        number, *rest, _ = call.key
        for key, other in alone.sites.of(number).loops.items():
            if other.known and list(key[:-1]) == rest:
                loop.settled = loop.eager = other.settled
                loop.left = policy.limits.ignored[0]
                return loop
    return loop


def kind_of(order: Sequence[Node]) -> tuple[int, ...]:
    """What traces of one structure have in common that are judged alike."""
    return tuple([64 * site_number(node.site) + magnitude(node.geometry.size) for node in order])


def judgement_of(order: Sequence[Node]) -> Judgement | None:
    """What a trace will be judged by; ``None`` where NumPy can compute none of it, or not for this process alone."""
    if native is None or not config.small or current_world().size > 1:
        return None
    calls: list[Call] = []
    least = min(config.small, policy.limits.medium)
    for place, node in enumerate(order):
        op = node.op
        if node.place is not None:
            return None
        if op.is_view or op.is_update or node.site is None:
            continue
        operation = op.left_to(node)
        if operation is None:
            continue
        read = [arg.geometry for arg in node.args if type(arg) is Node]
        largest = max([form.size for form in read], default=node.geometry.size)
        size = max(largest, node.geometry.size)
        if size < least:
            continue
        nbytes = sum([form.size * form.dtype.itemsize for form in (node.geometry, *read)])
        types = _types(operation, node)
        calls.append(
            Call(place, node.site, operation, types, size, largest, policy.numpy_time(nbytes))
        )
    return Judgement(calls) if calls else None


def _types(operation: Any, node: Node) -> tuple[int, int]:
    """The numbers by which the native front tells the operands of a call."""
    if operation == "fill":
        return -2, -2
    types = [arg.geometry.dtype.num if type(arg) is Node else -1 for arg in node.args]
    if operation == "cast":
        types.append(node.geometry.dtype.num)
    elif operation == "where":
        del types[1:]
    return types[0], types[1] if len(types) > 1 else -2


OPERATIONS: dict[Any, Any] = {
    **dict.fromkeys((np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like), "fill"),
    np.ndarray.astype: "cast", np.where: "where", np.outer: np.multiply,
    **{ufunc: ufunc for ufunc in vars(np).values() if type(ufunc) is np.ufunc and ufunc.nin < 3 and ufunc.nout == 1},
    **{ufunc.outer: ufunc for ufunc in vars(np).values() if type(ufunc) is np.ufunc and ufunc.nin == 2 and ufunc.nout == 1},
    **dict.fromkeys((
        np.ndarray.copy, np.ndarray.reshape, np.ndarray.transpose, np.ndarray.swapaxes, np.ndarray.squeeze, np.ndarray.ravel,
    ), False),
}  # fmt: skip
"""What functions are entered as at call sites; those of no name are views and copies, which NumPy makes of what it has made."""

SLOTS = {
    "square": np.square, "__neg__": np.negative, "__pos__": np.positive, "__abs__": np.absolute, "__invert__": np.invert,
    "__lt__": np.less, "__le__": np.less_equal, "__gt__": np.greater, "__ge__": np.greater_equal, "__eq__": np.equal,
    "__ne__": np.not_equal,
    **{
        f"__{place}{name}__": ufunc
        for name, ufunc in (
            ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide),
            ("floordiv", np.floor_divide), ("mod", np.remainder), ("pow", np.power), ("and", np.bitwise_and),
            ("or", np.bitwise_or), ("xor", np.bitwise_xor), ("lshift", np.left_shift), ("rshift", np.right_shift),
        )
        for place in ("", "i")
    },
}  # fmt: skip
"""What operators are entered as."""
