"""Loggers under the name ``atoll``: plans, kernels, ranks, files.

Nothing is printed until the program sets a handler or a level, as for every library. The file and line of a record are
those of the user's program.
"""

from __future__ import annotations

import logging
import sys
from logging import DEBUG as DEBUG
from typing import Any

from .call_sites import user_frame


class _Logger(logging.Logger):
    def findCaller(self, stack_info: bool = False, stacklevel: int = 1) -> Any:
        frame = user_frame(sys._getframe(1))
        if frame is None:
            return super().findCaller(stack_info, stacklevel)
        return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, None


def _named(name: str) -> logging.Logger:
    logger = logging.getLogger(name)
    if type(logger) is logging.Logger:
        logger.__class__ = _Logger
    return logger


_named("atoll").addHandler(logging.NullHandler())  # else Python prints warnings
plans = _named("atoll.plans")
kernels = _named("atoll.kernels")
ranks = _named("atoll.ranks")
files = _named("atoll.files")
