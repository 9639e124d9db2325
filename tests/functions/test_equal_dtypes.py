"""``longlong`` equals ``long`` where both have 64 bits, but it is another dtype: results keep it where NumPy's do."""

from __future__ import annotations

import warnings

import numpy
import pytest

import atoll
from atoll.config import config

from .oracle import lines

EXPRESSIONS = """
q
q + q
q + l
l + q
q + 1
1 + q
q * i4
i4 + q
q + u8
q + Q
Q + L
Q + 1
Q * Q
q // 2
q % 2
q ** 2
q << 1
q & q
q & l
-q
+q
abs(q)
~q
q.copy()
q.ravel()
q[1:]
q[::2]
q[[0, 1]]
q[q > 1]
q[0]
q.T
q.reshape(2, -1)
q.astype('q')
q.astype('l')
l.astype('q')
l.astype('q', copy=False)
q.astype('l', copy=False)
q.astype(np.longlong)
q.astype(np.int64)
q.astype(int)
q.astype('i8')
l.astype(np.dtype('q'))
q.astype('d').astype('q')
q.sum()
q.sum(0)
q.prod()
q.max()
q.min(0)
q.cumsum()
q.cumprod()
q.mean()
q.argmax()
q.sum(dtype='q')
l.sum(dtype='q')
l.sum(dtype=np.longlong)
b.sum(dtype='q')
l.cumsum(dtype='q')
q.reshape(2, -1).sum(0)
q.reshape(2, -1).max(1)
np.add.reduce(q)
np.add.reduce(q.reshape(2, -1))
np.add.accumulate(q)
np.add.outer(q, q)
np.add(q, l, dtype='q')
np.add(l, l, dtype='q')
np.multiply(l, 2, dtype=np.longlong)
np.add(q, q, out=l.copy())
np.add(l, l, out=q.copy())
np.zeros(n, 'q')
np.zeros(n, np.longlong)
np.ones(n, 'q')
np.empty(n, 'q')
np.full(n, 3, 'q')
np.full(n, q[0])
np.arange(n, dtype='q')
np.arange(np.longlong(n))
np.arange(0, np.longlong(n))
np.zeros_like(q)
np.ones_like(q)
np.empty_like(q)
np.full_like(q, 2)
np.zeros_like(l, dtype='q')
np.array(q)
np.asarray(q)
np.asarray(q, 'q')
np.asarray(q, 'l')
np.asarray(l, 'q')
np.array(l, 'q')
np.array(l, dtype=np.longlong)
np.array(nq)
np.asarray(nq)
np.array([1, 2, 3], 'q')
np.ascontiguousarray(q)
np.where(q > 1, q, q)
np.where(q > 1, q, l)
np.where(q > 1, l, q)
np.where(q > 1, q, 0)
np.concatenate([q, q])
np.concatenate([q, l])
np.concatenate([l, q])
np.stack([q, q])
np.hstack([l, q])
np.append(q, 1)
np.clip(q, 0, 3)
q.clip(0, 2)
np.maximum(q, l)
np.maximum(l, q)
np.minimum(q, 3)
np.sort(q)
np.argsort(q)
np.unique(q)
np.take(q, [0, 1])
np.repeat(q, 2)
np.tile(q, 2)
np.roll(q, 1)
np.flip(q)
np.diff(q)
np.dot(q, q)
np.dot(q.reshape(2, -1), q.reshape(2, -1).T)
q @ q
np.cumsum(q)
np.square(q)
np.sign(q)
np.absolute(q)
np.negative(q)
np.gcd(q, l)
np.left_shift(q, 1)
np.bitwise_and(q, l)
np.invert(Q)
np.divmod(q, 2)[0]
np.round(q)
np.real(q)
q.real
q.imag
q.conj()
q.view('l')
l.view('q')
q.view('Q')
q.flatten()
np.broadcast_to(q, (2, n))
np.meshgrid(q, l)[0]
np.pad(q, 1)
np.insert(q, 0, 1)
np.delete(q, 0)
np.sum(q)
np.sum(b, dtype=np.longlong)
np.count_nonzero(q)
np.nonzero(q)[0]
np.result_type(q, l)
np.promote_types('q', 'l')
np.median(q)
np.percentile(q, 50)
np.trace(q.reshape(2, -1))
np.diag(q[:3])
np.eye(3, dtype='q')
np.linspace(0, 5, 6, dtype='q')
np.indices((2, 3), dtype='q')
np.tri(3, dtype='q')
np.fromfunction(lambda i: i, (n,), dtype='q')
np.frombuffer(nq.tobytes(), 'q')
np.searchsorted(q, q)
np.bincount(q)
np.histogram(q)[0]
np.interp(q, q, q)
np.select([q > 1], [q], 0)
np.choose(b.astype(int), [q, l])
np.einsum('i->i', q)
np.einsum('i,i->i', q, q)
np.inner(q, q)
np.outer(q, q)
np.cross(q[:3], q[:3])
np.ptp(q)
np.compress(b, q)
np.extract(b, q)
np.take_along_axis(q, l, 0)
np.partition(q, 1)
np.lexsort((q, l))
np.triu(q.reshape(2, -1))
np.vander(q[:3])
q == l
q + np.longlong(1)
l + np.longlong(1)
np.longlong(1) + l
q + np.int64(1)
np.int64(1) + q
i4 + np.longlong(1)
i4 * np.int64(1)
np.add(l, np.longlong(1))
q.item(0)
q.max(initial=0)
q.sum(where=b)
np.copy(q)
q.byteswap()
np.bitwise_count(q)
np.negative(q, out=q.copy())
s['x']
np.moveaxis(q.reshape(2, -1), 0, 1)
np.array_split(q, 2)[0]
np.nan_to_num(q)
np.isin(q, l)
np.union1d(q, l)
np.ediff1d(q)
np.gradient(q)
np.convolve(q, q[:3])
np.correlate(q, q[:3])
np.vdot(q, q)
np.kron(q[:3], l[:2])
np.trim_zeros(q)
np.reshape(q, (2, -1))
(q + q)[1:]
(q * 2 + l)
(l + q) * 2
q.reshape(2, -1) + q[:n // 2]
P.copy()
P + p
p + 1
p.sum()
"""
PROGRAMS = """
x = q.copy(); x += 1; r = x
x = q.copy(); x += l; r = x
x = l.copy(); x += q; r = x
x = l.copy(); x[:] = q; r = x
x = q.copy(); x[:3] = l[:3]; r = x
x = np.zeros(n, 'q'); x[1:] = l[1:]; r = x
x = np.zeros(n, 'q'); x[:] = l; r = x + x
x = l.copy(); np.copyto(x, q); r = x
x = np.zeros(n, 'l'); np.add(q, q, out=x); r = x
x = np.zeros(n, 'q'); np.add(l, l, out=x); r = x
x = np.zeros(n, 'q'); np.sum(l.reshape(2, -1), 0, out=x[:n//2]); r = x
x = q.copy(); x.dtype = 'l'; r = x
x = q.copy(); x[x > 1] = 0; r = x
x = np.asarray(q); r = x
x = l; x = x.astype('q'); r = x * 2
x = np.empty(n, 'q'); x.fill(3); r = x
r = [v for v in q][0]
r = next(iter(q))
r = q.flat[0]
r = q.flat[:2]
x = q.copy(); x.sort(); r = x
x = q; y = l; r = (x + y) + (y + x)
x = q.reshape(2, -1); r = x[0]
x = q.reshape(2, -1); x[0] += 1; r = x
for k in range(4): r = q + l
for k in range(4): r = l + q
for k in range(4): r = (q if k % 2 else l) + 1
for k in range(4): r = (l if k % 2 else q) + 1
for k in range(4): r = np.zeros(n, 'lq'[k % 2]) + 1
for k in range(4): r = np.zeros(n, 'ql'[k % 2]) + 1
for k in range(4): r = np.zeros(n, 'ql'[k % 2]).sum()
for k in range(4): r = np.zeros(n, 'lq'[k % 2])[1:]
for k in range(4): r = -np.zeros(n, 'lq'[k % 2])[1:]
for k in range(4): r = np.arange(n, dtype='lq'[k % 2]).copy()
for k in range(4): r = np.arange(n, dtype='ql'[k % 2]).max()
"""
"""Programs that make ``r``; loops meet the two dtypes in turns."""


