"""Descriptions changed at random give an array, a list of violations, or a refusal by name; never anything else."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import mutated, search


@settings(max_examples=100)
@given(st.randoms(use_true_random=False), st.sampled_from(sorted(mutated.ACTIONS)))
def test_what_is_wrong_is_refused_by_name(drawing: random.Random, protocol: str) -> None:
    assert mutated.outcome(mutated.drawn(drawing, protocol)) in ("array", "checked", "refused")


def test_a_process_with_little_memory_comes_to_no_harm() -> None:
    said: list[str] = []
    counts = search.search(0, 120, [], said.append)
    assert not set(counts) - {"array", "checked", "refused"}, "\n".join(said)
    assert sum(counts.values()) == 120


@pytest.mark.parametrize("what", ["crash", "hang", "no memory", "foreign"])
def test_the_search_finds(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUTATED_GOES_WRONG", what)
    said: list[str] = []
    assert search.search(0, 2, [], said.append) == Counter({what: 2}), said
