"""``atoll run`` with real ranks: what is printed, how a job ends, what the program finds."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest

from .commands import LIMIT, atoll, environment, finished, start_process

WAIT = "import ctypes, time, os, sys, atoll; rank = atoll.world.rank\n"


@pytest.mark.slow
def test_every_rank_prints_behind_its_number() -> None:
    code = "import atoll; print(atoll.world.rank, atoll.world.size)"
    outcome = atoll("run", "-n", "3", "-c", code, "--all-output")
    assert outcome.code == 0, outcome
    assert sorted(outcome.output.splitlines()) == ["[0] 0 3", "[1] 1 3", "[2] 2 3"]
    assert outcome.errors == ""


@pytest.mark.slow
def test_only_rank_0_prints_in_python_and_in_c() -> None:
    code = (
        "import ctypes, os, sys\n"
        "print('python')\n"
        "ctypes.CDLL(None).puts(b'c')\n"
        "os.write(1, bytes(range(256)) + b'\\n')\n"
    )
    process = subprocess.run(
        [sys.executable, "-m", "atoll", "run", "-n", "2", "-c", code],
        capture_output=True,
        timeout=LIMIT,
        stdin=subprocess.DEVNULL,
    )
    assert process.returncode == 0, process
    assert process.stdout == b"python\nc\n" + bytes(range(256)) + b"\n"


@pytest.mark.slow
def test_a_failure_of_all_is_said_once() -> None:
    code = "import atoll; raise ValueError(f'no input on rank {atoll.world.rank}')"
    outcome = atoll("run", "-n", "3", "-c", code)
    assert outcome.code == 1, outcome
    assert outcome.errors.count("Traceback") == 1, outcome
    assert outcome.errors.startswith("atoll: ranks 0-2 of 3 failed"), outcome


@pytest.mark.slow
def test_a_warning_of_several_ranks_is_printed_once() -> None:
    code = (
        "import atoll as np, warnings\n"
        "warnings.warn('of all')\n"
        "if np.world.rank == 1: warnings.warn('of one')\n"
        "np.sqrt(np.full(2_000_000, -1.0)).sum()\n"
        "warnings.simplefilter('always')\n"
        "for k in range(2): warnings.warn('twice')\n"
        "with warnings.catch_warnings(record=True) as found: warnings.warn('collected')\n"
        "assert len(found) == 1\n"
    )
    outcome = atoll("run", "-n", "3", "-c", code)
    assert outcome.code == 0, outcome
    counts = [outcome.errors.count(text) for text in ("of all\n", "of one\n", "sqrt\n", "twice\n")]
    assert counts == [1, 1, 1, 2], outcome
    assert "collected" not in outcome.errors, outcome
    every = atoll("run", "-n", "3", "--all-output", "-c", code)
    assert every.errors.count("of all\n") == 3, every


MISSING = """
import builtins, os
import atoll as np

path = {path!r}
if np.world.rank == 1:
    real = builtins.open

    def absent(name, *args, **options):
        if name == path:
            raise FileNotFoundError(2, "No such file or directory", name)
        return real(name, *args, **options)

    builtins.open = absent
np.load(path, layout="bn")
"""

PARTED = """
import atoll as np
a = np.ones(2_000_000)
if np.world.rank == 0:
    float(a.sum())
