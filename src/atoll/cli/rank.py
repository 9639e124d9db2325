"""One rank of ``atoll run``: prepares the process, then runs the program as Python would.

``atoll run`` starts this file by its path on every rank:

    python .../atoll/cli/rank.py OPTIONS (script | -m module | -c code) arguments...

This file must not import atoll, whose import reads the environment and loads NumPy: the program must run first and find
``sys.argv``, ``sys.path`` and ``__main__`` as if Python had been started with it. So three small modules of atoll are
loaded separately, and everything else here is the standard library.

OPTIONS is one word in JSON: ``all_output``, without which the standard output of ranks other than 0 is discarded, and
``profile``, the path of the profile that is recorded, and ``terminal``, whether standard error comes to one. The
mark of every record for ``atoll run``, which also names its socket, is in the environment, which other users cannot
read.
"""

import atexit
import builtins
import contextlib
import faulthandler
import fcntl
import importlib
import json
import os
import resource
import socket
import sys
import types
from collections.abc import Callable
from typing import Any

HIGHEST_TIE = 1000
"""The number of the file that ties a rank to its launcher is just below this, or its limit."""


def borrow(*names: str) -> list[Any]:
    """Modules of atoll by name, loaded without ``atoll/__init__``, which stays to be imported.

    They remain where the import finds them: that this rank is ending is known to both.
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


def tie_to(name: str, rank: int, whereabouts: Any) -> Callable[[bytes], None]:
    """Connect to ``atoll run``, if it is on this host, for as long as this process lives.

    There are two connections. The tie carries nothing and breaks when this process dies. Linux closes the files of such
    a process from the highest number down, so the tie gets a high one: it breaks before the launcher's own connection
    does, and before the launcher kills other ranks. The other connection reports the progress of this rank; its
    function is returned.
    """
    process, voice = os.getpid(), -1
    tie, other = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    with tie, other, contextlib.suppress(OSError):
        tie.connect(name)
        if whereabouts.peer(tie) is None:
            raise PermissionError
        tie.send(b"%d" % rank)
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = 1 << 20 if limit == resource.RLIM_INFINITY else limit
        fcntl.fcntl(tie, fcntl.F_DUPFD_CLOEXEC, max(min(most, HIGHEST_TIE) - 1, tie.fileno()))
        other.connect(name)
        other.send(b"%d:" % rank)
        voice = other.detach()

    def tell(sign: bytes) -> None:
        if voice >= 0 and os.getpid() == process:
            with contextlib.suppress(OSError):
                os.write(voice, sign)

    return tell


def prepare_streams(rank: int, all_output: bool) -> None:
    """Give the input to rank 0, discard the output of others, also that of C, and flush each line."""
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


def buffer_lines_in_c() -> None:
    """The same for what is printed by C's ``printf``, where C can be reached."""
    import ctypes

    try:
        library = ctypes.CDLL(None)
        stream = ctypes.c_void_p.in_dll(library, "stdout")
        library.setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t]
        library.setvbuf(stream, None, 1, 0)
    except (OSError, ValueError, AttributeError):
        return


def fresh_main() -> dict[str, Any]:
    """A ``__main__`` module as the interpreter creates it before a program starts; its namespace."""
    main = types.ModuleType("__main__")
    namespace = vars(main)
    namespace["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return namespace


def run_code(text: str) -> None:
    """``-c``: the code is a command-line argument; a traceback can show its lines."""
    import linecache

    lines = [line + "\n" for line in text.split("\n")]
    linecache.cache["<string>"] = (len(text), None, lines, "<string>")
    set_first_path("")
    exec(compile(text, "<string>", "exec", dont_inherit=True), fresh_main())


def run_module(name: str) -> None:
    """``-m``: runpy does it as the interpreter does."""
    import runpy

    set_first_path(os.getcwd())
    fresh_main()
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]


def run_script(script: str) -> None:
    """A file of source code, or a folder or archive with a ``__main__.py`` in it."""
    if os.path.isdir(script) or is_archive(script):
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


def is_archive(path: str) -> bool:
    """Whether Python would look for a ``__main__.py`` inside this file."""
    with open(path, "rb") as file:
        if file.read(2) == b"PK":
            return True
    import zipfile

    return path.endswith((".zip", ".pyz")) and zipfile.is_zipfile(path)


def set_first_path(folder: str) -> None:
    """Replace the folder of this file, which Python has put first, by the program's own."""
    if not getattr(sys.flags, "safe_path", False):
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
    """The whole life of this rank."""
    options = json.loads(sys.argv[1])
    startup, launcher, whereabouts = borrow("startup", "comm.launcher", "context.remote_stacks")
    launch = launcher.detect()
    if launch is None:
        startup.write_error("atoll: started by `atoll run`, but no MPI launcher is to be seen\n")
        os._exit(2)
    mark = os.environ.pop(startup.MARK, None)
    if mark is not None:
        launcher.listen(tie_to(startup.tie_name(mark), launch.rank, whereabouts))
    atexit.register(launcher.tell, launcher.ORDERLY)  # the first to be registered runs last
    whereabouts.answer_requests(mark or whereabouts.job_of_parent(), launch.rank)
    startup.share_cores(launch.local_size or launch.size or 1)
    launcher.claim()
    if options["profile"] is not None:
        os.environ[startup.PROFILE] = options["profile"]
    if options["terminal"]:
        os.environ[startup.TERMINAL] = "1"
    os.environ[startup.BEGUN] = str(os.getpid())
    ender = startup.Ender(launch.rank, launch.size, mark)
    atexit.register(ender.leave_child)
    startup.watch_bare_exits(ender)
    startup.keep_for_records(HIGHEST_TIE // 2)
    if mark is not None:
        place = {"process": os.getpid(), "host": socket.gethostname()}
        startup.write_record(mark, {"kind": "start", "rank": launch.rank, **place})
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
