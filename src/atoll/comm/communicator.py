"""The interface of communicators: messages between ranks, and collectives.

Messages are non-blocking: :meth:`Communicator.isend` and :meth:`~Communicator.irecv` post an operation and return a
:class:`Request`. Every wait uses :meth:`Communicator.wait_some`, which each kind implements in its own way (no wait,
polling MPI, or handing the turn to another simulated rank), or waits for many requests by :class:`Pending`. A request
knows its operation, its peer, its tag, and ``what`` the caller needs it for, so that a long wait can report them. Each
kind implements all collectives of arrays by one method.

Rules for every kind:

* Messages between the same two ranks with the same tag arrive in the order they were sent.
  There is no wildcard source: the message that a receive takes never depends on time.
* A message carries the elements of an array in C order, whatever its strides. The receiver
  gives an array of the same dtype and number of elements.
* The array of a send must not change, and that of a receive must not be read, until its
  request is done. The communicator keeps both alive for as long as it needs them.
* All ranks call the collectives of one communicator in the same order.
* Reductions follow NumPy's ufuncs (``max`` passes on NaN, ``sum`` of booleans is a boolean)
  and give the same bits on every rank.

A rank with many neighbours waits for many messages at once. Testing all of them after each arrival would take a time that grows with the
square of their number. A test of :class:`Pending` requests looks at the first few, in the order in which they are wanted, and at as many
of the others in turn. So a test takes the same time however many requests there are, messages that arrive in order are seen at once,
and no message is overlooked for good.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import CommunicationError, WorldError, a_type

if TYPE_CHECKING:
    from ..context.divergence import StepLog
    from .node_memory import NodeMemory
    from .nodes import Nodes
    from .windows import Window

Array = NDArray[Any]
PLAIN = frozenset("?bBhHiIlLqQefdgFDG")
"""The numeric dtypes, by their characters; every transport carries them unchanged."""
_NOTHING = np.empty(0, np.uint8)


@dataclass(slots=True)
class Traffic:
    """The messages and bytes that one rank has sent and received on a communicator."""

    messages_sent: int = 0
    bytes_sent: int = 0
    messages_received: int = 0
    bytes_received: int = 0
    collectives: int = 0
    collective_bytes: int = 0
    messages_between_nodes: int = 0
    """The number of sent messages that leave this rank's node."""
    bytes_between_nodes: int = 0

    def sent(self, nbytes: int, between_nodes: bool) -> None:
        """Count a message that leaves."""
        self.messages_sent += 1
        self.bytes_sent += nbytes
        if between_nodes:
            self.messages_between_nodes += 1
            self.bytes_between_nodes += nbytes

    def received(self, nbytes: int) -> None:
        """Count a message that has arrived."""
        self.messages_received += 1
        self.bytes_received += nbytes

    def together(self, nbytes: int) -> None:
        """Count a collective."""
        self.collectives += 1
        self.collective_bytes += nbytes

    def add(self, more: Traffic) -> None:
        """Add the counts of other traffic."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(more, name))

    def numbers(self) -> tuple[int, ...]:
        """All counts, in order."""
        return tuple([getattr(self, name) for name in self.__slots__])

    def copy(self) -> Traffic:
        return Traffic(*self.numbers())

    def __sub__(self, earlier: Traffic) -> Traffic:
        return Traffic(*[a - b for a, b in zip(self.numbers(), earlier.numbers(), strict=True)])


class Request:
    """One posted operation, which may be pending or done."""

    __slots__ = ("_result", "communicator", "done", "operation", "peer", "refused", "tag", "what")

    def __init__(
        self,
        communicator: Communicator,
        operation: str,
        peer: int | None = None,
        tag: int | None = None,
        what: str = "",
        result: Any = None,
        done: bool = False,
    ) -> None:
        self.communicator = communicator
        self.operation = operation
        self.peer = peer
        self.tag = tag
        self.what = what
        self.done = done
        """True if the operation is known to be complete; does not test it."""
        self.refused: bool | None = None
        """``False`` accepts an empty message, by which the sender reports a failure; it then becomes ``True``. With
        ``None`` such a message is an error."""
        self._result = result

    @property
    def result(self) -> Any:
        """The array received, ``None`` for a send."""
        if not self.done:
            raise CommunicationError(f"not done yet: {self.describe()}")
        return self._result

    def test(self) -> bool:
        """Let messages progress, and return True if the operation is complete. Never blocks."""
        return self.done

    def wait(self) -> Any:
        """Return the result once the operation is complete.

        After a :class:`~atoll.errors.WaitTimeoutError` the operation is still pending.
        """
        if not self.done:
            self.communicator.wait_some((self,))
        return self.result

    def describe(self) -> str:
        """The operation as text: ``receive from rank 2, tag 7 (halo of u)``."""
        words = {"send": "send to", "receive": "receive from"}.get(self.operation, self.operation)
        if self.peer is not None:
            words += f" rank {self.peer}"
        if self.tag is not None:
            words += f", tag {self.tag}"
        return f"{words} ({self.what})" if self.what else words

    def __repr__(self) -> str:
        return f"<{'done' if self.done else 'pending'}: {self.describe()}>"


class Rows:
    """Memory for repeated gathers of a few bytes of every rank: ``row`` is this rank's.

    The memory may be shared: fill the row just before the gather, and read the rows right after.
    """

    __slots__ = ("communicator", "row", "rows")

    def __init__(self, communicator: Communicator, nbytes: int) -> None:
        self.communicator = communicator
        self.row: Array = np.zeros(nbytes, np.uint8)
        self.rows: Array = np.zeros((communicator.size, nbytes), np.uint8)

    def gather(self, what: str) -> None:
        """Fill ``rows`` by every rank's ``row``."""
        self.rows[...] = self.communicator.allgather(self.row, what)


