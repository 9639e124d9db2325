"""Execution of a partition, whose parts are lowered to the parts of atoll's execution plans.

A plan is computed once and kept with the partition: a register for each name, a :class:`~atoll.execute.parts.Part` for each
part, ordered so that parts with dependent sends come first, and the messages. Messages between two ranks have the same
numbers on both sides, in the order of their tags. Small messages of one part to one rank are packed together; the sender
tells the receiver the packets once, before the first run. A message of a rank to itself is a dependency between parts.
``execute.parts`` has the loop that runs the parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..comm.communicator import Communicator
from ..comm.in_step import total
from ..comm.world import world_of
from ..errors import (
    CommunicationTagError,
    MixedArraysError,
    PartitionInducedCycleError,
    RankFailedError,
)
from ..exchange.messages import Allocator, Message, Piece
from ..execute.parts import Failure, Part, Schedule, State
from ..graph.node import Value
from ..lazy.views import Handle
from .messages import received, sent
from .nodes import Data, Input, Receive
from .partition import origin_of
from .program import PartProgram, Program, generate_code_for_partition
from .records import DistributedGraphPart, DistributedGraphPartition, topological
from .verify import Verified, raise_first, verify

Array = np.ndarray[Any, Any]
Form = tuple[tuple[int, ...], np.dtype[Any]]
End = tuple[bytes, int, str, Piece]
"""One end of a message: its tag, the number of its part, the name of its value, and the register."""


@dataclass(slots=True, eq=False)
class CallProgram:
    """Step that computes a part: it calls the part's program with the values of registers by name."""

    pid: Hashable
    program: Program
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int, Form | None], ...]
    """Name, register, and, for an output that is sent, the declared shape and dtype."""

    def run(self, state: State) -> None:
        """Call the program and store its outputs in registers."""
        registers, program = state.registers, self.program
        results: Mapping[str, Any]
        if type(program) is PartProgram:
            results = program.run({name: registers[k] for name, k in self.inputs})  # type: ignore[misc]
        else:
            results = program(**{name: registers[k].array for name, k in self.inputs})  # type: ignore[union-attr]
        for name, register, form in self.outputs:
            value = results[name]
            if type(value) is not Value:
                value = Value(value if type(value) is np.ndarray else np.asarray(value))
            array = value.array
            if form is not None and (array.shape, array.dtype) != form:
                raise ValueError(
                    f"part {self.pid!r} gave {array.shape} {array.dtype} for {name!r}, which is sent as "
                    f"{form[0]} {form[1]}"
                )
            registers[register] = value


@dataclass(slots=True, eq=False)
class Hand:
    """Step for a message of a rank to itself: it gives the value of one register to another."""

    register: int
    source: int

    def run(self, state: State) -> None:
        """Assign the value."""
        state.registers[self.register] = state.registers[self.source]


