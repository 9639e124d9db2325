"""``atoll profile``: joins what the ranks of a program have recorded, and shows it."""

from __future__ import annotations

from collections.abc import Sequence

from . import UsageError, options

HELP = """\
usage: atoll profile PATH

Joins the parts of a profile that the ranks of a program have left beside PATH, shows its
table, and saves it as PATH with .json (a timeline for https://ui.perfetto.dev or
chrome://tracing) and with .html (a page with pictures).

`atoll run --profile PATH` does it by itself when the program ends. This command is for
programs that another launcher has started with ATOLL_RUN_PROFILE=PATH, and for those that
were killed together with `atoll run`.
"""


def main(words: Sequence[str]) -> int:
    """Join and show; the exit code."""
    rest = list(words)
    for _ in options(rest, (), ()):
        pass
    if len(rest) != 1:
        raise UsageError("which profile? write its path, such as `atoll profile out.json`")
    from ..profiling.whole import joined

    joined(rest[0].rstrip("/").removesuffix(".ranks"))
    return 0
