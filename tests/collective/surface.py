"""One call of every public function and method, on operands that lie on ranks.

Each call is written for a module that looks like NumPy and for a set of operands, so that NumPy and atoll
can both make it. A key begins with the name that is called; ``a.name`` is a method. What has no
call here stands in ``exceptions.EXEMPT``, with the reason.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .methods import METHODS, Call, changed, legacy, out, seeded

ROWS, COLUMNS, LENGTH = 24, 18, 60


def operands(
    rows: int = ROWS, columns: int = COLUMNS, length: int = LENGTH
) -> dict[str, np.ndarray[Any, Any]]:
    """Whole arrays: the same ones on every rank."""
    rng = np.random.default_rng(7)
    v = rng.normal(size=length)
    holes = rng.normal(size=(rows, columns))
    holes[holes > 1.2] = np.nan
    return {
        "a": rng.normal(size=(rows, columns)),
        "b": rng.random((rows, columns)) + 0.5,
        "n": rng.integers(0, 9, (rows, columns)),
        "p": rng.integers(1, 9, (rows, columns)),
        "m": rng.random((rows, columns)) > 0.5,
        "c": rng.normal(size=(rows, columns)) + 1j * rng.normal(size=(rows, columns)),
        "h": holes,
        "s": rng.random((columns, columns)) + 4 * np.eye(columns),
        "u": (rng.random((columns, columns)) < 0.9) * 1.0,
        "v": v,
        "w": rng.random(length) + 0.5,
        "k": rng.integers(0, 9, length),
        "j": rng.permutation(length),
        "l": rng.random(length) > 0.5,
        "t": np.sort(rng.normal(size=length)),
        "g": np.where(v > 1, np.nan, v),
        "z": rng.integers(0, 2, length).astype(np.uint8) * 3,
        "o": np.zeros(length),
        "O": np.zeros((rows, columns)),
        "r": np.zeros(columns),
    }


LINES = "vwkjltgzor"
"""The operands that have one axis."""


def _ufuncs() -> dict[str, Call]:
    """Every ufunc on operands of a kind that it takes; ``out=`` and the methods of some below."""
    calls: dict[str, Call] = {}
    for name in dir(np):
        ufunc = getattr(np, name)
        if not isinstance(ufunc, np.ufunc) or name in ("matmul", "matvec", "vecmat", "vecdot"):
            continue
        kinds = {one.partition("->")[0] for one in ufunc.types}
        fitting = [c for c in ("bb", "cc", "nn", "nb", "mm") if _types(c) in kinds]
        if ufunc.nin == 1:
            fitting = [c for c in "bcnm" if _types(c) in kinds]
        if not fitting:
            continue

        def call(np: Any, x: SimpleNamespace, name: str = name, given: str = fitting[0]) -> Any:
            return getattr(np, name)(*[getattr(x, one) for one in given])

        calls[name] = call
    return calls


def _types(operands: str) -> str:
    return "".join({"b": "d", "c": "D", "n": "l", "m": "?"}[one] for one in operands)


FUNCTIONS: dict[str, Call] = {
    # creation
    "arange": lambda np, x: np.arange(60) * 2.0,
    "linspace": lambda np, x: np.linspace(0, 1, 60),
    "logspace": lambda np, x: np.logspace(0, 1, 60),
    "geomspace": lambda np, x: np.geomspace(1, 2, 60),
    "zeros": lambda np, x: np.zeros((24, 18)),
    "ones": lambda np, x: np.ones((24, 18)),
    "full": lambda np, x: np.full((24, 18), 3.0),
    "full of a row": lambda np, x: np.full((24, 18), x.a[0]),
    "empty": lambda np, x: np.empty((24, 18)) * 0 == 5,
    "zeros_like": lambda np, x: np.zeros_like(x.a),
    "ones_like": lambda np, x: np.ones_like(x.a),
    "full_like": lambda np, x: np.full_like(x.a, 4),
    "empty_like": lambda np, x: np.empty_like(x.a) == 7j,
    "eye": lambda np, x: np.eye(24, 18, 1),
    "identity": lambda np, x: np.identity(18),
    "tri": lambda np, x: np.tri(24, 18, -1),
    "fromfunction": lambda np, x: np.fromfunction(lambda i, j: i * 2 + j, (24, 18)),
    "indices": lambda np, x: np.indices((24, 18)),
    "meshgrid": lambda np, x: np.meshgrid(x.v, x.r),
    "mgrid": lambda np, x: np.mgrid[0:24, 0:18],
    "ogrid": lambda np, x: np.ogrid[0:24, 0:18],
    "array": lambda np, x: np.array(x.a),
    "asarray": lambda np, x: np.asarray(x.a, np.float32),
    "asanyarray": lambda np, x: np.asanyarray(x.a),
    "ascontiguousarray": lambda np, x: np.ascontiguousarray(x.a.T),
    "asfortranarray": lambda np, x: np.asfortranarray(x.a),
    "asarray_chkfinite": lambda np, x: np.asarray_chkfinite(x.a),
    "require": lambda np, x: np.require(x.a, np.float32),
    "copy": lambda np, x: np.copy(x.a),
    "astype": lambda np, x: np.astype(x.a, np.int32),
    "diag": lambda np, x: np.diag(x.a, 1),
    "diag of a line": lambda np, x: np.diag(x.v[:18]),
    "diagflat": lambda np, x: np.diagflat(x.v[:18]),
    "tril": lambda np, x: np.tril(x.a, 1),
    "triu": lambda np, x: np.triu(x.a),
    "vander": lambda np, x: np.vander(x.v, 4),
    "bartlett": lambda np, x: np.bartlett(60),
    "blackman": lambda np, x: np.blackman(60),
    "hamming": lambda np, x: np.hamming(60),
    "hanning": lambda np, x: np.hanning(60),
    "kaiser": lambda np, x: np.kaiser(60, 3.0),
    "r_": lambda np, x: np.r_[x.v, x.w],
    "c_": lambda np, x: np.c_[x.v, x.w],
    "fromiter": lambda np, x: np.fromiter(range(60), float),
    "frombuffer": lambda np, x: np.frombuffer(bytes(480)),
    # views and shapes
    "reshape": lambda np, x: np.reshape(x.a, (18, 24)),
    "ravel": lambda np, x: np.ravel(x.a),
    "transpose": lambda np, x: np.transpose(x.a),
    "permute_dims": lambda np, x: np.permute_dims(x.a, (1, 0)),
    "matrix_transpose": lambda np, x: np.matrix_transpose(x.a),
    "swapaxes": lambda np, x: np.swapaxes(x.a, 0, 1),
    "moveaxis": lambda np, x: np.moveaxis(x.a, 0, 1),
    "rollaxis": lambda np, x: np.rollaxis(x.a, 1),
    "squeeze": lambda np, x: np.squeeze(x.a[None]),
    "expand_dims": lambda np, x: np.expand_dims(x.a, 1),
    "atleast_1d": lambda np, x: np.atleast_1d(x.v),
    "atleast_2d": lambda np, x: np.atleast_2d(x.v),
    "atleast_3d": lambda np, x: np.atleast_3d(x.a),
    "broadcast_to": lambda np, x: np.broadcast_to(x.v, (3, 60)),
    "broadcast_arrays": lambda np, x: np.broadcast_arrays(x.r, x.a),
    "flip": lambda np, x: np.flip(x.a),
    "fliplr": lambda np, x: np.fliplr(x.a),
    "flipud": lambda np, x: np.flipud(x.a),
    "rot90": lambda np, x: np.rot90(x.a),
    "diagonal": lambda np, x: np.diagonal(x.a, 1) * 1,
    "real": lambda np, x: np.real(x.c),
    "imag": lambda np, x: np.imag(x.c),
    "unstack": lambda np, x: np.unstack(x.a)[::5],
    "split": lambda np, x: np.split(x.a, 3),
    "array_split": lambda np, x: np.array_split(x.a, 5),
    "hsplit": lambda np, x: np.hsplit(x.a, 3),
    "vsplit": lambda np, x: np.vsplit(x.a, 3),
    "dsplit": lambda np, x: np.dsplit(x.a.reshape(4, 6, 18), 3),
    "resize": lambda np, x: np.resize(x.v, (4, 40)),
    "trim_zeros": lambda np, x: np.trim_zeros(np.maximum(x.t, 0)),
    # joins
    "concatenate": lambda np, x: np.concatenate([x.a, x.b], 1),
    "concatenate flat": lambda np, x: np.concatenate([x.a, x.b], None),
    "concatenate to": lambda np, x: np.concatenate([x.a, x.n], dtype=np.float32),
    "concatenate out": lambda np, x: out(
        lambda out: np.concatenate([x.v[:20], x.w[20:]], out=out), x.o
    ),
    "concatenate many": lambda np, x: np.concatenate([x.v] * 12),
    "concat": lambda np, x: np.concat([x.a, x.b]),
    "stack": lambda np, x: np.stack([x.a, x.b], 1),
    "stack out": lambda np, x: out(
        lambda out: np.stack([x.a[0], x.a[1]], out=out), x.O[:2]
    ),
    "vstack": lambda np, x: np.vstack([x.a, x.b]),
    "row_stack": lambda np, x: np.vstack([x.v, x.w]),
    "hstack": lambda np, x: np.hstack([x.a, x.b]),
    "dstack": lambda np, x: np.dstack([x.a, x.b]),
    "column_stack": lambda np, x: np.column_stack([x.v, x.w]),
    "append": lambda np, x: np.append(x.a, x.b),
    "block": lambda np, x: np.block([[x.a, x.b], [x.b, x.a]]),
    "roll": lambda np, x: np.roll(x.a, 5),
    "tile": lambda np, x: np.tile(x.a, (2, 3)),
    "repeat": lambda np, x: np.repeat(x.a, 2, 1),
    "repeat each": lambda np, x: np.repeat(x.v, x.k),
    "repeat rows": lambda np, x: np.repeat(x.a, np.arange(24) % 3, 0),
    "pad": lambda np, x: np.pad(x.a, 2),
    "pad edge": lambda np, x: np.pad(x.a, 2, "edge"),
    "pad wrap": lambda np, x: np.pad(x.a, ((1, 2), (3, 0)), "wrap"),
    "pad reflect": lambda np, x: np.pad(x.v, 3, "reflect"),
    "pad symmetric": lambda np, x: np.pad(x.v, 3, "symmetric"),
    "insert": lambda np, x: np.insert(x.v, 5, 3.0),
    "insert rows": lambda np, x: np.insert(x.a, [1, 5, 5], 2.0, axis=0),
    "delete": lambda np, x: np.delete(x.v, 5),
    "delete rows": lambda np, x: np.delete(x.a, [1, 5, 7], axis=0),
    "delete slice": lambda np, x: np.delete(x.a, slice(2, 9, 3), axis=1),
    # picks
    "where": lambda np, x: np.where(x.m, x.a, x.b),
    "where alone": lambda np, x: np.where(x.m),
    "nonzero": lambda np, x: np.nonzero(x.m),
    "flatnonzero": lambda np, x: np.flatnonzero(x.m),
    "argwhere": lambda np, x: np.argwhere(x.m),
    "take": lambda np, x: np.take(x.v, x.j),
    "take rows": lambda np, x: np.take(x.a, [3, 1, 1], 0),
    "take out": lambda np, x: out(lambda out: np.take(x.v, x.j, out=out), x.o),
    "compress": lambda np, x: np.compress(x.l, x.v),
    "compress out": lambda np, x: out(
        lambda out: np.compress([True, False] * 12, x.a, 0, out=out), x.O[:12]
    ),
    "extract": lambda np, x: np.extract(x.m, x.a),
    "take_along_axis": lambda np, x: np.take_along_axis(x.a, x.n, 0),
    "choose": lambda np, x: np.choose(x.n % 2, [x.a, x.b]),
    "choose wrap": lambda np, x: np.choose(x.n, [x.a, x.b, 3.0], mode="wrap"),
    "choose number": lambda np, x: np.choose(x.n % 2, [x.a.astype("f4"), 3]),
    "choose clip": lambda np, x: np.choose(x.n, [x.a, x.b], mode="clip"),
    "choose out": lambda np, x: out(lambda out: np.choose(x.k % 2, [x.v, x.w], out=out), x.o),
    "select": lambda np, x: np.select([x.a > 0, x.m], [x.a, x.b], 3.0),
    "select integers": lambda np, x: np.select([x.n > 5, x.n > 2], [x.n, x.p]),
    "piecewise": lambda np, x: np.piecewise(x.a, [x.a > 0, x.a < -1], [2.0, lambda y: y * 3, -1.0]),
    "clip": lambda np, x: np.clip(x.a, 0, 1),
    "clip out": lambda np, x: out(lambda out: np.clip(x.v, 0, 1, out=out), x.o),
    "tril_indices_from": lambda np, x: np.tril_indices_from(x.s),
    "triu_indices_from": lambda np, x: np.triu_indices_from(x.s),
    "tril_indices": lambda np, x: np.tril_indices(18),
    "triu_indices": lambda np, x: np.triu_indices(18),
    "diag_indices": lambda np, x: np.diag_indices(18),
    "diag_indices_from": lambda np, x: np.diag_indices_from(x.s),
    "mask_indices": lambda np, x: np.mask_indices(18, np.triu),
    "ix_": lambda np, x: x.a[np.ix_([3, 1, 5], [0, 2])],
    "unravel_index": lambda np, x: np.unravel_index(x.j, (6, 10)),
    "ravel_multi_index": lambda np, x: np.ravel_multi_index((x.k, x.k), (9, 9)),
    # changes
    "copyto": lambda np, x: changed(x.a, lambda a: np.copyto(a, x.b)),
    "copyto where": lambda np, x: changed(x.a, lambda a: np.copyto(a, x.b, where=x.m)),
    "copyto number where": lambda np, x: changed(x.a, lambda a: np.copyto(a, 3.0, where=x.m)),
    "put": lambda np, x: changed(x.v, lambda v: np.put(v, [3, 1, 70 - 60], [9.0, 8.0])),
    "put_along_axis": lambda np, x: changed(
        x.a, lambda a: np.put_along_axis(a, x.n[:1], 9.0, 0)
    ),
    "place": lambda np, x: changed(x.a, lambda a: np.place(a, x.m, [1.0, 2.0, 3.0])),
    "putmask": lambda np, x: changed(x.a, lambda a: np.putmask(a, x.m, x.b)),
    "putmask short": lambda np, x: changed(x.v, lambda v: np.putmask(v, x.l, [1.0, 2.0, 3.0])),
    "fill_diagonal": lambda np, x: changed(x.s, lambda s: np.fill_diagonal(s, 9.0)),
    "fill_diagonal wrap": lambda np, x: changed(
        x.a, lambda a: np.fill_diagonal(a, [1.0, 2.0], wrap=True)
    ),
    # order
    "sort": lambda np, x: np.sort(x.a, 0),
    "sort flat": lambda np, x: np.sort(x.a, None),
    "sort_complex": lambda np, x: np.sort_complex(x.v),
    "argsort": lambda np, x: np.argsort(x.a, 1),
    "argsort line": lambda np, x: np.argsort(x.v),
    "lexsort": lambda np, x: np.lexsort((x.v, x.k)),
    "partition": lambda np, x: np.partition(x.v, 20)[20],
    "argpartition": lambda np, x: x.v[np.argpartition(x.v, 20)[20]],
    "searchsorted": lambda np, x: np.searchsorted(x.t, x.v),
    "digitize": lambda np, x: np.digitize(x.a, [-1.0, 0.0, 1.0]),
    "digitize long": lambda np, x: np.digitize(x.v, x.t),
    "unique": lambda np, x: np.unique(x.k),
    "unique all": lambda np, x: np.unique(x.n, True, True, True),
    "unique rows": lambda np, x: np.unique(x.n[:, :1], axis=0),
    "unique_all": lambda np, x: tuple(np.unique_all(x.k)),
    "unique_counts": lambda np, x: tuple(np.unique_counts(x.k)),
    "unique_inverse": lambda np, x: tuple(np.unique_inverse(x.n)),
    "unique_values": lambda np, x: np.sort(np.unique_values(x.k)),
    # sets
    "union1d": lambda np, x: np.union1d(x.k, x.j),
    "intersect1d": lambda np, x: np.intersect1d(x.k, x.j),
    "intersect1d indices": lambda np, x: np.intersect1d(x.k, x.j, return_indices=True),
    "setdiff1d": lambda np, x: np.setdiff1d(x.j, x.k),
    "setxor1d": lambda np, x: np.setxor1d(x.j, x.k),
    "isin": lambda np, x: np.isin(x.n, x.k[:5]),
    "isin inverted": lambda np, x: np.isin(x.v, x.v[::3], invert=True),
    # folds
    "sum": lambda np, x: np.sum(x.a, 0),
    "sum out": lambda np, x: out(lambda out: np.sum(x.a, 0, out=out), x.r),
    "prod": lambda np, x: np.prod(x.b, 1),
    "max": lambda np, x: np.max(x.a, 0),
    "amax": lambda np, x: np.amax(x.a, 1),
    "min": lambda np, x: np.min(x.a),
    "amin": lambda np, x: np.amin(x.a, 0),
    "max out": lambda np, x: out(lambda out: np.max(x.a, 0, out=out), x.r),
    "all": lambda np, x: np.all(x.m, 0),
    "any": lambda np, x: np.any(x.m, 1),
    "mean": lambda np, x: np.mean(x.a, 0),
    "mean out": lambda np, x: out(lambda out: np.mean(x.a, 0, out=out), x.r),
    "std": lambda np, x: np.std(x.a, 0),
    "std out": lambda np, x: out(lambda out: np.std(x.a, 0, out=out), x.r),
    "var": lambda np, x: np.var(x.a, 1),
    "ptp": lambda np, x: np.ptp(x.a, 0),
    "ptp out": lambda np, x: out(lambda out: np.ptp(x.a, 0, out=out), x.r),
    "argmax": lambda np, x: np.argmax(x.a, 0),
    "argmin": lambda np, x: np.argmin(x.a),
    "argmax out": lambda np, x: out(
        lambda out: np.argmax(x.a, 0, out=out), x.k[:18]
    ),
    "count_nonzero": lambda np, x: np.count_nonzero(x.n, 0),
    "cumsum": lambda np, x: np.cumsum(x.a, 0),
    "cumsum out": lambda np, x: out(lambda out: np.cumsum(x.v, out=out), x.o),
    "cumprod": lambda np, x: np.cumprod(x.b, 1),
    "cumulative_sum": lambda np, x: np.cumulative_sum(x.v, include_initial=True),
    "cumulative_prod": lambda np, x: np.cumulative_prod(x.b, axis=0),
    "nansum": lambda np, x: np.nansum(x.h, 0),
    "nanprod": lambda np, x: np.nanprod(x.h),
    "nanmin": lambda np, x: np.nanmin(x.h, 0),
    "nanmax": lambda np, x: np.nanmax(x.h, 1),
    "nanmean": lambda np, x: np.nanmean(x.h, 0),
    "nanvar": lambda np, x: np.nanvar(x.h, 0),
    "nanstd": lambda np, x: np.nanstd(x.h),
    "nanstd out": lambda np, x: out(lambda out: np.nanstd(x.h, 0, out=out), x.r),
    "nanargmin": lambda np, x: np.nanargmin(x.h, 0),
    "nanargmax": lambda np, x: np.nanargmax(x.h),
    "nancumsum": lambda np, x: np.nancumsum(x.h, 0),
    "nancumprod": lambda np, x: np.nancumprod(x.h, 1),
    "median": lambda np, x: np.median(x.v),
    "median rows": lambda np, x: np.median(x.a, 0),
    "median all": lambda np, x: np.median(x.a, keepdims=True),
    "nanmedian": lambda np, x: np.nanmedian(x.h),
    "nanmedian rows": lambda np, x: np.nanmedian(x.h, 1),
    "percentile": lambda np, x: np.percentile(x.v, [10, 50, 99.5]),
    "percentile columns": lambda np, x: np.percentile(x.a, 30, axis=0),
    "quantile": lambda np, x: np.quantile(x.a, 0.3, method="lower"),
    "nanpercentile": lambda np, x: np.nanpercentile(x.h, [10, 60]),
    "nanquantile": lambda np, x: np.nanquantile(x.h, 0.4, axis=0),
    "average": lambda np, x: np.average(x.a, 0, x.b),
    "average returned": lambda np, x: np.average(x.a, 0, x.v[:24], returned=True),
    "bincount": lambda np, x: np.bincount(x.k),
    "bincount weights": lambda np, x: np.bincount(x.k, x.v, 20),
    "histogram": lambda np, x: np.histogram(x.a, 7),
    "histogram weights": lambda np, x: np.histogram(x.v, [-1.0, 0.0, 0.5, 2.0], weights=x.w),
    "histogram density": lambda np, x: np.histogram(x.v, 5, (-1, 1), density=True),
    "histogram auto": lambda np, x: np.histogram(x.v, "auto"),
    "histogram2d": lambda np, x: np.histogram2d(x.v, x.w, 5),
    "histogramdd": lambda np, x: np.histogramdd(x.a[:, :2], (3, 4))[0],
    "histogram_bin_edges": lambda np, x: np.histogram_bin_edges(x.v, "sturges"),
    "cov": lambda np, x: np.cov(x.a),
    "cov weights": lambda np, x: np.cov(x.a.T, fweights=x.p[:, 0], aweights=x.b[:, 0]),
    "corrcoef": lambda np, x: np.corrcoef(x.a, rowvar=False),
    # short compositions
    "diff": lambda np, x: np.diff(x.a, axis=0),
    "diff prepend": lambda np, x: np.diff(x.v, prepend=0.0, append=x.w[:2]),
    "ediff1d": lambda np, x: np.ediff1d(x.v),
    "ediff1d ends": lambda np, x: np.ediff1d(x.v, 9.0, [1.0, 2.0]),
    "gradient": lambda np, x: np.gradient(x.a),
    "gradient at places": lambda np, x: np.gradient(x.v, x.t),
    "interp": lambda np, x: np.interp(x.v, x.t, x.w),
    "interp few": lambda np, x: np.interp(x.a, [-1.0, 0.0, 2.0], [1.0, 3.0, 2.0], left=0.0),
    "convolve": lambda np, x: np.convolve(x.v, [1.0, 2.0, 1.0]),
    "convolve same": lambda np, x: np.convolve(x.v, x.w[:5], "same"),
    "correlate": lambda np, x: np.correlate(x.v, [1.0, 2.0, 3.0]),
    "trapezoid": lambda np, x: np.trapezoid(x.v, x.t),
    "trapezoid columns": lambda np, x: np.trapezoid(x.a, axis=0),
    "cross": lambda np, x: np.cross(x.a[:, :3], x.b[:, :3]),
    "unwrap": lambda np, x: np.unwrap(x.v * 5),
    "i0": lambda np, x: np.i0(x.v),
    "sinc": lambda np, x: np.sinc(x.v),
    "angle": lambda np, x: np.angle(x.c),
    "fix": lambda np, x: np.fix(x.v),
    "nan_to_num": lambda np, x: np.nan_to_num(x.h),
    "nan_to_num in place": lambda np, x: changed(x.h, lambda h: np.nan_to_num(h, copy=False)),
    "round": lambda np, x: np.round(x.a, 2),
    "around": lambda np, x: np.around(x.a),
    "round out": lambda np, x: out(lambda out: np.round(x.v, 1, out=out), x.o),
    "real_if_close": lambda np, x: np.real_if_close(x.c),
    "polyval": lambda np, x: np.polyval([1.0, 2.0, 3.0], x.v),
    "polyfit": lambda np, x: np.polyfit(x.v, x.w, 2),
    "vectorize": lambda np, x: np.vectorize(lambda e: e * 2)(x.v),
    "frompyfunc": lambda np, x: np.frompyfunc(lambda e: e * 2, 1, 1)(x.v).astype(float),
    "apply_along_axis": lambda np, x: np.apply_along_axis(lambda r: r.max() - r.min(), 0, x.a),
    "apply_over_axes": lambda np, x: np.apply_over_axes(np.sum, x.a, [0, 1]),
    "packbits": lambda np, x: np.packbits(x.z),
    "unpackbits": lambda np, x: np.unpackbits(x.z),
    # comparisons of wholes
    "isclose": lambda np, x: np.isclose(x.a, x.b),
    "isclose integers": lambda np, x: np.isclose(x.n, x.a),
    "allclose": lambda np, x: np.allclose(x.a, x.a),
    "array_equal": lambda np, x: np.array_equal(x.a, x.b),
    "array_equal nan": lambda np, x: np.array_equal(x.h, x.h, equal_nan=True),
    "array_equiv": lambda np, x: np.array_equiv(x.a, x.a),
    "isneginf": lambda np, x: np.isneginf(x.a),
    "isposinf": lambda np, x: np.isposinf(x.a),
    "isreal": lambda np, x: np.isreal(x.c),
    "iscomplex": lambda np, x: np.iscomplex(x.c),
    # products
    "matmul": lambda np, x: np.matmul(x.a, x.b.T),
    "matmul out": lambda np, x: out(lambda out: np.matmul(x.a, x.s, out=out), x.O),
    "matvec": lambda np, x: np.matvec(x.a, x.v[:18]),
    "vecmat": lambda np, x: np.vecmat(x.v[:24], x.a),
    "vecdot": lambda np, x: np.vecdot(x.a, x.b),
    "dot": lambda np, x: np.dot(x.a, x.b.T),
    "dot out": lambda np, x: out(lambda out: np.dot(x.a, x.s, out=out), x.O),
    "vdot": lambda np, x: np.vdot(x.a, x.b),
    "inner": lambda np, x: np.inner(x.a, x.b),
    "outer": lambda np, x: np.outer(x.v, x.w),
    "kron": lambda np, x: np.kron(x.a[:4, :3], x.b[:5, :6]),
    "tensordot": lambda np, x: np.tensordot(x.a, x.b, ((0,), (0,))),
    "einsum": lambda np, x: np.einsum("ij,kj->ik", x.a, x.b),
    "einsum diagonal": lambda np, x: np.einsum("ii->i", x.s) * 1,
    "einsum trace": lambda np, x: np.einsum("ii", x.s),
    "einsum sum": lambda np, x: np.einsum("ij->j", x.a),
    "einsum three": lambda np, x: np.einsum("ij,ij,j->i", x.a, x.b, x.v[:18]),
    "einsum optimized": lambda np, x: np.einsum("ij,kj,kl->il", x.a, x.b, x.a, optimize=True),
    "trace": lambda np, x: np.trace(x.a, 1),
    # linear algebra
    "linalg.norm": lambda np, x: np.linalg.norm(x.a),
    "linalg.norm rows": lambda np, x: np.linalg.norm(x.a, axis=1),
    "linalg.norm 1": lambda np, x: np.linalg.norm(x.a, 1),
    "linalg.norm inf": lambda np, x: np.linalg.norm(x.a, np.inf),
    "linalg.norm 3": lambda np, x: np.linalg.norm(x.v, 3),
    "linalg.norm 0": lambda np, x: np.linalg.norm(x.v, 0),
    "linalg.vector_norm": lambda np, x: np.linalg.vector_norm(x.a, axis=(0, 1), ord=3),
    "linalg.matrix_norm": lambda np, x: np.linalg.matrix_norm(x.a),
    "linalg.solve": lambda np, x: np.linalg.solve(x.s, x.v[:18]),
    "linalg.solve many": lambda np, x: np.linalg.solve(x.s, x.a.T),
    "linalg.inv": lambda np, x: np.linalg.inv(x.s),
    "linalg.det": lambda np, x: np.linalg.det(x.s),
    "linalg.slogdet": lambda np, x: tuple(np.linalg.slogdet(x.s)),
    "linalg.cholesky": lambda np, x: np.linalg.cholesky(x.s @ x.s.T),
    "linalg.qr": lambda np, x: np.linalg.qr(x.a),
    "linalg.qr of a wide one": lambda np, x: np.linalg.qr(x.a.T, "complete"),
    "linalg.svd of a tall one": lambda np, x: np.linalg.svd(x.a[:, :3])[1],
    "linalg.pinv of a wide one": lambda np, x: np.linalg.pinv(x.a[:, :3].T),
    "linalg.lstsq of a wide one": lambda np, x: np.linalg.lstsq(x.a[:, :3].T, x.v[:3])[0],
    "linalg.eigh of stacks": lambda np, x: np.linalg.eigh(x.b[:18].reshape(-1, 3, 3))[0],
    "linalg.lstsq": lambda np, x: np.linalg.lstsq(x.a, x.v[:24])[0],
    "linalg.svdvals": lambda np, x: np.linalg.svdvals(x.a),
    "linalg.eigvalsh": lambda np, x: np.linalg.eigvalsh(x.s + x.s.T),
    "linalg.lstsq of a tall one": lambda np, x: np.linalg.lstsq(x.a[:, :3], x.a[:, 4])[:2],
    "linalg.svdvals of a tall one": lambda np, x: np.linalg.svdvals(x.a[:, :3]),
    "linalg.norm 2 of a tall one": lambda np, x: np.linalg.norm(x.a[:, :3], 2),
    "linalg.cond of a tall one": lambda np, x: np.linalg.cond(x.c[:, :3]),
    "linalg.matrix_rank of a tall one": lambda np, x: np.linalg.matrix_rank(x.a[:, :3]),
    "linalg.solve pivots": lambda np, x: np.linalg.solve(x.a[:18].T @ x.b[:18] - 9, x.v[:18]),
    "linalg.det of stacks": lambda np, x: np.linalg.det(x.a.reshape(-1, 3, 3)),
    "linalg.matrix_power": lambda np, x: np.linalg.matrix_power(x.s, 3),
    "linalg.multi_dot": lambda np, x: np.linalg.multi_dot([x.a, x.s, x.b.T]),
    "linalg.outer": lambda np, x: np.linalg.outer(x.v, x.w),
    "linalg.trace": lambda np, x: np.linalg.trace(x.a),
    "linalg.diagonal": lambda np, x: np.linalg.diagonal(x.a) * 1,
    "linalg.matmul": lambda np, x: np.linalg.matmul(x.a, x.s),
    "linalg.tensordot": lambda np, x: np.linalg.tensordot(x.a, x.s, axes=1),
    "linalg.vecdot": lambda np, x: np.linalg.vecdot(x.a, x.b),
    "linalg.cross": lambda np, x: np.linalg.cross(x.a[:, :3], x.b[:, :3]),
    "linalg.matrix_transpose": lambda np, x: np.linalg.matrix_transpose(x.a),
    # transforms
    "fft.fft": lambda np, x: np.fft.fft(x.a, axis=0),
    "fft.ifft": lambda np, x: np.fft.ifft(x.c, axis=1),
    "fft.rfft": lambda np, x: np.fft.rfft(x.a, axis=1),
    "fft.irfft": lambda np, x: np.fft.irfft(x.c, axis=0),
    "fft.fft2": lambda np, x: np.fft.fft2(x.a),
    "fft.ifft2": lambda np, x: np.fft.ifft2(x.c),
    "fft.rfft2": lambda np, x: np.fft.rfft2(x.a),
    "fft.fftn": lambda np, x: np.fft.fftn(x.a),
    "fft.ifftn": lambda np, x: np.fft.ifftn(x.c),
    "fft.fft of a line": lambda np, x: np.fft.fft(x.v, norm="ortho"),
    "fft.ifft of a line": lambda np, x: np.fft.ifft(x.c.ravel(), 400),
    "fft.rfft of a line": lambda np, x: np.fft.rfft(x.v),
    "fft.irfft of a line": lambda np, x: np.fft.irfft(x.c.ravel()[:31]),
    "fft.rfftn": lambda np, x: np.fft.rfftn(x.a),
    "fft.irfftn": lambda np, x: np.fft.irfftn(x.c),
    "fft.fftshift": lambda np, x: np.fft.fftshift(x.a),
    "fft.ifftshift": lambda np, x: np.fft.ifftshift(x.a, 0),
    # random
    "random.random": lambda np, x: seeded(np, lambda rng: rng.random((24, 18))),
    "random.normal": lambda np, x: seeded(np, lambda rng: rng.normal(size=(24, 18))),
    "random.permutation": lambda np, x: seeded(np, lambda rng: rng.permutation(x.v)),
    "random.permutation of rows": lambda np, x: seeded(np, lambda rng: rng.permutation(x.a)),
    "random.permutation of a number": lambda np, x: seeded(np, lambda rng: rng.permutation(60)),
    "random.shuffle": lambda np, x: changed(
        x.v, lambda v: seeded(np, lambda rng: rng.shuffle(v))
    ),
    "random.choice": lambda np, x: seeded(np, lambda rng: rng.choice(x.v, 50)),
    "random.choice by chances": lambda np, x: seeded(
        np, lambda rng: rng.choice(x.v, 50, p=x.w / x.w.sum())
    ),
    "random.choice without": lambda np, x: seeded(
        np, lambda rng: rng.choice(x.v, 60, replace=False)
    ),
    "random.normal around": lambda np, x: seeded(np, lambda rng: rng.normal(x.a, x.b)) < 99,
    "random.old": lambda np, x: legacy(np, lambda r: r.normal(size=(24, 18))),
    "random.old rand": lambda np, x: legacy(np, lambda r: r.rand(24, 18)),
    "random.old permutation": lambda np, x: legacy(np, lambda r: r.permutation(x.v)),
    "random.old shuffle": lambda np, x: changed(
        x.v, lambda v: legacy(np, lambda r: r.shuffle(v))
    ),
    "random.old choice": lambda np, x: legacy(np, lambda r: r.choice(x.v, 50)),
    # ufuncs beyond a call
    "add out": lambda np, x: out(lambda out: np.add(x.a, x.b, out=out), x.O),
    "add where": lambda np, x: out(lambda out: np.add(x.a, x.b, out=out, where=x.m), x.O),
    "add.at": lambda np, x: changed(x.v, lambda v: np.add.at(v, x.k, x.w)),
    "add.reduceat": lambda np, x: np.add.reduceat(x.v, [0, 5, 30]),
    "add.outer": lambda np, x: np.add.outer(x.v, x.w),
    "add.reduce": lambda np, x: np.add.reduce(x.a, 0),
    "add.reduce out": lambda np, x: out(lambda out: np.add.reduce(x.a, 0, out=out), x.r),
    "maximum.accumulate": lambda np, x: np.maximum.accumulate(x.a, 0),
    "maximum.accumulate out": lambda np, x: out(
        lambda out: np.maximum.accumulate(x.a, 0, out=out), x.O
    ),
}  # fmt: skip

CALLS = {**_ufuncs(), **FUNCTIONS, **METHODS}
