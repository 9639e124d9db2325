"""A rank's first and last actions: sharing the cores, and one end for all ranks.

``import atoll`` runs :func:`begin` before anything else. In a process that no MPI launcher started it does nothing. On
a rank it does two things, which ``atoll run`` does for its ranks before the script starts:

*Share the cores.* The threads of a rank are the cores that it may use divided by the ranks that use them too, for atoll
and for the BLAS and OpenMP libraries. Environment variables set them, unless the user has set these. If NumPy is loaded
already, its BLAS no longer reads the environment; threadpoolctl, if installed, sets its threads.

*End together.* A rank that fails alone leaves the others waiting for its messages. So an uncaught exception, an exit
with a code other than 0, and Ctrl-C end every rank, by ``MPI_Abort``. Python has ``sys.excepthook`` for exceptions, but
nothing for exits: by the time of ``atexit`` the ``SystemExit`` is lost. But the interpreter reads the ``code`` of the
exception while no Python frame is running. So ``code`` becomes a property that detects that. Every class, ``raise`` and
``except`` stays as it was.

*Report once.* A failing rank reports to ``atoll run``, if that started it, in a record (see ``cli/rank.py``); ``atoll run``
prints equal reports once. Otherwise the ranks of a host agree through a socket on the rank that prints. A
short pause before the abort lets the other ranks report the same.

``os._exit`` is replaced by a function that does the same first. A rank that leaves with code 0 stays until all ranks
have finished, and ranks that still wait for it get an error.

Limits: only the launcher notices an interpreter that is killed, or left by C's ``exit``. Exit functions (``atexit``)
get one second.

This module imports only what ``cli/rank.py`` can use in a process where the user's script must be the first to import
atoll.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, NamedTuple, NoReturn

from . import system
from .comm import launcher
from .context import remote_stacks

ExceptionHook = Callable[[type[BaseException], BaseException, TracebackType | None], object]

PAUSE = 0.3
"""Seconds between a rank's report and the abort: time for others to report the same."""

EXIT_FUNCTIONS = 1.0
"""Seconds that the ``atexit`` functions of a failing rank may take."""

LONGEST_TEXT = 12_000
"""A longer traceback loses its middle: a record must pass through one pipe in one piece."""

BEGUN = "ATOLL_RUN_BEGUN"
"""The environment variable that holds the process for which ``atoll run`` has done it all."""

TERMINAL = launcher.TERMINAL
PROFILE = "ATOLL_RUN_PROFILE"
"""The environment variable that holds the path of the profile that the process is a part of."""

MARK = "ATOLL_RUN_MARK"
"""The environment variable with the prefix of a job's records, which is also the name of the socket that receives them."""

Recorder = Callable[[dict[str, Any]], None]
"""Hands a record to ``atoll run``."""

