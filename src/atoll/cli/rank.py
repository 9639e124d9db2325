"""One rank of ``atoll run``: prepares the process, then runs the program as Python would.

``atoll run`` starts this file by its path on every rank:

    python .../atoll/cli/rank.py OPTIONS (script | -m module | -c code) arguments...

This file must not import atoll, whose import reads the environment and loads NumPy: the program must run first and find
``sys.argv``, ``sys.path`` and ``__main__`` as if Python had been started with it. So three small modules of atoll are
loaded separately, and everything else here is the standard library.

OPTIONS is one word in JSON: ``all_output``, without which the standard output of ranks other than 0 is discarded,
``profile``, the path of the profile to record, ``terminal``, true if standard error goes to a terminal, and ``watch``, the
seconds between signs of life of another host, and the seconds without a step after which a rank stands still. The mark of
every record for ``atoll run``, which also names its socket, is in the environment, which other users cannot read.

The process that the launcher has started stays as the supervisor of the rank, its child: it knows exactly how the rank
ends, and reports that to ``atoll run``, whatever the launcher reports. On the host of ``atoll run``, records go
through a socket, and output through two pipes received over it; elsewhere both go through the launcher.
"""

import atexit
import builtins
import contextlib
import faulthandler
import fcntl
import functools
import importlib
import json
import mmap
import os
import signal
import socket
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

FIRST_DESCRIPTOR = 500
"""The lowest descriptor of files for records, beyond the range that programs close."""

LEAVING = 0.3
"""Seconds that the supervisor of a rank that left before its orderly end waits for others to leave alike."""

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
FORWARDED = (*ENDING, signal.SIGUSR1, signal.SIGUSR2)


def borrow(*names: str) -> list[Any]:
    """Load modules of atoll by name without ``atoll/__init__``, which the program imports later.

    They stay in ``sys.modules``, so that the later import shares their state, such as the end of this rank.
    """
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    package = types.ModuleType("atoll")
    package.__path__ = [folder]
    sys.modules["atoll"] = package
    modules = [importlib.import_module(f"atoll.{name}") for name in names]
    for name in [name for name in sys.modules if name.partition(".")[0] == "atoll"]:
        if sys.modules[name] not in modules:
            del sys.modules[name]
    return modules


class Channel:
    """The channel for records of this rank: the socket of ``atoll run`` on this host, else the current standard error."""

    def __init__(self, mark: str, rank: int, startup: Any, system: Any) -> None:
        self._mark, self._rank, self._write_error = mark, rank, startup.write_error
        self.here = False
        """True if ``atoll run`` is on this host and takes the output through pipes."""
        self.process = os.getpid()
        """The only process that may report: children that the program forks may not."""
        self._file = duplicate(2)
        self.spare: list[int] = []
        """The launcher's own streams, which the supervisor keeps open: launchers read them to their end."""
        with contextlib.suppress(OSError), system.connect(mark, 5.0) as connection:
            connection.sendall(b"%d" % rank)
            _, pipes, _, _ = socket.recv_fds(connection, 1, 2)
            if len(pipes) != 2:
                raise ConnectionError
            for target, pipe in zip((1, 2), pipes):
                self.spare.append(duplicate(target))
                os.dup2(pipe, target)
                os.close(pipe)
            connection.settimeout(None)
            os.close(self._file)
            self._file, self.here = duplicate(connection.fileno()), True

    def become_the_ranks(self) -> None:
        """Make this process the rank. Its forked children may outlive the job, so they keep none of its files open."""
        self.process = os.getpid()
        for file in self.spare:
            os.close(file)
        os.register_at_fork(after_in_child=lambda: os.close(self._file))

    def send(self, fields: dict[str, Any]) -> None:
        """Send one record, in one piece."""
        if os.getpid() != self.process:
            return
        text = json.dumps({"rank": self._rank, **fields})
        self._write_error(f"{text}\n" if self.here else f"\x1e{self._mark}{text}\x1e\n", self._file)


