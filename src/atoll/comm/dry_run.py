"""Dry runs: one rank of a world that does not exist, which can plan but not communicate.

A rank's actions follow from the program and from layouts, so a single process can compute the plan of any rank among
any number, and show what a large run would send before it starts.

    with dry_run_world(17, 2048):
        u = np.zeros((100_000, 100_000))
        ...
        print(np.explain(u))

Memory is allocated for this rank's share only, and only on evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..config import config
from ..errors import CommunicationError, WorldError
from .communicator import Array, Request
from .nodes import consecutive
from .single import SingleCommunicator
from .windows import Window
from .world import World


class DryRunCommunicator(SingleCommunicator):
    """The place of one rank among others that do not exist."""

    kind = "dry run"

    def __init__(self, rank: int, size: int, ranks_per_node: int) -> None:
        if not 0 <= rank < size:
            raise WorldError(f"there is no rank {rank} among {size}")
        super().__init__()
        self.rank = rank
        self.size = size
        self.nodes = consecutive(size, ranks_per_node)
        self.universe = self
        self.log.computes = False

    @property
    def members(self) -> Sequence[int]:
        return range(self.size)

    def _refuse(self, operation: str, what: str) -> NoReturn:
        of = f" ({what})" if what else ""
        raise CommunicationError(
            f"{operation}{of}: rank {self.rank} of {self.size} is a dry run: it plans, but "
            "cannot communicate"
        )

    def _send(self, array: Array, dest: int, tag: int, what: str) -> Request:
        self._refuse(f"send to rank {dest}", what)

    def _receive(self, array: Array, source: int, tag: int, what: str) -> Request:
        self._refuse(f"receive from rank {source}", what)

    def _collective(
        self, operation: str, given: Array, result: Array, what: str, how: Any = None
    ) -> None:
        self._refuse(operation, what)

    def allgather_object(self, value: Any, what: str = "") -> list[Any]:
        """All ranks of a dry run agree on this rank's value."""
        return [value] * self.size

    def bcast_object(self, value: Any, root: int = 0, what: str = "") -> Any:
        self._refuse("bcast_object", what)

    def alltoall_object(self, values: Sequence[Any], what: str = "") -> list[Any]:
        self._refuse("alltoall_object", what)

    def window(self, nbytes: int, what: str) -> Window:
        self._refuse("a window", what)

    def split(self, color: int | None, key: int = 0) -> SingleCommunicator | None:
        self._refuse("split", "")

    def group(self, ranks: Sequence[int]) -> SingleCommunicator:
        self._refuse("group", "")


def dry_run_world(rank: int, size: int, ranks_per_node: int | None = None) -> World:
    """The world as rank ``rank`` of ``size`` would see it; a context manager, as all worlds.

    Each node has ``ranks_per_node`` ranks; the default is ``config.ranks_per_node``, or one.
    """
    return World(DryRunCommunicator(rank, size, ranks_per_node or config.ranks_per_node or 1))
