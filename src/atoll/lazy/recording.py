"""The place where operations are recorded: nodes are made here, and nowhere else in this package.

Before a node is made of arrays on ranks, what these ranks have yet to compute together is computed (:mod:`.windows`).
A node never changes once it is made; it only receives its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.geometry import Geometry
from ..graph.node import Form, Node, Site, node_of
from ..graph.op import Op
from ..ops.elementwise import Loop, Through, result_geometry, through
from ..ops.table import CALL, CAST, UPDATE
from .windows import entered


def record(
    op: Op,
    args: tuple[Any, ...],
    geometry: Geometry,
    params: tuple[Any, ...] = (),
    name: str = "",
    site: Site | None = None,
) -> Node:
    """The node of an operation."""
    return _recorded(Node(op, args, geometry, params, name, site), args)


def record_form(form: Form, args: tuple[Any, ...], site: Site | None) -> Node:
    """An operation of a form that was met before."""
    return _recorded(node_of(form, args, site), args)


def _recorded(node: Node, args: tuple[Any, ...]) -> Node:
    """A new node as it is recorded. Its operands say whether ranks compute it together: the result may be whole on each."""
    for arg in args:
        if type(arg) is Node and arg.place is not None:
            return entered(node)
    return node


def call(
    loop: Loop, operands: Sequence[Any], geometries: Sequence[Geometry], site: Site | None
) -> Node:
    """A ufunc applied to operands; ``geometries`` are those of the arrays as the user sees them."""
    geometry = result_geometry(geometries, loop.output)
    return record(CALL, tuple(operands), geometry, (loop,), loop.name, site)


def cast(operand: Node, dtype: np.dtype[Any], site: Site | None = None) -> Node:
    """The operand in another dtype, by NumPy's unsafe casting."""
    if operand.geometry.dtype == dtype:
        return operand
    return record(CAST, (operand,), result_geometry((operand.geometry,), dtype), site=site)


def read(operand: Node, view: Geometry, site: Site | None = None) -> Node:
    """The value that a view has of its base's value, as an array of its own."""
    if view.base is view:
        return operand
    known: Through = view.through or through(view)
    node = node_of(known.read, (operand,), site)
    return node if operand.place is None else entered(node)


def update(old: Node, region: Geometry, value: Any, mask: Node | None, site: Site | None) -> Node:
    """The base after ``value`` was written through the view ``region``."""
    base = old.geometry
    if mask is not None:
        return record(UPDATE, (old, value, mask), base, (region,), "", site)
    known: Through = region.through or through(region)
    form = known.update if type(value) is Node else known.update_number
    if base is not region.base:
        op, _, params, name, code, _ = form
        form = op, base, params, name, code, None
    return record_form(form, (old, value), site)
