"""Aligns the clocks of ranks: the offset from each rank's clock to that of rank 0.

Ranks of one host share a clock. One rank of each other host asks rank 0 for the time several times in a row. The quickest
answer counts, on the assumption that both ways took equally long.
"""

from __future__ import annotations

import time

import numpy as np

from .. import system
from ..context.profiler import Recording
from .communicator import Communicator
from .in_step import agree

ROUNDS = 12


def align(communicator: Communicator, recording: Recording | None) -> None:
    """Note in the recording the offset to add to its clock. Collective; a rank without a recording takes part."""
    if communicator.size == 1 or communicator.kind != "MPI":
        if recording is not None:
            recording.align(0)
        return
    what = "the clocks of a profile"
    hosts = agree(communicator, system.host(), what)
    leaders = {host: hosts.index(host) for host in hosts}
    offset = 0
    mine = leaders[hosts[communicator.rank]]
    for leader in sorted(leaders.values()):
        if leader and communicator.rank in (0, leader):
            offset = _asked(communicator, leader, what)
    offsets = agree(communicator, offset, what)
    if recording is not None:
        recording.align(offsets[mine] if mine else 0)


def _asked(communicator: Communicator, leader: int, what: str) -> int:
    """Ask rank 0 for the time, or answer; the result is the offset on the rank that asks."""
    best, offset = None, 0
    for _ in range(ROUNDS):
        if communicator.rank == 0:
            communicator.recv(np.empty(1, np.int64), leader, what=what)
            communicator.send(np.array([time.monotonic_ns()], np.int64), leader, what=what)
            continue
        asked = time.monotonic_ns()
        communicator.send(np.zeros(1, np.int64), 0, what=what)
        answer = int(communicator.recv(np.empty(1, np.int64), 0, what=what)[0])
        back = time.monotonic_ns()
        if best is None or back - asked < best:
            best, offset = back - asked, answer - (asked + back) // 2
    return offset
