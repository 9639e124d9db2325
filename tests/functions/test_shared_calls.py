"""NumPy's functions on several threads: the bits of one call."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.lazy import shared_calls

RANDOM = numpy.random.default_rng(2)
LINE, ROWS = RANDOM.random(5000), RANDOM.random((90, 70))
SORTED, KERNEL = numpy.sort(RANDOM.random(300)), RANDOM.random(14) - 0.5
INDICES = RANDOM.integers(-5000, 5000, (40, 50))
LINE[7] = SORTED[9] = numpy.nan
SORTED.sort()

CALLS = {
    "searchsorted": lambda np, a: np.searchsorted(a(SORTED), a(LINE), "right"),
    "method": lambda np, a: a(SORTED).searchsorted(a(LINE), side="right"),
    "digitize": lambda np, a: np.digitize(a(ROWS), a(numpy.linspace(0, 1, 9)), right=True),
    "interp": lambda np, a: np.interp(a(ROWS), a(numpy.linspace(0, 1, 30)), a(RANDOM.random(30) if 0 else LINE[20:50])),
    "interp_outside": lambda np, a: np.interp(a(LINE * 3), a(LINE[20:50].cumsum()), a(LINE[20:50]), left=-1.0, right=2.0),
    "take": lambda np, a: np.take(a(LINE), a(INDICES)),
    "take_along": lambda np, a: np.take(a(ROWS), a(INDICES % 70), axis=1),
    "sort": lambda np, a: np.sort(a(ROWS)),
    "sort_down": lambda np, a: np.sort(a(ROWS), axis=0),
    "sort_transposed": lambda np, a: np.sort(a(ROWS).T, axis=-1),
    "sort_cube": lambda np, a: np.sort(a(ROWS.reshape(9, 10, 70)), axis=1, kind="stable"),
    "argsort": lambda np, a: np.argsort(a(ROWS), axis=1, kind="stable"),
    "argsort_method": lambda np, a: a(ROWS).argsort(),
    "partition": lambda np, a: np.sort(np.partition(a(ROWS), 5, axis=1)[:, :5], axis=1),
    "fft": lambda np, a: np.fft.fft(a(ROWS)),
    "rfft": lambda np, a: np.fft.rfft(a(ROWS), 50, axis=1, norm="ortho"),
    "fft_down": lambda np, a: np.fft.fft(a(ROWS), axis=0),
    **{
        f"{name}_{mode}_{size}": lambda np, a, name=name, mode=mode, size=size: getattr(np, name)(
            a(LINE[20:]), a(KERNEL[:size]), mode=mode
        )
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
        for size in (1, 2, 5, 14)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_bits_of_one_call(name):
    expected = CALLS[name](numpy, lambda array: array)
    with np.config(small=0, threads=3), policy.limited(chunk=100):
        result = numpy.asarray(CALLS[name](np, np.array))
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert result.tobytes() == expected.tobytes()


TARGETS = {
    "by name": lambda np, a, i, out: np.take(a, i, out=out),
    "in place": lambda np, a, i, out: np.take(a, i, None, out),
    "method": lambda np, a, i, out: a.take(i, out=out),
    "fft": lambda np, a, i, out: np.fft.fft(a, out=out),
}


@pytest.mark.parametrize("name", TARGETS)
def test_an_array_of_the_program_is_written_by_one_call(name):
    out, expected = (numpy.zeros(LINE.shape, complex if name == "fft" else float) for _ in "ab")
    TARGETS[name](numpy, LINE, numpy.arange(5000)[::-1], expected)
    with np.config(small=0, threads=3), policy.limited(chunk=100):
        TARGETS[name](np, np.array(LINE), numpy.arange(5000)[::-1], out)
    numpy.testing.assert_array_equal(out, expected)


def test_that_threads_are_used_and_errors_reach_the_caller(monkeypatch):
    calls = []
    together = shared_calls._together
    monkeypatch.setattr(
        shared_calls, "_together", lambda some: calls.append(len(some)) or together(some)
    )
    with np.config(small=0, threads=3), policy.limited(chunk=100):
        np.sort(np.array(ROWS))
        assert calls == [3]
        with pytest.raises(IndexError, match="out of bounds"):
            np.take(np.array(LINE), np.array(INDICES * 2))
        assert calls == [3, 3]
    with np.config(small=0, threads=1):
        np.sort(np.array(ROWS))
    assert calls == [3, 3]
