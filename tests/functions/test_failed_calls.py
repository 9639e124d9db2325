"""What a call that fails leaves in its arrays, and the text of its error: as in NumPy, at any size and on ranks."""

from __future__ import annotations

import warnings

import numpy
import pytest

import atoll
from atoll.config import config

from .oracle import lines

SHAPES = """
a[:3] += b
a += b[:3]
a += m
m += a[:4]
m[:, :2] += a[:3]
m -= m.T[:5]
np.add(a, b[:3], out=a)
np.add(a, m, out=a)
np.add(a, b, out=b[:3])
np.add(a, b, out=m[:, :2])
np.add(a, b[:3], out=a, where=w)
np.add(a, b, out=a, where=w[:3])
np.sqrt(m, out=a)
np.divmod(a, b, out=(a, b[:2]))
np.clip(a, b[:3], 3)
m @ a[:4]
m @= m[:3]
i += a
i[:3] *= a[:3]
a += z
i[:3] += b
a **= b[:3]
a |= b
a += None
a += [1, 2]
a += "x"
np.add(a, b, out=())
np.add(a, b, out=(a, b))
np.add(a, b, out=5)
a.fill([1, 2])
a.fill("x")
ro += 1
np.add(a, b, out=ro)
"""
"""Operands that do not fit together."""

INDICES = """
np.put(a, [0, 2, n, 1], 9)
np.put(a, [0, 2, n, 1], [5, 6, 7, 8])
a.put([1, -n - 1, 2], 9)
np.put(a, [n, 0], 9)
np.put(a, [0, n], b)
np.put(a, [1, 0, n], a[::-1])
np.put(a, [1, 0, n], a[1:])
np.put(a[::2], [0, 1, n], 9)
np.put(m, [0, 7, 6 * n], 9)
np.put(m.T, [0, 7, 6 * n], 9)
np.put(i, [0, n], 1.5)
np.put(a, idx, b)
np.put(a, np.array([0, 1, n]), np.arange(3.0))
np.put(a, np.array([[0, 1], [n, 2]]), 9)
np.put(a, np.array([0, 1, n]), np.arange(2.0), mode="raise")
a[idx] = 9
a[idx] = b
a[idx] += 1
m[0, idx] = 5
np.add.at(a, idx, 1)
np.add.at(a, [0, n, 1], 1)
np.put_along_axis(a, idx, 9, 0)
np.take(a, idx, out=d)
np.choose(k * 3, [a, b], out=d)
np.place(a, k > 0, [])
np.putmask(a, k[:3], 1)
a.flat[[0, 1, n]] = 9
a.flat[[0, 1, n]] = [1, 2, 3]
a[:3] = [1, 2, 3, 4]
a[k > 0] = b
"""
"""Indices beyond the end, and values that do not fit."""

NUMBERS = """
np.divide(a, c, out=d)
np.divide(a, 0.0, out=a)
a /= c
a /= 0.0
a[:3] /= 0.0
a[::2] /= c[::2]
np.log(c, out=d)
np.divide(a, c, out=d, where=w)
np.divmod(a, c, out=(d, b))
big *= big
np.multiply(big, big, out=d)
bigm.sum(0, out=d)
np.add.accumulate(big, out=d)
i //= 0
i %= k
a %= c
a **= big
f *= 1e38
z /= 0
np.reciprocal(c, out=c)
bigm[1:] *= bigm[:1]
bigm[0] *= big
np.multiply.at(big, [0, 0], 1e300)
"""
"""Numbers that break a rule of floating point, which NumPy tells after it has written the results."""


def names(np, n):
    big = numpy.full(n, 1e308)
    read_only = numpy.arange(float(n))
    given = {
        "a": numpy.arange(float(n)), "b": numpy.ones(n), "c": numpy.arange(n) % 2 * 1.0, "d": numpy.full(n, -7.0),
        "i": numpy.arange(n), "k": numpy.arange(n) % 2, "z": numpy.arange(n) * 1j, "w": numpy.arange(n) % 2 == 0,
        "m": numpy.arange(6.0 * n).reshape(6, n), "f": numpy.full(n, 10, "f4"), "big": big, "bigm": big + numpy.zeros((6, 1)),
        "idx": numpy.arange(n) * 2 - n // 2, "ro": read_only,
    }  # fmt: skip
    made = {name: np.array(value) for name, value in given.items()}
    made["ro"].flags.writeable = False
    return made | {"np": np, "n": n}


def outcome(np, line, n):
    """The error of a line, and what the arrays are afterwards."""
    made, error = names(np, n), None
    try:
        exec(line, made)
    except Exception as problem:
        error = problem
    with np.errstate(all="ignore"):
        left = {
            name: numpy.array(value)
            for name, value in made.items()
            if isinstance(value, (numpy.ndarray, atoll.ndarray)) and name != "ro"
        }
    return error, left


def compare(line, n, text=True):
    theirs, expected = outcome(numpy, line, n)
    ours, left = outcome(atoll, line, n)
    assert theirs is not None
    assert isinstance(ours, type(theirs)) or type(theirs).__name__ == type(ours).__name__, (
        line,
        theirs,
        ours,
    )
    if text:
        assert str(ours) == str(theirs), line
    for name, value in expected.items():
        numpy.testing.assert_array_equal(left[name], value, err_msg=f"{line}: {name}")


@pytest.mark.parametrize(("n", "small"), [(6, 30_000), (6, 0), (50_000, 30_000)])
@pytest.mark.parametrize("line", lines(SHAPES) + lines(INDICES))
def test_an_error_has_numpys_text_and_effects(line, n, small):
    with config(small=small), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(line, n)


@pytest.mark.simulated(2, 3)
@pytest.mark.parametrize("line", lines(SHAPES) + lines(INDICES))
def test_an_error_has_numpys_effects_on_ranks(rank, line):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(line, 6, text=False)


@pytest.mark.parametrize(("n", "small"), [(6, 30_000), (6, 0), (50_000, 30_000)])
@pytest.mark.parametrize("line", lines(NUMBERS))
@pytest.mark.parametrize("mode", ["errstate", "filter"])
def test_results_are_written_before_a_broken_rule_is_told(line, n, small, mode):
    with config(small=small), warnings.catch_warnings():
        warnings.simplefilter("error" if mode == "filter" else "ignore")
        rule = {} if mode == "filter" else {"all": "raise"}
        with numpy.errstate(**rule):
            compare(line, n)


@pytest.mark.simulated(1, 2, 3)
@pytest.mark.parametrize("line", lines(NUMBERS))
def test_results_are_written_before_a_broken_rule_is_told_on_ranks(rank, line):
    with numpy.errstate(all="raise"):
        compare(line, 6, text=False)
