"""The process between a notebook's kernel and its ranks: ends the ranks when the kernel ends, in any way.

    python -m atoll.notebook.keeper RANKS FOLDER [options of atoll run]

The keeper runs ipyparallel's controller, and ``atoll run`` beside it, which starts the engines. Its standard input is a
pipe from the kernel that carries no data: it closes when the kernel ends, even by ``kill -9``, and then the keeper
ends the ranks and itself. If the ranks end, so does the keeper.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from functools import partial
from typing import Any

from .. import system

GRACE = 5.0
"""Seconds for the ranks to end before they are killed."""

CLIENT = os.path.join("security", "ipcontroller-client.json")
ENGINE = os.path.join("security", "ipcontroller-engine.json")
"""The files, in the folder, through which the kernel and the engines find the controller."""


def end(child: subprocess.Popen[bytes]) -> None:
    """End the ranks: ``atoll run`` passes the signal on, and removes their shared files."""
    child.terminate()
    try:
        child.wait(GRACE)
    except subprocess.TimeoutExpired:
        child.kill()


def controller(folder: str) -> Any:
    """An initialised controller, which has written its files."""
    from ipyparallel.controller.app import IPController

    app = IPController.instance()
    app.initialize(
        [
            f"--profile-dir={folder}",
            "--ip=127.0.0.1",
            "--nodb",
            "--IPController.use_threads=True",
            "--HeartMonitor.period=500",  # an engine is known after two beats
            "--HeartMonitor.max_heartmonitor_misses=100000000",  # `atoll run` notices dead ranks
            "--log-level=50",
        ]
    )
    return app


def main() -> None:
    """Keep the ranks until the kernel ends."""
    ranks, folder, *options = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    command = [sys.executable, "-m", "atoll", "run", "-n", ranks, *options]
    command += ["-m", "atoll.notebook.engine", os.path.join(folder, ENGINE), folder]
    # On systems without this feature, the ranks end only if the keeper ends in order.
    end_with_parent = partial(system.end_with_parent, signal.SIGTERM)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)
    os.register_at_fork(after_in_child=end_with_parent)
    try:
        app = controller(folder)

        def stay() -> None:
            child.wait()
            os.kill(os.getpid(), signal.SIGTERM)

        def leave() -> None:
            while os.read(0, 1):  # until the kernel has closed its end of the pipe
                pass
            end(child)

        threading.Thread(target=stay, daemon=True).start()
        threading.Thread(target=leave, daemon=True).start()
        app.start()
    finally:
        end(child)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
