"""Waits give way, report, and end."""

import time
from unittest.mock import patch

import pytest

import atoll
from atoll.comm import waiting
from atoll.comm.waiting import SPINS, YIELDS, Patience
from atoll.errors import WaitTimeoutError


def pauses_until_the_end(timeout=None):
    patience = Patience("rank 1 of 4", lambda: "receive from rank 2, tag 7 (halo)", timeout)
    start = time.perf_counter()
    for count in range(1_000_000):
        try:
            patience.pause()
        except WaitTimeoutError as error:
            return str(error), time.perf_counter() - start, count
    return pytest.fail("a million pauses, and no end")


def test_the_limit_of_the_settings(capsys):
    with atoll.config(wait_abort=0.2, wait_report=0.05):
        text, seconds, count = pauses_until_the_end()
    assert "rank 1 of 4 has waited 0.2" in text
    assert "receive from rank 2, tag 7 (halo)" in text
    assert "ATOLL_WAIT_ABORT" in text
    assert seconds >= 0.2
    assert SPINS + YIELDS < count < 200_000
    reports = capsys.readouterr().err.splitlines()
    # After 0.05 s, and again when that has doubled.
    assert 1 <= len(reports) <= 3
    assert all("rank 1 of 4 has waited" in line and "halo" in line for line in reports)


def test_a_limit_of_the_call_goes_before(capsys):
    with atoll.config(wait_abort=100):
        text, seconds, _ = pauses_until_the_end(0.05)
    assert "the time limit given" in text
    assert seconds >= 0.05
    assert capsys.readouterr().err == ""


def test_the_first_pauses_cost_nothing():
    patience = Patience("", str, None)
    with (
        patch("time.monotonic", side_effect=AssertionError("looked at the clock")),
        patch("time.sleep", side_effect=AssertionError("slept")),
        patch.object(waiting, "give_way", side_effect=AssertionError("gave way")),
    ):
        for _ in range(SPINS - 1):
            patience.pause()
        with pytest.raises(AssertionError, match="looked at the clock"):
            patience.pause()
