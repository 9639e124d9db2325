"""Profiles of call sites: what is learnt at a line of the program, and used when the line is reached again.

Programs repeat themselves, so what recording an operation was good for shows only once it has been evaluated. The
:class:`CallSite` of a line remembers it, and answers three questions:

* *Does NumPy compute it at the call?* Recording an operation, finding its plan and giving it memory has a cost, and loops
  gain where they spare memory, or run on several threads. Each evaluation is timed, and compared with what NumPy's calls
  take in its place (:class:`Judgement`): by their bytes, until NumPy has been timed at these call sites, too. Where
  evaluations gain nothing, the native front lets NumPy compute for some calls, keeps what it gives as NumPy's, and takes its
  time. Then the line records again, a few times, and the figures decide anew. Only operations count that NumPy and kernels compute
  alike, bit for bit, and only in a process by itself: ranks must not differ.
* *Is its value stored at once?* A value that the program holds stays pending while loops compute it for others: mostly
  it is dropped unseen. Once its line's value was computed twice, it is stored.
* *Is pending work cut here?* See :mod:`.pending`.

The costs are limits of ``policy``. What a process computes alone has profiles of the process. What ranks compute together has
profiles in their log: they are made and changed in collective steps alone, so that they are the same on all ranks.
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
from ..context.caches import Recent
from ..context.call_sites import Site, instructions, site_number
from ..context.threads import turn
from ..front import native
from ..graph.node import Node


class Cut(NamedTuple):
    """What is done at a line where something is heavier than a limit."""

    line: int | None
    """What was live at this line is evaluated; where there is none, what is heavy and all that is pending with it."""
    limit: float


class CallSite:
    """What is known of a line that records operations."""

    __slots__ = ("computed_again", "cut", "gain", "times", "turns", "unasked")

    def __init__(self) -> None:
        self.cut: Cut | None = None
        self.computed_again = False
        """Whether what it gives was computed twice, because nothing had stored it the first time."""
        self.gain = 0.0
        """Nanoseconds that an evaluation has gained here against NumPy; the latest ones count most."""
        self.turns = policy.limits.ignored[0]
        """How many of its calls NumPy computes the next time."""
        self.times: Any = None
        """The calls that NumPy computes here, and their time."""
        self.unasked = 0
        """How often none of the calls that were left to NumPy came to it: the operation is part of a function of atoll's."""

    def brought(self, gain: float) -> bool:
        """Count what evaluations have gained on average; whether NumPy shall compute the next calls."""
        self.gain = gain + self.gain / 2
        if gain > 0:
            self.turns = policy.limits.ignored[0]
        return self.gain < 0

    def leave(self, call: Call, site: Site) -> None:
        """Let NumPy compute here for a while."""
        times = self.times
        if times is None:
            times = self.times = native.Times()
        elif times.left == times.given:
            self.unasked += 1
        times.given = self.turns
        times.left, times.size = self.turns, 2 * call.size
        self.turns = min(4 * self.turns, policy.limits.ignored[1])
        self.gain = 0.0
        for instruction in instructions(site):
            native.enter_site(site[0], instruction, call.operation, *call.types, times)


class CallSites(Recent[int, CallSite]):
    """The call sites of those who compute together, by their numbers.

    When it is full the oldest goes, on all ranks at the same step. So it forgets nothing by chance: it is no memory of facts.
    """

    def __init__(self) -> None:
        super().__init__("call_sites", "caches_full")

    def known(self, site: Site | None) -> CallSite | None:
        """The profile of a call site, if something was learnt there."""
        return dict.get(self, site_number(site))

    def of(self, number: int) -> CallSite:
        """The same by its number; a new profile if there is none."""
        if number not in self:
            self[number] = CallSite()
        return self[number]


class _Alone(threading.local):
    """The profiles of a process, or of a simulated rank, for what it computes by itself."""

    process: ClassVar[CallSites] = CallSites()

    def __init__(self) -> None:
        self.sites = CallSites() if turn.simulated else self.process


alone = _Alone()


def call_sites_of(node: Node) -> CallSites:
    """The profiles of those who compute a node."""
    home = node.place
    if home is None or home.world.size == 1:
        return alone.sites
    log = home.world.communicator.log
    if log.call_sites is None:
        log.call_sites = CallSites()
    sites: CallSites = log.call_sites
    return sites


class Call(NamedTuple):
    """A node of a trace that NumPy could compute at its call, with the same bits."""

    place: int
    """In the trace."""
    operation: Any
    """The ufunc, or the name of what is none."""
    types: tuple[int, int]
    """The numbers of the operands' dtypes; -1 for a number, -2 where there is no operand."""
    size: int
    """Elements of the largest array that it reads or makes."""
    time: float
    """Nanoseconds that NumPy is expected to take."""


