"""The nodes of operations: casts, reads and writes through views, and all others by :func:`record`.

Before a node with distributed operands is made, ranks may have to compute or move a value (:mod:`.rank_operands`).
A node never changes once it is made; it only receives its value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.geometry import Geometry
from ..graph.node import FOLLOWS, Node, Site, node_of
from ..graph.op import Op
from ..ops.elementwise import Through, rare_update, result_geometry
from ..ops.table import CAST, UPDATE
from .rank_operands import entered


def record(
    op: Op,
    args: tuple[Any, ...],
    geometry: Geometry,
    params: tuple[Any, ...] = (),
    name: str = "",
    site: Site | None = None,
    place: Any = FOLLOWS,
) -> Node:
    """The node of an operation."""
    return node_of((op, geometry, params, name, None, None), args, site, entered, place)


def cast(operand: Node, dtype: np.dtype[Any], site: Site | None = None) -> Node:
    """Node of the operand cast to ``dtype``, by NumPy's unsafe casting."""
    if operand.geometry.dtype == dtype:
        return operand
    return record(CAST, (operand,), result_geometry((operand.geometry,), dtype), site=site)


def read(operand: Node, view: Geometry, site: Site | None = None) -> Node:
    """Node of the elements of a view of ``base``, as a separate array."""
    if view.base is view:
        return operand
    known: Through = view.through or Through(view)
    return node_of(known.read, (operand,), site, entered)


def update(
    old: Node,
    region: Geometry,
    value: Any,
    mask: Node | None,
    site: Site | None,
    kept: bool = False,
) -> Node:
    """The base after ``value`` was written through the view ``region``; ``kept``: other arrays may have the old one."""
    base = old.geometry
    if mask is not None and kept:
        return record(UPDATE, (old, value, mask), base, (region, True), "", site)
    if kept or mask is not None:
        form = rare_update(region, type(value) is Node, mask is not None)
    else:
        known: Through = region.through or Through(region)
        form = known.update if type(value) is Node else known.update_number
    if base is not region.base:
        op, _, params, name, code, _ = form
        form = op, base, params, name, code, None
    return node_of(form, (old, value) if mask is None else (old, value, mask), site, entered)
