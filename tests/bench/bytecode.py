"""Compiled Python for the many processes that tests start.

Where ``PYTHONDONTWRITEBYTECODE`` is set, each of them would compile every module again, and
pytest in each rank rewrite every test: more work than most of these tests. The wish behind that
variable is kept, nothing is written beside the sources: the bytecode of a run lies in a folder of
its own, which goes with it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

_FORBIDS, _FOLDER = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"


class Bytecode:
    """Has this process and those that it starts share their bytecode until ``close``."""

    def __init__(self) -> None:
        self._folder = ""
        self._before = os.environ.get(_FORBIDS)
        if sys.dont_write_bytecode:
            self._folder = tempfile.mkdtemp(prefix="bench-bytecode-")
            os.environ.pop(_FORBIDS, None)
            os.environ[_FOLDER] = sys.pycache_prefix = self._folder
            sys.dont_write_bytecode = False

    def close(self) -> None:
        if self._folder:
            sys.dont_write_bytecode, sys.pycache_prefix = True, None
            del os.environ[_FOLDER]
            if self._before is not None:
                os.environ[_FORBIDS] = self._before
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""
