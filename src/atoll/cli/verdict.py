"""The outcome of a job: a summary of its ranks' reports, and the exit code.

All facts come from the ranks, in records: the error by which a rank ends all others, its progress, and, from its supervisor
(see ``rank``), its end. The output of launchers is not parsed. Reports that differ only in their rank are
printed once.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import startup
from ..comm import launcher

OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU)
"""Signals from outside of the program, which no error of the program raises."""

MOST_TRACEBACKS = 3
"""The number of different tracebacks printed in full; further ones are reduced to their last line."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of one rank: by ``signal``, or by itself with ``code``; ``by_launcher`` if the launcher ended it."""

    rank: int
    code: int
    signal: int = 0
    by_launcher: bool = False


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
        self.places: dict[int, tuple[int, str]] = {}
        """Process number and host of the ranks that have started."""
        self.signs: defaultdict[bytes, set[int]] = defaultdict(set)
        """The ranks that have given each sign of :mod:`..comm.launcher`."""
        self.ends: dict[int, End] = {}
        """The ends of ranks, in order: the end of a rank arrives before the launcher ends the others because of it."""
        self.lost: set[int] = set()
        """Ranks that were killed from outside, or lost with their host, before any other failure."""
        self._groups: dict[tuple[str, int, str], Group] = {}
        self._said = 0
        self._traces = 0

    @property
    def waiting(self) -> bool:
        """True if some reports have not been printed."""
        return len(self._groups) > self._said

    @property
    def reported(self) -> bool:
        """True if a rank has reported why the job ended."""
        return bool(self._groups)

    @property
    def decided(self) -> bool:
        """True if the outcome of the job is known, so that the launcher's explanation is not needed."""
        failed = any(end.code for end in self.ends.values())
        return self.reported or failed or self.well or self.failed

    @property
    def vanished(self) -> list[int]:
        """The ranks that have reported their start, but no end."""
        return sorted(self.places.keys() - self.ends.keys() - self.signs[launcher.ORDERLY])

    @property
    def reporters(self) -> set[int]:
        """The ranks that have reported why the job ended."""
        return {rank for group in self._groups.values() for rank in group.ranks}

    @property
    def timed_out(self) -> bool:
        """True if a rank has waited too long for others."""
        return any("WaitTimeoutError" in group.text for group in self._groups.values())

    @property
    def failed(self) -> bool:
        """True if the end of a rank ends the others."""
        return self._cause() is not None

    @property
    def well(self) -> bool:
        """True if all ranks have reported a successful end, even if the launcher objects to the way they left MPI."""
        return len(self.ends) == self._size and not any(
            end.code or end.signal or end.by_launcher for end in self.ends.values()
        )

    def record(self, fields: Mapping[str, Any]) -> None:
        """Take a record of a rank."""
        kind, rank = fields["kind"], fields["rank"]
        if kind == "start":
            self.places[rank] = fields["process"], fields["host"]
        elif kind == "progress":
            self.signs[fields["sign"].encode()].add(rank)
        elif kind == "end":
            code = os.waitstatus_to_exitcode(fields["status"])
            end = End(rank, 128 - code if code < 0 else code, max(-code, 0), fields["by_launcher"])
            if end.signal in OUTSIDE and not end.by_launcher:
                self._lose([rank])
            self.ends.setdefault(rank, end)
        else:
            self._report(kind, rank, fields["code"], fields["text"], fields.get("same", ""))

    def _report(self, kind: str, rank: int, code: int, text: str, same: str) -> None:
        same = same or ("" if kind == "interrupt" else startup.without_rank(text, rank))
        group = self._groups.setdefault((kind, code, same), Group(kind, code, text))
        if kind != "interrupt" or not group.ranks:  # the place of the first one suffices
            group.ranks.append(rank)

    def waited(self, ranks: Sequence[int], text: str) -> None:
        """Report, with ``text``, ranks that have waited too long and cannot report it themselves."""
        self._groups["wait", 1, text] = Group("wait", 1, text, list(ranks))

    def unreachable(self, ranks: Sequence[int], text: str) -> None:
        """Report ranks that are lost with their host; ``ranks`` is empty if the host never answered."""
        self._lose(ranks)
        self.waited(ranks, f"cannot be reached any more: {text}" if ranks else text)

    def _lose(self, ranks: Sequence[int]) -> None:
        if self.lost or not self.decided:
            self.lost.update(ranks)

    def reports(self) -> str:
        """The reports of the ranks since the last call, equal ones once."""
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
        """The final report of a job in which no rank has reported."""
        if self._groups:
            return ""
        if (cause := self._cause()) is not None:
            return self._words(cause)
        if not returned and self.vanished:
            who = startup.rank_words(self.vanished, self._size)
            return f"atoll: {who} ended without a word, and the launcher with exit code 0\n"
        if returned and not self.well:
            return f"atoll: a rank left with exit code {returned & 0xFF}; all ranks ended\n"
        return ""

    def code(self, returned: int) -> int:
        """The exit code of the job; ``returned`` is that of the launcher."""
        if self._groups:
            return next(iter(self._groups.values())).code
        if (cause := self._cause()) is not None:
            return cause.code or 1
        if self.well:
            return 0
        return 128 - returned if returned < 0 else returned or int(bool(self.vanished))

    def _cause(self) -> End | None:
        """The end that ended the others: the first one with a code, or of a rank that others still needed.

        Ends that the launcher caused are consequences; if all ends are, the cause is unknown.
        """
        needed = self.signs[launcher.TOGETHER] - self.signs[launcher.ORDERLY]
        for end in self.ends.values():
            if not end.by_launcher and (end.code or end.rank in needed):
                return end
        return None

    def _words(self, end: End) -> str:
        """One line about a rank that ended without a report."""
        who = startup.rank_words([end.rank], self._size)
        if end.rank in self.places:
            process, host = self.places[end.rank]
            who += f" (process {process} on {host})"
        if not end.signal:
            early = "" if end.code else ", but not at its end"
            return f"atoll: {who} left with exit code {end.code}{early}; all ranks ended\n"
        name = signal.strsignal(end.signal) or "unknown"
        hint = ""
        if end.signal == signal.SIGKILL:
            hint = "; if nobody did that, the machine may have run out of memory"
        return f"atoll: {who} was killed by signal {end.signal} ({name}); all ranks ended{hint}\n"
