"""Functions of the suite on two groups of ranks that run different ones at the same time.

A run of the suite takes a few. ``mpiexec -n 4 python -m tests.global_access.test_groups [words...]`` takes a quarter of all that
qualify, or those whose names contain a word, and prints the failures of each group.
"""

import importlib
import inspect
import sys
import traceback
from pathlib import Path

import pytest

import atoll

TESTS = Path(__file__).parents[1]
FOLDERS = ("functions", "engine", "collective", "agreement", "interchange", "global_access")


def of_ranks(function):
    """True if a test runs on any number of ranks, and needs no more than their number."""
    common = getattr(inspect.getmodule(function), "pytestmark", [])
    common = common if isinstance(common, list) else [common]
    marks = {mark.name: mark for mark in [*common, *getattr(function, "pytestmark", [])]}
    sizes = [size for name in ("ranks", "simulated") if name in marks for size in marks[name].args]
    return (
        set(inspect.signature(function).parameters) <= {"rank", "size"}
        and "parametrize" not in marks
        and "ranks" in marks
        and len(set(sizes)) > 1
        and 2 in sizes
    )


def suite(folders=FOLDERS):
    """Those tests of some folders, in an order that is the same on all ranks."""
    found = []
    for folder in folders:
        for path in sorted((TESTS / folder).glob("test_*.py")):
            if path.name == "test_groups.py":
                continue
            module = importlib.import_module(f"tests.{folder}.{path.stem}")
            named = [value for name, value in vars(module).items() if name.startswith("test_")]
            found += [value for value in named if inspect.isfunction(value) and of_ranks(value)]
    return found


def failures_of(tests, group):
    """What fails of these tests in a group, by name."""
    failures = {}
    for test in tests:
        told = {"rank": group.rank, "size": group.size}
        names = inspect.signature(test).parameters
        try:
            with group, atoll.config(small=0, everywhere=0):
                test(**{name: told[name] for name in names})
        except BaseException:
            failures[f"{test.__module__}.{test.__name__}"] = traceback.format_exc()
            break  # the ranks of the group may have diverged
    return failures


def at_the_same_time(tests):
    """Run the tests in one group, and in reverse order in the other; what failed on this rank."""
    color = atoll.world.rank % 2
    return failures_of(tests[::-1] if color else tests, atoll.world.split(color))


@pytest.mark.ranks(4)
def test_two_groups_run_different_tests_at_the_same_time(rank, size):
    tests = suite(("agreement", "global_access"))[::4]
    assert len(tests) >= 3
    assert at_the_same_time(tests) == {}
    atoll.world.barrier()


if __name__ == "__main__":
    every, words = suite(), sys.argv[1:]
    chosen = [t for t in every if any(word in f"{t.__module__}.{t.__name__}" for word in words)]
    failed = at_the_same_time(chosen if words else every[::4])
    for name, text in failed.items():
        print(f"rank {atoll.world.rank}: {name}\n{text}", file=sys.stderr, flush=True)
    if atoll.world.rank == 0:
        print(f"{len(chosen if words else every[::4])} of {len(every)} tests on two groups")
    if failed:
        atoll.world.communicator.abort(1)
