"""``atoll run``: a program on N ranks of this machine, or of several.

Runs a Python program on N ranks, by the mpiexec that belongs to mpi4py's MPI. Each rank gets its share of the cores for its
threads. An error on one rank ends all of them. Options up to the program are for atoll, what follows it is for the program; after
-c code, options are atoll's until `--` or the first word that is no option.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial

from .. import startup
from ..config import available_cores, config
from . import UsageError, given, positive, rank
from .hosts import SIGNS, limit, unreachable
from .mpiexec import Mpiexec, find
from .relay import Relay

USAGE = """\
atoll run [-n N] [options] script.py [arguments...]
       atoll run [-n N] [options] -m module [arguments...]
       atoll run [-n N] [options] -c code [options] [--] [arguments...]"""


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
    restart: bool = False
    print_command: bool = False
    program: list[str] = field(default_factory=list)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options and arguments of ``atoll run`` to a parser."""
    parser.usage = USAGE
    add = parser.add_argument
    add(
        "-n",
        "-np",
        dest="ranks",
        metavar="N",
        type=positive,
        help="the number of ranks; by default the cores of this machine divided by --threads; 1 needs no MPI",
    )
    add(
        "--threads",
        metavar="T",
        type=positive,
        help="threads per rank; by default the cores divided by the ranks, unless ATOLL_NUM_THREADS, OMP_NUM_THREADS... say otherwise",
    )
    add(
        "--all-output",
        action="store_true",
        help="print what every rank prints, each line with its rank in front; by default the standard output of rank 0 only (standard error is that of all ranks, equal tracebacks once)",
    )
    add(
        "--profile",
        metavar="PATH",
        type=given,
        help="record what each line of the program takes, and save it as PATH with .json (a timeline) and .html (a page)",
    )
    add("--hosts", metavar="A,B", type=given, help="run on these hosts, as mpiexec takes them")
    add(
        "--hostfile",
        metavar="FILE",
        type=given,
        help="run on the hosts in this file, as mpiexec takes it",
    )
    add(
        "--mpiexec", metavar="PATH", type=given, help="use this launcher (or set ATOLL_RUN_MPIEXEC)"
    )
    add(
        "--mpiexec-options",
        metavar="S",
        type=shlex.split,
        action="extend",
        default=[],
        help="further options for the launcher, as one word: --mpiexec-options='--bind-to core'",
    )
    add(
        "--restart",
        action="store_true",
        help="if a rank is killed or a host is lost, start the program again on the ranks that are left, to go on from its last checkpoint (and once more after each that completes one)",
    )
    add(
        "--print-command",
        action="store_true",
        help="print the launcher's command instead of running it",
    )
    add("-c", dest="code", metavar="code", help="the program as text")
    add(
        "-m",
        dest="module",
        metavar="module",
        nargs=argparse.REMAINDER,
        help="the program as a module, with its arguments",
    )
    add(
        "program",
        metavar="script.py",
        nargs=argparse.REMAINDER,
        help="the program, with its arguments",
    )


def main(asked: argparse.Namespace) -> int:
    """Run the program that the command line names; return its exit code."""
    return start(request_of(asked))


def request_of(asked: argparse.Namespace) -> Request:
    """The request of a command line."""
    code, module, rest = asked.code, asked.module, list(asked.program)
    if rest[:1] == ["--"]:
        del rest[0]
    if code is not None:
        program = ["-c", code, *rest]
    elif module is not None:
        program = ["-m", *module]
    else:
        program = rest
    if not program:
        raise UsageError("there is no program; write a script, -m module or -c code at the end")
    if program == ["-m"]:
        raise UsageError("-m needs the name of a module after it")
    names = (each.name for each in fields(Request) if each.name != "program")
    return Request(**{name: getattr(asked, name) for name in names}, program=program)


