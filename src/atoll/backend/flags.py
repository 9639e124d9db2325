"""Floating-point flags become NumPy's warnings, at the line that recorded the operation.

A kernel reports the flags that were raised, not the operations. The warning names the first of its operations that can
raise the flag. One program serves all lines that record the same operations, so the
line is looked up in the trace of the run. ``np.errstate`` and the warning filters decide the
handling of a flag: see :mod:`~.lazy.float_errors`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..context.warn import warn_at
from ..graph.node import Site

if TYPE_CHECKING:
    from .base import KernelStep

DIVIDE, OVERFLOW, UNDERFLOW, INVALID = 1, 2, 4, 8
"""Bits of a flag word: NumPy's own numbers."""

NEGATIVE_POWER = 16
"""Bit of a flag word: an integer was raised to a negative integer power."""

_KINDS = (
    (DIVIDE, "divide", "divide by zero"),
    (OVERFLOW, "over", "overflow"),
    (UNDERFLOW, "under", "underflow"),
    (INVALID, "invalid", "invalid value"),
)
_SELDOM = {"add", "subtract", "multiply"}
"""Operations that raise a flag where another one has mostly raised it before."""


def report(
    bits: int,
    step: KernelStep,
    sites: Mapping[Site | None, Site | None] | None = None,
    keep: Callable[[str, Site, int], None] | None = None,
) -> None:
    """Warn, raise, call or print by the rules of ``np.errstate``, once for each flag.

    ``sites`` maps each line that the program was made for to the line that recorded the trace, in the order of the
    trace. ``keep`` receives a warning instead, with its line and its position in that order.
    """
    modes: Any = np.geterr()
    able, spec, sites = step.raised_by(), step.launch.spec, sites or {}
    for bit, kind, words in _KINDS:
        mode = modes[kind]
        if not bits & bit or mode == "ignore":
            continue
        names = [i.name or i.op for i, flags in zip(spec.body, able, strict=True) if flags & bit]
        likely = [name for name in names if name.partition(".")[0] not in _SELDOM]
        name = (likely or names or ["reduce"])[0]
        operation = next(
            (recorded for recorded in step.launch.operations if recorded.name == name), None
        )
        site = None if operation is None else sites.get(operation.site, operation.site)
        message = f"{words} encountered in {name.partition('.')[0]}"
        if keep is None or site is None or mode != "warn":
            _tell(mode, bit, message, site)
        else:
            keep(message, site, 16 * list(sites.values()).index(site) + bit)


def is_noticed(flags: Sequence[tuple[int, Any]]) -> bool:
    """True if ``np.errstate`` does not ignore all of these flags."""
    if not flags:
        return False
    modes: Any = np.geterr()
    asked = sum([bit for bit, kind, _ in _KINDS if modes[kind] != "ignore"])
    return any(bits & asked for bits, _ in flags)


def _tell(mode: str, bit: int, message: str, site: Site | None) -> None:
    if mode == "warn":
        if site is None:
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        else:
            warn_at(site, message)
    elif mode == "raise":
        raise FloatingPointError(message)
    elif mode == "print":
        sys.stderr.write(f"Warning: {message}\n")
    else:
        handler: Any = np.geterrcall()
        if mode == "call":
            handler(message.partition(" encountered")[0], bit)
        else:
            handler.write(f"Warning: {message}\n")
