"""Applies a ufunc to any operands: records it, or calls NumPy at once.

NumPy computes small arrays and plain NumPy arrays of modest size at the call. The result is recorded
if one operand is a view of a cell. NumPy computes all special cases on the data (dtypes that kernels do
not support, signatures, subclasses, objects with protocols of their own), so the results are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..config import config
from ..context.caches import keep
from ..context.call_sites import user_site
from ..context.interrupts import passed_on
from ..context.warn import come_first
from ..front import Forms, native
from ..graph.geometry import Geometry, shape_text, strided
from ..graph.node import Node, Site, node_of, source
from ..ops.elementwise import (
    FAST_SCALARS,
    NATIVE,
    Loop,
    is_native,
    loops_of,
    read_of,
    result_geometry,
)
from ..ops.table import CALL, WHERE
from ..ops.ufuncs import BINARY
from .conversion import (
    answered,
    has_methods,
    is_small,
    of_node,
    of_small,
    plain,
    present,
    spread_place,
)
from .evaluation import evaluate
from .fallback import GENERAL, Unsupported, at_hand, by_numpy
from .float_errors import free
from .operations import cast, read, record
from .pending import captured
from .rank_operands import entered
from .recipes import is_read_now
from .views import Cell, Handle

_BOOL = np.dtype(np.bool_)


together: dict[np.ufunc, Callable[..., Any]] = {}
"""Ufuncs on whole axes that all ranks compute together (``matmul``); ``NotImplemented`` else."""
register_together = together.__setitem__


class Operand(NamedTuple):
    """An input of an elementwise operation, ready to be recorded.

    ``now`` is True if it must be read at the call, ``large`` if it is worth recording.
    """

    node: Any
    geometry: Geometry | None
    kind: Any
    now: bool
    large: bool = False


new: Any = tuple.__new__


def operand_of(value: Any) -> Operand | None:
    """The operand for a value, or ``None`` to leave it to NumPy."""
    if isinstance(value, Handle):
        small = value._np
        if small is None:
            geometry = value._geometry
            dtype = geometry.dtype
            if dtype.char not in NATIVE or not dtype.isnative:
                return None
            now = is_read_now(value._cell)
            return new(Operand, (value._node(), geometry, dtype, now, True))  # type: ignore[no-any-return]
        if not is_native(small.dtype):
            return None
        if small.ndim == 0:
            return Operand(small[()], None, small.dtype, False)
        node = value._node()
        return Operand(node, node.geometry, small.dtype, False)
    kind = type(value)
    if kind is float or kind is int or kind is complex:
        return Operand(value, None, kind, False)
    if kind is bool:
        return Operand(np.bool_(value), None, _BOOL, False)
    if isinstance(value, np.generic):
        dtype = value.dtype
        return Operand(value, None, dtype, False) if is_native(dtype) else None
    if kind is np.ndarray:
        if not is_native(value.dtype) or not value.flags.aligned:
            return None
        if value.ndim == 0:
            return Operand(value[()], None, value.dtype, False)
        geometry = strided(value.shape, value.dtype, value.strides)
        node = source(value, geometry, pinned=True)
        return Operand(node, geometry, value.dtype, True, not is_small(value.shape))
    if kind is list or kind is tuple:
        try:
            array = np.array(plain(value))
        except ValueError as problem:
            passed_on(problem)
            return None
        if not is_native(array.dtype) or array.ndim == 0:
            return None
        node = source(array, strided(array.shape, array.dtype, array.strides))
        return Operand(node, node.geometry, array.dtype, False)
    inner = getattr(type(value), "_handle", None)
    return None if inner is None else operand_of(inner(value))


def recorded(operands: Sequence[Operand], loops: Sequence[Loop], site: Site | None) -> list[Node]:
    """The nodes of each output of a ufunc."""
    args: list[Any] = []
    geometries: list[Geometry] = []
    inputs = loops[0].inputs
    for operand, dtype in zip(operands, inputs, strict=True):
        if operand.geometry is None:
            args.append(dtype.type(operand.node))  # NumPy's OverflowError where it does not fit
        else:
            args.append(operand.node)
            geometries.append(operand.geometry)
    nodes: list[Node] = []
    for loop in loops:
        geometry = result_geometry(geometries, loop.output)
        form = CALL, geometry, (loop,), loop.name, None, None
        nodes.append(node_of(form, tuple(args), site, entered, spread_place(geometry, args, site)))
    return nodes


def apply(ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """``ufunc(*inputs)`` without options; ``NotImplemented`` asks for the slow path."""
    if ufunc.signature is not None:
        jointly = together.get(ufunc)
        if jointly is None or any(has_methods(type(value)) for value in inputs):
            return NotImplemented
        try:
            return jointly(*inputs)
        except Unsupported:
            return NotImplemented
    if not free():
        return NotImplemented
    operands: list[Operand] = []
    arrays = False
    now = False
    kinds: list[Any] = []
    for value in inputs:
        # ``a * a`` reads a view once, here and in the native recorder: ranks must not differ
        again = bool(operands) and value is inputs[0] and isinstance(value, Handle)
        operand = operands[0] if again else operand_of(value)
        if operand is None:
            return NotImplemented
        arrays = arrays or operand.large
        now = now or operand.now
        operands.append(operand)
        kinds.append(operand.kind)
    if not (arrays or (len(operands) == 2 and spreads(*[each.geometry for each in operands]))):
        return NotImplemented
    try:
        loops = loops_of(ufunc, tuple(kinds))  # TypeErrors are NumPy's
        if not loops[0].is_native or (ufunc is np.power and not _power_is_safe(operands, loops[0])):
            return NotImplemented
        nodes = recorded(operands, loops, user_site())
    except (TypeError, OverflowError) as problem:
        passed_on(problem)
        return NotImplemented  # NumPy raises it, or knows better
    if len(nodes) == 1 and nodes[0].value is None and not nodes[0].is_laid_out():
        _remember(ufunc, operands, nodes[0])
    del operands
    if now and nodes[0].weight < 0:
        nodes = [captured(node) for node in nodes]
    elif now:
        evaluate(nodes)
    if len(nodes) == 1:
        return of_node(nodes[0])
    return tuple([of_node(node) for node in nodes])


def spreads(a: Any, b: Any) -> bool:
    """True if two small arrays, or geometries, are broadcast to a large one, which is recorded: it may never be stored."""
    small = config.small
    if not (hasattr(a, "size") and hasattr(b, "size")) or a.size * b.size < small:
        return False
    try:
        return (
            a.size if a.shape == b.shape else prod(np.broadcast_shapes(a.shape, b.shape))
        ) >= small
    except ValueError as problem:
        passed_on(problem)
        return False


def _power_is_safe(operands: Sequence[Operand], loop: Loop) -> bool:
    """True if no exponent can be a negative integer, which NumPy rejects at the call."""
    if loop.output.kind not in "iu" or loop.inputs[1].kind == "u":
        return True
    exponent = operands[1]
    return exponent.geometry is None and bool(exponent.node >= 0)


def value_for(target: Geometry, value: Any) -> tuple[Any, bool] | None:
    """Node or scalar to write through ``target``, and True if it must be written now.

    ``None`` leaves the assignment to NumPy. Shapes that do not fit raise NumPy's error.
    """
    if not is_native(target.dtype):
        return None
    operand = operand_of(value)
    if operand is None:
        return None
    if operand.geometry is None:
        kind = operand.kind
        number = operand.node
        if isinstance(kind, type):
            if kind is complex and target.dtype.kind != "c":
                return None
            if kind is int and target.dtype.kind in "iu":
                return target.dtype.type(number), False
            if kind is float and target.dtype.kind not in "fc":
                return None
            return target.dtype.type(number), False
        if kind != target.dtype and not np.can_cast(kind, target.dtype, "same_kind"):
            return None
        element = np.empty((), target.dtype)
        element[...] = number  # NumPy decides which numbers are too large, and which wrap
        return element[()], False
    geometry = operand.geometry
    if geometry.dtype != target.dtype and not (
        np.can_cast(geometry.dtype, target.dtype, "same_kind")
        and (free() or operand.node.weight < 0)
    ):
        return None
    if target.ndim == 0 and geometry.ndim > 0:
        return None  # NumPy's error for a sequence assigned to an element
    node: Node = operand.node
    if isinstance(value, (list, tuple)) and _overflows(node, target.dtype):
        return None
    if geometry.shape != target.shape:
        if not target.shape:
            return None  # an element: NumPy decides which values it takes
        extra = geometry.ndim - target.ndim
        if extra > 0 and geometry.shape[:extra] == (1,) * extra:
            trimmed = node.geometry.derived(("trim", extra), lambda s: s[(0,) * extra + (...,)])
            node = read(node, trimmed)
        own = node.geometry.shape
        lead = target.ndim - len(own)
        if lead < 0 or any(n not in (1, target.shape[lead + k]) for k, n in enumerate(own)):
            given = shape_text(geometry.shape)
            raise ValueError(
                f"could not broadcast input array from shape {given} into shape {shape_text(target.shape)}"
            )
    if (
        target.is_base
        and node.geometry.shape == target.shape
        and node.geometry.strides == target.strides
    ):
        node = cast(node, target.dtype)
    return node, operand.now


def _overflows(node: Node, dtype: np.dtype[Any]) -> bool:
    """True if a list has numbers that NumPy rejects as too large for integers of this dtype."""
    if node.value is None or dtype.kind not in "iu" or node.geometry.dtype.kind not in "iu":
        return False
    array, most = node.value.array, np.iinfo(dtype)
    return array.size > 0 and bool(array.min() < most.min or array.max() > most.max)


def assign(cell: Cell, region: Geometry, value: Any, mask: Node | None = None) -> bool:
    """Write ``value`` through a view; True if it was recorded or done, False if it is left to NumPy."""
    given = value_for(region, value)
    if given is None or region.size == 0:
        return given is not None
    node, now = given
    now = now or not free()  # before the write: it may evaluate pending values
    place = cell.node.place
    if mask is not None and place is not None and not place.layout.is_block:
        # no loop runs over such shares of a part: all of it is assigned, the elements outside the mask to themselves
        old = cell.node if region.is_base else read(cell.node, region)
        new = cast(node, region.dtype) if type(node) is Node else node
        geometry = result_geometry((mask.geometry, old.geometry), region.dtype)
        node = record(WHERE, (mask, new, old), geometry, (), "where", user_site())
        mask = None
    if (
        type(node) is Node
        and region.is_base
        and node.value is not None
        and mask is None
        and (node.value.pinned or (cell.pins and cell.held()))
    ):
        now = True
    cell.write(region, node, mask, user_site())
    if now:
        del node, given
        if cell.node.weight < 0:
            cell.node = captured(cell.node)
        else:
            cell.settle()
    return True


def operate(ufunc: np.ufunc, *inputs: Any) -> Any:
    """A ufunc on arrays and numbers: by NumPy if the arrays have few elements, all in memory."""
    result = few(ufunc, inputs, {})
    return general(ufunc, *inputs) if result is GENERAL else result


def few(ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The same with options; ``GENERAL`` where NumPy does not compute it, as it does not make a large array of small ones."""
    own = Handle.array_type
    for value in inputs:
        if type(value) is own and not (value._np is not None or value._geometry.short):
            return GENERAL
    if len(inputs) == 2 and spreads(*inputs):
        return GENERAL
    if (
        options
        or (ufunc.nin, ufunc.nout) != (len(inputs), 1)
        or any(type(v) is not own and type(v) not in FAST_SCALARS for v in inputs)
    ):
        return at_hand(ufunc, inputs, options, bare=True)
    given = []
    for value in inputs:
        if type(value) is own:
            value = present(value) if value._np is None else value._np
            if value is None:
                return GENERAL
        given.append(value)
    come_first()
    return of_small(ufunc(*given))


