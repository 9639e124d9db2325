"""The nodes of dataflow graphs: inputs, sends, receives.

All nodes except sends are atoll arrays that are local to their rank (see ``lazy.deferred``), so any function accepts
them. A send has no value. A *holder*, an array with the value of another array, keeps the send in the graph; or the program
passes the send to :func:`~.partition.find_distributed_partition` beside the outputs.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from typing import Any, ClassVar

import numpy as np

from ..array import ndarray
from ..context.call_sites import site_from
from ..errors import a_type
from ..graph.geometry import dense, strided
from ..graph.node import Node, Site
from ..lazy.conversion import of_node, of_view
from ..lazy.creation import asarray, dtype_of, shape_of
from ..lazy.deferred import deferred_node
from ..lazy.pending import captured_operand
from ..lazy.views import Cell, Handle

Array = np.ndarray[Any, Any]
ShapeType = tuple[int, ...]
CommTagType = Hashable
AxesT = tuple[Any, ...]
TagSet = frozenset[Any]
_NO_TAGS: TagSet = frozenset()


class Tag:
    """Base class of the tags that programs attach to nodes."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(self.__dict__.items()))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ImplStored(Tag):
    """Tag that requests the storage of a value, which then becomes a part's output if another part reads it."""


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """The origin of a placeholder: an argument, by name."""

    key: str
    tags: TagSet = _NO_TAGS

    @property
    def name(self) -> str:
        """The name as text."""
        return f"the placeholder {self.key!r}"


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """The origin of wrapped data: memory that is read when the graph is run."""

    array: Array
    tags: TagSet = _NO_TAGS
    name: ClassVar = "wrapped data"


@dataclass(frozen=True, slots=True, eq=False)
class Receive:
    """The origin of a received array: a message from another rank."""

    src_rank: int
    comm_tag: Hashable
    axes: AxesT
    tags: TagSet = _NO_TAGS
    non_equality_tags: TagSet = _NO_TAGS

    @property
    def name(self) -> str:
        """The name as text."""
        return f"the message {self.comm_tag!r} from rank {self.src_rank}"


@dataclass(frozen=True, slots=True, eq=False)
class DistributedSend:
    """A send of ``data`` to rank ``dest_rank``, which receives it with the same ``comm_tag``."""

    data: Any
    dest_rank: int
    comm_tag: Hashable
    tags: TagSet = field(default=_NO_TAGS, kw_only=True)
    site: Site | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", snapshot(self.data))
        object.__setattr__(self, "dest_rank", rank_of(self.dest_rank, "dest_rank"))
        if self.site is None:
            # frame 1 is the __init__ that dataclass generated, which has no file
            object.__setattr__(self, "site", site_from(sys._getframe(2)))
        hash(self.comm_tag)


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """The origin of a holder: its value is the first operand, and ``send`` is executed with it."""

    send: DistributedSend
    name: ClassVar = "a value that holds a send"


def rank_of(value: Any, name: str) -> int:
    """Check a rank and convert it to an integer; the verification of the graph checks that it exists."""
    try:
        rank = index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, a rank, not {a_type(value)}") from None
    if rank < 0:
        raise ValueError(f"{name} is {rank}; a rank must be at least 0")
    return rank


def node_of(value: Any) -> Node:
    """The node of the current value of an array, or of an object that NumPy converts to an array."""
    if not isinstance(value, Handle):
        value = asarray(np.array(value))
    return captured_operand(value._node())


def snapshot(value: Any) -> Any:
    """A new array with the current value of another; nothing is computed or copied."""
    return of_node(node_of(value))


class _Leaf(ndarray):
    """Base class of the arrays of this package; functions of them return ordinary arrays."""

    __slots__ = ("origin",)
    inherits = False
    origin: Any

    @classmethod
    def _over(cls, node: Node) -> Any:
        array = object.__new__(cls)
        array._np = None
        array._cell = Cell(node)
        array._geometry = node.geometry
        array.origin = node.params[0]
        return array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return asarray(array)

    @property
    def tags(self) -> TagSet:
        """The tags on this node."""
        return frozenset(getattr(self.origin, "tags", _NO_TAGS))


