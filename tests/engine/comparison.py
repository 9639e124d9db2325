"""Running random programs in atoll, and comparing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import atoll
from atoll.errors import AtollError

from .program import Numpys, Program, run_line
from .random_layouts import again, bumped, everywhere, littered, made, moved, peeked


def same(got: Any, expected: Any, *, rounded: bool) -> bool:
    """True if two answers are one in value, shape and dtype."""
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


def strides(array: Any) -> list[int]:
    """The strides of the axes that have several elements."""
    return [step for step, n in zip(array.strides, array.shape, strict=True) if n > 1]


def layout_seed(program: Program, name: str) -> int:
    """What says where an array of a program lies at its start."""
    return int(program.seed) * 3 + int(name[1:])


def is_alike(error: BaseException | None, theirs: type[BaseException]) -> bool:
    """True if an error is of NumPy's class, or of one of atoll's own that says it is one, too."""
    own = isinstance(error, AtollError) and isinstance(error, theirs)
    return own or type(error) is theirs


def functions(**replaced: Any) -> dict[str, Any]:
    """The names that the lines of a program use in atoll."""
    names = {"np": atoll, "moved": moved, "bumped": bumped, "exported": np.asarray}
    names |= {"everywhere": everywhere, "again": again, "peeked": peeked, "littered": littered}
    return names | {"at_once": Numpys.at_once} | replaced


def check(
    program: Program,
    small: int = 0,
    *,
    make: Callable[[np.ndarray, int], Any] = made,
    after: Callable[[dict[str, Any]], None] = lambda names: None,
) -> None:
    """Run a program and compare each line, then all arrays, and what was handed out.

    ``make`` places the arrays of the start by a seed, and ``after`` is called with all names after each line.
    """
    names = functions()
    with atoll.config(small=small), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names |= {k: make(v, layout_seed(program, k)) for k, v in program.start.items()}
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
            after(names)
        agree(program, names)


def agree(program: Program, names: dict[str, Any]) -> None:
    """Compare the arrays that a program leaves: first what was handed out, before anybody looks at the arrays."""
    for name in sorted(program.arrays, reverse=True):
        got, expected = names[name], program.arrays[name]
        if name[0] == "e":
            alike = np.array_equal(got, expected, equal_nan=expected.dtype.kind in "fc")
        else:
            alike = same(got, expected, rounded=False)
            if alike and expected.size > 1 and program.has_strides(name):
                # on ranks, a view has the strides of the memory that NumPy would get
                contiguous = atoll.world.size > 1 and expected.base is not None
                alike = strides(got) == strides(np.asarray(got) if contiguous else expected)
        assert alike, (
            f"{program.text()}\n{name}, strides {got.strides}: {got!r}"
            f"\nNumPy, strides {expected.strides}: {expected!r}"
        )
