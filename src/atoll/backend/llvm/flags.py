"""Floating-point flags become NumPy's warnings, at the line that recorded the operation.

A kernel reports which flags came up in it, not where. The first of its operations that can
raise a flag is the one that is named. A program is made once for all lines that record the same, so the
line is looked up in the trace that it ran for. ``np.errstate`` and the warning filters decide what
becomes of a flag: see :mod:`.rules`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...context.warn import warn_at
from ...graph.node import Operation, Site
from .. import llvm

if TYPE_CHECKING:
    from .spec import KernelSpec

_KINDS = (
    (1, "divide", "divide by zero"),
    (2, "over", "overflow"),
    (4, "under", "underflow"),
    (8, "invalid", "invalid value"),
)
_SELDOM = {"add", "subtract", "multiply"}
"""Operations that raise a flag where another one has mostly raised it before."""


def report(
    bits: int,
    spec: KernelSpec,
    operations: Sequence[Operation],
    sites: Mapping[Site | None, Site | None],
) -> None:
    """Warn, raise, call or print as ``np.errstate`` says, once for each flag.

    ``sites`` has the lines that recorded the trace, for each of those that its program was made for.
    """
    modes: Any = np.geterr()
    able = llvm.can_flag(spec)
    for bit, kind, words in _KINDS:
        mode = modes[kind]
        if not bits & bit or mode == "ignore":
            continue
        names = [i.name or i.op for i, flags in zip(spec.body, able, strict=True) if flags & bit]
        likely = [name for name in names if name.partition(".")[0] not in _SELDOM]
        name = (likely or names or ["reduce"])[0]
        operation = next((one for one in operations if one.name == name), None)
        site = None if operation is None else sites.get(operation.site, operation.site)
        _tell(mode, bit, f"{words} encountered in {name.partition('.')[0]}", site)


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
