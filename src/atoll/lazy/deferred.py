"""Arrays whose values come later: from an input, or from another rank.

A *deferred* node stands for such a value. It has no value and no operation: ``params`` holds its
*origin*, the source of the value, and ``args`` the nodes that the origin reads. Its
weight is minus infinity, as is the weight of every node above it: one comparison tells an
expression that cannot be computed yet from one that can. ``atoll.dataflow`` makes the leaves and
later runs the expressions; this module covers their recording.

Recorded functions work on deferred arrays as on any other. A call that NumPy computes on the
data becomes a node as well (:class:`Call`): the function is tried on made-up values to learn the
form of its result, and run on the real ones later. If the form depends on the values, or the call
needs a number, it raises a :class:`~atoll.errors.DeferredValueError`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import setitem
from sys import getrefcount
from typing import Any, ClassVar

import numpy as np

from ..context.call_sites import user_site
from ..context.interrupts import passed_on
from ..errors import DeferredValueError, a_type
from ..graph.geometry import Geometry, dense, strided
from ..graph.node import Node, Site, source
from ..ops.table import DEFERRED
from . import indexing
from .conversion import of_node, of_view
from .elementwise import assign
from .fallback import by_numpy
from .pending import captured_operand
from .views import Cell, Handle, register_deferred_calls

Array = np.ndarray[Any, Any]


def deferred_node(
    geometry: Geometry, origin: Any, args: Sequence[Node] = (), output: int = 0, name: str = ""
) -> Node:
    """Node with the value number ``output`` that ``origin`` will produce."""
    return Node(DEFERRED, tuple(args), geometry, (origin, output), name, user_site())


def text_of(handle: Handle) -> str:
    """Printed form of an array without a value."""
    form = handle._shape_of_view()
    return f"<dataflow array of shape {form.shape} and dtype {form.dtype}>"


@dataclass(slots=True, eq=False)
class Mark:
    """Tags on a node that has the value of its operand."""

    tags: frozenset[Any]
    name: ClassVar = "a tagged value"


def tagged(handle: Handle, tags: Any) -> Any:
    """An array with the same value, and tags."""
    several = tags if isinstance(tags, (set, frozenset, tuple, list)) else (tags,)
    node = deferred_node(
        handle._shape_of_view(), Mark(frozenset(several)), [captured_operand(handle._node())]
    )
    return of_view(Cell(node), node.geometry)


_HOLDERS = 3
"""References to a small array that no other array shows: its handle, a variable, the counting."""


def recorded(handle: Handle) -> None:
    """Make a small array a recorded one, so that deferred values can be written to it."""
    array = handle._np
    assert array is not None
    if array.base is not None or getrefcount(array) > _HOLDERS:
        raise DeferredValueError(
            "a dataflow array has no value yet that could be written into memory that others see; write into a copy of that memory"
        )
    handle._np = None
    handle._cell = Cell(source(array, strided(array.shape, array.dtype, array.strides)))
    handle._geometry = handle._cell.geometry


def put(handle: Handle, key: Any, value: Any) -> None:
    """``handle[key] = value`` with deferred values."""
    if handle._np is not None:
        recorded(handle)
        with suppress(DeferredValueError):  # of a key, say: then NumPy does it, later
            indexing.put(handle, key, value)
            return
    by_numpy(setitem, (handle, key, value), {}, writes=(0,))


@dataclass(slots=True, eq=False)
class Hole:
    """Placeholder of an array in the arguments of a call."""

    number: int


@dataclass(slots=True, eq=False)
class Call:
    """A function that NumPy runs on the data once it is available."""

    function: Callable[..., Any]
    args: Any
    options: Any
    writes: tuple[int, ...]
    """The numbers of the arrays that the function writes into: they are results, too."""
    site: Site | None
    results: Any = None
    """The type that holds the results, ``None`` for a single one."""

    @property
    def name(self) -> str:
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The results, followed by the arrays written into."""
        held = [a.copy(order="K") if k in self.writes else a for k, a in enumerate(arrays)]

        def fill(value: Any) -> Any:
            kind = type(value)
            if kind is Hole:
                return held[value.number]
            if kind is tuple or kind is list:
                return kind([fill(v) for v in value])
            if kind is dict:
                return {k: fill(v) for k, v in value.items()}
            return value

        answer = self.function(*fill(self.args), **fill(self.options))
        self.results = type(answer) if isinstance(answer, (tuple, list)) else None
        results = list(answer) if self.results is not None else [answer]
        if self.writes and (answer is None or any(answer is held[k] for k in self.writes)):
            results, self.results = [], None
        for result in results:
            if not isinstance(result, (np.ndarray, np.generic)):
                raise DeferredValueError(
                    f"{self.name}: it answers with {a_type(result)}, and the values that decide are not known before the graph is run"
                )
        # a result that is a view of an argument must not keep, or be changed with, its memory
        owned = [np.asarray(r) for r in results]
        owned = [a.copy() if any(np.may_share_memory(a, h) for h in held) else a for a in owned]
        return owned + [held[k] for k in self.writes]

    def __reduce__(self) -> Any:
        return Call, (self.function, self.args, self.options, self.writes, None, self.results)


