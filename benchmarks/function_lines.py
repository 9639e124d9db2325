"""The lines that ``functions.py`` measures, one expression or statement each."""

EXPRESSIONS = """
~m
m & k
m | k
m ^ k
m == k
np.logical_not(x)
np.logical_and(x, m)
np.isnan(x)
np.isfinite(x)
np.isinf(s)
np.signbit(x)
x > 0.5
x == y
i > 500
s > y
(x > 0.2) & (x < 0.7)
u != 7
np.count_nonzero(m)
np.count_nonzero(x)
np.count_nonzero(x > 0.5)
np.count_nonzero(b, axis=0)
np.count_nonzero(b, axis=1)
m.sum()
m.mean()
b.sum(axis=0)
b.sum(axis=1)
m.any()
none.any()
m.all()
every.all()
np.any(x)
np.all(x)
b.any(axis=0)
b.any(axis=1)
b.all(axis=1)
(x > 2).any()
np.nonzero(m)
np.nonzero(few)
np.nonzero(b)
np.flatnonzero(m)
np.argwhere(few)
np.nonzero(x)
np.where(m)
np.where(m, x, y)
np.where(m, x, 0)
x[m]
x[few]
a[b]
np.extract(few, x)
np.compress(few, x)
x[few].sum()
np.repeat(x, 2)
np.repeat(x, 3)
np.repeat(m, 2)
np.repeat(a, 2, axis=0)
np.repeat(a, 2, axis=1)
np.tile(x, 2)
np.tile(a, (2, 2))
x.astype("f4")
x.astype("i8")
x.astype("i4")
x.astype("c16")
s.astype("f8")
i.astype("f8")
i.astype("i4")
i.astype("u1")
i.astype("?")
u.astype("i8")
u.astype("f8")
m.astype("f8")
m.astype("i8")
m.astype("u1")
x.astype("?")
z.astype("c8")
h.astype("f8")
x.astype("f2")
x.copy()
m.copy()
a.T.copy()
a[::2].copy()
a[:, ::2].copy()
x[::-1].copy()
x[::3].copy()
-x
abs(x)
abs(i)
abs(z)
x + y
x - 1
x * 2
x / y
x ** 2
x ** 3
x ** 0.5
x // 0.3
x % 0.3
i + 1
i * i
i // 7
i % 7
i >> 2
i & 255
i ** 2
u + u
u * 3
s + s
s * 2
z + z
z * z
z / w
z.real
z.imag
z.conj()
np.conj(z)
np.angle(z)
np.sqrt(x)
np.square(x)
np.exp(x)
np.log(x)
np.sin(x)
np.cos(x)
np.tan(x)
np.tanh(x)
np.arctan2(x, y)
np.hypot(x, y)
np.exp(s)
np.sin(s)
np.floor(x)
np.rint(x)
np.round(x, 2)
np.sign(x)
np.sign(i)
np.maximum(x, y)
np.minimum(x, 0.5)
np.clip(x, 0.2, 0.8)
np.clip(i, 10, 500)
np.nan_to_num(x)
np.power(x, y)
np.gcd(i, 12)
x.sum()
x.mean()
x.std()
x.var()
x.min()
x.max()
x.prod()
x.argmin()
x.argmax()
s.sum()
s.min()
s.argmax()
i.sum()
i.min()
i.argmin()
u.sum()
u.max()
h.sum()
h.max()
h.argmin()
m.argmax()
few.argmax()
z.sum()
np.ptp(x)
np.median(x)
np.nansum(x)
np.nanmax(x)
np.nanmean(x)
np.average(x, weights=y)
np.linalg.norm(x)
np.linalg.norm(a, axis=1)
a.sum(axis=0)
a.sum(axis=1)
a.mean(axis=0)
a.std(axis=0)
a.std(axis=1)
a.min(axis=0)
a.min(axis=1)
a.argmin(axis=0)
a.argmin(axis=1)
a.argmax(axis=0)
a.T.argmax(axis=0)
a.prod(axis=0)
np.cumsum(x)
np.cumsum(i)
np.cumsum(m)
np.cumprod(x)
np.cumsum(a, axis=0)
np.cumsum(a, axis=1)
np.maximum.accumulate(x)
np.add.accumulate(s)
np.diff(x)
np.diff(a, axis=0)
np.diff(a, axis=1)
np.gradient(x)
np.convolve(x, t)
np.interp(x, t, t)
np.concatenate([x, y])
np.stack([x, y])
np.stack([x, y], axis=1)
np.vstack([a, a])
np.hstack([a, a])
np.split(x, 4)
np.roll(x, 3)
np.roll(a, 3, axis=1)
np.flip(a, 1).copy()
np.rot90(a).copy()
np.pad(a, 1)
np.append(x, 1.0)
np.ravel(a.T)
a.T.reshape(-1)
a.T + a
a + a[0]
a * a[:, :1]
np.outer(t, t)
np.tril(a)
np.triu(a)
np.trace(a)
np.diagonal(a).sum()
np.eye(1000)
np.zeros(n)
np.ones(n)
np.full(n, 2.5)
np.arange(n)
np.arange(n, dtype="f8")
np.linspace(0, 1, n)
np.zeros(n, bool)
np.zeros_like(x)
np.full_like(x, 3)
np.meshgrid(t, t)
np.indices((1000, 1000))
np.sort(x)
np.argsort(t)
np.unique(u)
np.searchsorted(t, x)
np.digitize(x, t)
np.bincount(i)
np.histogram(x, 50)
np.isin(i, [3, 5, 9])
np.isclose(x, y)
np.allclose(x, x)
np.array_equal(x, x)
np.take(x, j)
x[j]
a[j[:1000] % 1000]
np.take_along_axis(a, p, axis=1)
np.choose(u % 2, [x, y])
np.select([x < 0.3, x > 0.6], [x, y], 0.0)
np.einsum("ij,ij->i", a, a)
np.dot(x, y)
a @ a[0]
x.tolist()[:1]
x.tobytes()[:8]
np.unravel_index(5, (1000, 1000))
np.packbits(m)
np.invert(u)
np.bitwise_count(u)
np.fmax(x, y)
np.copysign(x, y)
np.modf(x)
np.frexp(x)
np.divmod(x, 0.3)
np.ldexp(x, 3)
np.heaviside(x, 0.5)
np.float_power(x, 2)
np.cbrt(x)
np.logaddexp(x, y)
np.deg2rad(x)
np.sinc(x)
np.trapezoid(x)
np.percentile(x, 30)
np.cross(v, v)
c + c
c * 3
c == 5
c > 3
c // 7
c << 1
g + g
g * g
g == 5
g // 7
g % 7
e + e
e // 7
e > 7
q + q
q * q
abs(q)
q.sum()
z == w
s == s
s < 0.5
s / 3
np.sqrt(s)
np.where(m, 1.0, 0.0)
np.where(x > 0.5, x, -x)
np.where(u > 7, u, 0)
np.logical_or(m, k)
np.logical_xor(m, k)
c.sum()
c.min()
c.argmax()
g.sum()
g.max()
g.argmax()
e.min()
m.cumsum()
np.cumsum(c)
np.cumsum(s, dtype="f8")
np.cumsum(b, axis=0)
np.cumsum(b, axis=1)
np.cumprod(a, axis=0)
np.cumprod(a, axis=1)
np.maximum.accumulate(a, axis=0)
np.maximum.accumulate(a, axis=1)
np.logical_or.accumulate(m)
a.argmax(axis=1)
a.T.argmin(axis=1)
a.T.sum(axis=0)
a.T.sum(axis=1)
a.T.min(axis=0)
a.T.min(axis=1)
a.max(axis=0)
a.any(axis=1)
b.argmax(axis=1)
b.mean(axis=0)
np.count_nonzero(a > 0.5, axis=1)
np.count_nonzero(s > 0.5)
np.count_nonzero(u > 5)
np.sort(a, axis=0)
np.sort(a, axis=1)
np.sort(s)
np.argsort(a, axis=1)
np.partition(x, 1000)
np.argpartition(x, 1000)
np.gradient(a, axis=0)
np.gradient(a, axis=1)
np.diff(x, 2)
np.trapezoid(a, axis=0)
np.roll(a, 3, axis=0)
np.roll(a, (1, 2), axis=(0, 1))
np.take(a, j[:1000] % 1000, axis=0)
np.take(a, j[:1000] % 1000, axis=1)
np.put_along_axis(a.copy(), p, 0.0, axis=1)
np.place(x.copy(), few, 0.0)
np.putmask(x.copy(), few, 0.0)
np.copyto(x.copy(), y, where=m)
np.tensordot(a, a, 1)
np.einsum("ij,jk->ik", a, a)
np.einsum("ij->j", a)
np.einsum("ii", a)
np.inner(a, a[0])
np.vdot(z, w)
np.fft.fft(x)
np.fft.rfft(a, axis=1)
np.kron(a[:30, :30], a[:30, :30])
np.pad(a, 2, mode="edge")
np.pad(a, 2, mode="reflect")
np.pad(a, 2, mode="wrap")
np.delete(x, 5)
np.insert(x, 5, 1.0)
np.swapaxes(a, 0, 1).copy()
np.moveaxis(v, 0, 1).copy()
np.histogram2d(x, y, 20)
np.bincount(i, weights=x)
np.add.at(x.copy(), i, 1.0)
np.add.reduceat(x, [0, 10, 500])
np.quantile(a, 0.3, axis=0)
np.nanvar(x)
np.corrcoef(v.T)
np.cov(v.T)
np.unwrap(x)
np.unpackbits(u)
np.array_split(x, 7)
np.block([[a, a], [a, a]])
np.union1d(u, u)
np.intersect1d(c, c)
"""
"""Expressions over the arrays of ``functions.arrays``."""

