"""Arrays of medium size are recorded though Python sees small ones; what a program sees is what NumPy shows."""

from __future__ import annotations

import random
import sys
import threading
import warnings

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.front import native

from ..cli.commands import atoll
from .campaign import campaign

pytestmark = pytest.mark.skipif(native is None, reason="the native front records them")
SHAPES = (6, 7), (7,), (6, 1), (6, 7)
LINES = (
    "{n} = {a} + {b}", "{n} = {a} * 0.5 - {b}", "{n} = {a} / 3", "{n} = -{a}", "{n} = {a} ** 2", "{n} = abs({a})",
    "{n} = {f} * {a}", "{n} = {a}[1:-1]", "{n} = {a}[..., ::-1]", "{n} = {a}[2]", "{n} = {a}.T", "{n} = {a}.copy()",
    "{n} = m.sqrt(abs({a}))", "{n} = m.roll({a}, 1)", "{n} = m.where({a} > 0, {a}, 1.0)", "{n} = {a}.reshape(-1)",
    "{n} = {a} > {b}", "{n} = {a}.astype('f4')", "{n} = {a}.view('i8')", "{n} = m.add({a}, {b})", "{n} = m.square({a})",
    "{a} += {b}", "{a} *= 0.75", "{a} -= {a}", "{a}[1:3] = {b}[1:3]", "{a}[:, -1] = {b}[:, 0]", "{a}[0] = 4.0",
    "{a}[2:] += {b}[:-2]", "{a}[{a} > 1] = 0.5", "{a}[1, 2] = {b}[0, 0]", "{a}[...] = {b}", "{a} = {a}", "{a}[:] = 2",
    "m.multiply({a}, {b}, out={a})", "m.add({a}, 1.0, out={b})", "{a}.sort()", "{a}.fill(3)", "m.copyto({a}, {b})",
    "log.append(float({a}.sum()))", "log.append({a}.shape)", "log.append(float({a}[1, 1]))", "log.append({a}.max())",
    "log.append({a}.mean(0).tolist())", "log.append(len({a}))", "log.append([float(r.sum()) for r in {a}])", "held = {a}",
    "held += 1", "log.append(float((held * held).sum()))", "out.append(m.asarray({a}))", "out[-1][0] = 9", "del {a}; {a} = held",
    "log.append(({a} == {b}).all())", "log.append(m.asarray({a}).tobytes())", "log.append({a}.flags.writeable)", "{a}.flags.writeable = False; {a}.flags.writeable = True", "{a}[{a} > 0] = 1 / {a}[{a} > 0]", "log.append({a}.T.strides)",
    "{a} = m.array(numpy.asarray({b}))", "log.append(repr({a} @ {b}.T))", "log.append(str({a}[1:3] - 1))", "{a}[[0, 2]] = {b}[[1, 3]]",
    "{n} = {a}[[1, 1, 0]]", "held = {a}[1:4]", "held[:] = held * 2", "held = held[1:]", "{n} = m.zeros({a}.shape)", "{n} = m.ones_like({a})",
    "{n} = {a} + ({b} > 0)", "{n} = ({a} * 3).astype('i8') * {b}", "{n} = m.maximum({a}.astype('i4'), {b})", "{n} = {a} > {b}.astype('i8')",
    "{a} += {b} > 1", "{a} = {a}.astype('i8'); {a} += 2", "{a} = {a} - 0.5",
)  # fmt: skip
NUMBERS = "numpy.float64(1.5)", "2", "-0.25", "numpy.float32(0.5)", "True"


def test_a_mask_of_medium_size_assigns_to_a_view_without_python():
    start = numpy.random.default_rng(3).random((64, 64, 12))
    ours, theirs = np.array(start), start.copy()

    def mix(m, a):
        for k in range(11):
            heavy = (
                0.8 * a[:, :, k] - 0.2 * a[:, :, k] > 0.8 * a[:, :, k + 1] - 0.2 * a[:, :, k + 1]
            )
            mean = 0.5 * (a[:, :, k] + a[:, :, k + 1])
            a[:, :, k] = m.where(heavy, mean, a[:, :, k])
            a[:, :, k + 1][heavy] = mean[heavy]

    names = []
    for _ in range(30):
        mix(np, ours)
    sys.setprofile(lambda frame, event, _: names.append(frame.f_code.co_qualname))
    mix(np, ours)
    sys.setprofile(None)
    for _ in range(31):
        mix(numpy, theirs)
    assert (numpy.array(ours) == theirs).all()
    assert "ndarray.__setitem__" not in names


