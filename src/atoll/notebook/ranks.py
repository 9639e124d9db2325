"""The ranks of a notebook: starts them, runs cells on them, interrupts and ends them.

A cell ends on all ranks. Once it has failed on one rank, the others have a moment to end by themselves, as ranks do that
fail alike or detect a divergence. Then they are interrupted; if one of them does not react, all ranks are ended.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from ..errors import CellError, LaunchError
from ..startup import rank_words
from . import engine
from .keeper import CLIENT, GRACE
from .outputs import Outputs, failure

START = 120.0
"""Seconds for the ranks to start."""

PATIENCE = 5.0
"""Seconds for ranks to end by themselves after a rank has failed."""

REACTION = 10.0
"""Seconds for ranks to react to an interrupt."""

AGAIN = 2.0
"""Seconds after which an interrupt is repeated."""

LOOK = 0.05
"""Seconds between looks at the ranks."""

LOST = "Their variables are lost; the next %%ranks starts new ranks"
ANEW = (
    "The ranks had diverged: arrays that lie on several ranks cannot be used any more, other variables are kept. "
    "`%ranks restart` starts the ranks again"
)
UNEVEN = "Variables that the cell was changing may differ between the ranks"


Messages = SimpleQueue[Mapping[str, Any]]


class _Deadline:
    """The times at which to interrupt ranks that have not ended, and to give up."""

    def __init__(self) -> None:
        self.next = self.last = float("inf")

    def begin(self, after: float) -> None:
        """Schedule an interrupt after ``after`` seconds, unless one is due earlier."""
        now = time.monotonic()
        self.next = min(self.next, now + after)
        self.last = min(self.last, now + after + REACTION)


class Ranks:
    """Running ranks: engines of ipyparallel, started by ``atoll run`` in the care of a keeper."""

    def __init__(self, size: int, options: Sequence[str] = ()) -> None:
        self.size = size
        self._all = range(size)
        self._client: Any = None
        self._processes: list[int] = []
        self._messages: Messages = SimpleQueue()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        folder = tempfile.mkdtemp(prefix="atoll-ranks-")
        command = [sys.executable, "-m", "atoll.notebook.keeper", str(size), folder, *options]
        self._keeper = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,  # so that an interrupt of the kernel does not reach the keeper
        )
        atexit.register(self.end)
        try:
            self._connect(os.path.join(folder, CLIENT))
        except BaseException:
            self.end()
            raise

    def _connect(self, file: str) -> None:
        deadline = time.monotonic() + START

        def wait(until: Callable[[], Any]) -> None:
            while not until():
                if self._keeper.poll() is not None:
                    raise LaunchError(
                        f"%%ranks {self.size}: the ranks did not start. {self._said()}"
                    )
                if time.monotonic() > deadline:
                    raise LaunchError(
                        f"%%ranks {self.size}: the ranks did not start within {START:.0f} s. {self._said()}"
                    )
                time.sleep(LOOK)

        wait(lambda: os.path.exists(file) and os.path.getsize(file))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._client = _client(file, self._messages)
        wait(lambda: len(self._client.ids) >= self.size)
        results = self._send(engine.identify)
        wait(lambda: all(result.ready() for result in results))
        places = sorted(result.get() for result in results)
        expected = [(rank, self.size) for rank in range(self.size)]
        if [place[:2] for place in places] != expected:
            raise LaunchError(
                f"%%ranks {self.size}: the engines must be the ranks that were started, and are others: {places}"
            )
        self._processes = [process for _, _, process in places]

    def _send(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call a function on all ranks; return the asynchronous results by rank."""
        return [self._client[rank].apply_async(function, *args) for rank in self._all]

    def _said(self) -> str:
        """The last output of the keeper and the ranks, without messages of the controller."""
        size = os.fstat(self._log.fileno()).st_size
        text = os.pread(self._log.fileno(), 4000, max(0, size - 4000)).decode("utf-8", "replace")
        return "\n".join(line for line in text.splitlines() if "[IPController]" not in line).strip()

    @property
    def alive(self) -> bool:
        """True if the ranks are running."""
        return self._keeper.poll() is None

    # Running ------------------------------------------------------------------------------

    def run(self, code: str, number: int, outputs: Outputs) -> None:
        """Run a cell on all ranks, and show its output; raise an error if it fails on any."""
        results = self._send(engine.run_cell, code, number)
        rank_of = {result.msg_ids[0]: rank for rank, result in enumerate(results)}
        deadline, arrived = _Deadline(), set[int]()

        def look() -> bool:
            while True:
                try:
                    message = self._messages.get(timeout=LOOK)
                except Empty:
                    break
                rank = rank_of.get(message["parent_header"].get("msg_id"))
                if rank is None:  # of an earlier call
                    continue
                if message["header"]["msg_type"] == "error":
                    deadline.begin(PATIENCE)
                elif engine.ARRIVED in message["content"].get("data", ()):
                    arrived.add(rank)
                else:
                    outputs.take(rank, message)
            ready = [rank for rank, result in enumerate(results) if result.ready()]
            ended = [_outcome(rank, results[rank]) for rank in ready]
            if any(outcome["failed"] or outcome["verdict"] for outcome in ended):
                deadline.begin(PATIENCE)
            return len(ready) == len(results)

        interrupted = self._attend(look, results, deadline, arrived)
        for result in results:
            result.wait_for_output(LOOK * 20)
        look()
        outcomes = [_outcome(rank, result) for rank, result in enumerate(results)]
        remark = UNEVEN if interrupted else ""
        verdicts = [outcome["verdict"] for outcome in outcomes if outcome["verdict"]]
        if verdicts:
            remark = f"{self._begin_anew(verdicts[0])}. {remark}".rstrip(". ")
        outputs.show_others()
        error = failure(outcomes, interrupted, remark)
        if error is not None:
            raise error

    def _attend(
        self,
        look: Callable[[], bool],
        results: Sequence[Any],
        deadline: _Deadline,
        arrived: Collection[int] = (),
    ) -> bool:
        """Call ``look`` until all ranks have ended; return True if the user has interrupted them.

        Ranks that have ``arrived`` wait for the others at the end of the cell.
        """

        def late() -> list[int]:
            unfinished = [rank for rank, result in enumerate(results) if not result.ready()]
            return [rank for rank in unfinished if rank not in arrived] or unfinished

        interrupted = False
        while True:
            try:
                while not look():
                    self._check()
                    now = time.monotonic()
                    if now > deadline.last:
                        self._give_up(late())
                    if now > deadline.next:
                        deadline.next = now + AGAIN
                        self._interrupt(late())
                return interrupted
            except KeyboardInterrupt:
                if interrupted:
                    self._give_up(late())
                interrupted = True
                deadline.begin(0.0)

    def _interrupt(self, ranks: Sequence[int]) -> None:
        """Interrupt ranks as Ctrl-C does."""
        for rank in ranks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._processes[rank], signal.SIGINT)

    def _give_up(self, stuck: Sequence[int]) -> None:
        self.end(0.0)
        raise CellError(
            f"{rank_words(stuck, self.size)} did not react to an interrupt, so all ranks were ended. {LOST}"
        )

    def _check(self) -> None:
        """Raise an error if the ranks have ended."""
        if not self.alive:
            self.end()
            raise CellError(f"the ranks have ended. {LOST}\n{self._said()}")

    def _begin_anew(self, verdict: str) -> str:
        """Let diverged ranks continue in a new world; return the remark for the user."""
        deadline = _Deadline()
        deadline.begin(REACTION)
        self._answers(self._send(engine.begin_anew, verdict), deadline)
        return ANEW

    def _answers(self, results: Sequence[Any], deadline: _Deadline | None = None) -> list[Any]:
        """Wait for the results of a call on all ranks, and return them."""

        def look() -> bool:
            ready = all(result.ready() for result in results)
            if not ready:
                time.sleep(LOOK)
            return ready

        self._attend(look, results, deadline or _Deadline())
        return [result.get() for result in results]

    # Variables ----------------------------------------------------------------------------

    def push(self, variables: Mapping[str, Any]) -> None:
        """Give all ranks variables."""
        with _explained("--push", variables):
            given = dict(variables)
            self._answers([self._client[rank].push(given, block=False) for rank in self._all])

    def pull(self, names: Sequence[str]) -> Any:
        """The variables of rank 0, with arrays gathered from all ranks."""
        with _explained("--pull", names):
            answers = self._answers(self._send(engine.pickled, list(names)))
            for answer in answers:
                if isinstance(answer, str):
                    raise CellError(answer)
            return pickle.loads(answers[0])

    # Ending -------------------------------------------------------------------------------

    def end(self, grace: float = 2 * GRACE) -> None:
        """End the ranks, and all processes that started with them."""
        atexit.unregister(self.end)
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(linger=0)
            self._client = None
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()
        try:
            self._keeper.wait(grace or 2 * GRACE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._keeper.pid, signal.SIGKILL)
            self._keeper.wait()


