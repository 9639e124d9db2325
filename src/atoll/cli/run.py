"""``atoll run``: a program on N ranks of this machine, or of several.

The command line has two parts. Everything up to the program (a script, ``-m module`` or ``-c code``) is for atoll,
everything after it for the program. After ``-c code``, atoll's options continue until ``--`` or the first word that is
not an option.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .. import startup
from . import UsageError, options, positive, rank
from .mpiexec import find
from .relay import Relay

HELP = """\
usage: atoll run -n N [options] script.py [arguments...]
       atoll run -n N [options] -m module [arguments...]
       atoll run -n N [options] -c code [options] [--] [arguments...]

Runs a Python program on N ranks, by the mpiexec that belongs to mpi4py's MPI. Each rank
gets its share of the cores for its threads. An error on one rank ends all of them.

  -n N                 the number of ranks (required); 1 needs no MPI
  --threads T          threads per rank; by default the cores divided by the ranks,
                       unless ATOLL_NUM_THREADS, OMP_NUM_THREADS... say otherwise
  --all-output         print what every rank prints, each line with its rank in front;
                       by default the standard output of rank 0 only
                       (standard error is that of all ranks, equal tracebacks once)
  --profile PATH       record what each line of the program takes, and save it as PATH with
                       .json (a timeline) and .html (a page)
  --hosts A,B          run on these hosts, as mpiexec takes them
  --hostfile FILE      run on the hosts in this file, as mpiexec takes it
  --mpiexec PATH       use this launcher (or set ATOLL_RUN_MPIEXEC)
  --mpiexec-options S  further options for the launcher, as one word: '--bind-to core'
  --print-command      print the launcher's command instead of running it

After -c code, options are atoll's until `--` or the first word that is no option.
"""


@dataclass(slots=True)
class Request:
    """The options of a command line."""

    ranks: int | None = None
    threads: int | None = None
    all_output: bool = False
    profile: str | None = None
    hosts: str | None = None
    hostfile: str | None = None
    mpiexec: str | None = None
    mpiexec_options: list[str] = field(default_factory=list)
    print_command: bool = False
    program: list[str] = field(default_factory=list)


FLAGS = ("--all-output", "--print-command")
VALUES = (
    "-n",
    "-np",
    "--threads",
    "--profile",
    "--hosts",
    "--hostfile",
    "--mpiexec",
    "--mpiexec-options",
)


def main(words: Sequence[str]) -> int:
    """Run the program that ``words`` name; its exit code."""
    request = parsed(list(words))
    check(request)
    if request.threads is not None:
        for name in ("ATOLL_NUM_THREADS", *startup.THREAD_VARIABLES):
            os.environ[name] = str(request.threads)
        os.environ.pop("ATOLL_THREADS", None)
    alone = request.ranks == 1 and not (request.hosts or request.hostfile or request.mpiexec)
    return run_alone(request) if alone else run_ranks(request)


def parsed(words: list[str]) -> Request:
    """The request that a command line makes."""
    request = Request()
    take_options(words, request)
    if words[:1] == ["--"]:
        del words[0]
    if not words:
        raise UsageError("there is no program; write a script, -m module or -c code at the end")
    kind = words[0]
    if kind not in ("-c", "-m"):
        if kind.startswith("-"):
            raise UsageError(f"there is no option {kind!r}; `atoll run --help` lists them")
        request.program = words
        return request
    if len(words) < 2:
        what = "the code" if kind == "-c" else "the name of a module"
        raise UsageError(f"{kind} needs {what} after it")
    rest = words[2:]
    if kind == "-c":
        take_options(rest, request)
        if rest[:1] == ["--"]:
            del rest[0]
        elif rest and rest[0].startswith("-") and rest[0] != "-":
            raise UsageError(
                f"there is no option {rest[0]!r}; write `--` before the program's own options"
            )
    request.program = [*words[:2], *rest]
    return request


def take_options(words: list[str], request: Request) -> None:
    """Move atoll's options from the front of ``words`` into ``request``."""
    for name, value in options(words, FLAGS, VALUES):
        if name in ("-n", "-np"):
            request.ranks = positive(name, value, "the number of ranks")
        elif name == "--threads":
            request.threads = positive(name, value, "the number of threads per rank")
        elif name == "--mpiexec-options":
            request.mpiexec_options += shlex.split(value)
        elif name in VALUES and not value:
            raise UsageError(f"{name} needs a value after it")
        else:
            setattr(request, name.removeprefix("--").replace("-", "_"), value or True)


