"""Statements and short programs as users write them around one array, on ranks and in other layouts, against NumPy:
views of views, masks, outputs, files, classes, copies."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy
import pytest

import atoll
from atoll.comm import simulated

from .comparison import same

pytestmark = [pytest.mark.usefixtures("by_numpy"), pytest.mark.filterwarnings("ignore")]

LINES = """
a[1:][m[1:]] = 5
a.T[m.T] += 1
a.reshape(-1)[m.ravel()] = -1
a[::2][m[::2]] *= 2
z.real[m] = 7
z.imag[m] = z.real[m] + 1
a[m] = a.T.copy().T[m] * 2
a[m] = a[::-1][m]
a[m] = a.ravel()[m.ravel()] + 1
a.flat[m.ravel()] = 3
b = a[m]; b[0] = 99; a[m] = b
a[m & (a > 20)] = a[m & (a > 20)].mean()
a[:, 2].sort()
a.T.sort()
a[::2].sort(axis=0)
a[::-1, ::-1].sort()
a.reshape(-1)[5:50].sort()
np.copyto(a[1:], a[:-1])
a[1:] += a[:-1]
a[:-1] -= a[1:]
a[::2] = a[1::2]
a[:, :-1] -= a[:, 1:]
a[:, ::2], a[:, 1::2] = a[:, 1::2].copy(), a[:, ::2].copy()
a[2:5, 3:7] = a[4:7, 1:5]
a.T[1:3] = a[:, 4:6].T
a.reshape(10, 12)[3] = a[:, 0]
a.reshape(-1)[::7] = 0; a.reshape(5, 24)[2] += a.reshape(5, 24)[3]
w = a.reshape(5, 24)[1:4, ::3]; w += 100; a[0] = w[0, 0]
w = a.T.reshape(-1); w[:] = 0
w = a.T[2:8].T[1:]; w[w > 30] = 0; w[0] = w[1]
w = a[:, None, :].squeeze(); w[3] = 1
w = a[..., ::-1].swapaxes(0, 1)[2:5, ::2]; w -= w.mean(0); w[1] = 8
w = np.diagonal(a); a[0] = w
w = a.ravel('F'); w[3] = -1
w = a.ravel('K'); w[3] = -1
w = a.T.ravel('K'); w[3] = -1
w = a.view('i8'); w[m] = 0
w = z.view('f8'); w[:, ::2] = 0
w = z.view('f8').reshape(12, 10, 2)[..., 1]; w[m] = 4
np.add(a[1:], a[:-1], out=a[1:])
np.add(a, a.T[:10].T[:, :10], out=a)
np.sum(a, 1, out=a[:, 3])
np.cumsum(a, 0, out=a)
np.cumsum(a[:, 1], out=a[:, 2])
np.take(a, [3, 1], 0, out=a[5:7])
np.clip(a[::2], 5, 20, out=a[::2])
np.multiply(a, 2, out=a, where=m)
np.multiply(a[1:], 2, out=a[1:], where=m[1:])
np.divide(a, a - 3, out=np.zeros_like(a), where=a != 3)
np.add.at(a.T, (i[:4], i[:4]), 1)
np.add.at(a[::2], i[:4] % 6, 1)
np.subtract.at(a.reshape(-1), i, 2)
np.put(a.T, [1, 2, 3], [7, 8, 9])
np.put(a[1:], i, 5)
np.place(a, m, [1, 2, 3])
np.putmask(a[1:], m[1:], 4)
np.put_along_axis(a[:, 2:], a[:, 2:].argmin(1)[:, None], 0, 1)
np.fill_diagonal(a[1:, 1:], 7)
np.fill_diagonal(a.T, 7, wrap=True)
a[i[:3], i[3:6]] = a[i[3:6], i[:3]]
a[i[:3]] += a[i[3:6]]
a[:, i[:3]] = a[:, i[3:6]]
a[2:8, i[:3]] *= 3
a[i[:3], 2:5] = 1
a[[[1, 2], [3, 4]]] = a[[[5, 6], [7, 8]]]
a[i % 12, i % 10] = np.arange(i.size)
a[a.argmax(0), np.arange(10)] = -5
a[np.arange(12), a.argmin(1)] = 50
a[:, a.min(0) < 3] = a[:, a.min(0) < 3] ** 2
a[1:-1, 1:-1] = (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]) / 4; a[0] = a[1]
a[...] = a[::-1]; a[...] = a[:, ::-1]
a[...] = np.roll(a, 1, 0) + np.roll(a, -1, 1)
a = a[a[:, 1].argsort()]; a[0] = 0
a = np.concatenate([a[:3], a[7:], np.zeros((1, 10))]); a[:, 0] = 1
a = np.where(m, a, -a); a[m] = np.where(a[m] > 10, 1, a[m])
a = np.select([a < 5, m], [a * 2, a * 3], a); a[0, 0] = 5
a = np.array([r * k for k, r in enumerate(a)]); a[1] = 0
a = np.stack([a[:, k] for k in range(4)], 1); a.T[0] = 1
a = np.array([[x.sum(), x.max()] for x in a]); a[0] = 0
a = a.astype('i4'); a //= 3; a[m] |= 1; a ^= 5; a[1] <<= 1
a = a.astype('u1'); a += 250; a[m] -= 200
a = a.astype('f4'); a /= 3; a[1:] += a[:-1] * 0.1
a = (a > 20); a[m] = ~a[m]; a ^= m; a[0] |= True
a = a + 1j * m; a.real[2] = 0; a[1:].imag += 1; a *= 1j
a = a.copy('F'); a[:, 1] = 0; a.T[2] += 1; a = a.reshape(-1, order='F')
a = np.asfortranarray(a)[::2, ::-1]; a[1] = a[2]; a = a.ravel()
a.shape = (10, 12); a[1] = 0; a.T[3] = 5
a.resize((6, 10), refcheck=False); a[1] = 2
a = np.broadcast_to(a[3], (4, 10)).copy(); a[1] = 0
a = np.apply_along_axis(lambda r: r / r.sum(), 1, a + 1); a[0] = 0
a = a @ a.T; a[1, 2:5] = 0; a = a @ a[:, :3]
a = np.array(a.tolist() + [[0] * 10]); a[1] = 3
a = np.fromiter((x for x in a.flat), float, 30) ; a[2] = 0
a = np.frombuffer(a.tobytes()).reshape(10, 12)[1:].copy(); a[0] = 1
a = np.lib.stride_tricks.sliding_window_view(a, (3, 3)).mean((2, 3)); a[0] = 0
a = np.ma.masked_where(m, a).filled(-1); a[0] = 1
a = np.nan_to_num(np.where(m, np.nan, a)); a[2] = 3
a = a[np.ix_([0, 3, 5], [1, 2])]; a[0] = 1
a = np.tril(a) + np.triu(a, 3); a[1] = 2
a = np.take_along_axis(a, np.argsort(-a, 1), 1)[:, :4]; a[0] = 1
a = np.vectorize(lambda x, y: x - y)(a, a[0]); a[3] = 1
x = a[3]; y = a[3:4]; z0 = a.T[:, 3]; x += 1; y *= 2; z0 -= 3
x = a[3, 4]; a[3, 4] = 77; a[0, 0] = x
for r in a: r[r > 20] = 0
for k, r in enumerate(a.T): r += k
for k in range(1, 12): a[k] = a[k - 1] * 0.5 + a[k]
for k in range(9): a[k, k] = a[k + 1, k] + a.flat[k]
for r, q in zip(a[1:], a[:-1]): r -= q
for idx in np.ndindex(3, 2): a[idx] = sum(idx)
for idx, v in np.ndenumerate(a[:2]): a[idx] = -v
"""
"""Statements about ``a`` (12 x 10), a mask ``m``, indices ``i`` and complex numbers ``z``; a table, one a line."""

PROGRAMS = {
    "memmap": """