@contextlib.contextmanager
def _explained(option: str, names: Collection[str]) -> Iterator[None]:
    """Convert errors from variables that cannot be sent into errors of the option that sends them."""
    try:
        yield
    except Exception as error:
        if isinstance(error, CellError) and "have ended" in str(error):
            raise
        text = str(error) if isinstance(error, CellError) else f"{type(error).__name__}: {error}"
        cure = ""
        if "Can't get attribute" in text:
            cure = ". What the notebook defines, the ranks have to define as well, or both import it from a module"
        raise CellError(f"%%ranks {option} {','.join(names)}: {text}{cure}") from None


def _client(file: str, messages: Messages) -> Any:
    """A client of the controller; ``messages`` gets a copy of all messages of the engines in their order.

    The client itself stores printed and displayed output separately, and so loses their order.
    """
    from ipyparallel import Client

    client = Client(file, timeout=START)
    deserialize = client.session.deserialize

    def listen(*args: Any, **options: Any) -> Any:
        message = deserialize(*args, **options)
        messages.put(message)
        return message

    client.session.deserialize = listen
    return client


def _outcome(rank: int, result: Any) -> engine.Outcome:
    """The outcome of a cell on one rank, or one made from the error of the call: an interrupt may arrive after the cell."""
    try:
        outcome: engine.Outcome = result.get(timeout=0)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return {
            "rank": rank,
            "failed": "KeyboardInterrupt" if "KeyboardInterrupt" in text else type(error).__name__,
            "text": text,
            "lines": [text],
            "place": engine.END,
            "verdict": engine.INTERRUPTED,
        }
    return outcome