def check(request: Request) -> None:
    """Refuse now what would fail on every rank later."""
    if request.ranks is None:
        raise UsageError("how many ranks? write -n N before the program, such as -n 2")
    kind = request.program[0]
    if kind not in ("-c", "-m"):
        if not os.path.exists(kind):
            raise UsageError(f"there is no script {kind!r} in {os.getcwd()}; check its path")
        if os.path.isdir(kind) and not os.path.exists(os.path.join(kind, "__main__.py")):
            raise UsageError(f"the folder {kind!r} has no __main__.py that could be run")
        if not os.access(kind, os.R_OK):
            raise UsageError(f"the script {kind!r} cannot be read; check its permissions")
    if request.hostfile is not None:
        try:
            with open(request.hostfile, encoding="utf-8") as file:
                lines = [line.partition("#")[0].strip() for line in file]
        except (OSError, UnicodeDecodeError) as problem:
            reason = getattr(problem, "strerror", None) or "it is no text"
            raise UsageError(
                f"the hostfile {request.hostfile!r} cannot be read: {reason}; check its path"
            ) from None
        if not any(lines):
            raise UsageError(f"the hostfile {request.hostfile!r} names no host; write one per line")


def run_profiled(path: str, run: Callable[[], int]) -> int:
    """Run the program, and join what its ranks have recorded, whatever ended them."""
    from ..profiling.record import folder_of, path_of_timeline
    from ..profiling.whole import joined, prepared

    os.environ[startup.PROFILE] = path = prepared(path)
    code = run()
    if os.path.exists(folder_of(path)):
        joined(path)
    elif not os.path.exists(path_of_timeline(path)):
        sys.stderr.write("atoll: there is no profile: the program has not imported atoll\n")
    return code


def run_alone(request: Request) -> int:
    """One rank is Python itself, without MPI: this process becomes the program."""
    command = [sys.executable, *request.program]
    if request.profile is not None and not request.print_command:
        return run_profiled(request.profile, lambda: child(command))
    if not request.print_command:
        os.execv(sys.executable, command)
    print(shlex.join(command))
    return 0


def child(command: Sequence[str]) -> int:
    """Run a program that gets the same signals, and end as it does."""
    process = subprocess.Popen(command)

    def pass_on(number: int, _: object) -> None:
        if number != signal.SIGINT:  # which the terminal sends to both
            process.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    returned = process.wait()
    return returned if returned >= 0 else 128 - returned


def run_ranks(request: Request) -> int:
    """Start the ranks by the launcher, and stay with them."""
    assert request.ranks is not None
    launcher = find(request.mpiexec)
    mark = secrets.token_hex(16)
    profile = None if request.profile is None else os.path.abspath(request.profile)
    terminal = sys.stderr.isatty() and not request.all_output
    for_ranks = json.dumps(
        {"all_output": request.all_output, "profile": profile, "terminal": terminal}
    )
    # A printed command will run by itself, without this process.
    forwarded = [] if request.print_command else launcher.forwarded(startup.MARK)
    command = launcher.command(
        request.ranks,
        [sys.executable, rank.__file__, for_ranks, *request.program],
        hosts=request.hosts,
        hostfile=request.hostfile,
        more=[*forwarded, *request.mpiexec_options],
    )
    if request.print_command:
        print(shlex.join(command))
        return 0
    environment = {**os.environ, **launcher.environment(), startup.MARK: mark}
    relay = Relay(request.ranks, mark, request.all_output)
    if request.profile is not None:
        return run_profiled(request.profile, lambda: relay.run(command, environment))
    return relay.run(command, environment)