p = os.path.join(d, 'm')
m = np.memmap(p, dtype=float, mode='w+', shape=(12, 10))
m[:] = a
m.flush()
b = np.array(m)
a[:] = m * 2
r = [b, a, m[3], (m + a).sum(), np.asarray(m).sum()]
""",
    "builtins": """
r = [sum(a[0]), min(a[1]), max(a[2]), any(a[0] > 3), all(a[0] >= 0), sorted(a[0])[:3], len(set(a[1].tolist())), list(reversed(a[0]))[:2], list(map(int, a[0])), dict(enumerate(a[0])), sum(r.sum() for r in a), [*a[0]], tuple(a[0][:2])]
""",
    "bytesio": """
f = io.BytesIO()
np.save(f, a)
np.save(f, a[1])
f.seek(0)
x = np.load(f)
y = np.load(f)
g = io.BytesIO()
np.savez_compressed(g, a, k=a[0])
g.seek(0)
z = np.load(g)
h = io.StringIO()
np.savetxt(h, a[:2], fmt='%d')
r = [x, y, z['arr_0'], z['k'], h.getvalue()]
""",
    "gzip": """
import gzip
p = os.path.join(d, 'x.npy.gz')
f = gzip.open(p, 'wb')
np.save(f, a)
f.close()
f = gzip.open(p)
x = np.load(f)
f.close()
np.savetxt(p + '.gz', a)
r = [x, np.loadtxt(p + '.gz')]
""",
    "rawwrite": """
