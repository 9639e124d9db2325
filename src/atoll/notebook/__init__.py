"""Notebooks: ``%load_ext atoll`` adds ``%%ranks``, which runs a cell on several ranks.

The kernel starts a keeper (``keeper``), which runs ipyparallel's controller and, by ``atoll run``, an engine on each rank
(``engine``). The kernel sends the engines a cell, shows the output of rank 0, and ends them with itself (``ranks``).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from ..errors import LaunchError

INSTALL = 'pip install ipyparallel matplotlib (in a clone of atoll also: pip install ".[notebook]")'


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%ranks`` and ``%ranks`` with IPython, for ``%load_ext atoll``."""
    if find_spec("ipyparallel") is None:
        raise LaunchError(f"%load_ext atoll needs ipyparallel, which is not installed; {INSTALL}")
    from .magics import RanksMagics

    shell.register_magics(RanksMagics)


def unload_ipython_extension(shell: Any) -> None:
    """End the ranks, for ``%unload_ext atoll``."""
    from .magics import RanksMagics

    magics = shell.magics_manager.registry.get(RanksMagics.__name__)
    if magics is not None:
        magics.end()
