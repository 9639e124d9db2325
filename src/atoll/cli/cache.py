"""``atoll cache``: says where compiled kernels are kept, and empties that folder.

Prints the folder of the compiled kernels, their number and their size. The folder stays under 64 MiB: the kernels that were used
longest ago go first. With --clear all of them are removed; programs that need them compile them again.
"""

from __future__ import annotations

import argparse

from .. import backend


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options and arguments of ``atoll cache`` to a parser."""
    parser.add_argument("--clear", action="store_true", help="remove all compiled kernels")


def main(asked: argparse.Namespace) -> int:
    """Print, or remove; return the exit code."""
    print(backend.current().cache(clear=asked.clear))
    return 0
