"""Running a partition: computation while messages travel.

What is known beforehand is worked out once, and kept with the partition (:class:`Plan`): the order
of parts, who reads which name last, and the messages. The messages between two ranks are numbered
alike on both sides, in the order of their tags. Small ones to one rank that one part sends are
packed into one; the sender tells the receiver once, before the first run, which these are.

A run then repeats: compute a part that is ready, first those that somebody else waits for; send
what it gave; see what has arrived. It waits only when no part is ready. Receives are posted some
at a time, more when there is nothing else to do, and all before the first wait that could last. A
value is let go when the last part has read it and the last message has left.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..comm.communicator import Communicator, Request
from ..errors import CommunicationTagError, MixedArraysError, PartitionInducedCycleError
from ..graph.geometry import dense
from ..interchange.worlds import world_of
from ..recording.cells import Handle
from ..run import statistics
from ..run.arrays import allocate_array
from .messages import received, sent
from .nodes import Data, Input, Receive
from .partition import origin_of
from .program import Program, generate_code_for_partition
from .records import DistributedGraphPart, DistributedGraphPartition, topological
from .verify import verify

Array = np.ndarray[Any, Any]
_PACKED = 1 << 14
"""Up to how many bytes a message is packed together with others; copying more costs more than it saves."""
_ALIGNED = 64
_WINDOW = 128
"""How many receives are posted at first, and how many more whenever a rank would wait."""


@dataclass(frozen=True, slots=True)
class Form:
    """What one array in a message is."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int = 0

    @property
    def nbytes(self) -> int:
        """How long it is."""
        size: int = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        return size


@dataclass(frozen=True, slots=True)
class Envelope:
    """One message on the wire: an array as it is, or several packed."""

    peer: int
    tag: int
    forms: tuple[Form, ...]
    nbytes: int
    what: str

    def buffer(self) -> Array:
        """Memory for it to arrive in."""
        if len(self.forms) == 1:
            form = self.forms[0]
            if form.dtype.hasobject or form.dtype.kind not in "biufc":
                return np.empty(form.shape, form.dtype)
            return allocate_array(dense(form.shape, form.dtype), self.what).array
        return allocate_array(dense((self.nbytes,), np.dtype(np.uint8)), self.what).array

    def pack(self, values: Mapping[str, Array]) -> Array:
        """The array that is sent."""
        if len(self.forms) == 1:
            return values[self.forms[0].name]
        memory = np.empty(self.nbytes, np.uint8)
        for name, view in self.views(memory):
            view[...] = values[name]
        return memory

    def views(self, memory: Array) -> Iterator[tuple[str, Array]]:
        """The arrays in what arrived; nothing is copied."""
        if len(self.forms) == 1:
            yield self.forms[0].name, memory
            return
        for form in self.forms:
            yield form.name, np.ndarray(form.shape, form.dtype, memory, form.offset)