ONE_LINE = "_render_traceback_"
"""The method that IPython calls to show an error. Errors with this method are shown as one line."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Report(NamedTuple):
    """A rank's report of its end: the kind of end, the text, and the exit code.

    ``same`` is equal in the reports of other ranks that need not be printed, too.
    """

    kind: str
    text: str
    code: int
    same: str = ""


class Ender:
    """Ends all ranks from this one; knows this rank and the listeners of its reports."""

    def __init__(self, rank: int, size: int | None, record: Recorder | None = None) -> None:
        self.rank, self.size, self.record = rank, size, record
        self.process = os.getpid()
        launcher.end.abort.append(self.failed_at_exit)
        self.ending = False
        self.code = 0
        """The exit code of a forked child that has got as far as its end."""

    def failed(self, error: BaseException, hook: ExceptionHook = sys.__excepthook__) -> None:
        """End all ranks because of an uncaught exception on this one.

        A ``hook`` that is not Python's own prints the traceback its own way, on every rank.
        """
        if os.getpid() != self.process:
            self.code = 1
            return
        if isinstance(error, KeyboardInterrupt):
            self.end(Report("interrupt", last_place(error.__traceback__), 130))
            return
        text = ""
        if hook is sys.__excepthook__:
            text = shortened(traceback_text(error))
        else:
            try:
                hook(type(error), error, own_frames_skipped(error.__traceback__))
            except BaseException as wrong:
                text = shortened(
                    f"{traceback_text(wrong)}in sys.excepthook, which was to show:\n\n"
                )
                text += shortened(traceback_text(error))
        kind = "consequence" if type(error).__name__ == "RankFailedError" else "exception"
        self.end(Report(kind, text, 1, text and raised_by_all(error)))

    def failed_at_exit(self, error: BaseException) -> None:
        """End all ranks because of an error in atoll's own exit functions: no line of the program is in its traceback."""
        if isinstance(error, KeyboardInterrupt):
            self.end(Report("interrupt", "", 130), at_exit=True)
        ours = type(error).__module__ == "atoll.errors"
        text = f"{type(error).__name__}: {error}\n" if ours else traceback_text(error)
        self.end(Report("exception", shortened(text), 1), at_exit=True)

    def exited(self, code: object) -> None:
        """End all ranks if ``code``, the argument of ``sys.exit``, means that this one failed."""
        self.code = number = exit_number(code)
        if number:
            text = "" if isinstance(code, int) else f"{in_words(code)}\n"
            self.end(Report("exit", text, number))

    def leave_child(self) -> None:
        """The last exit function: a forked child leaves before MPI is finalized, which only the rank may do."""
        if os.getpid() != self.process and "mpi4py.MPI" in sys.modules:
            flush()
            os._exit(self.code)

    def left(self, code: int, frame: FrameType) -> None:
        """End this rank before ``os._exit``; if the code means failure, end the others too."""
        place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        if exit_number(code):
            number = exit_number(code)
            self.end(Report("exit", f"os._exit({code}) at {place}\n", number), at_exit=True)
        for leave in launcher.end.leave:
            leave(f"has left by os._exit({code}) at {place}")
        launcher.tell(launcher.ORDERLY)

    def end(self, report: Report, at_exit: bool = False) -> None:
        """Report the reason, give the exit functions and the other ranks a moment, and abort.

        ``at_exit`` means that the caller is an exit function, so the exit functions run already.
        """
        if self.ending or os.getpid() != self.process:
            return
        self.ending = True
        launcher.end.is_failure = True
        started = time.monotonic()
        watch_over(EXIT_FUNCTIONS + 3 * PAUSE, report.code)
        flush()
        if self.record is not None:
            self.record(report._asdict())
        elif ranks := ranks_with_the_same(self.rank, report):
            write_error(message(report.kind, report.text, report.code, ranks, self.size))
        if not at_exit:  # an abort would skip the functions of ``atexit``
            import atexit

            atexit._run_exitfuncs()
        flush()
        time.sleep(max(0.0, started + PAUSE - time.monotonic()))
        abort(report.code)


def exit_number(code: object) -> int:
    """The exit code that the interpreter makes of the argument of ``sys.exit``."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def in_words(thing: object) -> str:
    """``str(thing)``, or a description of the object if that raises."""
    try:
        return str(thing)
    except BaseException as error:
        return f"<{type(thing).__name__}, whose str() raises {type(error).__name__}>"


def shortened(text: str) -> str:
    """``text`` without its middle if it is too long for one record."""
    half = LONGEST_TEXT // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n  ...\n{text[-half:]}"


def traceback_text(error: BaseException) -> str:
    """The traceback as Python prints it, without the frames of the launcher."""
    import traceback

    if hasattr(error, ONE_LINE):
        return f"atoll: {error}\n"
    frames = own_frames_skipped(error.__traceback__)
    try:
        return "".join(traceback.format_exception(type(error), error, frames))
    except BaseException:  # it has attributes of its own making
        return f"{last_place(frames)}\n{type(error).__name__}: {in_words(error)}\n"


def raised_by_all(error: BaseException) -> str:
    """The text of an error that all ranks have agreed to raise, at any lines; else empty."""
    import traceback

    notes = getattr(error, "__notes__", ())
    if type(error).__name__ == "DivergenceError" or any(
        str(note).startswith("raised on rank") for note in notes
    ):
        return "".join(traceback.format_exception_only(error))
    return ""


def own_frames_skipped(frames: TracebackType | None) -> TracebackType | None:
    """The user's part of a traceback, without the frames of ``cli/rank.py`` and runpy."""
    machinery = (os.path.join("cli", "rank.py"), "<frozen runpy>", "runpy.py")
    rest = frames
    while rest is not None and rest.tb_frame.f_code.co_filename.endswith(machinery):
        rest = rest.tb_next
    return rest


