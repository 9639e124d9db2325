"""The error classes of atoll.

All derive from :class:`AtollError`. Where NumPy or Python has a class of the same meaning,
the error derives from that class too, so that ``except ValueError`` keeps working. A
message states the rule, the value and the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def a_type(value: object) -> str:
    """The type of a value with its article, for messages: ``an int``, ``a list``, ``None``."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


class AtollError(Exception):
    """The root of atoll's own errors."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Explicit, since some libraries replace the default pickling of exceptions by one that fails for
        # classes with two bases.
        return type(self), self.args, self.__dict__ or None


class ConfigError(AtollError, ValueError):
    """A setting, or an ``ATOLL_...`` variable, has a value it cannot have."""


class LaunchError(AtollError, RuntimeError):
    """The processes of a job and the library disagree about the ranks."""


class CommunicationError(AtollError, RuntimeError):
    """A message or a collective could not be carried out."""


class RankFailedError(CommunicationError):
    """A rank that this rank waits for has died."""


class WaitTimeoutError(CommunicationError, TimeoutError):
    """A wait made no progress for longer than ``config.wait_abort`` seconds."""


class DeadlockError(CommunicationError):
    """Ranks wait for each other in a cycle; the message names the operation of each."""


class DivergenceError(CommunicationError):
    """Ranks reached different operations; the message names each side's line."""


class ThreadError(CommunicationError):
    """A second thread of a rank communicates, so that ranks may do so in other orders."""


class WorldError(AtollError, ValueError):
    """An operation mixes arrays of different worlds, or names a rank outside of the world."""


class LayoutError(AtollError, ValueError):
    """A layout, or an operation on layouts, breaks a rule of theirs."""


class LayoutIndexError(LayoutError, IndexError):
    """An index is outside of a layout, or of the block of a rank."""


class ProtocolError(AtollError, ValueError):
    """A foreign object breaks the protocol it claims to speak.

    ``violations`` holds every rule broken, not only the first.
    """

    def __init__(self, message: str, violations: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.violations = tuple(violations)


class BufferTypeError(ProtocolError, TypeError):
    """A buffer, or the dtype of an array, cannot be shown as memory to others."""


class DeferredValueError(AtollError, RuntimeError):
    """The program reads an array of a dataflow graph, whose value comes when the graph is run."""


class MixedArraysError(WorldError):
    """An operation mixes a dataflow array, local to its rank, with one that lies on several ranks."""


class DistributedPartitionVerificationError(AtollError, ValueError):
    """The parts and messages of a dataflow graph, on all ranks together, break a rule."""


class DuplicateSendError(DistributedPartitionVerificationError):
    """Two sends have the same source, destination and tag."""


class DuplicateRecvError(DistributedPartitionVerificationError):
    """Two receives have the same source, destination and tag."""


class MissingSendError(DistributedPartitionVerificationError):
    """A receive waits for a message that no rank sends."""


class MissingRecvError(DistributedPartitionVerificationError):
    """A message is sent to a rank that does not receive it."""


class MessageMismatchError(DistributedPartitionVerificationError):
    """The two ends of a message disagree about its shape or dtype."""


class CommunicationTagError(DistributedPartitionVerificationError):
    """A tag that no message can carry: it cannot be pickled, or numbered within MPI's limit."""


class CommunicationCycleError(DistributedPartitionVerificationError):
    """The messages of the user's graph form a cycle of waits."""


class PartitionInducedCycleError(AtollError, RuntimeError):
    """Parts wait for each other in a cycle that the user's graph does not have."""


class FileFormatError(AtollError, ValueError):
    """A file is truncated, damaged or of another format than its reader expects; the message has the position."""


class ClusterError(AtollError, RuntimeError):
    """A cluster (Dask, Ray) is gone, does not answer, or failed at a task."""


class CellError(AtollError, RuntimeError):
    """A cell of a notebook failed on some ranks (``%%ranks``); ``lines`` are its text in the notebook."""

    lines: tuple[str, ...] = ()

    def _render_traceback_(self) -> list[str]:
        """Lines that IPython shows in place of a traceback of the notebook's kernel."""
        return [*self.lines, f"{type(self).__name__}: {self}"]


class OutOfMemoryError(AtollError, MemoryError):
    """A buffer does not fit into the free memory; the message names its purpose.

    ``wanted`` is the purpose of the buffer, an object whose text is in the message.
    """

    def __init__(self, message: str = "", wanted: object = "") -> None:
        super().__init__(message)
        self.wanted = wanted

    def asked_by(self, wanted: object) -> None:
        """Replace the purpose in the message, for a line that runs a program planned for another line."""
        self.args = (str(self).replace(str(self.wanted), str(wanted)),)
        self.wanted = wanted


class FallbackWarning(UserWarning):
    """A function that atoll does not run natively yet was run by NumPy on the data."""


class ProtocolWarning(UserWarning):
    """A foreign object deviates from its protocol in a way that could be repaired."""
