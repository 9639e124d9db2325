"""The Distributed Array Protocol, versions 1.0 and 0.9, in and out, strictly checked.

A producer has a method ``__distarray__`` that returns, on each process, a dictionary with
the process's own buffer and one dictionary per dimension that says which global indices
the buffer holds. Nothing is copied and nobody communicates.

The way in is read, judge, lay out: `reading` turns any producer into plain values and
records what is malformed, `rules` judges numbers on one process and across all,
`repairs` mends what lenient mode may mend, `importing` makes a layout of the rest. The
way out is `exporting`. `counting` holds the protocol's own utilities.
"""

from .checking import Examination as Examination
from .checking import check_distarray as check_distarray
from .checking import examine as examine
from .counting import num_owned_indices as num_owned_indices
from .counting import num_owned_indices_from_block as num_owned_indices_from_block
from .counting import num_owned_indices_from_cyclic as num_owned_indices_from_cyclic
from .counting import num_owned_indices_from_unstructured as num_owned_indices_from_unstructured
from .description import RULES as RULES
from .description import Violation as Violation
from .exporting import to_distarray as to_distarray
from .importing import Imported as Imported
from .importing import import_distarray as import_distarray