def start(request: Request) -> int:
    """Run a program; return its exit code."""
    check(request)
    if request.ranks is None:
        request = replace(request, ranks=max(available_cores() // (request.threads or 1), 1))
    if request.threads is not None:
        for name in ("ATOLL_NUM_THREADS", *startup.THREAD_VARIABLES):
            os.environ[name] = str(request.threads)
        os.environ.pop("ATOLL_THREADS", None)
    alone = request.ranks == 1 and not (request.hosts or request.hostfile or request.mpiexec)
    return run_alone(request) if alone else run_ranks(request)


def check(request: Request) -> None:
    """Reject a request that would fail on every rank."""
    if request.ranks is None and (request.hosts or request.hostfile):
        raise UsageError(
            "how many ranks on these hosts? write -n N before the program, such as -n 8"
        )
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
            lines = hostfile_lines(request.hostfile)
        except (OSError, UnicodeDecodeError) as problem:
            reason = getattr(problem, "strerror", None) or "it is no text"
            raise UsageError(
                f"the hostfile {request.hostfile!r} cannot be read: {reason}; check its path"
            ) from None
        if not any(lines):
            raise UsageError(f"the hostfile {request.hostfile!r} names no host; write one per line")


def hostfile_lines(path: str) -> list[str]:
    """The lines of a hostfile without comments."""
    with open(path, encoding="utf-8") as file:
        return [line.partition("#")[0].strip() for line in file]


def run_profiled(path: str, run: Callable[[], int]) -> int:
    """Run the program, and join the records of its ranks, whatever ended them."""
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
    """Run one rank in Python itself, without MPI: this process becomes the program."""
    command = [sys.executable, *request.program]
    if request.profile is not None and not request.print_command:
        return run_profiled(request.profile, lambda: child(command))
    if not request.print_command:
        os.execv(sys.executable, command)
    print(shlex.join(command))
    return 0


def child(command: Sequence[str]) -> int:
    """Run a program, pass signals on to it, and return its exit code."""
    process = subprocess.Popen(command)

    def pass_on(number: int, _: object) -> None:
        if number != signal.SIGINT:  # the terminal sends it to both
            process.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    returned = process.wait()
    return returned if returned >= 0 else 128 - returned


def run_ranks(request: Request) -> int:
    """Start the ranks by the launcher and supervise them; with ``restart``, start the remaining ranks again."""
    launcher = find(request.mpiexec)
    again = False
    while True:
        code, relay = run_job(request, launcher)
        if relay is None or not request.restart:
            return code
        left = relay.remaining()
        if not left or (again and not relay.progress):
            return code
        request = smaller(request, launcher, left)
        if not request.ranks or not relay.remaining():  # a signal may have come meanwhile
            return code
        again = True
        where = f" on {request.hosts}" if request.hosts else ""
        sys.stderr.write(f"atoll: starts again with {words_of(request.ranks)}{where}\n")


def words_of(ranks: int) -> str:
    return "1 rank" if ranks == 1 else f"{ranks} ranks"


def smaller(request: Request, launcher: Mpiexec, left: Mapping[str, int]) -> Request:
    """The same program on the remaining ranks, of hosts that answer."""
    if not (request.hosts or request.hostfile or len(left) > 1):
        return replace(request, ranks=sum(left.values()))
    silent = silent_hosts(request, launcher, left)
    left = {name: count for name, count in left.items() if name not in silent}
    ranks = sum(left.values())
    return replace(request, ranks=ranks, hosts=launcher.hosts(left), hostfile=None)


def named_hosts(request: Request) -> list[str]:
    """The names of the hosts on the command line, without counts and options."""
    lines = (request.hosts or "").split(",")
    if request.hostfile is not None:
        lines += hostfile_lines(request.hostfile)
    names = (re.match(r"[^\s:]*", line.strip()) for line in lines)
    return list(dict.fromkeys(name[0] for name in names if name and name[0]))


def silent_hosts(request: Request, launcher: Mpiexec, names: Iterable[str]) -> list[str]:
    """The hosts among ``names`` on which the launcher can start no process."""

    def asking(name: str) -> list[str]:
        return launcher.command(1, ["true"], hosts=name, more=request.mpiexec_options)

    return unreachable(names, asking, {**os.environ, **launcher.environment()})


def run_job(request: Request, launcher: Mpiexec) -> tuple[int, Relay | None]:
    """Start the ranks once; return the exit code of the job, and its relay, which knows the remaining ranks."""
    assert request.ranks is not None
    mark = secrets.token_hex(16)
    profile = None if request.profile is None else os.path.abspath(request.profile)
    terminal = sys.stderr.isatty() and not request.all_output
    for_ranks = json.dumps(
        {
            "all_output": request.all_output,
            "profile": profile,
            "terminal": terminal,
            "watch": [limit() / SIGNS, min(config.wait_report, config.wait_abort / 2)],
        }
    )
    # A printed command runs without this process.
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
        return 0, None
    environment = {**os.environ, **launcher.environment(), startup.MARK: mark}
    silent = partial(silent_hosts, request, launcher)
    relay = Relay(request.ranks, mark, request.all_output, named_hosts(request), silent)
    if request.profile is not None:
        return run_profiled(request.profile, lambda: relay.run(command, environment)), relay
    return relay.run(command, environment), relay
