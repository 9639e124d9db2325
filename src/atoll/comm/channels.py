"""Channels: memory through which the repeated messages of a rank reach another rank of its node.

The sender writes the elements where the receiver reads them, so a message is one copy and two numbers. It lies in a
:class:`Slot`, which says which message is in it and which one the receiver has let go. Messages take two slots in turn, so
the sender may be a step ahead, and waits before it would overwrite what is still read.

Nothing is negotiated. Both ends count the messages of each step: the first one of up to so many bytes has two slots, so has
the second one, and so on, in the order in which they first occur. A slot thus comes again in a later step only, when the
receiver has used what was in it. Where the memory ends, messages go by MPI; both ends know it.

The first step with a message goes by MPI, and so does the second, beside whose messages the sender offers memory and the
receiver answers whether it can map it. A wait for a slot is a :class:`~.communicator.Request` like any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import policy
from .communicator import Array, Request
from .segments import HEADER, Segment, opened
from .waiting import SPINS

if TYPE_CHECKING:
    from .mpi import MpiCommunicator

FULL, _MARK, FREE = 0, 1, 8
"""The words of a slot that say which message is in it, of which step it is, and which one the receiver has let go."""

HEAD = 64
"""The bytes that a message has in front of its data: the hash of the log, and padding that aligns the data."""

_WORDS = 128
"""The bytes of a slot in front of the data. The words of the two ends are in different cache lines."""

_SMALLEST = 8
"""The class of the smallest slots: the binary logarithm of the bytes of data that there is room for."""

_OFFER = 512
"""The bytes of the message that offers memory: its length, its token, and its path."""

_fence = Lock()
_fence.acquire()


def _by_lock() -> None:
    _fence.release()
    _fence.acquire()


fence: Callable[[], object] = bool if os.uname().machine == "x86_64" else _by_lock
"""Let the processor finish earlier loads and stores before later ones: it does by itself, so a call does nothing, or where a lock is given back and taken."""

LOOKS = 4 * SPINS
"""How often to look into slots before the first real pause: a look costs less than a test of MPI."""


class Slot:
    """Memory for a message of up to so many bytes."""

    __slots__ = ("channel", "data", "mark", "number", "what", "words")

    def __init__(self, channel: Channel, memory: Array) -> None:
        self.channel = channel
        self.words: Any = memory[:_WORDS].data.cast("Q")
        self.mark: Any = self.words[_MARK : _MARK + 1]
        """The hash of the sender's log, as the first element."""
        self.data = memory[_WORDS:]
        self.number = 0
        """Which message of the two slots is to be in it; they count from 1."""
        self.what = ""
        """What that message is for."""


class SlotRequest(Request):
    """Waits until a message is in a slot, or may be put there."""

    __slots__ = ("_done", "_sends", "_slot")
    communicator: MpiCommunicator

    def __init__(self, slot: Slot) -> None:
        channel = slot.channel
        operation = "room for a message to" if channel.sends else "receive"
        super().__init__(channel.communicator, operation, channel.peer, None, slot.what)
        self._slot, self._sends, self._done = slot, channel.sends, False

    @property
    def done(self) -> bool:
        return self._done

    @property
    def result(self) -> None:
        return None

    def test(self) -> bool:
        if not self._done:
            slot = self._slot
            if self._sends:
                self._done = slot.words[FREE] + 2 >= slot.number
            else:
                self._done = slot.words[FULL] == slot.number
            if not self._done:
                self.communicator.progress()
        return self._done


def class_of(nbytes: int) -> int:
    """The class of the slots for messages of so many bytes."""
    return max(_SMALLEST, (nbytes - 1).bit_length())


