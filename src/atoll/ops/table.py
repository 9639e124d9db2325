"""The table of operations: for each family its meaning, its distribution, and its computation.

An entry says all of it in one place: the layout of the result, what is written in a loop for one element, what NumPy
does instead, and the words for people. The folds have a table of their own, see :mod:`.folds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..context.caches import Memo
from ..errors import MixedArraysError, WorldError
from ..graph.geometry import Geometry
from ..graph.node import Node, Operation, view_of
from ..graph.op import Op
from ..graph.words import view_text
from ..layout import Layout
from .maps import AxisMap
from .placement import Place, place_of_broadcast, place_of_read, without_padding


class _Codes(Memo[np.dtype[Any], str]):
    def __missing__(self, dtype: np.dtype[Any]) -> str:
        code = self[dtype] = dtype.kind + str(dtype.itemsize)
        return code


code_of: Callable[[np.dtype[Any]], str] = _Codes().__getitem__
"""A dtype as kernels name it."""


class Entry(Op):
    """An entry of the table. Where nothing else is said, operands are broadcast, element by element."""

    __slots__ = ()

    def place(self, node: Node, first: Node) -> Place | None:
        """As the first operand of full shape lies, else as the largest one does, broadcast."""
        shape = node.geometry.shape
        if not shape:
            return None
        if first.geometry.shape == shape:
            home: Place = first.place
            return without_padding(home) if home.padded else home
        for arg in node.args:
            if type(arg) is Node and arg.place is not None and arg.geometry.shape == shape:
                return without_padding(arg.place)
        return place_of_broadcast(node)

    def check_worlds(self, node: Node, weight: float) -> None:
        placed = [arg for arg in node.args if type(arg) is Node and arg.place is not None]
        world = placed[0].place.world
        what = node.name or self.name
        if weight < 0:
            raise MixedArraysError(
                f"{what}: one operand is a dataflow array, local to its rank, another lies on "
                f"{world!r}; take the block of the latter (a.local) into the graph, or make the result an array "
                "on ranks (atoll.from_local) after the graph was executed"
            )
        for arg in placed[1:]:
            if arg.place.world is not world and arg.place.world != world:
                raise WorldError(
                    f"{what}: one operand lies on {world!r}, another on {arg.place.world!r}; arrays of different worlds do not mix: copy one by atoll.copy_between"
                )


def _shape_of(operand: Any) -> tuple[int, ...]:
    return operand.geometry.shape if type(operand) is Node else ()


def _alike(first: Geometry, second: Geometry) -> bool:
    return first.shape == second.shape and first.dtype == second.dtype


def _broadcast(node: Node) -> bool:
    """True if the operands broadcast to the shape of the result."""
    shape: tuple[int, ...] = np.broadcast_shapes(*map(_shape_of, node.args))
    return shape == node.geometry.shape


def check(nodes: Iterable[Node]) -> None:
    """Raise an error if a pending node is not what its operation asks for."""
    for node in nodes:
        if not node.op.check(node):
            raise AssertionError(
                f"{node!r} is no legal node: operands {node.args!r}, {node.params!r}"
            )


class _Call(Entry):
    __slots__ = ()
    elementwise = is_ufunc = True
    colour = "#dce9f7"

    def check(self, node: Node) -> bool:
        loop = node.params[0]
        return (
            len(node.args) == len(loop.inputs)
            and node.geometry.dtype == loop.output
            and _broadcast(node)
        )

    def label(self, node: Node) -> str:
        return node.name

    def words(self, node: Node) -> str:
        return repr(node.params[0])

    def lower(self, node: Node, body: Any, outer: AxisMap) -> Any:
        loop = node.params[0]
        body.operations.append(tuple.__new__(Operation, (node.name, node.site)))
        args = body.operands(node, 0, node.geometry.shape, outer, loop.inputs)
        return body.emit("call", code_of(loop.output), tuple(args), loop.name)

    def numpy(self, node: Node) -> Callable[..., Any]:
        loop = node.params[0]
        _, _, output = loop.name.partition(".")
        function = loop.ufunc
        inputs, result = loop.inputs, loop.output
        plain = [
            type(a) is not Node or a.geometry.dtype == d
            for a, d in zip(node.args, inputs, strict=True)
        ]
        if not output and not node.geometry.shape and all(plain):
            return function  # type: ignore[no-any-return]  # scalars are in the loop's dtypes already

        def call(*args: Any) -> Any:
            arrays = [
                np.asarray(a).astype(d, copy=False) for a, d in zip(args, inputs, strict=True)
            ]
            if output:
                return function(*arrays)[int(output)]
            return (
                function(*arrays).astype(result, copy=False)
                if arrays[0].ndim
                else np.asarray(function(*arrays))
            )

        return call


class _Cast(Entry):
    __slots__ = ()
    elementwise = True

    def check(self, node: Node) -> bool:
        return len(node.args) == 1 and _shape_of(node.args[0]) == node.geometry.shape

    def label(self, node: Node) -> str:
        return f"astype {node.geometry.dtype}"

    def is_trivial(self, node: Node) -> bool:
        op = node.args[0].op
        return bool(op.is_number or op.from_index)

    def lower(self, node: Node, body: Any, outer: AxisMap) -> Any:
        return body.cast(body.value(node.args[0], outer), node.geometry.dtype)

    def numpy(self, node: Node) -> Callable[..., Any]:
        dtype = node.geometry.dtype
        return lambda a: a.astype(dtype)


class _Where(Entry):
    __slots__ = ()
    elementwise = True

    def check(self, node: Node) -> bool:
        return len(node.args) == 3 and _broadcast(node)

    def lower(self, node: Node, body: Any, outer: AxisMap) -> Any:
        dtype, shape = node.geometry.dtype, node.geometry.shape
        dtypes = np.dtype(np.bool_), dtype, dtype
        args = body.operands(node, 0, shape, outer, dtypes)
        return body.emit("where", code_of(dtype), tuple(args))

    def numpy(self, node: Node) -> Callable[..., Any]:
        dtype = node.geometry.dtype
        return lambda m, a, b: np.where(m, np.asarray(a, dtype), np.asarray(b, dtype))


class _Fill(Entry):
    __slots__ = ()
    is_number = True

    def check(self, node: Node) -> bool:
        return len(node.args) == 1 and type(node.args[0]) is not Node

    def is_trivial(self, node: Node) -> bool:
        return True

    def lower(self, node: Node, body: Any, outer: AxisMap) -> Any:
        geometry = node.geometry
        return body.operands(node, 0, geometry.shape, outer, (geometry.dtype,))[0]

    def numpy(self, node: Node) -> Callable[..., Any]:
        shape, dtype = node.geometry.shape, node.geometry.dtype
        return lambda scalar: np.full(shape, scalar, dtype)


class _Index(Entry):
    __slots__ = ()
    from_index = True

    def check(self, node: Node) -> bool:
        return len(node.args) == 2 and 0 <= node.params[0] < node.geometry.ndim

    def label(self, node: Node) -> str:
        return f"index along axis {node.params[0]}"

    def is_trivial(self, node: Node) -> bool:
        return True

    def lower(self, node: Node, body: Any, outer: AxisMap) -> Any:
        return body.index(node, outer)

    def numpy(self, node: Node) -> Callable[..., Any]:
        shape, dtype = node.geometry.shape, node.geometry.dtype
        axis = node.params[0]
        along = tuple([-1 if k == axis else 1 for k in range(len(shape))])

        def index(first: Any, step: Any) -> Any:
            line = (first + step * np.arange(shape[axis])).astype(dtype)
            return np.broadcast_to(line.reshape(along), shape).copy()

        return index


class _Read(Entry):
    __slots__ = ()
    is_view = True

    def check(self, node: Node) -> bool:
        (base,), view = node.args, node.params[0]
        return base.geometry.shape == view.base.shape and _alike(node.geometry, view)

    def label(self, node: Node) -> str:
        return f"read {view_text(node.params[0])}"

    def place(self, node: Node, first: Node) -> Place | None:
        """With the owners of the elements."""
        home: Place = first.place
        view: Geometry = node.params[0]
        return home.read.get(view.number) or place_of_read(home, view)

    def is_trivial(self, node: Node) -> bool:
        return True

    def lower(self, node: Node, body: Any, outer: AxisMap) -> Any:
        return body.read(node, outer)

    def numpy(self, node: Node) -> Callable[..., Any]:
        view = node.params[0]
        return lambda base: view_of(base, view).copy(order="K")


class _Update(Entry):
    __slots__ = ()
    is_update = True
    colour = "#f7dcdc"

    def check(self, node: Node) -> bool:
        base, *given = node.args
        region = node.params[0]
        return (
            1 <= len(given) <= 2
            and _alike(node.geometry, base.geometry)
            and node.geometry.shape == region.base.shape
            and np.broadcast_shapes(region.shape, *map(_shape_of, given)) == region.shape
        )

    def label(self, node: Node) -> str:
        masked = " where a mask is true" if len(node.args) == 3 else ""
        return f"assign {view_text(node.params[0]) or '[...]'}{masked}"

    def place(self, node: Node, first: Node) -> Place | None:
        """Placement of the array: the owner of an element computes it."""
        place: Place | None = node.args[0].place
        return place

    def lower(self, node: Node, body: Any, outer: AxisMap) -> Any:
        return body.update(node, outer)

    def numpy(self, node: Node) -> Callable[..., Any]:
        region = node.params[0]

        def update(base: np.ndarray[Any, Any], value: Any, mask: Any = True) -> Any:
            result = base.copy(order="K")
            np.copyto(view_of(result, region), value, casting="unsafe", where=mask)
            return result

        return update


class _Compress(Entry):
    __slots__ = ()
    selects = True

    def check(self, node: Node) -> bool:
        data, mask = node.args
        return bool(data.geometry.dtype == node.geometry.dtype and mask.geometry.dtype == np.bool_)

    def place(self, node: Node, first: Node) -> Place | None:
        """In the order of the elements: on the ranks that have them, which the node says, or in even blocks."""
        world = first.place.world
        place: Place | None = node.params[0] if node.params else None
        return place or Place.of(Layout.default(node.geometry.shape, world.size), world)

    def numpy(self, node: Node) -> Callable[..., Any]:
        return lambda a, mask: a[mask]


class _Deferred(Entry):
    __slots__ = ()
    is_deferred = True


CALL = _Call("call")
CAST = _Cast("cast")
WHERE = _Where("where")
FILL = _Fill("fill")
INDEX = _Index("index")
READ = _Read("read")
UPDATE = _Update("update")
COMPRESS = _Compress("compress")
DEFERRED = _Deferred("deferred")
