"""Products of matrices and vectors, Kronecker products, and convolutions.

On ranks every product reduces to one of two stacks of matrices (see :mod:`..collective.products`). If no operand is distributed,
BLAS has the whole data.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import prod
from operator import index
from typing import Any

import numpy as np

from .. import policy
from ..collective import Section, even_line, even_part, fetch_flat
from ..comm.world import World
from ..context.interrupts import passed_on
from ..front import Kind, Recording, Way
from ..lazy import reductions, shapes
from ..lazy.agreement import place_of, world_of
from ..lazy.conversion import is_small, plain
from ..lazy.creation import asarray
from ..lazy.elementwise import general, known_of, operate, register_together
from ..lazy.fallback import GENERAL, Unsupported, at_hand, by_numpy, expect
from ..lazy.float_errors import free
from ..lazy.sections import line_of, record, small_or_there
from ..lazy.shared_calls import convolved
from ..lazy.ufunc_calls import call as ufunc_call
from ..lazy.views import Handle
from ..ops.elementwise import is_native
from .blocks import call, into
from .operands import Operand, Recorded, accepts
from .public import array_of, collective, is_large, native, on_data

_read_subscripts: Any = import_module("numpy._core.einsumfunc")._parse_einsum_input
"""The terms of operands and of the result, with a letter for each axis."""


def _dtype(a: Any, b: Any) -> np.dtype[Any]:
    """The dtype of a product on ranks."""
    expect(world_of((a, b)) is not None and _is_native(a) and _is_native(b))
    dtype = np.result_type(a.dtype, b.dtype)
    expect(is_native(dtype))
    return dtype


def _matmul(a: Any, b: Any, **options: Any) -> Any:
    """``a @ b``, on any layouts."""
    expect(not options)
    dtype = _dtype(a, b)
    if not _agree(a.shape, b.shape):
        np.matmul(*[np.broadcast_to(np.zeros((), bool), v.shape) for v in (a, b)])  # its error
    if a.ndim + b.ndim == 3 and dtype.char in "fdFD" and free() and _would_move(a, b):
        parts = operate(np.multiply, a, b) if b.ndim == 1 else operate(np.multiply, a[:, None], b)
        return reductions.reduced(np.add, parts, b.ndim % 2)
    return record("matmul", (a, b), dtype)


def _would_move(a: Any, b: Any) -> bool:
    """True if all of a large matrix would move for its product with a vector, although a fold of their products moves vectors alone: it
    lies on a grid of ranks, and the vector is on the left, or it does not lie as :mod:`..collective.grid_products` needs it."""
    matrix = a if a.ndim == 2 else b
    place = place_of(matrix)
    if place is None or min(place.layout.grid) == 1:
        return False
    if place.world.size <= policy.limits.few_ranks and matrix.nbytes <= policy.limits.cached:
        return False
    return a.ndim == 1 or not (place.layout.is_block and place.layout.is_row_major)


def _agree(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        return False
    try:
        np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError as problem:
        passed_on(problem)
        return False
    return True


register_together(np.matmul, _matmul)


@native(kind=Kind.LARGE | Kind.LINES, recording=reductions.PRODUCT, keeps="arrays")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    first = _flattened(a)
    second = first if b is a else _flattened(b)
    if out is not None:
        return by_numpy(np.dot, (first, second), {"out": out}, jointly=_dot_into)
    return _dot(first, second)


def _flattened(value: Any) -> Any:
    inner = getattr(type(value), "_handle", None)
    return value if inner is None else inner(value)


def _dot_into(a: Any, b: Any, out: Any) -> Any:
    return into(out, call("dot", a, b), "no")


def _dot(a: Any, b: Any) -> Any:
    """The fold of a product, of lines in this process; on ranks over the last axis of ``a`` and the last but one of ``b``."""
    if is_large(a) and is_large(b) and free():
        shape, dtype = a.shape, a.dtype
        if len(shape) == 1 and shape[0] and shape == b.shape and dtype == b.dtype and dtype.char in "fdFD":  # fmt: skip
            return reductions.reduce(np.add, operate(np.multiply, a, b))
    _dtype(a, b)
    expect(a.ndim and b.ndim)
    if b.ndim > 2:
        return _contracted(a, b, ((a.ndim - 1,), (b.ndim - 2,)))
    expect(_agree(a.shape, b.shape))
    return _matmul(a, b)


@collective(np.vdot, alone=True, kind=Kind.LARGE | Kind.LINES)
@accepts(a=Recorded(converts=True), b=Recorded(converts=True))
def vdot(a: Any, b: Any, /) -> Any:
    expect(free())
    return call("dot", (a.conj() if a.dtype.kind == "c" else a).ravel(), b.ravel())


@native(kind=Kind.LARGE | Kind.LINES, keeps="arrays")
def inner(a: Any, b: Any, /) -> Any:
    if all(isinstance(v, (Handle, np.ndarray)) and v.ndim == 1 for v in (a, b)):  # type: ignore[union-attr]
        return call("dot", a, b)
    return _contracted(a, b, ((-1,), (-1,)))


def _axes(axes: Any, a: Any, b: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    try:
        first, second = axes
    except TypeError:
        count = index(axes)
        first, second = range(a.ndim - count, a.ndim), range(count)
    normal = np.lib.array_utils.normalize_axis_tuple
    try:
        left = tuple(normal(first, a.ndim, allow_duplicate=True))
        right = tuple(normal(second, b.ndim, allow_duplicate=True))
    except (ValueError, TypeError) as problem:
        passed_on(problem)
        raise Unsupported from None
    expect(len(left) == len(right) == len(set(left)) == len(set(right)))
    expect(all(a.shape[j] == b.shape[k] for j, k in zip(left, right)))
    return left, right


@collective(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    return _contracted(a, b, plain(axes))


def _contracted(a: Any, b: Any, axes: Any) -> Any:
    """Two arrays transposed and flattened to matrices, which are multiplied."""
    _dtype(a, b)
    first, second = _axes(axes, a, b)
    a, b = array_of(a), array_of(b)
    left = [k for k in range(a.ndim) if k not in first]
    right = [k for k in range(b.ndim) if k not in second]
    shape = tuple([a.shape[k] for k in left] + [b.shape[k] for k in right])
    length = prod([a.shape[k] for k in first])
    rows = (prod([a.shape[k] for k in left]),) if left else ()
    columns = (prod([b.shape[k] for k in right]),) if right else ()
    a = shapes.reshape(shapes.transpose(a, (*left, *first)), (*rows, length))
    b = shapes.reshape(shapes.transpose(b, (*second, *right)), (length, *columns))
    return shapes.reshape(array_of(_matmul(a, b)), shape)


@native()
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    expect(not options)
    expect(out is None or any(place_of(value) is not None for value in operands))
    return into(out, _summed_products(operands))


def _summed_products(operands: Sequence[Any]) -> Any:
    """``np.einsum`` on ranks: operands are contracted from left to right.

    Each letter of a pair is in both operands and the result (a stack), in both and gone (contracted), or in one of them. Letters
    that only one operand has are summed first; a letter twice in one operand is its diagonal.
    """
    expect(world_of(operands))
    spelt = isinstance(operands[0], str)
    places = range(1, len(operands)) if spelt else range(0, len(operands) - 1, 2)
    arrays = [operands[k] for k in places]
    expect(all(map(_is_native, arrays)))
    samples = list(operands)
    for k, array in zip(places, arrays):
        samples[k] = np.zeros((1,) * array.ndim)
    np.einsum(*samples)  # NumPy's error
    left, result, _ = _read_subscripts(samples)
    terms = left.split(",")
    extents: dict[str, int] = {}
    for term, a in zip(terms, arrays):
        for letter, n in zip(term, a.shape):
            expect(extents.setdefault(letter, n) == n)
    dtype = np.result_type(*[a.dtype for a in arrays])
    expect(dtype.kind != "b")
    if len(arrays) > 1:  # truth values and small integers are multiplied as numbers of the result
        arrays = [asarray(a) if a.dtype == dtype else asarray(a).astype(dtype) for a in arrays]
    parts = [
        _single(asarray(a), term, "".join(terms[:k] + terms[k + 1 :]) + result, dtype)
        for k, (term, a) in enumerate(zip(terms, arrays))
    ]
    total, have = parts[0]
    for k, (part, letters) in enumerate(parts[1:], 1):
        later = "".join(term for _, term in parts[k + 1 :]) + result
        total, have = _pair(total, have, part, letters, later)
    kept = "".join(c for c in have if c in result)
    if len(kept) < len(have):
        total = _summed(total, [k for k, c in enumerate(have) if c not in result], dtype)
    if kept == result:
        return total if result else total[()]  # a scalar, as in NumPy
    return shapes.transpose(total, tuple(kept.index(c) for c in result))


def _is_native(value: Any) -> bool:
    return isinstance(value, (Handle, np.ndarray)) and is_native(
        value.dtype  # type: ignore[union-attr]
    )


def _summed(array: Any, axes: list[int], dtype: Any) -> Any:
    if not axes:
        return array
    summed = reductions.reduce(np.add, array, tuple(axes), dtype)
    return array.sum(tuple(axes), dtype) if summed is NotImplemented else summed


def _single(array: Any, term: str, others: str, dtype: Any) -> tuple[Any, str]:
    """An operand with each letter once, and only letters that another operand or the result has."""
    for letter in sorted(set(term)):
        while term.count(letter) > 1:
            first = term.index(letter)
            two = term.index(letter, first + 1)
            array = _diagonal(array, first, two)
            term = term[:first] + term[first + 1 : two] + term[two + 1 :] + letter
    alone = [k for k, c in enumerate(term) if c not in others]
    return _summed(array, alone, dtype), "".join(c for c in term if c in others)


def _diagonal(array: Any, first: int, second: int) -> Any:
    return shapes.view(
        array, ("diagonal", 0, first, second), lambda s: s.diagonal(0, first, second)
    )


def _pair(a: Any, first: str, b: Any, second: str, later: str) -> tuple[Any, str]:
    """The contraction of two operands, and its letters."""
    stack = [c for c in first if c in second and c in later]
    inner = [c for c in first if c in second and c not in later]
    rows = [c for c in first if c not in second]
    columns = [c for c in second if c not in first]
    if not inner:
        every = [*stack, *rows, *columns]
        return general(np.multiply, _widened(a, first, every), _widened(b, second, every)), "".join(
            every
        )
    left = _ordered(a, first, stack, rows, inner)
    right = _ordered(b, second, stack, inner, columns)
    product = call("matmul", left, right)
    extent = dict(zip(first + second, a.shape + b.shape))
    letters = [*stack, *rows, *columns]
    shape = tuple(extent[c] for c in letters)
    return shapes.reshape(product, shape), "".join(letters)


def _widened(array: Any, term: str, letters: list[str]) -> Any:
    if not term:
        return array
    turned = shapes.transpose(array, tuple(term.index(c) for c in letters if c in term))
    extent = dict(zip(term, array.shape))
    return shapes.reshape(turned, tuple(extent.get(c, 1) for c in letters))


def _ordered(array: Any, term: str, *groups: list[str]) -> Any:
    """The array with its axes in the order of the groups; each group but the first is merged into one axis."""
    turned = shapes.transpose(array, tuple(term.index(c) for group in groups for c in group))
    extent = dict(zip(term, array.shape))
    stack = tuple(extent[c] for c in groups[0])
    return shapes.reshape(
        turned, (*stack, *[prod(extent[c] for c in group) for group in groups[1:]])
    )


@native(kind=Kind.OUTER, recording=Recording(Way.PRODUCTS, known_of(np.multiply)), short=False)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    if is_small((getattr(a, "size", 0), getattr(b, "size", 0))):
        result = at_hand(np.outer, (a, b, out), {})
        if result is not GENERAL:
            return result
    a, b = [each if each.ndim == 1 else each.ravel() for each in (asarray(a), asarray(b))]
    if out is not None:
        return ufunc_call(np.multiply, (a[:, None], b[None]), {"out": out})
    return ufunc_call(np.multiply, (a[:, None], b), {})


def _trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    a = asarray(a)
    expect(is_large(a) and a.ndim >= 2)
    return into(out, a.diagonal(offset, axis1, axis2).sum(-1, dtype=dtype), "unsafe")


collective(np.trace, alone=True, keeps="asked")(_trace)
collective(np.ndarray.trace, keeps="asked")(_trace)


@accepts(x1=Operand("iufc", least=1), x2=Operand(least=1))
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1, world: World, **options: Any) -> Any:
    expect(not options and x1.shape[axis] == x2.shape[axis])
    product = (x1.conj() if x1.dtype.kind == "c" else x1) * x2
    return product.sum(axis, product.dtype)


@accepts(x1=Operand(least=2), x2=Operand(least=1))
def _matvec(x1: Any, x2: Any, /, *, world: World, **options: Any) -> Any:
    expect(not options and x1.shape[-1] == x2.shape[-1])
    product = call("matmul", x1, x2[..., None])
    return product[..., 0]


@accepts(x1=Operand(least=1), x2=Operand(least=2))
def _vecmat(x1: Any, x2: Any, /, *, world: World, **options: Any) -> Any:
    expect(not options and x1.shape[-1] == x2.shape[-2])
    left = x1.conj() if x1.dtype.kind == "c" else x1
    return call("matmul", left[..., None, :], x2)[..., 0, :]


register_together(np.vecdot, _vecdot)
register_together(np.matvec, _matvec)
register_together(np.vecmat, _vecmat)
on_data("einsum_path")


def _sliding(name: str) -> None:
    original: Any = getattr(np, name)

    line = Operand(ndim=1, empty=False)

    @accepts(a=line, v=line, mode=("full", "same", "valid"))
    def function(
        a: Any, v: Any, mode: Any = "full" if name == "convolve" else "valid", *, world: World
    ) -> Any:
        first, second = a, v
        turned = second.size > first.size
        if turned and name == "correlate":  # as NumPy: with swapped operands, and reversed
            return call("correlate", second, first, mode)[::-1].conj().copy()
        if turned:
            first, second = second, first
        kernel = second._array()
        width, length = kernel.size, first.size
        shift = {"full": width - 1, "same": width // 2, "valid": 0}[mode]
        if name == "convolve" and mode == "same":
            shift = (width - 1) // 2 + (width - 1) % 2
        total = {"full": length + width - 1, "same": length, "valid": length - width + 1}[mode]
        low, high = even_part(total, world.size, world.rank)
        begin = low - shift
        wanted = high - low + width - 1 if high > low else 0
        inside = max(begin, 0), max(min(begin + wanted, length), max(begin, 0))
        part = np.zeros(wanted, first.dtype)
        part[inside[0] - begin : inside[1] - begin] = fetch_flat(
            line_of(first, world), inside[1] - inside[0], lambda a, b: np.arange(a, b) + inside[0]
        )
        kind = np.result_type(first.dtype, kernel.dtype)
        part_of_result = original(part, kernel, "valid") if high > low else np.empty(0, kind)
        layout = even_line(total, world.size)
        return small_or_there(Section(part_of_result, layout, world.communicator), world)

    keeps = "arrays" if name == "correlate" else None
    collective(original, cut=convolved, keeps=keeps)(function)


_sliding("convolve")
_sliding("correlate")


@collective(np.kron, keeps="arrays")
@accepts(a=Operand(least=1), b=Operand(least=1))
def kron(a: Any, b: Any) -> Any:
    ndim = max(a.ndim, b.ndim)
    first, second = [(1,) * (ndim - v.ndim) + v.shape for v in (a, b)]
    left = shapes.reshape(a, tuple([n for length in first for n in (length, 1)]))
    right = shapes.reshape(b, tuple([n for length in second for n in (1, length)]))
    product = general(np.multiply, left, right)
    return shapes.reshape(product, tuple([n * m for n, m in zip(first, second)]))