class Channel:
    """One end of the way from a rank to another one of its node; ``sends`` says which end."""

    __slots__ = (
        "_asked",
        "_end",
        "_step",
        "_steps",
        "_streams",
        "_this",
        "communicator",
        "memory",
        "peer",
        "segment",
        "sends",
    )

    def __init__(self, communicator: MpiCommunicator, peer: int, sends: bool) -> None:
        self.communicator = communicator
        self.peer = peer
        self.sends = sends
        self.segment: Segment | None = None
        self.memory: Array | None = None
        """The bytes of the slots, once both ends have them."""
        self._step, self._this = -1, 0
        """The number of the last step with messages, and how many it has had, times 64."""
        self._steps = 0
        """How many steps have had messages, up to that from which on slots are used."""
        self._asked: list[tuple[Request, Array]] = []
        """What was begun to come to memory, and has yet to be ended."""
        self._streams: dict[int, list[Slot]] = {}
        """By the number of a message in its step times 64 and its class: the next slot, and the other one; none where they have no room."""
        self._end = HEADER

    def next(self, number: int, class_: int) -> Slot | None:
        """Where the next message of a class lies, in the step of this number; ``None`` where it goes by MPI.

        Both ends call this in the same order.
        """
        if number == self._step:
            self._this += 64
        else:
            self._step, self._this = number, 0
            if self._steps < 3:
                self._come_to_memory()
        slots = self._streams.get(self._this + class_)
        if slots is None:
            if self._steps < 3:
                return None
            slots = self._streams[self._this + class_] = self._two(1 << class_)
        if not slots:
            return None
        slot, other = slots
        slots.reverse()
        slot.number = other.number + 1
        if not self.sends:
            other.words[FREE] = other.number
        return slot

    def _come_to_memory(self) -> None:
        """The first step with messages has none, the second one asks for it, and the third one has it."""
        self._steps += 1
        if self._asked:  # a failed run has left it
            self.settle()
            self.settled()
        if self._steps == 2:
            self._ask()

    @property
    def is_refused(self) -> bool:
        """Whether the two ends cannot share memory."""
        return self._steps >= 3 and self.memory is None

    @property
    def asks(self) -> bool:
        """Whether this step brings the two ends to memory."""
        return bool(self._asked)

    def _two(self, nbytes: int) -> list[Slot]:
        """Two slots in memory that no other has, or none."""
        memory = self.memory
        length = _WORDS + nbytes
        start, self._end = self._end, self._end + 2 * length
        if memory is None or self._end > len(memory):
            return []
        if self.segment is not None:
            self.segment.reserve(start, 2 * length)
        parts = [memory[k : k + length] for k in (start, start + length)]
        return [Slot(self, part) for part in parts]

    def _ask(self) -> None:
        """Offer memory to the receiver, or expect the sender's offer."""
        offer = np.zeros(_OFFER, np.uint8)
        if self.sends and policy.limits.node_messages:
            segment = self.segment = Segment(policy.limits.node_messages)
            path = np.frombuffer(segment.path.encode(), np.uint8)
            if len(path) <= _OFFER - 24:
                offer[:8].view(np.int64)[0] = segment.nbytes
                offer[8:24] = np.frombuffer(segment.token, np.uint8)
                offer[24 : 24 + len(path)] = path
        self._asked = [(self._posted(offer, self.sends), offer)]

    def _posted(self, memory: Array, sends: bool) -> Request:
        """Begin a message beside all others."""
        return self.communicator.post_beside(memory, self.peer, sends, "memory for messages")

    def settle(self) -> None:
        """Let the other rank know whether both have the memory, or begin to wait for that; it does so in the same step."""
        if len(self._asked) != 1:
            return
        request, offer = self._asked[0]
        request.wait()
        answer = np.zeros(1, np.uint8)
        nbytes = int(offer[:8].view(np.int64)[0])
        if nbytes and not self.sends:
            path = bytes(offer[24:]).rstrip(b"\0").decode()
            self.memory = opened(path, nbytes, offer[8:24].tobytes())
            answer[0] = self.memory is not None
        self._asked.append((self._posted(answer, not self.sends), answer))

    def settled(self) -> None:
        """Wait until both know."""
        if not self._asked:
            return
        request, answer = self._asked[-1]
        request.wait()
        self._asked = []
        segment = self.segment
        if segment is not None:
            segment.finish()
            if answer[0]:
                self.memory = segment.bytes
            else:
                self.segment = None
