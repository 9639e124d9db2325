"""The deadlock monitor: ranks that wait for long compare their logs.

A rank that waits for more than ``config.wait_check`` seconds sends the record of its log to the ranks that it waits
for, again after twice that time, and so on, and reads the notes that have arrived. A rank that reads a record replies
with its own and compares the two. A rank that has finished its program stays and replies until all ranks have finished.
So if ranks diverge and one of them waits, they find the first difference within about two checks, and the rank that
finds it notifies all.

While no rank waits, the monitor sends nothing. It posts no receives: a waiting rank probes for notes.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..config import config
from ..context import remote_stacks
from ..context.divergence import Record, difference
from ..errors import DivergenceError, WaitTimeoutError
from .communicator import Request, describe_all
from .waiting import LateRanks

if TYPE_CHECKING:
    from .mpi import MpiCommunicator

_FEW = 64
"""The most ranks of a communicator at which a wait for all asks every rank."""

_LONGEST = 64
"""The most checks between two questions."""


class DeadlockMonitor:
    """One rank's watch over the waits on one communicator."""

    def __init__(self, communicator: MpiCommunicator) -> None:
        self._communicator = communicator
        self._posted: list[tuple[Any, bytes]] = []
        self._answers = True
        """True if another rank may still wait for an answer of this one."""
        self._asked = (0, 0, 1)
        """The step of the last question, checks since then, and checks until the next."""
        self._curious: set[int] = set()
        self._ended: dict[int, int] = {}
        """For each finished rank, the number of checks since this rank learned of it."""
        self._ways: dict[int, str] = {}
        """For each finished rank, the description of its end."""
        self._heard: dict[int, int] = {}
        """For each other rank, the step of this rank at which it was last heard from."""
        self._rounds: set[int] = set()

    def at(self) -> str:
        """The last step of the log, as the rest of a sentence; empty if there is none."""
        where = self._communicator.log.where()
        return f", in {where}" if where else ""

    def others(self, requests: Iterable[Request]) -> str:
        """The stacks, as text, of the ranks that this rank waits for; of the silent ones only, if any."""
        peers = self._waited_for(requests)
        number = self._communicator.log.number
        silent = {peer for peer in peers if self._heard.get(peer) != number}
        members = self._communicator.members
        return remote_stacks.told(members[peer] for peer in sorted(silent or peers))

    def _waited_for(self, requests: Iterable[Request]) -> set[int]:
        peers: set[int] = set()
        for request in requests:
            if not request.done:
                peers |= self._some() if request.peer is None else {request.peer}
        return peers - {self._communicator.rank}

    def check(self, requests: Iterable[Request]) -> None:
        """Check a long wait: ask the ranks that it is for, and read the notes that have arrived."""
        mine = self._communicator
        peers = self._waited_for(requests)
        number, since, interval = self._asked
        if number != mine.log.number:
            since, interval = 0, 1
        if since == 0:
            for peer in sorted(peers):
                self._tell(peer, mine.log.record())
        since += 1
        if since >= interval:
            since, interval = 0, min(_LONGEST, 2 * interval)
        self._asked = mine.log.number, since, interval
        self.listen()
        # A message that the rank sent before it finished has had the time to arrive.
        gone = {peer for peer, checks in self._ended.items() if checks > 1}
        for request in requests:
            if request.peer in gone and not request.test():
                raise mine.log.part(
                    f"rank {request.peer} {self._ways[request.peer]}, and rank {mine.rank} waits for: "
                    f"{describe_all(requests)}{self.at()}"
                )
        for peer in self._ended:
            self._ended[peer] += 1

    def _some(self) -> set[int]:
        """The ranks to ask if a wait is for all: all of a few ranks, or those at distances of powers of two."""
        rank, size = self._communicator.rank, self._communicator.size
        if size <= _FEW:
            return set(range(size))
        steps = [1 << k for k in range((size - 1).bit_length())]
        return {(rank + sign * step) % size for step in steps for sign in (1, -1)}

    def _tell(self, peer: int, content: Record | int) -> None:
        data = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
        self._sweep()
        self._posted.append((self._communicator.post_note(peer, data), data))

    def _sweep(self) -> None:
        self._posted = [kept for kept in self._posted if not kept[0].Test()]

    def listen(self) -> None:
        """Read the notes that have arrived, answer, and compare."""
        log = self._communicator.log
        for data in self._communicator.notes():
            content = pickle.loads(data)
            if isinstance(content, int):
                self._rounds.add(content)
                continue
            record: Record = content
            mine = log.record(answer=True)
            self._heard[record.rank] = log.number
            verdict = record.verdict or difference(mine, record)
            if record.gone:
                self._ended.setdefault(record.rank, 1)
                self._ways[record.rank] = record.gone
            if not record.answer and not record.verdict and self._answers:
                self._curious.add(record.rank)
                self._tell(record.rank, mine)
            if verdict and not log.gone:
                if not record.verdict:
                    notice = log.record(answer=True, verdict=verdict)
                    for peer in range(self._communicator.size):
                        if peer != self._communicator.rank:
                            self._tell(peer, notice)
                raise log.part(verdict)

    def find(self) -> str:
        """A message of another step has arrived: ask where the ranks have diverged."""
        for peer in sorted(self._some() - {self._communicator.rank}):
            self._tell(peer, self._communicator.log.record())
        until = time.monotonic() + 5 * config.wait_check
        while time.monotonic() < until:
            try:
                self.listen()
            except DivergenceError as error:
                return str(error)
            time.sleep(1e-3)
        return ""

    def leave(self, others: Sequence[DeadlockMonitor], how: str) -> None:
        """Finish this rank's program, as ``how`` says: reply to other ranks until all have finished.

        ``others`` are the monitors of its other communicators. MPI's own finalization waits for all ranks as well, but
        does not reply to a rank that waits for this one.
        """
        watches = (self, *others)
        for watch in watches:
            log = watch._communicator.log
            log.gone = how
            for peer in sorted(watch._curious):
                watch._tell(peer, log.record(answer=True))
        self._meet(watches, 1)
        for watch in watches:  # all have come, so no rank waits for an answer any more
            watch._answers = False
        while any(watch._pending() for watch in watches):
            for watch in watches:
                watch.listen()
            time.sleep(1e-5)
        # MPI may end a send only when it is received, and a rank that has left receives nothing.
        self._meet(watches, -1)
        while self._pending():
            pass

    def _pending(self) -> bool:
        """True if notes of this rank are on their way."""
        self._sweep()
        return bool(self._posted)

    def _meet(self, watches: Sequence[DeadlockMonitor], sign: int) -> None:
        """Wait for all ranks, and read and answer their notes meanwhile; the two meetings have different signs."""
        rank, size = self._communicator.rank, self._communicator.size
        distance, late_ranks = 1, LateRanks()
        while distance < size:
            self._tell((rank + distance) % size, sign * distance)
            pause = 1e-5
            while sign * distance not in self._rounds:
                for watch in watches:
                    watch.listen()
                if distance == 1 and pause >= 5e-3:  # a neighbour of each missing rank has arrived
                    self._look_after(late_ranks)
                time.sleep(pause)
                pause = min(5e-3, 1.5 * pause)
            distance *= 2

    def _look_after(self, late_ranks: LateRanks) -> None:
        """Report the ranks that this rank waits for at its end; raise an error after the limit."""
        rank, members = self._communicator.rank, self._communicator.members
        said = late_ranks.look(member for member in members if member != members[rank])
        if said is not None:
            words, over = said
            words = f"rank {rank} of {len(members)} came to the end of the program, and {words}"
            if over:
                raise WaitTimeoutError(words)
            print(f"atoll: {words}", file=sys.stderr, flush=True)