def _from_origin(name: str, words: str) -> Any:
    """A property that reads an attribute of the origin."""
    return property(lambda self: getattr(self.origin, name), doc=words)


class Placeholder(_Leaf):
    """An input, whose value is passed by name to the execution of the graph."""

    __slots__ = ()

    def __new__(
        cls, name: str, shape: Any, dtype: Any = np.float64, *, tags: TagSet = _NO_TAGS
    ) -> Any:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(
                f"make_placeholder: name is {name!r}; it must be an identifier, such as 'x'"
            )
        form = dense(shape_of(shape), dtype_of(dtype))
        return cls._over(deferred_node(form, Input(name, frozenset(tags))))

    name = _from_origin("key", "The name of the argument.")

    def __repr__(self) -> str:
        return f"Placeholder({self.name!r}, {self.shape}, {self.dtype})"


class DataWrapper(_Leaf):
    """Data that each execution of the graph reads in place."""

    __slots__ = ()

    def __new__(cls, data: Any, *, tags: TagSet = _NO_TAGS) -> Any:
        array = np.asarray(data._array() if isinstance(data, Handle) else data)
        form = strided(array.shape, array.dtype, array.strides)
        return cls._over(deferred_node(form, Data(array, frozenset(tags))))

    data = _from_origin("array", "The data that was wrapped.")

    def __repr__(self) -> str:
        return f"DataWrapper({self.shape}, {self.dtype})"


class DistributedRecv(_Leaf):
    """The array that rank ``src_rank`` sends with ``comm_tag``."""

    __slots__ = ()

    def __new__(
        cls,
        shape: Any,
        dtype: Any,
        src_rank: int,
        comm_tag: Hashable,
        *,
        axes: AxesT | None = None,
        tags: TagSet = _NO_TAGS,
        non_equality_tags: TagSet = _NO_TAGS,
    ) -> Any:
        form = dense(shape_of(shape), dtype_of(dtype))
        hash(comm_tag)
        tagged = (None,) * form.ndim if axes is None else tuple(axes)
        if len(tagged) != form.ndim:
            raise ValueError(
                f"axes has {len(tagged)} items for an array of {form.ndim} axes; there must be one for each axis"
            )
        source = rank_of(src_rank, "src_rank")
        origin = Receive(source, comm_tag, tagged, frozenset(tags), frozenset(non_equality_tags))
        return cls._over(deferred_node(form, origin))

    def _with_tag(self, comm_tag: Hashable) -> Any:
        """The same receive with another tag."""
        node, origin = self._cell.node, replace(self.origin, comm_tag=comm_tag)
        return self._over(Node(node.op, (), node.geometry, (origin, 0), node.name, node.site))

    src_rank = _from_origin("src_rank", "The sender.")
    comm_tag = _from_origin("comm_tag", "The tag that the send has, too.")
    axes = _from_origin("axes", "The program's tags of each axis.")
    non_equality_tags = _from_origin(
        "non_equality_tags", "Tags that do not make two nodes different."
    )

    def __repr__(self) -> str:
        return f"DistributedRecv({self.shape}, {self.dtype}, src_rank={self.src_rank}, comm_tag={self.comm_tag!r})"


class DistributedSendRefHolder(_Leaf):
    """An array with the value of ``passthrough_data`` that keeps ``send`` in the graph."""

    __slots__ = ("_passthrough", "_tags", "non_equality_tags")
    _passthrough: Any
    _tags: TagSet
    non_equality_tags: TagSet

    def __new__(
        cls,
        send: DistributedSend,
        passthrough_data: Any,
        tags: TagSet = _NO_TAGS,
        non_equality_tags: TagSet = _NO_TAGS,
    ) -> Any:
        if not isinstance(send, DistributedSend):
            raise TypeError(f"send must be a DistributedSend, not {a_type(send)}")
        value = node_of(passthrough_data)
        holder = cls._over(deferred_node(value.geometry, Hold(send), (value, node_of(send.data))))
        holder._passthrough = of_node(value)
        holder._tags = frozenset(tags)
        holder.non_equality_tags = frozenset(non_equality_tags)
        return holder

    send = _from_origin("send", "The send that goes along.")

    @property
    def passthrough_data(self) -> Any:
        """The array whose value the holder has."""
        return self._passthrough

    @property
    def tags(self) -> TagSet:
        """The tags on this node."""
        return self._tags

    def __repr__(self) -> str:
        return f"DistributedSendRefHolder({self.send!r}, {self.shape}, {self.dtype})"


