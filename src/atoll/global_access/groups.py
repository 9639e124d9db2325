"""``atoll.copy_between``: copies an array of one group of ranks to an array of another group."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..array import ndarray
from ..comm.in_step import agree
from ..comm.world import World, world_of
from ..errors import LayoutError, WorldError, a_type
from ..layout import Layout
from ..lazy.agreement import place_of
from ..lazy.sections import section_of
from ..lazy.views import Handle


def copy_between(source: Any, target: Any, *, world: Any = None) -> None:
    """Copy the elements of ``source`` to ``target``, arrays of the same shape that lie on different groups of ranks.

    All ranks of ``world``, by default the current one, call this; both groups are parts of it. A rank outside of a group passes
    ``None`` for its array. Each element goes from its owner in ``source`` to its owner in ``target``, converted as NumPy's
    ``same_kind`` allows.
    """
    whole = world_of(world)
    for name, array in (("source", source), ("target", target)):
        if array is not None and not isinstance(array, Handle):
            raise TypeError(
                f"copy_between: {name} must be an atoll array or None, not {a_type(array)}"
            )
    facts = [None if array is None else _Fact.of(array, whole) for array in (source, target)]
    every = agree(whole.communicator, facts, "copy_between()")
    source_layout, dtype = _joined("source", [pair[0] for pair in every], whole)
    target_layout, target_dtype = _joined("target", [pair[1] for pair in every], whole)
    if source_layout.shape != target_layout.shape:
        raise LayoutError(
            f"copy_between: the source has shape {source_layout.shape}, the target {target_layout.shape}; the shapes must agree"
        )
    if not np.can_cast(dtype, target_dtype, "same_kind"):
        raise TypeError(
            f"copy_between: elements of dtype {dtype} do not fit into a target of dtype {target_dtype}; convert the source by astype"
        )
    with nullcontext() if target is None else target.access() as block, whole:
        seen = _seen(block, target_layout, target_dtype, whole)
        seen[...] = _seen(None if source is None else _block(source), source_layout, dtype, whole)


class _Fact(NamedTuple):
    """A rank's description of its group's array; ``layout`` is on the whole world, ``None`` for a replicated array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: Layout | None
    ranks: tuple[int, ...]

    @classmethod
    def of(cls, array: Any, whole: World) -> _Fact:
        shape, dtype = tuple(array.shape), array.dtype
        place = place_of(array)
        if place is None:
            return cls(shape, dtype, None, ())
        translated = whole.translate(place.world)
        ranks = tuple(rank for rank in translated if rank is not None)
        if len(ranks) < len(translated):
            raise WorldError(
                f"copy_between: the array lies on {place.world!r}, which must be a part of {whole!r}"
            )
        layout = array.layout.unpadded()
        table = np.array(ranks, np.int64)[layout.table]
        return cls(shape, dtype, Layout.of(layout.axes, whole.size, table), ranks)


def _joined(name: str, facts: list[_Fact | None], whole: World) -> tuple[Layout, np.dtype[Any]]:
    """The layout on the whole world, and the dtype, of the array that the ranks of one group have passed."""
    passed = [rank for rank, fact in enumerate(facts) if fact is not None]
    known = [fact for fact in facts if fact is not None]
    if not known:
        raise WorldError(f"copy_between: no rank of {whole!r} has passed a {name}")
    first = known[0]
    if any(fact != first for fact in known) or not set(first.ranks) <= set(passed):
        lies = f", which lies on ranks {list(first.ranks)}" if first.ranks else ""
        raise WorldError(
            f"copy_between: ranks {passed} have passed a {name}{lies}; the ranks of its group, and only they, pass the same "
            "array"
        )
    layout = first.layout
    if layout is None:
        layout = Layout(first.shape, "n" * len(first.shape), size=whole.size, ranks=passed)
    return layout, first.dtype


def _block(array: Any) -> Any:
    return section_of(array, array.world).block


def _seen(block: Any, layout: Layout, dtype: np.dtype[Any], whole: World) -> ndarray:
    """The array on the whole world over the blocks of a group."""
    if block is None:
        block = np.empty(layout.local_shape(whole.rank), dtype)
    array: ndarray = ndarray._from_block(block, layout, whole)
    return array
