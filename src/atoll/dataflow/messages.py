"""The messages of a partition, as facts that two ranks can compare."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from ..context.call_sites import site_text
from .records import DistributedGraphPart, DistributedGraphPartition
from .tags import tag_bytes


@dataclass(frozen=True, slots=True)
class Message:
    """One end of a message, as its rank sees it."""

    sends: bool
    source: int
    dest: int
    tag: bytes
    """Equal on both ends; see :mod:`.tags`."""
    tag_text: str
    shape: tuple[int, ...]
    dtype: str
    place: str
    """The user's line."""

    @property
    def key(self) -> tuple[int, int, bytes]:
        """What the two ends have in common."""
        return self.source, self.dest, self.tag

    def digest(self) -> np.ndarray[Any, Any]:
        """Two numbers that stand for the whole message, in one direction or the other."""
        return digest((self.source, self.dest, self.shape, self.dtype), self.tag)

    def __str__(self) -> str:
        what = f"rank {self.dest if self.sends else self.source} with tag {self.tag_text}"
        end = f"sends to {what}" if self.sends else f"receives from {what}"
        place = f" at {self.place}" if self.place else ""
        return f"rank {self.source if self.sends else self.dest} {end}{place} ({self.shape} {self.dtype})"


def digest(facts: tuple[Any, ...], tag: bytes) -> np.ndarray[Any, Any]:
    """Two numbers that stand for a tag and some facts."""
    text = repr(facts).encode() + tag
    return np.frombuffer(blake2b(text, digest_size=16).digest(), np.uint64)


def dtype_text(dtype: np.dtype[Any]) -> str:
    """A dtype as text that is the same on equal machines."""
    return dtype.str if dtype.names is None else str(dtype)


def received(part: DistributedGraphPart, rank: int) -> Iterator[tuple[str, Message]]:
    """The messages that a part waits for, by the name of what arrives."""
    for name, node in part.name_to_recv_node.items():
        yield (
            name,
            Message(
                False, node.src_rank, rank, tag_bytes(node.comm_tag), repr(node.comm_tag), node.shape,
                dtype_text(node.dtype), site_text(node._node().site),
            ),
        )  # fmt: skip


def sent(part: DistributedGraphPart, rank: int) -> Iterator[tuple[str, Message]]:
    """The messages that a part sends, by the name of what is sent."""
    for name, sends in part.name_to_send_nodes.items():
        for send in sends:
            yield (
                name,
                Message(
                    True, rank, send.dest_rank, tag_bytes(send.comm_tag), repr(send.comm_tag), send.data.shape,
                    dtype_text(send.data.dtype), site_text(send.site),
                ),
            )  # fmt: skip


def ends_of(partition: DistributedGraphPartition, rank: int) -> dict[Hashable, list[Message]]:
    """For each part, the messages that this rank receives for it, and sends."""
    return {
        pid: [message for _, message in (*received(part, rank), *sent(part, rank))]
        for pid, part in partition.parts.items()
    }
