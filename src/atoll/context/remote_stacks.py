"""Remote stacks: the lines at which the other ranks of this host are, read from outside.

A rank that loops for ever, sleeps, or computes in C reads no message, so it cannot reply. But its process can be
inspected from outside. Each rank binds an abstract socket with a name made of its job and its rank; a process that
connects learns the rank's process number from the kernel, without the rank's help. The rank registers faulthandler for
a signal, which writes the stack of the main thread into a piece of memory, whatever the thread does. A rank that has
waited for too long sends the signal and reads that memory through ``/proc``.

The same memory has a number that changes with each collective step of the rank, its *pulse*, by which ranks that have
finished see whether the others make progress.

A rank that is not inspected has no further cost. All of this works on Linux, between processes of one user on one host.
Sockets of other users are ignored.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from .. import system
from .sources import ROOT, is_users, place_text

PAPER = "atoll-whereabouts"
"""The name of the memory file to which a rank writes its stack."""

ANSWER, PAUSE = 3.0, 0.2
"""Seconds that a process may take to answer on a busy core, and to resume afterwards."""

ASKED, TOLD = 16, 4
"""The numbers of ranks whose stacks one message requests, and reports."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The stack of a rank: its line as text, and whether it waits for other ranks there."""

    rank: int
    words: str
    waits: bool = False


_LINE = re.compile(r'^  File "(.*)", line (\d+) in (.*)$')
_pulse = memoryview(bytearray(8)).cast("Q")
_job: list[str] = []
_processes: dict[int, int] = {}
_learned: dict[int, tuple[int | None, Whereabouts | None]] = {}
"""Steps and stacks of ranks on other hosts, as their supervisors have reported them."""


def job_of_parent() -> str:
    """A name for this job, common to its ranks on one host: it contains the process number of their launcher."""
    words = (os.environ.get(name, "") for name in ("PMIX_NAMESPACE", "SLURM_JOB_ID"))
    return "-".join([str(os.getuid()), *words, str(os.getppid())])


def number() -> int | None:
    """The signal that requests a stack; None if the system has no real-time signals."""
    last = getattr(signal, "SIGRTMAX", None)
    return None if last is None else int(last) - 5


def set_job(job: str) -> None:
    """Set the job whose ranks this process inspects."""
    _job[:] = [job]
    _processes.clear()
    _learned.clear()


def answer_requests(job: str, rank: int) -> None:
    """Let the other ranks of ``job`` on this host request this rank's stack from now on."""
    import faulthandler
    import mmap
    import socket

    asked_by = number()
    set_job(job)
    if asked_by is None or not all(map(system.has, ("proc", "memfd", "abstract", "credentials"))):
        return
    if signal.getsignal(asked_by) is not signal.SIG_DFL:
        return  # the program uses it
    global _pulse
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(_name(job, rank))
        listener.listen(1024)
        paper = os.memfd_create(PAPER)
        os.write(paper, bytes(8))
        _pulse = memoryview(mmap.mmap(paper, 8)).cast("Q")
    except OSError:
        listener.close()
        return
    listener.detach()  # keep it until the process ends, after Python has
    faulthandler.register(asked_by, file=paper, all_threads=False)


def pulse() -> memoryview:
    """The memory of this rank's pulse, in its one element."""
    return _pulse


def _name(job: str, rank: int) -> str:
    return f"\0atoll-where-{job}-{rank}"


def told(ranks: Iterable[int], *, waiting: bool = True) -> str:
    """The stacks of ranks, as the rest of a sentence: ranks that wait for no other come first, or alone without ``waiting``."""
    reports = []
    for rank in list(ranks)[:ASKED]:
        where = ask(rank)
        if where is not None and (waiting or not where.waits):
            reports.append(where)
    reports.sort(key=lambda where: where.waits)
    return "".join(f"; {where.words}" for where in reports[:TOLD])


def learn(rank: int, steps: int | None, words: str, waits: bool) -> None:
    """Note that a rank on another host has stopped at step ``steps``, or makes progress again (None)."""
    _learned[rank] = steps, None if steps is None else Whereabouts(rank, words, waits)


