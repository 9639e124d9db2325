"""Jobs of which one rank ends otherwise than the others: a sample of the table, and how streams end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from .scenarios import ACTS, SCENARIOS, Job, Scenario, command, wrong

SAMPLE = {
    "exits with 0": "before import, in a collective, at exit",
    "exits with 3": "in a collective",
    "exits with an object": "at exit",
    "leaves by os._exit(0)": "in a collective",
    "leaves by os._exit(5)": "asleep",
    "leaves by C with 0": "asleep",
    "leaves by C with 7": "in a collective",
    "is killed": "asleep",
    "raises what UTF-8 lacks": "after import",
    "raises what cannot be printed": "asleep",
    "closes its output and raises": "at exit",
    "ends MPI": "in a collective",
    "has a hook that fails": "in a collective",
    "loops in Python": "in a collective, at exit",
    "sleeps in C": "before import",
    "is stopped": "in a collective",
}
"""What is run each time, by ``atoll run``."""

ALONE = {
    "exits with 0": "after import, at exit",
    "raises": "after import",
    "exits with 3 by a copy": "asleep",
    "exits with 3 while it handles an error": "in a collective",
    "loops in Python": "at exit, in a collective",
}
"""And by ``mpiexec``."""

RUN = [
    found
    for launcher, sample in (("atoll run", SAMPLE), ("mpiexec", ALONE))
    for found in SCENARIOS
    if found.launcher == launcher and found.moment in sample.get(found.act.name, "").split(", ")
]


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[str]]]:
    """All scenarios of this run: they wait much and compute little, so several run at a time."""
    asked = {item.name for item in request.session.items}
    with ThreadPoolExecutor(3) as pool:
        yield {
            str(found): pool.submit(wrong, found)
            for found in RUN
            if f"test_a_rank_ends_otherwise[{found}]" in asked
        }


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", RUN, ids=str)
def test_a_rank_ends_otherwise(scenario: Scenario, running: dict[str, Future[str]]) -> None:
    complaint = running[str(scenario)].result()
    assert not complaint, complaint


def test_the_sample_has_what_the_table_has() -> None:
    assert {act.name for act in ACTS} >= {*SAMPLE, *ALONE}
    assert len(RUN) == sum(len(m.split(", ")) for m in (*SAMPLE.values(), *ALONE.values()))


def shell(line: str, program: str) -> tuple[int | None, str, str, list[str]]:
    """The end of a line for the shell, in which COMMAND stands for ``atoll run``."""
    words = command("atoll run", 'exec(os.environ["PROGRAM"])', sys.executable, 2)
    text = line.replace("COMMAND", f'"{words[0]}" -m atoll run -n 2 -c "$PROGRAM"')
    job = Job(["bash", "-c", text], {"PROGRAM": program, "ATOLL_WAIT_ABORT": "20"})
    return (*job.ended(), job.remains())


@pytest.mark.slow
@pytest.mark.timeout(150)
@pytest.mark.parametrize(
    ("line", "program", "code", "words"),
    [
        ("COMMAND <&-", "import sys; print(sys.stdin and sys.stdin.read())", 0, ""),
        ("COMMAND >&-", "print('nowhere')", None, ""),
        ("COMMAND 2>&-", "raise ValueError", 1, ""),
        ("COMMAND >/dev/full", "print('nowhere')", None, ""),
        ("COMMAND | head -n 1; exit ${PIPESTATUS[0]}", "while True: print('on' * 99)", 141, ""),
        ("COMMAND | tail -c 3", "import sys; sys.stdout.write('x' * 10**7)", 0, "xxx"),
        (
            "COMMAND | md5sum",
            "import os; os.write(1, bytes(range(256)))",
            0,
            "e2c865db4162bed963bfaa9ef6ac18f0",
        ),
        ("COMMAND 2>&1 | tail -c 3", "import os; os.write(2, b'\\xff\\x1e\\x1d\\0')", 0, ""),
        ("COMMAND 2>&1", "import sys; sys.stderr.write('=' * 83 + '\\n' * 3)", 0, "===\n"),
    ],
    ids=lambda value: value if isinstance(value, str) and "COMMAND" in value else "",
)
def test_streams_may_end_or_hold_anything(
    line: str, program: str, code: int | None, words: str
) -> None:
    ended, output, errors, left = shell(line, f"import atoll; atoll.world.barrier()\n{program}")
    assert ended is not None, (output, errors)
    assert code in (None, ended), (ended, output, errors)
    assert words in output
    assert not left
    assert "Traceback" not in output + errors or "ValueError" in errors, errors
