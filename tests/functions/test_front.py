"""The native front and the front in Python: the same results, aliasing and errors, and no reference lost."""

from __future__ import annotations

import gc
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import atoll
from atoll import front

ROOT = Path(__file__).resolve().parents[2]
native = pytest.mark.skipif(front.native is None, reason="the native front was not built")


def program(np, seed, steps=60):
    """A random program that keeps rows, columns and elements of larger arrays and writes through them."""
    r, rng = random.Random(seed), numpy.random.default_rng(seed)
    n = r.choice((40, 200))
    arrays = [
        np.array(rng.integers(0, 9, (n, n)).astype(float)),
        np.asarray(rng.integers(0, 9, (n, n)).astype(float)),
        np.array(rng.integers(0, 9, (n, n)).astype(float)),
    ]
    views, seen = [], []
    for _ in range(steps):
        a, b = r.choice(arrays), r.choice(arrays)
        i, j = r.randrange(n), r.randrange(1, n)
        what = r.randrange(14)
        if what < 3:
            views.append((a[i], a[:, i], a[i, :j])[what])
        elif what == 3:
            arrays[r.randrange(3)] = a + b if r.random() < 0.5 else a - b
        elif what == 4:
            a += b
        elif what == 5:
            a[i] = b[j]
        elif what == 6:
            a[1:] = b[:-1] * 0.5
        elif what == 7:
            seen.append(float(a[i].sum()))
        elif what == 8:
            seen.append(float(a.sum()))
        elif what == 9:
            seen.append(float(a[i, j]))
            a[j, i] = 3.0
        elif views:
            k = r.randrange(len(views))
            view = views[k]
            if what == 10:
                view[r.randrange(len(view))] = r.randrange(9)
            elif what == 11:
                view += 1
            elif what == 12:
                del views[k]
            else:
                a[i, : len(view)] = view.copy()
                seen.append(float((view * 2)[0]))
    weights = numpy.arange(n)
    return seen + [float((a * weights).sum()) for a in arrays] + [float(v.sum()) for v in views]


@pytest.mark.parametrize("small", [30_000, 1_000, 0])
@pytest.mark.parametrize("seed", range(12))
def test_views_that_are_kept_and_written_through(seed, small):
    with atoll.config(small=small):
        ours = program(atoll, seed)
    numpy.testing.assert_allclose(ours, program(numpy, seed), rtol=1e-12)


CASES = {
    "operators": "x + y, x - 2.0, 2 * x, x / y, x // y, x % y, x**2, 2.0**x, -x, +x, abs(-x), x @ y, ~m, m & m, m | m, m ^ m",
    "comparisons": "x < y, x <= 1, x == y, x != y, x > y, 1 >= x, x == 'a', x == None",
    "indices": "x[3], x[-1], x[2:7:2], x[::-1], A[1], A[1, 2], A[:, 1], A[..., 0], A[None, 1], x[i], x[m], A[i, 1], A[i, i]",
    "methods": "x.sum(), A.sum(0), A.mean(axis=1), x.reshape(2, -1), A.T, x.copy(), x.astype(int), x.argmax(), A.max(1), "
    "x.clip(0, 1), A.ravel(), A.transpose(), x.dot(y), x.std(), x.tolist(), x.item(3), A.swapaxes(0, 1), A.diagonal()",
    "functions": "np.sin(x), np.add(x, y), np.where(m, x, y), np.where(m), np.concatenate([x, y]), np.stack((x, y), axis=1), "
    "np.dot(A, A), np.sum(x), np.maximum(x, 0.5), np.sort(x), np.unique(i), np.linalg.norm(x), np.outer(x, y), np.split(x, 2), "
    "np.divmod(x, y), np.broadcast_to(x, (3, 10)), np.meshgrid(x, y), np.histogram(x, 4), np.linalg.slogdet(A[:3, :3])",
    "creation": "np.zeros(4), np.zeros((2, 3), int), np.ones(3), np.full((2, 2), 7), np.arange(5), np.arange(2, 9, 3), "
    "np.arange(0.0, 1.0, 0.25), np.linspace(0, 1, 5), np.eye(3), np.eye(2, 3), np.array([1, 2, 3]), np.zeros_like(x)",
    "shapes": "x.shape, A.ndim, len(A), A.size, A.dtype, A.strides, A.nbytes, np.shape(A), np.size(A)",
}


