"""The outcome of a job: reports of ranks and messages of launchers, summarized, and the exit code.

Ranks report in records (see ``startup``); launchers report what ranks cannot. Reports that
differ only in their rank are printed once. Messages of launchers count only if no rank has reported, and are summarized
in one line.

A launcher knows what no rank can report: that a process was killed, or exited silently. MPICH's Hydra prints a block
between lines of ``=`` on standard output and, on request, the wait statuses of all processes in one line (0, or the
signal that Hydra killed them with, for those that did not fail). Open MPI prints blocks between lines of ``-`` on
standard error. Each reader of a :class:`Remark` takes such a block and returns the deaths in it, or None for text that the user should
see.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from .. import startup

MOST_TRACEBACKS = 3
"""So many different tracebacks are printed whole; of the others, their last lines."""


@dataclass(frozen=True, slots=True)
class Death:
    """How one rank ended: by ``signal``, or by itself with ``code``, perhaps by ``MPI_Abort``.

    The rank is known, or follows from its process number or its position on its host.
    """

    code: int
    signal: int = 0
    aborted: bool = False
    rank: int | None = None
    process: int | None = None
    host: str = ""
    place: int | None = None

    @property
    def certainty(self) -> int:
        """Of several deaths, the most certain is the cause; launchers kill what is left."""
        if self.aborted:
            return 3
        return 2 if not self.signal else int(self.signal not in (signal.SIGKILL, signal.SIGTERM))


@dataclass(slots=True)
class Group:
    """Equal reports of one kind: the text of the first, and their ranks."""

    kind: str
    code: int
    text: str
    ranks: list[int] = field(default_factory=list)


class Verdict:
    """Collects reports about a job, and prints them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.processes: dict[tuple[str, int], int] = {}
        """The ranks that have started, by host and process number."""
        self.gone: list[int] = []
        """Ranks of this host in the order in which they were seen to end."""
        self.together: set[int] = set()
        """Ranks that can reach the others, so that these need them until the end."""
        self.orderly: set[int] = set()
        """Ranks that have reported an intended end."""
        self._groups: dict[tuple[str, int, str], Group] = {}
        self._deaths: list[Death] = []
        self._said = 0
        self._traces = 0
        self.ended_by_signal = False
        """From when on a launcher's complaints are of no interest."""

    @property
    def waiting(self) -> bool:
        """Whether there are reports that have not been printed."""
        return len(self._groups) > self._said

    @property
    def reported(self) -> bool:
        """Whether a rank has reported why the job ended."""
        return bool(self._groups)

    def record(self, data: bytes) -> bytes:
        """Take a rank's record; gives back what is none, to be printed as it is."""
        try:
            fields = json.loads(data[data.find(b"{") : data.rfind(b"}") + 1])
            kind, rank = fields["kind"], fields["rank"]
        except (ValueError, KeyError):
            return data
        if kind == "start":
            self.processes[fields["host"], fields["process"]] = rank
            return b""
        code, text = fields["code"], fields["text"]
        same = "" if kind == "interrupt" else startup.without_rank(text, rank)
        group = self._groups.setdefault((kind, code, same), Group(kind, code, text))
        if kind != "interrupt" or not group.ranks:  # where the first one was is enough
            group.ranks.append(rank)
        return b""

    def waited(self, ranks: Sequence[int], text: str) -> None:
        """Ranks have waited too long, as ``text`` says, and cannot report it themselves."""
        self._groups["wait", 1, text] = Group("wait", 1, text, list(ranks))

    def remarks(self, read: Callable[[str], list[Death] | None]) -> Callable[[bytes], bytes]:
        """A handler for blocks of a launcher's output, which ``read`` parses if it can."""

        def handle(data: bytes) -> bytes:
            deaths = read(data.decode("utf-8", "replace"))
            if deaths is None:
                return b"" if self.ended_by_signal else data
            self._deaths += [self._identified(death) for death in deaths]
            return b""

        return handle

    def _identified(self, death: Death) -> Death:
        """``death`` with its rank, by what the ranks have reported at the start."""
        if death.rank is not None:
            return death
        here = sorted(
            (rank, process)
            for (host, process), rank in self.processes.items()
            if host == death.host or len({host for host, _ in self.processes}) == 1
        )
        if death.place is not None:
            if death.place >= len(here):
                return death
            rank, process = here[death.place]
            return replace(death, rank=rank, process=process)
        ranks = [rank for rank, process in here if process == death.process]
        return replace(death, rank=ranks[0]) if len(ranks) == 1 else death

    def reports(self) -> str:
        """What the ranks have reported since the last time, equal reports once."""
        groups = list(self._groups.values())
        news, self._said = groups[self._said :], len(groups)
        caused = any(group.kind != "consequence" for group in groups)
        text = ""
        for group in news:
            if group.kind == "consequence" and caused:
                continue
            content = group.text
            if group.kind in ("exception", "consequence"):
                self._traces += 1
                if self._traces > MOST_TRACEBACKS:
                    content = content.rstrip().rpartition("\n")[2] + "\n"
            text += startup.message(group.kind, content, group.code, group.ranks, self._size)
        return text

    def last_words(self, returned: int) -> str:
        """What only the launcher has seen, once the job is over."""
        if self._groups:
            return ""
        if (culprit := self._culprit()) is not None:
            return death_words(culprit, self._size)
        if returned:
            who = startup.rank_words(self.gone[:1], self._size) if self.gone else "a rank"
            return f"atoll: {who} left with exit code {returned & 0xFF}; all ranks ended\n"
        return ""

    def code(self, returned: int) -> int:
        """The exit code of the job; ``returned`` is the launcher's own."""
        if self._groups:
            return next(iter(self._groups.values())).code
        if (culprit := self._culprit()) is not None:
            return 128 + culprit.signal if culprit.signal else culprit.code & 0xFF or 1
        return 128 - returned if returned < 0 else returned

    def _culprit(self) -> Death | None:
        """The most certain death, and the first of those; or a rank that left with code 0 before the others.

        A launcher knows of such a rank only that it has ended, and kills the others.
        """

        def order(death: Death) -> tuple[int, int]:
            first = [place for place, rank in enumerate(self.gone) if rank == death.rank]
            return -death.certainty, first[0] if first else len(self.gone)

        death = min(self._deaths, key=order, default=None)
        early = self.together - self.orderly
        first = next((rank for rank in self.gone if rank in early), None)
        if first is None or (death is not None and death.certainty):
            return death
        if any(known.rank in (first, None) for known in self._deaths):
            return death
        host, process = next(
            (key for key, rank in self.processes.items() if rank == first), ("", None)
        )
        return Death(0, rank=first, process=process, host=host)


