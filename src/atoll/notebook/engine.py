"""The engine of ipyparallel that runs on each rank, and the functions that the kernel calls on it.

``atoll run -m atoll.notebook.engine`` starts it. At the end of each cell all ranks meet in a step that they compare, as
at the end of a program: it detects ranks that have diverged, and completes reads by only some of them.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any

from ..comm import launcher
from ..comm.in_step import meet
from ..comm.world import begin_anew as _begin_anew
from ..comm.world import process_world, world
from ..context.sources import is_users, place_text
from ..errors import AtollError

Outcome = dict[str, Any]
END = "the end of the cell"
INTERRUPTED = "a rank was interrupted while it waited for the others"
ARRIVED = "application/vnd.atoll.arrived"
"""The MIME type of the message by which a rank reports that its cell is over and it waits for the others."""


def main() -> None:
    """Serve the kernel until the keeper ends this process."""
    from ipyparallel.engine.app import IPEngine

    file, folder = sys.argv[1:3]
    launch = launcher.detect()
    IPEngine.launch_instance(
        [
            f"--file={file}",
            f"--profile-dir={folder}",
            f"--IPEngine.id={0 if launch is None else launch.rank}",
            "--IPEngine.enable_nanny=False",  # the keeper and `atoll run` watch the ranks
            "--IPEngine.max_heartbeat_misses=0",
            "--IPEngine.wait_for_url_file=120",
            "--IPEngine.timeout=120",
            "--HistoryManager.enabled=False",
            "--log-level=50",
        ]
    )


def _shell() -> Any:
    from IPython.core.getipython import get_ipython

    return get_ipython()


def identify() -> tuple[int, int, int]:
    """This rank, the number of ranks, and the process number. The first call on all ranks, which starts MPI."""
    return world.rank, world.size, os.getpid()


def run_cell(code: str, number: int) -> Outcome:
    """Run cell ``number`` of the notebook, and meet the other ranks at its end."""
    shell = _shell()
    shell.execution_count = number
    error: BaseException | None = None
    last = code.rstrip().count("\n") + 1
    try:
        done = shell.run_cell(code, store_history=True)
        error = done.error_before_exec or done.error_in_exec
    except BaseException as interrupt:
        error = interrupt
    file = shell.compile.get_code_name(code, code, number)
    outcome: Outcome = {"rank": world.rank, "failed": "", "text": "", "lines": [], "place": ""}
    what = END
    if error is not None:
        file, last = _place(error, file, last)
        name = type(error).__name__
        what = f"{END} by {name}"
        outcome["failed"], outcome["text"] = name, f"{name}: {error}" if str(error) else name
        outcome["lines"] = list(getattr(shell, "_last_traceback", None) or [])
        outcome["place"] = place_text(file, last)
    shell.display_pub.publish({ARRIVED: ""})
    outcome["verdict"] = _meet(what, file, last)
    return outcome


def _place(error: BaseException, file: str, line: int) -> tuple[str, int]:
    """The innermost line of the user's code in a traceback."""
    frames = error.__traceback__
    while frames is not None:
        name = frames.tb_frame.f_code.co_filename
        if is_users(name) and not name.startswith("<"):
            file, line = name, frames.tb_lineno
        frames = frames.tb_next
    return file, line


def _meet(what: str, file: str, line: int) -> str:
    """Meet all ranks in a step at a line of the cell; return the error text, or an empty string."""
    everyone = process_world()
    if everyone is None or everyone.size == 1:
        return ""
    namespace = {"meet": lambda: meet(everyone.communicator, what)}
    try:
        exec(compile("\n" * (line - 1) + "meet()", file, "exec"), namespace)
    except AtollError as error:
        return str(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return ""


def begin_anew(verdict: str) -> None:
    """Continue in a new world after the ranks have diverged. All ranks call it."""
    _begin_anew(verdict)


def pickled(names: list[str]) -> bytes | str:
    """The pickled variables on rank 0, empty bytes on others, or an error text on any. Collective: it gathers arrays."""
    namespace = _shell().user_ns
    missing = [name for name in names if name not in namespace]
    if missing:
        return f"there is no variable {missing[0]!r} on the ranks"
    try:
        data = pickle.dumps({name: namespace[name] for name in names}, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return data if world.rank == 0 else b""


if __name__ == "__main__":
    main()