@pytest.mark.parametrize("case", CASES)
def test_calls_of_arrays_at_hand(case):
    def results(np):
        rng = numpy.random.default_rng(1)
        names = {
            "np": np,
            "x": np.array(rng.random(10)),
            "y": np.array(rng.random(10) + 0.5),
            "A": np.array(rng.random((4, 5))),
            "m": np.array(rng.random(10) > 0.5),
            "i": np.array([0, 2, 3]),
        }
        if "@" in CASES[case] or "dot(A" in CASES[case]:
            names["A"] = np.array(rng.random((4, 4)))
        return eval(f"({CASES[case]},)", names)

    for ours, theirs in zip(results(atoll), results(numpy), strict=True):
        compare(ours, theirs)


def compare(ours, theirs):
    """Equal to NumPy's, of the same class as NumPy's or ours in its place."""
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for one_of_ours, one_of_theirs in zip(ours, theirs, strict=True):
            compare(one_of_ours, one_of_theirs)
    elif isinstance(theirs, numpy.ndarray):
        assert type(ours) is atoll.ndarray
        assert ours.dtype == theirs.dtype
        numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)
    else:
        assert type(ours) is type(theirs)
        assert ours == theirs


ERRORS = (
    "x + np.ones(3)", "x[99]", "x[0, 0]", "x['a']", "x @ np.ones(3)", "x.reshape(3, 3)", "np.concatenate([x, A])", "np.sin()",
    "np.sin(x, x, x)", "x.sum(axis=3)", "np.zeros(-1)", "x.__setitem__(99, 1)", "x.__setitem__(slice(3), np.ones(4))",
    "x.__iadd__(1j)", "np.stack([x, A])", "x < object()", "len(np.array(1.0))", "x.__delitem__(0)", "x.nonsense",
)  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors_are_numpys(text):
    def error(np):
        names = {"np": np, "x": np.arange(10.0), "A": np.ones((2, 2))}
        with pytest.raises(Exception) as caught:  # noqa: PT011
            eval(text, names)
        return caught.type, str(caught.value)

    ours, theirs = error(atoll), error(numpy)
    assert issubclass(ours[0], theirs[0])
    if "nonsense" not in text:
        assert ours[1].replace("atoll.array.", "numpy.") == theirs[1]


def test_rows_and_columns_are_views():
    a = atoll.zeros((300, 300)) + 1.0
    atoll.sync()
    row, column = a[3], a[:, 4]
    row[:] = 5.0
    column += 1.0
    assert float(a[3, 4]) == 6.0
    assert row.base is a
    later = a * 2.0  # computed before the next line writes into what it reads
    row[0] = 9.0
    assert float(later[3, 0]) == 10.0
    a += 1.0
    assert float(row[0]) == 10.0
    assert float(a.sum()) == float(numpy.asarray(a).sum())


def test_borrowed_memory_is_lazy_once_nobody_else_holds_it():
    mine = numpy.ones((300, 300))
    a = atoll.asarray(mine)
    total = a + a
    mine[0, 0] = 50.0
    assert float(total[0, 0]) == 2.0
    assert float(a[0, 0]) == 50.0
    assert a._cell.held()
    del mine
    assert not a._cell.held()
    before = atoll.stats().kernels_run
    b = (a + 1.0) * 2.0
    assert atoll.stats().kernels_run == before
    assert float(b[0, 0]) == 102.0


class Kept(atoll.ndarray):
    """A class of a program's own."""

    def __add__(self, other):
        return "mine"


def test_classes_of_programs():
    x = atoll.ones(3).view(Kept)
    assert x + 1 == "mine"
    assert type(x * 2) is Kept
    assert atoll.ones(3).__radd__(1).tolist() == [2.0] * 3
    x.note = 7
    assert x.note == 7


