"""Ranks that part are told so, all of them, by name and line, in bounded time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import atoll as np
from atoll.comm.simulated import Simulation, run
from atoll.errors import CommunicationError, DivergenceError, RankFailedError

from ..cli.commands import atoll


def program(special: Callable[[int, object], object] | None = None, n: int = 64) -> float:
    """A loop with neighbours and sums; ``special`` is what only some ranks do in it."""
    with np.config(small=0):
        rank = np.world.rank
        a = np.zeros((n, 3))
        a[0] = 1.0
        for step in range(4):
            a[1:-1] = (a[2:] + a[:-2]) / 2
            if special is not None and step == 2:
                special(rank, a)
            error = float(a.sum())
        return error


def on_one(do: Callable[[object], object]) -> Callable[[int, object], object]:
    """Something that rank 1 alone does."""

    def special(rank: int, array: object) -> object:
        return do(array) if rank == 1 else None

    return special


PARTINGS = {
    "prints": on_one(str),
    "sums": on_one(lambda a: float(a.sum())),
    "asks for an element": on_one(lambda a: a[5, 0]),
    "asks for the truth": on_one(lambda a: bool((a > 2).any())),
    "gathers": on_one(np.asnumpy) if hasattr(np, "asnumpy") else on_one(lambda a: a.__array__()),
    "assigns": on_one(lambda a: a.__setitem__(slice(1, 9), a[2:10])),
    "takes its block": on_one(lambda a: a.local),
    "exports": on_one(lambda a: a.__distarray__()),
    "exports partitions": on_one(lambda a: a.__partitioned__),
    "redistributes": on_one(lambda a: str(a.redistribute(np.Layout(a.shape, "nb")))),
    "picks": on_one(lambda a: str(a[[3, 60, 1]])),
    "sorts": on_one(lambda a: str(np.sort(a, axis=0))),
}


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("name", sorted(PARTINGS))
def test_who_does_something_alone_parts(name: str, size: int) -> None:
    with pytest.raises(CommunicationError) as caught:
        run(size, program, PARTINGS[name])
    first = caught.value if isinstance(caught.value, DivergenceError) else caught.value.__cause__
    assert isinstance(first, DivergenceError)
    assert "rank 1" in str(first)
    assert "test_divergence.py:" in str(first)


@pytest.mark.parametrize(
    ("do", "words"),
    [
        (lambda a: a.local, "a.local, a rank's block"),
        (lambda a: a.access().__enter__(), "a.access(), a rank's block"),
        (lambda a: a.__distarray__(), "the export of an array by a protocol"),
        (lambda a: a.__partitioned__, "the export of an array by a protocol"),
    ],
)
@pytest.mark.parametrize("pending", [True, False])
@pytest.mark.ranks(2)
@pytest.mark.simulated(2, 3)
def test_a_lone_block_or_export_is_named_with_both_lines(
    do: Callable[[object], object], words: str, rank: int, pending: bool
) -> None:
    with np.world.split(0):
        a = np.zeros((12, 3))
        a[1:-1] = (a[2:] + a[:-2]) / 2 + 1
        if not pending:
            np.sync()

        def lone() -> float:
            if rank == 1:
                do(a)
            return float(a.sum())

        with pytest.raises(
            DivergenceError, match=r"test_divergence.py:\d+.*test_divergence.py:\d+"
        ) as caught:
            lone()
        assert words in str(caught.value)


@pytest.mark.parametrize("size", [2, 4])
def test_other_shapes_at_one_line_part(size: int) -> None:
    def shapes() -> float:
        return program(n=64 + np.world.rank)

    with pytest.raises(DivergenceError, match="ranks have diverged"):
        run(size, shapes)


def test_other_layouts_part() -> None:
    def layouts() -> float:
        with np.config(small=0):
            letters = "bn" if np.world.rank else "nb"
            a = np.ones((8, 8), layout=np.Layout((8, 8), letters))
            return float((a * 2).sum())

    with pytest.raises(DivergenceError, match="ranks have diverged"):
        run(2, layouts)


def test_who_comes_to_his_end_while_others_go_on_is_named() -> None:
    def ends() -> float:
        with np.config(small=0):
            a = np.ones(32)
            first = float(a.sum())
            return first if np.world.rank == 1 else first + float((a[1:] * a[:-1]).sum())

    with pytest.raises(DivergenceError, match="rank 1 has come to its end"):
        run(3, ends)


def test_what_every_rank_may_do_alone() -> None:
    def alone() -> float:
        def special(rank: int, array: object) -> None:
            if rank == 0:
                small = np.arange(5.0) * 2
                assert str(array.shape) + repr(array.layout)  # type: ignore[attr-defined]
                assert array.dtype == float  # type: ignore[attr-defined]
                assert len(small) == 5

        return program(special)

    assert run(3, alone) == run(3, program)


def scaled(alike: bool, debug: bool) -> float:
    """Each rank multiplies by a number of its own."""
    np.world.communicator.log.exact = alike
    with np.config(small=0, debug=debug):
        a = np.ones(32)
        own = 2.0 if np.world.rank < 2 else 3.0
        return float((a * own).sum())


def test_numbers_that_enter_an_array_are_compared() -> None:
    assert run(2, scaled, True, False) == [64.0, 64.0]
    number = r"{}\.0 \(test_divergence\.py:\d+\)"
    words = f"ank 0 computes .* {number.format(2)}.*; rank 2 computes .* {number.format(3)}"
    with pytest.raises(DivergenceError, match=words):
        run(3, scaled, True, False)


def test_the_debug_setting_compares_numbers_of_unequal_machines() -> None:
    assert run(2, scaled, False, True) == [64.0, 64.0]
    with pytest.raises(DivergenceError, match=r"rank 0 has the number .*2\.0.*, rank 2 has .*3\.0"):
        run(3, scaled, False, True)
    assert run(3, scaled, False, False)[2] != 64.0


@pytest.mark.parametrize("seed", range(6))
def test_delays_and_other_orders_change_no_number(seed: int) -> None:
    def late(source: int, dest: int, nbytes: int) -> float:
        return 0.5 if source == seed % 3 else 1e-6

    found = Simulation(3, latency=late, seed=seed).run(program)
    assert found == Simulation(1).run(program) * 3


@pytest.mark.parametrize("rendezvous", [False, True])
@pytest.mark.parametrize("operation", [1, 2, 3, 5, 8, 10])
def test_a_rank_that_dies_is_an_error_on_the_others(operation: int, rendezvous: bool) -> None:
    seen: dict[int, BaseException] = {}
    right = run(1, program)[0]

    def watched() -> float | None:
        try:
            value = program()
        except CommunicationError as error:
            seen[np.world.rank] = error
            return None
        assert value == right
        return value

    results = Simulation(3, drop={1: operation}, rendezvous=rendezvous).run(watched)
    assert results[1] is None
    assert seen.keys() == {0, 2}
    assert all(isinstance(error, RankFailedError) for error in seen.values())


SCRIPT = """
import sys
import atoll as np
np.config.small = 0
rank = np.world.rank
a = np.zeros(1000)
a[0] = 1.0
for step in range(5):
    a[1:-1] = (a[2:] + a[:-2]) / 2
    if step == 3 and rank == 0:
        {what}
    error = float(a.sum())
