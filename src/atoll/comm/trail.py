"""Where this rank's program is: the line, and the marks of what it has done on ranks of late.

A mark is a number that all ranks give to the same operation (see ``run.agreement``). In a program
whose ranks keep together, of any two ranks one is not behind the other: so what the one is at, the
other has done, or is at, too.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from types import FrameType

KEPT = 256

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

trail: deque[int] = deque(maxlen=KEPT)
"""The marks, the newest last."""

passed = trail.append
"""Note that this rank has come to an operation."""


def user_line() -> str:
    """Where the user's program is, as ``file:line``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def apart(mine: deque[int], theirs: tuple[int, ...]) -> bool:
    """Whether two ranks are at operations that the other knows nothing of."""
    return bool(mine and theirs) and theirs[-1] not in mine and mine[-1] not in theirs