def _envelope(peer: int, tag: int, forms: list[Form], what: str) -> Envelope:
    if len(forms) == 1:
        return Envelope(peer, tag, tuple(forms), forms[0].nbytes, what)
    placed, offset = [], 0
    for form in forms:
        placed.append(Form(form.name, form.shape, form.dtype, offset))
        offset += -(-form.nbytes // _ALIGNED) * _ALIGNED
    return Envelope(peer, tag, tuple(placed), offset, what)


@dataclass(slots=True)
class _PartPlan:
    part: DistributedGraphPart
    program: Program
    priority: tuple[bool, int]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    envelopes: tuple[Envelope, ...]
    to_itself: tuple[tuple[str, str], ...]
    """What is sent to this very rank: the names here and there."""
    waits: int
    """How many receives and parts must be there first."""
    followers: tuple[int, ...] = ()


class Plan:
    """What every run of a partition on a communicator has in common."""

    def __init__(
        self,
        communicator: Communicator,
        partition: DistributedGraphPartition,
        programs: Mapping[Hashable, Program],
    ) -> None:
        self.communicator = communicator
        self.programs = programs
        order = topological(partition.parts)
        assert order is not None
        number = {part.pid: k for k, part in enumerate(order)}
        outgoing, arriving, to_itself = self._messages(order)
        urgent = self._urgent(order, number)
        followers: list[list[int]] = [[] for _ in order]
        self.reader: dict[str, int] = {}
        self.parts: list[_PartPlan] = []
        for k, part in enumerate(order):
            for pid in part.needed_pids:
                followers[number[pid]].append(k)
            self.reader.update(dict.fromkeys(part.name_to_recv_node, k))
            self.parts.append(
                _PartPlan(
                    part,
                    programs[part.pid],
                    (k not in urgent, k),
                    tuple(sorted(part.all_input_names())),
                    tuple(sorted(part.output_names)),
                    tuple(outgoing[k]),
                    tuple(to_itself[k]),
                    len(part.needed_pids) + len(part.name_to_recv_node),
                )
            )
        for plan, found in zip(self.parts, followers, strict=True):
            plan.followers = tuple(found)
        self.arriving = sorted(arriving, key=lambda e: self._first_use(e))
        self.sends = sum(len(part.envelopes) for part in self.parts)
        self.results = {n: self._result(partition, n) for n in partition.overall_output_names}
        self.uses: dict[str, int] = {}
        for plan in self.parts:
            for name in plan.inputs:
                self.uses[name] = self.uses.get(name, 0) + 1
        for where in self.results.values():
            if type(where) is str:
                self.uses[where] = self.uses.get(where, 0) + 1
        self.user_inputs = sorted({n for part in order for n in part.user_input_names})
        self.user_inputs += [
            name
            for name in dict.fromkeys(n for n in self.results.values() if type(n) is str)
            if name not in self.user_inputs
            and name not in self.reader
            and not any(name in part.output_names for part in order)
        ]

    def _first_use(self, envelope: Envelope) -> tuple[bool, int, int, int]:
        first = min(self.parts[self.reader[form.name]].priority for form in envelope.forms)
        return (*first, envelope.peer, envelope.tag)

    @staticmethod
    def _urgent(order: list[DistributedGraphPart], number: dict[Hashable, int]) -> set[int]:
        """The parts that some send comes after."""
        found: set[int] = set()
        for k in range(len(order) - 1, -1, -1):
            if k in found or order[k].name_to_send_nodes:
                found.add(k)
                found.update(number[pid] for pid in order[k].needed_pids)
        return found

    @staticmethod
    def _result(partition: DistributedGraphPartition, name: str) -> Any:
        """Where an overall output comes from: a name, or data."""
        if any(name in part.output_names for part in partition.parts.values()):
            return name
        node = partition.name_to_output[name]._node()
        if node.weight >= 0:
            return node.value.array
        origin = origin_of(node)
        if isinstance(origin, Data):
            return origin.array
        if isinstance(origin, Input):
            return origin.key
        if isinstance(origin, Receive):
            for part in partition.parts.values():
                for received_name, node_here in part.name_to_recv_node.items():
                    if (node_here.src_rank, node_here.comm_tag) == (
                        origin.src_rank,
                        origin.comm_tag,
                    ):
                        return received_name
        raise PartitionInducedCycleError(f"no part computes the output {name!r}")

    def _messages(
        self, order: list[DistributedGraphPart]
    ) -> tuple[list[list[Envelope]], list[Envelope], list[list[tuple[str, str]]]]:
        """What each part sends, what arrives, and what each part sends to this rank itself."""
        rank = self.communicator.rank
        out: dict[int, list[tuple[bytes, int, Form]]] = {}
        incoming: dict[int, list[tuple[bytes, Form]]] = {}
        for k, part in enumerate(order):
            for name, m in sent(part, rank):
                data = part.name_to_send_nodes[name][0].data
                out.setdefault(m.dest, []).append((m.tag, k, Form(name, data.shape, data.dtype)))
            for name, m in received(part, rank):
                node = part.name_to_recv_node[name]
                incoming.setdefault(m.source, []).append(
                    (m.tag, Form(name, node.shape, node.dtype))
                )
        to_itself: list[list[tuple[str, str]]] = [[] for _ in order]
        names_here = {tag: form.name for tag, form in incoming.pop(rank, ())}
        for tag, k, form in out.pop(rank, ()):
            to_itself[k].append((form.name, names_here[tag]))
        numbering = self._agreed(out, incoming)
        outgoing: list[list[Envelope]] = [[] for _ in order]
        base = self.communicator.tag_limit // 2 + 1
        for peer, messages in out.items():
            packed: dict[int, tuple[int, list[Form]]] = {}
            for (_, k, form), group in zip(messages, numbering[True, peer], strict=True):
                packed.setdefault(group, (k, []))[1].append(form)
            for group, (k, forms) in packed.items():
                what = f"dataflow: {', '.join(f.name for f in forms[:3])}"
                outgoing[k].append(_envelope(peer, self._tag(base, group), forms, what))
        arriving = []
        for peer, found in incoming.items():
            groups: dict[int, list[Form]] = {}
            for (_, form), group in zip(found, numbering[False, peer], strict=True):
                groups.setdefault(group, []).append(form)
            for group, forms in groups.items():
                what = f"dataflow: {', '.join(f.name for f in forms[:3])}"
                arriving.append(_envelope(peer, self._tag(base, group), forms, what))
        return outgoing, arriving, to_itself

    def _tag(self, base: int, group: int) -> int:
        if base + group >= self.communicator.tag_limit:
            raise CommunicationTagError(
                f"{group + 1} messages between two ranks are more than MPI has tags for here"
            )
        return base + group

    def _agreed(
        self,
        out: dict[int, list[tuple[bytes, int, Form]]],
        incoming: dict[int, list[tuple[bytes, Form]]],
    ) -> dict[tuple[bool, int], list[int]]:
        """For each peer and direction, the number of the packet that each message is in.

        Messages are in the order of their tags, which both sides know. One message needs no
        agreement; of several, the sender tells the receiver which ones go together.
        """
        communicator = self.communicator
        tag = communicator.tag_limit // 2
        found: dict[tuple[bool, int], list[int]] = {}
        posted = []
        for peer, arrivals in incoming.items():
            arrivals.sort(key=lambda one: one[0])
            if len(arrivals) == 1:
                found[False, peer] = [0]
            else:
                told = np.empty(len(arrivals), np.int32)
                posted.append(
                    (peer, communicator.irecv(told, peer, tag, "packets of a dataflow graph"))
                )
        leaving = []
        for peer, messages in out.items():
            messages.sort(key=lambda one: one[0])
            groups: dict[Any, int] = {}
            for place, (_, k, form) in enumerate(messages):
                small = form.nbytes <= _PACKED and form.dtype.kind in "biufc"
                groups.setdefault((k, "packed") if small else (k, place), len(groups))
            numbers = [
                groups[
                    (k, "packed")
                    if form.nbytes <= _PACKED and form.dtype.kind in "biufc"
                    else (k, place)
                ]
                for place, (_, k, form) in enumerate(messages)
            ]
            found[True, peer] = numbers
            if len(messages) > 1:
                telling = np.array(numbers, np.int32)
                leaving.append(
                    communicator.isend(telling, peer, tag, "packets of a dataflow graph")
                )
        for peer, request in posted:
            found[False, peer] = request.wait().tolist()
        communicator.wait_all(leaving)
        return found

    # One run ------------------------------------------------------------------------------

    def run(self, given: Mapping[str, Any]) -> dict[str, Array]:
        """The overall outputs."""
        return _Run(self, given).run()


class _Run:
    """What one run has in hand."""

    __slots__ = (
        "left",
        "missing",
        "moved",
        "pending",
        "plan",
        "ready",
        "to_post",
        "uses",
        "values",
    )

    def __init__(self, plan: Plan, given: Mapping[str, Any]) -> None:
        self.plan = plan
        absent = [name for name in plan.user_inputs if name not in given]
        if absent:
            raise TypeError(
                f"execute_distributed_partition: input_args lacks {', '.join(map(repr, absent))}"
            )
        self.values: dict[str, Any] = {}
        for name in plan.user_inputs:
            value = given[name]
            if isinstance(value, Handle):
                if value._np is None and value._cell.node.place is not None:
                    raise MixedArraysError(
                        f"execute_distributed_partition: the input {name!r} lies on several ranks; give this "
                        "rank's block of it (a.local)"
                    )
                value = value._array()
            self.values[name] = value
        self.uses = dict(plan.uses)
        self.missing = [part.waits for part in plan.parts]
        self.ready = [part.priority for part in plan.parts if not part.waits]
        heapq.heapify(self.ready)
        self.left = len(plan.parts)
        self.moved = 0
        self.pending: list[tuple[Request, Envelope | None]] = []
        self.to_post = iter(plan.arriving)

    def run(self) -> dict[str, Array]:
        communicator = self.plan.communicator
        more = self._post()
        while self.left:
            if self.ready:
                self._compute(heapq.heappop(self.ready)[1])
                if self.pending:
                    self._handle(communicator.test_some([r for r, _ in self.pending]))
            elif more:
                more = self._post()
                self._handle(communicator.test_some([r for r, _ in self.pending]))
            elif self.pending:
                self._handle(communicator.wait_some([r for r, _ in self.pending]))
            else:
                raise PartitionInducedCycleError("parts are left that nothing can make ready")
        communicator.wait_all([request for request, _ in self.pending])
        if self.moved or self.plan.sends:
            statistics.add("messages", self.plan.sends)
            statistics.add("bytes_moved", self.moved)
        values = self.values
        return {
            name: values[where] if type(where) is str else where.copy()
            for name, where in self.plan.results.items()
        }

    def _post(self) -> bool:
        """Post some more receives; whether there may be others."""
        communicator = self.plan.communicator
        for _ in range(_WINDOW):
            envelope = next(self.to_post, None)
            if envelope is None:
                return False
            buffer = envelope.buffer()
            request = communicator.irecv(buffer, envelope.peer, envelope.tag, envelope.what)
            self.pending.append((request, envelope))
        return True

    def _handle(self, done: list[int]) -> None:
        """Take what has arrived, and let go of what has left."""
        if not done:
            return
        finished = [self.pending[k] for k in done]
        gone = set(done)
        self.pending = [one for k, one in enumerate(self.pending) if k not in gone]
        for request, envelope in finished:
            if envelope is not None:
                for name, array in envelope.views(request.result):
                    self._arrived(name, array)

    def _arrived(self, name: str, array: Array) -> None:
        if self.uses.get(name):
            self.values[name] = array
        self._less(self.plan.reader[name])

    def _less(self, k: int) -> None:
        self.missing[k] -= 1
        if not self.missing[k]:
            heapq.heappush(self.ready, self.plan.parts[k].priority)

    def _compute(self, k: int) -> None:
        part = self.plan.parts[k]
        values = self.values
        if part.outputs:
            found = part.program(**{name: values[name] for name in part.inputs})
            outputs = {}
            for name in part.outputs:
                value = found[name]
                outputs[name] = value if type(value) is np.ndarray else np.asarray(value)
            self._send(part, outputs)
            for name, value in outputs.items():
                if self.uses.get(name):
                    values[name] = value
            for here, there in part.to_itself:
                self._arrived(there, outputs[here])
        for name in part.inputs:
            self.uses[name] -= 1
            if not self.uses[name]:
                del values[name]
        self.left -= 1
        for follower in part.followers:
            self._less(follower)

    def _send(self, part: _PartPlan, outputs: dict[str, Array]) -> None:
        communicator = self.plan.communicator
        for envelope in part.envelopes:
            if len(envelope.forms) > 1:
                array = envelope.pack(outputs)
            else:
                form = envelope.forms[0]
                array = outputs[form.name]
                if array.shape != form.shape or array.dtype != form.dtype:
                    raise ValueError(
                        f"part {part.part.pid!r} gave {array.shape} {array.dtype} for {form.name!r}, which is "
                        f"sent as {form.shape} {form.dtype}"
                    )
            self.moved += array.nbytes
            request = communicator.isend(array, envelope.peer, envelope.tag, envelope.what)
            if not request.done:
                self.pending.append((request, None))


def execute_distributed_partition(
    partition: DistributedGraphPartition,
    prg_per_partition: Mapping[Hashable, Callable[..., Mapping[str, Any]]] | None,
    queue: Any,
    mpi_communicator: Any,
    *,
    allocator: Any | None = None,
    input_args: Mapping[str, Any] | None = None,
) -> dict[str, Array]:
    """The overall outputs, as NumPy arrays. All ranks call it, each with its own partition.

    ``prg_per_partition`` has the parts' programs, any callables from input names to a dictionary
    of outputs; with ``None`` they are made here. ``queue`` and ``allocator`` are not used. The first
    run verifies the partition; later ones send the messages and nothing else.
    """
    communicator = world_of(mpi_communicator).communicator
    plans: list[Plan] = partition.cache.setdefault("plans", [])
    for plan in plans:
        if plan.communicator is communicator and (
            prg_per_partition is None or plan.programs is prg_per_partition
        ):
            return plan.run(input_args or {})
    verify(communicator, partition)
    programs = prg_per_partition
    if programs is None:
        programs = generate_code_for_partition(partition)
    plan = Plan(communicator, partition, programs)
    plans.append(plan)
    return plan.run(input_args or {})
