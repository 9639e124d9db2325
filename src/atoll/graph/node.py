"""The node: an immutable description of an array's value.

A node has an operation (see ``op`` and ``ops.table``), its operands (nodes, or scalars that already have the dtype of the
operation's loop) and the geometry of the result, which is always a base. Once a node has been
evaluated it holds its ``value`` and forgets its operands: from then on it is a source.

=========  =====================================  =================================================
op         args                                   params
=========  =====================================  =================================================
source     ()                                     ``value`` is there from the start
call       operands, broadcast                    (loop,): NumPy's choice of dtypes
cast       (operand,)                             none: the dtype is the geometry's
where      (mask, a, b), broadcast                none
fill       (scalar,)                              none
index      (scalar first, scalar step)            (axis,): ``first + step * index along axis``
read       (operand,)                             (geometry of the view,)
update     (old, value[, mask])                   (geometry of the region,): the value is broadcast
                                                  into the region and cast
compress   (operand, mask)                         none: the elements where the mask is true
add, ...   (operand,)                             (axes, keepdims): see ``ops.folds``
argmin     (operand,)                             (axes, keepdims), and argmax
sort, ...  operands                                (parameters, place of the result, a view of each
                                                  operand or ``None``): see ``collective.operation``
deferred   the operands of the origin             (origin, output): see ``lazy.deferred``
=========  =====================================  =================================================
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ..context.caches import Memo
from ..context.call_sites import Site as Site
from ..front import NodeBase, ValueBase, native
from . import retention
from .geometry import Geometry, strided
from .identities import Identity, identity_of
from .op import SOURCE, Op

Scalar = Any
_marks: Memo[Any, int] = Memo()
"""The mark of a node by its identity without operands: one number for equal keys, mostly."""
new_mark = itertools.count(1).__next__
"""A mark that no other node has."""
next_born: Callable[[], int] = itertools.count().__next__ if native is None else native.next_born


class Operation(NamedTuple):
    """Name and call site of an operation. A program keeps these of a node, and none of its data."""

    name: str
    site: Site | None


FOLLOWS: Any = object()
"""The place of a node whose operation derives it from the places of the operands."""


class Value(ValueBase):
    """Data in memory: an array over a buffer, and its address.

    ``program`` is the program that computed it, or ``None``. ``known`` is the number of true elements of a mask, or the bounds of
    integers on all ranks, with a digest of integers that every rank has, once they are asked for, else ``None``. A write into the memory resets both. ``pooled`` is true for memory of the pool, and ``counted`` for bytes that
    :mod:`.retention` counts.
    """

    __slots__ = ()

    array: np.ndarray[Any, Any]
    pinned: bool
    program: Any
    known: Any
    pooled: bool
    counted: Any
    _address: int | None

    def __init__(
        self, array: np.ndarray[Any, Any], address: int | None = None, *, pinned: bool = False
    ) -> None:
        self.array = array
        self._address = address
        self.pinned = pinned
        self.program = None
        self.known = None
        self.pooled = False
        self.counted: Any = False

    @property
    def address(self) -> int:
        """Address of the first element."""
        address = self._address
        if address is None:
            address = self._address = self.array.__array_interface__["data"][0]
        return address

    @property
    def geometry(self) -> Geometry:
        """Geometry of the array in memory."""
        return strided(self.array.shape, self.array.dtype, self.array.strides)


class Node(NodeBase):
    """One operation; see the module's table.

    A node is immutable, except for its value (set by :meth:`settle`), the birth of the value (:meth:`renew`), the note of a loop
    (:meth:`pass_by`), and ``code`` and ``mark``, which are computed on first use. ``code`` identifies the operation in the key of a
    plan, without operands and the numbers of geometries and places. ``mark`` identifies the operation with these.

    ``weight`` is the number of pending nodes below it at its recording (those on ranks, if any is); :func:`pending_behind` lists those
    that are pending now. ``place`` is the distribution of the value over ranks, ``None`` if every rank has all of it.
    """

    __slots__ = ()
    op: Op
    args: tuple[Any, ...]
    geometry: Geometry
    params: tuple[Any, ...]
    name: str
    site: Site | None
    value: Value | None
    code: Identity | None
    mark: int | None
    place: Any
    born: int
    """A number that grows from node to node. For an evaluated value on ranks it identifies the value, equally on all ranks: see
    :meth:`.StepLog.birth`."""
    passed: int
    """0, unless a loop, or ranks together, have computed it for others without storing it: then its distance from the end of their
    operations, at least 1."""
    weight: float
    """Minus infinity for a deferred node: see ``lazy.deferred``."""

    def __init__(
        self,
        op: Op,
        args: tuple[Any, ...],
        geometry: Geometry,
        params: tuple[Any, ...] = (),
        name: str = "",
        site: Site | None = None,
        code: Identity | None = None,
        mark: int | None = None,
        *,
        place: Any = FOLLOWS,
        value: Value | None = None,
    ) -> None:
        self.op = op
        self.args = args
        self.geometry = geometry
        self.params = params
        self.name = name
        self.site = site
        self.value = value
        self.code = code
        self.mark = mark
        self.born = next_born()
        self.passed = 0
        weight: float = 1 if value is None else 0
        if op.is_deferred:
            weight = -inf
        for arg in args:
            if type(arg) is Node:
                if arg.place is not None and place is FOLLOWS:
                    _lay(self)
                    return
                weight += arg.weight
                if arg.value is not None:
                    retention.count(arg.value)
        self.place = None if place is FOLLOWS else place
        self.weight = weight if self.place is None else min(weight, 1)

    def again(self, args: tuple[Any, ...]) -> Node:
        """A new node for the same operation on other operands."""
        form = self.op, self.geometry, self.params, self.name, self.code, self.mark
        return node_of(form, args, self.site, place=self.place if self.is_laid_out() else FOLLOWS)

    def is_laid_out(self) -> bool:
        """True if it lies on ranks though no operand does."""
        return self.place is not None and not any(
            type(arg) is Node and arg.place is not None for arg in self.args
        )

    def form(self) -> Form:
        """The form that all pending nodes of the same operation share."""
        mark = self.marked()
        return self.op, self.geometry, self.params, self.name, self.code, mark

    def identify(self) -> Identity:
        """The ``code``, computed on first use."""
        code = self.code
        if code is None:
            params: list[Any] = []
            for part in self.params:
                params.append(getattr(part, "form", None) or getattr(part, "number", part))
            place = self.place
            if place is not None and self.op.folds:  # that depends on a setting
                params.append(place.form)
            elif self.is_laid_out():
                params.append(place.number)
            code = self.code = identity_of((self.op, self.geometry.form, self.name, *params))
        return code

    def marked(self) -> int:
        """The ``mark``, computed on first use: for pending nodes, one number for equal operations on equal geometries."""
        mark: int
        if self.value is None:
            key: list[Any] = [self.identify(), self.geometry.number, *map(type, self.args)]
            for part in self.params:
                if hasattr(part, "form"):
                    key.append(part.number)
        elif self.place is None:
            self.mark = mark = -1 - self.geometry.number
            return mark
        else:
            strides = self.value.array.strides
            key = ["leaf", self.geometry.number, self.place.number, strides]
        mark = _marks.get(tuple(key)) or _marks.only(tuple(key), new_mark())
        self.mark = mark
        return mark

    def settle(self, value: Value, born: int | None = None) -> None:
        """Set the computed value, and release the operands; ``born`` is the birth of a value on ranks."""
        self.value = value
        if born is not None:
            self.born = born
        self.args = ()
        self.params = ()
        self.op = SOURCE
        self.weight = 0
        self.mark = None

    def renew(self, born: int) -> None:
        """Give a value on ranks a new birth, since a write to its memory makes it differ from its copies."""
        self.born = born

    def pass_by(self, distance: int = 1) -> None:
        """Note that a loop, or ranks together, have computed it for others."""
        self.passed = distance

    def __repr__(self) -> str:
        return f"<{self.op.words(self)} {self.geometry.shape} {self.geometry.dtype}>"


Form = tuple[Op, Geometry, tuple[Any, ...], str, Identity | None, "int | None"]
"""The common parts of repeated operations: op, geometry, params, name, code, mark."""


def node_of(
    form: Form,
    args: tuple[Any, ...],
    site: Site | None,
    entered: Callable[[Node], Node] | None = None,
    place: Any = FOLLOWS,
) -> Node:
    """A node of a form; if it or an operand lies on ranks, ``entered`` returns the node to record instead."""
    if retention.is_due():
        retention.relieve()
    op, geometry, params, name, code, mark = form
    node = Node(op, args, geometry, params, name, site, code, mark, place=place)
    if entered is not None and (
        node.place is not None or any(type(arg) is Node and arg.place is not None for arg in args)
    ):
        return entered(node)
    return node


def _lay(node: Node) -> None:
    """Compute the weight and the place of a new node with operands on ranks."""
    weight: float = 1
    spread: float = 0
    plain = True
    for arg in node.args:
        if type(arg) is Node:
            weight += arg.weight
            place = arg.place
            if place is not None:
                if not spread:
                    world, first, spread = place.world, arg, 1
                elif place.world is not world:
                    plain = False
                spread += arg.weight
    if weight < 0 or not plain:
        node.op.check_worlds(node, weight)
    # A replicated operand may have been evaluated on some ranks only.
    node.weight = spread
    node.place = node.op.place(node, first)
    if node.op.folds and node.place is not None:  # the code says where
        node.code = node.mark = None


def is_box(update: Node) -> bool:
    """True if all of a box is assigned."""
    return len(update.args) == 2 and update.params[0].box is not None


def fills(node: Node) -> bool:
    """True for an array of one number of which boxes are assigned: it can be computed where it is read."""
    while node.op.is_update and is_box(node):
        node = node.args[0]
    return node.op.is_number


def nbytes_of(node: Node) -> int:
    """The mean number of bytes of a value on a rank."""
    nbytes: int = node.geometry.size * node.geometry.dtype.itemsize
    return nbytes if node.place is None else nbytes // node.place.world.size


def pending_behind(root: Node) -> list[Node]:
    """The pending nodes behind a node, itself included. Below a node with operands on ranks, only these operands count, as in
    ``weight``: all ranks have evaluated the same of them."""
    nodes = {root: None}
    stack = [root]
    while stack:
        node = stack.pop()
        on_ranks = [arg for arg in node.args if type(arg) is Node and arg.place is not None]
        for arg in on_ranks or node.args:
            if type(arg) is Node and arg.value is None and arg not in nodes:
                nodes[arg] = None
                stack.append(arg)
    return list(nodes)


def guard() -> None:
    """Refuse assignments to nodes outside this module, for tests and debugging: nodes take longer then."""
    Node.__setattr__ = _guarded  # type: ignore[assignment, method-assign]


def _guarded(node: Node, name: str, value: Any) -> None:
    writer = sys._getframe(1).f_code
    if writer.co_filename != _guarded.__code__.co_filename:
        raise AttributeError(
            f"{node!r}: {writer.co_qualname} assigns {name!r}, and a node never changes once it was made; make a new node"
        )
    if name == "value" and getattr(node, name, None) is not None:
        raise AttributeError(f"{node!r}: it has a value already, which never changes")
    object.__setattr__(node, name, value)


new: Any = object.__new__


class _Span:
    """Memory of another array, described to NumPy by its address."""

    def __init__(self, owner: np.ndarray[Any, Any], address: int, view: Geometry) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": view.shape,
            "strides": view.strides,
            "typestr": f"|V{view.dtype.itemsize}",
            "data": (address, not owner.flags.writeable),
        }


def view_of(base: np.ndarray[Any, Any], view: Geometry) -> np.ndarray[Any, Any]:
    """The NumPy view of ``base``'s memory that a geometry describes; it keeps ``base`` alive."""
    if view.is_base:
        return base
    if view.size and base.dtype.kind in "biufc" and base.flags.c_contiguous:
        strides = view.strides
        low = view.offset
        if not view.c_contiguous and min(strides) < 0:
            low += sum([min(0, (n - 1) * s) for n, s in zip(view.shape, strides, strict=True)])
        if low >= 0:
            return np.ndarray(view.shape, view.dtype, base, view.offset, view.strides)
    address = base.__array_interface__["data"][0] + (view.offset if view.size else 0)
    return np.asarray(_Span(base, address, view)).view(view.dtype)


