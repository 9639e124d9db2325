"""From what ranks report to a few words and a code."""

from __future__ import annotations

import pytest

from atoll.cli.verdict import MOST_TRACEBACKS, Verdict
from atoll.comm import launcher
from atoll.startup import rank_words


def report(verdict: Verdict, rank: int, kind: str, code: int, text: str = "") -> None:
    verdict.record({"kind": kind, "rank": rank, "code": code, "text": text})


def started(ranks: int) -> Verdict:
    verdict = Verdict(ranks)
    for rank in range(ranks):
        verdict.record({"kind": "start", "rank": rank, "process": 50 + rank, "host": "here"})
    return verdict


def ended(verdict: Verdict, rank: int, status: int, by_launcher: bool = False) -> None:
    verdict.record({"kind": "end", "rank": rank, "status": status, "by_launcher": by_launcher})


def progress(verdict: Verdict, sign: bytes, *ranks: int) -> None:
    for rank in ranks:
        verdict.record({"kind": "progress", "rank": rank, "sign": sign.decode()})


@pytest.mark.parametrize(
    ("ranks", "words"),
    [([2], "rank 2 of 9"), ([1, 0, 2], "ranks 0-2 of 9"), ([8, 3, 4, 3], "ranks 3-4, 8 of 9")],
)
def test_ranks_in_words(ranks: list[int], words: str) -> None:
    assert rank_words(ranks, 9) == words


def test_equal_reports_are_one_even_if_they_name_their_rank() -> None:
    verdict = Verdict(4)
    for rank in (2, 0, 1):
        report(verdict, rank, "exception", 1, f"Traceback\nValueError: rank {rank}\n")
    assert verdict.reports() == (
        "atoll: ranks 0-2 of 4 failed; all ranks ended\nTraceback\nValueError: rank 2\n"
    )
    assert verdict.reports() == ""
    assert verdict.code(9) == 1


def test_of_many_different_tracebacks_only_some_are_whole() -> None:
    verdict = Verdict(9)
    for rank in range(9):
        report(verdict, rank, "exception", 1, f"Traceback\nValueError: {'abcdefghi'[rank]}\n")
    text = verdict.reports()
    assert text.count("Traceback") == MOST_TRACEBACKS
    assert text.count("ValueError") == 9


def test_what_follows_from_a_failure_is_not_said() -> None:
    verdict = Verdict(2)
    report(verdict, 1, "exception", 1, "ZeroDivisionError\n")
    report(verdict, 0, "consequence", 1, "RankFailedError\n")
    assert "RankFailedError" not in verdict.reports()


def test_the_first_end_with_a_code_is_the_cause() -> None:
    verdict = started(4)
    ended(verdict, 3, 0)
    ended(verdict, 2, 9)
    ended(verdict, 0, 9)
    assert "rank 2 of 4 (process 52 on here) was killed by signal 9" in verdict.last_words(9)
    assert verdict.code(9) == 137


def test_a_job_whose_ranks_all_ended_well_is_well_whatever_the_launcher_says() -> None:
    verdict = started(2)
    ended(verdict, 1, 0)
    assert verdict.code(9) == 9
    ended(verdict, 0, 0)
    assert (verdict.code(9), verdict.last_words(9), verdict.decided) == (0, "", True)


def test_what_a_launcher_ended_is_not_the_cause() -> None:
    verdict = started(3)
    ended(verdict, 0, 15, by_launcher=True)
    ended(verdict, 1, 5 << 8)
    assert verdict.last_words(13) == (
        "atoll: rank 1 of 3 (process 51 on here) left with exit code 5; all ranks ended\n"
    )
    assert verdict.code(13) == 5


def test_who_left_in_the_midst_with_code_0_is_the_cause_though_others_failed_after_it() -> None:
    verdict = started(3)
    progress(verdict, launcher.TOGETHER, 0, 1, 2)
    progress(verdict, launcher.ORDERLY, 0)
    ended(verdict, 0, 0)
    assert not verdict.decided
    ended(verdict, 1, 0)
    assert verdict.decided
    ended(verdict, 2, 9)
    assert verdict.last_words(9) == (
        "atoll: rank 1 of 3 (process 51 on here) left with exit code 0, but not at its end; all ranks ended\n"
    )
    assert verdict.code(9) == verdict.code(0) == 1
    progress(verdict, launcher.ORDERLY, 1, 2)
    assert verdict.last_words(9).startswith("atoll: rank 2 of 3")


def test_a_reported_reason_precedes_how_ranks_ended() -> None:
    verdict = started(2)
    ended(verdict, 1, 1 << 8)
    report(verdict, 0, "exit", 3)
    assert verdict.code(1) == 3
    assert verdict.last_words(1) == ""
    assert verdict.decided


def test_a_launcher_that_fails_alone_gives_its_code() -> None:
    verdict = started(2)
    assert verdict.code(-9) == 137
    assert verdict.code(4) == 4
    assert "exit code 4" in verdict.last_words(4)
    assert not verdict.decided