def last_place(frames: TracebackType | None) -> str:
    """The line at which a traceback leaves the user's program, as ``file, line n``: enough for an interrupt."""
    ours = os.path.dirname(os.path.abspath(__file__)) + os.sep
    place, frames = "", own_frames_skipped(frames)
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        if not (place and file.startswith(ours)):
            place = f"{file}, line {frames.tb_lineno}"
        frames = frames.tb_next
    return place


def rank_words(ranks: Sequence[int], size: int | None) -> str:
    """``rank 2 of 4`` or ``ranks 0-2, 5 of 8``."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    words = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    of = "" if size is None else f" of {size}"
    return f"rank{'s' if len(set(ranks)) > 1 else ''} {words}{of}"


def without_rank(text: str, rank: int) -> str:
    """``text`` without this rank's number, to compare it with the texts of other ranks."""
    return re.sub(rf"\brank {rank}\b", "rank N", text)


def message(kind: str, text: str, code: int, ranks: Sequence[int], size: int | None) -> str:
    """The text to print for one end that ``ranks`` share; empty if there is none."""
    who = rank_words(ranks, size)
    everyone = len(set(ranks)) == size
    if kind == "wait":
        return f"atoll: {f'{who} ' if ranks else ''}{text}; all ranks ended\n"
    if kind == "interrupt":
        return f"atoll: interrupted; all ranks ended{f' ({who} was at {text})' if text else ''}\n"
    if kind == "exit":
        if everyone:
            return text
        said = f": {text.rstrip()}" if text else f" with exit code {code}"
        return f"atoll: {who} left{said}; all ranks ended\n"
    return f"atoll: {who} failed; all ranks ended\n{text}"


def write_error(text: str, descriptor: int = 2) -> None:
    """Write to the standard error of the process itself, even if ``sys.stderr`` is replaced."""
    data = text.encode("utf-8", "backslashreplace")
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except OSError:
            return


def ranks_with_the_same(rank: int, report: Report) -> list[int]:
    """All ranks of this host that report the same now, or nothing if another one speaks for them.

    The first rank to bind a name made from the report speaks; the others find the name
    taken and send it their number. The name is an abstract socket: it leaves no file, and
    where there are none every rank speaks for itself.
    """
    import errno
    import hashlib
    import socket

    same = report.same or ("" if report.kind == "interrupt" else without_rank(report.text, rank))
    job = os.environ.get("PMIX_NAMESPACE", "") + os.environ.get("SLURM_JOB_ID", "")
    content = f"{os.getuid()} {job} {os.getppid()} {report.kind} {report.code} {same}"
    name = "\0atoll-" + hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
    ranks = [rank]
    if not system.has("abstract"):
        return ranks
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as meeting:
        try:
            meeting.bind(name)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                return ranks
            try:
                meeting.sendto(str(rank).encode(), name)
            except OSError:
                return ranks
            # the speaker's pause, and the time that it may take to speak on a busy machine
            time.sleep(2 * PAUSE)
            return []
        until = time.monotonic() + PAUSE
        while (left := until - time.monotonic()) > 0:
            meeting.settimeout(left)
            try:
                ranks.append(int(meeting.recv(32)))
            except TimeoutError:
                break
        return sorted(ranks)


