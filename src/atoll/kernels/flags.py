"""Floating-point flags become NumPy's warnings, at the line that recorded the operation.

A kernel reports which flags came up in it, not where. The first of its operations that can
raise a flag is the one that is named; ``np.errstate`` and the warning filters decide, when the
value is computed, what becomes of it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels
from ..comm.trail import line_of
from ..graph.node import Operation

if TYPE_CHECKING:
    from .spec import KernelSpec

_KINDS = (
    (1, "divide", "divide by zero"),
    (2, "over", "overflow"),
    (4, "under", "underflow"),
    (8, "invalid", "invalid value"),
)


def report(bits: int, spec: KernelSpec, operations: Sequence[Operation]) -> None:
    """Warn, raise, call or print as ``np.errstate`` says, once for each flag."""
    modes: Any = np.geterr()
    able = kernels.can_flag(spec)
    for bit, kind, words in _KINDS:
        mode = modes[kind]
        if not bits & bit or mode == "ignore":
            continue
        names = [i.name or i.op for i, flags in zip(spec.body, able, strict=True) if flags & bit]
        name = names[0] if names else "reduce"
        operation = next((one for one in operations if one.name == name), None)
        _tell(mode, bit, f"{words} encountered in {name.partition('.')[0]}", operation)


def _tell(mode: str, bit: int, message: str, operation: Operation | None) -> None:
    if mode == "warn":
        site: Any = operation.site if operation is not None else None
        if site is None:
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            return
        code, instruction = site
        warnings.warn_explicit(
            message, RuntimeWarning, code.co_filename, line_of(code, instruction)
        )
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
