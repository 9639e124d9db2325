"""How NumPy computes a node that kernels cannot, or that is too small to be worth one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import llvm
from ..graph.node import Node, view_of


def _compressed(a: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> Any:
    """The elements where the mask is true; by a kernel of its own, where the arrays are contiguous."""
    return llvm.selected(a, mask) if llvm.can_select(a, mask) else a[mask]


def numpy_function(node: Node) -> tuple[Callable[..., Any], tuple[int, ...]]:
    """A function of arrays and scalars, and which arguments of the node it takes."""
    every = tuple(range(len(node.args)))
    kind = node.kind
    dtype = node.geometry.dtype
    if kind == "call":
        loop = node.params[0]
        _, _, output = loop.name.partition(".")
        function = loop.ufunc
        inputs, result = loop.inputs, loop.output

        if (
            not output
            and not node.geometry.shape
            and all(
                type(a) is not Node or a.geometry.dtype == d
                for a, d in zip(node.args, inputs, strict=True)
            )
        ):
            return function, every  # scalars are in the loop's dtypes already

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

        return call, every
    if kind == "cast":
        return lambda a: a.astype(dtype), every
    if kind == "where":
        return lambda m, a, b: np.where(m, np.asarray(a, dtype), np.asarray(b, dtype)), every
    if kind == "fill":
        shape = node.geometry.shape
        return lambda scalar: np.full(shape, scalar, dtype), every
    if kind == "index":
        shape = node.geometry.shape
        axis = node.params[0]
        along = tuple(-1 if k == axis else 1 for k in range(len(shape)))

        def index(first: Any, step: Any) -> Any:
            line = (first + step * np.arange(shape[axis])).astype(dtype)
            return np.broadcast_to(line.reshape(along), shape).copy()

        return index, every
    if kind == "read":
        view = node.params[0]

        def read(base: np.ndarray[Any, Any]) -> Any:
            return view_of(base, view).copy(order="K")

        return read, every
    if kind == "update":
        region = node.params[0]

        def update(base: np.ndarray[Any, Any], value: Any, mask: Any = True) -> Any:
            result = base.copy(order="K")
            np.copyto(view_of(result, region), value, casting="unsafe", where=mask)
            return result

        return update, every
    if kind == "compress":
        return _compressed, every
    if kind == "reduce":
        ufunc = getattr(np, node.name)
        axes, keepdims = node.params
        return lambda a: ufunc.reduce(a, axis=axes, keepdims=keepdims, dtype=dtype), every
    if kind == "arg":
        pick = getattr(np, node.name)
        axes, keepdims = node.params
        axis = None if len(axes) != 1 or node.args[0].geometry.ndim == len(axes) else axes[0]
        return lambda a: pick(a, axis=axis, keepdims=keepdims), every
    raise AssertionError(f"NumPy has no word for {node!r}")
