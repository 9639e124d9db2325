"""From reports and launchers' prose to a few words and a code."""

from __future__ import annotations

import json

import pytest

from atoll.cli import verdict as messages
from atoll.cli.verdict import MOST_TRACEBACKS, Verdict
from atoll.startup import rank_words

BLOCK = (
    "=" * 83
    + """
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 52 RUNNING AT here
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
"""
    + "=" * 83
    + """
{}YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
)


def report(verdict: Verdict, rank: int, kind: str, code: int, text: str = "") -> None:
    fields = {"kind": kind, "rank": rank, "code": code, "text": text}
    assert verdict.record(b"\x1emark" + json.dumps(fields).encode() + b"\x1e\n") == b""


def started(ranks: int) -> Verdict:
    verdict = Verdict(ranks)
    for rank in range(ranks):
        fields = {"kind": "start", "rank": rank, "process": 50 + rank, "host": "here"}
        verdict.record(json.dumps(fields).encode())
    return verdict


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


def test_a_line_that_is_no_record_is_printed() -> None:
    assert Verdict(2).record(b"\x1emark{half") == b"\x1emark{half"


def died(verdict: Verdict, text: str, read: object) -> None:
    assert verdict.remarks(read)(text.encode()) == b""  # type: ignore[arg-type]


def test_hydra_kills_what_is_left_and_the_first_to_go_is_the_cause() -> None:
    verdict = started(4)
    verdict.gone = [2, 0]
    died(
        verdict,
        BLOCK.format("[mpiexec@here] Exit codes: [here] 9,0,9,0\n"),
        messages.hydra_block,
    )
    assert "rank 2 of 4 (process 52 on here) was killed by signal 9" in verdict.last_words(9)
    assert verdict.code(9) == 137
    verdict.gone = [0, 2]
    assert "rank 0 of 4 (process 50 on here)" in verdict.last_words(9)


def test_an_exit_code_is_more_certain_than_a_kill() -> None:
    verdict = started(3)
    verdict.gone = [0, 1]
    died(
        verdict,
        BLOCK.format("[mpiexec@here] Exit codes: [here] 9,1280,9\n"),
        messages.hydra_block,
    )
    assert verdict.last_words(13) == (
        "atoll: rank 1 of 3 (process 51 on here) left with exit code 5; all ranks ended\n"
    )
    assert verdict.code(13) == 5


def test_who_left_in_the_midst_with_code_0_is_the_cause_though_others_were_killed() -> None:
    verdict = started(3)
    verdict.gone = [0, 1, 2]
    verdict.together, verdict.orderly = {0, 1, 2}, {0}
    died(
        verdict,
        BLOCK.format("[mpiexec@here] Exit codes: [here] 0,0,9\n"),
        messages.hydra_line,
    )
    assert verdict.last_words(9) == (
        "atoll: rank 1 of 3 (process 51 on here) left with exit code 0, but not at its end; all ranks ended\n"
    )
    assert verdict.code(9) == verdict.code(0) == 1
    verdict.orderly = {0, 1, 2}
    assert verdict.last_words(9).startswith("atoll: rank 2 of 3")


@pytest.mark.parametrize(
    ("text", "death"),
    [
        (
            "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\n"
            "  Proc: [[8322,1],1]\n  Errorcode: 3\n\nNOTE: ...",
            messages.Death(3, aborted=True, rank=1),
        ),
        (
            "prterun noticed that process rank 1 with PID 6196 on node vm exited on\n"
            "signal 9 (Killed).",
            messages.Death(137, 9, rank=1, process=6196, host="vm"),
        ),
        (
            "prterun detected that one or more processes exited with non-zero status,\n"
            "thus causing the job to be terminated. The first process to do so was:\n\n"
            "   Process name: [prterun-vm-6227@1,1]\n   Exit code:    5",
            messages.Death(5, rank=1),
        ),
        (
            "mpirun detected that one or more processes exited with non-zero status, ...\n"
            "  Process name: [[36149,1],0]\n  Exit code:    2",
            messages.Death(2, rank=0),
        ),
        (
            "prterun has exited due to process rank 1 with PID 15150 on node vm exiting\n"
            "improperly. There are three reasons this could occur:\n\n1. ...",
            messages.Death(0, rank=1, process=15150, host="vm"),
        ),
    ],
)
def test_open_mpi_in_its_words(text: str, death: messages.Death) -> None:
    dashes = "-" * 74 + "\n"
    assert messages.open_mpi_block(f"{dashes}{text}\n{dashes}") == [death]


def test_what_is_no_remark_is_for_the_user() -> None:
    line = "[vm:19115] [[9813,0],0] ORTE_ERROR_LOG: Data unpack would read past end of buffer\n"
    assert messages.open_mpi_line(line) == []
    assert messages.open_mpi_line("[vm:19115] a warning\n") is None
    verdict = Verdict(2)
    read = verdict.remarks(messages.open_mpi_block)
    assert read(b"---\nThere are not enough slots available\n---\n").count(b"slots") == 1
    verdict.ended_by_signal = True
    assert read(b"---\nThere are not enough slots available\n---\n") == b""
    fatal = "Abort(1) on node 0 (rank 0 in comm 0): Fatal error in internal_Send"
    assert messages.mpich_line(fatal) is None