def ask(rank: int) -> Whereabouts | None:
    """The stack of a rank of this job; None if the rank cannot be inspected, or is on another host that reports nothing."""
    if rank in _learned:
        return _learned[rank][1]
    process = _process(rank)
    if process is None:
        return None
    who = f"rank {rank}"
    state = "".join(system.process_state(process)[:1])
    if state in ("", "Z", "X"):
        return Whereabouts(rank, f"{who} (process {process}) has ended")
    if state in ("T", "t"):
        return Whereabouts(rank, f"{who} (process {process}) is stopped, as by the signal SIGSTOP")
    if not _catches(process):
        if _paper(process) is None:
            return None
        return Whereabouts(rank, f"{who} (process {process}) runs no Python any more", True)
    frames = _frames(process)
    if frames is None:
        return None
    if not frames:
        return Whereabouts(rank, f"{who} (process {process}, state {state}) does not answer")
    words, waits = in_words(frames)
    return Whereabouts(rank, f"{who} {words}", waits)


def _process(rank: int) -> int | None:
    """The process number of a rank, from the kernel's record of the owner of its socket."""
    import socket

    if not system.has("abstract"):
        return None
    if rank not in _processes and _job:
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.settimeout(ANSWER)
                connection.connect(_name(_job[0], rank))
            except OSError:
                return None
            process = system.peer(connection)
            if process is not None:
                _processes[rank] = process
    return _processes.get(rank)


def steps(rank: int) -> int | None:
    """The pulse of a rank of this job; None if the rank has ended, or makes progress on another host."""
    if rank in _learned:
        return _learned[rank][0]
    process = _process(rank)
    paper = None if process is None else _paper(process)
    if paper is None:
        return None
    try:
        with open(paper, "rb") as file:
            return int.from_bytes(file.read(8), sys.byteorder)
    except OSError:
        return None


Frame = tuple[str, int, str]
"""File, line, and function."""


def _frames(process: int) -> list[Frame] | None:
    """The main thread's frames, innermost first; empty if it does not answer, None if it cannot be inspected."""
    asked_by = number()
    paper = _paper(process)
    if asked_by is None or paper is None:
        return None
    frames: list[Frame] = []
    before, since = "", time.monotonic()
    until = since + ANSWER
    try:
        start = os.stat(paper).st_size
        _signal_main_thread(process, asked_by)
        while (now := time.monotonic()) < until:
            with open(paper, encoding="utf-8", errors="replace") as file:
                file.seek(start)
                text = file.read()
            frames = parsed(text)
            if any(is_users(frame[0]) for frame in frames):
                break
            if text != before:
                before, since = text, now
            elif text and now - since > PAUSE:
                break
            time.sleep(1e-3)
    except OSError:
        return None
    return frames


def _signal_main_thread(process: int, number: int) -> None:
    """Send a signal to the main thread: any other thread may take a signal that is sent to the process."""
    import ctypes

    send = getattr(ctypes.CDLL(None), "tgkill", None)
    if send is None or send(process, process, number):
        os.kill(process, number)


def parsed(text: str) -> list[Frame]:
    """The frames in faulthandler's output, innermost first; an incomplete last line is ignored."""
    lines = text.split("\n")[:-1]
    matches = (_LINE.match(line) for line in lines)
    return [(match[1], int(match[2]), match[3]) for match in matches if match]


def _paper(process: int) -> str | None:
    """The path of the memory file to which a process writes its stack."""
    folder = f"/proc/{process}/fd"
    try:
        for name in sorted(os.listdir(folder), key=int):
            if os.readlink(f"{folder}/{name}").startswith(f"/memfd:{PAPER}"):
                return f"{folder}/{name}"
    except OSError:
        return None
    return None


def _catches(process: int) -> bool:
    """True if a process has a handler for the signal, which would end it otherwise."""
    asked_by = number() or 0
    status = system.proc_file(f"{process}/status")
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (asked_by - 1) & 1)


_WAITING = tuple(os.path.join(ROOT, "comm", name) for name in ("waiting.py", "mpi"))


def in_words(frames: list[Frame]) -> tuple[str, bool]:
    """Frames as text: ``is at program.py:7, in f``, and whether that is one of atoll's waits for other ranks."""
    innermost = frames[0]
    at = next((frame for frame in frames if is_users(frame[0])), None)
    between = frames if at is None else frames[: frames.index(at)]
    ours = [frame for frame in between if frame[0].startswith(ROOT)]
    waits = any(frame[0].startswith(_WAITING) for frame in ours)
    if at is None and any(frame[2] == "leave" for frame in ours):
        return "has come to its end, and waits for the others", True
    at = at or innermost
    function = "" if at[2] == "<module>" else f", in {at[2]}"
    inside = ""
    if ours:
        inside = "" if waits else ", computing"
    elif innermost is not at:
        inside = f", inside {innermost[2]} of {os.path.basename(innermost[0])}"
    return (
        f"{'waits' if waits else 'is'} at {place_text(at[0], at[1])}{function}{inside}",
        waits,
    )
