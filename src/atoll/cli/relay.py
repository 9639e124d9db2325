"""The process between the launcher and the user: passes on input, output, signals and the exit code.

The launcher runs in its own process group, so that Ctrl-C reaches this process only, which forwards it once and kills the
job at the second. One loop waits for output, for input from a terminal, and for signals.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import startup, system
from ..comm import launcher
from ..comm.waiting import LateRanks
from ..config import config
from ..context import remote_stacks
from .hosts import Hosts, agents, end_agents, limit
from .leftovers import Leftovers
from .streams import Extract, Lines, Stage
from .verdict import Verdict

GRACE = 4.0
"""Seconds for the ranks to end after a signal before they are killed."""

ABSENT = 1.0
"""Seconds in which messages of, or about, a rank that has ended may still arrive."""

QUIET = 0.1
"""Seconds after which held bytes are passed on, and the interval at which the clock is read."""

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
FORWARDED = (*ENDING[:-1], signal.SIGUSR1, signal.SIGUSR2)


@dataclass(slots=True, eq=False)
class Source:
    """A readable descriptor, with the function that reads it and returns False at the end."""

    descriptor: int
    read: Callable[[], bool]
    order: int
    """The order of reading: reports before output, and output of ranks before that of the launcher, which explains their end."""


@dataclass(slots=True, eq=False)
class Channel:
    """The connection of a rank of this host, which carries its records as lines of JSON."""

    connection: socket.socket
    rank: int
    buffer: bytes = b""


class Relay:
    """Runs one job to its end."""

    def __init__(
        self,
        size: int,
        mark: str,
        all_output: bool,
        named: Sequence[str] = (),
        silent: Callable[[Iterable[str]], list[str]] = lambda names: [],
    ) -> None:
        """``named`` are the hosts of the command line; ``silent`` returns the hosts among its argument that do not answer."""
        self._named, self._silent = named, silent
        self._verdict = Verdict(size)
        self._size = size
        self._mark = mark
        self._all_output = all_output
        self._one_host = False
        """True if all ranks have reported to be on this host."""
        remote_stacks.set_job(mark)
        records = Extract(b"\x1e" + mark.encode(), b"\x1e\n", self._record)
        self._stages: dict[int, tuple[int, Stage]] = {}
        self._launcher_stages: dict[int, Stage] = {1: Stage(), 2: records}
        self._starting: dict[int, float] = {}
        self._next_word = min(config.wait_report, config.wait_abort)
        self._signals: list[int] = []
        self._ended_by = 0
        self._channels: dict[int, Channel] = {}
        """The open connections of ranks of this host, whose supervisors are alive."""
        self._processes: dict[int, int] = {}
        self._stragglers: LateRanks | None = None
        self._absent_since = float("inf")
        self._closed: set[int] = set()
        self._leftovers = Leftovers()
        self._hosts = Hosts()
        self._agents: set[tuple[int, str]] = set()
        self._deadline = float("inf")
        self._ending = False
        """True if an error or the end of a rank has set the deadline."""
        self._report_at = float("inf")
        self._warnings: Counter[tuple[int, str]] = Counter()
        """The count of each warning by rank and text."""
        self._warned: Counter[str] = Counter()
        """The number of times each warning was printed."""

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        """Start the launcher, supervise it to its end, and return the exit code of the job."""
        terminal = os.isatty(0)
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in FORWARDED:
            signal.signal(number, lambda number, _: self._signals.append(number))
        allow_many_files()
        listener = system.listen(self._mark)
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE if terminal else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=partial(system.end_with_parent, signal.SIGTERM),
        )
        try:
            self._stay_with(process, terminal, wake, listener)
        except BaseException:
            self._kill(process)  # else no process would supervise the ranks
            raise
        finally:
            system.remove_socket(self._mark)
            signal.set_wakeup_fd(-1)
            for descriptor in (wake, waker):
                os.close(descriptor)
        returned = process.wait()
        end_agents(self._agents)
        self._end_ranks()
        self._leftovers.clear()
        if (returned or self._verdict.vanished) and not (self._verdict.decided or self._ended_by):
            for name in self._silent(self._hosts.known or self._named):
                ranks = self._hosts.known[name].ranks if self._hosts.known else []
                self._verdict.unreachable(sorted(ranks), f"host {name} does not answer")
        self._say(self._verdict.reports())
        return self._conclude(returned)

    def remaining(self) -> dict[str, int] | None:
        """The number of remaining ranks by host, if the job lost a rank or a host; None if it ended otherwise."""
        if self._ended_by or self._signals or not self._verdict.lost:
            return None
        places = self._verdict.places
        hosts = [
            host for rank, (_, host) in sorted(places.items()) if rank not in self._verdict.lost
        ]
        return Counter(hosts)

    @property
    def progress(self) -> bool:
        """True if the job has completed a checkpoint."""
        return bool(self._verdict.signs[launcher.KEPT])

    def _stay_with(
        self,
        process: subprocess.Popen[bytes],
        terminal: bool,
        wake: int,
        listener: socket.socket | None,
    ) -> None:
        """Pass on data and signals until the launcher and the ranks have ended."""
        assert process.stdout is not None
        assert process.stderr is not None
        with selectors.DefaultSelector() as selector:

            def add(descriptor: int, order: int, read: Callable[[], bool]) -> None:
                selector.register(descriptor, selectors.EVENT_READ, Source(descriptor, read, order))

            launchers = {process.stdout.fileno(): 1, process.stderr.fileno(): 2}
            for descriptor, target in launchers.items():
                add(descriptor, 3, partial(self._launcher_says, descriptor, target))
            add(wake, 0, lambda: bool(os.read(wake, 4096)))
            if terminal:
                add(0, 0, lambda: self._take_input(process))
            if listener is not None:
                add(listener.fileno(), 0, lambda: self._accept(listener, add))
            left = set(launchers)

            def read(ready: list[Source]) -> bool:
                for source in sorted(ready, key=lambda source: source.order):
                    if not source.read():
                        selector.unregister(source.descriptor)
                        left.discard(source.descriptor)
                return bool(ready)

            while left:
                some = read([key.data for key, _ in selector.select(QUIET)])
                self._attend(process, idle=not some)
            # The launcher has ended, and with it the ranks; the pipes hold the rest of their output.
            while read([key.data for key, _ in selector.select(0) if key.data.order in (1, 2)]):
                pass
        for target, stage in self._stages.values():
            self._print(target, stage.flush(ended=True))

    def _accept(
        self, listener: socket.socket, add: Callable[[int, int, Callable[[], bool]], None]
    ) -> bool:
        """Accept the connection of a rank of this host, and give it two pipes to write its output to."""
        try:
            connection, _ = listener.accept()
        except OSError:
            return True
        pipes: list[tuple[int, int]] = []
        try:
            connection.settimeout(1.0)
            rank = int(connection.recv(64)) if system.is_own_user(connection) else -1
            if not 0 <= rank < self._size:
                raise ValueError
            pipes = [os.pipe(), os.pipe()]
            socket.send_fds(connection, [b"."], [write for _, write in pipes])
        except (OSError, ValueError):
            connection.close()
            for read, _ in pipes:
                os.close(read)
            return True
        finally:
            for _, write in pipes:
                os.close(write)
        connection.setblocking(False)
        self._channels[rank] = channel = Channel(connection, rank)
        add(connection.fileno(), 1, lambda: self._hear(channel))
        for target, (read, _) in zip((1, 2), pipes):
            self._stages[read] = target, Lines(rank) if self._all_output else Stage()
            add(read, 2, partial(self._rank_writes, read))
        return True

    def _hear(self, channel: Channel) -> bool:
        """Read the records of a rank; False at its end."""
        try:
            data = channel.connection.recv(1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        *lines, channel.buffer = (channel.buffer + data).split(b"\n")
        for line in lines:
            self._record(line, here=True)
        if not data:
            channel.connection.close()
            self._channels.pop(channel.rank, None)
        return bool(data)

    def _record(self, data: bytes, here: bool = False) -> bytes:
        """Take a rank's record; return data that is not a record, to be printed unchanged."""
        try:
            fields: dict[str, Any] = json.loads(data[data.find(b"{") : data.rfind(b"}") + 1])
            if not here:
                self._hosts.record(fields, time.monotonic())
            if fields["kind"] == "where":
                words = [fields[name] for name in ("rank", "steps", "words", "waits")]
                remote_stacks.learn(*words)
            elif fields["kind"] == "warning":
                self._warn(fields["rank"], fields["text"])
            elif fields["kind"] != "sign":
                self._verdict.record(fields)
        except (ValueError, KeyError):
            return data
        rank = fields["rank"]
        if fields["kind"] == "start":
            if here:
                self._one_host |= fields["local_size"] == self._size
                self._processes[rank] = fields["process"]
                self._leftovers.follow(fields["process"], time.monotonic())
        elif fields["kind"] == "progress":
            if here:  # MPI may just have made its files
                self._leftovers.note(self._processes[rank])
            if rank in self._verdict.signs[launcher.STARTING]:
                self._starting.setdefault(rank, time.monotonic())
        return b""

    def _warn(self, rank: int, text: str) -> None:
        """Print a warning of a rank, unless another rank has given it as often."""
        self._warnings[rank, text] += 1
        if self._warnings[rank, text] > self._warned[text]:
            self._warned[text] += 1
            self._say(text)

    def _rank_writes(self, source: int) -> bool:
        """Pass on the output of a rank of this host; False at the end."""
        target, stage = self._stages[source]
        data = os.read(source, 1 << 16)
        self._pass_on(target, stage.feed(data))
        if not data:
            os.close(source)
        return bool(data)

    def _launcher_says(self, source: int, target: int) -> bool:
        """Pass on the launcher's output, which includes that of ranks of other hosts; False at the end.

        If all ranks are on this host, the launcher's text is dropped once the cause of the end is known: it says less.
        """
        stage = self._launcher_stages[target]
        data = os.read(source, 1 << 16)
        text = stage.feed(data) if data else stage.flush(ended=True)
        if not (self._one_host and (self._verdict.decided or self._ended_by)):
            self._pass_on(target, text)
        return bool(data)

    def _pass_on(self, target: int, data: bytes) -> None:
        """Write output; if its reader has closed, as in ``atoll run ... | head``, end as Python would."""
        if not self._print(target, data):
            self._signals.append(signal.SIGPIPE)

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
        """Pass terminal input to rank 0; False at its end. A job in the background waits."""
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
        """Handle everything but data: signals, deadlines, and reports that are due."""
        now = time.monotonic()
        self._attend_start(now)
        self._attend_end(now)
        for host in self._hosts.look(now):
            words = f"host {host.name} has given no sign for {limit():.3g} s"
            self._verdict.unreachable(sorted(host.ranks), words)
            self._deadline = min(self._deadline, now)
        self._leftovers.look(now, surely=bool(self._verdict.waiting))
        while self._signals:
            self._forward(process, self._signals.pop(0), now)
        if now > self._deadline:
            self._kill(process)
            self._deadline = now + GRACE
        if self._verdict.waiting:
            if now > self._report_at:
                self._say(self._verdict.reports())
                self._say(self._where_others_are())
                self._report_at = float("inf")
            elif self._report_at == float("inf"):
                self._report_at = now + startup.PAUSE
        if (self._verdict.reported or self._verdict.failed) and not self._ending:
            # The rank that has reported ends all ranks, or the launcher does that has lost one. If neither does, this process
            # does: when a rank on another host is lost, some launchers end none, and MPI may crash there.
            self._ending = True
            pause = GRACE if self._verdict.reported or self._one_host else startup.PAUSE
            self._deadline = min(self._deadline, now + pause)
        if idle and not self._verdict.decided:
            for target, stage in self._launcher_stages.items():
                self._print(target, stage.flush())

    def _where_others_are(self) -> str:
        """The stacks of ranks that have not reported, if ranks on other hosts have waited for them in vain."""
        if self._one_host or not self._verdict.timed_out:
            return ""
        others = self._verdict.places.keys() - self._verdict.reporters - self._verdict.ends.keys()
        where = remote_stacks.told(sorted(others), waiting=False)
        return f"atoll: {where.removeprefix('; ')}\n" if where else ""

    def _attend_start(self, now: float) -> None:
        """Report ranks that wait for others in MPI's start: they wait in C, so only this process can."""
        waiting = sorted(self._starting.keys() - self._verdict.signs[launcher.TOGETHER])
        since = min((self._starting[rank] for rank in waiting), default=now)
        if self._verdict.signs[launcher.TOGETHER] or self._verdict.waiting:
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
        others = (rank for rank in self._verdict.places if rank not in self._starting)
        where = remote_stacks.told(sorted(others))
        if now - since >= config.wait_abort:
            limit = f"{config.wait_abort:.3g} s (ATOLL_WAIT_ABORT)"
            self._end_wait(waiting, f"waited {limit} for MPI to start{where}", now)
            return
        who = startup.rank_words(waiting, self._size)
        self._say(f"atoll: {who} waited {now - since:.0f} s for MPI to start{where}\n")
        self._next_word = min(2 * (now - since), config.wait_abort)

    def _ended(self) -> set[int]:
        """The ranks of this host that have ended."""
        return self._verdict.ends.keys() & self._processes.keys()

    def _attend_end(self, now: float) -> None:
        """Supervise ranks that continue after others have finished: ranks connected by MPI must end together.

        Ranks that wait at their end supervise the other ranks of their host in the same way.
        """
        ended = self._verdict.ends.keys() | self._verdict.signs[launcher.ORDERLY]
        if not self._one_host:
            ended |= self._verdict.signs[launcher.LEAVING]
        left = self._verdict.places.keys() - ended
        if not ended or not left or self._verdict.reported or self._deadline < float("inf"):
            self._stragglers = None
            return
        self._stragglers = self._stragglers or LateRanks()
        said = self._stragglers.look(left, ends=bool(self._verdict.signs[launcher.TOGETHER]))
        if said is None:
            return
        words, over = f"came to the end of the program, and {said[0]}", said[1]
        if over:
            self._end_wait(sorted(ended), words, now)
        else:
            self._say(f"atoll: {startup.rank_words(sorted(ended), self._size)} {words}\n")

    def _end_wait(self, ranks: Sequence[int], words: str, when: float) -> None:
        """End all ranks because ``ranks`` have waited in vain, and cannot report it themselves."""
        self._verdict.waited(ranks, words)
        self._deadline = min(self._deadline, when)

    def _forward(self, process: subprocess.Popen[bytes], number: int, now: float) -> None:
        """Forward a signal to the launcher, which signals the ranks; the second ending signal kills."""
        if number not in ENDING:
            process.send_signal(number)
        elif self._ended_by:
            self._kill(process)
        else:
            self._ended_by = number
            self._deadline = now + GRACE
            process.send_signal(signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the launcher and its process group; processes on other hosts notice that it has gone."""
        self._leftovers.look(time.monotonic(), surely=True)
        if self._hosts.known:
            self._agents |= agents(process.pid)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()

    def _end_ranks(self) -> None:
        """Kill the ranks of this host that the launcher has left behind. Supervisors are alive, so process numbers are valid."""
        for rank in self._channels.keys() - self._verdict.ends.keys():
            with suppress(OSError, KeyError):
                os.kill(self._processes[rank], signal.SIGKILL)

    def _conclude(self, returned: int) -> int:
        """Print the final report, and determine the exit code."""
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


def allow_many_files() -> None:
    """Raise the limit of open files to this user's maximum: each rank of this host takes three."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
