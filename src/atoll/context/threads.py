"""Threads of one process: one at a time changes arrays, and the others wait for it.

A thread that evaluates, assigns, or follows the operands of a pending node holds ``turn.lock``. Its rules:

* It is re-entrant: a finaliser, a signal handler or a handler of warnings that runs meanwhile in the same thread may
  use arrays.
* It is not held while NumPy's functions or functions of the user run on data. Memory that they write into is pinned.
* Recording an operation needs no lock: it reads the node of a cell once, and makes a new node.
* Finalisers never wait for it. They leave their work to its holder: see :func:`leave`.
* A fork waits for it, so that a child never begins in the middle of another thread's work.

Simulated ranks are threads that take turns, and wait for each other during an evaluation; each has its own lock and
caches. On several ranks the order of messages follows from the order of evaluations, so one thread of a rank
communicates: see :meth:`.StepLog.step`.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from ..front import Lock, finish_ends


class _Turn(threading.local):
    lock: ClassVar[Any] = Lock()
    """The lock of the process, or of a simulated rank."""
    simulated = False
    """True if this thread is a simulated rank."""


turn = _Turn()
process_lock: Any = _Turn.lock
"""The lock for state that all simulated ranks share, such as compiled code."""
_left: deque[Callable[[], None]] = deque()


def begin_simulated_rank() -> None:
    """Make this thread a simulated rank, which waits for no other thread's lock."""
    turn.__dict__["lock"] = Lock()
    turn.simulated = True


def tried(lock: Any) -> Iterator[bool]:
    """Try the lock once: a loop of one turn, whose variable is True if the lock is now taken.

    A C call takes the lock on entry into the loop, so no interrupt arrives before a ``try`` at its beginning.
    """
    return map(lock.acquire, (False,))


def leave(task: Callable[[], None]) -> None:
    """Run a task under the lock, now or as soon as its holder releases it. Never waits."""
    _left.append(task)
    catch_up()


def catch_up() -> None:
    """Run the tasks left to the holder of the lock, unless another thread holds it."""
    finish_ends()
    while _left:
        for is_taken in tried(turn.lock):
            if not is_taken:
                return
            try:
                task = _left.popleft() if _left else None
                if task is not None:
                    task()
            finally:
                turn.lock.release()


class _Communicating(threading.local):
    thread: ClassVar[threading.Thread | None] = None
    here = False
    """True if this thread communicates for the process: from its first message to its end."""

    def other(self) -> threading.Thread | None:
        """The other thread that communicates, if one is alive; otherwise this thread communicates from now on."""
        with turn.lock:
            known = _Communicating.thread
            if known is not None and known.is_alive():
                return known
            _Communicating.thread = threading.current_thread()
            self.here = True
            return None


communicating = _Communicating()


hold, let_go = process_lock.acquire, process_lock.release
os.register_at_fork(before=hold, after_in_parent=let_go, after_in_child=let_go)
