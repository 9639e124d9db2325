"""Kernels for other processors: the same bits where this one can run them, and code without anything left open.

What a kernel adds up in which order, and what it rounds, is all in its LLVM text: no instruction there may be reassociated or
contracted. So the text for any width of vectors is run here, and compared; code for processors that cannot be run here
is read.
"""

from __future__ import annotations

import dataclasses
import math
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

from atoll.backend.llvm import machine
from atoll.backend.llvm.compile import Compiler, emit
from atoll.backend.llvm.machine import Machine, vector_name
from atoll.backend.llvm.nest import build
from atoll.backend.llvm.ufuncs import supported
from atoll.backend.spec import DTYPES
from atoll.config import config
from tests.backend.harness import Loop, code, same
from tests.backend.llvm.test_flags import UNDERFLOW
from tests.backend.samples import ordinary
from tests.backend.test_ufuncs import LOOPS, kernel_name

HERE = machine.machine()
FUNCTIONS = machine._VECTOR_FUNCTIONS


def functions(isa):
    """All vector functions of ``isa``, whether or not they are here."""
    return tuple(vector_name(isa, name, size, n) for name, n in FUNCTIONS for size in (4, 8))


AVX512 = "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx2,+fma,+f16c,-prefer-256-bit"
OTHERS = {
    "avx512": Machine("x86_64-unknown-linux-gnu", "skylake-avx512", AVX512, 64, "e", functions("e"), ""),
    "sse4": Machine("x86_64-unknown-linux-gnu", "nehalem", "+sse4.2", 16, "b", functions("b"), ""),
    "sse2": Machine("x86_64-unknown-linux-gnu", "x86-64", "", 16, "", (), ""),
    "neon": Machine("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon", 16, "n", functions("n"), ""),
}  # fmt: skip


def everything(dtypes):
    """A specification with every ufunc on ``dtypes``, some casts, strides and reductions."""
    arrays = [ordinary(dtype, 60) for dtype in dtypes]
    strided = [np.repeat(array, 2)[::2] for array in arrays]
    loop = Loop((60,))
    values = [loop.load(array) for array in arrays]
    others = [loop.load(array) for array in strided]
    for name, number, dtype in LOOPS[dtypes]:
        if supported(kernel_name(name, number), dtypes, dtype):
            chosen = values if len(loop.body) % 2 else others
            loop.store(np.empty(60, dtype), loop.call(kernel_name(name, number), dtype, *chosen))
    for target in DTYPES:
        loop.store(np.empty(120, target)[::2], loop.cast(values[0], target))
    loop.reduce("add", code(arrays[0].dtype), values[0])
    if dtypes[0][0] in "iuf":
        loop.reduce("argmax", dtypes[0], values[0], position=loop.index(0))
        loop.reduce("minimum", dtypes[0], values[0])
    return loop.spec()


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "dtypes", [("f8", "f8"), ("f2",), ("i2", "i2"), ("c8", "c8")], ids=".".join
)
def test_code_for_other_processors(name, dtypes):
    """LLVM takes the text; nothing that would have to be found in a library is called but libm."""
    other = OTHERS[name]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        llvm.Target.from_triple(other.triple)
    except RuntimeError:
        pytest.skip(f"this LLVM makes no code for {name}")
    text = build(everything(dtypes), "kernel", other)
    assert len(emit(text, other)) > 1000


LEFT_OUT = ("native", "-avx512f", "-avx2", "-sse3") if HERE.x86 else ("native",)
LOOSE = re.compile(r"\b(fast|reassoc|contract|afn|arcp|nsz|nnan|ninf|fmuladd)\b|reduce\.f")
CONTRACTED = re.compile(r"\b(vfn?m(add|sub)\w*|fn?m(add|sub)|fml[as])\b")


def machines():
    """What this processor can stand for: less of its features, and wider vectors than it has."""
    found = {name: machine.machine_without(name) for name in LEFT_OUT}
    for size in (32, 64):
        if size > HERE.vector_bytes:
            wide = dataclasses.replace(HERE, vector_bytes=size, isa="", functions=())
            found[f"{size} bytes"] = wide
    return found


def drafts(other):
    """How a kernel for a machine is made, in the quicker way: its order is in the text."""
    compiler = Compiler(other)
    return lambda spec: compiler.kernel(spec, 0)


def folds(shape, dtypes, axes=None, extra=0, masked=False, stored=False):
    """A loop with sums, products and extremes of arrays of some dtypes, and the results by row."""
    loop, outs = Loop(shape), []
    for number, dtype in enumerate(dtypes):
        x = ordinary(dtype, math.prod(shape), number).reshape(shape)
        if dtype[0] in "fc":
            x = np.where(np.abs(x) > 1e3, 1, x).astype(dtype)
            x.flat[:: 3 + number] *= -0.0 if dtype[0] == "f" else 1
        value = loop.load(x)
        for turn in range(extra):
            value = loop.call("add", dtype, value, loop.const(float(turn), dtype))
        if masked:
            mask = loop.load(np.arange(x.size).reshape(shape) % 5 != 0)
            value = loop.where(mask, value, loop.const(1.0, dtype))
        names = ("add", "multiply") if dtype[0] in "fc" else ("add",)
        for name in names + (("minimum", "maximum", "fmin") if dtype[0] == "f" else ()):
            operand = -1
            if axes is not None:
                kept = [1 if axis in axes else n for axis, n in enumerate(shape)]
                start = getattr(np, name).identity
                outs.append(np.full(kept, x.flat[0] if start is None else start, dtype))
                operand = loop.operand(outs[-1], "rw")
            loop.reduce(name, dtype, value, axes, operand)
        if stored:
            outs.append(np.empty_like(x))
            loop.store(outs[-1], value)
    return loop, outs