def describe_all(requests: Iterable[Request], limit: int = 8) -> str:
    """The pending requests among ``requests`` as text, in one line."""
    pending = [request.describe() for request in requests if not request.done]
    rest = len(pending) - limit
    return "; ".join(pending[:limit]) + (f"; and {rest} more" if rest > 0 else "")


def described(requests: Iterable[Request]) -> str:
    """The purpose of the first pending request as text, else its operation."""
    pending = (request for request in requests if not request.done)
    first = next(pending, None) or next(iter(requests))
    return first.what or first.operation


def check_array(array: Array, *, receiving: bool) -> None:
    """Refuse all but ndarrays of plain, fixed-size elements, and read-only ones for receiving."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"a message must be a NumPy array, not {a_type(array)}")
    dtype = array.dtype
    if dtype.char not in PLAIN and (dtype.hasobject or dtype.kind == "T"):
        raise TypeError(
            f"an array of dtype {dtype} refers to memory of this process; "
            "send Python objects by the object collectives"
        )
    if receiving and not array.flags.writeable:
        raise ValueError(
            f"cannot receive into a read-only array of shape {array.shape}; give a writable one"
        )


def check_rows(rows: Any, size: int) -> None:
    """Refuse an all-to-all whose first axis is not the ranks."""
    if len(rows) != size:
        raise CommunicationError(f"an all-to-all needs one row per rank: {size}, not {len(rows)}")


def deliver(message: Array, target: Array, request: Request) -> None:
    """Copy ``message`` into ``target`` in C order, or refuse if it does not fit."""
    if request.refused is False and not message.size and target.size:
        request.refused = True
        return
    if message.dtype != target.dtype or message.size != target.size:
        raise CommunicationError(
            f"{request.describe()}: the message has {message.size} elements of {message.dtype}, and the array to receive it has {target.size} of {target.dtype}; both must agree"
        )
    target[...] = message.reshape(target.shape)


UFUNCS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "land": np.logical_and,
    "lor": np.logical_or,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
}


def reduced(every: Sequence[Array] | Array, op: str) -> Array:
    """The reduction of all contributions in rank order."""
    with np.errstate(all="ignore"):  # silent, as MPI is
        total: Array = reduce(UFUNCS[op], every)
    return total


class Communicator(ABC):
    """A group of ranks that can exchange messages, as one rank sees it."""

    kind: str = "abstract"
    """The name of this kind."""

    rank: int
    size: int
    tag_limit: int
    """Tags are integers from 0 up to, but not including, this one."""

    traffic: Traffic
    universe: object
    """The space of process numbers: ``members`` of two communicators compare only if it is the same for both."""

    nodes: Nodes
    """The nodes of the ranks."""

    memory: NodeMemory | None = None
    """The memory that the ranks of this node share, once requested."""

    log: StepLog
    """The log of the steps that this rank has taken together with the others."""

    counters: Any = None
    """The counters of ``atoll.tasks``, once created. Set by an upper layer."""

    places: Any = None
    """The processes of the ranks, once partitions have been exported. Set by an upper layer."""

    buffers: Any = None
    """The class of persistent buffers whose messages it keeps set up, if it has one."""

    comm: Any = None
    """The mpi4py communicator of the same ranks that the program may use, if there is one."""

    @property
    @abstractmethod
    def members(self) -> Sequence[int]:
        """By rank, the number of its process in ``universe``."""

    # Point to point -----------------------------------------------------------------------

    def isend(self, array: Array, dest: int, tag: int = 0, what: str = "") -> Request:
        """Post the sending of ``array`` to rank ``dest``."""
        if not (0 <= dest < self.size and 0 <= tag < self.tag_limit):
            self.check_peer(dest)
            self.check_tag(tag)
        if type(array) is not np.ndarray or array.dtype.char not in PLAIN:
            check_array(array, receiving=False)
        request = self._send(array, dest, tag, what)
        nodes = self.nodes
        self.traffic.sent(array.nbytes, nodes.several and not nodes.same(self.rank, dest))
        return request

    def irecv(self, array: Array, source: int, tag: int = 0, what: str = "") -> Request:
        """Post the filling of ``array`` by the next message of ``source`` with this tag."""
        if not (0 <= source < self.size and 0 <= tag < self.tag_limit):
            self.check_peer(source)
            self.check_tag(tag)
        if not (type(array) is np.ndarray and array.dtype.char in PLAIN and array.flags.carray):
            check_array(array, receiving=True)
        return self._receive(array, source, tag, what)

    @abstractmethod
    def _send(self, array: Array, dest: int, tag: int, what: str) -> Request:
        """:meth:`isend`, with valid arguments."""

    @abstractmethod
    def _receive(self, array: Array, source: int, tag: int, what: str) -> Request:
        """:meth:`irecv`, with valid arguments."""

    def send(self, array: Array, dest: int, tag: int = 0, what: str = "") -> None:
        """Send, and wait until ``array`` may be changed again."""
        self.isend(array, dest, tag, what).wait()

    def recv(self, array: Array, source: int, tag: int = 0, what: str = "") -> Array:
        """Fill ``array`` by the next message of ``source`` with this tag, and return it."""
        self.irecv(array, source, tag, what).wait()
        return array

    def exchange(
        self,
        sends: Mapping[int, Array],
        receives: Mapping[int, Array],
        tag: int = 0,
        what: str = "",
    ) -> None:
        """Send to and receive from several peers, one array each; wait for all."""
        requests = [self.irecv(array, peer, tag, what) for peer, array in receives.items()]
        requests += [self.isend(array, peer, tag, what) for peer, array in sends.items()]
        self.wait_all(requests)

    def turn(
        self, array: Array, ahead: int, into: Array, behind: int, tag: int = 0, what: str = ""
    ) -> None:
        """Send to the rank ``ahead`` in a ring, and fill ``into`` from the rank ``behind``; empty arrays are not sent."""
        requests = []
        if into.size:
            requests.append(self.irecv(into, behind, tag, what))
        if array.size:
            requests.append(self.isend(array, ahead, tag, what))
        self.wait_all(requests)

    # Waiting ------------------------------------------------------------------------------

    @abstractmethod
    def wait_some(self, requests: Sequence[Request]) -> list[int]:
        """Wait until at least one of ``requests`` is done; the result has the positions of all that are done.

        The requests may belong to different communicators of one kind.
        """

    @abstractmethod
    def test_some(self, requests: Sequence[Request]) -> list[int]:
        """Let messages move; the positions of the ``requests`` that are done, if any."""

    def wait_pending(self, pending: Pending[Item]) -> list[tuple[Request, Item]]:
        """See :meth:`Pending.wait`."""
        numbers = pending.numbers()
        done = self.wait_some(pending.of(numbers))
        return pending.taken([numbers[position] for position in done])

    def wait_all(self, requests: Sequence[Request]) -> None:
        """Wait until all ``requests`` are done. ``wait_abort`` counts from the last one done."""
        while pending := [request for request in requests if not request.done]:
            self.wait_some(pending)

    # Collectives --------------------------------------------------------------------------

    @abstractmethod
    def _collective(
        self, operation: str, given: Array, result: Array, what: str, how: Any = None
    ) -> None:
        """Fill ``result`` from the ``given`` of all ranks; both are contiguous.

        ``operation`` is one of allreduce, exscan, allgather, alltoall, bcast, barrier; ``how`` is the operation of a reduction,
        or the root of a broadcast.
        """

    def allreduce(self, array: Array, op: str = "sum", what: str = "") -> Array:
        """The elementwise reduction of every rank's ``array``, as a new array.

        ``op`` is one of sum, prod, max, min, land, lor, band, bor.
        """
        if op not in UFUNCS:
            raise ValueError(f"a reduction is one of {', '.join(UFUNCS)}, not {op!r}")
        given = np.asarray(array, np.bool_ if op in ("land", "lor") else None, order="C")
        nothing = np.empty(0, given.dtype)
        UFUNCS[op](nothing, nothing)  # NumPy's error where it cannot reduce this dtype
        result = np.empty_like(given)
        self._collective("allreduce", given, result, what, op)
        return result

    def exscan(self, numbers: Array, what: str = "") -> Array:
        """The elementwise sum of the unsigned integers of the ranks before this one, modulo ``2**64``; zeros on the first rank."""
        given = np.asarray(numbers, np.uint64, order="C")
        result = np.empty_like(given)
        self._collective("exscan", given, result, what)
        if self.rank == 0:
            result[...] = 0
        return result

    def allgather(self, array: Array, what: str = "") -> Array:
        """Every rank's ``array``, stacked along a new leading axis in rank order."""
        given = np.asarray(array, order="C")
        check_array(given, receiving=False)
        result = np.empty((self.size, *given.shape), given.dtype)
        self._collective("allgather", given, result, what)
        return result

    def rows(self, nbytes: int) -> Rows:
        """Memory to gather a few bytes of every rank. All ranks request the same sizes in the same order."""
        return Rows(self, nbytes)

    def alltoall(self, array: Array, what: str = "") -> Array:
        """Send row ``p`` to rank ``p``; row ``p`` of the result came from rank ``p``."""
        check_rows(array, self.size)
        given = np.asarray(array, order="C")
        check_array(given, receiving=False)
        result = np.empty_like(given)
        self._collective("alltoall", given, result, what)
        return result

    def bcast(self, array: Array, root: int = 0, what: str = "") -> Array:
        """Fill ``array`` by that of ``root``, and return it."""
        self.check_peer(root)
        check_array(array, receiving=self.rank != root)
        memory = np.asarray(array, order="C")
        self._collective("bcast", memory, memory, what, root)
        if memory is not array and self.rank != root:
            array[...] = memory
        return array

    def barrier(self, what: str = "") -> None:
        """Return once every rank has called this."""
        self._collective("barrier", _NOTHING, _NOTHING, what)

    @abstractmethod
    def allgather_object(self, value: Any, what: str = "") -> list[Any]:
        """Every rank's value, in rank order. Values of other ranks arrive by pickle."""

    @abstractmethod
    def bcast_object(self, value: Any, root: int = 0, what: str = "") -> Any:
        """The value of ``root``."""

    @abstractmethod
    def alltoall_object(self, values: Sequence[Any], what: str = "") -> list[Any]:
        """Value ``p`` goes to rank ``p``; value ``p`` of the result came from rank ``p``."""

    def find_difference(self) -> str:
        """The difference between the logs of the ranks, as text, after asking the other ranks; empty if they agree."""
        return ""

    @abstractmethod
    def window(self, nbytes: int, what: str) -> Window:
        """Open a window with ``nbytes`` bytes of this rank, all zeros. Collective; each rank has its own size."""

    # Groups -------------------------------------------------------------------------------

    @abstractmethod
    def split(self, color: int | None, key: int = 0) -> Communicator | None:
        """The communicator of the ranks that pass the same ``color``, ordered by ``key`` and then by rank.

        Collective over all ranks. A rank that passes ``None`` belongs to no group and gets ``None``.
        """

    @abstractmethod
    def group(self, ranks: Sequence[int]) -> Communicator | None:
        """The communicator of ``ranks``, in that order; ``None`` on a rank that is not among them.

        Collective over these ranks only. The same ranks give the same communicator.
        """

    @abstractmethod
    def abort(self, code: int = 1, message: str = "") -> None:
        """End all ranks, now, with this exit code."""

    # Checks -------------------------------------------------------------------------------

    def check_peer(self, peer: int) -> None:
        """Refuse a rank that does not exist."""
        if not 0 <= peer < self.size:
            raise WorldError(f"there is no rank {peer}; ranks are 0 to {self.size - 1} here")

    def check_tag(self, tag: int) -> None:
        """Refuse a tag that the transport cannot carry."""
        if not 0 <= tag < self.tag_limit:
            raise CommunicationError(
                f"tag {tag} is out of range; it must be a number that MPI has: tags are 0 to {self.tag_limit - 1}"
            )

    def checked_ranks(self, ranks: Sequence[int]) -> range | tuple[int, ...]:
        """Distinct valid ``ranks``, as a range if they follow each other, else as a tuple; or an error."""
        chosen = ranks if isinstance(ranks, range) else tuple([int(rank) for rank in ranks])
        if not chosen:
            raise WorldError("a group needs at least one rank, and the sequence of ranks is empty")
        in_turn = range(chosen[0], chosen[0] + len(chosen))
        if chosen == in_turn or tuple(chosen) == tuple(in_turn):
            self.check_peer(in_turn[0])
            self.check_peer(in_turn[-1])
            return in_turn
        chosen = tuple(chosen)
        for rank in chosen:
            self.check_peer(rank)
        if len(set(chosen)) != len(chosen):
            raise WorldError(
                f"the ranks of a group must differ, and two of {list(chosen)} are equal"
            )
        return chosen

    def __repr__(self) -> str:
        return f"<communicator: {self.kind}, rank {self.rank} of {self.size}>"


