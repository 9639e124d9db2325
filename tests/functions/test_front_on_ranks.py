"""Arrays that every rank has, between ranks: short views and elements are NumPy's there, too, and known traces are run natively."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import wraps

import numpy
import pytest

import atoll
from atoll import front
from atoll.comm.single import SingleCommunicator

from .test_front_in_memory import STATEMENTS, names_for, native, plain, run


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


def calls_of(statement, names):
    """How many functions of Python a statement enters."""
    entered = []
    try:
        sys.setprofile(lambda frame, event, _: entered.append(frame) if event == "call" else None)
        run(statement, names)
    finally:
        sys.setprofile(None)
    return len(entered)


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
        assert (statement, entered) == (statement, [])
        entered.clear()


WHOLE = """
    v[chosen]; v[chosen] = 0.5; v[chosen] = w[chosen]; m[chosen[:9] % 300]; m[:, k]; m[k] = 2.0; v[v > 0.5]; round(np.vdot(v, w), 6)
    np.sort(w); np.argsort(w); np.cumsum(w); np.unique(whole); np.bincount(whole); np.searchsorted(w, w)
    np.histogram(w); np.roll(w, 3); np.take(w, chosen); np.nonzero(v); np.interp(w, v, w); np.median(w); np.diff(w)
    drawn.permutation(9_000); drawn.choice(9_000, 40); drawn.random(60_000); drawn.uniform(0, 1, 60_000); drawn.integers(0, 60_000, 60_000); drawn.normal(size=60_000)
"""
WHOLE = [part.strip() for part in WHOLE.replace("\n", ";").split(";") if part.strip()]
"""The work of NumPy on arrays that are not small, but on every rank."""


def whole_names_for(np):
    rng = numpy.random.default_rng(5)
    return {
        "np": np,
        "v": np.array(rng.random(60_000)),
        "w": np.array(rng.random(60_000)),
        "m": np.array(rng.random((300, 200))),
        "k": np.array([3, 1, 7]),
        "whole": np.array(rng.integers(0, 900, 60_000)),
        "chosen": np.array(rng.integers(0, 60_000, 60_000)),
        "drawn": np.random.default_rng(7),
    }


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@with_usual
def test_arrays_on_every_rank_give_what_numpy_gives_whichever_rank_has_looked():
    """Pending arrays, and a rank that computes one by itself, change nothing."""
    rank, size = atoll.world.rank, atoll.world.size
    ours, theirs = whole_names_for(atoll), whole_names_for(numpy)
    spread, whole = atoll.zeros((600, 500)), numpy.zeros((600, 500))
    assert spread._cell.node.place is not None
    for number, statement in enumerate(WHOLE):
        for names in (ours, theirs):
            for name in "vwm":
                names[name] = names[name] * 0.5 + 0.25
        if number % size == rank:
            repr(ours["vwm"[number % 3]])
        found, wanted = run(statement, ours), run(statement, theirs)
        assert (statement, text_of(found)) == (statement, text_of(wanted))
        spread[number, :200] = ours["m"][number] * 2.0
        whole[number, :200] = theirs["m"][number] * 2.0
    assert (numpy.asarray(spread) == whole).all()


@native
@pytest.mark.ranks(2, distributes=False)
@with_usual
def test_numpys_work_on_arrays_that_every_rank_has_enters_python_as_in_one_process():
    names = whole_names_for(atoll)
    for _ in range(2):
        for statement in WHOLE:
            run(statement, names)
    together = [calls_of(statement, names) for statement in WHOLE]
    with atoll.World(SingleCommunicator()):
        alone = [calls_of(statement, names) for statement in WHOLE]
    for statement, ours, usual in zip(WHOLE, together, alone, strict=True):
        assert ours <= usual + 20, statement


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


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@with_usual
def test_what_numpy_makes_of_an_array_on_every_rank_stays_there():
    """Rows of a matrix that every rank has are as many elements as ranks divide, but each rank has computed them all."""
    given = numpy.random.default_rng(2).random((600, 500))
    a = atoll.array(given, layout="nn")
    rows = numpy.arange(600)[::-1][:560]
    for number in range(3):
        for made, wanted in (
            (a[rows], given[rows]),
            (a[given[:, 0] < 0.95], given[given[:, 0] < 0.95]),
            (atoll.sort(a, axis=None), numpy.sort(given, axis=None)),
            (atoll.take(a, rows, axis=0), given[rows]),
        ):
            assert made.layout.is_replicated, number
            assert (numpy.asarray(made) == wanted).all()
    divided = atoll.array(given)[rows]
    assert not divided.layout.is_replicated
    assert (numpy.asarray(divided) == given[rows]).all()