def character(np, line, n):
    names = {
        "np": np, "n": n, "q": np.array(numpy.arange(n).astype("q")), "l": np.arange(n), "b": np.arange(n) % 2 == 0,
        "i4": np.arange(n).astype("i4"), "u8": np.arange(n).astype("u8"), "Q": np.array(numpy.arange(n).astype("Q")),
        "L": np.array(numpy.arange(n).astype("L")), "s": np.array(numpy.zeros(n, [("x", "q")])),
        "P": np.array(numpy.arange(n).astype("P")), "p": np.array(numpy.arange(n).astype("p")),
        "nq": numpy.arange(n).astype("q"),
    }  # fmt: skip
    if line.startswith(("x =", "r =", "for")):
        exec(line, names)
        result = names["r"]
    else:
        result = eval(line, names)
    kind = getattr(result, "dtype", result)
    return kind.char if isinstance(kind, numpy.dtype) else type(result).__name__


@pytest.mark.parametrize(("n", "small"), [(6, 30_000), (6, 0), (6_000, 30_000), (40_000, 30_000)])
@pytest.mark.parametrize("line", lines(EXPRESSIONS) + lines(PROGRAMS))
def test_longlong_stays(line, n, small):
    if n > 6 and ("outer" in line or "meshgrid" in line):
        pytest.skip("the result would be too large")
    with config(small=small), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert character(atoll, line, n) == character(numpy, line, n)


@pytest.mark.simulated(1, 2, 3)
def test_longlong_stays_on_ranks(rank):
    a = atoll.arange(12)
    q = a.astype("q")
    for result in (
        q,
        q + a,
        a + q,
        q[1:],
        q.sum(),
        atoll.zeros(12, "q"),
        atoll.concatenate([a, q]),
    ):
        assert result.dtype.char == "q"
    assert (q + a).tolist() == (a * 2).tolist()
    assert a.dtype.char == (a + 1).dtype.char == "l"