def flush() -> None:
    """Flush the buffers of Python and of C's stdio."""
    import ctypes

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)


def watch_over(seconds: float, code: int) -> None:
    """Abort after ``seconds`` even if the ending itself hangs."""
    import threading

    timer = threading.Timer(seconds, abort, [code])
    timer.daemon = True
    with suppress(RuntimeError):  # no more threads at this point of the shutdown
        timer.start()


def abort(code: int) -> None:
    """End every rank at once with ``code``.

    Before MPI has started, the launcher must do it: Open MPI's ends all ranks when one process exits with a code, Hydra
    takes a command on the socket through which MPI communicates with it. It discards unread output when it ends ranks.
    """
    system.wait_for_reader(1.0)
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized():
        ask_hydra_to_abort(code)
    elif not mpi.Is_finalized():
        silence()  # the reason has been reported, and MPI would add its own words
        mpi.COMM_WORLD.Abort(code)
    os._exit(code)


def silence() -> None:
    """Discard all further output to standard error."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def ask_hydra_to_abort(code: int) -> None:
    """Send ``abort`` in Hydra's protocol, if the launcher is Hydra, and wait for the end."""
    with suppress(KeyError, ValueError, OSError):
        os.write(int(os.environ["PMI_FD"]), f"cmd=abort exitcode={code}\n".encode())
        time.sleep(1.0)


def watch_exceptions(ender: Ender) -> None:
    """Let an uncaught exception in this process end all ranks."""
    import atexit

    before = sys.excepthook

    def end_all(
        kind: type[BaseException], error: BaseException, frames: TracebackType | None
    ) -> None:
        ender.failed(error.with_traceback(frames), before)
        if os.getpid() != ender.process:
            before(kind, error, frames)

    def end_after_all() -> None:
        # A hook of the program has printed the exception that ends this process.
        if getattr(sys, "last_value", None) is not None and not hasattr(sys, "ps1"):
            ender.end(Report("exception", "", 1), at_exit=True)

    sys.excepthook = end_all
    atexit.register(ender.leave_child)
    atexit.register(end_after_all)


def watch_exits(ender: Ender) -> None:
    """Let an exit with a code other than 0 end all ranks."""
    import ctypes
    import gc

    (namespace,) = gc.get_referents(SystemExit.__dict__)
    member = namespace["code"]

    def read(error: SystemExit) -> object:
        code: object = member.__get__(error, SystemExit)
        # No Python frame is running: the interpreter is about to exit with this code.
        if sys._getframe().f_back is None:
            ender.exited(code)
        return code

    namespace["code"] = property(read, lambda error, code: member.__set__(error, code))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(SystemExit))
    if sys.version_info < (3, 12):
        raise_exits_in_python()


def watch_bare_exits(ender: Ender) -> None:
    """Let ``os._exit`` end this rank as ``sys.exit`` does, except for the steps that it is meant to skip.

    With a code other than 0 all ranks end. With 0 this rank stays until all have finished, and replies to ranks that
    wait for it.
    """
    original = os._exit

    def _exit(status: int) -> NoReturn:
        if os.getpid() == ender.process and not ender.ending:
            ender.left(status, sys._getframe(1))
        original(status)

    replace(os, original, _exit)


def raise_exits_in_python() -> None:
    """Before Python 3.12 ``sys.exit`` makes no exception object, so its code is never read."""
    original = sys.exit

    def exit(status: Any = None, /) -> NoReturn:
        raise SystemExit(status)

    replace(sys, original, exit)


def replace(module: Any, original: Any, new: Any) -> None:
    """Replace a function in a module, and in the script if it has imported the function by name."""
    new.__doc__ = original.__doc__
    setattr(module, new.__name__, new)
    script = vars(sys.modules.get("__main__", sys))
    for name in [name for name, value in script.items() if value is original]:
        script[name] = new


