"""Parses the messages of launchers about a job that failed.

A launcher knows what no rank can report: that a process was killed, or exited silently. MPICH's Hydra prints a block
between lines of ``=`` on standard output and, on request, the wait statuses of all processes in one line (0, or the
signal that Hydra killed them with, for those that did not fail). Open MPI prints blocks between lines of ``-`` on
standard error. Each function takes such a block and returns the deaths in it, or None for text that the user should
see.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from signal import SIGKILL, SIGTERM

HYDRA_BLOCK = (
    b"=" * 83 + b"\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    b"Please see the FAQ page for debugging suggestions\n",
)
HYDRA_LINE = (b"[mpiexec@", b"\n")
HYDRA_PROXY_LINE = (b"[proxy:", b"\n")
MPICH_LINE = (b"Abort(", b"\n")
OPEN_MPI_ZERO = (b"-\n\0", b"")  # Open MPI writes the end of its C string, too
OPEN_MPI_LINE = (f"[{os.uname().nodename.partition('.')[0]}:".encode(), b"\n")
OPEN_MPI_BLOCK = (b"-" * 74 + b"\n", b"\n" + b"-" * 74 + b"\n")


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
        return 2 if not self.signal else int(self.signal not in (SIGKILL, SIGTERM))


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
    _, found, statuses = text.partition("Exit codes:")
    if not found:
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
    found = re.search(
        r"^Abort\((\d+)\) on node (\d+) \(rank \d+ in comm \d+\): application called", text
    )
    return [Death(int(found[1]), aborted=True, rank=int(found[2]))] if found else None


def open_mpi_line(text: str) -> list[Death] | None:
    """Messages of Open MPI 4 about its own connections after it has ended a job, which are useless to users."""
    return [] if "ORTE_ERROR_LOG" in text else None


def open_mpi_block(text: str) -> list[Death] | None:
    """One of Open MPI's blocks: an abort, a signal, or an exit code."""
    words = " ".join(text.split())
    if 'calling "abort"' in words:
        return []
    found = re.search(r"MPI_ABORT was invoked on rank (\d+) .*[Ee]rrorcode:? (\d+)", words)
    if found:
        return [Death(int(found[2]), aborted=True, rank=int(found[1]))]
    found = re.search(r"rank (\d+) with PID (\d+) on node (\S+) exiting improperly", words)
    if found:  # with code 0: it has a block of another kind for other codes
        return [Death(0, rank=int(found[1]), process=int(found[2]) or None, host=found[3])]
    found = re.search(r"rank (\d+) with PID (\d+) on node (\S+) exited on signal (\d+)", words)
    if found:
        rank, process, number = int(found[1]), int(found[2]), int(found[4])
        return [Death(128 + number, number, rank=rank, process=process, host=found[3])]
    found = re.search(r"Process name: \[\S*,(\d+)\] Exit code: (\d+)", words)
    if found:
        return [Death(int(found[2]), rank=int(found[1]))]
    return None
