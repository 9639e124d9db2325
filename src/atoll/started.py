"""Importing this module begins the process: see ``startup``.

It is the first import of ``atoll/__init__.py``, because the settings, NumPy's libraries and MPI read the
environment variables that it sets.
"""

import sys

from .startup import begin, is_own_command, warn_of_settings

began = begin()
"""True if this process is one of several ranks, and was prepared as such here."""

warn_of_settings()

launches = is_own_command() and sys.argv[1:2] == ["run"] and "--profile" not in " ".join(sys.argv)
"""True if this process is the command ``atoll run``, which needs nothing of the package but what starts ranks. The rest is imported
when a program asks for a name of it. Profiles need all of it."""
