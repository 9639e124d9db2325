"""Operations on arrays that lie on ranks: recorded without entering Python where their like was recorded before, and alike on all ranks."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest

import atoll as np
from atoll import front
from atoll.comm.world import current_world

PACKAGE = str(Path(np.__file__).parent)

RECORDED = (
    "w = a + b", "w = a * 2.0", "w = 1 - a", "w = -a", "w = a > b", "w = a[1:] * b[:-1]", "w = a.T + b.T", "w = np.sqrt(a)", "w = a**2",
    "w = np.where(a > b, a, b)", "w = a.ravel() + 1", "w = np.abs(a)", "d += 1.0", "d *= b", "w = a[:, 3:4] + a[5:6]",
    "c = a.copy(); c[1:-1, 1:-1] = a[1:-1, 1:-1] * b[1:-1, 1:-1]; c[:] = b; c[2:] = 3.0",
    "c = b.copy(); c[1:-1] = a[2:]; c[:, -1] = c[:, -2]; c[0, :] = c[1, :]; c[-1] = 0; c[:, 0] = a[:, 3]",
)  # fmt: skip
COMPOSED = "w = np.clip(a, 0.1, 0.9)", "w = a.astype('f4')", "w = np.round(a, 2)", "d[2:] -= a[2:]"
STATEMENTS = RECORDED + COMPOSED


def arrays(module):
    rng = numpy.random.default_rng(5)
    a, b, d = (module.array(rng.random((200, 160))) for _ in "abd")
    return {"np": module, "a": a, "b": b, "d": d}


def is_entered(frame):
    """True if a function of the package is called, but for the pool's work on memory that has ended."""
    if not frame.f_code.co_filename.startswith(PACKAGE):
        return False
    while frame is not None and not frame.f_code.co_filename.endswith("memory.py"):
        frame = frame.f_back
    return frame is None


@pytest.mark.skipif(front.native is None, reason="the native front was not built")
@pytest.mark.ranks(2)
@pytest.mark.parametrize("statement", RECORDED)
def test_what_was_recorded_before_enters_python_no_more(statement):
    with np.config(small=201, everywhere=100):
        names, entered = arrays(np), []
        assert not names["a"].layout.is_replicated
        code = compile(statement, "<statement>", "exec")
        for _ in range(4):
            exec(code, names)
        np.sync()

        def note(frame, event, argument):
            if event == "call" and is_entered(frame):
                entered.append(frame.f_code.co_qualname)

        sys.setprofile(note)
        try:
            exec(code, names)
        finally:
            sys.setprofile(None)
        assert entered == []


@pytest.mark.ranks(2)
@pytest.mark.simulated(1, 3)
def test_all_ranks_record_alike_what_one_has_forgotten():
    """A memory may forget on one rank what others have met: they record the same, and short views are counted alike."""
    from atoll.lazy.elementwise import known_of
    from atoll.lazy.recipes import recipes

    rank = current_world().rank
    with np.config(small=100, everywhere=100):
        ours, theirs = arrays(np), arrays(numpy)
        for turn in range(12):
            if turn % 3 == rank:
                recipes.clear()
                for ufunc in (np.add, np.multiply, np.subtract):
                    known_of(ufunc._numpy).clear()
            for names in (ours, theirs):
                for statement in STATEMENTS:
                    exec(statement, names)
                names["short"] = float((names["a"][3].T.reshape(-1) + names["b"][3]).sum())
            assert ours["short"] == pytest.approx(theirs["short"])
        for name in "cdw":
            numpy.testing.assert_allclose(numpy.asarray(ours[name]), theirs[name], rtol=1e-6)
