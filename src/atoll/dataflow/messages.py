"""The messages of a partition in a form that ranks can compare, and the encoding of their tags.

A user's tag is any hashable object that can be pickled. Its pickle does not identify it: the order of a set depends on
hashes, which differ from process to process, and the pickle of two equal strings depends on whether they are one object.
So tags are decomposed by the rules of pickle (``__reduce_ex__``), and written part by part. Objects that are equal as
keys of a dict, such as ``1`` and ``True``, get equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from ..comm.in_step import agree
from ..comm.world import world_of
from ..context.call_sites import site_text
from ..context.interrupts import passed_on
from ..errors import CommunicationTagError
from .records import DistributedGraphPart, DistributedGraphPartition

_DEEPEST = 100
Key = tuple[int, int, bytes]
"""The identity of a message: sender, receiver and tag."""


@dataclass(frozen=True, slots=True)
class Message:
    """One end of a message, as the rank at that end declares it."""

    sends: bool
    source: int
    dest: int
    tag: bytes
    """Equal on both ends; see :func:`tag_bytes`."""
    tag_text: str
    shape: tuple[int, ...]
    dtype: str
    place: str
    """The call site in the program."""

    @property
    def key(self) -> Key:
        """The identity of the message, equal on both ends: source, destination and tag."""
        return self.source, self.dest, self.tag

    def digest(self) -> np.ndarray[Any, Any]:
        """Two numbers that represent the message; they are equal on both ends if these agree."""
        return digest((self.source, self.dest, self.shape, self.dtype), self.tag)

    def __str__(self) -> str:
        what = f"rank {self.dest if self.sends else self.source} with tag {self.tag_text}"
        end = f"sends to {what}" if self.sends else f"receives from {what}"
        place = f" at {self.place}" if self.place else ""
        return f"rank {self.source if self.sends else self.dest} {end}{place} ({self.shape} {self.dtype})"


def digest(facts: tuple[Any, ...], tag: bytes) -> np.ndarray[Any, Any]:
    """Hash of a tag and some facts, as two numbers."""
    text = repr(facts).encode() + tag
    return np.frombuffer(blake2b(text, digest_size=16).digest(), np.uint64)


def received(part: DistributedGraphPart, rank: int) -> Iterator[tuple[str, Message]]:
    """The messages that a part receives, with the names of the received values."""
    for name, node in part.name_to_recv_node.items():
        site = node._node().site
        yield name, _message(False, node.src_rank, rank, node.comm_tag, node, site)


def sent(part: DistributedGraphPart, rank: int) -> Iterator[tuple[str, Message]]:
    """The messages that a part sends, with the names of the sent values."""
    for name, sends in part.name_to_send_nodes.items():
        for send in sends:
            data = send.data
            yield name, _message(True, rank, send.dest_rank, send.comm_tag, data, send.site)


def _message(sends: bool, source: int, dest: int, tag: Any, array: Any, site: Any) -> Message:
    # the text of a dtype is the same on machines of one architecture
    dtype = array.dtype.str if array.dtype.names is None else str(array.dtype)
    place = site_text(site)
    return Message(sends, source, dest, tag_bytes(tag), repr(tag), array.shape, dtype, place)


def ends_of(partition: DistributedGraphPartition, rank: int) -> dict[Hashable, list[Message]]:
    """For each part, the messages that it receives and sends on this rank."""
    return {
        pid: [message for _, message in (*received(part, rank), *sent(part, rank))]
        for pid, part in partition.parts.items()
    }


def tag_bytes(tag: Any) -> bytes:
    """Encode a tag as bytes; :class:`~atoll.errors.CommunicationTagError` if it cannot be pickled."""
    try:
        return _bytes(tag, 0)
    except CommunicationTagError:
        raise
    except Exception as error:
        passed_on(error)
        raise CommunicationTagError(
            f"the tag {tag!r} cannot be pickled ({error}); use a tag of strings, numbers and tuples"
        ) from error


def _joined(mark: bytes, parts: list[bytes]) -> bytes:
    return mark + b"%d:" % len(parts) + b"".join(b"%d:%s" % (len(part), part) for part in parts)


def _bytes(value: Any, depth: int) -> bytes:
    if depth > _DEEPEST:
        raise CommunicationTagError(
            f"a tag must not be nested more than {_DEEPEST} deep; use a flatter one"
        )
    kind = type(value)
    if value is None or value is Ellipsis or value is NotImplemented:
        return b"o" + repr(value).encode()
    if isinstance(value, Enum):
        return _joined(b"e", [_name(kind), value.name.encode()])
    if kind in (bool, int, float, complex):
        if kind is complex and value.imag == 0:
            value, kind = value.real, float
        if kind is not int and kind is not complex and value == value // 1:
            value = int(value)
        text = str(int(value) if type(value) is bool else value)
        return b"n" + text.encode()
    if kind is str:
        return b"s" + str(value).encode("utf-8", "surrogatepass")
    if kind is bytes:
        return b"b" + bytes(value)
    if kind is tuple or kind is list:
        return _joined(b"t", [_bytes(v, depth + 1) for v in value])
    if kind is frozenset or kind is set:
        return _joined(b"f", sorted(_bytes(v, depth + 1) for v in value))
    if kind is dict:
        pairs = sorted((_bytes(k, depth + 1), _bytes(v, depth + 1)) for k, v in value.items())
        return _joined(b"d", [part for pair in pairs for part in pair])
    if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        return b"c" + _name(value)
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return b"g" + reduced.encode()
    parts = [
        _bytes(part if i < 3 else list(part or ()), depth + 1) for i, part in enumerate(reduced[:5])
    ]
    return _joined(b"r", [_name(kind), *parts])


def _name(value: type | Callable[..., Any]) -> bytes:
    """The qualified name of a class or function, as pickle requires it."""
    name = f"{value.__module__}.{value.__qualname__}"
    if "<" in name:
        raise CommunicationTagError(
            f"the tag {name} cannot be pickled, because it cannot be imported; define it at the top of a module"
        )
    return name.encode()


def number_distributed_tags(
    mpi_communicator: Any, partition: DistributedGraphPartition, base_tag: int
) -> tuple[DistributedGraphPartition, int]:
    """Replace the tags of a partition by integers from ``base_tag`` on; returns it and the next free tag.

    Tags are numbered by first appearance, rank by rank and in the order of parts. Collective.
    """
    communicator = world_of(mpi_communicator).communicator
    mine: dict[bytes, None] = {}
    problem = ""
    try:
        for messages in ends_of(partition, communicator.rank).values():
            mine.update((message.tag, None) for message in messages)
    except CommunicationTagError as error:
        problem = f"rank {communicator.rank}: {error}"
    given = agree(communicator, (list(mine), problem), "numbering the tags of a dataflow graph")
    for _, trouble in given:
        if trouble:
            raise CommunicationTagError(trouble)
    number: dict[bytes, int] = {}
    for tags, _ in given:
        for tag in tags:
            number.setdefault(tag, base_tag + len(number))
    next_tag = base_tag + len(number)
    if base_tag < 0 or next_tag > communicator.tag_limit:
        raise CommunicationTagError(
            f"{len(number)} tags from {base_tag} on do not fit: MPI's tags are 0 to {communicator.tag_limit - 1}; choose a smaller base_tag"
        )
    parts = {}
    for pid, part in partition.parts.items():
        receives = {}
        for name, receive in part.name_to_recv_node.items():
            receives[name] = receive._with_tag(number[tag_bytes(receive.comm_tag)])
        sent = {
            name: tuple(
                [replace(send, comm_tag=number[tag_bytes(send.comm_tag)]) for send in sends]
            )
            for name, sends in part.name_to_send_nodes.items()
        }
        parts[pid] = replace(part, name_to_recv_node=receives, name_to_send_nodes=sent)
    return replace(partition, parts=parts, cache={}), next_tag