float(a.max())
"""


@pytest.mark.slow
def test_an_error_that_all_ranks_raise_is_said_once(tmp_path: Path) -> None:
    data, script = tmp_path / "data.npy", tmp_path / "script.py"
    numpy.save(data, numpy.ones((40, 30)))
    for text, words in (
        (MISSING.format(path=str(data)), [f"'{data}'", "raised on rank 1 of 2, in np.load"]),
        (PARTED, ["script.py:5", "script.py:6"]),
    ):
        script.write_text(text)
        outcome = atoll("run", "-n", "2", str(script), ATOLL_WAIT_CHECK="0.2")
        assert outcome.code == 1, outcome
        assert outcome.errors.count("Traceback") == 1, outcome
        assert "ranks 0-1 of 2 failed" in outcome.errors, outcome
        assert all(word in outcome.errors for word in words), outcome


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "output"),
    [
        ("os._exit(0)", "[0] ends\n[1] ends\n"),
        ("os.execvp('echo', ['echo', 'on'])", "[0] on\n[1] on\n"),
    ],
)
def test_all_ranks_may_leave_or_become_others(end: str, output: str) -> None:
    code = f"import os\nif 'exec' not in {end!r}: import atoll; atoll.world.barrier(); print('ends')\n{end}"
    outcome = atoll("run", "-n", "2", "--all-output", "-c", code)
    assert (outcome.code, outcome.errors) == (0, ""), outcome
    assert "".join(sorted(outcome.output.splitlines(keepends=True))) == output


FORK = """\
import atoll as np, os, sys
a = np.ones((1000, 1000))
float(a.sum())  # what that needs is kept, and would be used by a child
child = os.fork()
if child == 0:
    try:
        float((a + 1).sum())
    except np.errors.CommunicationError as error:
        sys.exit(7 if "fork of rank" in str(error) else 8)
    raise ValueError
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]
child = os.fork()
if child == 0:
    raise ValueError("in a child")
codes += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]
print(codes, float((a + 2).sum()))
"""


@pytest.mark.slow
def test_a_forked_child_computes_nothing_and_leaves_without_ending_mpi() -> None:
    outcome = atoll("run", "-n", "2", "-c", FORK)
    assert (outcome.code, outcome.output) == (0, "[7, 1] 3000000.0\n"), outcome
    assert outcome.errors.count("ValueError: in a child") == 2, outcome
    assert "Abort" not in outcome.errors


@pytest.mark.slow
def test_all_ranks_may_leave_with_a_code_without_a_word() -> None:
    outcome = atoll("run", "-n", "2", "-c", "import atoll, sys; atoll.world.barrier(); sys.exit(7)")
    assert outcome.code == 7, outcome
    assert outcome.errors == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGINT, 130, "atoll: interrupted; all ranks ended"), (signal.SIGTERM, 143, "SIGTERM")],
)
def test_signals_end_all(number: int, code: int, words: str, tmp_path: Path) -> None:
    program = (
        f"{WAIT}atoll.world.barrier()\n"
        f"open(f'{tmp_path}/{{rank}}', 'w').write(str(os.getpid()))\n"
        "atoll.world.barrier(); print('ready')\n"
        f"for _ in range({int(LIMIT)} * 10): time.sleep(0.1)"
    )
    process = start_process([sys.executable, "-m", "atoll", "run", "-n", "2", "-c", program])
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == code, errors
    assert words in errors
    assert "Traceback" not in errors
    for rank in (0, 1):
        assert not is_running(int((tmp_path / str(rank)).read_text()))


def is_running(process: int) -> bool:
    """True if a process is there, waiting a moment for its end."""
    for _ in range(50):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.1)
    return True


@pytest.mark.slow
def test_a_program_may_take_an_interrupt_its_own_way() -> None:
    program = (
        "import time\n"
        "try:\n"
        "    print('ready')\n"
        f"    time.sleep({LIMIT})\n"
        "except KeyboardInterrupt:\n"
        "    print('saved')"
    )
    process = start_process([sys.executable, "-m", "atoll", "run", "-n", "2", "-c", program])
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)  # the other rank prints nowhere
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, output) == (0, "saved\n"), errors


@pytest.mark.slow
def test_a_terminal_types_to_rank_0_and_interrupts_all() -> None:
    program = (
        f"{WAIT}if rank == 0: print('hello', input('name? '))\n"
        "atoll.world.barrier(); print('ready')\n"
        f"for _ in range({int(LIMIT)} * 10): time.sleep(0.1)"
    )
    words = [sys.executable, "-m", "atoll", "run", "-n", "2", "-c", program]
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, words, environment())
    shown, typed = b"", [(b"name? ", b"ann\n"), (b"ready", b"\x03")]
    start = time.monotonic()
    while time.monotonic() - start < LIMIT:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
        if typed and typed[0][0] in shown:
            os.write(terminal, typed.pop(0)[1])
    else:
        os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130, shown
    assert b"hello ann" in shown
    assert b"atoll: interrupted" in shown
    assert b"Traceback" not in shown


@pytest.mark.slow
def test_lines_appear_when_they_are_written() -> None:
    program = "import time; print('first'); time.sleep(5); print('second')"
    process = start_process([sys.executable, "-m", "atoll", "run", "-n", "2", "-c", program])
    assert process.stdout is not None
    assert process.stdout.readline() == "first\n"
    assert process.poll() is None
    process.terminate()
    output, _ = process.communicate(timeout=LIMIT)
    assert "second" not in output


@pytest.mark.slow
def test_rank_0_reads_the_input_and_others_none() -> None:
    program = "import os, sys; print(repr(sys.stdin.read()))"
    outcome = atoll("run", "-n", "2", "--all-output", "-c", program, input="some\nlines\n")
    assert sorted(outcome.output.splitlines()) == ["[0] 'some\\nlines\\n'", "[1] ''"], outcome


SURROUNDINGS = """\
import sys
main = sys.modules["__main__"]
print([__name__, sys.argv, sys.path[0], globals().get("__file__"), main.__dict__ is globals()])
print([__spec__ and __spec__.name, getattr(__loader__, "name", None) if "__file__" in globals() else 0])
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", "module", "code", "folder", "link"])
def test_the_program_finds_what_it_finds_under_python(kind: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "program.py").write_text(SURROUNDINGS)
    (tmp_path / "there" / "__main__.py").write_text(SURROUNDINGS)
    (tmp_path / "link.py").symlink_to(tmp_path / "there" / "program.py")
    words = {
        "script": [f"{tmp_path}/there/program.py"],
        "module": ["-m", "there.program"],
        "code": ["-c", SURROUNDINGS],
        "folder": [f"{tmp_path}/there"],
        "link": [f"{tmp_path}/link.py"],
    }[kind]
    path = str(tmp_path)
    mine = ["--", "-x", "--all-output"] if kind == "code" else ["-x", "--all-output"]
    theirs = finished([sys.executable, *words, "-x", "--all-output"], PYTHONPATH=path)
    ours = atoll("run", "-n", "2", *words, *mine, PYTHONPATH=path)
    assert ours.code == theirs.code == 0, ours
    if kind == "module":  # the working directory, which is put first, may come with a link in it
        assert ours.output.replace("''", "") == theirs.output.replace("''", "")
    assert ours.output == theirs.output