_known: dict[np.ufunc, Forms] = {}


def known_of(ufunc: np.ufunc) -> Forms:
    """Forms that the native recorder knows of a ufunc, by the geometries of operands and the types of numbers."""
    return _known.setdefault(ufunc, Forms())


def _remember(ufunc: np.ufunc, operands: Sequence[Operand], node: Node) -> None:
    known = _known.get(ufunc)
    if native is None or known is None or len(operands) > 2:
        return
    if ufunc is np.power and node.geometry.dtype.kind in "iu":  # the next exponent may be negative
        return
    loop: Loop = node.params[0]
    convert = None
    key: list[Any] = []
    for operand, dtype in zip(operands, loop.inputs, strict=True):
        if operand.geometry is not None:
            key.append(read_of(operand.geometry))
        elif operand.kind is float or operand.kind is int or type(operand.node) in FAST_SCALARS:
            key.append(type(operand.node))
            convert = dtype.type
        else:
            return
    form = node.form()
    keep(known, tuple(key), form, convert)
    arrays = [each for each in key if type(each) is Geometry]
    shape = node.geometry.shape
    if min(shape, default=0) > 1 and all(each.is_plain(shape) for each in arrays):
        alike = [each.dtype if type(each) is Geometry else each for each in key]
        keep(known, (CALL, len(shape), *alike), form, convert)  # of any other shape, too


