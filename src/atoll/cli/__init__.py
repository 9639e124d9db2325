"""The command ``atoll``: one file per subcommand, each with ``main(words) -> exit code``.

To add one, add a line to ``COMMANDS`` and a module of the same name (``-`` becomes ``_``).
What is wrong with a command line is a :class:`UsageError`: one line, exit code 2.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from .._version import __version__
from ..errors import ConfigError, LaunchError

COMMANDS = {
    "run": "run a program on several ranks",
    "doctor": "say what this machine has, and what is wrong with it",
    "check-distarray": "check a library's arrays by the Distributed Array Protocol",
}


class UsageError(Exception):
    """The command line is invalid; the text says what to do."""


def help_text() -> str:
    """What ``atoll --help`` prints."""
    lines = [f"  atoll {name:<16} {words}" for name, words in COMMANDS.items()]
    return "\n".join(
        [
            f"atoll {__version__}: NumPy on every core of a machine and every machine of a cluster",
            "",
            *lines,
            "  atoll --version",
            "",
            "`atoll COMMAND --help` says more.",
        ]
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the subcommand that ``words`` (by default the command line) start with."""
    words = list(sys.argv[1:] if words is None else words)
    command = words[0] if words else "--help"
    if command in ("--version", "-V"):
        print(f"atoll {__version__}")
        return 0
    if command in ("--help", "-h"):
        print(help_text())
        return 0
    try:
        if command not in COMMANDS:
            known = ", ".join(COMMANDS)
            raise UsageError(f"there is no command {command!r}; the commands are {known}")
        module = importlib.import_module(f"{__name__}.{command.replace('-', '_')}")
        return int(module.main(words[1:]))
    except (UsageError, ConfigError, LaunchError) as problem:
        prefix = f"atoll {command}" if command in COMMANDS else "atoll"
        print(f"{prefix}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
