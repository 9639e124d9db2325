"""Running random programs in atoll, and comparing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import atoll
from atoll.errors import AtollError

from .layouts import again, bumped, everywhere, littered, made, moved, peeked
from .text import Numpys, run_line


def same(got: Any, expected: Any, *, rounded: bool) -> bool:
    """Whether two answers are one in value, shape and dtype."""
    if isinstance(expected, (np.ndarray, np.generic)):
        if not hasattr(got, "dtype"):
            return False
        value = np.asarray(got)
        if (value.shape, value.dtype) != (expected.shape, expected.dtype):
            return False
        if rounded and value.dtype.kind in "fc":
            near = (
                2e-2
                if value.dtype.itemsize <= 2
                else 1e-4
                if value.dtype == "f4" or value.dtype == "c8"
                else 1e-10
            )
            return bool(np.allclose(value, expected, rtol=near, atol=near, equal_nan=True))
        return bool(np.array_equal(value, expected, equal_nan=value.dtype.kind in "fc"))
    if isinstance(expected, (list, tuple)):
        return len(got) == len(expected) and all(
            same(g, e, rounded=rounded) for g, e in zip(got, expected, strict=True)
        )
    return type(got) is type(expected) and bool(got == expected or got != got)


def layout_seed(program: Any, name: str) -> int:
    """What says where an array of a program lies at its start."""
    return int(program.seed) * 3 + int(name[1:])


def is_alike(error: BaseException | None, theirs: type[BaseException]) -> bool:
    """Whether an error is of NumPy's class, or of one of atoll's own that says it is one, too."""
    own = isinstance(error, AtollError) and isinstance(error, theirs)
    return own or type(error) is theirs


def check(program: Any, small: int = 0) -> None:
    """Run a program and compare each line, then all arrays, and what was handed out."""
    names = {"np": atoll, "moved": moved, "bumped": bumped, "exported": np.asarray}
    names |= {"everywhere": everywhere, "again": again, "peeked": peeked, "littered": littered}
    names |= {"at_once": Numpys.at_once}
    with atoll.config(small=small), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names |= {k: made(v, layout_seed(program, k)) for k, v in program.start.items()}
        for number, line in enumerate(program.lines):
            got, error = run_line(line.text, names)
            if line.error is None and isinstance(error, ValueError) and "read-only" in str(error):
                return  # NumPy lets a read-only array be assigned to itself
            if line.error is None and error is None:
                ok = line.value is None or same(got, line.value, rounded=line.text[0] == "w")
            else:
                ok = line.error is not None and is_alike(error, line.error)
            if not ok:
                report = AssertionError(
                    f"{program.text(number + 1)}\nraised {error!r} and gave {got!r}"
                    f"\nNumPy: {line.error}, {line.value!r}"
                )
                raise report from error
        for name in sorted(program.arrays):
            if name[0] == "e":
                got, expected = names[name], program.arrays[name]
                assert np.array_equal(got, expected, equal_nan=expected.dtype.kind in "fc"), (
                    f"{program.text()}\n{name}: {got!r}\nNumPy: {expected!r}"
                )
        for name in sorted(program.arrays):
            got, expected = names[name], program.arrays[name]
            assert same(got, expected, rounded=False), (
                f"{program.text()}\n{name}: {got!r}\nNumPy: {expected!r}"
            )
