"""Single functions on a million elements: which are slower than NumPy's, in one process.

    python benchmarks/functions.py [words...] [--n N] [--below R] [--rounds N] [--json] [--smoke]

Each line below is one expression over the arrays that :func:`arrays` makes. NumPy and atoll take
turns; the best time of each counts, so that other work on the machine does not. The result is
looked at in full and compared with NumPy's; a wrong one makes the command fail, a slow one never
does. Words choose the expressions that contain one of them. ``--below`` prints only those that
are less than so many times as fast as NumPy; ``--smoke`` runs everything once and tiny.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from typing import Any

import numpy
from measuring import differences

import atoll

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


def arrays(n: int) -> dict[str, Any]:
    """What the expressions are about, by name."""
    random = numpy.random.default_rng(11)
    side = int(n**0.5)
    x = random.random(n)
    m = random.random(n) < 0.5
    made = {
        "x": x,
        "y": random.random(n) + 0.1,
        "s": x.astype("f4"),
        "h": (x - 0.5).astype("f2"),
        "i": random.integers(0, 1000, n),
        "u": random.integers(0, 256, n).astype("u1"),
        "c": random.integers(-100, 100, n).astype("i2"),
        "e": random.integers(0, 1000, n).astype("u4"),
        "g": random.integers(-1000, 1000, n).astype("i4"),
        "q": (x + 1j * x).astype("c8"),
        "z": x + 1j * random.random(n),
        "w": random.random(n) + 1j,
        "m": m,
        "k": random.random(n) < 0.5,
        "few": random.random(n) < 0.01,
        "none": numpy.zeros(n, bool),
        "every": numpy.ones(n, bool),
        "a": x[: side * side].reshape(side, side),
        "b": m[: side * side].reshape(side, side),
        "j": random.permutation(n),
        "p": random.integers(0, side, (side, side)),
        "t": numpy.linspace(0.0, 1.0, side),
        "v": random.random((n // 3, 3)),
    }
    return {name: numpy.ascontiguousarray(array) for name, array in made.items()}


def lines(words: list[str], n: int) -> list[str]:
    """The expressions that contain a word, or all of them."""
    side = int(n**0.5)
    every = [line.replace("1000", str(side)) for line in EXPRESSIONS.split("\n") if line.strip()]
    return [line for line in every if not words or any(word in line for word in words)]


def looked_at(result: Any) -> Any:
    """A result as NumPy has it, of its own."""
    if isinstance(result, (tuple, list)):
        return tuple(map(looked_at, result))
    return numpy.array(result)


def wrong_with(found: Any, expected: Any) -> str:
    """What is wrong with a result: rounded numbers may differ by their last digits."""
    if isinstance(expected, tuple):
        return "; ".join(filter(None, map(wrong_with, found, expected)))
    rounded = expected.dtype.kind in "fc"
    return differences(found, expected, 1e4 * numpy.finfo(expected.dtype).eps if rounded else 0.0)


def measured(
    line: str, theirs: dict[str, Any], ours: dict[str, Any], rounds: int
) -> dict[str, Any]:
    """The best times of both, and what is wrong with the result."""
    code = compile(line, line, "eval")

    def once(names: dict[str, Any]) -> float:
        start = time.perf_counter()
        result = eval(code, names)  # the lines above, and nothing else
        atoll.sync()
        del result
        return time.perf_counter() - start

    expected, found = looked_at(eval(code, theirs)), looked_at(eval(code, ours))
    wrong = wrong_with(found, expected)
    best = [float("inf"), float("inf")]
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 else (1, 0):
            for _ in range(3 if rounds > 1 else 1):
                best[which] = min(best[which], once((theirs, ours)[which]))
    return {
        "line": line,
        "numpy": best[0],
        "atoll": best[1],
        "ratio": best[0] / best[1],
        "wrong": wrong,
    }


def main() -> int:
    """Measure what the command line asks for; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "words", nargs="*", help="expressions that contain one of these; all by default"
    )
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--below", type=float, default=float("inf"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--smoke", action="store_true")
    given = parser.parse_args()
    n, rounds = (10_000, 1) if given.smoke else (given.n, given.rounds)
    plain = arrays(n)
    theirs = {"np": numpy, "n": n, **plain}
    failures = 0
    table = []
    warnings.simplefilter("ignore")
    with atoll.config(small=0 if given.smoke else atoll.config.small):
        ours = {"np": atoll, "n": n, **{name: atoll.array(value) for name, value in plain.items()}}
        for line in lines(given.words, n):
            found = measured(line, theirs, ours, rounds)
            table.append(found)
            failures += bool(found["wrong"])
            if not given.json and (found["wrong"] or found["ratio"] < given.below):
                print(
                    f"{found['ratio']:8.2f}  {found['numpy'] * 1e3:9.3f} ms {found['atoll'] * 1e3:9.3f} ms  "
                    f"{line}" + (f"  WRONG: {found['wrong']}" if found["wrong"] else ""),
                    flush=True,
                )
    if given.json:
        print(json.dumps({"n": n, "functions": table}))
    else:
        slow = sum(found["ratio"] < 0.95 for found in table)
        print(
            f"{len(table)} expressions on {n} elements, {slow} below 0.95 of NumPy, {failures} wrong"
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
