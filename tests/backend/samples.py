"""Numbers at which arithmetic goes wrong, in every dtype."""

from __future__ import annotations

import numpy as np

from atoll.backend.spec import DTYPES

_FLOATS = [0, -0.0, 1, -1, 0.5, -0.5, 2, 3, np.inf, -np.inf, np.nan, 100, -100, 1e4, np.pi, 0.1]
_FLOATS += [-0.7, 1.5, 2.5, 700, -745.2, 88.8, 1e-3, 300.7, -129.3, 4e9, 3e9, 2.0**31, 2.0**63]


def special(dtype):
    """The special numbers of a dtype."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        numbers = [0, 1, 2, 3, 7, 8, 63, 64, info.max, info.max - 1, info.min, info.min + 1]
        if dtype.kind == "i":
            numbers += [-1, -2, -7, -64]
        return np.array([n for n in numbers if info.min <= n <= info.max], dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        more = [info.max, info.min, info.tiny, 4 * info.tiny, info.smallest_subnormal]
        with np.errstate(over="ignore"):
            return np.array([*_FLOATS, *more, -info.smallest_subnormal], np.float64).astype(dtype)
    parts = special(f"f{dtype.itemsize // 2}")[:14]
    return (parts[:, None] + np.zeros_like(parts)).astype(dtype).ravel() + _imaginary(parts, dtype)


def _imaginary(parts, dtype):
    result = np.zeros(len(parts) ** 2, dtype)
    result.imag = np.tile(parts, len(parts))
    return result


def ordinary(dtype, count, seed=0):
    """Random numbers of a dtype, many of them small."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = generator.integers(info.min, info.max, count, dtype, endpoint=True)
        small = generator.integers(max(info.min, -12), 12, count).astype(dtype)
        return np.where(generator.integers(0, 2, count) == 1, wide, small)
    if dtype.kind == "f":
        scale = generator.choice([0.3, 1.0, 50.0], count)
        return (generator.standard_normal(count) * scale).astype(dtype)
    result = np.empty(count, dtype)
    result.real = ordinary(f"f{dtype.itemsize // 2}", count, seed + 1)
    result.imag = ordinary(f"f{dtype.itemsize // 2}", count, seed + 2)
    return result


def operands(dtypes, count=150):
    """Arrays that hold every combination of special numbers, then ordinary ones."""
    grids = np.meshgrid(*[special(dtype) for dtype in dtypes], indexing="ij")
    random = [ordinary(dtype, count, seed) for seed, dtype in enumerate(dtypes)]
    return [np.concatenate([grid.ravel(), more]) for grid, more in zip(grids, random, strict=True)]


NUMPY_CODES = {"?": "b1", "e": "f2", "f": "f4", "d": "f8", "F": "c8", "D": "c16"}
for _letter in "bhilqBHILQ":
    NUMPY_CODES[_letter] = np.dtype(_letter).kind + str(np.dtype(_letter).itemsize)

assert set(NUMPY_CODES.values()) == set(DTYPES)
