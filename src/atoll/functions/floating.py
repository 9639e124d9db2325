"""What happens at overflows, divisions by zero and invalid operations: ``errstate`` and its kin.

Work that was recorded before is evaluated under the rules that held then, so entering and
leaving evaluates what is pending. Where a rule raises, calls or prints, each operation is
computed by NumPy at the call.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ..recording.cells import sync
from ..recording.elementwise import eager
from .public import publish

_AT_THE_CALL = {"raise", "call", "print", "log"}


def _watch() -> None:
    eager.depth = int(not _AT_THE_CALL.isdisjoint(np.geterr().values()))


class errstate(np.errstate):
    """The rules for floating-point errors inside a ``with`` block or a decorated function."""

    __slots__ = ("_rules",)

    def __init__(self, **rules: Any) -> None:
        super().__init__(**rules)
        self._rules = rules

    def __enter__(self) -> None:
        sync()
        super().__enter__()
        _watch()

    def __exit__(self, *problem: Any) -> None:
        try:
            sync()
        finally:
            super().__exit__(*problem)
            _watch()

    def __call__(self, func: Any) -> Any:
        rules = self._rules

        @wraps(func)
        def called(*args: Any, **options: Any) -> Any:
            with errstate(**rules):
                return func(*args, **options)

        return called


def seterr(
    all: Any = None, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None
) -> Any:
    """Set the rules for floating-point errors; the old ones come back."""
    sync()
    old = np.seterr(all, divide, over, under, invalid)
    _watch()
    return old


def seterrcall(func: Any) -> Any:
    """Set what is called, or logged to, at floating-point errors."""
    sync()
    return np.seterrcall(func)


publish("errstate", errstate, "native")
publish("seterr", seterr, "native")
publish("seterrcall", seterrcall, "native")
