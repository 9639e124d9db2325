"""The current world: the ranks that run the program together.

There is one process-wide world, made at first use: all ranks of the job if a launcher started this process, otherwise
this process alone. A context variable can replace it: ``with world.group([0, 1]):`` for a block, ``atoll.use(comm)``
from then on, and each simulated rank has its own.

Threads. Context variables do not carry over to a thread that the program starts, so such a thread begins in the
process-wide world. The ranks of a world must call it in the same order, so one thread of a process communicates:
another one gets a ``ThreadError`` while the first is alive (see ``context.threads``).
"""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np

from ..config import config
from ..context import log, profiler
from ..context.profiler import Kind
from ..errors import CommunicationError, LaunchError, WorldError, a_type
from ..front import at_end, native, vary
from . import launcher
from .communicator import Communicator
from .in_step import allgather
from .nodes import Nodes
from .single import SingleCommunicator


class World:
    """A group of ranks that run the program together, as one of them sees it.

    As a context manager it is the current world inside the block. Two worlds are equal if they use the same
    communicator.
    """

    __slots__ = ("__weakref__", "_former", "_positions", "communicator", "rank", "size")

    def __init__(self, communicator: Communicator) -> None:
        self.communicator = communicator
        self.rank = communicator.rank
        self.size = communicator.size
        self._former: list[World | None] = []
        self._positions: dict[int, int] | None = None
        if self.size > 1 and native is not None:
            native.share(1)
            at_end(self, partial(native.share, -1))

    @property
    def nodes(self) -> Nodes:
        """The nodes of the ranks: ``nodes.count``, ``nodes.of(rank)``, ``nodes.ranks(node)``."""
        return self.communicator.nodes

    @property
    def comm(self) -> Any:
        """The mpi4py communicator of these ranks, or ``None`` without MPI.

        atoll never communicates on it, so the program may do so freely.
        """
        return self.communicator.comm

    def split(self, color: int | None, key: int = 0) -> World | None:
        """The world of the ranks that pass the same color, ordered by key, then by rank.

        All ranks call it. A rank that passes ``None`` belongs to no group and gets ``None``.
        """
        self._all_come("world.split()")
        part = self.communicator.split(color, key)
        return None if part is None else World(part)

    def group(self, ranks: Sequence[int]) -> World | None:
        """The world of ``ranks``, in that order; ``None`` on a rank not among them.

        Only these ranks need to call it. Asking for the same ranks again costs nothing.
        """
        part = self.communicator.group(ranks)
        return None if part is None else World(part)

    def barrier(self) -> None:
        """Return once every rank has called this."""
        self._all_come("world.barrier()")

    def _all_come(self, what: str) -> None:
        """Wait until every rank has arrived, by a step of the log; ranks that have diverged may meet here to begin
        anew.
        """
        if self.communicator.log.parted:
            self.communicator.barrier(what)
        else:
            allgather(self.communicator, np.empty(0, np.uint8), what)

    def rank_of(self, other: World, rank: int) -> int | None:
        """The rank in this world of ``rank`` of ``other``, if any."""
        self._by_member(other)
        other.communicator.check_peer(rank)
        if self == other:
            return rank
        return self._by_member(other).get(other.communicator.members[rank])

    def translate(self, other: World) -> tuple[int | None, ...]:
        """By rank of ``other``, the rank in this world, or ``None`` for ranks outside it."""
        return tuple(map(self._by_member(other).get, other.communicator.members))

    def _by_member(self, other: World) -> dict[int, int]:
        """The ranks of this world by the numbers of their processes, which ``other`` uses as well."""
        if not hasattr(other, "communicator"):
            raise TypeError(f"a world must be an atoll.World, not {a_type(other)}")
        mine = self.communicator
        if mine.universe != other.communicator.universe:
            raise WorldError(
                f"{other!r} and {self!r} have no rank in common, so ranks of one cannot be translated into the other"
            )
        if self._positions is None:
            self._positions = {member: rank for rank, member in enumerate(mine.members)}
        return self._positions

    def __enter__(self) -> World:
        self._former.append(_current.get(None))
        vary(_current, self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _current.set(self._former.pop())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CurrentWorld):
            other = current_world()
        return isinstance(other, World) and self.communicator is other.communicator

    def __hash__(self) -> int:
        return hash(self.communicator)

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} belongs to its process and cannot be pickled; send its ranks, and make it anew by atoll.world.group(ranks)"
        )

    def __repr__(self) -> str:
        return f"<world: rank {self.rank} of {self.size}, {self.communicator.kind}>"


class _UsedWorld(World):
    """The world that ``use`` returns: current at once, and limited to a block if entered by ``with``."""

    __slots__ = ("_before",)

    def __init__(self, communicator: Communicator) -> None:
        super().__init__(communicator)
        self._before: tuple[World | None] | None = (_current.get(None),)
        vary(_current, self)

    def __enter__(self) -> World:
        if self._before is None or _current.get(None) is not self:
            return super().__enter__()
        self._former.append(self._before[0])
        self._before = None
        return self


_current: ContextVar[World | None] = ContextVar("atoll_world", default=None)
_process_world: World | None = None
_process_lock = threading.Lock()


def process_world() -> World | None:
    """The world of all ranks of the job, if it has been made."""
    return _process_world


def known_world() -> World | None:
    """The current world, or ``None`` before it is made: making it may start MPI."""
    return _current.get() or _process_world