def deferred_call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    writes: Collection[int | str] = (),
) -> Any:
    """Record ``function(*args, **options)`` for NumPy to run once the values are available."""
    nodes: list[Node] = []
    targets: dict[int, Handle] = {}

    def dig(value: Any, write: bool) -> Any:
        kind = type(value)
        if isinstance(value, Handle):
            nodes.append(captured_operand(value._node()))
            if write:
                targets[len(nodes) - 1] = value
            return Hole(len(nodes) - 1)
        if kind is tuple or kind is list:
            return kind([dig(v, write) for v in value])
        if kind is dict:
            return {k: dig(v, write) for k, v in value.items()}
        if isinstance(value, np.ndarray):
            if write:
                raise DeferredValueError(
                    f"{getattr(function, '__name__', function)}: a dataflow array has no value to write "
                    "into a NumPy array yet"
                )
            return value.copy(order="K")
        return value

    holes = tuple([dig(value, k in writes) for k, value in enumerate(args)])
    named = {k: dig(value, k == "out" or k in writes) for k, value in options.items()}
    call = Call(function, holes, named, tuple(targets), user_site())
    outputs = [
        deferred_node(dense(shape, dtype), call, nodes, k, call.name)
        for k, (shape, dtype) in enumerate(_forms(call, nodes))
    ]
    count = len(outputs) - len(targets)
    written = outputs[count:]
    handles = [of_node(node) for node in outputs[:count]]
    for target, node in zip(targets.values(), written, strict=True):
        assign(target._cell, target._geometry, of_view(Cell(node), node.geometry))
    if not handles:
        return next(iter(targets.values())) if targets else None
    kind = call.results
    if kind is None:
        return handles[0]
    return kind(*handles) if hasattr(kind, "_fields") else kind(handles)


def _forms(call: Call, nodes: Sequence[Node]) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and dtype of each result, learnt on made-up values of several kinds."""
    forms = []
    refusal: Exception | None = None
    for values in (_scattered, _identity, _zeros):
        arrays = [
            node.value.array if node.value is not None else values(node.geometry) for node in nodes
        ]
        try:
            with np.errstate(all="ignore"):
                forms.append([(a.shape, a.dtype) for a in call.run(arrays)])
        except DeferredValueError:
            raise
        except Exception as error:
            passed_on(error)
            refusal = refusal or error
    if not forms:
        assert refusal is not None
        raise refusal
    if any(form != forms[0] for form in forms):
        raise DeferredValueError(
            f"{call.name}: the shape of its result depends on values that are not known before the graph is run"
        )
    return forms[0]


def _scattered(form: Geometry) -> Array:
    """Different numbers in general position; small integers."""
    steps = np.arange(form.size, dtype=np.float64) * 0.6180339887498949
    if form.dtype.kind in "iub":
        return (np.arange(form.size) % 2).reshape(form.shape).astype(form.dtype)
    return (steps % 1.0 + 0.5).reshape(form.shape).astype(form.dtype)


def _identity(form: Geometry) -> Array:
    if len(form.shape) < 2:
        return np.ones(form.shape, form.dtype)
    return np.broadcast_to(np.eye(*form.shape[-2:], dtype=form.dtype), form.shape).copy()


def _zeros(form: Geometry) -> Array:
    return np.zeros(form.shape, form.dtype)


register_deferred_calls(deferred_call)