CALLS = """
np.zeros(n)
np.zeros((n, 2))
np.ones(n)
np.full(n, 2.5)
np.empty(n)
np.arange(n)
np.arange(0.0, n)
np.linspace(0.0, 1.0, n)
np.zeros_like(x)
np.ones_like(x)
np.empty_like(x)
np.eye(3)
np.array([1.0, 2.0, 3.0])
np.array(x)
np.asarray(x)
np.asarray(p)
np.array(p)
numpy.asarray(x)
numpy.asarray(x + y)
numpy.array(x)
numpy.sum(x)
numpy.sin(x)
numpy.add(p, x)
p + x
x + y
x - y
x * y
x / y
x ** 2
x ** 0.5
x // y
x % y
x + 1.0
2 * x
2.0 * x
1.0 / x
1 - x
f * x
x * f
i + i
i * 2
i // 3
i % 3
x + i
-x
abs(x)
~m
m & m
m | m
x > y
x > 0.5
x == y
i == 3
x.sum() > 0.5
w += 1.0
w -= y
w *= 1.0
w /= 1.0
k += 1
w[:] = x
w[:] = 0.0
np.sum(x)
x.sum()
x.mean()
np.mean(x)
x.std()
np.std(x)
x.min()
x.max()
np.max(x)
np.min(x)
np.amax(x)
x.prod()
a.sum(axis=0)
a.sum(axis=1)
a.sum(0)
np.sum(a, axis=1)
np.sum(a, axis=1, keepdims=True)
a.mean(axis=0)
a.max(axis=1)
np.max(a, axis=0, keepdims=True)
m.any()
m.all()
np.any(m)
np.all(m)
np.any(x > 2.0)
x.argmax()
np.argmax(x)
np.argmin(x)
a.argmax(axis=1)
np.where(m, x, y)
np.where(m, x, 0.0)
np.where(x > 0.5, 1.0, 0.0)
np.where(m)
np.nonzero(m)
np.flatnonzero(m)
np.count_nonzero(m)
np.clip(x, 0.2, 0.8)
x.clip(0.2, 0.8)
np.minimum(x, y)
np.maximum(x, 0.0)
np.maximum(0.0, x)
np.dot(x, y)
x.dot(y)
x @ y
a @ a.T
a.T @ x2
np.outer(t, t)
np.inner(x, y)
np.vdot(x, y)
np.cross(t3, t3)
np.einsum("i,i->", x, y)
np.tensordot(x, y, 1)
x.reshape(2, -1)
np.reshape(x, (2, -1))
a.ravel()
np.ravel(a)
a.flatten()
a.T
a.transpose()
np.transpose(a)
x.copy()
np.copy(x)
x.astype("f4")
x.astype(int)
x.astype(float)
i.astype(float)
x.shape
x.size
x.ndim
x.dtype
a.shape[0]
len(x)
x[3]
x[-1]
i[3]
a[1, 1]
a[1][1]
x[1:-1]
x[::2]
a[1]
a[:, 1]
a[1, :]
a[1:, :1]
a[None]
x[:, None]
x[..., 0]
x[m]
x[j]
x[[1, 2, 3]]
a[j2, 0]
a[j2]
x[x > 0.5]
w[3] = 1.0
w[3] = x[3]
w[3] += 1.0
b[1] = 0.0
b[1] = x2[:2]
b[1, 1] = 2.0
b[1, 1] += 2.0
b[:, 1] = 3.0
b[1] += 1.0
w[1:-1] = x[1:-1]
w[1:-1] += x[1:-1]
w[m] = 0.0
w[m] = x[m]
w[j] = 0.0
w[j] = x[j]
w[j] += 1.0
w[x > 2.0] = 0.0
np.concatenate([x, y])
np.concatenate((a, a), axis=1)
np.stack([x, y])
np.vstack([x, y])
np.hstack([x, y])
np.column_stack([x, y])
np.append(x, 1.0)
np.tile(t, 2)
np.repeat(t, 2)
np.roll(x, 1)
np.flip(x)
np.pad(t, 1)
np.split(x, 2)
np.expand_dims(x, 0)
np.squeeze(x)
np.sort(x)
np.argsort(x)
x.argsort()
np.unique(i)
np.searchsorted(x, 0.5)
np.bincount(i)
np.isin(i, [1, 3])
np.cumsum(x)
x.cumsum()
np.cumprod(x)
np.diff(x)
np.gradient(x)
np.trapezoid(x)
np.interp(0.5, x, y)
np.polyval([1.0, 2.0], x)
np.median(x)
np.percentile(x, 50)
np.var(x)
np.ptp(x)
np.average(x)
np.linalg.norm(x)
np.linalg.norm(t3)
np.linalg.solve(s, s3)
np.linalg.inv(s)
np.linalg.det(s)
np.sin(x)
np.exp(x)
np.sqrt(x)
np.log(x)
np.abs(x)
np.floor(x)
np.power(x, 2)
np.hypot(x, y)
np.arctan2(x, y)
np.isnan(x)
np.isfinite(x)
np.sign(x)
np.round(x, 2)
x.round(2)
np.add(x, y)
np.multiply(x, 2.0)
np.add(x, y, out=w)
np.add(x, y, w)
np.multiply(x, 2.0, out=w)
np.sin(x, out=w)
np.clip(x, 0.2, 0.8, out=w)
np.sum(a, axis=0, out=o)
np.dot(a, o2, out=o3)
np.add(x, y, where=m, out=w)
np.copyto(w, x)
np.add.reduce(x)
np.add.accumulate(x)
np.subtract.outer(t, t)
np.add.at(w, j, 1.0)
np.sum(x * y)
np.sqrt(np.sum(x * y))
np.sum((x - y) ** 2)
np.sqrt(((x - y) ** 2).sum())
np.exp(-x).sum()
np.abs(x - y).max()
x.sum() / n
float(x[0])
float(x.sum())
x.item(0)
x.tolist()
o.tolist()
float(x.max())
np.isclose(f, 1.0)
np.allclose(x, y)
np.array_equal(x, y)
np.isscalar(f)
np.sin(0.5)
np.sqrt(2.0)
np.sqrt(f)
np.exp(f)
np.abs(-0.5)
np.floor(0.5)
np.maximum(1.0, 2.0)
np.float64(0.5)
np.int64(3)
np.pi * 2
np.array(0.5)
np.min([1.0, 2.0])
np.sum([1.0, 2.0])
np.dot([1.0, 2.0], [3.0, 4.0])
x.fill(0.5)
x.all()
for v in t: v
for v in a: v
list(t)
sum(t)
for v in zip(t, t): v
for v, u in enumerate(t): u
0.5 in t
if x is None: pass
isinstance(x, np.ndarray)
str(x.dtype)
r.random(n)
r.random()
r.normal(0.0, 1.0, n)
r.normal()
r.integers(0, 10, n)
r.integers(0, 10)
np.random.rand(n)
np.random.random()
np.random.randn(n)
np.random.randint(0, 10)
np.random.normal(size=n)
r.choice(x)
r.permutation(t)
"""
"""What programs call on arrays of ``n`` elements."""