def duplicate(descriptor: int) -> int:
    """Duplicate a descriptor, beyond the range that programs close."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR)
    except OSError:  # the limit is lower, or the file is closed
        with contextlib.suppress(OSError):
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    return -1


def supervise(
    channel: Channel,
    rank: int,
    prefixed: bool,
    watch: Callable[[], object],
    system: Any,
    serve: Callable[[], Callable[[], object]] | None,
) -> None:
    """Continue as the rank in a child; this process waits for it, reports its end, and ends alike.

    Meanwhile a thread of this process runs ``watch``. ``serve``, if any, starts the service for the ranks of the node.

    The rank has a process group of its own, so that a signal reaches it once: through this process.
    """
    parent, signals = os.getpid(), []
    orderly = mmap.mmap(-1, 1)
    reader, writer = os.pipe()
    streams = [os.pipe(), os.pipe()] if prefixed else []
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(writer)
        for target, (source, sink) in zip((1, 2), streams):
            os.dup2(sink, target)
            os.close(source)
            os.close(sink)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        end_with(parent, reader, system)
        channel.become_the_ranks()
        atexit.register(orderly.__setitem__, 0, 1)
        return
    os.close(reader)

    def forward(number: int, frame: object) -> None:
        signals.extend([number] if number in ENDING else [])
        with contextlib.suppress(OSError):
            os.killpg(child, number)

    with contextlib.suppress(OSError):
        os.setpgid(child, child)
    for number in FORWARDED:
        signal.signal(number, forward)
    # (started while signals are blocked, so that signals interrupt the main thread only)
    threading.Thread(target=watch, daemon=True).start()
    stop = serve() if serve is not None else None
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    writers = [
        threading.Thread(target=prefix_lines, args=(rank, *pipe, target), daemon=True)
        for target, pipe in zip((1, 2), streams)
    ]
    for thread in writers:
        thread.start()
    _, status = os.waitpid(child, 0)
    channel.send({"kind": "end", "status": status, "by_launcher": bool(signals)})
    if status:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)  # processes that the rank started
    elif not orderly[0]:
        time.sleep(
            LEAVING
        )  # launchers kill the others once a process leaves without MPI_Finalize; others may be leaving, too
    for thread in writers:
        thread.join(1.0)
    if stop is not None:
        stop()
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def watch_elsewhere(
    channel: Channel, rank: int, first: bool, seconds: tuple[float, float], whereabouts: Any
) -> None:
    """On another host than ``atoll run``: give signs of life at even intervals, and report the stack of a rank that stands still.

    The first rank of the host gives the signs. A rank stands still if it makes no step for the second number of seconds.
    """
    if channel.here:
        return
    signs, still = seconds
    steps, since, again = None, time.monotonic(), still
    while True:
        if first:
            channel.send({"kind": "sign", "host": host_name()})
        now, before, steps = time.monotonic(), steps, whereabouts.steps(rank)
        if steps is None or steps != before:
            if again > still:
                channel.send({"kind": "where", "steps": None, "words": "", "waits": False})
            since, again = now, still
        elif now - since >= again and (where := whereabouts.ask(rank)) is not None:
            again *= 2
            channel.send(
                {"kind": "where", "steps": steps, "words": where.words, "waits": where.waits}
            )
        time.sleep(signs)


def host_name() -> str:
    """The name of this host: the launcher's name for it, if known."""
    names = (os.environ.get(name) for name in ("PMI_HOSTNAME", "SLURMD_NODENAME"))
    return next(filter(None, names), None) or socket.gethostname()


def prefix_lines(rank: int, source: int, sink: int, target: int) -> None:
    """Pass on whole lines, each after the number of this rank."""
    os.close(sink)
    with open(source, "rb") as lines:
        for line in lines:
            data = b"[%d] " % rank + line.removesuffix(b"\n") + b"\n"
            while data:
                data = data[os.write(target, data) :]


def end_with(parent: int, reader: int, system: Any) -> None:
    """End this process when its parent is killed, which closes the other end of the pipe."""
    if system.end_with_parent(signal.SIGKILL):
        os.close(reader)
        if os.getppid() != parent:
            os._exit(1)
        return

    def wait() -> None:
        os.read(reader, 1)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def prepare_streams(rank: int, all_output: bool) -> None:
    """Give the input to rank 0, discard the output of others, C's included, and flush each line."""
    if rank:  # Hydra would let them wait for ever
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
    sys.stderr.reconfigure(line_buffering=True, write_through=False)  # type: ignore[union-attr]
    if rank and not all_output:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        return
    sys.stdout.reconfigure(line_buffering=True, write_through=False)  # type: ignore[union-attr]
    buffer_lines_in_c()


def report_warnings(channel: Channel, shortened: Callable[[str], str]) -> None:
    """Pass warnings that Python would print to ``atoll run``, which prints equal ones of several ranks once."""
    import warnings

    python: Any = warnings
    show = python._showwarnmsg_impl

    def report(message: warnings.WarningMessage) -> None:
        own = message.file is None and sys.stderr is sys.__stderr__ is not None
        if not own or os.getpid() != channel.process:
            show(message)
            return
        sys.stderr.flush()
        channel.send({"kind": "warning", "text": shortened(python._formatwarnmsg(message))})

    python._showwarnmsg_impl = report


def buffer_lines_in_c() -> None:
    """Flush each line of C's ``printf`` as well, if the C library can be reached."""
    import ctypes

    try:
        library = ctypes.CDLL(None)
        stream = ctypes.c_void_p.in_dll(library, "stdout")
        library.setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t]
        library.setvbuf(stream, None, 1, 0)
    except (OSError, ValueError, AttributeError):
        return


