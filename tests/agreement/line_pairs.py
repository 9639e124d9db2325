"""Pairs of lines that differ in what they read, write, or do with it: ranks that run one each have parted."""

import numpy

import atoll
from atoll.comm import simulated
from atoll.errors import DivergenceError

READ = """
u[1:] | u[:-1]
u[::2] | u[1::2]
u[0] | u[1]
u[:, 0] | u[:, 1]
u[::-1] | u[::1]
u[3:9, 2:7] | u[3:9, 3:8]
u[None, 3:5] | u[None, 4:6]
u.T[1:4] | u.T[2:5]
u[1:][1:5] | u[1:][2:6]
u.ravel()[3:9] | u.ravel()[4:10]
u.diagonal() | u.diagonal(0)[::-1]
u.diagonal(1) | u.diagonal(-1)
z.real | z.imag
z.view(float)[:, :3] | z.view(float)[:, 1:4]
u.view(np.int64) | u.view(np.uint64)
u.view(np.int32)[:, ::2] | u.view(np.int32)[:, 1::2]
np.flip(u, 0) | np.flip(u, 1)
np.flipud(u) | np.fliplr(u)
np.rot90(u) | np.rot90(u, 3)
u.swapaxes(0, 1) | u.swapaxes(0, 0)
np.roll(u, 1, 0) | np.roll(u, 1, 1)
np.roll(u, 1) | np.roll(u, 2)
np.lib.stride_tricks.sliding_window_view(v, 3)[::2] | np.lib.stride_tricks.sliding_window_view(v, 3)[1::2]
np.broadcast_to(u[0], (12, 12)) | np.broadcast_to(u[1], (12, 12))
u[[1, 2]] | u[[1, 3]]
u[[1, 2], [3, 4]] | u[[1, 2], [3, 5]]
u[rows([1, 2] * 10)] | u[rows([1, 3] * 10)]
u[w([1, 2] * 10)] | u[w([1, 3] * 10)]
u[[1, 2] * 10] | u[[1, 3] * 10]
u[w(m(3))] | u[w(m(4))]
u[:, m(3)] | u[:, m(4)]
u[u > 3] | u[u >= 4]
u[5, 3] | u[5, 4]
u.item(5) | u.item(6)
u.take([1, 2], 0) | u.take([1, 2], 1)
u.take([1, 2], mode='wrap') | u.take([1, 2], mode='clip')
np.take_along_axis(u, w(rows([[1] * 12])), 0) | np.take_along_axis(u, w(rows([[2] * 12])), 0)
np.compress(m(3), u, 0) | np.compress(m(4), u, 0)
np.extract(w(m(3)), v) | np.extract(w(m(4)), v)
u.flat[3:9] | u.flat[4:10]
u.flat[[1, 2] * 10] | u.flat[[1, 3] * 10]
np.choose(w(rows([0, 1] * 6)), [u, -u]) | np.choose(w(rows([1, 0] * 6)), [u, -u])
np.delete(u, [1, 2], 0) | np.delete(u, [1, 3], 0)
np.delete(u, list(range(20)), None) | np.delete(u, list(range(1, 21)), None)
np.insert(u, [1, 2], 0, 0) | np.insert(u, [1, 3], 0, 0)
np.tril(u, 1) | np.tril(u, 2)
np.triu(u) | np.tril(u)
u.trace(1) | u.trace(2)
np.array_split(u, 3)[0] | np.array_split(u, 3)[1]
np.tile(u, 2) | np.tile(u, (2, 1))
np.repeat(u, 2, 0) | np.repeat(u, 2, 1)
np.pad(u, 1) | np.pad(u, 2)
np.pad(u, ((1, 0), (0, 0))) | np.pad(u, ((0, 1), (0, 0)))
np.pad(u, 1, mode='edge') | np.pad(u, 1, mode='wrap')
np.concatenate([u, u], 0) | np.concatenate([u, u], 1)
np.stack([u, u], 0) | np.stack([u, u], 1)
np.concatenate([u[:3], u]) | np.concatenate([u, u[:3]])
u.copy('F').ravel('K') | u.copy('C').ravel('K')
u.ravel('F') | u.ravel('C')
u.reshape(144, order='F') | u.reshape(144)
u.flatten('F') | u.flatten()
np.array(u, order='F').reshape(-1, order='A') | np.array(u).reshape(-1, order='A')
"""