def drawn(seed):
    """The lines of a program, which come again and again in a loop."""
    chance = random.Random(seed)
    names = "abcd"
    lines = [
        chance.choice(LINES).format(
            n=chance.choice(names), a=chance.choice(names), b=chance.choice(names), f=chance.choice(NUMBERS)
        )
        for _ in range(chance.randint(4, 16))
    ]  # fmt: skip
    return "\n".join(lines)


def ran(text, m, seed):
    """What a program leaves, with every error that it raises."""
    drawing = numpy.random.default_rng(seed)
    log, out = [], []
    names = {"m": m, "numpy": numpy, "log": log, "out": out}
    for name, shape in zip("abcd", SHAPES, strict=True):
        names[name] = m.array(drawing.integers(-9, 9, shape) / 4)
    names["held"] = names["d"][1:]
    lines = [compile(line, f"<line {line}>", "exec") for line in text.splitlines()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            for line in lines:
                try:
                    exec(line, names)
                except Exception as error:
                    log.append((type(error), str(error)))
    arrays = [numpy.asarray(names[name]) for name in ("a", "b", "c", "d", "held")] + [
        numpy.asarray(array) for array in out
    ]
    return log, [(a.dtype, a.shape, a.tobytes()) for a in arrays]


WAYS = 0.0, 4_000.0, 1e12
"""Nanoseconds of NumPy's until a program is planned: at once, in the third turn or so, never."""


def recording(planned=0.0):
    return policy.limited(short=3, planned=planned, pending=max(300, int(planned)))


def difference(seed):
    """What a program sees that is not as with NumPy: ``python -m tests.engine.test_medium_arrays 0:2000`` runs more."""
    text = drawn(seed)
    expected = ran(text, numpy, seed)
    with recording(WAYS[seed % len(WAYS)]):
        return text if repr(ran(text, np, seed)) != repr(expected) else ""


def test_programs_whose_arrays_are_recorded_see_what_numpy_shows():
    assert [found for seed in range(60) if (found := difference(seed))] == []


def test_the_lines_of_these_programs_are_recorded():
    with recording():
        a = np.array(numpy.arange(20.0))
        before = np.stats().plans_made
        for _ in range(4):
            b = a * 2 - 1
            b[2:] += a[:-2]
            float(b.sum())
    assert np.stats().plans_made > before


@pytest.mark.parametrize("dtype", [bool, "i1", "u2", "i4", "u4", "i8", "u8"])
def test_integers_and_truth_values_beside_doubles_are_recorded(dtype):
    numbers = numpy.random.default_rng(5).integers(-(2**62), 2**62, 500).astype(dtype)
    doubles = numpy.random.default_rng(6).normal(size=500) * 1e3

    def mixed(m, x, y):
        made = []
        for _ in range(4):
            made += [x + y, y - x * 0.5, m.maximum(x, y), x * y > y, m.where(x > y, x * 1.0, y)]
        return [numpy.asarray(one).tobytes() for one in made]

    with recording():
        before = np.stats().plans_made
        assert mixed(np, np.array(numbers), np.array(doubles)) == mixed(numpy, numbers, doubles)
        assert np.stats().plans_made > before


def relaxed(u, turns):
    for _ in range(turns):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25


def grid():
    return numpy.random.default_rng(3).random((80, 80))


def test_numpy_computes_until_a_program_is_worth_it():
    expected = grid()
    a = np.array(expected)
    before = np.stats()
    relaxed(a, 10)
    after = np.stats()
    assert (after.plans_made, after.kernels_run) == (before.plans_made, before.kernels_run)
    relaxed(a, 1000)
    assert np.stats().kernels_run - after.kernels_run >= 500
    relaxed(expected, 1010)
    assert numpy.array_equal(numpy.asarray(a), expected)


def test_slices_that_never_come_again_are_numpys():
    def shrinking(u):
        for k in range(60):
            u[k:, k:] -= 0.5 * u[k:, k:]
            u[k + 1 :, k:] = u[k:-1, k:] + u[k + 1 :, k:]

    a, expected = np.array(grid()), grid()
    before = np.stats()
    shrinking(a)
    after = np.stats()
    shrinking(expected)
    assert (after.plans_made, after.plans_reused) == (before.plans_made, before.plans_reused)
    assert numpy.array_equal(numpy.asarray(a), expected)


@pytest.mark.parametrize("planned", WAYS)
@pytest.mark.parametrize("border", [False, True])
def test_a_turn_that_writes_into_parts_is_what_numpy_makes(border, planned):
    def relax(m, u, turns):
        for _ in range(turns):
            old = u.copy()
            u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
            if border:
                u[:, -1] = u[:, -2]
                u[0, :] = 1.0
            change = ((u - old) ** 2).sum()
        return float(change)

    with policy.limited(planned=planned, pending=max(300, int(planned))):
        change = relax(np, np.array(grid()), 300)
    assert change == relax(numpy, grid(), 300)


@pytest.mark.parametrize("planned", WAYS)
def test_flags_are_reported_at_the_line_that_recorded(planned):
    def inverse(a):
        return 1.0 / a

    a = np.array(grid())
    a[3, 4] = 0.0
    with recording(planned), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            b = inverse(a)
            b.max()
    lines = {(each.lineno, str(each.message)) for each in caught}
    assert (len(caught), lines) == (
        5,
        {(inverse.__code__.co_firstlineno + 1, "divide by zero encountered in divide")},
    )


def test_memory_that_has_told_its_address_stays_where_it_is():
    a = np.array(grid())
    part = np.array(grid())
    address, other = a.ctypes.data, part[2:].ctypes.data - 2 * part.strides[0]
    with recording():
        for _ in range(6):
            a += 1.0
            part[1:-1] += a[2:] * 0.5
            a[2:] *= 0.5
    assert (a.ctypes.data, part.ctypes.data) == (address, other)


def test_threads_see_each_others_arrays():
    expected = [grid() for _ in range(3)]
    arrays = [np.array(each) for each in expected]

    def work(k, arrays):
        for _ in range(30):
            relaxed(arrays[k], 1)
            arrays[k] += arrays[k].max() - arrays[k].max()

    with recording():
        threads = [threading.Thread(target=work, args=(k, arrays)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    for k in range(3):
        work(k, expected)
        assert numpy.array_equal(numpy.asarray(arrays[k]), expected[k])


def test_errors_of_operations_are_numpys():
    a, b = np.array(grid()), np.array(grid()[:7, :9])
    with recording():
        for _ in range(3):
            c = a + 1.0
            with pytest.raises(ValueError, match=r"shapes \(80,80\) \(7,9\)"):
                c + b
            with pytest.raises(ValueError, match=r"shapes \(80,80\) \(7,9\)"):
                c += b
            with pytest.raises(IndexError):
                c[99]
            with pytest.raises(TypeError):
                c + "a"  # type: ignore[operator]
            with numpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
                c / 0.0


def test_sums_of_rows_are_assigned_to_under_a_mask():
    """They have as many elements as arrays of medium size, but were made by a program."""
    rng = numpy.random.default_rng(0)
    data, other = rng.random((20_000, 8)), rng.random((20_000, 8))
    rows, others = np.array(data), np.array(other)
    for turn in range(12):
        sums, mask = rows.sum(axis=1), others.sum(axis=1) > 4
        assert mask[0] in (True, False)
        assert sums[0] > 0
        sums[mask] = turn
        expected = data.sum(axis=1)
        expected[other.sum(axis=1) > 4] = turn
        numpy.testing.assert_allclose(numpy.asarray(sums * 2), expected * 2, rtol=1e-12)


def looked_at(planned):
    """What all ranks record while each looks at turns of its own, and an array that they divide into which it goes."""
    whole = numpy.arange(4000.0).reshape(100, 40) % 11
    with recording(planned), np.config(small=1000, everywhere=2000):
        a, ours, theirs = np.array(whole), np.arange(40.0) / 3, numpy.arange(40.0) / 3
        for k in range(12):
            ours = ours * 1.5 - 2.0
            ours[1:] += ours[:-1] > 0.5
            theirs = theirs * 1.5 - 2.0
            theirs[1:] += theirs[:-1] > 0.5
            if k % 3 == np.world.rank:
                assert ours.tolist() == theirs.tolist()
            if k % 4 == 3:
                a, whole = a + ours, whole + theirs
        assert a.layout.is_replicated == (np.world.size == 1)
        assert (numpy.asarray(a) == whole).all()


def test_ranks_record_as_one_process_does():
    """In programs of their own: the world of a test is not that of its process."""
    outcome = atoll("run", "-n", "2", "-m", __name__, "60:90", ATOLL_WAIT_CHECK="0.2")
    assert outcome.code == 0, outcome


if __name__ == "__main__":
    for planned in WAYS:
        looked_at(planned)
    before = np.stats().plans_made
    wrong = campaign(sys.argv[1], difference)
    sys.exit(wrong or np.stats().plans_made == before)
