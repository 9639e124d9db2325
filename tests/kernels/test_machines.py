"""Kernels for other processors: run where this one can, else only compiled."""

from __future__ import annotations

import dataclasses

import llvmlite.binding as llvm
import numpy as np
import pytest

from atoll.config import config
from atoll.kernels import DTYPES, compile, machine, supported
from atoll.kernels.compile import Compiler, emit
from atoll.kernels.machine import Machine, vector_name
from atoll.kernels.nest import build

from .harness import Loop, code, same
from .samples import ordinary
from .test_ufuncs import LOOPS, kernel_name

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


@pytest.mark.parametrize("lanes", [16, 32])
def test_results_without_vector_functions(lanes, monkeypatch):
    """Plain libm at any width of vectors: the same values to 4 units, arithmetic to the bit."""
    if not HERE.x86:
        pytest.skip("widths are tried on x86")
    other = dataclasses.replace(HERE, vector_bytes=lanes, isa="", functions=())
    monkeypatch.setattr(compile, "machine", lambda: other)
    x, y = np.abs(ordinary("f8", 101)) + 0.1, ordinary("f8", 101, 1)
    names = ("exp", "log", "sin", "multiply", "less", "maximum", "floor_divide", "hypot")
    with config(kernel_cache="off"):
        compiler = Compiler()
        monkeypatch.setattr(compile, "compiler", compiler)
        loop, outs = Loop(x.shape), []
        a, b = loop.load(x), loop.load(y)
        for name in names:
            ufunc = getattr(np, name)
            inputs, arrays = (a, b)[: ufunc.nin], (x, y)[: ufunc.nin]
            expected = ufunc(*arrays)
            outs.append((np.empty_like(expected), expected))
            loop.store(outs[-1][0], loop.call(name, code(expected.dtype), *inputs))
        loop.reduce("add", "f8", a)
        _, (total,) = loop.run()
    for name, (out, expected) in zip(names, outs, strict=True):
        if name in ("exp", "log", "sin", "hypot"):
            assert np.allclose(out, expected, 4e-16 * 4, 0), name
        else:
            assert same(out, expected), name
    plain = Loop(x.shape)  # on this machine as it is: sums are the same on all
    plain.reduce("add", "f8", plain.load(x))
    monkeypatch.undo()
    assert same(plain.run()[1][0], total)
