"""What first runs find on a user's machine: Python's sources are compiled.

An installed package has been imported before, so Python does not compile its sources again. Where it may not write
down what it has compiled (``PYTHONDONTWRITEBYTECODE``, as in many containers), each process does, and the first run of a program
takes half a second longer for it, whatever it does.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("atoll", "llvmlite", "numpy")


@contextmanager
def compiled_sources() -> Iterator[None]:
    """Processes that are started inside find the packages compiled."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        places = []
        for name in PACKAGES:
            found = importlib.util.find_spec(name)
            if found is not None and found.origin is not None:
                places.append(str(Path(found.origin).parent))
        command = [sys.executable, "-m", "compileall", "-q", "-x", "tests", *places]
        subprocess.run(command, capture_output=True, check=False)  # what fails is compiled later
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
