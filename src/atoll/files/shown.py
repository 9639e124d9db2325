"""Display of file functions in profiles and in the progress line."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ..comm import progress
from ..context import profiler
from ..context.profiler import Kind

P = ParamSpec("P")
T = TypeVar("T")


def shown(verb: str, place: int = 0) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function for this display: its argument at ``place`` is a file or folder, and ``verb`` names the action."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> T:
            with (
                profiler.call(call.__name__),
                profiler.span(Kind.FILE, call.__name__),
                progress.task(f"{verb} {_name(args, place)}"),
            ):
                return function(*args, **options)

        return call

    return decorate


def _name(args: tuple[Any, ...], place: int) -> str:
    """The name of a file for the display."""
    file = args[place] if len(args) > place else None
    if isinstance(file, str | bytes | os.PathLike):
        return os.path.basename(os.fsdecode(file).rstrip("/"))
    return "a file"
