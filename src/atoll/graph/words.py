"""Views, nodes, call sites and sizes as text.

A view is written as an index of its base where possible: NumPy decides, on the shadow, whether the text gives the same
view. Otherwise each index of the base is written in terms of the view's, ``i, j, ...``.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from .geometry import AxisReads, Geometry, shape_text
from .node import Node

_LETTERS = "ijklmnpqrstuvw"
_MOST_CHOICES = 6


def size(nbytes: int) -> str:
    """A number of bytes for people."""
    amount = float(nbytes)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            break
        amount /= 1000
    return f"{nbytes} bytes" if unit == "bytes" else f"{amount:.3g} {unit}"


def preformatted(text: str) -> str:
    """Text as HTML with its spaces and line breaks. Pages of notebooks give ``pre`` other fonts."""
    from html import escape  # a large table that only notebooks need

    return f'<pre style="margin:0;font-family:monospace;line-height:1.3">{escape(text)}</pre>'


def slice_text(first: int, count: int, step: int, n: int) -> str:
    """``count`` indices from ``first`` on in steps, as a slice of an axis of length ``n``."""
    last = first + step * (count - 1)
    if step > 0:
        start = "" if first == 0 else str(first)
        left = n - last - 1
        near = 4 * left < last + 1
        end = "" if last + step >= n else str(-left if near else last + 1)
    else:
        start = "" if first == n - 1 else str(first)
        end = "" if last + step < 0 else str(last - 1)
    return f"{start}:{end}" if step == 1 else f"{start}:{end}:{step}"


def key_text(parts: list[str]) -> str:
    """An index of several axes; nothing where it takes all of them."""
    while parts and parts[-1] == ":":
        parts.pop()
    return f"[{', '.join(parts)}]" if parts else ""


def view_text(view: Geometry) -> str:
    """Expression that takes a view of its base, such as ``[1:-1, ::2]`` or ``.T``; empty for all of it.

    A view with symbolic integers, as plans have them, has no such words.
    """
    if view.is_base:
        return ""
    if not isinstance(view, Geometry):
        return "[...]"
    axes = view.axes
    if axes is None:
        return _without_axes(view)
    if _same(view.base.derived("T", lambda s: s.T), view):
        return ".T"
    return _by_slices(view, axes) or _by_letters(view, axes)


def _without_axes(view: Geometry) -> str:
    base = view.base
    if view.is_whole:
        return f".reshape({shape_text(view.shape)[1:-1].rstrip(',')})"
    if base.dtype.kind == "c" and view.shape == base.shape and view.dtype.kind == "f":
        return ".imag" if view.offset else ".real"
    if view.shape == base.shape and view.offset == 0 and view.strides == base.strides:
        return f".view({view.dtype})"
    kind = "" if view.dtype == base.dtype else f"{view.dtype}, "
    return f".as_strided({kind}{shape_text(view.shape)}, {shape_text(view.strides)}, byte {view.offset})"


def _by_slices(view: Geometry, axes: AxisReads) -> str:
    """The view as an index of the base, transposed where it must be; or nothing."""
    base = view.base
    if any(len(steps) > 1 for _, steps in axes) or view.size == 0:
        return ""
    order = [steps[0][0] for _, steps in axes if steps]
    if len(set(order)) < len(order):
        return ""
    choices: list[list[tuple[str, Any]]] = []
    for (first, steps), n in zip(axes, base.shape, strict=True):
        if steps:
            axis, step = steps[0]
            count = view.shape[axis]
            text = slice_text(first, count, step, n)
            stop = first + step * count
            choices.append([(text, slice(first, None if stop < 0 else stop, step))])
        elif n == 1:
            choices.append([(":", slice(None)), ("0", 0)])
        else:
            text = slice_text(first, 1, 1, n)
            choices.append([(str(first), first), (text, slice(first, first + 1))])
    if sum(len(options) - 1 for options in choices) > _MOST_CHOICES:
        return ""
    turned = tuple([sorted(order).index(axis) for axis in order])
    for chosen in product(*choices):
        sliced = base.index(tuple([key for _, key in chosen]))
        text = key_text([words for words, _ in chosen])
        if sliced.ndim == len(turned) and list(turned) != sorted(turned):
            back = tuple([turned.index(k) for k in range(len(turned))])
            sliced = sliced.derived(("transpose", back), partial(np.transpose, axes=back))
            reverse = back == tuple(range(len(back)))[::-1]
            text += ".T" if reverse else f".transpose{shape_text(back)}"
        if _same(sliced, view):
            return text
    return ""


def _same(first: Geometry, second: Geometry) -> bool:
    """True if two views of one base have the same elements in the same places."""
    return (
        first.shape == second.shape
        and first.offset == second.offset
        and all(a == b for a, b, n in zip(first.strides, second.strides, first.shape) if n > 1)
    )


def _by_letters(view: Geometry, axes: AxisReads) -> str:
    letters = [_LETTERS[k] if k < len(_LETTERS) else f"x{k}" for k in range(view.ndim)]
    entries = []
    for first, steps in axes:
        terms = [
            (
                "-" if step < 0 else "+",
                letters[axis] if abs(step) == 1 else f"{abs(step)}*{letters[axis]}",
            )
            for axis, step in steps
        ]
        if first or not terms:
            terms.append(("-" if first < 0 else "+", str(abs(first))))
        entries.append("".join(sign + word for sign, word in terms).removeprefix("+"))
    return f"[{', '.join(entries)}] by [{', '.join(letters)}]"


def scalar_text(value: Any) -> str:
    """A number, as short as it can be."""
    text = str(value)
    return text if len(text) <= 12 else f"{value:.6g}" if not isinstance(value, complex) else text


def label(node: Node) -> str:
    """Description of a node's operation without its operands."""
    return "data" if node.value is not None else node.op.label(node)
