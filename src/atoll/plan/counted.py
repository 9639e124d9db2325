"""Exchanges for loops that count local indices, where shares are no boxes (see ``scattered``)."""

from __future__ import annotations

from collections.abc import Sequence

from ..comm.world import World
from ..ops.placement import Place
from ..run.exchange import StartExchange
from .body import Patch, Registers
from .exchange import plan_exchange
from .readers import who_reads_share
from .scattered import has_share, region_under


def exchange_for_counts(
    patches: Sequence[Patch], place: Place, registers: Registers, world: World, absent: bool
) -> StartExchange:
    """The step that begins an exchange for loops over local indices of what lies at ``place``.

    All ranks read under the same maps, so those of this rank's ``patches`` say what the others need. It is always a
    step, so that programs have the same steps whichever part a rank has.
    """
    layout, readers = place.layout, set[int]()
    for patch in patches:
        if patch.node.place is not None:
            assert patch.outer is not None
            readers |= who_reads_share(patch.node.place, world.rank, patch.outer, layout)

    def of_rank(rank: int) -> Sequence[Patch]:
        if rank == world.rank:
            return () if absent else patches
        if not has_share(place, rank):
            return ()
        sets = layout.region(rank)
        return [
            Patch(one.register, one.node, region_under(one.outer or (), sets)) for one in patches
        ]

    start = plan_exchange(of_rank, registers, world, readers, always=True)
    assert start is not None
    return start