def threads_per_rank(local_size: int) -> int:
    """Maximum number of threads of each of ``local_size`` ranks on this host.

    A rank that its launcher has bound to fewer cores than the launcher's own process
    has these cores for itself; other ranks share theirs.
    """
    if system.has("affinity"):
        with suppress(OSError):
            if os.sched_getaffinity(0) < os.sched_getaffinity(os.getppid()):
                local_size = 1
    return max(1, system.cores() // local_size)


def share_cores(local_size: int) -> None:
    """Set the thread counts of atoll, BLAS and OpenMP to this rank's share, where not set."""
    wanted = os.environ.get("ATOLL_THREADS") or os.environ.get("ATOLL_NUM_THREADS")
    if wanted is None:
        wanted = os.environ["ATOLL_NUM_THREADS"] = str(threads_per_rank(local_size))
    if not wanted.isdecimal():
        return  # atoll.config will refuse it by name
    open_variables = [name for name in THREAD_VARIABLES if name not in os.environ]
    for name in open_variables:
        os.environ[name] = wanted
    if "OPENBLAS_NUM_THREADS" in open_variables and "numpy" in sys.modules:
        with suppress(ImportError):  # without threadpoolctl loaded libraries keep their threads
            from threadpoolctl import threadpool_limits

            threadpool_limits(limits=int(wanted))


def is_own_command() -> bool:
    """True if this process is ``atoll ...`` or ``python -m atoll ...`` itself."""
    if os.path.basename(sys.argv[0] if sys.argv else "") in ("atoll", "atoll.exe"):
        return True
    words = sys.orig_argv
    return sys.argv[:1] == ["-m"] and words[words.index("-m") + 1 :][:1] == ["atoll"]


def show_in_one_line(words: Callable[[BaseException], str], code: int | None = None) -> None:
    """Let Python show errors for which ``words`` returns a text as one line, and exit with ``code`` if it is given."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
        if not (text := words(error)):
            before(kind, error, frames)
            return
        write_error(f"atoll: {text}\n")
        if code is not None:
            os._exit(code)

    sys.excepthook = hook


def problem_of_import(error: BaseException) -> str:
    """Description of an error that prevents atoll's own command from importing it; ``""`` for other errors."""
    if isinstance(error, ModuleNotFoundError) and error.name == "numpy":
        return f"{error.name} is not installed; pip install {error.name}"
    return str(error) if type(error).__name__ == "ConfigError" else ""


def warn_of_settings() -> None:
    """Warn the importer of unknown settings in the environment: once, on ranks. A malformed one is an error of one line."""
    try:
        from .config import warn_of_unknown
    except ValueError as error:
        problem, line = error, f"{type(error).__name__}: {error}"
        setattr(problem, ONE_LINE, lambda: [line])
        # Else a rank reports it, or errors are shown in another way.
        if sys.excepthook is sys.__excepthook__:
            show_in_one_line(lambda error: str(error) if error is problem else "")
        raise

    launch = launcher.detect()
    if (launch is None or launch.rank == 0) and not is_own_command():
        warn_of_unknown(os.environ, 4)


def begin() -> bool:
    """The first action of ``import atoll``: True on a rank that is not prepared yet.

    Without a launcher it only reads the environment.
    """
    if is_own_command():
        show_in_one_line(problem_of_import, 2)
        return False
    launch = launcher.detect()
    if launch is None or launch.size == 1 or os.environ.get(BEGUN) == str(os.getpid()):
        return False
    share_cores(launch.local_size or launch.size or 1)
    remote_stacks.answer_requests(remote_stacks.job_of_parent(), launch.rank)
    ender = Ender(launch.rank, launch.size)
    watch_exceptions(ender)
    watch_exits(ender)
    watch_bare_exits(ender)
    return True
