"""Run them: ``python -m tests.engine.users [name ...]``, or under ``atoll run -n 3 -m``.

NumPy's answer and atoll's are compared on every rank, with ``config.small`` at 0, at 50 and as it is by default. With the word
``large``, programs that take a size take one above all thresholds.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from functools import partial

import numpy

import atoll

from . import PROGRAMS, data, lessons, nature

__all__ = ["data", "lessons", "nature"]


def same(got, expected):
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(
            same(g, e) for g, e in zip(got, expected, strict=True)
        )
    got, expected = numpy.asarray(got), numpy.asarray(expected)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if expected.dtype.kind in "fc":
        return bool(numpy.allclose(got, expected, rtol=1e-6, atol=1e-9, equal_nan=True))
    return bool((got == expected).all())


def wrong(program, small):
    """What is wrong with a program, or nothing."""
    expected = program(numpy)
    try:
        with atoll.config(small=small):
            got = program(atoll)
            if same(got, expected):
                return None
            parts = [
                k for k, (g, e) in enumerate(zip(got, expected, strict=True)) if not same(g, e)
            ]
            return f"differs in {parts}: {[(str(numpy.asarray(got[k]))[:400], str(numpy.asarray(expected[k]))[:400]) if not isinstance(got[k], list) else (got[k], expected[k]) for k in parts]}"
    except Exception:
        return traceback.format_exc()[-2500:]


def main():
    large = "large" in sys.argv
    names = [name for name in sys.argv[1:] if name != "large"]
    bad = 0
    for program in PROGRAMS:
        size = inspect.signature(program).parameters.get("n")
        for small in (30_000,) if large else (0, 50, 30_000):
            if (not names or program.__name__ in names) and (size or not large):
                found = wrong(partial(program, n=7 * size.default) if large else program, small)
                bad += found is not None
                if found:
                    print(
                        f"{program.__name__}, small={small}, rank {atoll.world.rank} of {atoll.world.size}: {found}",
                        flush=True,
                    )
    print(f"{len(PROGRAMS)} programs, {bad} wrong", flush=True)


if __name__ == "__main__":
    main()
