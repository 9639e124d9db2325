"""The bench catches what it is there to catch: one inner run of failing tests, read from outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

INNER = """
    import os, sys, time
    import numpy, pytest
    from hypothesis import given, strategies as st
    from atoll.config import config
    from atoll.context import statistics
    from tests.bench import pool

    pool.AFTER_FAILURE = 1.0

    on_ranks = pytest.mark.ranks(2, distributes=False)
    on_simulated = pytest.mark.simulated(2, distributes=False)

    def world():
        from mpi4py import MPI
        return MPI.COMM_WORLD

    @on_ranks
    @pytest.mark.parametrize("word", ["a", "b"])
    def test_passes(rank, size, word, tmp_path):
        assert (world().rank, world().size) == (rank, size)
        assert world().allgather(word) == [word] * size
        assert len(set(world().allgather(str(tmp_path)))) == 1
        assert config.small == 0

    @pytest.mark.ranks(2, 3, distributes=False)
    @pytest.mark.simulated(3, distributes=False)
    def test_sizes(size):
        assert size != 3

    @on_ranks
    def test_fails_on_rank_1(rank):
        print("words of", rank)
        assert rank != 1

    @on_ranks
    def test_fails_alike():
        assert "here" == "there"

    @on_ranks
    def test_fails_differently(rank):
        if rank == 0:
            raise KeyError("zero")
        raise IndexError("one")

    @on_ranks
    def test_leaves_the_other_waiting(rank):
        assert rank != 0
        world().barrier()

    @on_ranks
    @pytest.mark.timeout(1)
    def test_hangs(rank):
        if rank == 1:
            waiting_for_godot = world().barrier()

    @on_ranks
    def test_dies(rank):
        if rank == 1:
            os.write(2, b"the last words of a library")
            os._exit(3)

    @on_ranks
    def test_skips():
        pytest.skip("on all")

    @on_ranks
    def test_skips_on_one(rank):
        if rank == 0:
            pytest.skip("on one")

    @on_ranks
    @pytest.mark.xfail(strict=True, reason="on one rank is enough")
    def test_expected(rank):
        assert rank == 0

    @pytest.mark.ranks(2)
    def test_distributes_nothing():
        world().barrier()

    @pytest.mark.ranks(2)
    def test_distributes():
        statistics.add("distributed")

    @pytest.mark.simulated(2)
    def test_simulates_nothing():
        assert config.small == 0

    @pytest.mark.simulated(2)
    def test_simulates(rank):
        if rank == 1:
            statistics.add("distributed")

    @on_simulated
    def test_simulated_failure(rank):
        assert rank != 1

    @on_simulated
    @pytest.mark.parametrize("mine", [numpy.zeros(1)])
    def test_simulated_arguments(rank, mine):
        mine += rank
        assert mine == rank

    @on_simulated
    @pytest.mark.timeout(1)
    def test_simulated_hangs(rank):
        if rank == 1:
            time.sleep(20)

    @pytest.mark.timeout(1)
    def test_plain_hangs():
        time.sleep(20)

    @pytest.mark.timeout(1)
    def test_plain_swallows():
        try:
            time.sleep(20)
        except Exception:
            pytest.skip("the time limit is no Exception")

    @pytest.mark.timeout(1)
    @given(st.integers())
    def test_plain_example_hangs(number):
        time.sleep(20)

    def test_plain_wants_rank(rank):
        raise NotImplementedError
