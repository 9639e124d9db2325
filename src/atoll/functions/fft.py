"""``atoll.fft``: transforms along axes, or of a distributed line.

A line of ``n = rows * columns`` elements is transformed in four steps: the columns of the matrix, a
turn of each element by its row and column, the rows, and a transpose. A line of another length is a convolution
with a *chirp*, whose frequency grows along it (Bluestein's algorithm), by transforms of a power of two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt
from typing import Any

import numpy as np

from .. import policy
from ..collective import TransformStep
from ..comm.world import World
from ..front import Kind
from ..lazy import shapes
from ..lazy.conversion import is_small
from ..lazy.creation import asarray
from ..lazy.fallback import expect
from ..lazy.registry import registry
from ..lazy.sections import record
from ..lazy.shared_calls import by_lines
from .blocks import call, into, normal_axis
from .namespaces import Namespace
from .operands import Operand, accepts
from .public import collective, numpy_function, publish


def _accepts(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The operand and the norms of a transform."""
    types = "fdbhilqBHILQ?" + ("" if name.startswith("rfft") else "FD")
    a = Operand(types=types, least=1, empty=False)
    return accepts(a=a, norm=("backward", "ortho", "forward"))


def _floats(a: Any) -> Any:
    return a if a.dtype.kind in "fc" else a.astype(np.float64)


def _in_length(line: Any, length: int) -> Any:
    """A line cut off, or filled up with zeros."""
    if line.size >= length:
        return line[:length]
    return call("concatenate", (line, call("zeros", length - line.size, line.dtype)))


def _rows_for(length: int, size: int) -> int:
    """Number of rows of a matrix of ``length`` elements, with at least ``size`` rows or about as many rows as columns; 0 if no such
    matrix exists."""
    square, step = isqrt(length), policy.limits.short
    least = max(min(size, square // 2 + 1), 1)
    for high in range(square, least - 1, -step):
        rows = np.arange(max(high - step + 1, least), high + 1)
        rows = rows[length % rows == 0]
        if rows.size:
            return int(rows[-1])
    return 0


def _line(line: Any, world: World, sign: int) -> Any:
    """The transform of a line, without a factor."""
    length = line.size
    if is_small(line.shape):
        whole = line._array()
        return asarray(np.fft.fft(whole) if sign < 0 else np.fft.ifft(whole, norm="forward"))
    rows = _rows_for(length, world.size)
    if not rows:
        return _by_chirps(line, world, sign)
    columns = length // rows
    norm = "backward" if sign < 0 else "forward"
    step = transforms["fft" if sign < 0 else "ifft"]
    matrix = step(shapes.reshape(line, (rows, columns)), axis=0, norm=norm)
    first = shapes.reshape(call("arange", rows), (-1, 1))
    turn = first * call("arange", columns) % length
    matrix = matrix * _turned(turn * (sign * 2 / length), matrix.dtype)
    matrix = step(matrix, axis=1, norm=norm)
    return shapes.reshape(matrix.T, (length,))


def _turned(halves: Any, dtype: np.dtype[Any]) -> Any:
    """Unit complex numbers with arguments of ``halves`` half turns."""
    return call("exp", halves * (1j * np.pi)).astype(dtype)


def _by_chirps(line: Any, world: World, sign: int) -> Any:
    """The same for a length that is no product: a convolution, since ``2 j k = j * j + k * k - (j - k)**2``."""
    length = line.size
    longer = 1 << (2 * length - 2).bit_length()
    number = call("arange", length)
    dtype = np.result_type(line.dtype, np.complex64)
    chirp = _turned(number * number % (2 * length) * (sign / length), dtype)
    padding = call("zeros", longer - length, dtype)
    other = chirp.conj()
    around = call("concatenate", (other, padding[length - 1 :], other[:0:-1]))
    product = _line(call("concatenate", (line * chirp, padding)), world, -1)
    product = product * _line(around, world, -1)
    return _line(product, world, 1)[:length] * chirp * line.dtype.type(1 / longer)


def _scale(length: int, norm: Any, *, inverse: bool) -> float:
    powers = {None: inverse, "backward": inverse, "ortho": 0.5, "forward": not inverse}
    scale: float = float(length) ** -float(powers[norm])
    return scale


def _whole_line(name: str, line: Any, length: int, norm: Any, world: World) -> Any:
    """A one-dimensional transform by the transform of a distributed line."""
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

    @collective(original, order=shapes.order_of, cut=by_lines(2))
    @_accepts(name)
    def transform(
        a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None, *, world: World
    ) -> Any:
        a = _floats(a)
        if n is None:
            a.shape[axis]  # raises NumPy's error
        axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
        length = a.shape[axis] if n is None else int(n)
        if n is None and name == "irfft":
            length = 2 * (length - 1)
        expect(length >= 1)
        result = record("transform", (a,), (TransformStep(name, axis, length, norm),))
        if result is NotImplemented and length > 1:
            lanes = shapes.reshape(call("moveaxis", a, axis, -1), (-1, a.shape[axis]))
            lines = [_whole_line(name, lane, length, norm, world) for lane in lanes]
            shape = (*a.shape[:axis], *a.shape[axis + 1 :], -1)
            result = call("moveaxis", shapes.reshape(call("stack", lines), shape), -1, axis)
        return into(out, result)

    return transform


def _over_axes(name: str, last: str, others: str, default: Any) -> Any:
    """A transform of several axes, in NumPy's order."""
    inverse = last.startswith("i") and last != others

    @collective(getattr(np.fft, name), order=shapes.order_of)
    @_accepts(name)
    def transform(
        a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None, *, world: World
    ) -> Any:  # fmt: skip
        a = _floats(a)
        if axes is None:
            axes = range(a.ndim) if s is None else range(a.ndim - len(s), a.ndim)
        axes = list(axes)
        expect(all(-a.ndim <= k < a.ndim for k in axes) and (s is None or len(s) == len(axes)))
        axes = [k % a.ndim for k in axes]
        lengths: list[Any] = [None] * len(axes) if s is None else list(s)
        steps = []
        for place in range(len(axes)) if inverse else reversed(range(len(axes))):
            kind, axis, n = others, axes[place], lengths[place]
            if place == len(axes) - 1:
                kind = last
            usual = a.shape[axis]
            if kind == "irfft" and n is None:
                usual = 2 * (usual - 1)
            steps.append(TransformStep(kind, axis, usual if n is None or n == -1 else int(n), norm))
        expect(steps and all(step.length >= 1 for step in steps))
        result = record("transform", (a,), tuple(steps))
        if result is NotImplemented:
            result = a
            for step in steps:
                result = transforms[step.name](result, step.length, step.axis, norm)
        return into(out, result)

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
    for name in ("hfft", "ihfft"):
        _on_data(name, cut=by_lines(2))
    for name in ("fftfreq", "rfftfreq"):
        _on_data(name, kind=Kind.SHAPED, creates=True)
        registry.created.add(f"fft.{name}")
    return transforms


def _on_data(name: str, **traits: Any) -> None:
    original = getattr(np.fft, name)
    transforms[name] = numpy_function(original, f"fft.{name}", **traits)
    registry.enter(original, transforms[name])


fft = Namespace("fft", _declared)
publish("fft", fft, "data")
