"""A profile as a table on the terminal."""

from __future__ import annotations

import shutil
from itertools import compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .profiles import Profile

MOST = 25
"""The number of lines shown, by descending time."""

NARROW = 24
"""The least width in columns of the code of a line; with less room it is left out."""


def _digits(number: float) -> str:
    """A number with three digits, or with all digits before the point from a hundred on."""
    return f"{number:.0f}" if number >= 99.95 else f"{number:.3g}"


def seconds_text(seconds: float) -> str:
    """A time in words."""
    if seconds <= 0:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{_digits(seconds / size)} {unit}"
    return "< 1 us"


def bytes_text(nbytes: float) -> str:
    """A number of bytes in words."""
    if nbytes <= 0:
        return ""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= 0.9995 * size:
            return f"{_digits(nbytes / size)} {unit}"
    return f"{nbytes:.0f} B"


def count_text(count: float) -> str:
    """A count, with separators of thousands."""
    return f"{count:,.0f}" if count else ""


COLUMNS = (
    ("time", "seconds", seconds_text),
    ("calls", "calls", count_text),
    ("in calls", "call_seconds", seconds_text),
    ("kernels", "kernels", count_text),
    ("in kernels", "kernel_seconds", seconds_text),
    ("memory", "kernel_bytes", bytes_text),
    ("in NumPy", "numpy_seconds", seconds_text),
    ("messages", "messages", count_text),
    ("sent", "sent_bytes", bytes_text),
    ("waiting", "wait_seconds", seconds_text),
    ("planning", "plan_seconds", seconds_text),
    ("compiling", "compile_seconds", seconds_text),
    ("files", "file_seconds", seconds_text),
)
"""Title, field of a line, and format. Empty columns are left out, except for the first."""


def title(profile: Profile) -> str:
    """The program, its ranks and its time, in one line."""
    ranks = len(profile.ranks)
    who = "one process" if ranks == 1 else f"{ranks} ranks"
    total, inside = seconds_text(profile.seconds), seconds_text(profile.inside) or "nothing"
    return f"{profile.program} in {who}: {total or 'no time'}, {inside} of it in atoll"


def remarks(profile: Profile) -> list[str]:
    """Remarks on the figures: means, killed or missing ranks, and lost spans."""
    texts = []
    if len(profile.ranks) > 1:
        texts.append("Times are means over the ranks; counts and bytes are those of all ranks.")
    killed = [str(rank.record.rank) for rank in profile.ranks if not rank.record.complete]
    if killed:
        ranks = f"{'Rank' if len(killed) == 1 else 'Ranks'} {', '.join(killed)}"
        texts.append(f"{ranks} did not end in order: the record goes to the last span before.")
    texts += [
        f"Rank {rank.record.rank} was waiting {rank.record.waiting}."
        for rank in profile.ranks
        if rank.record.waiting
    ]
    if profile.missing:
        texts.append(f"There is no record of rank {', '.join(map(str, profile.missing))}.")
    threshold = max((rank.record.threshold for rank in profile.ranks), default=0)
    if threshold:
        texts.append(
            f"The timeline lacks spans shorter than {seconds_text(threshold * 1e-9)}; the totals have all."
        )
    return texts


def table(profile: Profile, width: int | None = None) -> str:
    """The longest lines, one per row."""
    width = width or shutil.get_terminal_size((100, 24)).columns
    lines = profile.lines[:MOST]
    used = [any(getattr(line, name) for line in profile.lines) for _, name, _ in COLUMNS[1:]]
    columns = [*COLUMNS[:1], *compress(COLUMNS[1:], used)]
    rows = [["line", *[head for head, _, _ in columns]]]
    rows += [
        [line.place, *[text(getattr(line, name)) for _, name, text in columns]] for line in lines
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(len(columns) + 1)]
    rest = width - sum(widths) - 2 * len(widths)
    texts = [title(profile), ""]
    for k, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(size) for cell, size in zip(row[1:], widths[1:], strict=True)]
        if rest >= NARROW:
            code = "code" if k == 0 else lines[k - 1].text
            cells.append(code if len(code) <= rest else f"{code[: rest - 3]}...")
        texts.append("  ".join(cells).rstrip())
    if len(profile.lines) > MOST:
        texts.append(f"... and {len(profile.lines) - MOST} more lines")
    if notes := remarks(profile):
        texts += ["", *notes]
    return "\n".join(texts)
