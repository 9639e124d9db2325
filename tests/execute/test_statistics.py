"""Counting what was done, from any thread and for each simulated rank."""

from __future__ import annotations

import contextvars
import threading

import pytest

import atoll
from atoll.context import statistics


def test_counts_are_added_and_reset() -> None:
    with statistics.separate():
        statistics.add("messages")
        statistics.add("bytes_moved", 80)
        statistics.add("bytes_moved", 8)
        statistics.counters().allocated("created", 100)
        statistics.counters().allocated("reused", 50)
        seen = atoll.stats()
        assert (seen.messages, seen.bytes_moved, seen.peak_bytes) == (1, 88, 100)
        atoll.reset_stats()
        assert atoll.stats() == statistics.Statistics()
    assert seen.messages == 1, "a snapshot does not change"
    lines = str(seen).splitlines()
    assert len(lines) == len(statistics.Statistics.__slots__)
    assert lines[0].split() == ["created", "1"]
    assert {len(line) for line in lines} == {len(lines[0])}


def test_a_misspelt_count_is_refused() -> None:
    with statistics.separate(), pytest.raises(KeyError, match="mesages"):
        statistics.add("mesages")


def test_separate_counters_do_not_mix() -> None:
    with statistics.separate() as outer:
        with statistics.separate() as inner:
            statistics.add("distributed")
        statistics.add("created")
    assert (inner.snapshot().distributed, inner.snapshot().created) == (1, 0)
    assert (outer.snapshot().distributed, outer.snapshot().created) == (0, 1)


def test_no_count_is_lost_between_threads() -> None:
    def count() -> None:
        for _ in range(2000):
            statistics.add("kernels_run")

    with statistics.separate() as counters:
        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(count,)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counters.snapshot().kernels_run == 8000


@pytest.mark.simulated(3)
def test_simulated_ranks_count_for_themselves(rank: int) -> None:
    statistics.add("distributed", rank)
    atoll.world.barrier()
    assert atoll.stats().distributed == rank
