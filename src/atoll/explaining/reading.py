"""The reader: derives an explanation from a program and its description in one pass over the steps, group by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Any

from .. import backend, policy
from ..collective.steps import CountLocally, FoldAcross, RunCollective
from ..context.call_sites import site_text
from ..exchange.messages import Piece
from ..execute.allocation import Allocate, Copy, Release, Share
from ..execute.exchange import AcrossRanks, FinishExchange, Fold, Position, StartExchange
from ..execute.parts import State, Step
from ..execute.program import ByNumpy, Program
from ..graph.picture import letters
from ..graph.words import key_text, slice_text
from ..plan import launches
from ..plan.description import Description, GroupNote, StatementNote
from .facts import Access, Collective, Explanation, Group, Launch, Memory, Message, Stored
from .formulas import code_of, operations_of, region_of, sets_text, touched

_STYLES = {
    "map": "loop",
    "place": "loop in place",
    "fold": "reduction",
    "numpy": "NumPy",
    "collective": "all ranks together",
    "local": "NumPy on each share",
}


class Planned:
    """Stands for the step that would run a launch, in a program that is only read."""

    __slots__ = ("launch",)

    def __init__(self, launch: launches.Launch, parts: Any) -> None:
        self.launch = launch

    def run(self, state: State) -> None:
        """Fail: a program that is only read has no kernels."""
        raise AssertionError("a program that was made to be read cannot run")


@dataclass(slots=True)
class _Events:
    """The facts of one group, as the reader finds them."""

    memories: list[Memory] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    under_way: bool = False
    written_as: dict[int, int] = field(default_factory=dict)
    """For each register, the register that takes over its memory."""


class Reader:
    """Derives the explanation of one program."""

    def __init__(self, program: Program, scalars: Sequence[Any] | None) -> None:
        self.program = program
        self.scalars = scalars
        self.description: Description = program.description
        self.registers = self.description.registers
        self.names = self._names()
        self.nodes = None if program.communicator is None else program.communicator.nodes
        self._travels = count(1)
        """The numbers of messages."""

    def _names(self) -> list[str]:
        names = {
            "data": map(letters, count()),
            "value": (f"v{number}" for number in count(1)),
            "patch": (f"p{number}" for number in count(1)),
        }
        return [next(names[note.role]) for note in self.registers]

    def explanation(self, what: str, state: str, planned: str) -> Explanation:
        """The explanation of the program."""
        description = self.description
        data = [k for k, note in enumerate(self.registers) if note.role == "data"]
        left = [
            f"{reason.name} ({site_text(reason.site)})" if reason.site else reason.name
            for reason in description.left
        ]
        return Explanation(
            what,
            state,
            planned,
            description.operations,
            tuple([self._memory(k, "there already") for k in data]),
            tuple([self._group(k, note) for k, note in enumerate(description.groups)]),
            tuple(left),
            self._peak(),
            description.rank,
            description.ranks,
            self.nodes is not None and self.nodes.two_levels,
        )

    def _memory(self, register: int, how: str) -> Memory:
        note = self.registers[register]
        return Memory(
            self.names[register],
            note.role,
            note.shape,
            str(note.dtype),
            note.local.nbytes,
            "" if note.layout is None else repr(note.layout),
            how,
        )

    def _group(self, number: int, note: GroupNote) -> Group:
        events = _Events()
        for step in note.steps:
            self._step(step, events)
        return Group(
            number,
            note.domain,
            "" if note.layout is None else repr(note.layout),
            tuple([self._stored(statement) for statement in note.statements]),
            note.apart,
            tuple(events.memories),
            tuple(events.messages),
            tuple(events.launches),
            tuple(events.collectives),
        )

    def _stored(self, note: StatementNote) -> Stored:
        return Stored(
            self.names[note.register],
            note.label,
            site_text(note.site),
            _STYLES[note.style],
            note.reason,
            note.remark,
        )

    def _step(self, step: Step, events: _Events) -> None:
        events.memories.extend([self._memory(*taken) for taken in self._allocated(step)])
        if isinstance(step, Share):
            how = f"in place of {self.names[step.source]}"
            events.written_as[step.source] = step.register
            events.memories.append(self._memory(step.register, how))
        elif isinstance(step, RunCollective):
            events.collectives.append(self._together(step))
        elif isinstance(step, StartExchange):
            events.under_way = True
            events.messages.extend(self._messages(step))
        elif isinstance(step, FinishExchange):
            events.under_way = False
        elif isinstance(step, FoldAcross):
            events.messages.extend(self._parts(step))
            events.collectives.append(self._collective(step))
        elif isinstance(step, AcrossRanks):
            events.collectives.extend([self._collective(join) for join in step.joins])
        elif (launch := getattr(step, "launch", None)) is not None:
            events.launches.append(self._launch(launch, events))

    def _allocated(self, step: Step) -> list[tuple[int, str]]:
        """The registers that get new buffers in a step, with the origins of the memory."""
        if isinstance(step, Allocate):
            return [(step.register, "new")]
        if isinstance(step, Copy):
            return [(step.register, f"copy of {self.names[step.source]}")]
        if isinstance(step, StartExchange):
            return [(register, self._filled(register)) for register, _ in step.exchange.allocate]
        if isinstance(step, FoldAcross):
            return [(step.register, "new, joined from all ranks' parts")]
        if isinstance(step, RunCollective) and step.is_new:
            return [(step.register, "new, by all ranks together")]
        if isinstance(step, ByNumpy | CountLocally) and step.geometry.ndim:
            return [(step.register, "new, by NumPy")]
        return []

    def _filled(self, register: int) -> str:
        """The origin of the memory of a ghost region, and its content."""
        note = self.registers[register]
        if note.source < 0:
            return "new"
        part = sets_text(note.region, self.registers[note.source].shape)
        return f"new, to hold {self.names[note.source]}{part}"

    def _messages(self, step: StartExchange) -> list[Message]:
        arriving, leaving = step.exchange.all_pieces()
        messages = [(False, piece.peer, *self._moved(piece)) for piece in arriving]
        messages += [(True, piece.peer, *self._moved(piece)) for piece in leaving]
        totals: Counter[tuple[bool, int]] = Counter()
        for sends, peer, _, _, nbytes in messages:
            totals[sends, peer] += nbytes
        packets = {
            way: next(self._travels)
            for way, total in totals.items()
            if total <= policy.limits.cached
        }
        return [
            Message(*m, packets.get(m[:2]) or next(self._travels), self._is_far(m[1]))
            for m in messages
        ]

    def _moved(self, piece: Piece) -> tuple[str, str, int]:
        """The array of a piece, its region there, and its bytes."""
        note, key = self.registers[piece.register], piece.key or ()
        size = prod(piece.shape) * note.dtype.itemsize
        if note.source >= 0:  # a ghost region
            base = self.registers[note.source]
            region = f" in {self.names[piece.register]}"
            if all(part.is_contiguous for part in note.region):
                corner = [part.lowest if len(part) else 0 for part in note.region]
                region = _key_region(key, corner, base.shape, region)
            return self.names[note.source], region, size
        region = " of this rank's share"
        if note.layout is not None and note.layout.is_block:
            halo = note.layout.halo(self.description.rank)
            corner = [low - before for low, (before, _) in zip(note.corner, halo, strict=True)]
            region = _key_region(key, corner, note.shape, region)
        return self.names[piece.register], region, size

    def _is_far(self, peer: int) -> bool:
        """True if ``peer`` is on another node than this rank."""
        return self.nodes is not None and not self.nodes.same(peer, self.description.rank)

    def _parts(self, step: FoldAcross) -> list[Message]:
        """The messages that carry parts of a fold to the owners of the result."""
        name, item = self.names[step.register], self.registers[step.register].dtype.itemsize
        parts = [
            (False, source, name, ", its part", prod(shape) * item)
            for _, shape, sources in step.plan.joins
            for source in sources
        ]
        parts += [
            (True, peer, name, ", this rank's part", prod(shape) * item)
            for peer, _, shape in step.plan.sends
        ]
        others = [part for part in parts if part[1] != step.communicator.rank]
        return [Message(*part, next(self._travels), self._is_far(part[1])) for part in others]

    def _together(self, step: RunCollective) -> Collective:
        name, sent = self.names[step.register], step.call.traffic()
        if sent is None:
            given = [source for source in step.sources if source != step.register]
            size = sum([self.registers[source].local.nbytes for source in given])
            return Collective(name, step.call.label, size, exact=False)
        return Collective(name, step.call.label, sum(sent.values()), tuple(sorted(sent)))

    def _collective(self, step: Fold | FoldAcross | Position) -> Collective:
        note = self.registers[step.register]
        if isinstance(step, Fold | FoldAcross):
            return Collective(self.names[step.register], step.ufunc.__name__, note.local.nbytes)
        return Collective(self.names[step.register], step.name, 2 * note.dtype.itemsize)

    def _launch(self, launch: launches.Launch, events: _Events) -> Launch:
        spec, extents = launch.spec, launch.extents
        regions = []
        for m, operand in zip(launch.memories, spec.operands, strict=True):
            strides, lengths = m.strides, extents
            if operand.run > 1:
                strides, lengths = (*strides, m.dtype.itemsize), (*extents, operand.run)
            note = self.registers[m.register]
            regions.append((m.register, region_of(note, m.offset, strides, lengths)))
        targets = [
            self.names[events.written_as.get(register, register)] + region.text
            for register, region in regions
        ]
        accesses = tuple(
            [
                Access(self.names[register], region.text, operand.access, operand.inner)
                for (register, region), operand in zip(regions, spec.operands, strict=True)
            ]
        )
        partials = iter(launch.partials)
        results = []
        for reduction in spec.reductions:
            register = next(partials)[0] if reduction.operand < 0 else -1
            place = reduction.operand + (reduction.position >= 0)
            name = self.names[register] if register >= 0 else str(accesses[place])
            results.append(name)
        nbytes = 0
        for kinds in ("r", "w"):
            boxes = [
                region
                for region, operand in zip(regions, spec.operands, strict=True)
                if kinds in operand.access and region[1].bounds
            ]
            nbytes += touched(boxes, lambda register: self.registers[register].dtype.itemsize)
        return Launch(
            extents,
            launch.axes,
            accesses,
            operations_of(spec),
            tuple([reduction.op for reduction in spec.reductions]),
            code_of(launch, [str(access) for access in accesses], targets, results, self.scalars),
            launch.chunks,
            backend.current().threads(launch),
            nbytes,
            events.under_way,
            backend.current().is_ready(spec),
        )

    def _peak(self) -> int:
        """The peak bytes of new buffers, each from its allocation to its release."""
        buffers: dict[
            int, list[int]
        ] = {}  # by register: its bytes, and the registers that share it
        now = peak = 0
        for step in self.program.steps:
            for register, _ in self._allocated(step):
                buffers[register] = [self.registers[register].local.nbytes, 1]
                now += buffers[register][0]
                peak = max(peak, now)
            if isinstance(step, Share) and step.source in buffers:
                buffers[step.register] = buffers[step.source]
                buffers[step.source][1] += 1
            elif isinstance(step, Release):
                for buffer in [buffers[k] for k in step.registers if k in buffers]:
                    buffer[1] -= 1
                    now -= 0 if buffer[1] else buffer[0]
        return peak


def _key_region(
    key: tuple[Any, ...], corner: Sequence[int], shape: Sequence[int], otherwise: str
) -> str:
    """A key of slices into memory that begins at ``corner``, as a region of the whole array."""
    if not all(type(part) is slice and part.step in (None, 1) for part in key):
        return otherwise
    parts = []
    for part, first, n in zip(key, corner, shape, strict=True):
        start = part.start or 0
        stop = n - first if part.stop is None else part.stop
        parts.append(slice_text(first + start, stop - start, 1, n))
    return key_text(parts)
