"""One rank of three does something else than the others, or nothing more: a table of what, when, and how the job ends.

Each job has to end within a limit, with a code that is not 0 where something went wrong, with words that name the rank
and the line; no process of it may be left, and, under ``atoll run``, no file in the folder of shared memory.

    python -m tests.cli.scenarios [word ...]     all of them, or those whose names have all these words

``--python PATH`` takes another interpreter, such as that of an environment with Open MPI, ``--jobs N`` runs so many at a time,
``--hosts A,B`` puts the ranks of ``atoll run`` on several hosts.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from .commands import environment

SIZE = 3
LIMIT = 90.0
"""Seconds after which a job counts as one that does not end; each takes one to five."""

TOKEN = "ATOLL_RUN_SCENARIO"
"""The variable by which the processes of a job are found."""

FOR_EVER = 500


@dataclass(frozen=True)
class Act:
    """What rank 1 does: a line of Python, and the exit code and the words that it deserves.

    The code is 0 where it has a right to do so, and ``FOR_EVER`` where it never ends by itself.
    """

    name: str
    line: str
    code: int
    words: str = ""


ACTS = [
    Act("exits with 0", "sys.exit(0)", 0),
    Act("leaves by os._exit(0)", "os._exit(0)", 0),
    Act("exits with 3", "sys.exit(3)", 3, "rank 1 of 3 left with exit code 3"),
    Act("exits with 3 by a copy", "leave(3)", 3, "rank 1 of 3 left with exit code 3"),
    Act(
        "exits with 3 while it handles an error", "later()", 3, "rank 1 of 3 left with exit code 3"
    ),
    Act("exits with words", "sys.exit('no file \\udcff')", 1, "rank 1 of 3 left: no file"),
    Act("exits with an object", "sys.exit(Unprintable())", 1, "rank 1 of 3 "),
    Act("leaves by os._exit(5)", "os._exit(5)", 5, r"rank 1 of 3 left: os._exit\(5\) at <string>"),
    Act("leaves by C with 7", "c._exit(7)", 7, r"rank 1 of 3 .*left with exit code 7"),
    Act("leaves by C with 0", "c._exit(0)", 1, "rank 1 of 3 .*left with exit code 0, but not at"),
    Act("is killed", "os.kill(os.getpid(), 9)", 137, r"rank 1 of 3 .*killed by signal 9"),
    Act("is told to end", "os.kill(os.getpid(), 15)", 143, "rank 1 of 3 .*killed by signal 15"),
    Act("reads at address 0", "c.strlen(0)", 139, r"rank 1 of 3 .*killed by signal 11"),
    Act("aborts in C", "c.abort()", 134, r"rank 1 of 3 .*killed by signal 6"),
    Act("raises", "raise ValueError('mine')", 1, r"(?s)rank 1 of 3 failed.*line \d+.*: mine"),
    Act("raises what cannot be printed", "raise Unprintable", 1, "(?s)rank 1 of 3 failed.*Unprint"),
    Act(
        "raises what UTF-8 lacks", "raise ValueError('\\ud800')", 1, r"(?s)rank 1 of 3 .*\\ud800|�"
    ),
    Act(
        "raises a long text", "raise ValueError('long' * 10**6)", 1, "(?s)rank 1 of 3 failed.*long"
    ),
    Act(
        "raises out of a group",
        "raise ExceptionGroup('two', [KeyError(1), ValueError(2)])",
        1,
        "two",
    ),
    Act(
        "is interrupted", "raise KeyboardInterrupt", 130, "interrupted.*rank 1 of 3 was at <string>"
    ),
    Act("closes its output and raises", "os.closerange(0, 3); raise ValueError", 1, "rank 1 of 3"),
    Act("raises in an exit function", "atexit.register(fails); sys.exit(0)", 0),
    Act(
        "has a hook that fails",
        "sys.excepthook = hook; raise ValueError",
        1,
        "(?s)hook, which.*ValueError",
    ),
    Act("ends MPI", "import mpi4py.MPI as MPI; MPI.Finalize()", 0),
    Act("loops in Python", "loops()", FOR_EVER, "rank 1 is at <string>:.*, in loops"),
    Act("sleeps in C", "while True: c.sleep(99)", FOR_EVER, "rank 1 is at <string>:"),
    Act(
        "sleeps in C with Python's lock",
        "while True: ctypes.PyDLL(None).sleep(99)",
        FOR_EVER,
        "rank 1 is at <str",
    ),
    Act(
        "waits for itself",
        "threading.Event().wait()",
        FOR_EVER,
        "rank 1 is at <string>:.*threading",
    ),
    Act("is stopped", "os.kill(os.getpid(), 19)", FOR_EVER, "rank 1 .*is stopped"),
    Act("loops in an exit function", "atexit.register(loops); sys.exit(0)", FOR_EVER, "in loops"),
]

TOOLS = """\
import atexit, ctypes, os, sys, threading, time
from sys import exit as leave
c = ctypes.CDLL(None)
rank = int(os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
class Unprintable(Exception):
    def __str__(self): raise RuntimeError("no words")
    __repr__ = __str__
def hook(*error): raise RuntimeError("in the hook")
def later():
    try: 1 / 0
    except ZeroDivisionError: sys.exit(3)
def fails(): raise OSError("at exit")
def loops():
    number = 0
    while True:
        number += 1
"""
START = "import atoll as np\na = np.ones((1000, 1000))\nfloat(a.sum())\n"

MOMENTS = {
    "before import": f"{TOOLS}if rank == 1:\n    ACT\n{START}",
    "after import": f"{TOOLS}import atoll\nif rank == 1:\n    ACT\n{START}",
    "in a collective": f"{TOOLS}{START}if rank == 1:\n    ACT\n(a + 1).sum().item()",
    "in a barrier of mpi4py": f"{TOOLS}{START}if rank == 1:\n    ACT\n"
    "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()",
    "at exit": f"{TOOLS}{START}if rank == 1:\n    ACT",
    "asleep": f"{TOOLS}{START}if rank == 1:\n    ACT\ntime.sleep(99)",
}
"""What the others do or have done: their program, and in it the place at which rank 1 acts."""

TIMEOUT = r"Timeout \(0:00:0\d\)|left with exit code|interrupted"
"""What a rank says that waits for MPI to start, in C, without anybody to look after it."""

EARLY = ("before import", "after import")


@dataclass(frozen=True)
class Scenario:
    """One job: who starts it, what rank 1 does, and when."""

    launcher: str
    act: Act
    moment: str

    def __str__(self) -> str:
        return f"{self.launcher}: rank 1 {self.act.name}, others {self.moment}"

    @property
    def expected(self) -> tuple[tuple[int, ...], str] | None:
        """The exit codes that are right, none being any but 0, and the words; nothing where there is no right end."""
        code, words = self.act.code, self.act.words
        alone = self.launcher == "mpiexec"
        if self.moment == "asleep" and code in (0, FOR_EVER):
            return None  # nobody waits
        if code == FOR_EVER:
            if self.moment == "in a barrier of mpi4py":
                return None  # both have nothing to do with atoll
            if alone and self.moment in EARLY:
                words = TIMEOUT
            return (1,) if not alone else (), words
        if self.act.name == "ends MPI" and self.moment in (*EARLY, "in a barrier of mpi4py"):
            return None  # before it has begun, or in the midst of others
        if self.moment == "at exit" and code == 0:
            return (0,), ""
        if code == 0 or "leaves by C" in self.act.name:
            if self.moment in EARLY:
                return ((), TIMEOUT) if alone else ((1,), "rank 1 came to the end without")
            if code == 0 and self.moment == "in a collective":
                left = {"leaves by os._exit(0)": "has left by", "ends MPI": "has ended MPI by"}.get(
                    self.act.name, "has come to its end"
                )
                return (1,), f"DivergenceError: .*rank 1 {left}"
            if code == 0:
                return (
                    (1,),
                    "rank 1 of 3 came to the end of the program, and waited|waited.*; rank [02] is at",
                )
        if alone and self.act.name == "leaves by C with 0" and self.moment == "asleep":
            return None  # the launcher takes it for a success
        if alone and ("killed" in words or "left with" in words):
            return (), ""  # only the launcher sees it
        if alone and self.moment == "before import":
            return (), TIMEOUT
        return (() if alone else (code,)), "" if alone and "closes" in self.act.name else words


SCENARIOS = [
    scenario
    for made in itertools.product(("atoll run", "mpiexec"), ACTS, MOMENTS)
    if (scenario := Scenario(*made)).expected is not None
]


@dataclass
class Job:
    """A command that runs in processes of its own, which are watched."""

    words: Sequence[str]
    settings: dict[str, str] = field(default_factory=dict)
    input: int | None = subprocess.DEVNULL
    token: str = field(default_factory=partial(secrets.token_hex, 8))
    shared: set[str] = field(default_factory=set)

    @cached_property
    def started(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        settings = {TOKEN: self.token, "OMPI_ALLOW_RUN_AS_ROOT": "1", **self.settings}
        settings["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        return subprocess.Popen(
            self.words, stdin=self.input, stdout=pipe, stderr=pipe, env=environment(**settings)
        )

    def processes(self) -> list[int]:
        """All that belong to it now, by the token in their environment."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self.token.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def note_shared(self) -> None:
        """Note which files of shared memory its processes have now."""
        for process in self.processes():
            try:
                text = Path(f"/proc/{process}/maps").read_text(errors="replace")
            except OSError:
                continue
            self.shared |= set(re.findall(r"(/dev/shm/\S+)$", text, re.MULTILINE))

    def ended(self) -> tuple[int | None, str, str]:
        """Its code, output and errors; no code where it did not end."""
        until = time.monotonic() + LIMIT
        while True:
            try:
                output, errors = self.started.communicate(timeout=0.1)
                return (
                    self.started.returncode,
                    output.decode(errors="replace"),
                    errors.decode(errors="replace"),
                )
            except subprocess.TimeoutExpired:
                self.note_shared()
            if time.monotonic() > until:
                self.kill()
                output, errors = self.started.communicate()
                return None, output.decode(errors="replace"), errors.decode(errors="replace")

    def kill(self) -> None:
        for process in self.processes():
            try:
                os.kill(process, 9)
            except OSError:
                continue

    def remains(self) -> list[str]:
        """What it has left behind, in words."""
        until = time.monotonic() + 5
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        self.kill()
        files = [file for file in sorted(self.shared) if os.path.exists(file)]
        for file in files:
            os.unlink(file)
        return [f"process {process} is left" for process in left] + [
            f"{file} is left" for file in files
        ]


def mpiexec_of(python: str) -> str:
    """The launcher that belongs to an interpreter."""
    beside = os.path.join(os.path.dirname(python), "mpiexec")
    return beside if os.path.exists(beside) else "/usr/bin/mpiexec"


def command(
    launcher: str, program: str, python: str, size: int = SIZE, hosts: str = ""
) -> list[str]:
    """How a launcher starts a program on ranks."""
    if launcher == "atoll run":
        there = ["--hosts", hosts] if hosts else []
        return [python, "-m", "atoll", "run", "-n", str(size), *there, "-c", program]
    path = mpiexec_of(python)
    more = ["--oversubscribe"] if "Open" in version(path) else []
    return [path, "-n", str(size), *more, python, "-c", program]


def version(path: str) -> str:
    return subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60).stdout


