"""Views and elements of large arrays that are computed: NumPy's, without entering Python, and without a lost reference."""

from __future__ import annotations

import functools
import gc
import random
import sys

import numpy
import pytest

import atoll
from atoll import front
from atoll.comm import simulated
from atoll.comm.world import current_world
from atoll.context.threads import leave

native = pytest.mark.skipif(front.native is None, reason="the native front was not built")

STATEMENTS = """
    x = a[3]; y = a[:, 4]; z = a[1:9, 2:7]; s = a[3, 4]; t = a[-1, ::-2]; w = a[..., 0]; v = a[2][None, :]
    x[2]; x[2:9]; x[::-1]; z[1]; z.T; z.T[2]; y[5]; len(x); x.shape; z.ndim; y.strides; z[:, 1]; z[..., None]
    x + y; x * 2.0; numpy.float64(2.0) * x; 1 - x; x / (abs(y) + 1); -x; x > y; x == y; x**2; divmod(x, 3.0); x @ y
    x += 1.0; x *= y; z -= 1; a[5] += x; a[:, 6] /= 2.0; a[2, 3:9] *= a[3, 3:9]; y[2:5] -= 1
    a[4, 5] = 2.0; a[4] = x; a[:, 5] = y; x[2:5] = 0.0; x[3] = s; a[1, :3] = [1, 2, 3]; x[k] = 1.0; x[x > 3] = 3.0
    a[k]; a[3, k]; a[k, k]; a[[1, 2]]; a[[1, 2], :] = a[[2, 1], :]; x[k]; x[x > 2]; a[k, 2] = 5.0; a[k, 3] += 1.0; x[[2, 4]]
    np.add(x, y); np.sqrt(abs(x)); np.maximum(x, 0.5); np.add(x, y, out=x); np.multiply(x, 0.5, x); np.clip(x, -9, 9, out=y)
    np.add.reduce(x); np.add.outer(x[:3], y[:4]); np.add.accumulate(x); np.add.reduceat(x, k); np.add.at(x, k, 1.0)
    np.add.at(a, (k, k), 1.0); np.minimum.reduce(z, axis=1); np.put(a, k, 2.0); np.fill_diagonal(z, 7.0)
    x.sum(); x.max(); x.argmax(); z.sum(axis=0); x.dot(y); np.dot(x, y); np.dot(a[3, :5], a[:5, 3]); np.vdot(x, y)
    a @ x; x @ a; x[:5] @ a[:5]; np.dot(a, x); np.inner(x, a); np.matmul(x, a)
    z.reshape(-1); z.copy().reshape(5, 8); x.reshape(20, 15); x.ravel(); np.transpose(z); np.flip(x); z.swapaxes(0, 1); np.split(x, 3)
    np.concatenate((x, y)); np.stack([x, y]); np.where(x > y, x, y); x.nonzero(); np.argsort(x); np.outer(x[:3], y[:3])
    x.fill(2.0); x.sort(); x.tolist(); x.item(3); float(x[3]); [float(e) for e in x]; [r[0] for r in z]; x.copy(); x.astype(int)
    p + x; x - p; x *= p; x > p; numpy.maximum(x, p); numpy.sqrt(abs(x)); np.minimum(p, 0.5); np.sum(p); np.asarray(p); np.array(p)
    x[:] = p; x[p > 0.5]; x[p > 0.9] = 0.0; a[i]; a[i, 2] = 1.0; np.where(p > 0.5, x, p); np.concatenate([p, x]); x.dot(p); p @ x
    a[7] = p; a[:, 8] += p; np.add(p, p, out=x); np.add(x, x, out=q); np.copyto(x, p); np.add.at(x, i, p[:3])
    numpy.asarray(x); numpy.asarray(a); numpy.array(a[5])
"""
STATEMENTS = [part.strip() for part in STATEMENTS.replace("\n", ";").split(";") if part.strip()]


def names_for(np):
    rng = numpy.random.default_rng(3)
    a = np.array(rng.integers(-9, 9, (300, 300)).astype(float))
    k = np.array([3, 1, 7])
    if np is atoll:
        atoll.sync()
    of_numpy = {
        "p": numpy.arange(300.0) % 7 - 3,
        "q": numpy.zeros(300),
        "i": numpy.array([5, 0, 2]),
    }
    return {"np": np, "numpy": numpy, "a": a, "k": k, **of_numpy}


def results(np, copied):
    """What each statement gives, and the array after it; ``copied``: another array has the same value."""
    names = names_for(np)
    kept = []
    for statement in STATEMENTS:
        if copied:
            kept = [names["a"].copy()]
        value = run(statement, names)
        value = "".join(map(str, plain(value)))
        yield statement, value, float((names["a"] * numpy.arange(1, 301)).sum())
    del kept


