"""Runs ``atoll run`` and its like in real processes, never longer than a time limit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

LIMIT = 30.0
"""Seconds; everything here takes one or two on a machine that does nothing else."""


@dataclass(frozen=True)
class Outcome:
    """What a command came to."""

    code: int
    output: str
    errors: str

    def __str__(self) -> str:
        return f"code {self.code}\n-- output\n{self.output}\n-- errors\n{self.errors}"


def environment(**changes: str) -> dict[str, str]:
    """This environment without what a launcher, a developer or another test may have set."""
    foreign = ("PMI", "OMPI_", "PMIX", "HYD", "MPI_LOCAL", "SLURM_", "ATOLL_")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "ATOLL_WITHOUT"
        or (not name.startswith(foreign) and not name.endswith("_NUM_THREADS"))
    }
    return {**kept, **changes}


def atoll(
    *words: str, python: str = sys.executable, input: str | None = None, **changes: str
) -> Outcome:
    """``atoll words...`` in a process of its own."""
    return finished([python, "-m", "atoll", *words], input=input, **changes)


def finished(words: Sequence[str], *, input: str | None = None, **changes: str) -> Outcome:
    """A command, run to its end, which has to come within the limit."""
    process = start_process(words, with_input=input is not None, **changes)
    try:
        output, errors = process.communicate(input, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.terminate()  # atoll run passes that on to its ranks
        output, errors = process.communicate(timeout=LIMIT)
        raise AssertionError(f"{words} took too long\n{output}\n{errors}") from None
    return Outcome(process.returncode, output, errors)


def start_process(
    words: Sequence[str], *, with_input: bool = False, **changes: str
) -> subprocess.Popen[str]:
    """A command with pipes for what it prints."""
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="backslashreplace",
        env=environment(**changes),
    )
