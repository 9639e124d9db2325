"""The command ``atoll``: one file per subcommand, each with ``options(parser)`` and ``main(asked) -> exit code``.

To add one, add a line to ``COMMANDS`` and a module of the same name (``-`` becomes ``_``), whose docstring is its help.
An invalid command line raises :class:`UsageError`: one line, exit code 2.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

from .._version import __version__
from ..errors import ConfigError, LaunchError

COMMANDS = {
    "run": "run a program on several ranks",
    "profile": "join and show what the ranks of a program have recorded",
    "machine": "measure this machine for atoll.model",
    "doctor": "say what this machine has, and what is wrong with it",
    "cache": "say where compiled kernels are kept, and empty that folder",
    "completion": "complete commands and options in a shell",
    "check-distarray": "check a library's arrays by the Distributed Array Protocol",
}


class UsageError(Exception):
    """The command line is invalid; the text says what to do."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are :class:`UsageError`."""

    def __init__(self, **settings: object) -> None:
        super().__init__(
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **settings,  # type: ignore[arg-type]
        )

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments"):
            message += "; --help lists the options, and `--` goes before those of the program"
        raise UsageError(message)


def positive(text: str) -> int:
    """The value of an option as a positive integer."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"it must be an integer >= 1, not {text!r}")
    return int(text)


def given(text: str) -> str:
    """The value of an option, which must not be empty."""
    if not text:
        raise argparse.ArgumentTypeError("it needs a value, and this is an empty one")
    return text


def main(words: Sequence[str] | None = None) -> int:
    """Run the subcommand that ``words`` (by default the command line) start with."""
    words = list(sys.argv[1:] if words is None else words) or ["--help"]
    name = words[0] if words[0] in COMMANDS else ""
    parser = Parser(
        prog="atoll", description="NumPy on every core of a machine and every machine of a cluster"
    )
    parser.add_argument("--version", "-V", action="store_true", help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    for command, text in COMMANDS.items():
        chosen = commands.add_parser(command, help=text)
        if command == name:
            module = importlib.import_module(f"{__name__}.{command.replace('-', '_')}")
            chosen.description = (module.__doc__ or "").partition("\n\n")[2]
            module.options(chosen)
            chosen.set_defaults(main=module.main)
    try:
        asked = parser.parse_args(words)
        if not name:
            print(f"atoll {__version__}")
            return 0
        return int(asked.main(asked))
    except SystemExit as shown:  # the help
        return int(shown.code or 0)
    except (UsageError, ConfigError, LaunchError) as problem:
        print(f"{f'atoll {name}' if name else 'atoll'}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
