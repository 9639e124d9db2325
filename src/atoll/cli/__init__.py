"""The command ``atoll``: one file per subcommand, each with its ``HELP`` and ``main(words) -> exit code``.

To add one, add a line to ``COMMANDS`` and a module of the same name (``-`` becomes ``_``).
What is wrong with a command line is a :class:`UsageError`: one line, exit code 2.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Container, Iterator, Sequence

from .._version import __version__
from ..errors import ConfigError, LaunchError

COMMANDS = {
    "run": "run a program on several ranks",
    "profile": "join and show what the ranks of a program have recorded",
    "doctor": "say what this machine has, and what is wrong with it",
    "check-distarray": "check a library's arrays by the Distributed Array Protocol",
}


class UsageError(Exception):
    """The command line is invalid; the text says what to do."""


class HelpRequest(Exception):
    """The command line asks for the text of the subcommand's options."""


HELP = f"""\
atoll {__version__}: NumPy on every core of a machine and every machine of a cluster

{"".join(f"  atoll {name:<16} {words}{chr(10)}" for name, words in COMMANDS.items())}\
  atoll --version

`atoll COMMAND --help` says more.
"""


def options(
    words: list[str], flags: Container[str], values: Container[str]
) -> Iterator[tuple[str, str]]:
    """Take the options from the front of ``words``: the name and the value of each, for flags an empty one."""
    while words:
        name, equals, value = words[0].partition("=")
        if name in ("-h", "--help") and not equals:
            raise HelpRequest
        if name in values:
            if not equals:
                if len(words) < 2:
                    raise UsageError(f"{name} needs a value after it")
                del words[0]
                value = words[0]
        elif name not in flags or equals:
            return
        del words[0]
        yield name, value


def positive(name: str, value: str, meaning: str) -> int:
    """The value of an option as a count of one or more."""
    if not (value.isascii() and value.isdecimal() and int(value) > 0):
        raise UsageError(f"{name} is {meaning}, an integer >= 1, not {value!r}")
    return int(value)


def main(words: Sequence[str] | None = None) -> int:
    """Run the subcommand that ``words`` (by default the command line) start with."""
    words = list(sys.argv[1:] if words is None else words)
    command = words[0] if words else "--help"
    if command in ("--version", "-V"):
        print(f"atoll {__version__}")
        return 0
    if command in ("--help", "-h"):
        print(HELP, end="")
        return 0
    try:
        if command not in COMMANDS:
            known = ", ".join(COMMANDS)
            raise UsageError(f"there is no command {command!r}; the commands are {known}")
        module = importlib.import_module(f"{__name__}.{command.replace('-', '_')}")
        try:
            return int(module.main(words[1:]))
        except HelpRequest:
            print(module.HELP, end="")
            return 0
    except (UsageError, ConfigError, LaunchError) as problem:
        prefix = f"atoll {command}" if command in COMMANDS else "atoll"
        print(f"{prefix}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
