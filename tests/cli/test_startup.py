"""``import atoll`` in a process that nobody launched: nothing installed, nothing slow."""

from __future__ import annotations

import os
import sys

import pytest

from atoll import startup

from .commands import finished


def test_one_process_is_left_as_it_was() -> None:
    code = (
        "import sys, os\n"
        "before = dict(os.environ), sys.excepthook, sys.exit, vars(SystemExit)['code']\n"
        "import atoll\n"
        "after = dict(os.environ), sys.excepthook, sys.exit, vars(SystemExit)['code']\n"
        "print(before == after, *sorted({'mpi4py', 'llvmlite', 'argparse', 'runpy', 'socket',"
        " 'threadpoolctl'} & set(sys.modules)))"
    )
    outcome = finished([sys.executable, "-c", code])
    assert outcome.output == "True\n", outcome


@pytest.mark.parametrize(
    ("own", "launchers", "ranks", "threads"),
    [
        ({0, 1, 2, 3}, {0, 1, 2, 3}, 2, 2),
        ({0, 1, 2, 3}, {0, 1, 2, 3}, 3, 1),
        ({0, 1}, {0, 1, 2, 3}, 2, 2),
        ({0}, {0}, 4, 1),
    ],
)
def test_cores_are_shared_unless_ranks_are_bound(
    own: set[int], launchers: set[int], ranks: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: launchers if process else own)
    assert startup.threads_per_rank(ranks) == threads


@pytest.mark.parametrize(
    ("code", "number"), [(None, 0), (0, 0), (3, 3), (256 + 4, 4), (-1, 255), ("text", 1), (2.5, 1)]
)
def test_exit_numbers_are_the_interpreters(code: object, number: int) -> None:
    assert startup.exit_number(code) == number
    assert finished([sys.executable, "-c", f"raise SystemExit({code!r})"]).code == number


def test_a_long_traceback_loses_its_middle() -> None:
    text = startup.shortened("a" * 20_000 + "b" * 20_000)
    assert text.startswith("a")
    assert text.endswith("b")
    assert len(text) < startup.LONGEST_TEXT + 20


def test_the_command_imports_numpys_names_when_somebody_asks_for_them() -> None:
    program = (
        "import sys; sys.argv = ['/usr/bin/atoll', 'run', 'program.py']\n"
        "import atoll\n"
        "print('atoll.lazy' in sys.modules, hasattr(atoll, '__path__'))\n"
        "from atoll import zeros\n"
        "print(zeros(3).shape, atoll.world.size, 'arange' in atoll.__all__, 'atoll.lazy' in sys.modules)\n"
    )
    outcome = finished([sys.executable, "-c", program])
    assert outcome.output == "False True\n(3,) 1 True True\n", outcome