class Plan:
    """The execution plan of a partition on a communicator, which all its runs share."""

    def __init__(
        self,
        communicator: Communicator,
        partition: DistributedGraphPartition,
        programs: Mapping[Hashable, Program],
        verified: Verified,
    ) -> None:
        self.communicator = communicator
        self.together = verified.sends and communicator.size > 1
        """True if some of several ranks sends messages, so that an error on one rank is raised on all."""
        self.mark = verified.mark
        self.bits = communicator.tag_limit.bit_length() // 3
        """Number of bits of the collective log in the tag of each message."""
        self.programs = programs
        ordered = topological(partition.parts)
        assert ordered is not None
        order = _urgent_first(ordered)
        number = {part.pid: k for k, part in enumerate(order)}
        self.reader = {name: k for k, part in enumerate(order) for name in part.name_to_recv_node}
        self.results = _results(partition)
        user = {name for part in order for name in part.user_input_names}
        computed = [name for part in order for name in sorted(part.output_names)]
        results = [where for where in self.results.values() if type(where) is str]
        internal = {*computed, *self.reader}
        given = [name for name in results if name not in internal]
        self.user_inputs = list(dict.fromkeys([*sorted(user), *given]))
        uses = Counter([*results, *[n for part in order for n in part.all_input_names()]])
        names = [*self.user_inputs, *computed, *[name for name in self.reader if name in uses]]
        self.register = {name: k for k, name in enumerate(dict.fromkeys(names))}
        outgoing, arriving, to_itself = self._messages(order)
        self.schedule = self._schedule(order, number, uses, outgoing, arriving, to_itself)

    def _schedule(
        self,
        order: list[DistributedGraphPart],
        number: dict[Hashable, int],
        uses: dict[str, int],
        outgoing: list[list[Message]],
        arriving: list[Message],
        to_itself: list[list[tuple[str, str]]],
    ) -> Schedule:
        register = self.register
        needs = [{number[pid] for pid in part.needed_pids} for part in order]
        parts = []
        for k, part in enumerate(order):
            steps: list[Any] = []
            if part.output_names:
                forms = {
                    name: (sends[0].data.shape, sends[0].data.dtype)
                    for name, sends in part.name_to_send_nodes.items()
                }
                inputs = tuple([(n, register[n]) for n in sorted(part.all_input_names())])
                outputs = [(n, register[n], forms.get(n)) for n in sorted(part.output_names)]
                steps.append(CallProgram(part.pid, self.programs[part.pid], inputs, tuple(outputs)))
            for here, target in to_itself[k]:
                needs[self.reader[target]].add(k)
                if target in register:
                    steps.append(Hand(register[target], register[here]))
            # outputs that only this part's sends read are released with the part
            alone = [name for name in part.output_names if name not in uses]
            for name in alone:
                uses[name] = 1
            reads = [register[n] for n in (*sorted(part.all_input_names()), *sorted(alone))]
            parts.append(Part(steps, sends=outgoing[k], reads=reads))
        arriving.sort(key=lambda message: (min(message.readers), message.peer, message.tag))
        return Schedule(
            self.communicator,
            parts,
            [sorted(numbers) for numbers in needs],
            arriving=arriving,
            uses={register[name]: count for name, count in uses.items() if name in register},
            guarded=True,
        )

    def _messages(
        self, order: list[DistributedGraphPart]
    ) -> tuple[list[list[Message]], list[Message], list[list[tuple[str, str]]]]:
        """The outgoing messages of each part, the incoming messages, and for each part the sends of this rank to itself."""
        rank = self.communicator.rank
        out: dict[int, list[End]] = {}
        incoming: dict[int, list[End]] = {}
        for k, part in enumerate(order):
            for name, m in sent(part, rank):
                data = part.name_to_send_nodes[name][0].data
                piece = Piece(self.register[name], data.shape, data.dtype)
                out.setdefault(m.dest, []).append((m.tag, k, name, piece))
            for name, m in received(part, rank):
                node = part.name_to_recv_node[name]
                piece = Piece(self.register.get(name, -1), node.shape, node.dtype)
                incoming.setdefault(m.source, []).append((m.tag, k, name, piece))
        to_itself: list[list[tuple[str, str]]] = [[] for _ in order]
        names_here = {tag: name for tag, _, name, _ in incoming.pop(rank, ())}
        for tag, k, name, _ in out.pop(rank, ()):
            to_itself[k].append((name, names_here[tag]))
        numbering = self._agreed(out, incoming)
        outgoing: list[list[Message]] = [[] for _ in order]
        arriving: list[Message] = []
        for sends, by_peer in ((True, out), (False, incoming)):
            for peer, messages in by_peer.items():
                groups: dict[int, list[End]] = {}
                for entry, group in zip(messages, numbering[sends, peer], strict=True):
                    groups.setdefault(group, []).append(entry)
                for group, some in groups.items():
                    what = f"dataflow: {', '.join(name for _, _, name, _ in some[:3])}"
                    message = Message(peer, self._tag(group), [entry[3] for entry in some], what)
                    if sends:
                        outgoing[some[0][1]].append(message)
                    else:
                        message.readers = tuple(sorted({k for _, k, _, _ in some}))
                        arriving.append(message)
        return outgoing, arriving, to_itself

    def _tag(self, group: int) -> int:
        """The tag of a packet, relative to :meth:`_base`; its lowest bits are left to the log."""
        tag = group << self.bits
        limit = self.communicator.tag_limit
        if limit // 2 + 1 + tag + (1 << self.bits) > limit:
            raise CommunicationTagError(
                f"{group + 1} messages between two ranks need more tags than MPI has here; combine some of them"
            )
        return tag

    def _base(self) -> int:
        """The first tag of this run. It contains bits of the log's hash, so that messages of diverged ranks do not match."""
        communicator = self.communicator
        some = communicator.log.hash >> 40 & (1 << self.bits) - 1
        return communicator.tag_limit // 2 + 1 + some

    def _agreed(
        self,
        out: dict[int, list[End]],
        incoming: dict[int, list[End]],
    ) -> dict[tuple[bool, int], list[int]]:
        """For each peer and direction, the packet number of each message.

        Messages are in the order of their tags, which both sides know. A single message needs no agreement; for several, the
        sender sends the packet numbers to the receiver.
        """
        communicator = self.communicator
        tag = communicator.tag_limit // 2
        what = "packets of a dataflow graph"
        packets: dict[tuple[bool, int], list[int]] = {}
        posted = []
        for peer, arrivals in incoming.items():
            arrivals.sort(key=lambda entry: entry[0])
            packets[False, peer] = [0]
            if len(arrivals) > 1:
                told = np.empty(len(arrivals), np.int32)
                posted.append((peer, communicator.irecv(told, peer, tag, what)))
        leaving = []
        for peer, messages in out.items():
            messages.sort(key=lambda entry: entry[0])
            groups: dict[tuple[int, int], int] = {}
            packets[True, peer] = numbers = [
                groups.setdefault((k, -1 if piece.is_small else place), len(groups))
                for place, (_, k, _, piece) in enumerate(messages)
            ]
            if len(messages) > 1:
                telling = np.array(numbers, np.int32)
                leaving.append(communicator.isend(telling, peer, tag, what))
        for peer, request in posted:
            packets[False, peer] = request.wait().tolist()
        communicator.wait_all(leaving)
        return packets

    def run(
        self, given: Mapping[str, Any], allocator: Allocator | None, agree: bool
    ) -> dict[str, Array]:
        """Execute the partition once and return the overall outputs."""
        registers: list[Value | None] = [None] * len(self.register)
        fault: Exception | None = None
        if self.together:
            self.communicator.log.step(self.mark, "the execution of a dataflow graph")
        try:
            self._give(given, registers)
        except Exception as error:
            if not self.together:
                raise
            fault = error
        state = State(registers, ())
        state.allocator = allocator
        failure = self.schedule.run(state, self._base(), fault)
        if self.together and agree:
            failed = np.array([failure is not None], np.uint64)
            if total(self.communicator, failed, "whether a dataflow graph failed")[0]:
                raise_first(self.communicator, None if failure is None else failure.fault)
        if failure is not None:
            self._raise(failure)
        return {
            name: registers[self.register[where]].array if type(where) is str else where.copy()  # type: ignore[union-attr]
            for name, where in self.results.items()
        }

    def _give(self, given: Mapping[str, Any], registers: list[Value | None]) -> None:
        absent = [name for name in self.user_inputs if name not in given]
        if absent:
            raise TypeError(
                f"execute_distributed_partition: input_args must have a value for each placeholder, and lacks {', '.join(map(repr, absent))}"
            )
        for register, name in enumerate(self.user_inputs):
            value = given[name]
            if isinstance(value, Handle):
                if value._np is None and value._cell.node.place is not None:
                    raise MixedArraysError(
                        f"execute_distributed_partition: the input {name!r} lies on several ranks; give this "
                        "rank's block of it (a.local)"
                    )
                value = value._array()
            registers[register] = Value(np.asarray(value))

    def _raise(self, failure: Failure) -> None:
        if failure.fault is not None:
            raise failure.fault
        message = failure.message
        assert message is not None
        raise RankFailedError(
            f"rank {message.peer} could not compute what rank {self.communicator.rank} waits for "
            f"({message.what}); it raises why"
        )