def begin_anew(verdict: str) -> None:
    """Replace the world of all ranks of the job by a new one, because they have diverged as ``verdict`` says.

    All ranks call it. Arrays of the former world refuse operations that need other ranks.
    """
    global _process_world
    with _process_lock:
        former = _process_world
        if former is None or former.size == 1:
            return
        from .mpi import replaced

        former.communicator.log.part(verdict)
        _process_world = World(replaced())


def ranks_per_node(size: int) -> int:
    """The number of consecutive ranks on each node, if ``size`` is the number of ranks of the job; else 1.

    It depends on the job alone: ranks whose current worlds differ agree on it.
    """
    here = known_world()
    if here is None:
        return 1
    universe = here.communicator.universe
    if isinstance(universe, str):  # processes
        if _process_world is None:
            return 1
        nodes = _process_world.nodes
    else:  # a simulation, or a dry run
        nodes = universe.nodes  # type: ignore[attr-defined]
    return nodes.even if nodes.size == size else 1


def current_world() -> World:
    """The current world; made at first use."""
    return _current.get() or _process_world or _make_process_world()


def use(comm: Any) -> World:
    """Make the ranks of an mpi4py communicator the current world. Collective over ``comm``.

    As a statement, ``atoll.use(comm)`` applies from then on in this context. As ``with atoll.use(comm):`` it applies to
    the block. The communicator is duplicated once, so the program may continue to use it; it is ``atoll.world.comm``
    while the world is current.
    """
    if isinstance(comm, World | CurrentWorld):
        return _UsedWorld(comm.communicator)
    from .mpi import adopt

    return _UsedWorld(adopt(comm))


def world_of(comm: Any = None) -> World:
    """The world of an argument ``comm=``: ``None`` (the current one), a world, or a communicator.

    An mpi4py communicator is adopted, which is collective over it the first time.
    """
    if comm is None or isinstance(comm, CurrentWorld):
        return current_world()
    if isinstance(comm, World):
        return comm
    if isinstance(comm, Communicator):
        return World(comm)
    from .mpi import adopt

    return World(adopt(comm))


def _make_process_world() -> World:
    global _process_world
    with _process_lock:
        if _process_world is None:
            communicator = _process_communicator()
            if native is not None:
                native.share(0, communicator.size)
            _process_world = World(communicator)
        return _process_world


def _process_communicator() -> Communicator:
    """The communicator of the whole job, by the launcher and ``config.mpi``."""
    launch = launcher.detect()
    wanted = config.mpi
    if wanted == "off":
        if launch is not None and launch.rank == 0 and (launch.size or 1) > 1:
            warnings.warn(
                f"{launch.launcher} started {launch.size} processes, but ATOLL_MPI=off: each "
                "of them computes everything by itself",
                RuntimeWarning,
                stacklevel=2,
            )
        return SingleCommunicator()
    if launch is None and wanted == "auto":
        return SingleCommunicator()
    if launch is not None and launch.size == 1 and importlib.util.find_spec("mpi4py") is None:
        return SingleCommunicator()
    try:
        communicator = _started_world()
    except CommunicationError:
        raise  # MPI works, and reports the problem
    except (ImportError, RuntimeError) as error:
        raise _launch_error(launch, f"mpi4py does not work ({error})", absent=True) from error
    if launch is not None:
        if (launch.size or 1) > 1 and communicator.size == 1:
            raise _launch_error(launch, "MPI sees only this one", absent=False)
        launcher.claim()
    started = "no launcher" if launch is None else launch.launcher
    log.ranks.info("rank %d of %d, started by %s", communicator.rank, communicator.size, started)
    return communicator


def _started_world() -> Communicator:
    """The communicator of all ranks of the job, which all of them must start.

    MPI's start waits in C for every rank, and holds the interpreter's lock. ``atoll run`` limits that wait
    (see ``cli.relay``); without it, the timer of faulthandler prints the stacks of this rank and ends it, and so the job.
    """
    alone = not launcher.listeners and "mpi4py.MPI" not in sys.modules
    launcher.tell(launcher.STARTING)
    if alone:
        faulthandler.dump_traceback_later(
            config.wait_abort, exit=True, file=2
        )  # sys.stderr may have no descriptor
    with profiler.span(Kind.WAIT, "the start of MPI"):  # it lasts until all ranks have started
        try:
            from .mpi import world_communicator
        finally:
            if alone:
                faulthandler.cancel_dump_traceback_later()
        return world_communicator()


def _launch_error(launch: launcher.Launch | None, why: str, absent: bool) -> LaunchError:
    """The error for processes that would compute independent copies, with the fix."""
    advice = launcher.INSTALL if absent or launch is None else launch.advice
    if launch is None:
        return LaunchError(f"ATOLL_MPI=on, but {why}. {advice}")
    size = "several" if launch.size is None else launch.size
    return LaunchError(
        f"{launch.launcher} started {size} processes, of which this is rank {launch.rank}, but "
        f"{why}: they would compute {size} copies of the same. To fix it, {advice}. "
        "If copies are what you want, set ATOLL_MPI=off"
    )


def _forget_after_fork() -> None:
    """Renew the lock in a forked child. It is no rank: MPI stays with its parent, and must not be touched here."""
    global _process_lock
    _process_lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_after_fork)


class CurrentWorld:
    """``atoll.world``: the current world, that is, the ranks that run the program together."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(current_world(), name)

    def __dir__(self) -> list[str]:
        return [name for name in dir(World) if not name.startswith("_")]

    def __eq__(self, other: object) -> bool:
        return current_world() == other

    def __hash__(self) -> int:
        return hash(current_world())

    def __repr__(self) -> str:
        return repr(current_world())


world = CurrentWorld()
