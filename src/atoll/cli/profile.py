"""``atoll profile``: joins what the ranks of a program have recorded, and shows it.

Joins the parts of a profile that the ranks of a program have left beside PATH, shows its table, and saves it as PATH with
.json (a timeline for https://ui.perfetto.dev or chrome://tracing) and with .html (a page with pictures).

`atoll run --profile PATH` does it by itself when the program ends. This command is for programs that another launcher has
started with ATOLL_RUN_PROFILE=PATH, and for those that were killed together with `atoll run`.
"""

from __future__ import annotations

import argparse

from . import given


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options and arguments of ``atoll profile`` to a parser."""
    parser.add_argument("path", metavar="PATH", type=given, help="the path of the profile")


def main(asked: argparse.Namespace) -> int:
    """Join and show; return the exit code."""
    from ..profiling.whole import joined

    joined(asked.path.rstrip("/").removesuffix(".ranks"))
    return 0
