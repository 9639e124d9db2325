"""Users' programs as a corpus: what a run records and evaluates, the runs before it have taught.

Everything is recorded, however small, so each program shows all of its operations. In the fourth run nothing is planned any more, and C
records nearly all nodes: a share below the bar says that some kind of operation has lost its native way.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

import atoll
from atoll import front
from atoll.config import config

from .test_users import PROGRAMS, RECORDED, result

pytestmark = pytest.mark.skipif(front.native is None, reason="the native front was not built")

NATIVELY = 0.965
"""The share of nodes that C records in the fourth runs of all programs: to be raised where it is more."""
PLANS = 880, 160, 5, 0
"""The plans of the first four runs of all programs: to be lowered where there are fewer."""


class Run(NamedTuple):
    """What a run of a program took."""

    nodes: int
    natively: int
    planned: int
    replayed: int


def run(name: str) -> Run:
    """A run of a program, counted."""
    native, before = front.native, atoll.stats()
    first, own = native.next_born(), native.recorded()
    result(atoll, name)
    after = atoll.stats()
    return Run(
        native.next_born() - first - 1,
        native.recorded() - own,
        after.plans_made - before.plans_made,
        after.plans_reused - before.plans_reused,
    )


def runs(name: str) -> list[Run]:
    """The first four runs of a program that records everything."""
    with config(small=0):
        return [run(name) for _ in range(4)]


@pytest.mark.parametrize("name", RECORDED[::3])
def test_a_program_plans_nothing_in_its_fourth_run(name: str) -> None:
    *_, last = runs(name)
    assert last.planned == 0
    assert last.replayed > 0
    assert last.natively > 0


@pytest.mark.slow
def test_all_programs_replay_what_they_have_recorded() -> None:
    every = {name: runs(name) for name in PROGRAMS}
    natively = sum(last.natively for *_, last in every.values())
    assert natively >= NATIVELY * sum(last.nodes for *_, last in every.values())
    for turn, most in enumerate(PLANS):
        assert sum(each[turn].planned for each in every.values()) <= most
