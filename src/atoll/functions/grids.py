"""Arrays that are functions of their index: identities, triangles, diagonals, grids."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ..front import COMPOSED, Kind
from ..lazy import creation, shapes
from ..lazy.agreement import in_step, world_of
from ..lazy.conversion import from_numpy, is_small, plain
from ..lazy.elementwise import general
from ..lazy.fallback import GENERAL, at_hand, by_numpy, expect
from ..ops.elementwise import is_native
from .concatenation import joined_along
from .operands import Recorded, accepts
from .public import array_of, is_large, names, native, on_data, publish


@native(kind=Kind.SQUARE, grows=True, creates=True, device=True)
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: Any = "C") -> Any:
    rows, columns = index(N), index(N) if M is None else index(M)
    if is_small((rows, columns)) or not is_native(np.dtype(dtype)) or order != "C":
        return from_numpy(np.eye(rows, columns, k, dtype, order))
    k = index(k)
    result = creation.filled((rows, columns), 0, dtype)
    _set_diagonal(result, k, 1)
    return result


def _set_diagonal(matrix: Any, k: Any, value: Any) -> None:
    """Assign to a diagonal of a large array: NumPy's view of a diagonal is read-only."""
    diagonal = shapes.view(matrix, ("diagonal", k, 0, 1), lambda s: s.diagonal(k))
    own = diagonal._geometry
    diagonal._geometry = matrix._cell.geometry.at(own, own.offset, writeable=True)
    if own.size:
        diagonal[...] = value


@native(kind=Kind.SQUARE, grows=True, creates=True)
def identity(n: Any, dtype: Any = None) -> Any:
    return eye(n, dtype=float if dtype is None else dtype)


def _along(n: int, axis: int, ndim: int, first: int = 0) -> Any:
    """``first + index`` along one axis, of length one along the others."""
    shape = tuple(n if k == axis else 1 for k in range(ndim))
    return creation.counted(first, 1, shape, axis, np.dtype(np.intp))


@native(kind=Kind.SQUARE, grows=True, creates=True)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    rows, columns = index(N), index(N) if M is None else index(M)
    if is_small((rows, columns)) or not is_native(np.dtype(dtype)) or rows < 0 or columns < 0:
        return from_numpy(np.tri(rows, columns, k, dtype))
    below = general(np.greater_equal, _along(rows, 0, 2), _along(columns, 1, 2, -k))
    return creation.astype(below, dtype, copy=False)


def _triangle(m: Any, k: Any, *, lower: bool) -> Any:
    m = Recorded(least=2, converts=True).accept(m)
    rows, columns = m.shape[-2:]
    world = world_of([m])
    if world is not None:
        in_step(world, "tril" if lower else "triu", m, k)
    mask = tri(rows, columns, k=k if lower else k - 1, dtype=bool)
    zero = m.dtype.type(0)
    where = names["where"]
    return where(mask, m, zero) if lower else where(mask, zero, m)


@native(recording=COMPOSED, creates=True)
def tril(m: Any, k: Any = 0) -> Any:
    return _triangle(m, k, lower=True)


@native(recording=COMPOSED, creates=True)
def triu(m: Any, k: Any = 0) -> Any:
    return _triangle(m, k, lower=False)


@native(kind=Kind.SHAPED, grows=True, creates=True)
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    dimensions = creation.shape_of(plain(dimensions))
    kind = np.dtype(dtype)
    theirs: Any = np.indices
    if is_small((max(len(dimensions), 1), *dimensions)) or kind.kind not in "iu":
        return from_or_each(theirs(dimensions, kind, sparse))
    if sparse:
        return tuple(
            [
                creation.astype(_along(n, k, len(dimensions)), kind, copy=False)
                for k, n in enumerate(dimensions)
            ]
        )
    result = creation.empty((len(dimensions), *dimensions), kind)
    for k in range(len(dimensions)):
        result[k] = creation.counted(0, 1, dimensions, k, kind)
    return result


def from_or_each(arrays: Any) -> Any:
    """Convert one NumPy array, or several, to atoll arrays."""
    if isinstance(arrays, (tuple, list)):
        return type(arrays)([from_numpy(m) for m in arrays])
    return from_numpy(arrays)


@native(creates=True)
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **options: Any) -> Any:
    shape = creation.shape_of(plain(shape))
    kind = np.dtype(dtype)
    if is_small(shape) or kind.char not in creation.COUNTED:
        args = [from_numpy(a) for a in np.indices(shape, dtype=dtype)]
    else:
        args = [creation.counted(0, 1, shape, k, kind) for k in range(len(shape))]
    return function(*args, **options)


