"""Importing this module begins the process: see ``startup``.

It is the first import of ``atoll/__init__.py``, because what it sets in the environment is
read by what comes after it: the settings, NumPy's libraries, and MPI.
"""

from .startup import begin, warn_of_settings

began = begin()
"""True if this process is one of several ranks, and was prepared as such here."""

warn_of_settings()
