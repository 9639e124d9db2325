"""Loggers under the name ``atoll``: plans, kernels, ranks, files.

Nothing is printed until the program sets a handler or a level, as for every library. A record has the
file and line of the user's program.
"""

from __future__ import annotations

import logging
import os
import sys
from logging import DEBUG as DEBUG

from .call_sites import user_frame


def _located(record: logging.LogRecord) -> bool:
    """Set the line of a record to the user's line: a logging filter that passes all records."""
    frame = user_frame(sys._getframe(1))
    if frame is not None:
        record.pathname, record.funcName = frame.f_code.co_filename, frame.f_code.co_name
        record.lineno, record.filename = frame.f_lineno, os.path.basename(record.pathname)
        record.module = os.path.splitext(record.filename)[0]
    return True


def _named(name: str) -> logging.Logger:
    logger = logging.getLogger(name)
    logger.addFilter(_located)
    return logger


_named("atoll").addHandler(logging.NullHandler())  # else Python prints warnings
plans = _named("atoll.plans")
kernels = _named("atoll.kernels")
ranks = _named("atoll.ranks")
files = _named("atoll.files")
