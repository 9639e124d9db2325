"""Arrays over memory that the program holds as well: operations on them are done at the call."""

from __future__ import annotations

import random

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.front import native

from .test_steady_turns import entered

N = 190
LINES = (
    "out.append({a} + {b})", "out.append({a}[1:] * 0.5 - {b}[:-1])", "out.append({a}.mean(axis=0))", "out.append(m.std({a}, axis=1))",
    "{r}[3] += 0.25", "{r}[:, 5] *= 0.9", "{a}[2] = {b}[0] * 2", "out.append(m.where({a} > {b}, {a}, {b}))", "x[1:-1, 1:-1] = {a}[1:-1, 1:-1] + {b}[2:, 1:-1]",
    "out.append(m.sum({a} * {b}))", "x = m.ones({a}.shape); x += {a}; x[:] = {b}; x *= {a}", "out.extend(m.gradient({a}))", "{a} *= 0.75", "{a} -= {b}", "{a} += {a}",
    "out.append(m.clip({a}, 0.2, 0.9))", "out.append({a}.sum(axis=1))", "out.append(m.dot({a}[0], {b}[:, 1]))", "out.append(m.concatenate([{a}, {b}]))",
    "{a}[1:-1] = {b}[1:-1]", "{a}[1:-1] += {b}[2:]", "{a}[1:] = {a}[:-1]", "{a}[::2] = 0.5", "{a}[{a} > 0.7] = 0.25", "{a}[:] = x", "{a}[[3, 1]] = {b}[[0, 2]]",
    "m.add({a}, 1.0, out={b})", "y = {a}[4:60]; {r}[7] = 0.5; out.append(y * 1.0)", "x = {a}.copy(); {r}[9] = 0; out.append(x)", "{a}.T[2:9] += 1; out.append({a}.T + 0.5)",
    "out.append({a}.astype('f4'))", "{a} += x[0]", "out.append(m.maximum({a}, 0.5).max(axis=0))", "out.append(-{a})", "out.append(({a} ** 2).sum(axis=0))",
)  # fmt: skip


def drawn(seed):
    """A loop over arrays whose memory it writes to, through NumPy and through the arrays."""
    chance = random.Random(seed)
    lines = []
    for _ in range(8):
        a, b = chance.choices("ab", k=2)
        lines.append(chance.choice(LINES).format(a=a, b=b, r=f"raw_{chance.choice('ab')}"))
    return "for turn in range(5):\n    " + "\n    ".join(lines)


def results(text, m, seed):
    """All that a program computes, and the memory itself."""
    numbers = numpy.random.default_rng(seed)
    raw_a, raw_b = numbers.random((2, N, N)) + 0.25
    names = {"m": m, "raw_a": raw_a, "raw_b": raw_b, "out": [], "x": m.zeros((N, N))}
    names |= {"a": m.asarray(raw_a), "b": m.asarray(raw_b)}
    exec(text, names)
    return [numpy.array(each) for each in names["out"]] + [raw_a, raw_b]


@pytest.mark.parametrize("seed", range(24))
def test_writes_are_seen_as_in_numpy(seed):
    text = drawn(seed)
    ours, theirs = results(text, np, seed), results(text, numpy, seed)
    assert len(ours) == len(theirs)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert one.shape == other.shape
        assert numpy.allclose(one, other, rtol=1e-10, atol=1e-12, equal_nan=True), (number, text)


def test_memory_that_is_read_only_refuses_writes():
    raw = numpy.ones((N, N))
    raw.flags.writeable = False
    a = np.asarray(raw)
    for write in (lambda: a.__iadd__(1), lambda: a.__setitem__(slice(3), 2.0)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert (raw == 1).all()


def test_refused_operands_write_nothing():
    raw = numpy.ones((N, N))
    a = np.asarray(raw)
    for other in (np.ones((N, 3)), "text", np.ones((N, N)) * 1j):
        with pytest.raises((ValueError, TypeError)):
            a += other
    with pytest.raises(ValueError, match="broadcast"):
        a[2:] = np.ones((N, N))
    assert (raw == 1).all()


def test_errors_of_floating_point_come_at_the_call():
    raw = numpy.zeros((N, N))
    a = np.asarray(raw)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="invalid"):
            a / a
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
            a /= a
        raw[:] = 0


@pytest.mark.skipif(native is None, reason="without the native front every call is Python's")
def test_steady_operations_hardly_enter_python():
    raw = numpy.random.default_rng(0).random((N, N))
    a, b = np.asarray(raw), np.zeros((N, N))

    def turn():
        b[1:-1] = a[1:-1] * 0.5 - a[2:]
        a[1:-1] += b[1:-1]
        a[3:-3] = 0.5
        return a.mean(axis=0), np.where(a > 0.5, a, b)

    with policy.limited(draft_work=1):
        for _ in range(40):
            turn()
        names = entered(turn, 10)
    assert set(names) & {"Cell.settle", "ndarray.__setitem__", "apply"} == set()
    assert len(names) <= 10 * 60
