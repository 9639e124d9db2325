"""Compiling: once, from disk where it can be, small in memory, and only when asked."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from atoll import policy
from atoll.backend.llvm.compile import Compiler, compile_kernel, kernel_text
from atoll.backend.llvm.kernel import Layout
from atoll.backend.spec import Instruction, KernelSpec, Operand, Reduction
from atoll.config import config
from atoll.context import statistics
from tests.backend.harness import Block, Loop, run_block


def laplace(*extra):
    """The five-point step with the sum of its squared changes."""
    operands = (*[Operand("f8", "r", "unit", 1)] * 5, Operand("f8", "w", "unit", 2))
    body = [Instruction("load", "f8", (k,)) for k in range(5)]
    body += [Instruction("scalar", "f8", (k,)) for k in range(3)]
    steps = [("add", 0, 1), ("multiply", 8, 5), ("add", 2, 3), ("multiply", 10, 6), ("add", 9, 11)]
    for name, a, b in [*steps, ("multiply", 12, 7), ("subtract", 13, 4), ("multiply", 14, 14)]:
        body.append(Instruction("call", "f8", (a, b), name))
    body += [Instruction("store", "", (5, 13)), *extra]
    return KernelSpec(2, operands, ("f8",) * 3, tuple(body), (Reduction("add", "f8", 15, (0, 1)),))


def variants(number):
    """Different kernels of one size."""
    return [laplace(Instruction("const", "f8", (float(k),))) for k in range(number)]


def test_one_kernel_for_one_specification():
    before = statistics.stats().kernels_compiled
    compiler = Compiler()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(compiler.kernel(laplace()))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1
    assert statistics.stats().kernels_compiled == before + 1


def test_kernels_come_from_disk(tmp_path):
    with config(kernel_cache=str(tmp_path)):
        Compiler().kernel(laplace())
        files = list(tmp_path.iterdir())
        assert len(files) == 1
        again = Compiler().kernel(laplace())  # from the file: it may not be written anew
        assert [f.stat().st_mtime_ns for f in tmp_path.iterdir()] == [files[0].stat().st_mtime_ns]
        assert again.address


@pytest.mark.slow
def test_memory_of_kernels(monkeypatch):
    """Beyond a number of kernels the oldest are forgotten, with their code, but for those that somebody has."""
    monkeypatch.setattr(policy, "limits", replace(policy.limits, entries=20, numbers=4))
    before = statistics.stats().kernels_dropped
    with config(kernel_cache="off"):
        compiler, specs = Compiler(), variants(60)
        kept = compiler.kernel(specs[0], 0)
        shelves = [weakref.ref(compiler.kernel(spec, 0)._held[0]) for spec in specs]
        compiler.finish(kept)  # threads may still be in its draft
        gc.collect()
        assert statistics.stats().kernels_dropped - before == 40
        alive = {id(shelf()) for shelf in shelves if shelf() is not None}
        assert shelves[0]() is not None
        assert len(alive) <= 20 // 4 + 2
        block, sums = Block(kept.layout), np.ones(1)
        block.words[kept.layout.chunk] = 1
        block.words[kept.layout.partials] = sums.ctypes.data
        run_block(kept.address, block.address, 1, 1)
        assert sums == 0


@pytest.mark.slow
def test_the_text_holds_no_addresses_and_is_the_same_everywhere():
    script = """
        from tests.backend.llvm.test_compile import laplace
        from atoll.backend.llvm.compile import kernel_text
        print(kernel_text(laplace()))
    """
    other = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert other.stdout.strip() == kernel_text(laplace()).strip()
    assert "inttoptr" not in other.stdout


def test_llvm_is_loaded_with_the_first_array_that_is_not_small():
    script = """
        import sys
        import atoll

        def is_loaded():
            return any(name.startswith("llvmlite") for name in sys.modules)

        assert atoll.ones(100).sum() == 100
        assert not is_loaded()
        assert atoll.ones(100000).sum() == 100000
        assert is_loaded()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


def test_the_block():
    kernel = compile_kernel(laplace())
    layout, block = kernel.layout, Block(kernel.layout)
    assert layout == Layout.of(laplace())
    assert layout.size == len(block.words) == len(block.view)
    block.view[layout.pointers] = 17
    assert block.words[layout.pointers] == 17
    assert block.address == block.words.ctypes.data
    block.set_scalar(1, "f8", 2.5)
    start = layout.scalars + 2
    assert block.words[start : start + 1].view("f8")[0] == 2.5


def test_a_whole_step():
    u = np.random.default_rng(1).random((60, 70))
    new = u.copy()
    loop = Loop((58, 68))
    north, south, west, east, here = (
        loop.load(v, alias=1)
        for v in (u[:-2, 1:-1], u[2:, 1:-1], u[1:-1, :-2], u[1:-1, 2:], u[1:-1, 1:-1])
    )
    weights = [loop.scalar(value, "f8") for value in (0.3, 0.2, 0.25)]
    vertical = loop.call("multiply", "f8", loop.call("add", "f8", north, south), weights[0])
    flat = loop.call("multiply", "f8", loop.call("add", "f8", west, east), weights[1])
    total = loop.call("multiply", "f8", loop.call("add", "f8", vertical, flat), weights[2])
    loop.store(new[1:-1, 1:-1], total)
    change = loop.call("subtract", "f8", total, here)
    loop.reduce("add", "f8", loop.call("multiply", "f8", change, change))
    _, (partials,) = loop.run(chunk=8, threads=2)
    expected = ((u[:-2, 1:-1] + u[2:, 1:-1]) * 0.3 + (u[1:-1, :-2] + u[1:-1, 2:]) * 0.2) * 0.25
    assert np.array_equal(new[1:-1, 1:-1], expected)
    assert np.isclose(partials.sum(), ((expected - u[1:-1, 1:-1]) ** 2).sum(), 1e-14)


def test_unknown_instructions_are_named():
    spec = KernelSpec(1, (Operand("f8", "w"),), (), (Instruction("guess", "f8", ()),) * 2)
    store = Instruction("store", "", (0, 1))
    with pytest.raises(ValueError, match="no instruction 'guess'"):
        kernel_text(KernelSpec(1, spec.operands, (), (*spec.body, store)))


def test_constants_that_compare_oddly():
    """The two zeros are equal and a NaN is not; neither confuses the table of kernels."""
    for numbers in ((0.0, -0.0), (-0.0, 0.0)):
        for number in numbers:
            out = np.empty(5)
            loop = Loop(out.shape)
            loop.store(out, loop.const(number, "f8"))
            loop.run()
            assert np.array_equal(np.signbit(out), [np.signbit(number)] * 5)
    for _ in range(2):
        out = np.empty(5, "c16")
        loop = Loop(out.shape)
        loop.store(out, loop.const(complex(float("nan"), -0.0), "c16"))
        loop.run()
        assert np.isnan(out.real).all()
        assert np.signbit(out.imag).all()
