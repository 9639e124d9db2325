"""Source files: the owner of a line, which is the user's program, atoll, or an installed package.

The user's line is the innermost line of a stack that belongs to the user's program. The code of a notebook's cell has the
name of a temporary file; :func:`place_text` replaces it by IPython's name for the cell.
"""

from __future__ import annotations

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""The folder of atoll's own files."""

_PACKAGES = re.compile(r"[/\\](site|dist)-packages[/\\]")
_GENERATED = ("<frozen", "<decorator-gen", "<__array_function__")
"""Prefixes of the file names of generated code, which no user has written."""


def _folders() -> tuple[str, ...]:
    """The folders of the standard library and of the scripts that start installed programs."""
    library = os.path.dirname(os.__file__)
    scripts = os.path.join(sys.prefix, "Scripts" if os.name == "nt" else "bin")
    return tuple(os.path.join(path, "") for path in (library, os.path.realpath(library), scripts))


_FOLDERS = _folders()


def is_ours(file: str) -> bool:
    """True if a file belongs to atoll."""
    return file.startswith(ROOT)


def is_users(file: str) -> bool:
    """True if a file, or the name of code without a file, belongs to the user's program."""
    if file.startswith((ROOT, *_GENERATED)) or _PACKAGES.search(file):
        return False
    return not (file.startswith(_FOLDERS) or os.path.realpath(file).startswith(_FOLDERS))


def place_text(file: str, line: int) -> str:
    """A place as text: ``program.py:7``, in a notebook ``Cell In[3], line 2``."""
    cell = _cell(file)
    return f"{cell}, line {line}" if cell else f"{os.path.basename(file)}:{line}"


def _cell(file: str) -> str:
    """IPython's name for the cell that a file stands for; empty if the file is not a cell.

    Another process that has run the same cell has it under the same file name in another folder.
    """
    if "ipykernel_" not in file and not file.startswith("<ipython-input"):
        return ""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cells = getattr(getattr(shell, "compile", None), "_filename_map", {})
    name = os.path.basename(file)
    number = next((cells[key] for key in cells if os.path.basename(key) == name), None)
    return "" if number is None else f"Cell In[{number}]"
