"""The process between the launcher and the user: passes on input, output, signals and the exit code.

The launcher runs in its own process group, so that Ctrl-C reaches this process only, which forwards it once and then
insists. One loop waits for output, for input from a terminal, and for signals.
"""

from __future__ import annotations

import ctypes
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from .. import startup
from ..comm import launcher
from ..comm.waiting import LateRanks
from ..config import config
from ..context import remote_stacks
from .leftovers import Leftovers
from .streams import ByRank, Extract, Stage, fed, flushed
from .verdict import (
    HYDRA_BLOCK,
    HYDRA_LINE,
    HYDRA_PROXY_LINE,
    MPICH_LINE,
    OPEN_MPI_BLOCK,
    OPEN_MPI_LINE,
    Remark,
    Verdict,
)

GRACE = 4.0
"""Seconds that the ranks have to end after a signal before they are killed."""

ABSENT = 1.0
"""Seconds in which messages of, or about, a rank that has ended may still arrive."""

QUIET = 0.1
"""Seconds after which held bytes are passed on, and the interval at which the clock is read."""

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
FORWARDED = (*ENDING[:-1], signal.SIGUSR1, signal.SIGUSR2)


class Relay:
    """Runs one job to its end."""

    def __init__(
        self, family: str, size: int, mark: str, by_rank: re.Pattern[bytes] | None
    ) -> None:
        self._verdict = Verdict(size)
        self._size = size
        self._starting: dict[int, float] = {}
        self._next_word = min(config.wait_report, config.wait_abort)
        remote_stacks.set_job(mark)
        self._stages = {
            1: self._for_output(family, by_rank),
            2: self._for_errors(family, mark, by_rank),
        }
        self._signals: list[int] = []
        self._ended_by = 0
        self._mark = mark
        self._ties: dict[int, tuple[socket.socket, int]] = {}
        self._processes: dict[int, int] = {}
        self._stragglers: LateRanks | None = None
        self._absent_since = float("inf")
        self._voices: dict[int, tuple[socket.socket, int]] = {}
        self._closed: set[int] = set()
        self._leftovers = Leftovers()
        self._deadline = float("inf")
        self._report_at = float("inf")

    def _for_output(self, family: str, by_rank: re.Pattern[bytes] | None) -> list[Stage]:
        """The stages of standard output, where Hydra prints messages."""
        stages = [] if family == "Open MPI" else self._remarks(HYDRA_BLOCK, HYDRA_LINE)
        return stages if by_rank is None else [*stages, ByRank(by_rank, list)]

    def _for_errors(self, family: str, mark: str, by_rank: re.Pattern[bytes] | None) -> list[Stage]:
        """The stages of standard error, where ranks report and Open MPI prints messages."""

        def of_a_rank() -> list[Stage]:
            records = Extract(b"\x1e" + mark.encode(), b"\x1e\n", self._verdict.record)
            return [records, *self._remarks(MPICH_LINE)]

        if family == "Open MPI":
            # Open MPI writes the end of its C string, too.
            zero = Extract(b"-\n\0", b"", lambda text: text[:-1])
            stages = [zero, *self._remarks(OPEN_MPI_BLOCK, OPEN_MPI_LINE)]
        else:
            stages = self._remarks(HYDRA_LINE, HYDRA_PROXY_LINE)
        if by_rank is not None:
            return [*stages, ByRank(by_rank, of_a_rank)]
        return [*of_a_rank(), *stages]

    def _remarks(self, *kinds: Remark) -> list[Stage]:
        """Stages that read these kinds of remarks."""
        return [Extract(kind.begin, kind.end, self._verdict.remarks(kind.read)) for kind in kinds]

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Start the launcher, stay with it to its end, and return the exit code of the job."""
        terminal = os.isatty(0)
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in FORWARDED:
            signal.signal(number, lambda number, _: self._signals.append(number))
        listener = listen_for_ranks(self._mark)
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE if terminal else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=_end_with_parent(),
        )
        try:
            self._stay_with(process, terminal, wake, listener)
        except BaseException:
            _kill(process)  # no process would supervise the ranks
            raise
        returned = process.wait()
        for connection, rank in self._voices.values():
            connection.setblocking(False)
            while self._hear(connection, rank):
                pass
        self._leftovers.clear()
        self._say(self._verdict.reports())
        return self._conclude(returned)

    def _stay_with(
        self,
        process: subprocess.Popen[bytes],
        terminal: bool,
        wake: int,
        listener: socket.socket | None,
    ) -> None:
        """Pass on what comes, until nothing more can."""
        assert process.stdout is not None
        assert process.stderr is not None
        streams = {process.stdout.fileno(): 1, process.stderr.fileno(): 2}
        listening = [] if listener is None else [listener.fileno()]
        with selectors.DefaultSelector() as selector:
            for descriptor in (*streams, wake, *([0] if terminal else []), *listening):
                selector.register(descriptor, selectors.EVENT_READ)
            while streams:
                ready = [key.fd for key, _ in selector.select(QUIET)]
                for descriptor in ready:
                    if descriptor == wake:
                        more = bool(os.read(wake, 4096))
                    elif listener is not None and descriptor == listener.fileno():
                        more = self._tie(listener, selector)
                    elif descriptor in self._ties:
                        self._verdict.gone.append(self._ties[descriptor][1])
                        more = False
                    elif descriptor in self._voices:
                        more = self._hear(*self._voices[descriptor])
                    elif descriptor == 0:
                        more = self._take_input(process)
                    else:
                        more = self._pass_output(descriptor, streams[descriptor])
                    if not more:
                        selector.unregister(descriptor)
                        streams.pop(descriptor, None)
                self._attend(process, idle=not ready)

    def _tie(self, listener: socket.socket, selector: selectors.BaseSelector) -> bool:
        """Accept a connection of a rank of this host: a tie, or a report of progress."""
        try:
            connection, _ = listener.accept()
        except OSError:
            return True
        connection.settimeout(1.0)
        try:
            process = remote_stacks.peer(connection)
            number, colon, signs = (b"" if process is None else connection.recv(64)).partition(b":")
            rank = int(number)
        except (OSError, ValueError):
            process = None
        if process is None or not 0 <= rank < self._size:
            connection.close()
            return True
        if colon:
            self._voices[connection.fileno()] = (connection, rank)
            self._heed(rank, signs)
        else:
            self._ties[connection.fileno()] = (connection, rank)
            self._processes[rank] = process
            self._leftovers.follow(process, time.monotonic())
        selector.register(connection, selectors.EVENT_READ)
        return True

    def _hear(self, connection: socket.socket, rank: int) -> bool:
        """Read a rank's report of progress; False at its end."""
        try:
            signs = connection.recv(64)
        except OSError:
            signs = b""
        self._heed(rank, signs)
        return bool(signs)

    def _heed(self, rank: int, signs: bytes) -> None:
        """Record the progress of a rank."""
        if launcher.STARTING in signs:
            self._starting.setdefault(rank, time.monotonic())
        if launcher.TOGETHER in signs:
            self._verdict.together.add(rank)
        if launcher.ORDERLY in signs:
            self._verdict.orderly.add(rank)

    def _pass_output(self, source: int, target: int) -> bool:
        """Pass on what there is to read; False at the end of the stream."""
        data = os.read(source, 1 << 16)
        stages = self._stages[target]
        if not self._print(target, fed(stages, data) if data else flushed(stages, ended=True)):
            # The reader has closed, as in `atoll run ... | head`: end as Python would.
            self._signals.append(signal.SIGPIPE)
        return bool(data)

    def _print(self, target: int, data: bytes) -> bool:
        """Write all of ``data``; False if the reader has closed."""
        if target in self._closed:
            return True
        try:
            while data:
                data = data[os.write(target, data) :]
        except OSError:
            self._closed.add(target)
            return False
        return True

    def _say(self, text: str) -> None:
        """Print a message of atoll; characters that UTF-8 cannot encode are escaped."""
        self._print(2, text.encode("utf-8", "backslashreplace"))

    def _take_input(self, process: subprocess.Popen[bytes]) -> bool:
        """Take what was typed, for rank 0; False at its end. A job in the background waits."""
        assert process.stdin is not None
        if os.tcgetpgrp(0) != os.getpgrp():
            time.sleep(QUIET)
            return True
        data = os.read(0, 4096)
        try:
            process.stdin.write(data)
            process.stdin.flush()
            if not data:
                process.stdin.close()
        except OSError:
            return False
        return bool(data)

    def _attend(self, process: subprocess.Popen[bytes], idle: bool) -> None:
        """Everything that is not data: signals, the clock, reports whose time has come."""
        now = time.monotonic()
        self._attend_start(now)
        self._attend_end(now)
        self._leftovers.look(now, surely=bool(self._verdict.waiting))
        while self._signals:
            self._forward(process, self._signals.pop(0), now)
        if now > self._deadline:
            _kill(process)
            self._deadline = now + GRACE
        if self._verdict.waiting:
            if now > self._report_at:
                self._say(self._verdict.reports())
                self._report_at = float("inf")
            elif self._report_at == float("inf"):
                self._report_at = now + startup.PAUSE
                # The rank that has reported ends all; if it cannot, this does.
                self._deadline = min(self._deadline, now + GRACE)
        if idle:
            for target, stages in self._stages.items():
                self._print(target, flushed(stages))

    def _attend_start(self, now: float) -> None:
        """MPI's start waits in C for missing ranks, so only this process can report it."""
        waiting = sorted(self._starting.keys() - self._verdict.together)
        since = min((self._starting[rank] for rank in waiting), default=now)
        if self._verdict.together or self._verdict.waiting:
            self._next_word = float("inf")  # MPI has started, or another error has occurred
            return
        absent = sorted(self._ended() - self._starting.keys()) if waiting else []
        self._absent_since = min(self._absent_since, now) if absent else float("inf")
        if now - self._absent_since > ABSENT:
            ended = startup.rank_words(absent, None)
            words = (
                f"waited for MPI to start, and {ended} came to the end without taking part in it"
            )
            self._end_wait(waiting, words, now)
            return
        if now - since < self._next_word:
            return
        others = (rank for _, rank in self._ties.values() if rank not in self._starting)
        where = remote_stacks.told(sorted(others))
        if now - since >= config.wait_abort:
            limit = f"{config.wait_abort:.3g} s (ATOLL_WAIT_ABORT)"
            self._end_wait(waiting, f"waited {limit} for MPI to start{where}", now)
            return
        who = startup.rank_words(waiting, self._size)
        self._say(f"atoll: {who} waited {now - since:.0f} s for MPI to start{where}\n")
        self._next_word = min(2 * (now - since), config.wait_abort)

    def _ended(self) -> set[int]:
        """The ranks of this host that have finished, except those that have become another program."""
        gone = set(self._verdict.gone)
        return {rank for rank in gone if remote_stacks.has_ended(self._processes[rank])}

    def _attend_end(self, now: float) -> None:
        """Supervise ranks that continue after others have finished: those that MPI connects end with them."""
        ended = self._ended() | self._verdict.orderly
        left = self._processes.keys() - ended
        if not ended or not left or self._verdict.reported or self._deadline < float("inf"):
            self._stragglers = None
            return
        self._stragglers = self._stragglers or LateRanks()
        said = self._stragglers.look(left, ends=bool(self._verdict.together))
        if said is None:
            return
        words, over = f"came to the end of the program, and {said[0]}", said[1]
        if over:
            self._end_wait(sorted(ended), words, now)
        else:
            self._say(f"atoll: {startup.rank_words(sorted(ended), self._size)} {words}\n")

    def _end_wait(self, ranks: Sequence[int], words: str, when: float) -> None:
        """End all ranks because these have waited in vain; they cannot report it themselves."""
        self._verdict.waited(ranks, words)
        self._deadline = min(self._deadline, when)

    def _forward(self, process: subprocess.Popen[bytes], number: int, now: float) -> None:
        """Forward a signal to the launcher, which signals the ranks; the second one kills."""
        if number not in ENDING:
            process.send_signal(number)
        elif self._ended_by:
            _kill(process)
        else:
            self._ended_by = number
            self._verdict.ended_by_signal = True
            self._deadline = now + GRACE
            process.send_signal(signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)

    def _conclude(self, returned: int) -> int:
        """Print what remains to be reported, and determine the exit code."""
        code = self._verdict.code(returned)
        if not self._ended_by:
            self._say(self._verdict.last_words(returned))
            return code
        if code == 0:
            return 0  # the program has handled the signal
        if not self._verdict.reported and self._ended_by != signal.SIGPIPE:
            name = signal.Signals(self._ended_by).name
            self._say(f"atoll: ended by {name}; all ranks ended\n")
        return 128 + self._ended_by


def listen_for_ranks(mark: str) -> socket.socket | None:
    """The socket to which the ranks of this host connect; None where that is not possible.

    A tie breaks when its rank ends, before the launcher notices and ends the others. So the first tie to break belongs
    to the rank that ended first, which no launcher reports reliably. Ties have no other events, so the selector returns
    them in the order in which they broke, however late this process reads it.
    """
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(startup.tie_name(mark))
    except OSError:
        listener.close()
        return None
    listener.listen(1024)
    return listener


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the launcher and what is in its group; what it has started elsewhere notices."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def _end_with_parent() -> Callable[[], None] | None:
    """Called in a child before it becomes the launcher: end when this process dies."""
    if sys.platform != "linux":
        return None
    control = ctypes.CDLL(None).prctl
    die_with_parent = 1

    def ask() -> None:
        control(die_with_parent, signal.SIGTERM)

    return ask