@native(short=False, creates=True, keeps="arrays")
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    if copy and is_small(tuple([getattr(x, "size", 0) for x in xi])):
        result = at_hand(np.meshgrid, xi, {"sparse": sparse, "indexing": indexing})
        if result is not GENERAL:
            return result
    ndim = len(xi)
    axes = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        axes[:2] = [1, 0]
    output = []
    for x, axis in zip(xi, axes):
        array = array_of(x)
        output.append(shapes.reshape(array, tuple(-1 if k == axis else 1 for k in range(ndim))))
    if not sparse:
        output = list(names["broadcast_arrays"](*output))
    if copy:
        output = [shapes.copied(x) for x in output]
    return tuple(output)


@native(creates=True, keeps="")
def diag(v: Any, k: Any = 0) -> Any:
    v = Recorded(converts=True).accept(v)
    if v.ndim == 2:
        return v.diagonal(k)
    expect(v.ndim == 1)
    n = v.shape[0] + abs(k)
    result = creation.filled((n, n), 0, v.dtype)
    expect(is_large(result))
    _set_diagonal(result, k, v)
    return result


@native(creates=True)
def diagflat(v: Any, k: int = 0) -> Any:
    return diag(shapes.ravel(array_of(v)), k)


@native(kind=Kind.SQUARE, grows=True, creates=True)
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    expect(not is_small((n, n if m is None else m)))
    return _indices_under(tri(n, m, k, bool))


@native(kind=Kind.SQUARE, grows=True, creates=True)
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    expect(not is_small((n, n if m is None else m)))
    return _indices_under(names["logical_not"](tri(n, m, k - 1, bool)))


def _indices_under(mask: Any) -> tuple[Any, ...]:
    return tuple([index.copy() for index in names["nonzero"](mask)])


def _of_matrix(arr: Any) -> tuple[int, ...]:
    shape = np.shape(plain(arr)) if not hasattr(arr, "shape") else arr.shape
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return shape  # type: ignore[no-any-return]


@native()
def tril_indices_from(arr: Any, k: Any = 0) -> Any:
    rows, columns = _of_matrix(arr)
    return tril_indices(rows, k, columns)


@native()
def triu_indices_from(arr: Any, k: Any = 0) -> Any:
    rows, columns = _of_matrix(arr)
    return triu_indices(rows, k, columns)


@native(grows=True, creates=True)
def diag_indices(n: Any, ndim: int = 2) -> Any:
    return (names["arange"](n),) * ndim


@native()
@accepts(arr=Recorded(least=2))
def diag_indices_from(arr: Any) -> Any:
    expect(len(set(arr.shape)) == 1)
    return diag_indices(arr.shape[0], arr.ndim)


@native(grows=True, creates=True)
def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> Any:
    expect(not is_small((n, n)))
    return names["nonzero"](mask_func(names["ones"]((n, n), int), k) != 0)


class _Grid:
    """``mgrid`` and ``ogrid``: NumPy makes the axes, which are short; atoll makes the grid."""

    def __init__(self, original: Any) -> None:
        self._numpy = original

    def __getitem__(self, key: Any) -> Any:
        key = plain(key)
        if not isinstance(key, tuple):
            return self._axis(key)
        if self._numpy.sparse or len(key) < 2:
            return from_or_each(self._numpy[key])
        axes: list[Any] = list(np.ogrid[key])
        shape = (len(axes), *[axis.size for axis in axes])
        if is_small(shape) or not is_native(axes[0].dtype):
            return from_numpy(self._numpy[key])
        result = creation.empty(shape, np.result_type(*axes))
        for k, axis in enumerate(axes):
            result[k] = axis
        return result

    def _axis(self, key: Any) -> Any:
        """One slice alone is one axis, which may be long."""
        if isinstance(key, slice) and not isinstance(key.step, (complex, np.complexfloating)):
            start = 0 if key.start is None else key.start
            return names["arange"](start, key.stop, key.step)
        return from_or_each(self._numpy[key])


class _Joined:
    """``r_`` and ``c_``: NumPy reads the key."""

    def __init__(self, original: Any, axis: int, least: int) -> None:
        self._numpy = original
        self._form = axis, least
        """The axis of the join, and the minimum number of axes of the parts."""

    def _on_ranks(self, key: Any) -> Any:
        return joined_along(key, *self._form, at_end=self._form[0] < 0)

    def __getitem__(self, key: Any) -> Any:
        return by_numpy(self._numpy.__getitem__, (key,), {}, jointly=self._on_ranks)

    def __len__(self) -> int:
        return 0


for _name in ("mgrid", "ogrid"):
    publish(_name, _Grid(getattr(np, _name)), "data")
publish("r_", _Joined(np.r_, 0, 1), "data")
publish("c_", _Joined(np.c_, -1, 2), "data")
on_data("ix_")