"""


def run_pytest(
    folder: Path, source: str, *options: str, seconds: float = 200, named: str = "."
) -> str:
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.bench.plugin"]\n')
    (folder / "test_inner.py").write_text(textwrap.dedent(source))
    environment = dict(os.environ, PYTHONPATH=str(ROOT), COLUMNS="200")
    environment.pop("PYTEST_ADDOPTS", None)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:timeout",
        "-v",
        *options,
        *named.split(),
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return done.stdout + done.stderr


class Outcome:
    """What the inner run printed: an outcome for each test, and a section for each failure."""

    def __init__(self, output: str) -> None:
        self.output = output
        self.outcomes = dict(re.findall(r"^test_inner\.py::(\S+) +([A-Z]+)", output, re.MULTILINE))
        pieces = re.split(
            r"^_{3,} (?:ERROR at \w+ of )?(test_\S+) _{3,}$", output, flags=re.MULTILINE
        )
        self.sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))


@pytest.fixture(scope="module")
def inner(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    started = time.monotonic()
    outcome = Outcome(run_pytest(tmp_path_factory.mktemp("inner"), INNER))
    outcome.output += f"\nthe inner run took {time.monotonic() - started:.1f} s"
    print(outcome.output)
    return outcome


pytestmark = pytest.mark.timeout(240)


@pytest.mark.slow
def test_every_inner_test_ends_as_it_should(inner: Outcome) -> None:
    expected = {
        "test_passes[2ranks-a]": "PASSED",
        "test_passes[2ranks-b]": "PASSED",
        "test_sizes[2ranks]": "PASSED",
        "test_sizes[3ranks]": "FAILED",
        "test_sizes[3simulated]": "FAILED",
        "test_fails_on_rank_1[2ranks]": "FAILED",
        "test_fails_alike[2ranks]": "FAILED",
        "test_fails_differently[2ranks]": "FAILED",
        "test_leaves_the_other_waiting[2ranks]": "FAILED",
        "test_hangs[2ranks]": "FAILED",
        "test_dies[2ranks]": "FAILED",
        "test_skips[2ranks]": "SKIPPED",
        "test_skips_on_one[2ranks]": "FAILED",
        "test_expected[2ranks]": "XFAIL",
        "test_distributes_nothing[2ranks]": "FAILED",
        "test_distributes[2ranks]": "PASSED",
        "test_simulates_nothing[2simulated]": "FAILED",
        "test_simulates[2simulated]": "PASSED",
        "test_simulated_failure[2simulated]": "FAILED",
        "test_simulated_arguments[2simulated-mine0]": "PASSED",
        "test_simulated_hangs[2simulated]": "FAILED",
        "test_plain_hangs": "FAILED",
        "test_plain_swallows": "FAILED",
        "test_plain_example_hangs": "FAILED",
        "test_plain_wants_rank": "ERROR",
    }
    assert inner.outcomes == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "test_fails_on_rank_1[2ranks]",
            ["rank 1 of 2 failed; rank 0 passed", "call on rank 1", "words of 1", "1 != 1"],
        ),
        ("test_fails_alike[2ranks]", ["rank 0, 1 of 2 failed", "'here' == 'there'"]),
        (
            "test_fails_differently[2ranks]",
            ["rank 0 of 2 failed", "KeyError", "rank 1 of 2 failed diff", "IndexError"],
        ),
        (
            "test_leaves_the_other_waiting[2ranks]",
            ["rank 0 of 2 failed", "rank 1 was still busy", "world().barrier"],
        ),
        (
            "test_hangs[2ranks]",
            ["past its limit of 1 s; rank 1 was still", "stacks of rank 1", "in test_hangs"],
        ),
        ("test_dies[2ranks]", ["rank 1 died in the test", "the last words of a library"]),
        ("test_skips_on_one[2ranks]", ["rank 0 of 2 skipped the test, but rank 1 ran it"]),
        ("test_distributes_nothing[2ranks]", ["passed on 2 ranks, but no array was distributed"]),
        ("test_simulates_nothing[2simulated]", ["passed on 2 ranks, but no array was distributed"]),
        ("test_simulated_failure[2simulated]", ["assert 1 != 1", "rank 1"]),
        (
            "test_simulated_hangs[2simulated]",
            ["ran past the limit of 1 s", "in test_simulated_hangs"],
        ),
        ("test_plain_hangs", ["ran past the limit of 1 s", "in test_plain_hangs"]),
        ("test_plain_example_hangs", ["ran past the limit of 1 s", "in test_plain_example_hangs"]),
        ("test_plain_wants_rank", ["needs @pytest.mark.ranks"]),
    ],
)
def test_a_failure_says(inner: Outcome, name: str, texts: list[str]) -> None:
    section = inner.sections[name]
    for text in texts:
        text = text.replace("world().barrier", "in test_leaves_the_other_waiting")
        assert text in section, section


@pytest.mark.slow
def test_a_failure_of_all_ranks_is_shown_once(inner: Outcome) -> None:
    assert inner.sections["test_fails_alike[2ranks]"].count("assert 'here'") == 1


@pytest.mark.slow
def test_simulated_rank_is_named(inner: Outcome) -> None:
    assert "rank 1" in inner.sections["test_simulated_failure[2simulated]"]


@pytest.mark.slow
def test_wrong_markers_are_refused(tmp_path: Path) -> None:
    markers = ["ranks()", "ranks(0)", "simulated('2')", "ranks(2, distribute=False)"]
    for number, marker in enumerate(markers):
        source = f"import pytest\n@pytest.mark.{marker}\ndef test_{number}():\n    assert 0\n"
        (tmp_path / f"test_wrong{number}.py").write_text(source)
    source = "import hypothesis, pytest\n@pytest.mark.ranks(2)\n@hypothesis.given(...)\ndef test_given(n: int): pass\n"
    (tmp_path / "test_wrong_given.py").write_text(source)
    output = run_pytest(tmp_path, "")
    assert "test_given: a test of Hypothesis takes no @pytest.mark.ranks" in output
    for number in range(len(markers)):
        assert f"test_wrong{number}.py::test_{number}: @pytest.mark." in output
    assert output.count("takes one or more numbers of ranks") >= len(markers)


@pytest.mark.slow
def test_a_helper_takes_the_last_tests_and_its_death_is_one_failure(tmp_path: Path) -> None:
    source = """
        import os, pathlib, time
        import pytest
        from tests.bench import beside

        beside.LEAST, beside.MOST = 3, 1
        HERE = pathlib.Path(__file__).parent

        @pytest.mark.ranks(1, distributes=False)
        def test_on_one_rank():
            assert not (HERE / "last").exists()  # helpers start later

        def test_first():
            while not (HERE / "died").exists():
                time.sleep(0.02)
            assert (HERE / "last").read_text() != str(os.getpid())
            (HERE / "first").write_text(str(os.getpid()))

        @pytest.fixture(scope="module")
        def shared():
            return os.getpid()

        @pytest.mark.parametrize("number", range(5))
        def test_after_the_death(number):
            assert (HERE / "first").read_text() == str(os.getpid())

        def test_dies():
            (HERE / "died").touch()
            os._exit(3)

        def test_with_what_is_shared(shared):
            while not (HERE / "last").exists():  # the helper's, which runs at the same time
                time.sleep(0.02)
            assert not (HERE / "first").exists()

        def test_fails():
            print("words of the helper")
            assert "here" == "there"

        def test_last():
            (HERE / "last").write_text(str(os.getpid()))
    """
    found = Outcome(run_pytest(tmp_path, source))
    expected = {f"test_after_the_death[{number}]": "PASSED" for number in range(5)}
    expected |= {"test_first": "PASSED", "test_last": "PASSED"}
    expected |= {"test_dies": "FAILED", "test_fails": "FAILED"}
    expected |= {"test_on_one_rank[1rank]": "PASSED"}
    assert found.outcomes == {**expected, "test_with_what_is_shared": "PASSED"}, found.output
    assert "the process of this test ended with code 3" in found.sections["test_dies"]
    assert "words of the helper" in found.sections["test_fails"]
    assert "assert 'here' == 'there'" in found.sections["test_fails"]


@pytest.mark.slow
def test_helpers_work_beside_each_other_and_after_any_number_of_ranks(tmp_path: Path) -> None:
    source = """
        import os, pathlib, time
        import pytest
        from tests.bench import beside

        beside.LEAST = 3
        HERE = pathlib.Path(__file__).parent

        def meet(name):
            (HERE / name).write_text(str(os.getpid()))
            while len(pids := {file.read_text() for file in HERE.glob("at_once_*")}) < 2:
                time.sleep(0.02)
            return pids

        @pytest.mark.ranks(2, distributes=False)
        def test_on_ranks():
            time.sleep(1)
            assert not list(HERE.glob("at_once_*"))

        @pytest.fixture(scope="module")
        def both():
            while len(list(HERE.glob("at_once_*"))) < 2:
                time.sleep(0.02)

        def test_beside(both):
            pass

        @pytest.mark.parametrize("number", range(4))
        def test_later(number):
            assert len(list(HERE.glob("at_once_*"))) == 2

        @pytest.mark.parametrize("number", range(2))
        def test_at_once(number):
            assert len(meet(f"at_once_{number}")) == 2
    """
    found = Outcome(run_pytest(tmp_path, source))
    expected = [
        "test_on_ranks[2ranks]",
        "test_beside",
        *(f"test_later[{number}]" for number in range(4)),
    ]
    expected += [f"test_at_once[{number}]" for number in range(2)]
    assert found.outcomes == dict.fromkeys(expected, "PASSED"), found.output


@pytest.mark.slow
def test_ranks_that_cannot_start_are_a_failure_and_no_hang(tmp_path: Path) -> None:
    source = """
        import pytest, tests.bench.pool as pool
        pool.mpiexec_command = lambda size: ["/bin/sh", "-c", "echo no such luck; exit 7"]

        @pytest.mark.ranks(2, distributes=False)
        def test_none():
            raise NotImplementedError
    """
    output = run_pytest(tmp_path, source)
    assert "mpiexec ended with code 7" in output
    assert "no such luck" in output


@pytest.mark.slow
def test_a_test_that_never_returns_to_the_interpreter_ends_the_run(tmp_path: Path) -> None:
    source = """
        import itertools, pytest, tests.bench.limits as limits
        limits.GRACE = 1

        @pytest.mark.timeout(0.5)
        def test_in_c():
            # A loop in C that looks for no signals and keeps the interpreter lock.
            sum(itertools.repeat(1))
    """
    output = run_pytest(tmp_path, source, seconds=50)
    assert "Timeout (0:00:01.5" in output
    assert "in test_in_c" in output


@pytest.mark.slow
def test_a_run_that_names_no_test_is_the_quick_tier(tmp_path: Path) -> None:
    source = """
        import pytest

        @pytest.mark.slow
        def test_slow():
            pass

        @pytest.mark.ranks(2, 3, distributes=False)
        def test_on_ranks():
            pass

        @pytest.mark.contract
        @pytest.mark.ranks(1, 2, 3, distributes=False)
        @pytest.mark.simulated(1, 2, 3, distributes=False)
        def test_of_a_contract():
            pass

        @pytest.mark.simulated(16, 5, distributes=False)
        def test_of_many():
            pass

        def test_plain():
            pass
    """
    quick = {"test_of_a_contract[2ranks]", "test_of_a_contract[1simulated]", "test_plain"}
    quick |= {"test_of_a_contract[3simulated]", "test_of_many[5simulated]"}
    found = Outcome(run_pytest(tmp_path, source, named=""))
    assert found.outcomes == dict.fromkeys(quick, "PASSED"), found.output
    line = (
        "left out: 4 other numbers of ranks, 2 on MPI ranks, 1 slow (pytest --all runs these, too)"
    )
    assert line in found.output
    left = {
        "test_slow",
        "test_on_ranks[2ranks]",
        "test_on_ranks[3ranks]",
        "test_of_many[16simulated]",
    }
    left |= {f"test_of_a_contract[{place}]" for place in ("1rank", "3ranks", "2simulated")}
    for words in ("--all", "test_inner.py"):
        found = Outcome(run_pytest(tmp_path, source, named=words))
        assert found.outcomes == dict.fromkeys(quick | left, "PASSED"), found.output
        assert "left out" not in found.output
