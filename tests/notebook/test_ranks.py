"""``%%ranks``: cells run on ranks, keep their variables, and end whatever a rank does; nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("ipyparallel")
pytest.importorskip("mpi4py")

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from atoll.errors import CellError
from atoll.notebook import ranks
from atoll.notebook.outputs import grouped

pytestmark = pytest.mark.timeout(240)

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Ran:
    """What a cell has done."""

    text: str
    shown: list[str]
    html: str
    error: Any

    @property
    def traceback(self) -> str:
        return COLOURS.sub("", "\n".join(self.error._render_traceback_()))


class Notebook:
    """A kernel in this process."""

    def __init__(self) -> None:
        config = Config(HistoryManager={"hist_file": ":memory:"})
        self.shell = InteractiveShell.instance(config=config)
        self.run("%load_ext atoll")

    def run(self, cell: str, failing: type[BaseException] | None = None) -> Ran:
        with capture_output() as captured:
            result = self.shell.run_cell(cell, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        assert (error is None) if failing is None else isinstance(error, failing), error
        pages = [output.data.get("text/html", "") for output in captured.outputs]
        shown = [output.data.get("text/plain", "") for output in captured.outputs]
        return Ran(captured.stdout + captured.stderr, shown, "".join(pages), error)

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]


@pytest.fixture(scope="module")
def notebook():
    notebook = Notebook()
    notebook.run("%%ranks 2\nimport atoll as np\nx = np.ones((1200, 1000)) + 1")
    yield notebook
    notebook.run("%ranks stop")
    notebook.run("%unload_ext atoll")
    InteractiveShell.clear_instance()


@pytest.fixture
def soon(monkeypatch):
    """Interrupts this process after a moment."""
    timers = []

    def interrupt(seconds: float = 1.5) -> None:
        timers.append(threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGINT]))
        timers[-1].start()

    yield interrupt
    for timer in timers:
        timer.join()


def test_equal_texts_are_grouped():
    told = {0: "rank 0 of 2", 1: "rank 1 of 2", 2: "in ipykernel_7/1.py", 3: "in ipykernel_8/1.py"}
    assert [ranks for ranks, _ in grouped(told)] == [[0], [1], [2, 3]]
    assert [ranks for ranks, _ in grouped(told, numbered=True)] == [[0, 1], [2, 3]]
    both = dict.fromkeys((0, 1), "rank 0 is at f, rank 1 at g")
    assert grouped(both, numbered=True) == [([0, 1], both[0])]


def renew(notebook):
    notebook.run("%%ranks 2\nimport atoll as np\nx = np.ones((1200, 1000)) + 1")


def test_rank_0_is_shown_and_the_others_are_folded_up(notebook):
    ran = notebook.run("%%ranks\nprint(f'rank {np.world.rank}', x.shape)\nx")
    assert "rank 0 (1200, 1000)\n" in ran.text
    assert "of which 4.8 MB on this rank (0 of 2)" in ran.html
    shown, _, folded = ran.html.partition("<details>")
    assert "rank 1" not in shown.replace("<title>rank 1</title>", "")
    assert "output of rank 1" in folded
    assert ">rank 1 (1200, 1000)\n</pre>" in folded
    assert "(1 of 2)" in folded
    printed = notebook.run("%ranks output").text
    assert "[rank 0]\nrank 0 (1200, 1000)" in printed
    assert "[rank 1]\nrank 1 (1200, 1000)" in printed


def test_no_output_is_lost(notebook):
    for number in range(10):
        cell = f"%%ranks\nprint({number}, 1)\ndisplay('between')\nprint({number}, 2)\n'last'"
        ran = notebook.run(cell)
        assert ran.text == f"{number} 1\n{number} 2\n"
        assert ran.shown == ["'between'", "'last'"]


def test_equal_output_is_shown_once(notebook):
    ran = notebook.run("%%ranks\nprint(float(x.sum()))")
    assert ran.text == "2400000.0\n"
    assert ran.html == ""


def test_variables_are_kept_pushed_and_pulled(notebook):
    notebook.run(
        "import atoll as np\nscale = 3\nweights = np.arange(1000.0)\ndef twice(n): return 2 * n"
    )
    notebook.run(
        "%%ranks --push scale,weights,twice --pull y,total,rank\n"
        "y = (x * scale + weights)[:2]\ntotal = twice(float(y.sum()))\nrank = np.world.rank"
    )
    assert type(notebook["y"]).__module__ == "atoll.array"
    assert notebook["y"].shape == (2, 1000)
    assert notebook["y"][1, 3] == 9.0
    assert notebook["total"] == 2 * float(notebook["y"].sum())
    assert notebook["rank"] == 0
    assert "no variable 'nothing'" in str(
        notebook.run("%%ranks --push nothing\n1", Exception).error
    )
    ran = notebook.run("%%ranks --pull nothing\n1", CellError)
    assert "there is no variable 'nothing' on the ranks" in str(ran.error)


def test_variables_that_cannot_travel_are_named(notebook):
    notebook.run("import threading\nlock = threading.Lock()\nclass Mine: pass\nmine = Mine()")
    ran = notebook.run("%%ranks --push lock\n1", CellError)
    assert re.search("--push lock: TypeError: cannot pickle", str(ran.error))
    ran = notebook.run("%%ranks --push mine\n1", CellError)
    assert "--push mine: " in str(ran.error)
    assert "the ranks have to define as well" in str(ran.error)
    ran = notebook.run("%%ranks --pull c\nclass C: pass\nc = C()", CellError)
    assert "--pull c: " in str(ran.error)
    ran = notebook.run("%%ranks\nawait nothing", Exception)
    assert "cannot use `await`" in str(ran.error)


def test_a_failing_rank_shows_its_traceback_and_arrays_are_kept(notebook):
    ran = notebook.run("%%ranks\nif np.world.rank == 1:\n    1 / 0", CellError)
    assert str(ran.error) == "rank 1 of 2 failed: ZeroDivisionError: division by zero"
    assert re.search(r"Cell In\[\d+\], line 3", ran.traceback)
    assert "----> 3     1 / 0" in ran.traceback
    assert notebook.run("%%ranks\nprint(float(x.sum()))").text == "2400000.0\n"


def test_equal_errors_of_all_ranks_are_shown_once(notebook):
    ran = notebook.run("%%ranks\nnonsense", CellError)
    assert str(ran.error) == "ranks 0-1 of 2 failed: NameError: name 'nonsense' is not defined"
    assert ran.traceback.count("----> 2 nonsense") == 1


def test_diverged_ranks_continue_in_a_new_world(notebook):
    ran = notebook.run("%%ranks\nif np.world.rank == 0:\n    print(x.mean())", CellError)
    assert "rank 0 of 2 failed: DivergenceError" in str(ran.error)
    assert re.search(r"rank 0 reached an evaluation at Cell In\[\d+\], line 3", ran.traceback)
    assert "rank 1 the end of the cell" in ran.traceback
    assert ran.traceback.count("ranks have diverged: ") == 1
    assert "cannot be used any more" in ran.traceback
    ran = notebook.run("%%ranks\nprint(float(x.sum()))", CellError)
    assert "make it again" in ran.traceback
    ran = notebook.run("%%ranks\nx = np.ones((1200, 1000)) + 1\nprint(float(x.sum()))")
    assert ran.text == "2400000.0\n"


def test_an_interrupt_ends_the_cell_on_all_ranks(notebook, soon):
    soon()
    ran = notebook.run("%%ranks\nif np.world.rank == 1:\n    while True: pass", CellError)
    assert str(ran.error).startswith("interrupted")
    assert re.search(r"rank 1 of 2 interrupted at Cell In\[\d+\], line 3", ran.traceback)
    assert notebook.run("%%ranks\nprint(float(x.sum()))").text == "2400000.0\n"


def test_a_rank_that_goes_on_after_another_has_failed_is_interrupted(notebook, monkeypatch):
    monkeypatch.setattr(ranks, "PATIENCE", 0.5)
    ran = notebook.run("%%ranks\nif np.world.rank == 1:\n    while True: pass\n1 / 0", CellError)
    assert str(ran.error) == "rank 0 of 2 failed: ZeroDivisionError: division by zero"
    assert "rank 1 of 2 interrupted at" in ran.traceback


def test_a_hanging_rank_ends_the_cell_by_the_limit_of_waits(notebook, monkeypatch):
    monkeypatch.setattr(ranks, "PATIENCE", 0.5)
    notebook.run("%%ranks\nbefore, np.config.wait_abort = np.config.wait_abort, 1.5")
    ran = notebook.run("%%ranks\nif np.world.rank == 1:\n    while True: pass", CellError)
    assert "has waited 1.5 s (ATOLL_WAIT_ABORT) for: " in ran.traceback
    assert re.search(r"rank 1 of 2 interrupted at Cell In\[\d+\], line 3", ran.traceback)
    notebook.run("%%ranks\nnp.config.wait_abort = before")


def test_another_number_of_ranks_is_refused(notebook):
    ran = notebook.run("%%ranks 3\nprint(1)", Exception)
    assert "2 ranks are running, and they would lose their variables" in str(ran.error)
    assert "`%ranks restart 3`" in str(ran.error)
    assert notebook.run("%ranks").text == "2 ranks are running\n"


@pytest.mark.parametrize("line", ["0", "two", "2 3", "--push a-b", "--nonsense"])
def test_wrong_words_are_errors_of_the_line(notebook, line):
    ran = notebook.run(f"%%ranks {line}\nprint(1)", Exception)
    assert type(ran.error).__name__ == "UsageError"
    assert "%%ranks" in str(ran.error)


def test_a_rank_that_reacts_to_nothing_is_ended_with_the_others(notebook, soon, monkeypatch):
    monkeypatch.setattr(ranks, "REACTION", 1.0)
    soon()
    ran = notebook.run(
        "%%ranks\nimport signal, time\nif np.world.rank == 1:\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n    time.sleep(1000)",
        CellError,
    )
    assert "rank 1 of 2 did not react to an interrupt" in str(ran.error)
    assert notebook.run("%ranks").text == "no ranks are running\n"
    assert "say how many to start" in str(notebook.run("%%ranks\n1", Exception).error)
    renew(notebook)


def test_a_rank_that_dies_is_reported(notebook):
    ran = notebook.run(
        "%%ranks\nimport os\nif np.world.rank == 1: os.kill(os.getpid(), 9)", CellError
    )
    assert "the ranks have ended" in str(ran.error)
    assert re.search(r"rank 1 of 2 .*was killed by signal 9", str(ran.error))
    renew(notebook)


KERNEL = """
import os, sys, time
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config(HistoryManager={"hist_file": ":memory:"}))
shell.run_cell("%load_ext atoll")
shell.run_cell("%%ranks 2\\nimport os, tempfile\\nprint('ready', os.getpid(), flush=True)")
sys.stdout.flush()
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize("killed", [True, False])
def test_the_ranks_end_with_the_kernel(killed):
    psutil = pytest.importorskip("psutil")
    kernel = subprocess.Popen(
        [sys.executable, "-c", KERNEL, "1000" if killed else "0"], stdout=subprocess.PIPE, text=True
    )
    children: list[Any] = []
    assert kernel.stdout is not None
    for line in kernel.stdout:
        if line.startswith("ready"):
            children = psutil.Process(kernel.pid).children(recursive=True)
            break
    assert len(children) >= 5
    folders = {word for c in children for word in c.cmdline() if "atoll-ranks-" in word}
    assert folders
    if killed:
        kernel.kill()
    kernel.wait(30)
    kernel.stdout.close()
    _, left = psutil.wait_procs(children, timeout=30)
    assert not left
    time.sleep(0.1)
    assert not any(map(os.path.exists, folders))