@pytest.mark.slow
def test_threads_are_cores_by_ranks_unless_somebody_says_so() -> None:
    code = (
        "import atoll, os\n"
        "print(atoll.config.threads, os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])"
    )
    cores = len(os.sched_getaffinity(0))
    share = max(1, cores // 2)
    assert atoll("run", "-n", "2", "-c", code).output == f"{share} {share} {share}\n"
    assert atoll("run", "-n", "2", "--threads=3", "-c", code).output == "3 3 3\n"
    mine = atoll("run", "-n", "2", "-c", code, ATOLL_NUM_THREADS="5", OMP_NUM_THREADS="7")
    assert mine.output == "5 7 5\n", mine


@pytest.mark.slow
def test_one_rank_needs_no_launcher_and_is_python_itself() -> None:
    code = "import sys; print(sys.argv, 'mpi4py' in sys.modules); sys.exit(3)"
    outcome = atoll("run", "-n", "1", "-c", code, "word", PATH="")
    assert (outcome.code, outcome.output) == (3, "['-c', 'word'] False\n"), outcome


def test_a_setting_with_a_bad_value_is_one_line() -> None:
    outcome = atoll("run", "-n", "2", "-c", "1", ATOLL_SMALL="many")
    assert outcome.code == 2
    assert outcome.errors.count("\n") == 1
    assert "ATOLL_SMALL" in outcome.errors
    assert "many" in outcome.errors
