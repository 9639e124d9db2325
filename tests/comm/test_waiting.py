"""Waits give way, report, and end."""

from unittest.mock import patch

import pytest

import atoll
from atoll.comm import waiting
from atoll.comm.waiting import SPINS, YIELDS, Patience
from atoll.errors import WaitTimeoutError


def pauses_until_the_end():
    """What the error says, when it comes, and after how many pauses; by a clock that only pauses move."""
    patience = Patience("rank 1 of 4", lambda: "receive from rank 2, tag 7 (halo)")
    clock = [7.0]

    def passes(seconds=1e-5):
        clock[0] += max(seconds, 1e-5)

    with (
        patch("time.monotonic", lambda: clock[0]),
        patch("time.sleep", passes),
        patch.object(waiting, "give_way", passes),
    ):
        for count in range(10_000):
            try:
                patience.pause()
            except WaitTimeoutError as error:
                return str(error), clock[0] - 7.0, count
    return pytest.fail("ten thousand pauses, and no end")


def test_the_limit_of_the_settings(capsys):
    with atoll.config(wait_abort=0.2, wait_report=0.05):
        text, seconds, count = pauses_until_the_end()
    assert "rank 1 of 4 has waited 0.2 s" in text
    assert "receive from rank 2, tag 7 (halo)" in text
    assert "ATOLL_WAIT_ABORT" in text
    assert seconds == pytest.approx(0.2, abs=1e-4)
    sleeps = count - SPINS - YIELDS
    assert 100 < sleeps < 300, "of a thousandth of a second at the most"
    reports = capsys.readouterr().err.splitlines()
    assert len(reports) == 2, "after 0.05 s, and again when that has doubled"
    assert all("rank 1 of 4 has waited" in line and "halo" in line for line in reports)


def test_the_first_pauses_cost_nothing():
    patience = Patience("", str)
    with (
        patch("time.monotonic", side_effect=AssertionError("looked at the clock")),
        patch("time.sleep", side_effect=AssertionError("slept")),
        patch.object(waiting, "give_way", side_effect=AssertionError("gave way")),
    ):
        for _ in range(SPINS - 1):
            patience.pause()
        with pytest.raises(AssertionError, match="looked at the clock"):
            patience.pause()
