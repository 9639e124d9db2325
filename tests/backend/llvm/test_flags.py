"""Floating-point flags: a kernel raises what NumPy raises, element by element."""

from __future__ import annotations

import numpy as np
import pytest

from atoll.backend.llvm.compile import compile_kernel
from atoll.backend.llvm.ufuncs import can_flag, supported
from tests.backend.harness import Block, Loop, code, run_block
from tests.backend.samples import operands
from tests.backend.test_ufuncs import LOOPS, kernel_name

UNDERFLOW = 4
INTEGERS = {"floor_divide", "remainder", "fmod", "divmod", "reciprocal"}
PAIRS = [key for key in LOOPS if key[0][0] == "f" and code(np.dtype(key[0])) != "f2"]
PAIRS += [
    ("c16",),
    ("c16", "c16"),
    ("i1", "i1"),
    ("i4", "i4"),
    ("i8", "i8"),
    ("u8", "u8"),
    ("f2", "f2"),
]


class Flags:
    """The flags that NumPy raises in a call."""

    def __init__(self):
        self.found = 0

    def __call__(self, kind, flag):
        self.found |= flag


def few(dtypes):
    """Every pair of special numbers once (a sample of them for complex ones)."""
    arrays = operands(dtypes, 20)
    step = 61 if dtypes == ("c16", "c16") else 1
    return [array[::step] for array in arrays]


def excused(name, dtypes, row):
    """Extreme angles, half-precision powers, and what NumPy does not do alike on all processors: with an
    infinite exponent a power is exact, but NumPy's loop for AVX-512 divides or overflows on the way."""
    if name == "tan":
        return abs(row[0]) > np.finfo(row[0].dtype).max / 2
    return name == "power" and (dtypes[0] == "f2" or np.isinf(row[1]))


@pytest.mark.slow
@pytest.mark.parametrize("dtypes", sorted(PAIRS), ids=".".join)
def test_flags(dtypes):
    columns = few(dtypes)
    for name, number, dtype in LOOPS[dtypes]:
        kernel = kernel_name(name, number)
        if number or not supported(kernel, dtypes, dtype):
            continue
        if dtypes[0][0] in "iu" and name not in INTEGERS:
            continue
        ufunc = getattr(np, name)
        one = [column[:1].copy() for column in columns]
        loop, out = Loop((1,)), np.empty(1, dtype)
        values = [loop.load(array) for array in one]
        outs = [out]
        loop.store(out, loop.call(kernel, dtype, *values))
        for other in range(1, ufunc.nout):
            outs.append(np.empty(1, LOOPS[dtypes][0][2] if name != "frexp" else "i4"))
            loop.store(outs[-1], loop.call(f"{name}.{other}", code(outs[-1].dtype), *values))
        compiled = compile_kernel(loop.spec())
        block = Block(compiled.layout)
        layout, words = compiled.layout, block.words
        words[layout.chunk] = words[layout.extents] = 1
        words[layout.pointers : layout.strides] = [a.ctypes.data for a in loop.arrays]
        words[layout.strides : layout.scalars] = [a.itemsize for a in loop.arrays]
        flags = Flags()
        wrong = []
        with np.errstate(all="call", call=flags):
            for row in zip(*columns, strict=True):
                for array, value in zip(one, row, strict=True):
                    array[0] = value
                flags.found = words[0] = 0
                ufunc(*one)
                run_block(compiled.address, block.address, 1, 1)
                if (int(words[0]) ^ flags.found) & ~UNDERFLOW and not excused(name, dtypes, row):
                    wrong.append((row, int(words[0]), flags.found))
        assert not wrong, (name, len(wrong), wrong[:4])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers_with_infinite_exponents_are_exact(dtype):
    bases = np.array([0.0, -0.0, 0.5, 1.0, 2.0, np.finfo(dtype).max, np.inf, np.nan] * 5, dtype)
    for exponent in (np.inf, -np.inf):
        loop, out = Loop(bases.shape), np.empty_like(bases)
        exponents = loop.load(np.full_like(bases, exponent))
        loop.store(out, loop.call("power", dtype, loop.load(bases), exponents))
        assert loop.run()[0] == 0
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(out, bases ** np.full_like(bases, exponent))


@pytest.mark.slow
def test_masked_lanes_raise_nothing():
    """The end of a row is padded with its own elements, so padding divides nothing by zero."""
    for length in range(1, 40):
        a, b = np.zeros(64), np.arange(64.0) + 1
        b[length:] = 0
        out = np.empty(length)
        loop = Loop((length,))
        quotient = loop.call("divide", "f8", loop.load(a[:length]), loop.load(b[:length]))
        index = loop.cast(loop.index(0), "f8")
        gap = loop.call("subtract", "f8", index, loop.const(float(length), "f8"))
        loop.store(out, loop.call("divide", "f8", quotient, gap))
        assert loop.run()[0] & ~UNDERFLOW == 0


def test_flags_are_cleared_first_and_kept_in_the_block():
    x = np.array([1.0, 0.0, 2.0])
    out = np.empty_like(x)
    loop = Loop(x.shape)
    loop.store(out, loop.call("reciprocal", "f8", loop.load(x)))
    assert loop.run()[0] == 1
    x[1] = 4.0
    assert loop.run()[0] == 0


def test_comparing_nans_is_silent():
    x = np.array([np.nan, 1.0] * 20)
    outs = [np.empty(40, bool) for _ in range(6)]
    loop = Loop(x.shape)
    value, zero = loop.load(x), loop.const(0.0, "f8")
    names = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    for name, out in zip(names, outs, strict=True):
        loop.store(out, loop.call(name, "b1", value, zero))
    loop.reduce("maximum", "f8", value)
    assert loop.run()[0] == 0


def test_which_instructions_can_raise():
    loop = Loop((4,))
    x = loop.load(np.ones(4))
    y = loop.call("divide", "f8", x, loop.call("less", "b1", x, x))
    loop.call("sin", "f8", y)
    loop.cast(y, "i4")
    assert can_flag(loop.spec()) == (0, 0, 15, 12, 8)
