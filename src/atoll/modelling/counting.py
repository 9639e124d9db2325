"""Counting: the work and the messages of one rank in a step of a program, without computing or sending.

The program runs in a dry-run world whose messages are counted (:mod:`..comm.dry_run`). Each evaluation is planned as usual.
Then the steps of its program are walked: kernels and NumPy's loops are counted, and steps that communicate run, so that their
messages are counted. Results get addresses instead of memory, so arrays may exceed this machine's memory. Their values are
meaningless; scalars are ones, so that divisions and comparisons in the program succeed.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import policy, system
from ..collective.steps import CountLocally, FoldAcross, RunCollective
from ..comm.dry_run import CountingCommunicator, Sent, Waited
from ..comm.single import SingleCommunicator
from ..comm.world import World
from ..config import config
from ..context.call_sites import site_text, user_site
from ..errors import CommunicationError
from ..execute.allocation import Allocate, Copy, Release, Share
from ..execute.exchange import AcrossRanks, AssignLocally, FinishExchange, Localise, StartExchange
from ..execute.parts import State
from ..execute.program import ByNumpy, Combine, CombinePositions, Program
from ..explaining.reading import Planned
from ..graph.geometry import Geometry, dense
from ..graph.node import Node, Value
from ..lazy.cells import pending_cells
from ..lazy.evaluation import computed_by, evaluate, look_up, pass_by, passing_of, stored_too
from ..lazy.numpy_evaluation import begun
from ..lazy.pending import is_alone, world_of
from ..lazy.planning import make_program
from ..lazy.runs import finished, stored_by
from .expected import EXPECTED
from .loops import Loops
from .reuse import Addresses, Reuse, Touched, span
from .work import Work, named, near

FEW = 1 << 12
"""The most elements of a value that has memory, filled with ones."""


class Evaluated(NamedTuple):
    """The start of a plan: the number of its recorded operations, and the bytes of its arrays on this rank."""

    operations: int
    nbytes: int


class InPython(NamedTuple):
    """Elements that Python handles one by one."""

    elements: int


class Counter:
    """Counts the work and the messages of one rank of ``size``, with ``ranks_per_node`` ranks on a node."""

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
        """True during steps whose counts are discarded; collectives do not run in them."""
        self._programs: dict[Any, Program] = {}
        self._reuse = Reuse()
        self._addresses = Addresses()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Make the counted world the current one, and count all evaluations inside.

        Arrays that are pending outside are evaluated first, so that they do not get meaningless values.
        """
        evaluate([cell.node for cell in pending_cells() if is_alone(cell)])
        with self.world, computed_by(self._compute, self._call):
            yield

    def step(self, advance: Callable[[], object], goes_on: bool = False) -> list[Any]:
        """The events of a call. Arrays pending at its end are evaluated, unless the program ``goes_on`` and the call evaluated some."""
        del self.events[:]
        try:
            advance()
        except np.linalg.LinAlgError as error:
            raise CommunicationError(
                f"model: {error} on rank {self.world.rank} of {self.world.size}: a program that is modelled has no values, and this "
                "function needs them; leave it out of the program, or model it on one rank"
            ) from error
        if not (goes_on and any(isinstance(event, Evaluated) for event in self.events)):
            evaluate([cell.node for cell in pending_cells() if self._is_own(cell)])
        return list(self.events)

    def _is_own(self, cell: Any) -> bool:
        """True if an array belongs to the counted program."""
        return is_alone(cell) or world_of(cell.node) is self.world

    def _call(self, function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """Count a NumPy call on arrays in memory, and make it, except for products of matrices, which would take long."""
        arrays = [given for given in args if isinstance(given, np.ndarray)]
        name = getattr(function, "__name__", "")
        if name in ("matmul", "dot") and [array.ndim for array in arrays] == [2, 2]:
            first, second = arrays
            shape = first.shape[0], second.shape[1]
            result = self._some(dense(shape, np.result_type(first, second))).array
        else:
            result = _of_any_values(function, args, options)
        outputs = result if isinstance(result, tuple) else (result,)
        arrived = [each for each in outputs if isinstance(each, np.ndarray)]
        site = user_site()
        work = named(
            name,
            [array.shape for array in arrays],
            arrived[0].shape if arrived else (),
            self._touched([*arrays, *arrived]),
            site_text(site) if site else "",
        )
        self.events.append(work)
        return result

    def _touched(self, arrays: Sequence[np.ndarray[Any, Any]]) -> Touched:
        """The bytes of whole arrays that are read or written, by reuse distance."""
        spans = []
        for array in arrays:
            where = self._addresses.of(array.__array_interface__["data"][0])
            if touched := span(where, array.shape, array.strides, array.itemsize):
                spans.append(touched)
        return tuple([part for parts in self._reuse.touched(spans) for part in parts])

    def _some(self, geometry: Geometry) -> Value:
        """An array of a geometry: ones if it is small, else addresses only, which read as zeros.

        In a mask every second element is true: it selects half of the elements, evenly spread. A mask of more than
        ``config.gather_bytes`` is all False.
        """
        nbytes = geometry.nbytes
        if geometry.size <= FEW:
            ones = np.ones(geometry.size, geometry.dtype)
            if geometry.dtype == np.bool_:
                ones[1::2] = False
            return Value(np.ndarray(geometry.shape, geometry.dtype, ones, 0, geometry.strides))
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | system.UNBACKED
        memory = mmap.mmap(-1, nbytes, flags=flags)
        value = Value(np.ndarray(geometry.shape, geometry.dtype, memory, 0, geometry.strides))
        self._addresses.lend(memory, value.address, nbytes)
        if geometry.dtype == np.bool_ and nbytes <= config.gather_bytes:
            np.frombuffer(memory, np.bool_)[: geometry.size : 2] = True
            if self.world.size == 1:
                value.known = -(-geometry.size // 2)
        return value

    def _have(self, registers: list[Any], register: int, notes: Sequence[Any]) -> None:
        """Give an empty register a value."""
        if registers[register] is None:
            registers[register] = self._some(notes[register].local)

    def _compute(self, pending: list[Node]) -> Callable[[], None] | None:
        pending = [*pending, *stored_too(pending)]
        lookup = look_up(pending)
        program = self._programs.get(lookup.key)
        if program is None:
            program = self._programs[lookup.key] = make_program(lookup, pending, Planned)
        passing = passing_of(lookup, pending, program)
        pass_by(lookup.order if program.communicator else [lookup.order[k] for k in passing])
        registers: list[Any] = [leaf.value for leaf in lookup.leaves]
        state = State([*registers, *[None] * (program.size - len(registers))], lookup.scalars)
        notes = program.description.registers
        self.events.append(Evaluated(len(lookup.order), _held(program)))
        if program.communicator is not None:
            begun(program, state, lookup.leaves, lookup.order, pending, config.settings())
        sites = {number: node.site for number, node in enumerate(lookup.order)}
        asked = site_text(pending[-1].site) if pending[-1].site else ""
        memory_of: Any = state.registers.__getitem__
        loops = Loops(self.events, self._reuse, lambda k: self._addresses.of(memory_of(k).address))
        for step in program.steps:
            launch = getattr(step, "launch", None)
            for memory in launch.memories if launch else ():
                self._have(state.registers, memory.register, notes)
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
                value = self._some(notes[register].local)
            order[place].settle(value)
        return (
            partial(finished, program, *stored_by(program, order)) if program.communicator else None
        )

    def _count(
        self, step: Any, state: State, notes: Sequence[Any], sites: dict[int, Any], asked: str
    ) -> None:
        events, registers = self.events, state.registers
        if getattr(step, "launch", None) is not None:
            return
        if isinstance(step, Allocate | Copy):
            value = registers[step.register] = self._some(step.geometry)
            if isinstance(step, Copy):
                source = registers[step.source]
                assert source is not None
                touched = self._touched([source.array, value.array])
                events.append(Work("copy", touched, 0, asked))
            elif step.initial is not None:
                events.append(Work("copy", self._touched([value.array]), 0, asked))
        elif isinstance(step, CombinePositions | Combine):
            registers[step.register] = self._some(step.geometry)
            state.extremes[step.register] = step.dtype.type(1)
        elif isinstance(step, ByNumpy):
            given = [notes[k].local for is_register, k in step.arguments if is_register]
            site = sites.get(step.number)
            registers[step.register] = self._some(step.geometry)
            values = [registers[k] for is_register, k in step.arguments if is_register]
            arrays = [value.array for value in (*values, registers[step.register]) if value]
            name = getattr(step.function, "__name__", "")
            shapes, result = [geometry.shape for geometry in given], step.geometry.shape
            line = site_text(site) if site else asked
            events.append(named(name, shapes, result, self._touched(arrays), line))
        elif isinstance(step, CountLocally | Localise | AssignLocally):
            geometry = getattr(step, "geometry", notes[step.register].local)
            events.append(Work("copy", near(2 * geometry.nbytes), 0, asked))
            registers[step.register] = self._some(geometry)
        elif isinstance(step, StartExchange):
            self._exchange(step, state, asked)
        elif isinstance(step, FinishExchange):
            events.append(Waited())
        elif isinstance(step, RunCollective):
            self._collective(step, state, notes, asked)
        elif isinstance(step, FoldAcross):
            self._have(registers, step.partial, notes)
            step.run(state)
            events.append(Waited())
        else:
            if isinstance(step, AcrossRanks):
                size = step.communicator.size
                parts = size if size <= policy.limits.few_ranks else 2 * size.bit_length()
                events.append(InPython(parts * len(step.joins)))
                for join in step.joins:
                    self._have(registers, join.register, notes)
            step.run(state)

    def _exchange(self, step: StartExchange, state: State, asked: str) -> None:
        """Count the messages of an exchange, and the copies into and out of them."""
        arriving, leaving = step.exchange.messages()
        self.events += [Sent(False, peer, nbytes) for peer, nbytes in arriving]
        copied = sum([nbytes for _, nbytes in (*arriving, *leaving)])
        self.events.append(Work("copy", near(2 * copied), 0, asked))
        self.events += [Sent(True, peer, nbytes) for peer, nbytes in leaving]
        for register, geometry in step.exchange.allocate:
            state.registers[register] = self._some(geometry)

    def _collective(
        self, step: RunCollective, state: State, notes: Sequence[Any], asked: str
    ) -> None:
        """Count a collective: its messages by a rule, or by running it on shares with memory; its work by a rule."""
        transfers = step.call.transfers()
        name = step.call.function.name
        self.events.append(_together(step, notes, self.world.size, asked))
        rule = EXPECTED.get(name)
        for sends, receives in transfers or ():
            self.events += [Sent(False, peer, nbytes) for peer, nbytes in receives.items()]
            self.events += [Sent(True, peer, nbytes) for peer, nbytes in sends.items()]
            self.events.append(Waited())
        if transfers is None and rule is not None:
            rule(step.call, self.world)
        if transfers is not None or rule is not None or self.preparing:
            state.registers[step.register] = self._some(step.geometry)
            return
        shares = [notes[source].local.nbytes for source in step.sources]
        most = max([*shares, step.geometry.nbytes])
        if most > config.gather_bytes:
            raise CommunicationError(
                f"model: {name} at {asked or 'a line'} has shares of {most} bytes on rank {self.world.rank} of "
                f"{self.world.size}, but its messages can be counted on shares of up to {config.gather_bytes} only: model more "
                "ranks, or smaller arrays"
            )
        for source in step.sources:
            self._have(state.registers, source, notes)
        try:
            step.run(state)
        except (CommunicationError, ArithmeticError, LookupError, ValueError) as error:
            raise CommunicationError(
                f"model: the values of arrays decide what {name} at {asked or 'a line'} does on rank {self.world.rank} of "
                f"{self.world.size}, and a model has no values ({type(error).__name__}: {error}); leave it out of the program "
                "that is modelled, or model it on one rank"
            ) from error
        self.events.append(Waited())


def _together(step: RunCollective, notes: Sequence[Any], size: int, asked: str) -> Work:
    """The work of a rank in a collective: an equal part of the work of one process."""
    forms = [operand.form(step.call.world) for operand in step.call.operands]
    place = step.call.place
    result = step.geometry.shape if place is None else place.layout.shape
    nbytes = sum([notes[source].local.nbytes for source in step.sources])
    nbytes += step.geometry.nbytes
    shapes = [form.shape for form in forms]
    name = step.call.function.name
    if name == "transform":
        name = "fft" if len(step.call.params[0]) == 1 else "fftn"
    return named(name, shapes, result, near(2 * nbytes), asked, 1 / size)


def _held(program: Program) -> int:
    """The peak bytes of a program: its operands, and the memory that it allocates and releases."""
    notes = program.description.registers
    held: int = sum([note.local.nbytes for note in notes if note.role == "data"])
    most, taken = held, dict[int, int]()
    for step in program.steps:
        register = getattr(step, "register", -1)
        if isinstance(step, Release):
            held -= sum([taken.pop(register, 0) for register in step.registers])
        elif isinstance(step, Share):
            taken[register] = taken.pop(step.source, 0)
        elif register >= 0 and register not in taken and notes[register].role == "value":
            taken[register] = notes[register].local.nbytes
            held += taken[register]
            most = max(most, held)
    return most


def _of_any_values(function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """The result of a call; if its matrices are singular, as they have no values, that with unit matrices instead."""
    try:
        return function(*args, **options)
    except np.linalg.LinAlgError:
        matrices = [
            isinstance(each, np.ndarray) and each.ndim > 1 and each.shape[-1] == each.shape[-2]
            for each in args
        ]
        unit = [
            np.zeros_like(each) + np.eye(each.shape[-1]) if square else each
            for each, square in zip(args, matrices, strict=True)
        ]
        return function(*unit, **options)
