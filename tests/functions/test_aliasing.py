"""Writing through views, in every order, and what the others then see."""

from __future__ import annotations

import ctypes
import warnings
import weakref

import numpy
import pytest

import atoll
from atoll.config import config
from atoll.front import native

from .oracle import SMALL, arrays, check_line, lines

PROGRAMS = """
a[1] = 5
a[:] = a[::-1]
a[1:] = a[:-1]
a += a.T.reshape(a.shape)
a = a.copy(); a.flags.writeable = False; a.resize((2, 2)); r = a.flags.writeable
a[a > 0] = 0
a[a > 0] += 1
a[a > 0] = a[a > 0] * 2
a[[0, 1]] = 9
a[np.array([1, 0])] = a[:2]
a[...] = 3
a[0, 0] = np.float64(2)
a[0] = a[1] * 2
a[:, 0] = [1] * a.shape[0]
a[0] = [1, 2]
a[0] = 'x'
a[99] = 1
a[1:2] = a
v = a.T; v[0] = 7
v = a[1:]; v *= 2; a[0] = 1; r = v
v = a.reshape(-1); v[3] = 9; r = v.sum()
v = a.ravel(); v[0] = 8
v = a.flat; v[2] = 7; r = v[2]
a.flat[1:4] = 5
a.flat[1:4] = [1, 2, 3]
a.flat = [1, 2, 3]
r = a.flat[1:5]
r = a.flat[[1, 2]]
r = list(a.flat)
f = a.flat; r = next(f), f.index, next(f), list(f), f.index, list(f)
f = a.flat; r = [next(f) for v in f if v > 1], f.index
f = a.flat; next(f); r = f[2], next(f), f.coords, f.index; f[1] = 4; r = r, next(f), list(f)
f = a.flat; r = list(zip(f, f))
r = []; [(r.append(v), np.copyto(a, a + 1)) for v in a.flat]
r = []; [(r.append(v), a.fill(k)) for k, v in enumerate(a.reshape(-1))]
l = a.reshape(-1); r = []; [(r.append(v), l.__iadd__(l)) for v in l[:3]]
l = (a * 2).reshape(-1); n = iter(l); r = next(n), sum(n), list(n), min(l), sorted(l), [type(v).__name__ for v in l]
r = len(a.flat)
np.add(a.flat, 1, out=a.reshape(-1))
r = np.dot(a.flat, a.flat)
r = a.flat == a.ravel()
a.T.flat[3] = 11
a.shape = (-1,)
a.shape = (a.size, 1); a[0] = 5
a.shape = (3, 3)
a.T.shape = (-1,)
b = a.copy(); b[0] = 1; r = b
d = a.diagonal(); d[0] = 1
b = np.broadcast_to(a, (2,) + a.shape); b[0] = 1
b = a.view(); b[0] = 3
a.fill(4)
a.sort()
a.sort(axis=0)
np.put(a, [0, 1], [5, 6])
a.put([1], 7)
np.place(a, a > 0, [1, 2])
np.putmask(a, a > 0, 9)
np.copyto(a, 1)
np.copyto(a, a[0], where=a > 0)
np.copyto(a, a.T.copy().reshape(a.shape))
np.fill_diagonal(a, 3)
np.put_along_axis(a, np.zeros((1, a.shape[1]), int), 9, 0)
r = np.add(a, a[:1], out=a)
np.add(a[:-1], a[1:], out=a[:-1])
np.multiply(a, 2, out=a.T[::-1].T)
np.sqrt(abs(a), out=a)
np.add(a, 1.5, out=a, casting='unsafe')
a += 1.5
a *= 2
a -= a[0]
a //= 2
a **= 2
a /= 2
a @= np.eye(a.shape[1])
a += a.sum()
a += [1] * a.shape[1]
a |= 1
a %= 3
a.real = 1
a.imag = 2
a.real[0] = 5
a.partition(1)
a.setflags(write=False); a[0] = 1
a.flags.writeable = False; a += 1
a.flags.writeable = False; a.flags.writeable = True; a[0] = 1
w = a[::2]; x = w[:, 1:3]; x[:] = 0; a += 1; r = (w, x)
x = a[1:3]; a = a * 2; r = x
o = a.copy(); a[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1]; r = a - o
c = a; a = a + 1; c[0] = 0; r = a
np.random.default_rng(0).shuffle(a)
del a[0]
b = np.expand_dims(a, 0); b[0, 0] = 3
b = np.squeeze(a[None]); b[1] = 3
b = np.flip(a, 1); b[:, 0] = -1
b = np.moveaxis(a, 0, 1); b[1] = 2
x, y = np.split(a, 2); x[0] = 1; y += 1
b = np.atleast_3d(a); b[0] = 5
b = a.swapaxes(0, 1); b += 1
b = np.rot90(a); b[0] = 1
b = np.asarray(a); b[0] = 1; r = b is a
b = np.array(a); b[0] = 1
b = np.array(a, copy=False); b[0] = 1
b = a.astype(a.dtype, copy=False); b[0] = 1
r = [int(x) for x in np.arange(3)]
b = np.nan_to_num(a, copy=False)
import copy; b = copy.copy(a); b[0] = 1; r = b
import copy; b = copy.deepcopy(a); b[0] = 1; r = b
import pickle; b = pickle.loads(pickle.dumps(a.T)); r = b
r = [1, 2, 3][int(a.argmax()) % 3]
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", ["f", "i", "fortran"])
@pytest.mark.parametrize("line", lines(PROGRAMS))
def test_programs(line: str, name: str, small: int) -> None:
    check_line(line, arrays[name], small=small, ulps=4)


INDICES = """
np.nonzero(x)
x.nonzero()
np.where(x)
np.nonzero(x.T)
np.nonzero(x[::-1, ::2])
np.nonzero(x.reshape(4, 5, -1))
np.nonzero(x.reshape(-1))
(np.argwhere(x), np.argwhere(x).T)
np.unravel_index(np.flatnonzero(x), x.shape)
np.unravel_index(np.arange(60).reshape(6, 10), (3, 4, 5))
np.tril_indices(30) + np.triu_indices(30, 2)
np.mask_indices(30, np.triu)
"""


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("line", lines(INDICES))
def test_index_arrays_are_copied_where_numpy_copies_them(line):
    """NumPy's are columns of one array, so ``ascontiguousarray`` is a copy of each; the same memory would be written to."""
    found = []
    for module in (numpy, atoll):
        x = module.array(numpy.random.default_rng(3).random((40, 30)) > 0.5)
        parts = eval(line, {"np": module, "x": x})
        found.append([])
        for part in parts:
            dense = module.ascontiguousarray(part)
            dense[0] += 7
            found[-1].append((part.flags.c_contiguous, dense is part, part.tolist()))
    assert found[1] == found[0]


