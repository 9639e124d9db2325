"""The outcome of a job: what its ranks report, summarized, and the exit code.

Everything comes from the ranks, in records: why one ends all the others, its progress, and, from the process that
supervises it (see ``rank``), how it ended. What launchers print is not read. Reports that differ only in their rank are
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
"""Signals that come from outside of the program: no fault of its own sends them."""

MOST_TRACEBACKS = 3
"""So many different tracebacks are printed whole; of the others, their last lines."""


@dataclass(frozen=True, slots=True)
class End:
    """How one rank ended: by ``signal``, or by itself with ``code``; ``told`` if the launcher ended it."""

    rank: int
    code: int
    signal: int = 0
    told: bool = False


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
        """How ranks have ended, in order: that a rank ended is known before the launcher ends the others for it."""
        self.lost: set[int] = set()
        """Ranks that were killed from outside, or are on a host that is lost, before anything else had gone wrong."""
        self._groups: dict[tuple[str, int, str], Group] = {}
        self._said = 0
        self._traces = 0

    @property
    def waiting(self) -> bool:
        """True if there are reports that have not been printed."""
        return len(self._groups) > self._said

    @property
    def reported(self) -> bool:
        """True if a rank has reported why the job ended."""
        return bool(self._groups)

    @property
    def decided(self) -> bool:
        """True if the job has failed for a known reason, so that what a launcher says of it is of no interest."""
        failed = any(end.code for end in self.ends.values())
        return self.reported or failed or self.well or self.failed

    @property
    def vanished(self) -> list[int]:
        """The ranks that have reported their start, and no end."""
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
        """True if all ranks have reported that they ended well: a launcher may find fault with how they left MPI."""
        return len(self.ends) == self._size and not any(
            end.code or end.signal or end.told for end in self.ends.values()
        )

    def record(self, fields: Mapping[str, Any]) -> None:
        """Take what a rank reports."""
        kind, rank = fields["kind"], fields["rank"]
        if kind == "start":
            self.places[rank] = fields["process"], fields["host"]
        elif kind == "progress":
            self.signs[fields["sign"].encode()].add(rank)
        elif kind == "end":
            code = os.waitstatus_to_exitcode(fields["status"])
            end = End(rank, 128 - code if code < 0 else code, max(-code, 0), fields["told"])
            if end.signal in OUTSIDE and not end.told:
                self._lose([rank])
            self.ends.setdefault(rank, end)
        else:
            self._report(kind, rank, fields["code"], fields["text"], fields.get("same", ""))

    def _report(self, kind: str, rank: int, code: int, text: str, same: str) -> None:
        same = same or ("" if kind == "interrupt" else startup.without_rank(text, rank))
        group = self._groups.setdefault((kind, code, same), Group(kind, code, text))
        if kind != "interrupt" or not group.ranks:  # where the first one was is enough
            group.ranks.append(rank)

    def waited(self, ranks: Sequence[int], text: str) -> None:
        """Ranks have waited too long, as ``text`` says, and cannot report it themselves."""
        self._groups["wait", 1, text] = Group("wait", 1, text, list(ranks))

    def unreachable(self, ranks: Sequence[int], text: str) -> None:
        """Ranks are lost with their host; none where it has never answered."""
        self._lose(ranks)
        self.waited(ranks, f"cannot be reached any more: {text}" if ranks else text)

    def _lose(self, ranks: Sequence[int]) -> None:
        if self.lost or not self.decided:
            self.lost.update(ranks)

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
        """What no rank could report itself, once the job is over."""
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
        """The exit code of the job; ``returned`` is the launcher's own."""
        if self._groups:
            return next(iter(self._groups.values())).code
        if (cause := self._cause()) is not None:
            return cause.code or 1
        if self.well:
            return 0
        return 128 - returned if returned < 0 else returned or int(bool(self.vanished))

    def _cause(self) -> End | None:
        """The end that ended the others: the first with a code, or at which others still needed the rank.

        Ends of which the launcher told the rank are consequences; if there are no others, their cause is unknown.
        """
        needed = self.signs[launcher.TOGETHER] - self.signs[launcher.ORDERLY]
        for end in self.ends.values():
            if not end.told and (end.code or end.rank in needed):
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