def _urgent_first(order: list[DistributedGraphPart]) -> list[DistributedGraphPart]:
    """Move the parts with sends, and the parts that these need, to the front; both groups keep their order."""
    number = {part.pid: k for k, part in enumerate(order)}
    urgent: set[int] = set()
    for k in range(len(order) - 1, -1, -1):
        if k in urgent or order[k].name_to_send_nodes:
            urgent.add(k)
            urgent.update(number[pid] for pid in order[k].needed_pids)
    return [order[k] for k in sorted(range(len(order)), key=lambda k: (k not in urgent, k))]


def _results(partition: DistributedGraphPartition) -> dict[str, Any]:
    """The source of each overall output: the name of a value, or data."""
    parts = partition.parts.values()
    computed = {name for part in parts for name in part.output_names}
    arrives = {
        (node.src_rank, node.comm_tag): name
        for part in parts
        for name, node in part.name_to_recv_node.items()
    }
    results: dict[str, Any] = {}
    for name in partition.overall_output_names:
        if name in computed:
            results[name] = name
            continue
        node = partition.name_to_output[name]._node()
        origin = origin_of(node)
        if node.weight >= 0:
            results[name] = node.value.array
        elif isinstance(origin, Data):
            results[name] = origin.array
        elif isinstance(origin, Input):
            results[name] = origin.key
        elif isinstance(origin, Receive) and (origin.src_rank, origin.comm_tag) in arrives:
            results[name] = arrives[origin.src_rank, origin.comm_tag]
        else:
            raise PartitionInducedCycleError(
                f"execute_distributed_partition: no part computes the output {name!r}; outputs must be names of the partition"
            )
    return results


