"""NumPy as the oracle: the same expression in both, results compared in every respect."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy

import atoll
from atoll.config import config

_random = numpy.random.default_rng(7)
_f = numpy.round(_random.normal(size=(4, 5)) * 8) / 8  # sums are exact, so that texts agree
arrays = {
    "f": _f,
    "i": _random.integers(-9, 9, (4, 5)),
    "u": _random.integers(0, 200, (4, 5)).astype("u1"),
    "b": _f > 0,
    "c": _f + 1j * _f[::-1],
    "h": _f.astype("f2"),
    "f4": _f.astype("f4"),
    "t": _random.normal(size=(2, 3, 4)).transpose(2, 0, 1),
    "fortran": numpy.asfortranarray(_f),
    "empty": numpy.empty((0, 3)),
}
"""The arrays that the tables are run on."""

SMALL = (0, 30_000)
"""With 0 everything is recorded and run by kernels; by default these sizes stay NumPy's."""


def ours(value: Any) -> Any:
    """The same value with arrays of atoll."""
    if isinstance(value, numpy.ndarray):
        made = atoll.array(value, order="K")
        assert made.strides == value.strides or value.size < 2 or not value.flags.forc
        return made
    if isinstance(value, (list, tuple)):
        return type(value)([ours(v) for v in value])
    return value


def theirs(value: Any) -> Any:
    """A copy for NumPy."""
    if isinstance(value, numpy.ndarray):
        return value.copy(order="K")
    if isinstance(value, (list, tuple)):
        return type(value)([theirs(v) for v in value])
    return value


def outcome(call: Callable[..., Any], module: Any, args: tuple[Any, ...]) -> Any:
    """What a call returns, or the exception that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(module, *args)
        except Exception as error:
            return error


def same(mine: Any, other: Any, *, ulps: float = 0.0, where: str = "") -> None:
    """Assert that two outcomes agree in value, dtype, shape and kind."""
    if isinstance(other, Exception):
        assert isinstance(mine, Exception), f"{where}: {other!r} was due, not {mine!r}"
        assert isinstance(mine, type(other)) or isinstance(other, type(mine)), (where, mine, other)
        return
    if isinstance(mine, Exception):
        raise AssertionError(f"{where}: {mine!r} in place of {other!r}") from mine
    if isinstance(other, (tuple, list)):
        assert isinstance(mine, type(other)), (where, type(mine), type(other))
        assert len(mine) == len(other), where
        for a, b in zip(mine, other):
            same(a, b, ulps=ulps, where=where)
        return
    if isinstance(other, numpy.ndarray):
        assert isinstance(mine, atoll.ndarray), (where, type(mine))
        assert mine.shape == other.shape, (where, mine.shape, other.shape)
        assert mine.dtype == other.dtype, (where, mine.dtype, other.dtype)
        equal(numpy.asarray(mine), other, ulps, where)
        return
    if isinstance(other, numpy.generic):
        assert isinstance(mine, type(other)), (where, mine.__class__, type(other))
        assert not isinstance(mine, atoll.ndarray), where
        equal(numpy.asarray(mine), numpy.asarray(other), ulps, where)
        return
    assert mine == other or (mine != mine and other != other), (where, mine, other)


def equal(mine: Any, other: Any, ulps: float, where: str) -> None:
    """Assert that values agree, to so many units in the last place of the largest one."""
    if ulps and other.dtype.kind in "fc":
        finite = other[numpy.isfinite(other)]
        scale = float(numpy.abs(finite).max()) if finite.size else 1.0
        numpy.testing.assert_allclose(
            mine, other, rtol=ulps * numpy.finfo(other.dtype).eps,
            atol=ulps * float(numpy.finfo(other.dtype).eps) * scale, err_msg=where,
        )  # fmt: skip
    else:
        numpy.testing.assert_array_equal(mine, other, err_msg=where)


def check(call: Callable[..., Any], *args: Any, small: int = 0, ulps: float = 0.0) -> None:
    """Run ``call(module, *args)`` in both; compare results, and what became of the arguments."""
    a, b = theirs(args), None
    with config(small=small):
        b = ours(args)
        expected = outcome(call, numpy, a)
        got = outcome(call, atoll, b)
        text = f"{expected!r:.60}"
        same(got, expected, ulps=ulps, where=text)
        for mine, other in zip(b, a):
            if isinstance(other, numpy.ndarray):
                same(mine, other, ulps=ulps, where="argument afterwards, of " + text)


def lines(table: str) -> list[str]:
    """The lines of a table of programs."""
    return [line for line in table.splitlines() if line.strip()]


def check_line(line: str, *args: Any, small: int = 0, ulps: float = 0.0) -> None:
    """Run a line of a program on the array ``a`` in both; compare ``r``, if it makes one, and ``a``."""
    code = compile(line, "<line>", "exec")

    def call(module: Any, *arrays: Any) -> Any:
        names = {"np": module, "a": arrays[0] if arrays else None}
        exec(code, names)
        return names.get("r")

    check(call, *args, small=small, ulps=ulps)
