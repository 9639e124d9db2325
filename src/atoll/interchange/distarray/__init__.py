"""The Distributed Array Protocol, versions 1.0 and 0.9: import, export and strict checks.

A producer has a method ``__distarray__`` that returns, on each process, a dictionary with the process's own buffer and
one dictionary per dimension that names the global indices in the buffer. Nothing is copied or communicated.

To import, `schema` turns any producer into plain values (`description`), `rules` checks numbers on one process and across all
and makes the repairs of lenient mode, and `layouts` makes a layout. `layouts` also does the reverse.
"""

from .description import RULES as RULES
from .description import num_owned_indices as num_owned_indices
from .layouts import import_distarray as import_distarray
from .layouts import to_distarray as to_distarray
from .rules import PROTOCOL as PROTOCOL
from .rules import check_distarray as check_distarray