class Judgement:
    """What the evaluations of one trace take, and what NumPy's calls would.

    Each few evaluations the call sites are told the difference. The time is that of this thread's processor: on a machine with
    other work an evaluation takes several times as long by the clock, and NumPy's calls, which are estimated at first, do not.
    """

    __slots__ = (
        "between",
        "calls",
        "left",
        "recorded",
        "settled",
        "shortest",
        "unavoidable",
    )
    ended: ClassVar[int] = 0
    """When the latest evaluation of all had ended."""

    def __init__(self, calls: list[Call], recorded: int, unavoidable: float) -> None:
        self.calls = calls
        self.recorded = recorded
        """The operations that are recorded."""
        self.unavoidable = unavoidable
        """What takes as long where NumPy computes the calls."""
        self.settled = False
        """Whether evaluations gain, or are what is left where NumPy computes the rest: then they are the native front's."""
        self._again()
        self.left += (
            policy.limits.judged
        )  # the native evaluation takes over meanwhile, where it can

    def _again(self) -> None:
        self.left = policy.limits.judged
        self.shortest = 1 << 62
        """Time of the shortest evaluation; of NumPy's calls the shortest counts, too: other processes may run meanwhile."""
        self.between = 1 << 62
        """The shortest time from the end of an evaluation to the beginning of such a one: the trace is recorded meanwhile."""

    def of(self, order: Sequence[Node]) -> Judgement | None:
        """What other traces are judged by that differ from this one in their slices."""
        other = judgement_of(order)
        if other is not None:
            self.calls, self.recorded, self.unavoidable = (
                other.calls,
                other.recorded,
                other.unavoidable,
            )
        return other and self

    def ran(self, begun: int, nodes: Sequence[Node], order: Sequence[int]) -> None:
        """Count an evaluation of such a trace."""
        now = thread_time_ns()
        took = now - begun
        self.between = min(self.between, begun - Judgement.ended)
        Judgement.ended = now
        self.shortest = min(self.shortest, took)
        self.left -= 1
        if self.left:
            return
        shortest, between = max(self.shortest - policy.limits.evaluated_time, 0), self.between
        self._again()
        self.measured(shortest, between, nodes, order)

    def measured(
        self, shortest: int, between: int, nodes: Sequence[Node], order: Sequence[int]
    ) -> bool:
        """Compare the shortest of some evaluations, and the shortest time before such a one, with NumPy; whether that is settled."""
        least, most = [self.recorded * time for time in policy.limits.recorded_time]
        evaluated = shortest + min(max(between, least), most)
        profiles = []
        numpy = self.unavoidable
        calls = self.calls
        for call in calls:
            profile = alone.sites.of(site_number(nodes[order[call.place]].site))
            profiles.append(profile)
            known = 0 if profile.times is None else profile.times.best
            numpy += known or call.time
            if profile.unasked > 1:
                numpy += policy.limits.evaluated_time
        gain = (numpy - evaluated) / len(profiles)
        self.settled = gain > 0 or all(profile.unasked > 1 for profile in profiles)
        for call, profile in zip(calls, profiles, strict=True):
            if profile.unasked <= 1 and profile.brought(gain):
                site = nodes[order[call.place]].site
                assert site is not None
                profile.leave(call, site)
        return self.settled


def evaluated() -> None:
    """Note that an evaluation has ended that is judged by nothing."""
    Judgement.ended = thread_time_ns()


def judgement_of(order: Sequence[Node]) -> Judgement | None:
    """What a trace will be judged by; ``None`` where NumPy can compute none of it, or not for this process alone."""
    if native is None or not config.small or current_world().size > 1:
        return None
    calls: list[Call] = []
    recorded, unavoidable = 0, 0.0
    for place, node in enumerate(order):
        op, geometry = node.op, node.geometry
        if node.place is not None:
            return None
        recorded += 1
        if op.is_view:
            continue
        arrays = [arg for arg in node.args if type(arg) is Node]
        if op.is_update:
            value = node.args[1]
            if not (type(value) is Node and value.value is None and value.site == node.site):
                size = node.params[0].size
                unavoidable += policy.numpy_time(2 * size * geometry.dtype.itemsize)
            continue
        nbytes = sum(
            [node.geometry.size * node.geometry.dtype.itemsize for node in (node, *arrays)]
        )
        time = policy.numpy_time(nbytes)
        operation = op.left_to(node)
        size = max([node.geometry.size for node in (node, *arrays)])
        if operation is None:
            unavoidable += time + policy.limits.evaluated_time
        elif node.site is None or size < config.small:
            unavoidable += time
        else:
            calls.append(Call(place, operation, _types(operation, node), size, time))
    return Judgement(calls, recorded, unavoidable) if calls else None


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