def execute_distributed_partition(
    partition: DistributedGraphPartition,
    prg_per_partition: Mapping[Hashable, Callable[..., Mapping[str, Any]]] | None,
    queue: Any,
    mpi_communicator: Any,
    *,
    allocator: Allocator | None = None,
    input_args: Mapping[str, Any] | None = None,
    agree: bool = True,
) -> dict[str, Array]:
    """Execute a partition and return the overall outputs as NumPy arrays. All ranks call it, each with its own partition.

    ``prg_per_partition`` has the parts' programs, any callables from input names to a dictionary of outputs; with
    ``None`` they are generated. ``allocator`` provides the memory for messages: called with a number of bytes, it
    returns an object with a writable buffer. ``queue`` is for devices and has no effect. The first run verifies the
    partition.

    An error on one rank, in a program or in its inputs, is raised by all ranks, with the name of that rank; the
    partition can be executed again. For that the ranks agree at the end that no error occurred (16 bytes). With
    ``agree=False`` they do not, so that ranks may run ahead: then only the ranks that need data of the failed one raise
    an error.
    """
    communicator = world_of(mpi_communicator).communicator
    plans: list[Plan] = partition.cache.setdefault("plans", [])
    for plan in plans:
        if plan.communicator is communicator and (
            prg_per_partition is None or plan.programs is prg_per_partition
        ):
            return plan.run(input_args or {}, allocator, agree)
    programs, fault = prg_per_partition, None
    try:
        if programs is None:
            programs = generate_code_for_partition(partition)
        lacking = [pid for pid in partition.parts if pid not in programs]
        if lacking:
            raise ValueError(
                f"execute_distributed_partition: prg_per_partition must have a program for each part, and has none for {lacking}"
            )
    except Exception as error:
        fault = error
    verified = verify(communicator, partition, fault)
    assert programs is not None
    plan = Plan(communicator, partition, programs, verified)
    plans.append(plan)
    return plan.run(input_args or {}, allocator, agree)
