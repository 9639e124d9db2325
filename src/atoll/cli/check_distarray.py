"""``atoll check-distarray``: checks whether a library follows the Distributed Array Protocol.

Calls factory() on every rank and checks what it returns, an object with __distarray__ or the dictionary itself, by every rule
of the Distributed Array Protocol (1.0 and 0.9). The exit code is 0 if every rule holds, 1 if one is broken, 2 if nothing could be
checked.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from ..comm.world import current_world
from ..errors import a_type
from ..interchange.distarray import PROTOCOL
from ..interchange.protocol import Examination
from . import UsageError, positive, run


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options and arguments of ``atoll check-distarray`` to a parser."""
    add = parser.add_argument
    add(
        "-n",
        dest="ranks",
        metavar="N",
        type=positive,
        help="start N ranks (default: this process, or the ranks that are there already)",
    )
    add(
        "--lenient",
        action="store_true",
        help="repair what has a clear meaning, and say what was met",
    )
    add(
        "target",
        metavar="module:factory",
        help="what makes the object; or, without a call, such an object",
    )


def main(asked: argparse.Namespace) -> int:
    """Check the object that the command line names; return the exit code."""
    if not all(asked.target.partition(":")):
        raise UsageError(
            f"write module:factory, such as mylibrary.arrays:make, not {asked.target!r}"
        )
    if asked.ranks is None:
        return check(asked.target, asked.lenient)
    program = ["-m", "atoll", "check-distarray", *(["--lenient"] if asked.lenient else [])]
    return run.start(run.Request(asked.ranks, program=[*program, asked.target]))


def named(target: str) -> Any:
    """The object that ``module:name`` names."""
    module_name, _, name = target.partition(":")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        value: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise UsageError(
            f"there is no module {module_name!r}; check its name and the folder"
        ) from None
    for part in name.split("."):
        if not hasattr(value, part):
            raise UsageError(f"{module_name!r} has no {name!r}")
        value = getattr(value, part)
    return value


class FailedProducer:
    """Stands for a producer whose factory failed; the checker reports the error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __distarray__(self) -> NoReturn:
        raise RuntimeError(f"the factory raised {type(self.error).__name__}: {self.error}")


def producer(value: Any) -> object:
    """The producer: the result of a factory, or the value itself if it is a producer."""
    if isinstance(value, dict) or (hasattr(value, "__distarray__") and not isinstance(value, type)):
        return value
    if not callable(value):
        raise UsageError(f"the object must be a factory or a producer, not {a_type(value)}")
    factory: Callable[[], object] = value
    try:
        return factory()
    except Exception as error:
        traceback.print_exc()
        return FailedProducer(error)


def check(target: str, lenient: bool) -> int:
    """Check on the current ranks; rank 0 prints."""
    source = producer(named(target))
    world = current_world()
    examination = PROTOCOL.examine(source, world.communicator, not lenient)
    if world.rank == 0:
        print(report(target, lenient, examination))
    world.barrier()
    return 1 if examination.violations else 0


def report(target: str, lenient: bool, examination: Examination) -> str:
    """The findings, line by line."""
    count = len(examination.sections)
    readable = [section for section in examination.sections if section.readable]
    section = readable[0] if readable else examination.sections[0]
    lines = [f"{target} on {count} rank{'s' if count > 1 else ''}"]
    sizes = [d.size for d in section.dimensions if d is not None]
    if readable:
        shape = f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
        kinds = ", ".join(d.kind for d in section.dimensions if d is not None) or "no dimensions"
        lines[0] += f": version {section.version}, shape {shape}, dtype {section.dtype}, {kinds}"
    lines += [f"  note: {note}" for note in examination.notes]
    lines += [f"  {violation}" for violation in examination.violations]
    broken = {violation.rule for violation in examination.violations}
    lines += [f"rule {rule}: {words}" for rule, words in PROTOCOL.rules.items() if rule in broken]
    if not broken:
        lines.append("every rule holds" + (", as repaired" if lenient else ""))
    return "\n".join(lines)
