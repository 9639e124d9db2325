"""Arrays that every rank has, between ranks: short views and elements are NumPy's there, too, and known traces are run natively."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import wraps

import numpy
import pytest

import atoll
from atoll import front

from .test_front_in_memory import STATEMENTS, names_for, native, plain, run

LARGE = ("np.dot(a, x)", "np.inner(x, a)", "np.matmul(x, a)", "np.add.at(a, (k, k), 1.0)", "np.put(a, k, 2.0)")  # fmt: skip
"""On ranks these are Python's: a value may be there on some ranks only, and bits must not differ."""


@contextmanager
def usual():
    """The settings of programs; those of other tests on ranks leave nothing to NumPy."""
    with atoll.config(small=30_000, everywhere=240_000):
        if front.native is not None:
            front.native.limit(30_000)
        yield
    if front.native is not None:
        front.native.limit(min(front._smalls))


def with_usual(test):
    """A test under these settings."""

    @wraps(test)
    def called():
        with usual():
            test()

    return called


def text_of(value):
    return "".join(map(str, plain(value)))


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@with_usual
def test_statements_give_what_numpy_gives_whichever_rank_has_looked():
    """Ranks look at the array by themselves in turns, so that its value is there on one of them; all go on alike."""
    rank, size = atoll.world.rank, atoll.world.size
    ours, theirs = names_for(atoll), names_for(numpy)
    shared, whole = atoll.zeros((600, 500)), numpy.zeros((600, 500))
    assert ours["a"]._cell.node.place is None
    assert shared._cell.node.place is not None
    for number, statement in enumerate(STATEMENTS):
        if number % 5 == 0:
            ours["a"] *= 0.5
            theirs["a"] *= 0.5
        if number % size == rank:
            repr(ours["a"][2])
        assert (statement, text_of(run(statement, ours))) == (
            statement,
            text_of(run(statement, theirs)),
        )
        if number % 9 == 0:
            shared[number, :300] = ours["a"][number % 7] * 2.0
            whole[number, :300] = theirs["a"][number % 7] * 2.0
            shared[:300, :300] += ours["a"]
            whole[:300, :300] += theirs["a"]
    assert (numpy.asarray(ours["a"]) == theirs["a"]).all()
    assert (numpy.asarray(shared) == whole).all()


@native
@pytest.mark.ranks(2, distributes=False)
@with_usual
def test_no_statement_enters_python_on_ranks():
    names = names_for(atoll)
    own = atoll.__file__.rpartition("/")[0]
    entered = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(own):
            entered.append(frame.f_code.co_qualname)

    for statement in STATEMENTS:
        run(statement, names)
    for statement in STATEMENTS:
        try:
            sys.setprofile(note)
            run(statement, names)
        finally:
            sys.setprofile(None)
        assert statement in LARGE or (statement, entered) == (statement, [])
        entered.clear()


def steps(np, a, turns):
    """Sliced assignments, in place and of new arrays, and a fold."""
    seen = []
    for _ in range(turns):
        a[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25
        a[:, 3:250] -= a[:, 2:249] * 0.125
        seen.append(float((a * a).max()))
    return seen


@native
@pytest.mark.ranks(2, distributes=False)
@with_usual
def test_known_traces_are_run_natively_on_ranks():
    given = numpy.random.default_rng(1).integers(0, 5, (300, 300)) / 4
    a = atoll.array(given)
    found, entered = steps(atoll, a, 30), []
    sys.setprofile(
        lambda frame, event, _: entered.append(frame.f_code.co_name) if event == "call" else None
    )
    found += steps(atoll, a, 10)
    sys.setprofile(None)
    assert found == steps(numpy, given, 40)
    assert not {"compute", "_prepared"} & {*entered}
