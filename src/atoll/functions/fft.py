"""``atoll.fft``: transforms along an axis that each rank holds whole, or of a line as a matrix.

A line of ``n = rows * columns`` elements is transformed in four steps: the columns of the matrix, a
turn of each element by its row and column, the rows, and a transpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..comm.world import World
from ..lazy import shaping
from ..lazy.creation import asarray
from ..lazy.making import is_small
from ..lazy.spread import world_of
from .blocks import along, call, into, normal_axis
from .namespaces import Namespace
from .public import collective, publish


def _usable(a: Any, norm: Any) -> tuple[Any, World] | None:
    a = asarray(a)
    world = world_of([a])
    if world is None or a.dtype.char not in "dDbhilqBHILQ?" or not a.ndim or not a.size:
        return None
    if norm not in (None, "backward", "ortho", "forward"):
        return None
    return (a if a.dtype.kind in "fc" else a.astype(np.float64)), world


def _in_length(line: Any, length: int) -> Any:
    """A line cut off, or filled up with zeros."""
    if line.size >= length:
        return line[:length]
    return call("concatenate", (line, call("zeros", length - line.size, line.dtype)))


def _rows_for(length: int, size: int) -> int:
    """Rows of a matrix of so many elements, with as many rows and columns as there are ranks."""
    for rows in range(int(length**0.5), size - 1, -1):
        if length % rows == 0 and length // rows >= size:
            return rows
    return 0


def _line(line: Any, world: World, sign: int) -> Any:
    """The transform of a line, without a factor."""
    length = line.size
    rows = _rows_for(length, world.size)
    if not rows or is_small(line.shape):
        whole = line._array()
        return asarray(np.fft.fft(whole) if sign < 0 else np.fft.ifft(whole, norm="forward"))
    columns = length // rows
    norm = "backward" if sign < 0 else "forward"
    step = transforms["fft" if sign < 0 else "ifft"]
    matrix = step(shaping.reshape(line, (rows, columns)), axis=0, norm=norm)
    first = shaping.reshape(call("arange", rows), (-1, 1))
    turn = first * call("arange", columns) % length
    matrix = matrix * call("exp", turn * (sign * 2j * np.pi / length))
    matrix = step(matrix, axis=1, norm=norm)
    return shaping.reshape(matrix.T, (length,))


def _scale(length: int, norm: Any, *, inverse: bool) -> float:
    powers = {None: inverse, "backward": inverse, "ortho": 0.5, "forward": not inverse}
    scale: float = float(length) ** -float(powers[norm])
    return scale


def _whole_line(name: str, line: Any, length: int, norm: Any, world: World) -> Any:
    """A one-dimensional transform by that of a line."""
    if name in ("fft", "ifft", "rfft"):
        transformed = _line(_in_length(line, length), world, 1 if name == "ifft" else -1)
        transformed = transformed * _scale(length, norm, inverse=name == "ifft")
        return transformed[: length // 2 + 1] if name == "rfft" else transformed
    half = _in_length(line, length // 2 + 1)
    mirrored = half[1 : (length + 1) // 2].conj()[::-1]
    transformed = _line(call("concatenate", (half, mirrored)), world, 1).real
    return transformed * _scale(length, norm, inverse=True)


def _along_axis(name: str) -> Any:
    original = getattr(np.fft, name)

    @collective(original, order=shaping.order_of)
    def transform(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        usable = _usable(a, norm)
        if usable is None or (name == "rfft" and usable[0].dtype.kind == "c"):
            return NotImplemented
        a, world = usable
        if n is None:
            a.shape[axis]  # where NumPy's error comes from
        axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
        length = a.shape[axis] if n is None else int(n)
        if n is None and name == "irfft":
            length = 2 * (length - 1)
        if length < 2:
            return NotImplemented
        transformed = along(
            a,
            (axis,),
            world,
            lambda rows: original(rows, length, 1, norm),
            lambda line: _whole_line(name, line, length, norm, world),
        )
        shape = (*a.shape[:axis], *a.shape[axis + 1 :], transformed.shape[-1])
        return into(out, call("moveaxis", shaping.reshape(transformed, shape), -1, axis))

    return transform


def _over_axes(name: str, last: str, others: str, default: Any) -> Any:
    """A transform of several axes, one after the other."""

    @collective(getattr(np.fft, name), order=shaping.order_of)
    def transform(
        a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None
    ) -> Any:
        usable = _usable(a, norm)
        if usable is None or (name.startswith("rfft") and usable[0].dtype.kind == "c"):
            return NotImplemented
        transformed: Any = usable[0]
        if axes is None:
            axes = (
                range(transformed.ndim)
                if s is None
                else range(transformed.ndim - len(s), transformed.ndim)
            )
        axes = list(axes)
        if not all(-transformed.ndim <= k < transformed.ndim for k in axes) or (
            s and len(s) != len(axes)
        ):
            return NotImplemented  # NumPy's words
        axes = [k % transformed.ndim for k in axes]
        lengths = [None] * len(axes) if s is None else [None if n == -1 else n for n in s]
        steps = [(others, k, n) for k, n in zip(axes[:-1], lengths[:-1])]
        steps.insert(len(steps) if last.startswith("i") else 0, (last, axes[-1], lengths[-1]))
        for step, axis, length in steps:
            transformed = transforms[step](transformed, length, axis, norm)
        return into(out, transformed)

    return transform


def _shifted(name: str, *, back: bool) -> Any:
    @collective(getattr(np.fft, name))
    def shifted(x: Any, axes: Any = None) -> Any:
        x = asarray(x)
        along_axes = normal_axis(axes, x.ndim)
        shift = [-(x.shape[k] // 2) if back else x.shape[k] // 2 for k in along_axes]
        return call("roll", x, tuple(shift), along_axes)

    return shifted


transforms: dict[str, Any] = {}
"""The functions that are declared when NumPy's module is first needed."""


def _declared() -> Mapping[str, Any]:
    for name in ("fft", "ifft", "rfft", "irfft"):
        transforms[name] = _along_axis(name)
    for name, last, others in (
        ("fftn", "fft", "fft"), ("ifftn", "ifft", "ifft"), ("rfftn", "rfft", "fft"), ("irfftn", "irfft", "ifft"),
    ):  # fmt: skip
        transforms[name] = _over_axes(name, last, others, None)
        transforms[f"{name[:-1]}2"] = _over_axes(f"{name[:-1]}2", last, others, (-2, -1))
    transforms["fftshift"] = _shifted("fftshift", back=False)
    transforms["ifftshift"] = _shifted("ifftshift", back=True)
    return transforms


fft = Namespace("fft", _declared)
publish("fft", fft, "data")
