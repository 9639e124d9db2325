"""Importing this module begins the process: see ``startup``.

It is the first import of ``atoll/__init__.py``, because the settings, NumPy's libraries and MPI read the
environment variables that it sets.
"""

from .startup import begin, warn_of_settings

began = begin()
"""True if this process is one of several ranks, and was prepared as such here."""

warn_of_settings()