p = os.path.join(d, 'raw')
f = open(p, 'wb')
f.write(a.tobytes())
f.close()
x = np.fromfile(p)
q = open(p, 'rb')
y = np.frombuffer(q.read(80))
r = [x, y, np.fromfile(q, count=3)]
""",
    "nitersum": """
it = np.nditer([a, a * 2, None]);
for x, y, z in it: z[...] = x + y
r = [it.operands[2], np.array([x for x in np.nditer(a, order='F')]), [tuple(i) for i in np.ndindex(a[:2, :2].shape)]]
""",
    "broadcast": """
b = np.broadcast(a, a[0]); r = [b.shape, [tuple(map(float, x)) for x in list(b)[:3]], np.broadcast_shapes((3, 1), (1, 4)), [x.shape for x in np.broadcast_arrays(a, a[:1])]]
""",
    "subclass": """
class V(np.ndarray):
 def norm(self): return float((self * self).sum()) ** 0.5
 def __array_finalize__(self, o): self.tag = getattr(o, 'tag', 't')
v = a.view(V); v.tag = 'z'; w = v[1:] + 1; r = [v.norm(), w.tag, type(w).__name__, w.norm(), np.asarray(w).sum(), isinstance(v.sum(), float), v.T.tag]
""",
    "dataclass": """
from dataclasses import dataclass, replace
@dataclass
class S:
 u: object
 t: float = 0.0
 def step(self): return replace(self, u=self.u * 0.5 + self.t, t=self.t + 1)
s = S(a)
for _ in range(4): s = s.step()
r = [s.u, s.t, a]
""",
    "recursion": """