FOLDED = """
u.sum(0) | u.sum(1)
u.sum(axis=0, keepdims=True) | u.sum(axis=1, keepdims=True).T
u.max(0) | u.min(0)
u.std(0) | u.var(0)
np.add.reduceat(u, [0, 3], 0) | np.add.reduceat(u, [0, 4], 0)
np.add.reduceat(u, list(range(1,12))*2, 0) | np.add.reduceat(u, list(range(11,0,-1))*2, 0)
np.add.accumulate(u, 0) | np.add.accumulate(u, 1)
np.cumsum(u) | np.cumprod(u)
np.cumsum(u, 0, dtype=np.float32) | np.cumsum(u, 0)
u.argmax(0) | u.argmax(1)
np.median(u, 0) | np.median(u, 1)
np.percentile(u, 20, 0) | np.percentile(u, 30, 0)
np.quantile(u, 0.25, 0) | np.quantile(u, 0.5, 0)
np.any(u > 3, 0) | np.all(u > 3, 0)
np.ptp(u, 0) | np.ptp(u, 1)
np.gradient(u, axis=0) | np.gradient(u, axis=1)
np.trapezoid(u, axis=0) | np.trapezoid(u, axis=1)
np.linalg.norm(u, 1) | np.linalg.norm(u, 2)
np.nansum(u, 0) | np.nanmax(u, 0)
np.histogram(u, 5)[0] | np.histogram(u, 6)[0]
np.histogram(u, 5, (0, 3))[0] | np.histogram(u, 5, (0, 4))[0]
np.bincount(i, minlength=20) | np.bincount(i, minlength=21)
np.cov(u) | np.corrcoef(u)
np.cov(u, rowvar=False) | np.cov(u)
np.convolve(v, [1, 2]) | np.convolve(v, [1, 2], 'same')
np.einsum('ij->i', u) | np.einsum('ij->j', u)
np.cross(u[:, :3], u[:, 3:6]) | np.cross(u[:, 3:6], u[:, :3])
np.apply_along_axis(sum, 0, u) | np.apply_along_axis(sum, 1, u)
np.apply_over_axes(np.sum, u, 0) | np.apply_over_axes(np.sum, u, 1)
np.fft.fft(u, axis=0) | np.fft.fft(u, axis=1)
np.fft.fft(u, 8) | np.fft.fft(u, 9)
np.fft.fftshift(u, 0) | np.fft.fftshift(u, 1)
u.sum(where=m(3)) | u.sum(where=m(4))
np.vander(v, 3) | np.vander(v, 4)
np.vander(v, 3) | np.vander(v, 3, increasing=True)
"""

ORDERED = """
np.sort(u, 0) | np.sort(u, 1)
np.sort(u, 0)[::-1] | np.sort(u, 0)
np.argsort(u, 0) | np.argsort(u, 1)
np.partition(u, 3) | np.partition(u, 4)
np.lexsort([v, v]) | np.lexsort([v])
np.unique(i) | np.unique(v)
np.unique(i, return_counts=True)[0] | np.unique(i, return_index=True)[0]
np.union1d(v, [1]) | np.intersect1d(v, [1])
np.isin(v, [1, 2] * 10) | np.isin(v, [1, 3] * 10)
np.sort(u, None) | np.sort(u, 1)
"""

MADE = """
u.astype('f4') | u.astype('f8')
np.add(u, 1, dtype='f4') | np.add(u, 1, dtype='f8')
np.zeros(144) + 1 | np.zeros(145) + 1
np.arange(144) + 1 | np.arange(1, 145) + 1
np.linspace(0, 1, 144) | np.linspace(0, 1, 144, endpoint=False)
np.linspace(0, 1, 144) | np.linspace(0, 1, 145)
np.eye(12, k=1) + u | np.eye(12, k=2) + u
np.indices((12, 12))[0] + u | np.indices((12, 12))[1] + u
np.add(u, u) | np.add(u, u.T)
np.less(u, 2) | np.greater(u, 2)
np.where(u > 2, u, 0) | np.where(u > 2, 0, u)
np.sin(u) | np.cos(u)
np.modf(u)[0] | np.modf(u)[1]
np.meshgrid(v, v)[0] | np.meshgrid(v, v)[1]
np.meshgrid(v, v, indexing='ij')[0] | np.meshgrid(v, v)[0]
"""

