"""What one rank of many does in a step of a program: its work and its messages, counted without doing them.

The program runs in a dry-run world whose messages are counted (:mod:`..comm.counting`). Each evaluation is planned as ever.
Then the steps of its program are walked: kernels and NumPy's loops are counted, and what communicates runs, so that its
messages are counted. Results get addresses instead of memory, so arrays may be larger than this machine. Their values mean
nothing; numbers are ones, so that divisions and comparisons in the program go on.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import policy, system
from ..collective.steps import CountLocally, FoldAcross, RunCollective
from ..comm.counting import CountingCommunicator, Sent, Waited
from ..comm.single import SingleCommunicator
from ..comm.world import World
from ..context.call_sites import site_text, user_site
from ..errors import CommunicationError
from ..execute.allocation import Allocate, Copy, Release, Share
from ..execute.exchange import AcrossRanks, AssignLocally, FinishExchange, Localise, StartExchange
from ..execute.parts import State
from ..execute.program import ByNumpy, Combine, CombinePositions, Program
from ..graph.geometry import Geometry, dense
from ..graph.node import Node, Value
from ..lazy.cells import pending_cells
from ..lazy.evaluate import counted_by, evaluate, look_up
from ..lazy.pending import is_alone, world_of
from ..lazy.planning import make_program
from ..lazy.shared_calls import counted
from ..plan.launches import Launch
from .expected import EXPECTED
from .work import Work, named, of_call, weight

FEW = 1 << 12
"""Values of up to so many elements have memory, and are ones."""
ROW = 1 << 8
"""Elements that lie so many bytes apart are of different rows."""


class Evaluated(NamedTuple):
    """A plan begins: so many operations were recorded for it, and its arrays have so many bytes on this rank."""

    operations: int
    nbytes: int


class InPython(NamedTuple):
    """So many elements are treated one by one."""

    elements: int


class Planned:
    """A launch that is counted instead of compiled."""

    __slots__ = ("launch",)

    def __init__(self, launch: Launch, parts: Any) -> None:
        self.launch = launch

    def run(self, state: State) -> None:
        """A program that was made to be counted has no kernels."""
        raise AssertionError("a program that was made to be counted cannot run")


class Counter:
    """Counts what one rank of ``size`` does, of which ``ranks_per_node`` share a node."""

    def __init__(self, rank: int, size: int, ranks_per_node: int = 1) -> None:
        self.communicator: Any
        if size == 1:
            self.communicator = SingleCommunicator()
            self.events: list[Any] = []
        else:
            self.communicator = CountingCommunicator(rank, size, ranks_per_node)
            self.events = self.communicator.events
        self.world = World(self.communicator)
        self.preparing = False
        """Whether what happens now is not asked for: then nothing runs to be counted."""
        self._programs: dict[Any, Program] = {}

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Inside, the current world is the one that is counted, and what is evaluated is counted.

        What is pending outside has its values before, so that it does not get those of the program that is counted.
        """
        evaluate([cell.node for cell in pending_cells() if is_alone(cell)])
        with self.world, counted_by(self._compute):
            counted.by = self._call
            try:
                yield
            finally:
                counted.by = None

    def step(self, advance: Callable[[], object], goes_on: bool = False) -> list[Any]:
        """What happens in a call. What is pending at its end belongs to it, unless it ``goes_on``: then a later one may use it."""
        del self.events[:]
        try:
            advance()
        except np.linalg.LinAlgError as error:
            raise CommunicationError(
                f"model: {error}: a program that is modelled has no values, and this function needs them; leave it out of the program"
            ) from error
        if not (goes_on and any(isinstance(event, Evaluated) for event in self.events)):
            evaluate([cell.node for cell in pending_cells() if self._is_own(cell)])
        return list(self.events)

    def _is_own(self, cell: Any) -> bool:
        """Whether an array is one of the program that is counted."""
        return is_alone(cell) or world_of(cell.node) is self.world

    def _call(self, function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """Count a call of NumPy's on arrays in memory, and make it, but for products of matrices, which would take long."""
        arrays = [given for given in args if isinstance(given, np.ndarray)]
        name = getattr(function, "__name__", "")
        if name in ("matmul", "dot") and [array.ndim for array in arrays] == [2, 2]:
            first, second = arrays
            shape = first.shape[0], second.shape[1]
            result = _some(dense(shape, np.result_type(first, second))).array
        else:
            result = function(*args, **options)
        site = user_site()
        self.events.append(of_call(name, arrays, result, site_text(site) if site else ""))
        return result

    def _compute(self, pending: list[Node]) -> None:
        lookup = look_up(pending)
        program = self._programs.get(lookup.key)
        if program is None:
            program = self._programs[lookup.key] = make_program(lookup, pending, Planned)
        registers: list[Any] = [leaf.value for leaf in lookup.leaves]
        state = State([*registers, *[None] * (program.size - len(registers))], lookup.scalars)
        notes = program.description.registers
        self.events.append(Evaluated(len(lookup.order), _held(program)))
        sites = {number: node.site for number, node in enumerate(lookup.order)}
        asked = site_text(pending[-1].site) if pending[-1].site else ""
        loops = Loops(self.events)
        for step in program.steps:
            if not loops.take(step, asked):
                loops.end()
            self._count(step, state, notes, sites, asked)
        loops.end()
        if self.world.size > 1:
            self.communicator.rounds = 0
        order, kept = lookup.order, program.kept
        del registers, lookup
        for place, register in zip(kept, program.outputs, strict=True):
            value = state.registers[register]
            if value is None or value.array.size <= FEW:
                value = _some(notes[register].local)
            order[place].settle(value)

    def _count(
        self, step: Any, state: State, notes: Sequence[Any], sites: dict[int, Any], asked: str
    ) -> None:
        events, registers = self.events, state.registers
        launch = getattr(step, "launch", None)
        if launch is not None:
            for memory in launch.memories:
                _have(registers, memory.register, notes)
        elif isinstance(step, Allocate):
            registers[step.register] = _some(step.geometry)
            if step.initial is not None:
                events.append(Work("copy", _nbytes(step.geometry), 0, asked))
        elif isinstance(step, Copy):
            registers[step.register] = _some(step.geometry)
            events.append(Work("copy", 2 * _nbytes(step.geometry), 0, asked))
        elif isinstance(step, CombinePositions | Combine):
            registers[step.register] = _some(step.geometry)
            state.extremes[step.register] = step.dtype.type(1)
        elif isinstance(step, ByNumpy):
            given = [notes[k].local for is_register, k in step.arguments if is_register]
            site = sites.get(step.number)
            events.append(_by_numpy(step, given, site_text(site) if site else asked))
            registers[step.register] = _some(step.geometry)
        elif isinstance(step, CountLocally | Localise | AssignLocally):
            geometry = getattr(step, "geometry", notes[step.register].local)
            events.append(Work("copy", 2 * _nbytes(geometry), 0, asked))
            registers[step.register] = _some(geometry)
        elif isinstance(step, StartExchange):
            self._exchange(step, state, asked)
        elif isinstance(step, FinishExchange):
            events.append(Waited())
        elif isinstance(step, RunCollective):
            self._collective(step, state, notes, asked)
        elif isinstance(step, FoldAcross):
            for name in ("partial",):
                _have(registers, getattr(step, name), notes)
            step.run(state)
            events.append(Waited())
        else:
            if isinstance(step, AcrossRanks):
                size = step.communicator.size
                parts = size if size <= policy.limits.few_ranks else 2 * size.bit_length()
                events.append(InPython(parts * len(step.joins)))
                for join in step.joins:
                    _have(registers, join.register, notes)
            step.run(state)

    def _exchange(self, step: StartExchange, state: State, asked: str) -> None:
        """Count the messages of an exchange, and the copies into and out of them."""
        arriving, leaving = step.exchange.messages()
        self.events += [Sent(False, peer, nbytes) for peer, nbytes in arriving]
        copied = sum([nbytes for _, nbytes in (*arriving, *leaving)])
        self.events.append(Work("copy", 2 * copied, 0, asked))
        self.events += [Sent(True, peer, nbytes) for peer, nbytes in leaving]
        for register, geometry in step.exchange.allocate:
            state.registers[register] = _some(geometry)

    def _collective(
        self, step: RunCollective, state: State, notes: Sequence[Any], asked: str
    ) -> None:
        """Run what all ranks do together on shares that have memory, to count its messages; its work is counted by a rule."""
        transfers = step.call.transfers()
        name = step.call.function.name
        self.events.append(_together(step, notes, self.world.size, asked))
        rule = EXPECTED.get(name)
        for sends, receives in transfers or ():
            self.events += [Sent(False, peer, nbytes) for peer, nbytes in receives.items()]
            self.events += [Sent(True, peer, nbytes) for peer, nbytes in sends.items()]
            self.events.append(Waited())
        if transfers is None and rule is not None:
            self.events += rule(step.call, self.world)
        if transfers is not None or rule is not None or self.preparing:
            state.registers[step.register] = _some(step.geometry)
            return
        shares = [_nbytes(notes[source].local) for source in step.sources]
        most = max([*shares, _nbytes(step.geometry)])
        if most > policy.limits.counted:
            raise CommunicationError(
                f"model: {name} at {asked or 'a line'} has shares of {most} bytes on rank {self.world.rank} of "
                f"{self.world.size}, but its messages can be counted on shares of up to {policy.limits.counted} only: model more "
                "ranks, or smaller arrays"
            )
        for source in step.sources:
            _have(state.registers, source, notes)
        step.run(state)
        self.events.append(Waited())


class Loops:
    """Kernels that follow each other, which may go over their rows together (:mod:`..execute.sweeps`): then each array comes
    from memory once, and goes there once."""

    def __init__(self, events: list[Any]) -> None:
        self._events = events
        self._work: list[tuple[Launch, dict[tuple[int, str], int], str]] = []
        self._shared: dict[int, int] = {}

    def take(self, step: Any, asked: str) -> bool:
        """Take in a step, if kernels before and behind it may go together."""
        launch = getattr(step, "launch", None)
        if launch is not None:
            self._work.append((launch, self._moved(launch), asked))
            return True
        if isinstance(step, Share):
            self._shared[step.register] = self._shared.get(step.source, step.source)
        return isinstance(step, Share | Release) or (
            isinstance(step, Allocate) and step.initial is None
        )

    def _moved(self, launch: Launch) -> dict[tuple[int, str], int]:
        """The bytes that a launch reads and writes of each register's memory."""
        moved: dict[tuple[int, str], int] = {}
        for memory, operand in zip(launch.memories, launch.spec.operands, strict=True):
            lengths = [n for n, along in zip(launch.extents, memory.strides, strict=True) if along]
            nbytes = prod(lengths) * operand.run * memory.dtype.itemsize
            for way in operand.access:
                key = self._shared.get(memory.register, memory.register), way
                moved[key] = max(moved.get(key, 0), nbytes)
        return moved

    def end(self) -> None:
        """Count what was taken in."""
        whole: dict[tuple[int, str], int] = {}
        for _, moved, _ in self._work:
            for key, nbytes in moved.items():
                whole[key] = max(whole.get(key, 0), nbytes)
        total = sum([nbytes for _, moved, _ in self._work for nbytes in moved.values()])
        once = sum(whole.values())
        together = (total - once) * policy.limits.swept_part > total and once > policy.limits.swept
        seen: dict[tuple[int, str], int] = {}
        for launch, moved, asked in self._work:
            nbytes = 0
            for (register, way), size in moved.items():
                known = (
                    max(seen.get((register, kind), 0) for kind in ("r", "w"))
                    if way == "r"
                    else seen.get((register, "w"), 0)
                )
                nbytes += max(0, size - known) if together else size
            for key, size in moved.items():
                seen[key] = max(seen.get(key, 0), size)
            self._events.append(_work_of(launch, nbytes, sum(moved.values()) - nbytes, asked))
        self._work = []


def _work_of(launch: Launch, nbytes: int, cached: int, asked: str) -> Work:
    """What a launch computes, while it reads and writes so many bytes in memory and in the cache.

    Each element that is loaded or stored counts as an operation: a stencil has more of these than of additions.
    """
    calls = [each for each in launch.spec.body if each.op == "call"]
    operations = sum([weight(each.name, each.dtype) for each in calls])
    operations += sum([weight(each.op, each.dtype) for each in launch.spec.reductions])
    operations += sum([weight("load", operand.dtype) for operand in launch.spec.operands])
    sites = [operation.site for operation in launch.operations if operation.site]
    site = site_text(sites[-1]) if sites else asked
    return Work(
        "kernel", nbytes, prod(launch.extents) * operations, site, cached, _is_stencil(launch)
    )


def _is_stencil(launch: Launch) -> bool:
    """Whether a launch reads rows of an array that lie apart."""
    offsets: dict[int, list[int]] = {}
    for memory, operand in zip(launch.memories, launch.spec.operands, strict=True):
        if "r" in operand.access and any(memory.strides):
            offsets.setdefault(memory.register, []).append(memory.offset)
    return any(max(places) - min(places) > ROW for places in offsets.values())


def _by_numpy(step: ByNumpy, given: Sequence[Geometry], site: str) -> Work:
    """What NumPy computes in a program."""
    nbytes = sum(map(_nbytes, given)) + _nbytes(step.geometry)
    name = getattr(step.function, "__name__", "")
    return named(name, [geometry.shape for geometry in given], step.geometry.shape, nbytes, site)


def _together(step: RunCollective, notes: Sequence[Any], size: int, asked: str) -> Work:
    """The work of a rank in what all do together: an even part of what one process would do."""
    forms = [operand.form(step.call.world) for operand in step.call.operands]
    place = step.call.place
    result = step.geometry.shape if place is None else place.layout.shape
    nbytes = sum([_nbytes(notes[source].local) for source in step.sources])
    nbytes += _nbytes(step.geometry)
    shapes = [form.shape for form in forms]
    name = step.call.function.name
    if name == "transform":
        name = "fft" if len(step.call.params[0]) == 1 else "fftn"
    return named(name, shapes, result, 2 * nbytes, asked, 1 / size)


def _held(program: Program) -> int:
    """The most bytes that a program goes through at one time: its operands, and memory that is taken and let go."""
    notes = program.description.registers
    most = held = sum([_nbytes(note.local) for note in notes if note.role == "data"])
    taken: dict[int, int] = {}
    for step in program.steps:
        register = getattr(step, "register", -1)
        if isinstance(step, Release):
            held -= sum([taken.pop(register, 0) for register in step.registers])
        elif isinstance(step, Share):
            taken[register] = taken.pop(step.source, 0)
        elif register >= 0 and register not in taken and notes[register].role == "value":
            taken[register] = _nbytes(notes[register].local)
            held += taken[register]
            most = max(most, held)
    return most


def _nbytes(geometry: Geometry) -> int:
    return geometry.size * geometry.dtype.itemsize


def _have(registers: list[Any], register: int, notes: Sequence[Any]) -> None:
    """Give a register something to hold."""
    if registers[register] is None:
        registers[register] = _some(notes[register].local)


def _some(geometry: Geometry) -> Value:
    """An array of this form: ones where it is small, else addresses, which become zeros where they are read."""
    nbytes = _nbytes(geometry)
    if geometry.size <= FEW:
        ones = np.ones(geometry.size, geometry.dtype)
        return Value(np.ndarray(geometry.shape, geometry.dtype, ones, 0, geometry.strides))
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | system.UNBACKED)
    return Value(np.ndarray(geometry.shape, geometry.dtype, memory, 0, geometry.strides))