def wrong(scenario: Scenario, python: str = sys.executable, hosts: str = "") -> str:
    """What is wrong with the end of a scenario; nothing if it ends as it should."""
    assert scenario.expected is not None
    codes, words = scenario.expected
    ends_late = scenario.act.code in (0, FOR_EVER) or scenario.moment in EARLY
    settings = {
        "ATOLL_WAIT_ABORT": "3" if ends_late else "30",
        "ATOLL_WAIT_REPORT": "1.5",
        "ATOLL_WAIT_CHECK": "0.3",
    }
    program = MOMENTS[scenario.moment].replace("ACT", scenario.act.line)
    if hosts:
        settings |= {
            name: os.environ[name] for name in os.environ if name.startswith("HYDRA_LAUNCHER")
        }
    job = Job(command(scenario.launcher, program, python, hosts=hosts), settings)
    code, output, errors = job.ended()
    said, left = [], job.remains()
    if code is None:
        said.append(f"did not end within {LIMIT:.0f} s")
    elif code not in codes if codes else code == 0:
        said.append(
            f"ended with code {code}, not {' or '.join(map(str, codes)) or 'another than 0'}"
        )
    if not re.search(words, errors):
        said.append(f"does not say {words!r}")
    said += [thing for thing in left if scenario.launcher == "atoll run" or "process" in thing]
    if scenario.launcher == "atoll run" and re.search(
        "BAD TERMINATION|MPI_ABORT|ORTE|prte", errors + output
    ):
        said.append("passes the launcher's prose on")
    if "Traceback" in errors and re.search("cli/(relay|run|streams).py", errors):
        said.append("shows a traceback of the launcher")
    if not said:
        return ""
    return f"{scenario}: {'; '.join(said)}\n-- output\n{output[-500:]}\n-- errors\n{errors[-3000:]}"


def chosen(words: Sequence[str]) -> Iterator[Scenario]:
    """Those that have all these words in their names."""
    return (one for one in SCENARIOS if all(word in str(one) for word in words))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--hosts", default="")
    asked = parser.parse_args()
    scenarios = list(chosen(["atoll run", *asked.words] if asked.hosts else asked.words))
    with ThreadPoolExecutor(asked.jobs) as pool:
        found = pool.map(lambda one: wrong(one, asked.python, asked.hosts), scenarios)
        bad = 0
        for complaint in found:
            if complaint:
                bad += 1
                print(complaint, flush=True)
    print(f"{len(scenarios)} scenarios, {bad} of which do not end as they should")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