@pytest.mark.parametrize("np", [numpy, atoll], ids=["numpy", "atoll"])
def test_functions_as_attributes_of_classes(np):
    class Layer:
        activation = np.tanh
        join = np.maximum
        total = np.sum
        shaped = staticmethod(np.zeros)

        def __array__(self, dtype=None, copy=None):
            return numpy.arange(4.0)

    layer = Layer()
    assert float(layer.activation(0.0)) == 0.0
    assert float(layer.join(1.0, 2.0)) == 2.0
    assert float(layer.total()) == 6.0
    assert layer.shaped(3).shape == (3,)


@native
def test_no_reference_is_lost():
    x, y, a = atoll.arange(50.0), atoll.ones(50), atoll.zeros((300, 300)) + 1.0
    atoll.sync()

    def work():
        for _ in range(200):
            (
                x + y,
                x[3],
                x[2:9],
                a[4],
                a[4, :7],
                a[4, 5],
                atoll.dot(x, y),
                atoll.where(x > 3),
                x.sum(),
                x.T,
                x.shape,
            )
            a[3, :50] = x
            x[:] = y
            with pytest.raises(ValueError, match="broadcast"):
                x + a[0]
            with pytest.raises(IndexError):
                x[99]

    work()
    gc.collect()
    objects, blocks = len(gc.get_objects()), sys.getallocatedblocks()
    counts = [sys.getrefcount(thing) for thing in (x, y, a, atoll.ndarray, x._np, None.__class__)]
    work()
    gc.collect()
    assert [
        sys.getrefcount(thing) for thing in (x, y, a, atoll.ndarray, x._np, None.__class__)
    ] == counts
    assert len(gc.get_objects()) - objects < 50
    assert sys.getallocatedblocks() - blocks < 500


@pytest.mark.slow
def test_the_front_in_python():
    """All of the above without the native front."""
    if front.native is None:
        return
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    environment = {**os.environ, "ATOLL_FRONT": "python"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout


def test_no_operand_is_taken_for_a_temporary():
    """NumPy may write into an operand of 256 KiB to which there is one reference."""
    with atoll.config(small=200_000):
        a, b = atoll.ones(100_000), atoll.ones(100_000)
        for _ in range(3):
            total = a + b
            scaled = total * a - b
        assert (float(a.sum()), float(b.sum()), float(total.sum())) == (1e5, 1e5, 2e5)
        assert float(scaled.sum()) == 1e5


@pytest.mark.slow
@native
def test_a_front_built_from_other_sources_is_an_error_that_says_what_to_do(tmp_path):
    package = tmp_path / "atoll"
    shutil.copytree(ROOT / "src/atoll", package, ignore=shutil.ignore_patterns("__pycache__"))
    settings = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def imported(**more: str) -> tuple[int, str]:
        command = [sys.executable, "-c", "import atoll.front as f; print(f.native is not None)"]
        done = subprocess.run(command, env={**settings, **more}, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    source = package / "_native" / "loops.c"
    os.utime(source, (2**31, 2**31))  # newer than the module, and the same
    assert imported() == (0, "True\n")
    source.write_text(source.read_text() + "\n")
    os.utime(source, (2**31, 2**31))
    code, words = imported()
    assert code == 1
    assert "built from other C sources" in words
    assert "python hatch_build.py" in words
    assert imported(ATOLL_FRONT="python") == (0, "False\n")


_REGISTERED = """
import atoll as np
from atoll.lazy import recorder
from unittest.mock import Mock


def refused(slots, **objects):
    try:
        native.register(slots, **objects)
    except TypeError as error:
        print(error)


def tried(slots, **objects):
    refused(slots, **{name: objects[name] for name in objects if name != "relieve"})
    refused(slots, **objects, releive=None)
    refused(slots[1:], **objects)


native, recorder.native = recorder.native, Mock(operators=(), register=tried)
recorder.install(np.ndarray, type(np.ones(3).flat))
print((np.ones(3) + 1).sum())
"""


@native
def test_an_incomplete_table_of_what_c_calls_is_refused():
    done = subprocess.run(
        [sys.executable, "-c", _REGISTERED], capture_output=True, text=True, cwd=ROOT
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "the native front needs 'relieve', which is not registered"
    assert lines[1] == "the native front has no use for 'releive'"
    assert lines[2].startswith("the native front reads other slots than (")
    assert lines[3:] == ["6.0"]