ROWS = """
g[5]
g[5, :]
g[:, 7]
g[5, 7]
g[5][7]
g[3:5]
g[1:5, 1:5]
g[5] = 1.0
g[5] = row
g[5, :] = row
g[:, 7] = row
g[5, 7] = 1.5
g[5] += 1.0
g[5] += row
g[5] *= 1.0
g[5, 7] += 1.0
g[5, 7] = g[5, 6]
g[1:5, 1:5] = 0.0
g[5] = g[6]
g[5] = 2.0 * g[6]
g[5], g[6] = g[6].copy(), g[5].copy()
g[[5, 6]] = g[[6, 5]]
g[5] + g[6]
g[5] * 2.0
g[5] - row
g[5] > 0.5
-g[5]
np.sin(g[5])
np.exp(g[:, 7])
np.abs(g[5])
np.maximum(g[5], 0.0)
np.sqrt(g[5])
g[5].sum()
g[5].mean()
g[5].max()
g[:, 7].sum()
g[5].argmax()
np.sum(g[5])
np.sum(g[5] * g[6])
np.dot(g[5], g[6])
g[5] @ g[6]
g[5, :10] @ g[:10, 7]
np.linalg.norm(g[5])
g[5].copy()
g[5].any()
np.any(g[5] > 2.0)
np.argmax(g[5])
np.where(g[5] > 0.5)
np.where(g[5] > 0.5, g[5], 0.0)
np.clip(g[5], 0.2, 0.8)
np.cumsum(g[5])
np.diff(g[5])
np.sort(g[5])
np.argsort(g[5])
np.concatenate([g[5], g[6]])
np.array(g[5])
np.asarray(g[5])
numpy.asarray(g[5])
numpy.asarray(g)
numpy.sum(g[5])
float(g[5, 7])
int(g[5, 7])
g[5].tolist()
g[5, 7].item()
g.item(5, 7)
g[5].reshape(20, -1)
g[5].astype("f4")
g[j]
g[j, 7]
g[j, j]
g[5][j]
g[5, 1:-1] - g[5, :-2]
g[5, 1:-1] = g[4, 1:-1]
g[5, 1:-1] = (g[4, 1:-1] + g[6, 1:-1]) / 2
np.add(g[5], g[6], out=row)
np.add(g[5], g[6], out=g[7])
np.copyto(g[5], row)
g.shape
g.T
g.ravel()
g.reshape(-1)
g[5].shape
g.size
len(g)
for v in g[:10]: v
for v in g[5, :10]: v
"""
"""What they call on parts of a computed matrix of 500 rows."""