@functools.cache
def compiled(statement):
    try:
        return compile(statement, "<statement>", "eval")
    except SyntaxError:
        return compile(statement, "<statement>", "exec")


def run(statement, names):
    return eval(compiled(statement), names)


def plain(value):
    if isinstance(value, tuple | list):
        return [part for item in value for part in plain(item)]
    return [
        numpy.asarray(value).tolist()
        if isinstance(value, atoll.ndarray)
        else getattr(value, "tolist", lambda: value)()
    ]


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("small", [30_000, 1_000, 100, 0])
def test_statements_give_what_numpy_gives(small, copied):
    with atoll.config(small=small):
        for ours, theirs in zip(results(atoll, copied), results(numpy, copied), strict=True):
            assert ours == theirs


@native
def test_no_statement_enters_python():
    names = names_for(atoll)
    own = atoll.__file__.rpartition("/")[0]
    entered = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(own):
            entered.append(frame.f_code.co_qualname)

    for statement in STATEMENTS:  # methods of ufuncs are made when they are first asked for
        run(statement, names)
    for statement in STATEMENTS:
        run(statement, names)  # tables that are full have forgotten the first run
        try:
            sys.setprofile(note)
            run(statement, names)
        finally:
            sys.setprofile(None)
        assert (statement, entered) == (statement, [])


@native
def test_what_others_have_is_read_without_entering_python():
    a = atoll.ones((300, 300))
    atoll.sync()
    copy, later = a.copy(), a * 2.0
    for k in range(20):
        assert float((a[k] + copy[:, k]).sum()) == 600.0
    a[3] += 1.0
    row = copy[3]
    assert float(row[0]) == 1.0
    assert float(a[3, 0]) == 2.0
    assert float(later[3, 0]) == 2.0


def test_views_follow_their_array():
    a = atoll.zeros((300, 300)) + 1.0
    atoll.sync()
    row, part = a[3], a[2:5, 1:4]
    turned = part.T
    a += 1.0
    assert float(row[0]) == 2.0
    assert turned.shape == (3, 3)
    assert numpy.asarray(turned).tolist() == [[2.0] * 3] * 3
    other = a.copy()
    a[3, 1] = 7.0
    assert float(row[1]) == 7.0
    assert float(turned[0, 1]) == 7.0
    assert float(other[3, 1]) == 2.0
    row[1] = 8.0
    assert float(part[1, 0]) == 8.0
    assert float(other[3, 1]) == 2.0
    row.shape = (30, 10)
    row[0, 1] = 9.0
    assert float(a[3, 1]) == 9.0
    assert row.base is a


def test_views_of_what_may_not_be_written():
    a = atoll.zeros((300, 300)) + 1.0
    atoll.sync()
    row = a[3]
    row.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        row += 1.0
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        atoll.add(row, 1.0, out=row)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        a[3] += 1.0
    assert not a[4].flags.writeable
    assert a[5, ::2].flags.writeable is False


def test_no_view_of_numpys_leaves():
    """What NumPy would give as a view is a view of the array, and follows it."""
    a = atoll.zeros((300, 300)) + 1.0
    atoll.sync()
    z = a[:4, :4]
    views = [
        atoll.broadcast_to(z[0], (3, 4)), atoll.diagonal(z), z.diagonal(), z.real, atoll.asarray(z), z.view(), z[:, ::-1],
        atoll.broadcast_arrays(z[0], z)[1], atoll.split(z, 2)[0], z.squeeze(), atoll.atleast_2d(z[1]), atoll.moveaxis(z, 0, 1),
    ]  # fmt: skip
    a += 1.0
    for view in views:
        assert (numpy.asarray(view) == 2.0).all()
    a[...] = 3.0
    for view in views:
        assert (numpy.asarray(view) == 3.0).all()


@native
@pytest.mark.parametrize("slow", [False, True])
def test_no_statement_loses_a_reference(slow):
    """Every entry point, where NumPy answers at once and where Python decides (``slow``: another array has the value)."""
    names = names_for(atoll)
    # what raises, too
    wrong = ("a[300]", "x[9, 9]", "x + a[0, :7]", "np.add(x, y, out=a[0, :7])", "x.reshape(7)", "np.dot(x, y[:3])", "x[[999]]",
             "a[3, :7] += x", "x['a']", "np.add.at(x, [999], 1)", "x @ y[:2]", "np.split(x, 7)", "x[3] = 'no'")  # fmt: skip
    bound = sorted(set(STATEMENTS))
    shuffled = random.Random(4)

    def work(times):
        for _ in range(times):
            for statement in bound:
                kept = names["a"].copy() if slow else None
                run(statement, names)
                del kept
            for statement in wrong:
                with pytest.raises((ValueError, IndexError, TypeError)):
                    run(statement, names)
            shuffled.shuffle(bound)

    for statement in STATEMENTS:
        run(statement, names)
    bound = [
        statement
        for statement in bound
        if " = " not in statement or "[" in statement.partition(" =")[0]
    ]
    work(3)
    watched = [names["a"], names["x"], names["k"], names["k"]._np, atoll.ndarray, names["a"]._cell]
    gc.collect()
    counts = [sys.getrefcount(thing) for thing in watched]
    blocks = sys.getallocatedblocks()
    work(6)
    gc.collect()
    assert [sys.getrefcount(thing) for thing in watched] == counts
    assert slow or sys.getallocatedblocks() - blocks < 400  # Python remembers what it has recorded


