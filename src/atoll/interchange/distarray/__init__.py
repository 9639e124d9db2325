"""The Distributed Array Protocol, versions 1.0 and 0.9: import, export and strict checks.

A producer has a method ``__distarray__`` that returns, on each process, a dictionary with the process's own buffer and
one dictionary per dimension that names the global indices in the buffer. Nothing is copied or communicated.

To import, `reading` turns any producer into plain values (`description`) by a schema, `rules` checks numbers on one
process and across all, `checking` makes the repairs of lenient mode, and `importing` makes a layout. `exporting` does the
reverse.
"""

from .checking import PROTOCOL as PROTOCOL
from .checking import check_distarray as check_distarray
from .description import RULES as RULES
from .description import num_owned_indices as num_owned_indices
from .exporting import to_distarray as to_distarray
from .importing import import_distarray as import_distarray
