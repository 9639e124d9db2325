"""NumPy's functions on several threads, for functions that treat lines or elements independently.

NumPy sorts, transforms and searches on one core. The rows of a matrix are sorted by themselves, and so are values looked up
in a sorted line. So the arguments are cut, each thread calls NumPy on a piece, and the pieces are put together: every element
comes out of the same call of the same function as before, and has the same bits.

NumPy releases the interpreter lock in the loops of these functions. The work outside the loops is small.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import numpy as np

from .. import policy
from ..config import config
from ..context.interrupts import passed_on
from ..context.threads import turn
from .evaluation import looks

Array = np.ndarray[Any, Any]
Cut = Callable[[Callable[..., Any], list[Any], dict[str, Any], int], Any]


_cuts: dict[Callable[..., Any], Cut] = {}
"""By NumPy function, the rule that cuts its arguments, which the declaration of the function gives."""


def register_cut(function: Callable[..., Any], cut: Cut) -> None:
    """Let threads share the calls of a NumPy function."""
    _cuts[function] = cut


def shared(function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> Any:
    """``function(*args, **options)``, on several threads if that is faster."""
    if looks.call is not None:
        return looks.call(function, args, options)
    cut = _cut_of(function)
    if cut is not None and not turn.simulated and not _has_target(args, options):
        largest = max([a.size for a in args if type(a) is np.ndarray], default=0)
        threads = min(config.threads, largest // policy.limits.chunk)
        if threads > 1:
            result = cut(function, list(args), options, threads)
            if result is not NotImplemented:
                return result
    return function(*args, **options)


def _has_target(args: Sequence[Any], options: dict[str, Any]) -> bool:
    """True if a call may write into an array of the program, which pieces of it cannot share."""
    return options.get("out") is not None or any(type(arg) is np.ndarray for arg in args[3:])


def _cut_of(function: Callable[..., Any]) -> Cut | None:
    try:
        return _cuts.get(function)
    except TypeError as problem:  # a function that has no hash
        passed_on(problem)
        return None


def _bounds(length: int, pieces: int) -> list[tuple[int, int]]:
    return [(length * k // pieces, length * (k + 1) // pieces) for k in range(pieces)]


def _together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """The results of the calls, each on a thread; the first one is this thread's own."""
    futures = []
    try:
        pool = _pool()
        futures = [pool.submit(copy_context().run, call) for call in calls[1:]]
    except (
        RuntimeError
    ) as refused:  # the interpreter is shutting down, or there are no more threads
        passed_on(refused)
    results = []
    try:
        results.append(calls[0]())
    finally:
        others = [future.exception() for future in futures]
    for error in others:
        if error is not None:
            raise error
    results += [future.result() for future in futures]
    return results + [call() for call in calls[1 + len(futures) :]]


def _pieces(
    function: Callable[..., Any],
    args: list[Any],
    options: dict[str, Any],
    place: int,
    threads: int,
) -> Array:
    """Cut one argument along its first axis, and put the results together along the same."""
    array = args[place]

    def of(low: int, high: int) -> Callable[[], Array]:
        part = array[low:high]
        return lambda: function(*args[:place], part, *args[place + 1 :], **options)

    whole = _together([of(low, high) for low, high in _bounds(len(array), threads)])
    return np.concatenate(whole)


def _is_plain(array: Any) -> bool:
    return type(array) is np.ndarray and array.dtype.kind in "biufc" and array.dtype.isnative


def by_elements(place: int) -> Cut:
    """Cut for functions that treat each element of an argument independently."""

    def cut(
        function: Callable[..., Any], args: list[Any], options: dict[str, Any], threads: int
    ) -> Any:
        if len(args) <= place or not all(_is_plain(a) for a in args[:2]) or not args[place].ndim:
            return NotImplemented
        if args[place].shape[0] < threads or not args[place].flags.c_contiguous:
            return NotImplemented
        return _pieces(function, args, options, place, threads)

    return cut


def by_lines(position: int, method: str = "") -> Cut:
    """Cut for functions along one axis; ``position`` is that of the axis among the arguments, and the last axis is the
    default. A ``method`` does the same in place."""

    def cut(
        function: Callable[..., Any], args: list[Any], options: dict[str, Any], threads: int
    ) -> Any:
        array: Any = args[0] if args else None
        if not _is_plain(array) or array.ndim < 2:
            return NotImplemented
        axis = args[position] if len(args) > position else options.get("axis", -1)
        if type(axis) is not int or not -array.ndim <= axis < array.ndim:
            return NotImplemented
        if not array.flags.c_contiguous:  # the result lies in memory as the array does
            return NotImplemented
        if axis % array.ndim == 0 or len(array) < threads:
            return NotImplemented
        if not method:
            return _pieces(function, args, options, 0, threads)
        whole = np.empty_like(array)

        def of(low: int, high: int) -> Callable[[], None]:
            def call() -> None:
                whole[low:high] = array[low:high]
                getattr(whole[low:high], method)(*args[1:], **options)

            return call

        _together([of(low, high) for low, high in _bounds(len(array), threads)])
        return whole

    return cut


def convolved(
    function: Callable[..., Any], args: list[Any], options: dict[str, Any], threads: int
) -> Any:
    """A long line with a short one: each piece has the elements before it that it needs."""
    if len(args) < 2 or not all(_is_plain(a) and a.ndim == 1 for a in args[:2]):
        return NotImplemented
    long, short, *mode = args
    usual = "full" if function is np.convolve else "valid"
    mode = mode[0] if mode else options.get("mode", usual)
    if len(short) < 1 or len(long) < threads * 4 * len(short):
        return NotImplemented
    if mode not in ("full", "same", "valid"):
        return NotImplemented
    over = len(short) - 1

    def of(low: int, high: int) -> Callable[[], Array]:
        return lambda: function(long[low : high + over], short, "valid")

    middle = _together([of(low, high) for low, high in _bounds(len(long) - over, threads)])
    if mode == "valid" or not over:
        return np.concatenate(middle)
    before = function(long[: 2 * over], short, "full")[:over]
    after = function(long[-2 * over :], short, "full")[-over:]
    whole = np.concatenate([before, *middle, after])
    if mode == "full":
        return whole
    return whole[over // 2 : over // 2 + len(long)].copy()


def taken(
    function: Callable[..., Any], args: list[Any], options: dict[str, Any], threads: int
) -> Any:
    """Elements at indices, where these do not go along one axis of several."""
    axis = args[2] if len(args) > 2 else options.get("axis")
    return by_elements(1)(function, args, options, threads) if axis is None else NotImplemented


_pools: dict[int, ThreadPoolExecutor] = {}
"""Executors of waiting threads, by the number of threads."""


def _pool() -> ThreadPoolExecutor:
    number = max(1, config.threads - 1)
    pool = _pools.get(number)
    if pool is None:
        pool = _pools.setdefault(number, ThreadPoolExecutor(number, "atoll-numpy"))
    return pool


os.register_at_fork(after_in_child=_pools.clear)