CASES = {
    "lines": lambda: [folds((n,), [d]) for n in (3, 40_003) for d in ("f2", "f4", "f8", "c8")],
    "rows": lambda: [folds((9, n), [d]) for n in (100, 700) for d in ("f4", "f8", "c16")],
    "dtypes": lambda: [folds((40, n), ["f4", "f8", "c8", "i2"]) for n in (120, 601)],
    "bodies": lambda: [folds((3, 333), ["f8", "f4"], extra=n) for n in (8, 30)],
    "masks": lambda: [folds((50, 61), [d], masked=True) for d in ("f4", "f8")],
    "stored": lambda: [folds((70_001,), [d], stored=True) for d in ("f4", "f8")],
    "results": lambda: [
        folds((7, n), ["f4", "f8"], axes) for n in (70, 1030) for axes in [(0,), (1,)]
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_folds_have_the_same_bits_on_every_processor(case):
    expected = None
    with config(kernel_cache="off"):
        for name, other in machines().items():
            make, found = drafts(other), []
            for loop, outs in CASES[case]():
                chunk = max(1, loop.shape[0] // 2)
                found += [*loop.run(chunk, make=make)[1], *outs]
            expected = expected or found
            for k, (one, wanted) in enumerate(zip(found, expected, strict=True)):
                assert same(one, wanted), (name, k, one, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("c8", "c8"), ("f4",)], ids=".".join)
def test_arithmetic_has_the_same_bits_and_flags_on_every_processor(dtypes):
    """What no library computes; the C library has vector functions of their own for each kind of processor."""
    expected = None
    with config(kernel_cache="off"):
        for name, other in machines().items():
            plain = dataclasses.replace(other, isa="", functions=())
            found, make = [], drafts(plain)
            for ufunc, number, dtype in LOOPS[dtypes]:
                if supported(kernel_name(ufunc, number), dtypes, dtype):
                    arrays = [ordinary(one, 60, k) for k, one in enumerate(dtypes)]
                    loop, out = Loop((60,)), np.empty(60, dtype)
                    values = [loop.load(array) for array in arrays]
                    loop.store(out, loop.call(kernel_name(ufunc, number), dtype, *values))
                    flags, _ = loop.run(make=make)
                    found.append((ufunc, flags & ~UNDERFLOW, out))
            expected = expected or found
            for (ufunc, flags, out), (_, raised, wanted) in zip(found, expected, strict=True):
                assert flags == raised, (name, ufunc)
                assert same(out, wanted), (name, ufunc)


@pytest.mark.parametrize("name", [*OTHERS, *LEFT_OUT])
def test_nothing_is_left_open_in_the_code(name):
    """No instruction may be reassociated, contracted or reduced in an order of LLVM's; none is."""
    other = OTHERS.get(name) or machine.machine_without(name)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(other.triple)
    except RuntimeError:
        pytest.skip(f"this LLVM makes no code for {name}")
    x, y = np.ones((5, 700)), np.ones((5, 700), "f4")
    loop = Loop(x.shape)
    for dtype, array in (("f8", x), ("f4", y)):
        value = loop.load(array)
        product = loop.call("multiply", dtype, value, value)
        total = loop.call("add", dtype, product, value)  # what a compiler might contract
        for ufunc in ("exp", "arctan2", "power", "hypot", "sinh", "divide", "logaddexp"):
            both = [total, value][: getattr(np, ufunc).nin]
            total = loop.call("subtract", dtype, total, loop.call(ufunc, dtype, *both))
        loop.store(array, total)
        loop.reduce("add", dtype, loop.call("add", dtype, product, product))
    text = build(loop.spec(), "kernel", other)
    assert not LOOSE.findall(text)
    for effort in (0, 3):
        made = target.create_target_machine(
            cpu=other.cpu, features=other.features, opt=effort, jit=True
        )
        found = CONTRACTED.findall(made.emit_assembly(llvm.parse_assembly(text)))
        assert not found, found[:3]


@pytest.mark.parametrize("lanes", [16, 32])
def test_results_without_vector_functions(lanes):
    """Plain libm at any width of vectors: the same values to 4 units, arithmetic to the bit."""
    if not HERE.x86:
        pytest.skip("widths are tried on x86")
    other = dataclasses.replace(HERE, vector_bytes=lanes, isa="", functions=())
    x, y = np.abs(ordinary("f8", 101)) + 0.1, ordinary("f8", 101, 1)
    names = ("exp", "log", "sin", "multiply", "less", "maximum", "floor_divide", "hypot")
    with config(kernel_cache="off"):
        compiler = Compiler(other)
        loop, outs = Loop(x.shape), []
        a, b = loop.load(x), loop.load(y)
        for name in names:
            ufunc = getattr(np, name)
            inputs, arrays = (a, b)[: ufunc.nin], (x, y)[: ufunc.nin]
            expected = ufunc(*arrays)
            outs.append((np.empty_like(expected), expected))
            loop.store(outs[-1][0], loop.call(name, code(expected.dtype), *inputs))
        loop.run(make=compiler.kernel)
    for name, (out, expected) in zip(names, outs, strict=True):
        if name in ("exp", "log", "sin", "hypot"):
            assert np.allclose(out, expected, 4e-16 * 4, 0), name
        else:
            assert same(out, expected), name
