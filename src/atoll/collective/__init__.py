"""Operations in which all ranks take part, on the sections of distributed arrays.

A :class:`Section` is one rank's part of an array: its block, the layout, and the communicator. The functions here are collective,
from sections to sections, and hold on each rank no more than a small multiple of its own share. The messages and their peers follow
from layouts and from sizes that all ranks know. A function whose result size depends on values (the number of elements under a
mask) tells it to all ranks first.
"""

from ..exchange.messages import exchange as exchange
from ..exchange.partners import prefix as prefix
from .elements import compressed as compressed
from .elements import everywhere as everywhere
from .elements import fetch as fetch
from .elements import fetch_flat as fetch_flat
from .elements import in_lines as in_lines
from .elements import positions_under as positions_under
from .elements import store as store
from .folds import FoldPlan as FoldPlan
from .folds import by_ufunc as by_ufunc
from .folds import extreme_places as extreme_places
from .folds import fold_plan as fold_plan
from .folds import folded as folded
from .folds import folded_segments as folded_segments
from .messages import agree as agree
from .messages import uneven as uneven
from .movement import as_line as as_line
from .movement import bounded_line as bounded_line
from .movement import by_rank as by_rank
from .movement import even_blocks as even_blocks
from .movement import even_line as even_line
from .movement import even_part as even_part
from .movement import is_line as is_line
from .movement import redistributed as redistributed
from .movement import reshaped as reshaped
from .movement import uneven_line as uneven_line
from .products import few_products as few_products
from .products import multiplied as multiplied
from .products import product_layout as product_layout
from .scans import accumulated as accumulated
from .scans import whole_along as whole_along
from .search import Finder as Finder
from .section import Section as Section
from .sort import elements_at as elements_at
from .sort import first_behind as first_behind
from .sort import in_order as in_order
from .sort import ordered as ordered
from .sort import starts as starts
from .transforms import TransformStep as TransformStep
