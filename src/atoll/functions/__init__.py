"""NumPy's names, and the few that only a distributed array needs.

Each module declares functions of one kind; :mod:`.public` is the table that they fill, in this
order: a module leaves names that are already declared alone.
"""

from __future__ import annotations

# isort: off
from . import ufuncs as ufuncs
from . import creation as creation
from . import shapes as shapes
from . import indexing as indexing
from . import choices as choices
from . import bits as bits
from . import concatenation as concatenation
from . import insertion as insertion
from . import grids as grids
from . import reductions as reductions
from . import application as application
from . import counts as counts
from . import sets as sets
from . import logic as logic
from . import elementary as elementary
from . import calculus as calculus
from . import floating as floating
from . import sorting as sorting
from . import statistics as statistics
from . import products as products
from . import linalg as linalg
from . import fft as fft
from . import random as random

# isort: on
from .fallback import coverage as coverage
from .fallback import late as late
from .public import names as names