WRITTEN = """
u[1:] = 0 | u[:-1] = 0
u[::2] = 0 | u[1::2] = 0
u[2, 3] = 0 | u[2, 4] = 0
u[:6] += 1 | u[6:] += 1
u.reshape(-1)[:50] = 0 | u.reshape(-1)[50:100] = 0
u.reshape(-1)[::2] = 0 | u.reshape(-1)[1::2] = 0
a = u.reshape(-1); a[:72] = 0 | a = u.reshape(-1); a[72:] = 0
a = u.reshape(-1); a[:72] = v[0] | a = u.reshape(-1); a[72:] = v[0]
a = u.reshape(-1); a[:72] *= 2 | a = u.reshape(-1); a[72:] *= 2
a = u.reshape(6, 24); a[:3] = 1 | a = u.reshape(6, 24); a[3:] = 1
a = u.reshape(6, 24); a[:, 3] = 1 | a = u.reshape(6, 24); a[:, 4] = 1
a = u.reshape(6, 24); a[3, 4] = 1 | a = u.reshape(6, 24); a[4, 4] = 1
a = u.reshape(6, 24); a[[3, 4]] = 1 | a = u.reshape(6, 24); a[[3, 5]] = 1
a = u.reshape(6, 24)[1:4]; a[:, ::2] = 1 | a = u.reshape(6, 24)[1:4]; a[:, 1::2] = 1
u.ravel()[3:9] = 1 | u.ravel()[4:10] = 1
u.flat[3:9] = 1 | u.flat[4:10] = 1
u.flat[3] = 1 | u.flat[4] = 1
u.flat = v | u.flat = v[::-1]
u.fill(0) | u[1:].fill(0)
u[:6].fill(1) | u[6:].fill(1)
u.reshape(-1)[:72].fill(0) | u.reshape(-1)[72:].fill(0)
np.fill_diagonal(u, 5) | np.fill_diagonal(u[:, ::-1], 5)
np.fill_diagonal(u, 5) | np.fill_diagonal(u, 5, True); u += 0
z.real = 3 | z.imag = 3
z.real[1:3] = 3 | z.real[2:4] = 3
z.real[1:3] = 3 | z.imag[1:3] = 3
z.view(float)[:, 3] = 3 | z.view(float)[:, 4] = 3
u.view('i8')[1:3] = 3 | u.view('i8')[2:4] = 3
u.view('i4')[:, ::2] = 3 | u.view('i4')[:, 1::2] = 3
u.view('i1')[:, 3:5] = 3 | u.view('i1')[:, 4:6] = 3
u[[1, 2]] = 0 | u[[1, 3]] = 0
u[w([1, 2] * 10)] = 0 | u[w([1, 3] * 10)] = 0
u[[1, 2] * 10] = 0 | u[[1, 3] * 10] = 0
u[:, w([1, 2] * 10)] = 0 | u[:, w([1, 3] * 10)] = 0
u[w([1, 2] * 10), 3] = 0 | u[w([1, 2] * 10), 4] = 0
u[w([1, 2] * 10)] += 1 | u[w([1, 3] * 10)] += 1
u[1:][[1, 2]] = 0 | u[2:][[1, 2]] = 0
u[u > 3] = 0 | u[u > 3] = u[u > 3] + 1
u[u > 3] = 0 | u[u < 3] = 0
u[m(3)] = 0 | u[m(4)] = 0
u[w(m(3))] = 0 | u[w(m(4))] = 0
u[:, m(3)] = 0 | u[:, m(4)] = 0
u[mm(3)] = 0 | u[mm(4)] = 0
u[w(mm(3))] = 0 | u[w(mm(4))] = 0
np.put(u, w([1, 2] * 10), 0) | np.put(u, w([1, 3] * 10), 0)
np.put(u, [1, 2], 0, 'wrap') | np.put(u, [1, 2], 0, 'clip')
np.put(u.reshape(-1)[10:], [1, 2], 0) | np.put(u.reshape(-1)[20:], [1, 2], 0)
np.put(u[1:], [1, 2], 0) | np.put(u[2:], [1, 2], 0)
np.place(u, mm(3), [1]) | np.place(u, mm(4), [1])
np.putmask(u, mm(3), [1]) | np.putmask(u, mm(4), [1])
np.copyto(u, 1, where=mm(3)) | np.copyto(u, 1, where=mm(4))
np.copyto(u[1:], 1) | np.copyto(u[2:], 1)
np.put_along_axis(u, w(rows([[1] * 12])), 0, 0) | np.put_along_axis(u, w(rows([[2] * 12])), 0, 0)
np.put_along_axis(u[:, :5], rows([[1]*5]), 0, 0) | np.put_along_axis(u[:, 5:10], rows([[1]*5]), 0, 0)
np.add.at(u, [1, 2], 1) | np.add.at(u, [1, 3], 1)
np.add.at(u, w([1, 2] * 10), 1) | np.add.at(u, w([1, 3] * 10), 1)
np.add.at(u, [1, 2] * 10, 1) | np.add.at(u, [1, 3] * 10, 1)
np.add.at(u, (w([1, 2] * 10), 3), 1) | np.add.at(u, (w([1, 2] * 10), 4), 1)
np.add.at(u[:, 3], [1, 2], 1) | np.add.at(u[:, 4], [1, 2], 1)
np.add.at(u.reshape(-1)[3:], [1, 2], 1) | np.add.at(u.reshape(-1)[4:], [1, 2], 1)
np.add.at(u, 1, 1) | np.add.at(u, 2, 1)
np.maximum.at(u, [1, 2], 50) | np.minimum.at(u, [1, 2], 50)
np.add(u, 1, out=u[...]) | np.subtract(u, 1, out=u[...])
np.add(u[1:], 1, out=u[:-1]) | np.add(u[1:], 1, out=u[1:])
np.add(v, 1, out=u[3]) | np.add(v, 1, out=u[4])
np.add(v, 1, out=u.reshape(-1)[3:15]) | np.add(v, 1, out=u.reshape(-1)[4:16])
np.add(u, 1, out=u, where=mm(3)) | np.add(u, 1, out=u, where=mm(4))
np.add(u, 1, out=u, where=u > 3) | np.add(u, 1, out=u, where=u < 3)
np.sum(u, 0, out=u[3]) | np.sum(u, 0, out=u[4])
np.sum(u, 0, out=u[3]) | np.sum(u, 1, out=u[3])
np.cumsum(u, 0, out=u) | np.cumsum(u, 1, out=u)
np.take(u, [1, 2], 0, out=u[3:5]) | np.take(u, [1, 2], 0, out=u[4:6])
np.clip(u, 1, 2, out=u[...]) | np.clip(u, 1, 2, out=u.T)
np.dot(u, u, out=y) | np.dot(u, u.T, out=y)
np.matmul(u, v, out=y[3]) | np.matmul(u, v, out=y[4])
u.sort(0) | u.sort(1)
u[:6].sort(0) | u[6:].sort(0)
u[:, :6].sort(1) | u[:, 6:].sort(1)
u.partition(3) | u.partition(4)
u.reshape(-1)[:72].sort() | u.reshape(-1)[72:].sort()
u.resize((11, 12), refcheck=False) | u.resize((10, 12), refcheck=False)
u.byteswap(True) | u[1:].byteswap(True)
u[1:] = u[:-1] | u[:-1] = u[1:]
u[1] = u[2] | u[1] = u[3]
u[1], u[2] = u[2] + 0, u[1] + 0 | u[1], u[3] = u[3] + 0, u[1] + 0
u[:, 1] = v | u[:, 2] = v
u[...] = v | u[...] = v[:, None]
u[1:5].T[1:3] = 1 | u[2:6].T[1:3] = 1
random(1).shuffle(u) | random(1).shuffle(u, axis=1)
random(1).shuffle(u[:6]) | random(1).shuffle(u[6:])
random(1).random(out=u) | random(1).standard_normal(out=u)
random(1).random(out=u[:6]) | random(1).random(out=u[6:])
u.shape = 144; u[:70] = 1 | u.shape = 144; u[1:71] = 1
"""

