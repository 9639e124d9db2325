"""NumPy's functions on arrays that lie on several ranks, where they are no operation of their own.

Imported when the first such array meets one of them. :mod:`.table` says what an entry is.
"""

from __future__ import annotations

# isort: off
from .table import table as table
from . import algebra as algebra
from . import choosing as choosing
from . import joining as joining
from . import ordering as ordering
from . import orthogonal as orthogonal
from . import outputs as outputs
from . import quantiles as quantiles
from . import short as short
from . import shuffling as shuffling
from . import transforms as transforms
