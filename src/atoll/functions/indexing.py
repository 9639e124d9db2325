"""Selections of elements: by condition, by index, by order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..recording import selecting
from ..recording.cells import Handle
from ..recording.elementwise import assign, value_for
from ..recording.fallback import by_numpy
from ..recording.reductions import NOTHING
from .public import array_of, is_large, native, on_data


@native
def where(condition: Any, x: Any = NOTHING, y: Any = NOTHING, /) -> Any:
    if x is NOTHING and y is NOTHING:
        return by_numpy(np.where, (condition,), {})
    if x is NOTHING or y is NOTHING:
        raise ValueError("either both or neither of x and y should be given")
    return selecting.where(condition, x, y)


@native
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    return selecting.select(condlist, choicelist, default)


@native
def clip(a: Any, a_min: Any = NOTHING, a_max: Any = NOTHING, out: Any = None, *, min: Any = NOTHING, max: Any = NOTHING, **options: Any) -> Any:  # fmt: skip
    a = array_of(a)
    if a_min is NOTHING and a_max is NOTHING:
        a_min, a_max = (None if min is NOTHING else min), (None if max is NOTHING else max)
    elif a_min is NOTHING or a_max is NOTHING or min is not NOTHING or max is not NOTHING:
        return np.clip(a._array(), a_min, a_max, min=min, max=max)
    return a.clip(a_min, a_max, out, **options)


@native
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return array_of(a).round(decimals, out)


@native
def around(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return array_of(a).round(decimals, out)


@native
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    recordable = (
        is_large(dst)
        and isinstance(src, Handle)
        and where is True
        and dst._cell.writeable
        and dst._geometry.writeable
        and np.can_cast(src.dtype, dst.dtype, casting)  # type: ignore[attr-defined]
        and value_for(dst._geometry, src) is not None
    )
    if recordable and assign(dst._cell, dst._geometry, src):
        return
    by_numpy(np.copyto, (dst, src), {"casting": casting, "where": where}, writes=(0,))


on_data(
    "take", "take_along_axis", "choose", "compress", "extract", "nonzero", "flatnonzero", "argwhere", "sort",
    "argsort", "lexsort", "partition", "argpartition", "searchsorted", "sort_complex", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "union1d", "intersect1d", "setdiff1d", "setxor1d", "isin",
    "unravel_index", "ravel_multi_index", "piecewise", "apply_along_axis", "apply_over_axes", "packbits",
    "unpackbits",
)  # fmt: skip
on_data("put", "place", "putmask", "fill_diagonal", "put_along_axis", writes=(0, "a", "arr"))