MASKED = """
np.where(mm(3), u, 0) | np.where(mm(4), u, 0)
np.where(m(3), u, 0) | np.where(m(4), u, 0)
np.where(w(m(3)), u, 0) | np.where(w(m(4)), u, 0)
np.where([True, False] * 6, u, 0) | np.where([False, True] * 6, u, 0)
u.sum(where=mm(3)) | u.sum(where=mm(4))
u.max(where=mm(3), initial=0) | u.max(where=mm(4), initial=0)
u.mean(where=mm(3)) | u.mean(where=mm(4))
np.select([m(3), m(5)], [u, -u]) | np.select([m(3), m(4)], [u, -u])
u[mm(3)] = 5. | u[mm(4)] = 5.
u[mm(3)] += 5. | u[mm(4)] += 5.
u[mm(3)] = u[mm(3)] * 2 | u[mm(4)] = u[mm(4)] * 2
u[1:][mm(3)[1:]] = 0 | u[1:][mm(4)[1:]] = 0
np.add(u, 1, out=u, where=w(m(3))) | np.add(u, 1, out=u, where=w(m(4)))
np.triu(u, 1) | np.triu(u, 2)
np.nansum(u, where=mm(3)) | np.nansum(u, where=mm(4))
np.count_nonzero(u * mm(3)) | np.count_nonzero(u * mm(3) * 1)
"""

