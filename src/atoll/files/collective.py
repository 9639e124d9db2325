"""Collective file operations: errors are raised on all ranks, and profiles and the progress line display the call."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ..comm import progress
from ..comm.communicator import Communicator
from ..comm.in_step import agree, bcast_object
from ..context import profiler
from ..context.interrupts import passed_on
from ..context.profiler import Kind
from ..errors import AtollError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def display(
    verb: str, position: int = 0
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Decorate a function for profiles and the progress line: its argument at ``position`` is a file or folder, and ``verb`` names the action."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @wraps(function)
        def call(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
            with (
                profiler.call(call.__name__),
                profiler.span(Kind.FILE, call.__name__),
                progress.task(f"{verb} {_name(args, position)}"),
            ):
                return function(*args, **options)

        return call

    return decorate


def _name(args: tuple[Any, ...], position: int) -> str:
    """The name of a file for the display."""
    file = args[position] if len(args) > position else None
    if isinstance(file, str | bytes | os.PathLike):
        return os.path.basename(os.fsdecode(file).rstrip("/"))
    return "a file"


def settle(
    communicator: Communicator, error: Exception | None, what: str, facts: Any = None
) -> Any:
    """The ``facts`` of all ranks, in rank order; an error on any rank is raised on every rank. Collective.

    A rank with an error raises its own; the others raise the error of the first such rank. A note names the failed ranks.
    """
    reports = agree(communicator, (_sendable(error), facts), what)
    failed = [rank for rank, (problem, _) in enumerate(reports) if problem is not None]
    if not failed:
        return [own for _, own in reports]
    first = reports[failed[0]][0] if error is None else error
    if len(failed) < communicator.size:
        ranks = f"rank{'s' * (len(failed) > 1)} {', '.join(map(str, failed))}"
        first.add_note(f"raised on {ranks} of {communicator.size}, in {what}")
    raise first


def everywhere(communicator: Communicator, what: str, action: Callable[[], Result]) -> list[Result]:
    """Run an action and return the results of all ranks; a failure on any rank is raised on every rank. Collective."""
    error, result = None, None
    try:
        result = action()
    except Exception as raised:
        error = raised
    return settle(communicator, error, what, result)  # type: ignore[no-any-return]


def locally(communicator: Communicator, what: str, action: Callable[[], Result]) -> Result:
    """Run an action and return the result of this rank; a failure on any rank is raised on every rank. Collective."""
    results: list[Result] = []
    everywhere(communicator, what, lambda: results.append(action()))
    return results[0]


def _sendable(error: Exception | None) -> Exception | None:
    """The error, or an ``AtollError`` with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception as problem:
        passed_on(problem)
        return AtollError(f"{type(error).__name__}: {error}")
    return error


def on_rank_0(communicator: Communicator, action: Callable[[], Any], what: str) -> Any:
    """Run an action on rank 0 and return its result, or raise its error, on every rank. Collective."""
    error, result = None, None
    if communicator.rank == 0:
        try:
            result = action()
        except Exception as raised:
            error = raised
    problem, result = bcast_object(communicator, (_sendable(error), result), 0, what)
    if problem is not None:
        raise problem if error is None else error
    return result


@contextmanager
def open_file(communicator: Communicator, path: str, what: str) -> Iterator[int]:
    """Open a file for reading and yield its descriptor; a failure on any rank is raised on every rank. Collective."""
    descriptor = -1

    def open_it() -> None:
        nonlocal descriptor
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    try:
        locally(communicator, what, open_it)
        yield descriptor
    finally:
        if descriptor >= 0:
            os.close(descriptor)
