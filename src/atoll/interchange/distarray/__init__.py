"""The Distributed Array Protocol, versions 1.0 and 0.9: import, export and strict checks.

A producer has a method ``__distarray__`` that returns, on each process, a dictionary with the process's own buffer and
one dictionary per dimension that names the global indices in the buffer. Nothing is copied or communicated.

To import, `reading` turns any producer into plain values (`description`) and records what is malformed, `rules` checks
numbers on one process and across all, `checking` exchanges digests and repairs what lenient mode allows, and
`importing` makes a layout. `exporting` does the reverse.
"""

from .checking import Examination as Examination
from .checking import check_distarray as check_distarray
from .checking import examine as examine
from .description import RULES as RULES
from .description import num_owned_indices as num_owned_indices
from .description import num_owned_indices_from_block as num_owned_indices_from_block
from .description import num_owned_indices_from_cyclic as num_owned_indices_from_cyclic
from .description import num_owned_indices_from_unstructured as num_owned_indices_from_unstructured
from .exporting import to_distarray as to_distarray
from .importing import import_distarray as import_distarray
