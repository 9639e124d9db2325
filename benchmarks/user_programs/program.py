"""What a program of this group is: a function of an array module, run as a whole, at several sizes.

    @program(smoke=10, small=50, medium=200, large=500, data=matrices)
    def cholesky(np, A): ...

``data(np, n)`` makes the arguments with NumPy. Before each run, outside of the time, they become arrays of the contestant's own; of
a program that is ``borrowed`` they stay NumPy's. A program without ``data`` takes the size itself. Beside a program stand its translations for compilers: a function that takes the
compiler's module and returns the compiled program::

    @form(cholesky, "numba")
    def _(numba): ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy

Run = Callable[..., Any]
Data = Callable[[Any, int], tuple[Any, ...]]
SIZES = ("smoke", "small", "medium", "large")


def _only_the_size(np: Any, n: int) -> tuple[Any, ...]:
    return (n,)


@dataclass(frozen=True, slots=True)
class Program:
    """A program that somebody wrote for NumPy, and what is known of it."""

    name: str
    kind: str
    """The class of programs to which it belongs: the name of its module."""
    run: Run
    sizes: Mapping[str, int]
    data: Data = _only_the_size
    tolerance: float = 1e-9
    """How far two results may be apart, relative to the largest element; 0 is bit by bit."""
    expressions: bool = True
    """True if it is made of expressions of whole arrays, not of loops over their elements, rows or columns."""
    borrowed: bool = False
    """True if its arguments are NumPy's arrays, whatever the array module."""
    forms: dict[str, Callable[[Any], Run]] = field(default_factory=dict)
    """The program in the manner of compilers."""

    def arguments(self, module: Any, n: int) -> tuple[Any, ...]:
        """What the program is called with, where ``module`` is its array module."""
        data = self.data(numpy, n)
        if self.borrowed or module is numpy:
            return data
        return tuple([module.array(v) if isinstance(v, numpy.ndarray) else v for v in data])


PROGRAMS: dict[str, Program] = {}


def program(
    *,
    data: Data = _only_the_size,
    tolerance: float = 1e-9,
    expressions: bool = True,
    borrowed: bool = False,
    jax: bool = False,
    **sizes: int,
) -> Callable[[Run], Run]:
    """Put a program on the list, under its own name; with ``jax`` its own source is what JAX compiles."""
    if tuple(sizes) != SIZES:
        raise TypeError(f"program: the sizes are {', '.join(SIZES)}, in this order")

    def listed(run: Run) -> Run:
        name, kind = run.__name__, run.__module__.rpartition(".")[2]
        if name in PROGRAMS:
            raise ValueError(f"program: there are two programs {name!r}")
        forms = {"jax": lambda module: _jitted(module, run)} if jax else {}
        PROGRAMS[name] = Program(
            name, kind, run, sizes, data, tolerance, expressions, borrowed, forms
        )
        return run

    return listed


def form(run: Run, peer: str) -> Callable[[Callable[[Any], Run]], None]:
    """Put the translation of a program for a compiler beside it."""

    def listed(translated: Callable[[Any], Run]) -> None:
        PROGRAMS[run.__name__].forms[peer] = translated

    return listed


def _jitted(jax: Any, run: Run) -> Run:
    """The program as JAX compiles it: whatever is no array is part of the source."""

    def compiled(*data: Any) -> Any:
        given = [k for k, value in enumerate(data) if hasattr(value, "shape")]
        key = tuple([(k, value) for k, value in enumerate(data) if k not in given])
        if key not in kept:

            def traced(*arrays: Any) -> Any:
                whole = list(data)
                for k, array in zip(given, arrays, strict=True):
                    whole[k] = array
                return run(jax.numpy, *whole)

            kept[key] = jax.jit(traced)
        return kept[key](*[data[k] for k in given])

    kept: dict[Any, Any] = {}
    return compiled
