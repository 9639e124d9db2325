"""Operations in which all ranks take part, on the sections of distributed arrays.

A :class:`Section` is what one rank has of an array: its block, the layout, and the communicator.
Everything here is a collective function from sections to sections that holds, on each rank, no
more than a small multiple of its own share. No rank ever has the whole. The mechanisms, each used
by many operations:

messages (``messages.py``)
    ``exchange`` sends pieces of known sizes, ``uneven`` pieces whose sizes only the sender knows;
    ``prefix`` folds the values of the ranks before this one; ``agree`` raises on all ranks the
    error that one of them found.

layouts (``moving.py``)
    ``redistributed`` moves a section to another layout of its shape, ``reshaped`` to a layout of
    another shape with the same elements in C order. Both ends of a message work out what is in it,
    and in which order, from the two layouts: no rank asks.

elements (``elements.py``)
    ``fetch`` reads elements at global indices, ``store`` writes them: indices travel to the
    owners (``Layout.locate``), values travel back. ``compressed`` keeps the elements under a mask
    and deals them out again evenly.

folds (``folds.py``)
    ``folded`` brings partial results of ranks to the owners of the result, who join them in order.

panels (``products.py``, ``grid_products.py``)
    ``multiplied`` is the matrix product of stacks of matrices on any layouts, ``few_products`` one of few elements
    for which nothing has to move but these.

order (``scans.py``, ``sorting.py``, ``searching.py``)
    ``accumulated`` scans along an axis: a local scan, joined with the prefix of the ranks before.
    ``ordered`` sorts a line by samples; ``starts`` marks where a new element begins in it, and
    ``places_in`` looks values up in it.

Which ranks a message joins, and how many there are, follows from layouts and from sizes that all
ranks have been told. A function whose size depends on values (how many elements a mask keeps)
tells it to all ranks first.
"""

from ..exchange.messages import exchange
from .elements import (
    compressed,
    everywhere,
    fetch,
    fetch_flat,
    positions_under,
    store,
)
from .folds import FoldPlan, by_ufunc, extreme_places, fold_plan, folded
from .messages import agree, prefix, uneven
from .moving import (
    by_parts,
    even_line,
    even_part,
    even_rows,
    redistributed,
    reshaped,
    uneven_line,
)
from .products import few_products, multiplied, product_layout
from .scans import accumulated, in_blocks_along, whole_along
from .searching import places_in
from .section import Section
from .segments import folded_segments
from .sorting import in_order, ordered, starts
from .transforms import TransformStep

__all__ = [
    "FoldPlan",
    "Section",
    "TransformStep",
    "accumulated",
    "agree",
    "by_parts",
    "by_ufunc",
    "compressed",
    "even_line",
    "even_part",
    "even_rows",
    "everywhere",
    "exchange",
    "extreme_places",
    "fetch",
    "fetch_flat",
    "few_products",
    "fold_plan",
    "folded",
    "folded_segments",
    "in_blocks_along",
    "in_order",
    "multiplied",
    "ordered",
    "places_in",
    "positions_under",
    "prefix",
    "product_layout",
    "redistributed",
    "reshaped",
    "starts",
    "store",
    "uneven",
    "uneven_line",
    "whole_along",
]