READ_ONLY = """
a[0] = 1
a += 1
np.add(a, 1, out=a)
np.cumsum(a, axis=0, out=a)
a.sort()
a.fill(3)
a.put(0, 1)
np.putmask(a, a > 1, 3)
np.copyto(a, 1)
a.byteswap(True)
a.flat[0] = 1
"""


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("line", lines(READ_ONLY))
def test_writing_to_a_read_only_array_is_numpys_error(line, small):
    said = []
    with config(small=small):
        for module in (numpy, atoll):
            a = module.arange(12.0).reshape(3, 4)
            a.flags.writeable = False
            with pytest.raises(ValueError, match="read-only") as caught:
                exec(line, {"np": module, "a": a})
            said.append((str(caught.value), a.tolist()))
    assert said[0] == said[1]


@pytest.mark.simulated(1, 3)
@pytest.mark.ranks(2)
def test_loops_over_elements_go_on_and_see_what_is_assigned():
    found = []
    for module in (numpy, atoll):
        a = module.arange(12.0).reshape(3, 4)
        f, seen = a.flat, []
        seen += [next(f), f.index, next(f)]
        for k, value in enumerate(f):
            seen.append(value)
            if k == 2:
                a += 1
            if k == 5:
                break
        seen += [f.index, *f, *f, f[2], next(f)]
        line = a.reshape(-1) * 2
        for value in line:
            seen.append(value)
            line[3:5] = value
        found.append([float(value) for value in seen])
    assert found[0] == found[1]