print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("print(a)", "rank 0 reached"),
        ("x = a[999]", "rank 0 reached"),
        ("x = float(a.max())", "rank 0 reached"),
        ("break", "rank 0 has come to its end"),
        ("sys.exit(0)", "rank 0 has come to its end"),
        ("np.config.small = 10**6; a = np.zeros(1000)", "rank 0 has come to its end"),
    ],
)
def test_on_processes(what: str, words: str, tmp_path: Path) -> None:
    script = tmp_path / "parting.py"
    script.write_text(SCRIPT.format(what=what))
    outcome = atoll("run", "-n", "2", str(script), ATOLL_WAIT_CHECK="0.2")
    assert outcome.code == 1, outcome
    assert "DivergenceError: ranks have diverged" in outcome.errors, outcome
    assert words in outcome.errors, outcome
    assert "parting.py:12" in outcome.errors, outcome


@pytest.mark.slow
def test_processes_in_step_come_to_their_end(tmp_path: Path) -> None:
    script = tmp_path / "together.py"
    script.write_text(
        SCRIPT.format(what="y = np.arange(4) + 1") + "if rank: import time; time.sleep(1)\n"
    )
    outcome = atoll("run", "-n", "2", str(script), ATOLL_WAIT_CHECK="0.2")
    assert outcome.code == 0, outcome
    assert outcome.output == "done\n", outcome


WARM = """\
import numpy
import atoll as np

def turn(grid):
    around = sum(0.1 * grid + k for k in range(9))
    return around + sum(0.2 * around - grid for k in range(9))

np.config.small = np.config.everywhere = 0
grid = np.array(numpy.ones((16, 16)))
if np.world.rank == 0:
    for _ in range(40):
        turn(numpy.ones((4, 4)))
for _ in range(12):
    grid = turn(grid)
print(float(grid.sum()) > 0)
"""


@pytest.mark.slow
def test_a_rank_that_has_run_the_same_lines_more_often(tmp_path: Path) -> None:
    """Python 3.11 moves the place of a call within its code once the line has become warm."""
    script = tmp_path / "warm.py"
    script.write_text(WARM)
    outcome = atoll("run", "-n", "2", str(script))
    assert outcome.code == 0, outcome