def death_words(death: Death, size: int) -> str:
    """One line about a rank that the launcher saw die."""
    who = "a rank" if death.rank is None else startup.rank_words([death.rank], size)
    if death.process is not None:
        who += f" (process {death.process}{f' on {death.host}' if death.host else ''})"
    if not death.signal:
        how = "called MPI_Abort with" if death.aborted else "left with exit"
        early = "" if death.code else ", but not at its end"
        return f"atoll: {who} {how} code {death.code}{early}; all ranks ended\n"
    name = signal.strsignal(death.signal) or "unknown"
    hint = ""
    if death.signal == signal.SIGKILL:
        hint = "; if nobody did that, the machine may have run out of memory"
    return f"atoll: {who} was killed by signal {death.signal} ({name}); all ranks ended{hint}\n"


# What launchers print


class Remark(NamedTuple):
    """A kind of text that a launcher prints: its ends, and who reads it."""

    begin: bytes
    end: bytes
    read: Callable[[str], list[Death] | None]


def hydra_block(text: str) -> list[Death] | None:
    """Hydra's block about the first process whose connection broke; the line may be inside."""
    process = re.search(r"PID (\d+) RUNNING AT (\S+)", text)
    code = re.search(r"EXIT CODE: (\d+)", text)
    number = re.search(r"\(signal (\d+)\)", text)
    if process is None or code is None:
        return None
    killed = int(number[1]) if number else 0
    death = Death(int(code[1]), killed, process=int(process[1]), host=process[2])
    return [*(hydra_line(text) or []), death]


def hydra_line(text: str) -> list[Death] | None:
    """``[mpiexec@here] Exit codes: [host] 0,1280 [host] 9``: wait statuses by host."""
    _, _, statuses = text.partition("Exit codes:")
    if not statuses:
        return None
    deaths = []
    for host, numbers in re.findall(r"\[(\S+)\] ([\d,]+)", statuses.partition("\n")[0]):
        for place, number in enumerate(numbers.strip(",").split(",")):
            status = int(number)
            if status:
                code = os.waitstatus_to_exitcode(status)
                deaths.append(Death(max(code, 0), max(-code, 0), host=host, place=place))
    return deaths


def mpich_line(text: str) -> list[Death] | None:
    """What a rank of MPICH prints when the program calls ``MPI_Abort``."""
    match = re.search(
        r"^Abort\((\d+)\) on node (\d+) \(rank \d+ in comm \d+\): application called", text
    )
    return [Death(int(match[1]), aborted=True, rank=int(match[2]))] if match else None


def open_mpi_line(text: str) -> list[Death] | None:
    """Messages of Open MPI 4 about its own connections after it has ended a job, which are useless to users."""
    return [] if "ORTE_ERROR_LOG" in text else None


def open_mpi_block(text: str) -> list[Death] | None:
    """One of Open MPI's blocks: an abort, a signal, or an exit code."""
    words = " ".join(text.split())
    if 'calling "abort"' in words:
        return []
    match = re.search(r"MPI_ABORT was invoked on rank (\d+) .*[Ee]rrorcode:? (\d+)", words)
    if match:
        return [Death(int(match[2]), aborted=True, rank=int(match[1]))]
    match = re.search(r"rank (\d+) with PID (\d+) on node (\S+) exiting improperly", words)
    if match:  # with code 0: it has a block of another kind for other codes
        return [Death(0, rank=int(match[1]), process=int(match[2]) or None, host=match[3])]
    match = re.search(r"rank (\d+) with PID (\d+) on node (\S+) exited on signal (\d+)", words)
    if match:
        rank, process, number = int(match[1]), int(match[2]), int(match[4])
        return [Death(128 + number, number, rank=rank, process=process, host=match[3])]
    match = re.search(r"Process name: \[\S*,(\d+)\] Exit code: (\d+)", words)
    if match:
        return [Death(int(match[2]), rank=int(match[1]))]
    return None


HYDRA_BLOCK = Remark(
    b"=" * 83 + b"\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    b"Please see the FAQ page for debugging suggestions\n",
    hydra_block,
)
HYDRA_LINE = Remark(b"[mpiexec@", b"\n", hydra_line)
HYDRA_PROXY_LINE = Remark(b"[proxy:", b"\n", hydra_line)
MPICH_LINE = Remark(b"Abort(", b"\n", mpich_line)
OPEN_MPI_LINE = Remark(f"[{os.uname().nodename.partition('.')[0]}:".encode(), b"\n", open_mpi_line)
OPEN_MPI_BLOCK = Remark(b"-" * 74 + b"\n", b"\n" + b"-" * 74 + b"\n", open_mpi_block)