class DictOfNamedArrays(Mapping[str, Any]):
    """Arrays by name, in order."""

    __slots__ = ("_arrays",)

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        for name in arrays:
            if not isinstance(name, str):
                raise TypeError(f"the name of an array must be a string, not {name!r}")
        self._arrays = dict(arrays)

    def __getitem__(self, name: str) -> Any:
        return self._arrays[name]

    def __iter__(self) -> Any:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"DictOfNamedArrays({', '.join(self._arrays)})"


def make_placeholder(
    name: str, shape: Any, dtype: Any = np.float64, *, tags: TagSet = _NO_TAGS
) -> Any:
    """An input, whose value is ``input_args[name]`` of the execution."""
    return Placeholder(name, shape, dtype, tags=tags)


def make_data_wrapper(data: Any, *, tags: TagSet = _NO_TAGS) -> Any:
    """A node over the data of a NumPy array, which executions read in place."""
    return DataWrapper(data, tags=tags)


def make_dict_of_named_arrays(arrays: Mapping[str, Any]) -> DictOfNamedArrays:
    """The outputs of a graph, by name."""
    return DictOfNamedArrays(arrays)


def make_distributed_send(
    sent_data: Any, dest_rank: int, comm_tag: Hashable, send_tags: TagSet = _NO_TAGS
) -> DistributedSend:
    """A send of ``sent_data`` to ``dest_rank``."""
    return DistributedSend(sent_data, dest_rank, comm_tag, tags=frozenset(send_tags))


def make_distributed_send_ref_holder(
    send: DistributedSend,
    passthrough_data: Any,
    tags: TagSet = _NO_TAGS,
    non_equality_tags: TagSet = _NO_TAGS,
) -> Any:
    """An array with the value of ``passthrough_data``; a graph that uses it also executes the send."""
    return DistributedSendRefHolder(send, passthrough_data, tags, non_equality_tags)


def staple_distributed_send(
    sent_data: Any,
    dest_rank: int,
    comm_tag: Hashable,
    stapled_to: Any,
    *,
    send_tags: TagSet = _NO_TAGS,
    ref_holder_tags: TagSet = _NO_TAGS,
) -> Any:
    """A holder with the value of ``stapled_to``, which keeps a send of ``sent_data`` in the graph."""
    send = DistributedSend(sent_data, dest_rank, comm_tag, tags=frozenset(send_tags))
    return DistributedSendRefHolder(send, stapled_to, frozenset(ref_holder_tags))


def make_distributed_recv(
    src_rank: int,
    comm_tag: Hashable,
    shape: Any,
    dtype: Any,
    axes: AxesT | None = None,
    tags: TagSet = _NO_TAGS,
) -> Any:
    """The array that ``src_rank`` sends with ``comm_tag``."""
    return DistributedRecv(shape, dtype, src_rank, comm_tag, axes=axes, tags=tags)


def sends_of(values: Sequence[Any]) -> list[DistributedSend]:
    """The sends in a list of sends and holders."""
    sends = []
    for value in values:
        if isinstance(value, DistributedSend):
            sends.append(value)
        elif isinstance(value, DistributedSendRefHolder):
            sends.append(value.send)
        else:
            raise TypeError(f"sends must be sends or holders of sends, not {a_type(value)}")
    return sends


def array_over(node: Node) -> Any:
    """An array with the value of a node, also for a node without axes."""
    return of_view(Cell(node), node.geometry)
