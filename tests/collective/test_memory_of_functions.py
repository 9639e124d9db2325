"""The rest of what ranks do together holds no more on a rank than a small multiple of its share, either."""

from __future__ import annotations

import pytest

from .test_memory import COLUMNS, LIMIT, ROWS, peak_of

HALF = ROWS // 2
PARTS = {
    "ediff1d": lambda np, a: np.ediff1d(a),
    "diff": lambda np, a: np.diff(a, axis=0),
    "diff with borders": lambda np, a: np.diff(a, axis=0, prepend=0.0),
    "trapezoid": lambda np, a: np.trapezoid(a, axis=0),
    "unwrap": lambda np, a: np.unwrap(a[:HALF] * 9, axis=0),
    "i0": lambda np, a: np.i0(a),
    "isclose": lambda np, a: np.isclose(a, 0.5, atol=0.1),
    "array_equal": lambda np, a: np.asarray(np.array_equal(a, a + 0.0)),
    "array_equiv": lambda np, a: np.asarray(np.array_equiv(a, a[:1])),
    "real_if_close": lambda np, a: np.real_if_close(a[:HALF] + 0j),
    "cumulative sum": lambda np, a: np.cumulative_sum(a, axis=0, include_initial=True),
    "nancumsum": lambda np, a: np.nancumsum(a, axis=0),
    "nanargmax": lambda np, a: np.nanargmax(a, axis=0),
    "nanmean": lambda np, a: np.nanmean(a, axis=0),
    "nanvar": lambda np, a: np.nanvar(a, axis=1),
    "nanmedian": lambda np, a: np.nanmedian(a[:HALF], axis=1),
    "nanquantile": lambda np, a: np.nanquantile(a[:HALF], 0.3, axis=1),
    "average": lambda np, a: np.average(a, axis=0, weights=a[:, 0]),
    "cov": lambda np, a: np.cov(a[:HALF, :64], rowvar=False, aweights=a[:HALF, 0]),
    "correlate": lambda np, a: np.correlate(a.ravel(), [1.0, 2.0, 1.0]),
    "kron": lambda np, a: np.kron(a[: ROWS // 4], [[1.0, 2.0]]),
    "outer": lambda np, a: np.outer(a[:, 0], a[0]),
    "apply_along_axis": lambda np, a: np.apply_along_axis(lambda x: x[::-1], 1, a),
    "apply_over_axes": lambda np, a: np.apply_over_axes(np.sum, a, [0]),
    "vectorize": lambda np, a: np.vectorize(lambda x: x + 1.0, otypes="d")(a[:128]),
    "packbits": lambda np, a: np.packbits(a > 0.5, axis=1),
    "unpackbits": lambda np, a: np.unpackbits((a[:, :64] * 255).astype("u1"), axis=1),
    "piecewise": lambda np, a: np.piecewise(a, [a > 0.5], [1.0, 0.0]),
    "select": lambda np, a: np.select([a > 0.5, a < 0.2], [a, -a], 0.0),
    "fill_diagonal": lambda np, a: np.fill_diagonal(a, 5.0),
    "nan_to_num": lambda np, a: np.nan_to_num(a),
    "partition": lambda np, a: np.sort(np.partition(a, 9, axis=1)[:, :10], axis=1),
    "argpartition": lambda np, a: np.sort(np.argpartition(a, 9, axis=1)[:, :10], axis=1),
    "sort_complex": lambda np, a: np.sort_complex(a[:HALF]),
    "unique_counts": lambda np, a: np.unique_counts(a)[1],
    "union": lambda np, a: np.union1d(a[:HALF], a[HALF:]),
    "difference": lambda np, a: np.setdiff1d(a, a[:HALF]),
    "exclusive or": lambda np, a: np.setxor1d(a[:HALF], a[ROWS // 4 : HALF]),
    "histogram2d": lambda np, a: np.histogram2d(a[:, 0], a[:, 1], 8)[0],
    "histogramdd": lambda np, a: np.histogramdd(a[:, :2], 5)[0],
    "edges": lambda np, a: np.histogram_bin_edges(a, 9),
    "unravel_index": lambda np, a: np.unravel_index((a * 999).astype(int), (10, 100))[1],
    "ravel_multi_index": lambda np, a: np.ravel_multi_index(
        ((a * 9).astype(int), (a * 7).astype(int)), (10, 10)
    ),
    "blocks": lambda np, a: np.block([[a[:HALF], a[:HALF]]]),
    "resize": lambda np, a: np.resize(a, (ROWS + 8, COLUMNS)),
    "trim_zeros": lambda np, a: np.trim_zeros(a.ravel()),
    "vander": lambda np, a: np.vander(a[:, 0], 64),
    "compress": lambda np, a: np.compress([True, False] * HALF, a, axis=0),
    "reflected": lambda np, a: np.pad(a, 3, "reflect"),
    "edged": lambda np, a: np.pad(a, 3, "edge"),
    "shuffle": lambda np, a: np.random.default_rng(3).shuffle(a),
    "inverse transform": lambda np, a: np.fft.ifft(a[:, : COLUMNS // 2], axis=0),
    "real transform": lambda np, a: np.fft.rfft(a, axis=1),
    "inverse real transform": lambda np, a: np.fft.irfft(a[:HALF], axis=1),
    "transform of planes": lambda np, a: np.fft.fft2(a[: ROWS // 4]),
    "shifted": lambda np, a: np.fft.fftshift(a),
    "einsum": lambda np, a: np.einsum("ij,ij->i", a, a),
    "einsum over rows": lambda np, a: np.einsum("ij,ik->jk", a, a),
    "vecdot": lambda np, a: np.vecdot(a, a),
    "matvec": lambda np, a: np.matvec(a, a[0]),
    "vecmat": lambda np, a: np.vecmat(a[:, 0], a),
    "cross": lambda np, a: np.cross(a[:, :3], a[:, 3:6]),
    "norms": lambda np, a: np.linalg.norm(a, axis=1),
    "trace": lambda np, a: np.asarray(np.trace(a)),
    "polyfit": lambda np, a: np.polyfit(a[:, 0], a[:, 1], 2),
    "round": lambda np, a: np.round(a, 2),
    "clip": lambda np, a: np.clip(a, 0.2, 0.8),
    "ptp": lambda np, a: np.ptp(a, axis=0),
    "gradient": lambda np, a: np.gradient(a, axis=0),
    "least squares": lambda np, a: np.linalg.lstsq(a[:, :8], a[:, 9])[0],
    "copyto": lambda np, a: np.copyto(a, 1.0, where=a > 0.5),
    "by another order": lambda np, a: np.lexsort((a[:, 1], a[:, 0])),
    "interpolated at its own": lambda np, a: np.interp(a[:, :64], [0.0, 1.0], [1.0, 2.0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_functions(name):
    maps = "nc" if len(name) % 2 else "bb"
    assert peak_of(PARTS[name], maps) < LIMIT