def general(ufunc: np.ufunc, *inputs: Any) -> Any:
    """A ufunc on arrays of any kind."""
    for value in inputs:
        if type(value) is not Handle.array_type and type(value) not in FAST_SCALARS:
            if defers(inputs[-1]):
                return _left_to(ufunc, inputs)
            inputs = tuple(map(answered, inputs))
            break
    result = apply(ufunc, inputs)
    if result is NotImplemented:
        return by_numpy(ufunc, inputs, {})
    return result


_REFLECTED = {ufunc: f"__r{name}__" for name, ufunc in BINARY.items()}
del _REFLECTED[np.bitwise_or]  # every class has a method of that name: a union of types


def _left_to(ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """Result of the reflected operator of the right operand.

    The operand, such as a SciPy sparse matrix, may support NumPy arrays only; then it receives one.
    """
    name = _REFLECTED.get(ufunc)
    method = None if name is None else getattr(type(inputs[-1]), name, None)
    if method is None or not isinstance(inputs[0], Handle):
        return NotImplemented
    result = method(inputs[-1], inputs[0])
    return method(inputs[-1], plain(inputs[0])) if result is NotImplemented else result


def defers(value: Any, *, in_place: bool = False) -> bool:
    """True if an operand wants to handle the operation itself, by NumPy's rules."""
    kind = type(value)
    if not has_methods(kind):
        return False
    if hasattr(kind, "__array_ufunc__"):
        return kind.__array_ufunc__ is None and not in_place
    try:
        return float(value.__array_priority__) > 0
    except Exception as problem:  # as in NumPy, a priority that is no number counts as the lowest
        passed_on(problem)
        return False