def tree(x): return x if len(x) <= 3 else np.concatenate([tree(x[: len(x) // 2]), tree(x[len(x) // 2:])[::-1]])
r = [tree(a)]
""",
    "dictcache": """
c = {}
def f(k):
 if k not in c: c[k] = a[k] ** 2
 return c[k]
r = [f(1), f(1) is f(1), f(2)]; a[1] = 0; r += [f(1), a]
""",
    "tryfinally": """
old = a.copy()
try:
 a[:] = -1; a[20]
except IndexError: a[:] = old
finally: a[0] = 5
r = [a, old]
""",
    "ctx": """
import contextlib
@contextlib.contextmanager
def kept(x):
 s = x.copy()
 try: yield x
 finally: x[...] = s
with kept(a): a *= 0; z = a.sum()
r = [z, a]
""",
    "index_tricks": """
r = [a[..., -1], a[-3:, [1, -1]], a[[True] * 6 + [False] * 6, 1], a[np.newaxis, 2, None, 3:5], a[(slice(None, None, -3), 2)], a[np.array(3)], a[np.array([[1, 2], [3, 4]])].shape, a[:, np.array([1])].shape, a[()].shape, a[1, ...], a[[]], a[np.s_[2:4, ::5]], np.mgrid[0:2, 0:3], np.ogrid[0:2, 0:3][1], np.c_[a[:, 0], a[:, 1]][:2]]
""",
    "zero_d": """
x = a.sum(keepdims=True)
y = np.array(3.0)
y += 1
z = a[2, 3]
z += 1
w = a[2:3, 3:4]
w += 1
r = [x, y, z, a, np.array(a.max()) + 1, np.float64(2) * a[0], 2 ** a[0, :3], a[0] // np.float32(2)]
""",
    "casts": """
i = np.arange(10); i[2] = 7.9; f = np.zeros(3, 'f4'); f[:] = [1, 2, 3]; f += np.float64(0.1); r = [i, f, (i / 2).dtype, (i * 1.0).dtype, np.add(i, 1, dtype='f4'), i.astype('i1').dtype, np.result_type(i, f), (f * 2.5).dtype, (i * np.float32(2)).dtype]
try: i += 0.5; r.append('no')
except TypeError: r.append('cast')
""",
    "savenested": """
p = os.path.join(d, 'n'); np.savez(p, **{'w%d' % k: a * k for k in range(3)}, meta=np.array({'k': 1}, dtype=object)); z = np.load(p + '.npz', allow_pickle=True); r = [sorted(z), z['w2'], z['meta'].item()]
""",
    "appendlog": """
p = os.path.join(d, 'log')
for k in range(3):
 with open(p, 'ab') as f: np.save(f, a * k)
f = open(p, 'rb'); r = [np.load(f) for _ in range(3)] + [f.read()]
""",
    "textlog": """
p = os.path.join(d, 'log')
with open(p, 'w') as f:
 for row in range(3): np.savetxt(f, a[row:row + 1], fmt='%g')
r = [np.loadtxt(p), len(open(p).readlines())]
""",
    "deep": """
import copy
t = {'a': a, 'b': [a[1], (a[2:4],)], 'c': {'d': a.T}}
u = copy.deepcopy(t)
u['a'][0] = -1
u['b'][0][:] = 9
r = [t['a'], u['a'], u['b'][0], u['c']['d'][0]]
""",
    "fieldlike": """
s = np.zeros(12, [('x', float, 3), ('k', int)])
s['x'][:, 0] = a[:, 0]
s['x'][1] = 5
s[2] = ((1, 2, 3), 4)
s['k'] += 2
q = s[s['x'][:, 0] > 20]
r = [s['x'], s['k'], q['x'].shape, s['x'].sum(0)]
""",
}
"""Programs about ``a`` with a folder ``d``; each leaves what it found in ``r``."""


def given(np: Any, maps: str) -> dict[str, Any]:
    a = np.array((numpy.arange(120.0) * 37 % 61).reshape(12, 10))
    if np is atoll and atoll.world.size > 1:
        a = a.redistribute(atoll.Layout((12, 10), maps, size=atoll.world.size))
    return {
        "np": np,
        "numpy": numpy,
        "os": os,
        "io": io,
        "a": a,
        "m": np.array(numpy.arange(120).reshape(12, 10) % 3 == 1),
        "i": np.array([3, 7, 1, 7, 0, 9, 2, 5]),
        "z": np.array(numpy.arange(120.0).reshape(12, 10) * (1 + 2j)),
    }


def line(np: Any, text: str, maps: str) -> list[Any]:
    names = given(np, maps)
    before = names["a"]
    exec(text, names)
    return [numpy.array(one) for one in (names["a"], before, names["z"])]


@pytest.mark.slow
@pytest.mark.parametrize(("maps", "first"), [("bn", 0), ("nc", 1)])
def test_every_other_line(maps, first):
    def ours() -> list[list[Any]]:
        return [line(atoll, text, maps) for text in lines]

    lines = LINES.strip().splitlines()[first::2]
    expected = [line(numpy, text, maps) for text in lines]
    with atoll.config(small=0, everywhere=0):
        for found in simulated.run(3, ours):
            wrong = [
                t
                for t, f, e in zip(lines, found, expected, strict=True)
                if not same(f, e, rounded=True)
            ]
            assert wrong == []


def program(np: Any, name: str, folder: Any) -> Any:
    names = given(np, "bn") | {"d": str(folder)}
    exec(PROGRAMS[name], names)
    return plain(names["r"])


def plain(value: Any) -> Any:
    """A result without arrays of ours."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return numpy.array(value) if isinstance(value, atoll.ndarray) else value


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    ours.mkdir()
    expected = program(numpy, name, theirs)
    with atoll.config(small=0, everywhere=0):
        for found in simulated.run(3, program, atoll, name, ours):
            assert same(found, expected, rounded=True)