def fresh_main() -> dict[str, Any]:
    """The namespace of a new ``__main__`` module, as the interpreter creates it before a program starts."""
    main = types.ModuleType("__main__")
    namespace = vars(main)
    namespace["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return namespace


def run_code(text: str) -> None:
    """Run ``-c``: the code is a command-line argument, whose lines tracebacks can show."""
    import linecache

    lines = [line + "\n" for line in text.split("\n")]
    linecache.cache["<string>"] = (len(text), None, lines, "<string>")
    set_first_path("")
    exec(compile(text, "<string>", "exec", dont_inherit=True), fresh_main())


def run_module(name: str) -> None:
    """Run ``-m`` by runpy, as the interpreter does."""
    import runpy

    set_first_path(os.getcwd())
    fresh_main()
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]


def run_script(script: str) -> None:
    """Run a file of source code, or a folder or archive that contains a ``__main__.py``."""
    import pkgutil

    if pkgutil.get_importer(script) is not None:  # as Python decides
        import runpy

        set_first_path(script)
        fresh_main()
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
        return
    from importlib.machinery import SourceFileLoader

    path = os.path.abspath(script)
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    set_first_path(os.path.dirname(os.path.realpath(script)))
    namespace = fresh_main()
    namespace["__file__"], namespace["__cached__"] = path, None
    namespace["__loader__"] = SourceFileLoader("__main__", path)
    exec(code, namespace)


def set_first_path(folder: str) -> None:
    """Replace the folder of this file, the first entry of ``sys.path``, by that of the program."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def run(words: list[str]) -> None:
    """Run the program that the words after the options name, with the remaining words as its arguments."""
    kind, rest = words[0], words[1:]
    if kind == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        run_code(rest[0])
    elif kind == "-m":
        sys.argv[:] = ["-m", *rest[1:]]
        run_module(rest[0])
    else:
        sys.argv[:] = words
        run_script(kind)


def main() -> None:
    """Run this rank from start to end."""
    options = json.loads(sys.argv[1])
    system, startup, launcher, whereabouts, node_store = borrow(
        "system", "startup", "comm.launcher", "context.remote_stacks", "context.node_store"
    )
    launch = launcher.detect()
    if launch is None:
        startup.write_error(
            "atoll: started by `atoll run`, but no MPI launcher is to be seen: it sets none of the variables by which ranks "
            "know themselves (PMI_RANK, PMIX_RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID); --mpiexec names another\n"
        )
        os._exit(2)
    startup.share_cores(launch.local_size or launch.size or 1)
    mark, record = os.environ.pop(startup.MARK, None), None
    if mark is not None:
        channel = Channel(mark, launch.rank, startup, system)
        record = channel.send
        prefixed = options["all_output"] and not channel.here
        whereabouts.set_job(mark)
        watched = (channel, launch.rank, not launch.local_rank, options["watch"], whereabouts)
        watch = functools.partial(watch_elsewhere, *watched)
        meeting, serve, listener = f"{mark}-node", None, None
        if launch.local_size != 1:
            listener = system.listen(meeting)
        if listener is not None:
            serve = functools.partial(node_store.serve, listener, meeting)
        supervise(channel, launch.rank, prefixed, watch, system, serve)
        if listener is not None:
            listener.close()
        store = node_store.connect(meeting) if launch.local_size != 1 else None
        if store is not None:
            node_store.import_from(store)
        place = {"process": os.getpid(), "host": host_name()}
        record({"kind": "start", "local_size": launch.local_size, **place})
        launcher.listeners.append(
            lambda sign: channel.send({"kind": "progress", "sign": sign.decode()})
        )
        if not options["all_output"]:
            report_warnings(channel, startup.shortened)
    atexit.register(launcher.tell, launcher.ORDERLY)  # the first to be registered runs last
    whereabouts.answer_requests(mark or whereabouts.job_of_parent(), launch.rank)
    launcher.claim()
    if options["profile"] is not None:
        os.environ[startup.PROFILE] = options["profile"]
    if options["terminal"]:
        os.environ[startup.TERMINAL] = "1"
    os.environ[startup.BEGUN] = str(os.getpid())
    ender = startup.Ender(launch.rank, launch.size, record)
    atexit.register(ender.leave_child)
    startup.watch_bare_exits(ender)
    faulthandler.enable()
    prepare_streams(launch.rank, options["all_output"])
    try:
        run(sys.argv[2:])
    except SystemExit as leaving:
        ender.exited(leaving.code)
        raise
    except BaseException as error:
        ender.failed(error, sys.excepthook)
        raise


if __name__ == "__main__":
    main()