@pytest.mark.parametrize("write", ["sort", "partition", "fill", "buffer"])
def test_a_copy_of_what_numpy_has_computed_is_not_written_to(write):
    """Where errors of floats are raised, NumPy computes at the call, and the array takes over its result, pinned by another cell."""
    elements = numpy.random.default_rng(1).random(50_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a = atoll.array(elements)
        a *= 0.5
        b = a[::-1].copy()
        if write == "buffer":
            memory = memoryview(a)
            a[:] = 3
            del memory
        else:
            getattr(a, write)(*{"sort": (), "partition": (100,), "fill": (3,)}[write])
        assert numpy.array_equal(numpy.array(b), elements[::-1] * 0.5)


def _refused(call, *shape, **options) -> str:
    try:
        call(*shape, **options)
    except ValueError as error:
        return str(error)
    return "done"


def _resizes(np, size):
    """What becomes of arrays that others know, when they are to have another size."""
    outcomes = []
    for user in (
        lambda a: a[1:], lambda a: a.T, lambda a: a.data, numpy.asarray, weakref.ref, lambda a: a + 1,
        lambda a: a.copy(), lambda a: a[a > 3], lambda a: np.negative(a, out=a) is a, lambda a: list(a[:3]),
    ):  # fmt: skip
        a = np.arange(float(size))
        known = [user(a)]
        outcomes.append((_refused(a.resize, size + 3), a.shape))
        outcomes.append((_refused(a.resize, 2, a.size // 2), a.shape))
        known.clear()
        outcomes.append((_refused(a.resize, size + 4), a.shape, a[-6:].tolist()))
        known = [a[1:]]
        outcomes.append((_refused(a.resize, size, refcheck=False), a.shape))
    base = np.arange(float(size))
    for part in (base[1:], base[::2], base.reshape(2, -1).T, np.frombuffer(bytearray(16))):
        outcomes.append(_refused(part.resize, size + 1))
        outcomes.append(_refused(part.resize, 1, part.size))
    base.resize(2, size // 2, refcheck=False)
    base[0, 1] = -1
    outcomes.append(base.T.base is base)
    for shape in ((3, 2), (3, size), (2, 1)):
        columns = np.array(np.arange(float(size)).reshape(2, -1), order="F")
        columns.resize(shape, refcheck=False)
        outcomes.append((columns.tolist(), columns.strides, columns.base is None))
    for change in (lambda a: setattr(a, "shape", (2, -1)), lambda a: setattr(a, "dtype", "i8")):
        changed = np.zeros(size)
        change(changed)
        outcomes.append((changed.base is None, changed.flags.owndata, changed[:1].base is changed))
    return outcomes


@pytest.mark.parametrize("size", [8, 10_000, 100_000])
def test_only_arrays_that_nobody_else_knows_get_another_size(size):
    assert _resizes(atoll, size) == _resizes(numpy, size)


def test_another_shape_of_the_same_size_stays_the_same_memory():
    for size in (8, 100_000):
        a = atoll.zeros(size)
        part = a[1:]
        a.resize(2, size // 2)
        a[0, 1] = 7
        assert part[0] == 7


VIEWING = [
    lambda a: a[1:], lambda a: a.T, lambda a: a[1:][2:], lambda a: a.reshape(2, -1), lambda a: a.view("i8"),
    lambda a: a.ravel(), numpy.asarray, lambda a: a.data, lambda a: a.ctypes.data_as(ctypes.c_void_p),
]  # fmt: skip


def _end_arrays():
    """When arrays end, those end that have waited for their views."""
    for _ in range(5):
        atoll.ones(3)


@pytest.mark.skipif(native is None, reason="views of the Python front do not hold their base")
@pytest.mark.parametrize("size", [8, 10_000, 100_000])
@pytest.mark.parametrize("view", VIEWING)
def test_a_base_lives_as_long_as_its_views(view, size):
    ended = []
    a = atoll.arange(float(size))
    known = weakref.ref(a)
    weakref.finalize(a, ended.append, 1)
    part = view(a)
    del a
    assert known() is not None
    assert not ended
    if isinstance(part, atoll.ndarray) and not isinstance(part, type(numpy.empty(0))):
        assert part.base is known()
    known()[3] = 99
    again = known()
    del part
    assert again[3] == 99
    assert known() is again
    del again
    _end_arrays()
    assert known() is None
    assert ended


@pytest.mark.skipif(native is None, reason="views of the Python front do not hold their base")
@pytest.mark.parametrize("size", [8, 100_000])
def test_bases_end_with_the_last_of_many_views(size):
    class Kept(atoll.ndarray):
        pass

    bases, parts = [], []
    for k in range(50):
        base = atoll.ones(size) * k
        base = base.view(Kept) if k % 2 else base
        bases.append(weakref.ref(base))
        parts.append((base[1:], base[:2]))
    del base
    assert all(known() is not None for known in bases)
    del parts[::2]
    _end_arrays()
    assert sum(known() is not None for known in bases) == 25
    copies = [weakref.ref(part[0].copy()) for part in parts]
    del parts[:]
    _end_arrays()
    assert not any(known() is not None for known in bases + copies)


@pytest.mark.parametrize("size", [8, 100_000])
@pytest.mark.parametrize("know", [lambda a: a[2:].base is a, weakref.ref])
def test_an_exception_passes_an_array_that_its_views_outlive(size, know):
    """The array ends on the stack of the line that raises."""
    known = []

    def shown(a):
        known.extend([a[2:], know(a)])
        return a

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            print(shown(atoll.ones(size) + 1), 1 // 0)
        assert known[0][0] == 2
        known.clear()
