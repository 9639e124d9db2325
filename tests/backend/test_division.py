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


BY_NUMBER = ("floor_divide", "remainder", "divmod.0", "divmod.1")


def check_by_number(a, divisors):
    """Quotients and remainders by numbers of the whole nest, and the flags that they raise."""
    kind = code(a.dtype)
    loop = Loop(a.shape)
    first, number = loop.load(a), loop.scalar(1, kind)
    found = [np.empty_like(a) for _ in BY_NUMBER]
    for name, out in zip(BY_NUMBER, found, strict=True):
        loop.store(out, loop.call(name, kind, first, number))
    lowest = np.iinfo(a.dtype).min
    for divisor in divisors:
        b = a.dtype.type(divisor)
        loop.numbers[0] = b
        flags, _ = loop.run()
        with np.errstate(all="ignore"):
            wanted = np.floor_divide(a, b), np.remainder(a, b), *np.divmod(a, b)
        for name, out, expected in zip(BY_NUMBER, found, wanted, strict=True):
            np.testing.assert_array_equal(out, expected, f"{name} by {b}")
        overflows = a.dtype.kind == "i" and b == -1 and (a == lowest).any()
        assert flags == (1 if b == 0 else 2 if overflows else 0), b


@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_all_bytes_by_every_number(dtype):
    every = np.arange(256).astype(dtype)
    check_by_number(np.concatenate([every, every[:13]]), every.tolist())


@pytest.mark.parametrize("dtype", ["i2", "u2"])
def test_all_short_integers_by_many_numbers(dtype):
    every = np.arange(1 << 16).astype(dtype)
    info, random = np.iinfo(dtype), np.random.default_rng(4)
    some = random.integers(info.min, info.max, 60, dtype, endpoint=True).tolist()
    edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 10, 255, 256, 257]
    below = [-n for n in (1, 2, 3, 7, 10, 255, 256, 257)] if info.min else []
    check_by_number(every, [*some, *edges, *below])


@pytest.mark.parametrize("dtype", ["i4", "u4"])
def test_multiples_and_their_neighbours_by_many_numbers(dtype):
    info, random = np.iinfo(dtype), np.random.default_rng(5)
    numbers = [1, 2, 3, 5, 7, 10, 641, 6700417, 65535, 65536, 65537, info.max, info.max - 1, 0]
    numbers += random.integers(1, info.max, 40).tolist()
    numbers += (info.max >> random.integers(0, 30, 40)).tolist()
    if info.min:
        numbers += [-n for n in numbers] + [info.min, info.min + 1]
    for divisor in numbers:
        most = max(1, info.max // max(1, abs(divisor)))
        multiples = abs(divisor) * random.integers(0, most, 1000, endpoint=True)
        multiples = np.concatenate([multiples, [0, most * abs(divisor)]])
        near = np.concatenate([multiples + beside for beside in (-1, 0, 1)])
        if info.min:
            near = np.concatenate([near, -near])
        ends = [info.min, info.min + 1, info.max - 1, info.max]
        a = np.concatenate([np.clip(near, info.min, info.max), ends]).astype(dtype)
        check_by_number(a, [divisor])


def test_a_constant_divisor():
    a = np.arange(-1000, 1000, dtype="i2")
    for divisor in (7, -3, 0, -1):
        loop = Loop(a.shape)
        first, number = loop.load(a), loop.const(divisor, "i2")
        out = np.empty_like(a)
        loop.store(out, loop.call("floor_divide", "i2", first, number))
        flags, _ = loop.run()
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(out, a // np.int16(divisor))
        assert flags == (1 if divisor == 0 else 0)


def test_unwanted_elements_are_not_divided():
    a = np.arange(50, dtype="i4")
    for wanted in (a < 0, a > 10):
        loop = Loop(a.shape)
        out = np.zeros_like(a)
        quotient = loop.call("floor_divide", "i4", loop.load(a), loop.scalar(np.int32(0), "i4"))
        loop.store(out, quotient, loop.load(wanted))
        flags, _ = loop.run()
        assert flags == (1 if wanted.any() else 0)
