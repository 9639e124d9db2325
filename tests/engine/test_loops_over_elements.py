"""Loops in Python over rows and elements of arrays on ranks: what is small is NumPy's there, too."""

from __future__ import annotations

from random import Random

import numpy
import pytest

import atoll
from atoll.comm.simulated import run
from atoll.errors import CommunicationError

N = 18
LAYOUTS = ["bn", "bb", "cn"]


def rows(np, a):
    return [float((row * 2).sum()) for row in a]


def columns(np, a):
    return [float(a[:, k].max()) for k in range(a.shape[1])]


def backwards(np, a):
    return [float(a[k].min()) for k in range(len(a) - 1, -1, -1)]


def elements(np, a):
    return [float(a[k, k // 2] + a[-1, k]) for k in range(len(a))]


def wandering(np, a):
    chance = Random(3)
    return [
        float(a[chance.randrange(-N, N), 3:9].sum() + a[::2, chance.randrange(N)].max())
        for _ in range(40)
    ]


def sums_so_far(np, a):
    for k in range(1, len(a)):
        a[k] = a[k - 1] + a[k] * 0.5
    return numpy.asarray(a)


def one_after_the_other(np, a):
    for k in range(1, len(a)):
        a[k, 3] = a[k - 1, 3] + 1
        a[k, -1] += a[k, 0]
    return numpy.asarray(a)


def in_place(np, a):
    for k in range(1, len(a)):
        a[k] += a[k - 1]
        a[:, k] *= 0.5
    return numpy.asarray(a)


def turned(np, a):
    for k in range(len(a)):
        a[k, ::-1] = a[::-1, k] - 1
        a.T[k, 2:-3:3] = -1
    return numpy.asarray(a)


def filled(np, a):
    for k in range(len(a)):
        a[k] = k
        a[k, 2:4] = [k, 7]
        a[k, :3] = np.arange(3)
    return numpy.asarray(a)


def picked(np, a):
    found = []
    for k in range(1, len(a) - 4):
        i = np.arange(4)
        a[i + k, i] = a[i + k - 1, i] + k
        a[-1 - i] = a[i] * 0.5
        found.append(float(a[i, i + k].sum()))
    return found, numpy.asarray(a)


def written_between(np, a):
    found = []
    for k in range(len(a)):
        found.append(float(a[k].sum()))
        if k % 5 == 4:
            a *= 0.5
        if k % 7 == 6:
            a[2:-2] = a[1:-3]
        if k % 8 == 7:
            b = a.copy()
            a[k] = 3.0
            found.append(float(b[k].sum()))
    return found, numpy.asarray(a)


def pending(np, a):
    """What was recorded before a row is written must not see the row."""
    found = []
    for k in range(12):
        total = a.sum()
        twice = a * 2
        a[k] = float(k)
        found += [float(total), float(twice[k, 1]), float(a[k].sum())]
    return found


def eliminated(np, a):
    """Rows minus multiples of a row, by loops: reads and writes of few elements, again and again."""
    for i in range(9):
        for j in range(i + 1, i + 3):
            a[j, i] *= 0.01
            a[j, i + 1 :] -= a[j, i] * a[i, i + 1 :]
    return numpy.asarray(a)


PROGRAMS = [
    rows, columns, backwards, elements, wandering, sums_so_far, one_after_the_other, in_place, turned,
    filled, picked, written_between, pending, eliminated,
]  # fmt: skip


def both(program, layout):
    start = numpy.arange(float(N * N)).reshape(N, N) % 31
    theirs = program(numpy, start.copy())
    with atoll.config(small=100):
        a = atoll.array(start)
        if layout != "bn":
            a = a.redistribute(atoll.Layout(a.shape, layout)).copy()
        ours = program(atoll, a)
    return ours, theirs


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(5)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_loops_over_pieces(program):
    for layout in LAYOUTS:
        ours, theirs = both(program, layout)
        numpy.testing.assert_equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
def test_pieces_at_random():
    """Rows, columns, boxes and elements, read and written in any order, with whole arrays in between."""
    for seed in range(6):
        chance = Random(seed)
        with atoll.config(small=60):
            theirs = numpy.arange(13 * 17.0).reshape(13, 17)
            ours = atoll.array(theirs)
            for _ in range(60):
                i, j = chance.randrange(-13, 13), chance.randrange(-17, 17)
                low, step = chance.randrange(6), chance.choice([1, 2, -1])
                key = chance.choice(
                    [
                        i,
                        (i, j),
                        (slice(None), j),
                        (i, slice(low, None, abs(step))),
                        (slice(low, low + 4, abs(step)), slice(2, low + 3)),
                        (slice(None, None, step), j),
                        (i, slice(None, None, step)),
                    ]
                )
                do = chance.randrange(9)
                if do < 4:
                    numpy.testing.assert_array_equal(numpy.asarray(ours[key] + 1), theirs[key] + 1)
                elif do < 6:
                    theirs[key] = ours[key] = chance.randrange(100)
                elif do == 6:
                    ours[key] += 1
                    theirs[key] += 1
                elif do == 7:
                    other = chance.randrange(13)
                    where = (slice(None), j) if chance.random() < 0.5 else i
                    if where == i:
                        ours[i], theirs[i] = ours[other] * 2, theirs[other] * 2
                    else:
                        ours[where] = ours[:, 3] - 1
                        theirs[where] = theirs[:, 3] - 1
                else:
                    ours = ours % 50 if chance.random() < 0.5 else ours[::-1].copy()
                    theirs = numpy.asarray(ours).copy()
            numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


KEYS = (
    "i", "i, j", "i, :", ":, j", "i, low:", "i, low::2", "::-1, j", "i, ::-2", "low:low + 4, 2:5", "low:low + 1, 3", "i, None", "..., j",
    "i:i + 1, j:j + 1", "None, i, j", "low::3, ::5", "i, j, ...", "[1, 2]", "low:low, 3", "-1, -1", "numpy.int64(i)", "i, 20:", "...",
)  # fmt: skip
VALUES = (
    "k", "k * 0.5", "a[2, 3]", "a[i, j] + 1", "numpy.float32(k)", "numpy.int8(3)", "True", "[k]", "a[3, 3:4]", "a[1:2, 2:3]",
    "np.ones(1) * k", "a[i, :1] * 2", "a[key]", "a[key] + 1", "a[key] * a[key]", "a[key] * 1j", "'5'", "a[:, :]",
)  # fmt: skip


@pytest.mark.ranks(2)
@pytest.mark.simulated(3)
@pytest.mark.parametrize("kind", ["f8", "i4"])
@pytest.mark.filterwarnings("ignore")
def test_ranks_write_alike_whichever_holds_an_old_value(kind):
    """Where another object has an array's value, a rank writes into a copy, by Python; the others may write natively."""
    chance, rank = Random(kind), atoll.world.rank
    theirs = (numpy.arange(13 * 17) % 100).astype(kind).reshape(13, 17)
    with atoll.config(small=150):
        ours = atoll.array(theirs)
        for k in range(120):
            i, j, low = chance.randrange(13), chance.randrange(17), chance.randrange(6)
            key, value = chance.choice(KEYS), chance.choice(VALUES)
            form = chance.choice(
                ["a[key] = {}", "a[key] = {}", "a[key] += {}", "a[key] *= {}", "a[i][low:] = {}"]
            )
            text = form.format(value).replace("[key]", f"[{key}]")
            held = chance.randrange(4) == rank and ours._cell.node
            ends = []
            for np, a in ((atoll, ours), (numpy, theirs)):
                if k % 3 == 0:
                    a[2, 3], a[3]
                names = {"np": np, "numpy": numpy, "a": a, "i": i, "j": j, "low": low, "k": k}
                try:
                    with numpy.errstate(all="ignore"):
                        exec(text, names)
                    ends.append("")
                except (ValueError, TypeError, IndexError, OverflowError) as error:
                    ends.append("raised" if error else "")
            assert ends[0] == ends[1], text
            del held
            if k % 40 == 0:
                ours += 1
                theirs += theirs.dtype.type(1)
            if k % 10 == 0:
                numpy.testing.assert_equal(ours[i].tolist(), theirs[i].tolist(), text)
                numpy.testing.assert_equal(float(ours[i, j]), float(theirs[i, j]), text)
        numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


def alone(rank):
    with atoll.config(small=100, everywhere=0):
        a = atoll.zeros((30, 30))
        a += 1
        atoll.sync()
        if rank == 1:
            a[3] = 5.0
        return float(a.sum())


def test_who_writes_a_row_alone_parts():
    with pytest.raises(CommunicationError) as caught:
        run(3, lambda: alone(atoll.world.rank))
    assert "diverged" in str(caught.value)


def turn(a, k, look=lambda: None):
    """Pieces of an array read and written; somebody may look at it in between."""
    twice = float((a[k] * 2).sum())
    look()
    i = numpy.arange(4)
    a[i + k, i] = k
    a[k - 1] = 7.0
    a[k] = a[k - 1] + 1
    a[k, 2] += twice
    if k % 6 == 5:
        a[3, :2] = 5
        a[i[::-1] + k, i] = a[i, i] * 2


def kept(rank):
    """What ranks do must not depend on who still has an old value in hand."""
    with atoll.config(small=100):
        a = atoll.array(numpy.arange(900.0).reshape(30, 30))
        atoll.sync()
        garbage = []

        def keep():
            if rank == 1:
                garbage.append(a._cell.node)

        for k in range(1, 25):
            turn(a, k, keep)
        return numpy.asarray(a)


def test_who_holds_an_old_value_changes_nothing_of_what_is_done():
    theirs = numpy.arange(900.0).reshape(30, 30)
    for k in range(1, 25):
        turn(theirs, k)
    for ours in run(3, lambda: kept(atoll.world.rank)):
        assert numpy.array_equal(ours, theirs)


@pytest.mark.simulated(3)
def test_what_a_rank_has_met_alone_decides_nothing(rank, size):
    with atoll.config(small=100):
        a = atoll.arange(216.0).reshape(12, 18) + 1
        alone = atoll.ones((12, 18), layout=atoll.Layout((12, 18), "nn", size=size))
        atoll.sync()
        if atoll.world.rank == size - 1:
            float(atoll.dot(alone[0], alone[1]))
        for k in range(8):
            assert float(atoll.dot(a[k], a[k + 1])) == float(
                numpy.dot(numpy.arange(1.0, 19) + 18 * k, numpy.arange(19.0, 37) + 18 * k)
            )


@pytest.mark.simulated(3)
@pytest.mark.parametrize("columns", [5, 7])
def test_what_a_rank_has_met_alone_decides_nothing_in_place(columns, rank, size):
    """Ranks take turns, so one of them meets the operands first, and the others know them from it."""
    theirs = numpy.zeros((13, columns))
    with atoll.config(small=100):
        a = atoll.zeros((13, columns), layout=atoll.Layout((13, columns), "bn", size=size))
        atoll.sync()
        for k in range(6):
            a += 1
            theirs += 1
            assert a[0, ::-1].tolist() == theirs[0, ::-1].tolist()
            assert float(a[: k + 1].sum()) == theirs[: k + 1].sum()


@pytest.mark.simulated(1, 3)
def test_memory_that_others_read_is_copied_once(rank, size):
    with atoll.config(small=100, everywhere=100):
        a = atoll.arange(40.0 * 30).reshape(40, 30)
        float(a.sum())
        for k in range(12):
            a[k, 1] = k
        expected = numpy.asarray(a).copy()
        pending, copy = a * 2, a.copy()
        before = a._cell.settle().array
        blocks = []
        for k in range(12):
            a[k, 2] = -k
            a[k + 1] += 1
            blocks.append(a._cell.settle().array)
        assert before is not blocks[0]
        assert all(block is blocks[0] for block in blocks)
        assert (numpy.asarray(copy) == expected).all()
        assert (numpy.asarray(pending) == expected * 2).all()
        for k in range(12):
            expected[k, 2] = -k
            expected[k + 1] += 1
        assert (numpy.asarray(a) == expected).all()


@pytest.mark.ranks(2)
@pytest.mark.simulated(2)
def test_rows_are_written_alike_in_turned_columns(size):
    """A slice without bounds has ``None`` in it, which Python 3.11 hashes by its address."""
    theirs = numpy.arange(24.0).reshape(6, 4)
    ours = atoll.array(theirs, layout=atoll.Layout((6, 4), "bn", size=size))
    with atoll.config(small=100):
        for k in range(12):
            for np, a in ((atoll, ours), (numpy, theirs)):
                rows = np.arange(k, k + 3) % 6
                a[rows, ::-1] = a[rows].max() + k
        assert numpy.array_equal(numpy.asarray(ours), theirs)