FEW = 8
"""The number of requests at the front that one test covers, and of the others in turn."""

Item = TypeVar("Item")


class Pending(Generic[Item]):
    """Pending requests of one communicator, each with an item that describes its purpose."""

    __slots__ = ("_communicator", "_next", "_requests", "_turns")

    def __init__(
        self, communicator: Communicator, requests: Iterable[tuple[Request, Item]] = ()
    ) -> None:
        self._communicator = communicator
        self._requests: OrderedDict[int, tuple[Request, Item]] = OrderedDict(enumerate(requests))
        self._turns = deque(self._requests)
        """The numbers of the requests in the order of their turns; some may be done."""
        self._next = len(self._requests)

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Request]:
        return (request for request, _ in self._requests.values())

    def add(self, request: Request, item: Item) -> None:
        """Add a request, wanted after the others."""
        self._requests[self._next] = request, item
        self._turns.append(self._next)
        self._next += 1

    def numbers(self) -> list[int]:
        """The numbers of all requests, in the order in which they are wanted."""
        return list(self._requests)

    def turn(self) -> list[int]:
        """The numbers of the requests to test next."""
        requests = self._requests
        if len(requests) <= 2 * FEW:
            return self.numbers()
        chosen = dict.fromkeys(islice(requests, FEW))
        for _ in range(min(FEW, len(self._turns))):
            number = self._turns.popleft()
            if number in requests:
                self._turns.append(number)
                chosen[number] = None
        return list(chosen)

    def of(self, numbers: Iterable[int]) -> list[Request]:
        """The requests of these numbers."""
        return [self._requests[number][0] for number in numbers]

    def taken(self, numbers: Iterable[int]) -> list[tuple[Request, Item]]:
        """Remove the requests of these numbers, which are done; the result has them with their items."""
        done = [self._requests.pop(number) for number in numbers]
        if len(self._turns) > 2 * len(self._requests) + FEW:
            self._turns = deque(self._requests)
        return done

    def test(self) -> list[tuple[Request, Item]]:
        """Let messages move, and remove the requests that are known to be done; the result has them with their items."""
        turn = self.turn()
        if not turn:
            return []
        done = self._communicator.test_some(self.of(turn))
        return self.taken([turn[place] for place in done]) if done else []

    def wait(self) -> list[tuple[Request, Item]]:
        """Wait until some requests are done, and remove them; the result has them with their items."""
        return self._communicator.wait_pending(self)
