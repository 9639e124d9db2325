"""A steady turn of a loop enters no function of the package."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from contextlib import redirect_stderr
from pathlib import Path

import numpy
import pytest

import atoll as np
from atoll import front, policy

pytestmark = pytest.mark.skipif(front.native is None, reason="the native front was not built")
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = str(Path(np.__file__).parent)


def step(u):
    """A step of Laplace's equation."""
    old = u.copy()
    u[1:-1, 1:-1] = (
        (u[:-2, 1:-1] + u[2:, 1:-1]) * 0.25 + (u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
    ) * 1.0
    change = (u - old).ravel()
    return float(np.sqrt(np.dot(change, change)))


def start(n=60):
    u = np.zeros((n, n))
    u[0] = numpy.linspace(0, 1, n)
    return u


def entered(work, turns):
    """Which functions of the package are entered in so many turns."""
    names = []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            names.append(frame.f_code.co_qualname)

    # of every 64 boxes the dead are forgotten

    sys.setprofile(note)
    try:
        for _ in range(turns):
            work()
    finally:
        sys.setprofile(None)
    return [name for name in names if not name.startswith("_Cells.")]


def steady_steps():
    """A step whose plan is known does not enter Python."""
    u = start()
    with policy.limited(draft_work=1):
        for _ in range(300):  # plans, patterns, finished kernels
            step(u)
        before = np.stats()
        assert entered(lambda: step(u), 5) == []
        after = np.stats()
    assert after.plans_reused - before.plans_reused == 5
    assert after.kernels_run - before.kernels_run == 5 * 5
    assert after.plans_made == before.plans_made


def steady_turns():
    """Nor does a loop that nobody looks into."""
    u, v = start(100), start(100)  # of more than short views

    def turn():
        u[1:-1] = (v[:-2] + v[2:]) * 0.5
        u[0] = 1.0

    with policy.limited(draft_work=1):
        for _ in range(300):
            turn()
        assert entered(turn, 5) == []


def steady_fields():
    """Nor does one without assignments, whose fields are evaluated together where it is cut."""
    fields = [start(100), start(100) + 1]

    def turn():
        u, v = fields
        w = u * v
        fields[0] = u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) - 2 * u) - w + 0.01 * (1 - u)
        fields[1] = v + 0.1 * (np.roll(v, 1, 1) + np.roll(v, -1, 1) - 2 * v) + w - 0.01 * v

    with policy.limited(draft_work=1):
        for _ in range(300):
            turn()
        before = np.stats()
        assert entered(turn, 8) == []
        after = np.stats()
    assert after.plans_reused > before.plans_reused
    assert after.plans_made == before.plans_made


def steady_results():
    """Nor does a mask that is kept beside what is looked at, and stored since one turn after the other computed it."""
    u, mask = start(100), start(100) > 0.5

    def turn():
        return float(((u * mask) ** 2).sum())

    with policy.limited(draft_work=1):
        for _ in range(300):
            turn()
        assert entered(turn, 5) == []
    assert mask._cell.node.value is not None


def steady_masks():
    """Nor does an assignment of a number under a mask."""
    u, mask = start(100), start(100) > 0.5

    def turn():
        u[mask] = 1.0
        u[1:-1] = (u[:-2] + u[2:]) * 0.5
        return float(u[3, 4])

    with policy.limited(draft_work=1):
        for _ in range(300):
            turn()
        assert entered(turn, 5) == []


def steady_broadcasts():
    """Nor do operations on small arrays and short views that are broadcast to large ones."""

    def turn():
        u[:] = (column + row) * np.outer(row, u[:, 3]) + (u[2:3] - u[:, 4:5])
        return float(u[3, 4])

    with policy.limited(draft_work=1), np.config(small=1000):
        u, row = start(100), np.linspace(0, 1, 100)
        column = row[:, None]
        for _ in range(300):
            turn()
        assert entered(turn, 5) == []


def steady_operations():
    """Nor do operations that were met on another shape, but to make geometries."""
    lengths, line = iter(range(40_000, 50_000, 7)), np.ones(50_000)

    def turn():
        x = line[: next(lengths)] * 2
        y = x[1:] * x[:-1] - 1.5
        chosen = (y > 0) & (y < 3)
        return float((y * y / (y + 1)).sum()), bool(chosen[5])

    with np.config(small=1000):
        for _ in range(30):
            assert turn()[0] > 0
        names = entered(turn, 5)
    assert not {"apply", "reduce", "node_of"} & set(names)


def steady_parts():
    """Nor do short parts of pending arrays, beside parts of computed ones, nor what a small array takes of a large one."""
    with np.config(small=30_000), policy.limited(draft_work=1):
        v, a, few = start(200), start(200), np.ones((30, 30))

        def turn():
            nonlocal v
            v -= a
            v[180:] -= a[180:]
            v[:20] *= a[20:40]
            few.__iadd__(a[100:130, 20:50])
            return float(v[3, 4])

        for _ in range(300):
            turn()
        assert entered(turn, 5) == []


def steady_threads():
    """Loops that threads share are run without a step of Python's."""
    u, v = start(400), start(400)

    def turn():
        v[1:-1] = (u[:-2] + u[2:]) * 0.5
        u[1:-1] = (v[:-2] + v[2:]) * 0.5

    with policy.limited(draft_work=1, parallel=1000), np.config(threads=2):
        for _ in range(300):
            turn()
        assert set(entered(turn, 5)) <= THREADS_ASKED
    numpy.testing.assert_array_equal(u[0], numpy.linspace(0, 1, 400))


THREADS_ASKED = {
    "KernelSteps.team", "team", "NativeTeam.shared", "Config.threads", "boundary.<locals>.public",
}  # fmt: skip
"""What is entered to say how many threads take part."""


def judged_evaluations():
    """Native evaluations are what is compared with NumPy, and what gains is settled by them."""
    u = start(100)
    with np.config(small=1000), policy.limited(draft_work=1):
        for _ in range(50):
            step(u)
        before = np.stats()
        assert not entered(lambda: step(u), 4)
        assert np.stats().plans_reused - before.plans_reused == 4


def small_steps():
    """Nor does a program with a step of NumPy's for few elements, but for the step. Its warnings name the line that recorded it."""
    u, text = start(200) + 1.0, io.StringIO()

    def turn():
        means = u.mean(axis=1)
        inverse = 1.0 / means
        return float((inverse[:1] + u).sum())

    warnings.simplefilter("always")
    with np.config(small=1000), redirect_stderr(text):
        for _ in range(300):
            turn()
        u[:] = 0.0
        turn()
        names = entered(turn, 5)
    assert "_run" not in names
    line = turn.__code__.co_firstlineno + 2
    assert text.getvalue().count(f"{__file__}:{line}: RuntimeWarning: divide by zero") == 6
    assert text.getvalue().count("Warning") == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        steady_steps, steady_turns, steady_fields, steady_results, steady_masks, steady_broadcasts, steady_operations, steady_parts, steady_threads,
        judged_evaluations, small_steps,
    ],
)  # fmt: skip
def test_what_is_known_does_not_enter_python(work):
    # in a process of its own: worlds of several ranks that other tests have left take the way through Python
    code = f"import atoll; from {__name__} import {work.__name__} as work\nwith atoll.config(small=0): work()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=300)
