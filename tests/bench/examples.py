"""Hypothesis on ranks: all draw the same examples and agree on each.

Every rank runs Hypothesis itself, without a database and from a seed that depends on the test
alone, so all draw the same first example. What comes next depends on how an example went.
Therefore each rank votes after each example, the controller waits for all votes, and its
verdict is what Hypothesis sees on every rank: where one rank fails, all fail, by the same
error, so all shrink alike. Votes carry a fingerprint of the example. Ranks whose examples
differ are told so instead of being left to wait for each other.

On simulated ranks Hypothesis runs once, outside, and each example is one run of all ranks.
"""

from __future__ import annotations

import functools
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, reject, settings
from hypothesis.control import current_build_context
from hypothesis.errors import StopTest, UnsatisfiedAssumption


@dataclass(frozen=True, slots=True)
class Vote:
    """How one example went on one rank: passed, failed, rejected or stopped."""

    outcome: str
    fingerprint: int
    example: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one example went on all ranks: passed, failed, rejected, stopped or diverged."""

    outcome: str
    text: str = ""


class RanksFailed(AssertionError):
    """An example failed on at least one rank; raised on all."""


class ExamplesDiverged(BaseException):
    """The ranks did not try the same example. No ``Exception``: Hypothesis must not shrink it."""


def load_profile() -> None:
    """The settings of Hypothesis in all tests: repeatable, and blind to the machine's speed."""
    blind = [
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        HealthCheck.differing_executors,
    ]
    phases = [phase for phase in Phase if phase is not Phase.explain]
    settings.register_profile(
        "bench",
        derandomize=True,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=blind,
    )
    settings.load_profile("bench")


def _describe(arguments: dict[str, Any]) -> str:
    """The arguments of an example in words."""
    return ", ".join(
        f"{name}={value!r}" for name, value in arguments.items() if name not in ("rank", "tmp_path")
    )


def agreeing(inner: Callable[..., None], vote: Callable[[Vote], Verdict]) -> Callable[..., None]:
    """``inner``, the body of a Hypothesis test, with a vote after every example."""

    @functools.wraps(inner)
    def example(*args: Any, **arguments: Any) -> None:
        __tracebackhide__ = True
        drawn = current_build_context().data
        caught: BaseException | None = None
        outcome, text = "passed", ""
        try:
            inner(*args, **arguments)
        except UnsatisfiedAssumption as error:
            outcome, caught = "rejected", error
        except StopTest as error:
            outcome, caught = "stopped", error
        except (Exception, pytest.fail.Exception) as error:
            outcome, text = "failed", "".join(traceback.format_exception(error, limit=-8))
        # Everything that was drawn, in a strategy or by the test, stems from these choices.
        fingerprint = zlib.crc32(repr(drawn.choices).encode())
        verdict = vote(Vote(outcome, fingerprint, _describe(arguments), text))
        if verdict.outcome == "diverged":
            raise ExamplesDiverged(verdict.text)
        # A stop comes from Hypothesis itself and must reach it; anything else gives way to a failure.
        if verdict.outcome == "failed" and not isinstance(caught, StopTest):
            raise RanksFailed(verdict.text) from None
        if caught is not None:
            raise caught
        if verdict.outcome in ("rejected", "stopped"):
            reject()

    return example


def verdict(votes: dict[int, Vote], finished: list[int]) -> Verdict:
    """The verdict on the ``votes`` by rank, where the ranks in ``finished`` have ended the test."""
    if finished or len({vote.fingerprint for vote in votes.values()}) > 1:
        lines = [
            f"rank {rank}: {vote.example} (fingerprint {vote.fingerprint:08x})"
            for rank, vote in sorted(votes.items())
        ]
        lines += [f"rank {rank}: has finished" for rank in finished]
        return Verdict("diverged", "the ranks drew different examples:\n" + "\n".join(lines))
    failed = {rank: vote.text for rank, vote in sorted(votes.items()) if vote.outcome == "failed"}
    if failed:
        return Verdict(
            "failed",
            "\n".join(f"rank {_ranks(ranks)}:\n{text}" for text, ranks in _grouped(failed).items()),
        )
    for outcome in ("rejected", "stopped"):
        if any(vote.outcome == outcome for vote in votes.values()):
            return Verdict(outcome)
    return Verdict("passed")


def _grouped(texts: dict[int, str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for rank, text in texts.items():
        groups.setdefault(text, []).append(rank)
    return groups


def _ranks(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks))


@contextmanager
def replaced(
    item: pytest.Function, change: Callable[[Callable[..., None]], Callable[..., None]]
) -> Iterator[bool]:
    """Change the body of a Hypothesis test for one call; yields whether it is one."""
    handle = getattr(item.obj, "hypothesis", None)
    if handle is None:
        yield False
        return
    inner = handle.inner_test
    handle.inner_test = change(inner)
    try:
        yield True
    finally:
        handle.inner_test = inner
