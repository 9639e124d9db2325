"""Kernels are drafts first, and finished once they have worked enough: with the same results, and without a new plan."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy
import pytest

import atoll as np
from atoll import front, policy
from atoll.backend.llvm import compile as compiling
from atoll.backend.llvm.machine import machine
from atoll.config import config
from atoll.lazy.evaluation import _programs

pytestmark = pytest.mark.skipif(not machine().x86, reason="there are drafts on x86-64 only")
N = 3000

EXPRESSIONS = {
    "arithmetic": lambda m, x, i: (x * 2 - x[::-1] / 3) * x,
    "vector functions": lambda m, x, i: m.exp(-x * x) * m.sin(x) + m.sqrt(x),
    "truth values": lambda m, x, i: (x > 0.5) & ~(i < 30),
    "integers": lambda m, x, i: (i // 7 + i % 5) ** 3 >> 2,
    "short integers": lambda m, x, i: (i.astype("i2") // 7) % -3 + (i.astype("u4") // 9),
    "sums": lambda m, x, i: (x * x).sum(),
    "columns": lambda m, x, i: x.reshape(50, 60).sum(axis=0),
    "rows": lambda m, x, i: x.reshape(50, 60).min(axis=1),
    "positions": lambda m, x, i: x.argmin(),
    "across": lambda m, x, i: x.reshape(50, 60).T.copy() + x.reshape(60, 50),
    "stencil": lambda m, x, i: x[:-2] + x[2:] - 2 * x[1:-1],
    "complex": lambda m, x, i: (x + 1j) * (x - 2j) / (x + 3j),
    "short": lambda m, x, i: x.astype("f4") * 3 + i.astype("i1"),
}


@pytest.fixture(autouse=True)
def afresh(monkeypatch):
    """No kernel and no plan is known, and everything is recorded."""
    monkeypatch.setattr(compiling, "compiler", compiling.Compiler())
    _programs.forget()
    with config(small=0, kernel_cache="off"):
        yield
    _programs.forget()


def limit(monkeypatch, **limits):
    monkeypatch.setattr(policy, "limits", replace(policy.limits, **limits))


@pytest.fixture
def by_python():
    """Python runs the plans, and notes each time that a draft has worked."""
    if front.native is None:
        yield
        return
    before = front.native.record(False)
    yield
    front.native.record(before)


def kernels():
    return list(compiling.compiler._kernels.values())


def operands():
    x = numpy.random.default_rng(3).random(N)
    return np.array(x), np.array((100 * x).astype("i8"))


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_drafts_and_finished_kernels_agree(name, monkeypatch, by_python):
    expression = EXPRESSIONS[name]
    x, i = operands()
    numpy.array(expression(np, x, i))  # the first views are taken by Python, which hands out memory
    monkeypatch.setattr(compiling, "compiler", compiling.Compiler())
    _programs.forget()
    draft = numpy.array(expression(np, x, i))
    assert kernels()
    assert all(kernel.draft for kernel in kernels())
    limit(monkeypatch, draft_work=0)
    compiled = np.stats().kernels_compiled
    for _ in range(3):  # as they come, then joined
        finished = numpy.array(expression(np, x, i))
        assert finished.tobytes() == draft.tobytes()
    assert not any(kernel.draft for kernel in kernels())
    assert np.stats().kernels_compiled == compiled, "it is the same kernel"


def drafts_in(turns):
    """How many kernels were drafts after each turn of a loop."""
    u = np.zeros((40, 40))
    u[0] = 1.0
    drafts = []
    for _ in range(turns):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        float(u.sum())
        drafts.append(sum(kernel.draft for kernel in kernels()))
    return drafts


def test_a_loop_finishes_its_kernels(monkeypatch, by_python):
    limit(monkeypatch, chunk=policy.limits.draft_work // 2)
    drafts = drafts_in(30)
    assert drafts[0] > 0
    assert drafts[15] == drafts[-1] + 1, "the one that works at every step, once it has worked"


@pytest.mark.skipif(front.native is None, reason="the native front was not built")
def test_native_code_counts_the_work_of_drafts_now_and_then(monkeypatch):
    limit(monkeypatch, chunk=policy.limits.draft_work // 10)
    drafts = drafts_in(300)
    assert drafts[90] > drafts[-1]


def test_slices_that_move_take_the_finished_kernel(monkeypatch):
    limit(monkeypatch, chunk=policy.limits.draft_work)
    a = numpy.random.default_rng(5).random((120, 120)) + 120 * numpy.eye(120)
    b = np.array(a)
    for k in range(119):
        for matrix in (a, b):
            matrix[k + 1 :, k + 1 :] -= (
                matrix[k + 1 :, k : k + 1] * matrix[k : k + 1, k + 1 :] / 121
            )
    numpy.testing.assert_array_equal(numpy.array(b), a)
    assert any(not kernel.draft for kernel in kernels())


def test_large_work_needs_no_draft(monkeypatch):
    limit(monkeypatch, draft_work=1000)
    x, _ = operands()
    numpy.array(x + 1)
    assert [kernel.draft for kernel in kernels()] == [False]


def test_a_finished_kernel_on_disk_is_taken_at_once(monkeypatch, tmp_path):
    x, _ = operands()
    with config(kernel_cache=str(tmp_path)):
        expected = numpy.array(x * 3 + 1)
        limit(monkeypatch, draft_work=0)
        numpy.array(x * 3 + 1)
        monkeypatch.undo()
        monkeypatch.setattr(compiling, "compiler", compiling.Compiler())
        _programs.forget()
        found = numpy.array(x * 3 + 1)
        assert [kernel.draft for kernel in kernels()] == [False]
    assert found.tobytes() == expected.tobytes()


def test_threads_finish_a_kernel_once(monkeypatch):
    made = []
    finish = compiling.emit
    monkeypatch.setattr(
        compiling,
        "emit",
        lambda text, here, effort: made.append(effort) or finish(text, here, effort),
    )
    x, _ = operands()
    expected = numpy.array(x * 5 - 1)
    limit(monkeypatch, draft_work=0)
    wrong = []

    def work():
        with config(small=0, kernel_cache="off"):
            y = np.array(numpy.array(x))
            for _ in range(5):
                if numpy.array(y * 5 - 1).tobytes() != expected.tobytes():
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
    assert made == [compiling._QUICK, compiling._BEST]