def source(
    array: np.ndarray[Any, Any] | Value,
    geometry: Geometry,
    *,
    pinned: bool = False,
    place: Any = None,
    born: int | None = None,
) -> Node:
    """A node of an existing value: all of it, or this rank's block if it has a place.

    ``born`` is the birth of the copied value on ranks; ``None`` for a new value.
    """
    value = array if type(array) is Value else Value(array, pinned=pinned)  # type: ignore[arg-type]
    node = Node(SOURCE, (), geometry, place=place, value=value)
    if place is not None:
        node.born = place.world.communicator.log.birth() if born is None else born
    return node


def in_order(roots: Iterable[Node], wanted: Callable[[Node], bool]) -> list[Node]:
    """The roots and the nodes below them that are ``wanted``, operands first (no recursion)."""
    order: list[Node] = []
    done: set[int] = set()
    for root in roots:
        if id(root) in done or not wanted(root):
            continue
        stack: list[tuple[Node, int]] = [(root, 0)]
        done.add(id(root))
        while stack:
            node, place = stack.pop()
            args = node.args
            while place < len(args):
                arg = args[place]
                place += 1
                if type(arg) is Node and id(arg) not in done and wanted(arg):
                    done.add(id(arg))
                    stack.append((node, place))
                    stack.append((arg, 0))
                    break
            else:
                order.append(node)
    return order