@native
def test_rows_of_a_new_array_are_written_without_plans():
    rows = atoll.arange(20_000) > 7
    table = atoll.zeros((20, 20_001), bool)
    table[0, 1:] = rows
    before = atoll.stats()
    for k in range(1, 20):
        table[k, 1:] = rows
    after = atoll.stats()
    assert (after.kernels_run, after.plans_made) == (before.kernels_run, before.plans_made)
    assert int(table.sum()) == 20 * 19_992


@native
def test_the_front_is_quick_beside_other_worlds():
    """Simulated ranks, or groups of ranks, that exist somewhere make a process by itself no slower."""
    world = simulated.run(2, current_world)[0]
    assert world.size == 2
    names, entered = names_for(atoll), []
    code = compile("a[4]; a[3, 4]; a[3] + 1.0", "<statement>", "exec")
    sys.setprofile(
        lambda frame, event, _: entered.append(frame.f_code) if event == "call" else None
    )
    exec(code, names)
    sys.setprofile(None)
    assert entered == [code]


def moving(np):
    """Large views whose slices move: read, written, recorded, kept while the array changes, and seen after it."""
    a = np.array(numpy.random.default_rng(5).integers(-3, 4, (300, 300)).astype(float))
    v = np.ones(300)
    seen, kept = [], []
    for k in range(1, 60):
        part = a[:, k:]
        seen.append(
            float((part.T @ v).sum()) + float((a[k:] @ v)[0]) + part.shape[1] + float(part[3, 4])
        )
        if k % 7 == 0:
            part += 1.0
        if k % 5 == 0:
            part[2:9, 1:5] = k
        if k % 11 == 0:
            kept.append((a.copy(), part, a[k:, k:].T, part[:, 3:]))
        if k % 13 == 0:
            a *= 0.5
        if k % 17 == 0:
            part = part - a[:, k:] * 2.0
            a[:, k:] = part
        if k % 19 == 0:
            part.flags.writeable = False
            try:
                part[0, 0] = 1.0
            except ValueError as error:
                seen.append(str(error))
    for copied, *views in kept:
        seen += [float(copied.sum()), *[float((view * 2.0).sum()) for view in views]]
        seen += [view.base is a for view in views]
    return seen


def test_views_whose_slices_move():
    assert moving(atoll) == moving(numpy)


@native
def test_products_of_views_whose_slices_move_do_not_enter_python():
    names, entered = names_for(atoll), []
    code = compile("for k in range(start, start + 40): a[:, :k].T @ a[3]", "<statement>", "exec")
    exec(code, {**names, "start": 100})
    sys.setprofile(
        lambda frame, event, _: entered.append(frame.f_code) if event == "call" else None
    )
    exec(code, {**names, "start": 200})
    sys.setprofile(None)
    assert entered == [code]


@native
def test_settings_of_a_context_end_with_it():
    """What a rank, or a thread, has set for itself makes the front no slower once that has ended."""
    before = list(front._smalls)

    def changes():
        atoll.config.small = 7
        with atoll.config(threads=1):
            atoll.config.small = 5
        front.finish_ends()
        return min(front._smalls)

    assert simulated.run(2, changes) == [7, 7]
    gc.collect()
    front.finish_ends()
    assert front._smalls == before


def test_the_tasks_of_many_ended_objects_are_no_calls_in_calls():
    things, done = [lambda: None for _ in range(3000)], []
    for thing in things:
        front.at_end(thing, lambda: leave(lambda: done.append(1)))
    del things, thing
    front.finish_ends()
    assert len(done) == 3000


@pytest.mark.parametrize("size", [6, 50_000])
@pytest.mark.parametrize("key", [(..., ...), (..., 0, ...), (0, ..., ...), (..., slice(2), ...)])
def test_a_second_ellipsis_is_an_error(key, size):
    for xp in (numpy, atoll):
        a = xp.zeros(size)
        a.sum()
        with pytest.raises(IndexError, match="single ellipsis"):
            a[key]
        with pytest.raises(IndexError, match="single ellipsis"):
            a[key] = 1.0
        assert not a.any()