OTHERWISE = """
u.flat[[3, 4]] = 1 | u.flat[[3, 4, 5]] = 1
u @ u | u @ u.T
np.einsum('ij,jk', u, u) | np.einsum('ij,kj', u, u)
u - 1 | 1 - u
np.fft.fft(u) | np.fft.ifft(u)
np.fft.fft2(u) | np.fft.fft2(u, norm='ortho')
np.isin(v, [1, 2]) | np.isin(v, [1, 2, 3])
np.add.at(u, [1, 2], 1) | np.subtract.at(u, [1, 2], 1)
random(1).random((12, 12)) | random(2).random((12, 12))
random(1).permutation(u) | random(2).permutation(u)
np.random.RandomState(3).normal(size=(12, 12)) | np.random.RandomState(4).normal(size=(12, 12))
np.linalg.eigvals(u).real | np.linalg.eigvalsh(u)
random(1).random((12, 12)) | random(1).normal(size=(12, 12))
"""


def program(lines: tuple[str, ...], alike: bool) -> None:
    """A line for each rank, and a look at everything it may have changed."""
    atoll.world.communicator.log.exact = alike
    u = atoll.arange(144.0).reshape(12, 12) % 17
    names = {
        "np": atoll,
        "u": u,
        "v": atoll.arange(12.0),
        "i": atoll.arange(50) % 7,
        "t": atoll.arange(27.0).reshape(3, 3, 3) * 1,
        "y": atoll.zeros((12, 12)),
        "z": atoll.arange(144.0).reshape(12, 12) * (1 + 2j),
        "rows": numpy.array,
        "w": lambda values: atoll.asarray(numpy.array(values)),
        "m": lambda k: numpy.arange(12) == k,
        "mm": lambda k: numpy.arange(144).reshape(12, 12) % 12 == k,
        "random": atoll.random.default_rng,
    }
    line = lines[min(atoll.world.rank, 1)]
    try:
        made = eval(line, names)
    except SyntaxError:
        made = exec(line, names)
    for array in (made, u, names["y"], names["z"]):
        if hasattr(array, "sum"):
            float(abs(array.sum()))


def unnoticed(lines: str, *, alike: bool = True) -> list[str]:
    """Which of these pairs two ranks compute without a word; ``alike``: on equal machines."""
    missed = []
    for line in lines.strip().splitlines():
        try:
            simulated.run(2, program, tuple(line.split(" | ")), alike)
        except DivergenceError:
            continue
        missed.append(line)
    return missed
