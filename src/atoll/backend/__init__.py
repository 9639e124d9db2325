"""Kernels and memory: one package per backend, one backend per process.

``config.backend`` names it. It is chosen when the first array that is not small is made; the modules that a
backend needs are loaded then.
"""

from __future__ import annotations

import warnings
from importlib import import_module

from ..config import config
from ..context.interrupts import passed_on
from ..context.threads import process_lock
from .base import Backend

_chosen: Backend | None = None


def current() -> Backend:
    """The backend of this process."""
    return _chosen or _choose()


def named(name: str) -> Backend:
    """The backend of a name."""
    backend: Backend = import_module(f".{name}", __name__).backend
    return backend


def _choose() -> Backend:
    """Load the backend that the settings name, or the NumPy backend if that fails."""
    global _chosen
    with process_lock:
        if _chosen is None:
            name = config.backend
            try:
                _chosen = named(name)
            except Exception as problem:
                passed_on(problem)
                if name == "numpy" or isinstance(problem, MemoryError):
                    raise
                warnings.warn(
                    f"the backend {name!r} cannot be loaded ({type(problem).__name__}: {problem}), so NumPy "
                    "computes everything, in one thread; install llvmlite, or set ATOLL_BACKEND=numpy",
                    RuntimeWarning,
                    stacklevel=2,
                )
                _chosen = named("numpy")
        return _chosen
