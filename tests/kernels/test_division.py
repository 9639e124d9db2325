"""Quotients of whole numbers are exact, although they are computed as floating point."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import Loop, code

NAMES = ("floor_divide", "remainder", "fmod")


def check(a, b):
    loop = Loop(a.shape)
    kind, first, second = code(a.dtype), loop.load(a), loop.load(b)
    found = [np.empty_like(a) for _ in NAMES]
    for name, out in zip(NAMES, found, strict=True):
        loop.store(out, loop.call(name, kind, first, second))
    loop.run()
    with np.errstate(all="ignore"):
        for name, out in zip(NAMES, found, strict=True):
            np.testing.assert_array_equal(out, getattr(np, name)(a, b), name)


@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_all_bytes(dtype):
    every = np.arange(256).astype(dtype)
    check(*[one.ravel() for one in np.meshgrid(every, every)])


@pytest.mark.parametrize("dtype", ["i2", "u2", "i4", "u4", "i8", "u8"])
def test_beside_multiples(dtype):
    random, info = np.random.default_rng(6), np.iinfo(dtype)
    for size in (8, 16, 31, 49, 50, 51, 53, 64):
        for other in (3, 16, size):
            a, b = (
                random.integers(
                    max(info.min, -(2**n)), min(info.max, 2**n), 3001, dtype, endpoint=True
                )
                for n in (size, other)
            )
            b[b == 0] = 1
            with np.errstate(all="ignore"):
                multiples = a // b * b
                for beside in (-1, 0, 1):
                    check(multiples + np.array(beside).astype(dtype), b)
