"""What every process that runs tests beside the first one is started with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pytest_options(config: pytest.Config) -> list[str]:
    """The options with which another pytest collects the same tests."""
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:timeout"]
    options += ["--continue-on-collection-errors"]
    options += [f"--import-mode={config.getoption('importmode')}", f"--rootdir={config.rootpath}"]
    if config.inipath is not None:
        options += ["-c", str(config.inipath)]
    return options


def environment() -> dict[str, str]:
    """This environment, with the bench on the path, and without what pytest says of itself."""
    found = dict(os.environ)
    found["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), found.get("PYTHONPATH")]))
    # pytest tells what it runs to programs that it starts; a helper is a pytest of its own.
    for name in ("PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS"):
        found.pop(name, None)
    return found
