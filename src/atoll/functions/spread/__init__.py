"""NumPy's functions on arrays that lie on several ranks, where they are no operation of their own.

Imported when the first such array meets one of them. :mod:`.table` says what an entry is.
"""

from __future__ import annotations

# isort: off
from .table import table as table
from . import joining as joining
from . import outputs as outputs
