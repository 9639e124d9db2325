"""Price of dividing the arrays of a trace: its messages, less the work that other ranks do meanwhile.

Both are expected, not measured, and follow from operations, shapes and places: all ranks come to the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from math import prod

from .. import policy
from ..config import config
from ..graph.geometry import Geometry
from ..graph.node import Node
from .placement import goes_across
from .ufuncs import COSTS, Cost

Shape = tuple[int, ...]

MOVES = frozenset(
    ("take along an axis", "read across ranks", "write across ranks", "assign at indices")
    + ("redistribute",)
)
"""Collective operations that take as long as their elements take to move."""
GATHER = "fancy indexing"
"""Elements at random places: the work is that of its elements, however large the array that they come from."""


def price_of(order: Sequence[Node], size: int) -> tuple[tuple[Shape, int, float], ...]:
    """For each shape of which a trace has divided arrays: their bytes, and the nanoseconds that ``size`` ranks lose by dividing
    them; less than none where they gain. Nothing, if some array is so large that no rank should have all of it.

    Loops over most elements of an array, such as a stencil or a reduction, never count as a loss. They are the work to share, and
    their messages cost less than is expected here.
    """
    shapes: dict[Shape, int] = {}
    most = config.gather_bytes
    steps, work, collective, computed, travelled = 1.0, 0.0, False, 0, 0.0
    for node in order:
        on_ranks = [arg for arg in node.args if type(arg) is Node and arg.place is not None]
        if node.op.name == GATHER and node.args[0].place is not None:
            travelled += min(node.args[0].geometry.nbytes, node.geometry.nbytes)
        elif node.op.is_view and node.params[0].box is None and goes_across(node):
            # one rank alone would show the elements where they are
            travelled += node.geometry.nbytes
        if node.place is not None:
            on_ranks.append(node)
        elif on_ranks:
            steps += 1  # its value comes to all ranks
        if not on_ranks:
            continue
        op = node.op
        steps += op.is_collective
        collective = collective or op.is_collective or op.name == "compress"
        if not op.is_view:
            passed = _passed(node)
            work += _work(node, [each.size * each.dtype.itemsize for each in passed])
            computed = max([computed, *[each.size for each in passed]])
        for each in on_ranks:
            geometry = each.geometry
            shape, nbytes = geometry.shape, geometry.size * geometry.dtype.itemsize
            if nbytes > most:
                return ()
            if nbytes > shapes.get(shape, -1):
                shapes[shape] = nbytes
    if not collective:  # loops and messages, which are prepared once
        steps /= policy.limits.pieces
    few = 0 if collective else computed * policy.limits.pieces
    moved, gained = gain(travelled / policy.limits.travelled_bytes, size), gain(work, size)
    lost = steps * policy.limits.step + moved
    return tuple(
        [
            (shape, nbytes, lost - gained if few <= prod(shape) else -gained)
            for shape, nbytes in shapes.items()
        ]
    )


def gain(nanoseconds: float, size: int) -> float:
    """Nanoseconds that each of ``size`` ranks gains by sharing ``nanoseconds`` of work."""
    return nanoseconds * (1 - 1 / size)


def _passed(node: Node) -> list[Geometry]:
    """Geometries of the elements that a node goes through, which is no view."""
    op = node.op
    views = node.params[2:] if op.is_collective else repeat(None)
    read = [
        view or arg.geometry
        for arg, view in zip(node.args, views, strict=False)
        if type(arg) is Node
    ]
    if op.is_update:
        return [arg.geometry for arg in node.args[1:2] if type(arg) is Node]
    return read[1:] if op.writes else [node.geometry, *read]


def _work(node: Node, sizes: list[int]) -> float:
    """The nanoseconds of one rank that are expected of a node that goes through bytes of such sizes, if one rank computes all of it."""
    op = node.op
    if op.is_update or op.writes:
        return policy.numpy_time(sum(sizes))
    nbytes = max(sizes)
    plain = policy.numpy_time(nbytes)
    if op.name == "matmul":
        a: Geometry = node.params[2] or node.args[0].geometry
        products = 2 * node.geometry.size * a.shape[-1]
        return max(plain, products / policy.limits.rate)
    if op.name in MOVES:
        return policy.numpy_time(node.geometry.nbytes)
    if op.name == GATHER:
        return policy.numpy_time(node.geometry.nbytes, heavy=True)
    heavy = op.is_collective or (op.is_ufunc and COSTS.get(node.name, Cost()).is_heavy)
    return policy.numpy_time(nbytes, heavy=True) if heavy else plain
