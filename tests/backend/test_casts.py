"""``astype`` between all dtypes, out of range included."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from atoll import backend
from atoll.backend.spec import DTYPES

from .harness import Loop, same
from .samples import ordinary, special


def wide(dtype):
    """Numbers of a dtype around the limits of every other one."""
    numbers = [special(dtype), ordinary(dtype, 200)]
    if np.dtype(dtype).kind == "f":
        edges = [2.0**k + d for k in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1.5, -1, -0.5, 0, 1)]
        edges = np.array([*edges, *(-e for e in edges), 65504, 65519, 65520, 1e-8, 2.9e-8, 6e-5])
        odd = 1 + np.arange(64) * 2.0**-15 + 2.0**-40  # where two roundings would show
        with np.errstate(all="ignore"):
            numbers += [edges.astype(dtype), odd.astype(dtype), (odd * 2.0**-20).astype(dtype)]
    return np.concatenate(numbers)


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(dtype):
    x = wide(dtype)
    if backend.current().name == "numpy" and x.dtype.kind == "c":
        x = x[
            (x.real >= 0) & (x.real < 127)
        ]  # the rest is as NumPy's loop for these strides has it
    loop = Loop(x.shape)
    value = loop.load(x)
    outs = [np.empty(len(x), target) for target in DTYPES]
    for target, out in zip(DTYPES, outs, strict=True):
        loop.store(out, loop.cast(value, target))
    loop.run()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for target, out in zip(DTYPES, outs, strict=True):
            expected = x.astype(target)
            assert same(out, expected), (
                target,
                [(a, b, c) for a, b, c in zip(x, out, expected, strict=True) if b != c and b == b][
                    :4
                ],
            )


def test_flags_of_casts():
    for value, target, flag in (
        (np.nan, "i4", 8),
        (1e300, "i8", 8),
        (1e300, "f4", 2),
        (1e6, "f2", 2),
        (5.0, "u1", 0),
    ):
        x, out = np.array([value]), np.empty(1, target)
        loop = Loop((1,))
        loop.store(out, loop.cast(loop.load(x), target))
        assert loop.run()[0] == flag
