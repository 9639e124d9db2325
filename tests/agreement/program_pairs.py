"""Pairs of programs that ranks run one of each: they differ in an array, a number, a function, an order, a line, a slice,
a scalar's kind or a layout.

Such a pair ends in a divergence on all ranks, or each rank sees the numbers of its own program; NumPy says which.
``python -m tests.agreement.program_pairs [ranks] [seed:seed]`` tries random pairs, too.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy

import atoll
from atoll.comm import simulated
from atoll.errors import DivergenceError

ARRAYS = """
a.sum() | b.sum()
a.mean() | b.mean()
a.std() | b.std()
a.max() | b.max()
a.argmax() | b.argmax()
a.any() | b.any()
(a * 2).sum() | (b * 2).sum()
(a - b).sum() | (b - a).sum()
np.sqrt(a + 9).mean() | np.sqrt(b + 9).mean()
a.sum(0) | b.sum(0)
a.max(1) | b.max(1)
a[1:].sum() | b[1:].sum()
a.T[2:].sum() | b.T[2:].sum()
a.reshape(-1)[::3].sum() | b.reshape(-1)[::3].sum()
a + 1 | b + 1
a - a.mean(0) | b - b.mean(0)
a - a.mean(0) | a - b.mean(0)
a * (a.sum(0) / 3) | a * (b.sum(0) / 3)
np.where(a > 0, a, b) | np.where(a > 0, b, a)
np.dot(v, v) | np.dot(w, w)
np.dot(v, w) | np.dot(v, v)
a @ v | b @ v
a @ a.T | b @ a.T
np.einsum('ij,ij', a, b) | np.einsum('ij,ij', a, a)
np.linalg.norm(a) | np.linalg.norm(b)
np.cumsum(v)[-1] | np.cumsum(w)[-1]
np.cumsum(a, 0) | np.cumsum(b, 0)
np.sort(v) | np.sort(w)
np.sort(a, 0)[3, 4] | np.sort(b, 0)[3, 4]
np.argsort(v)[5] | np.argsort(w)[5]
np.median(a) | np.median(b)
np.percentile(a, 30) | np.percentile(b, 30)
np.unique(v) | np.unique(w)
np.histogram(v, 5, (-20, 20))[0] | np.histogram(w, 5, (-20, 20))[0]
np.searchsorted(np.sort(v), 1.) | np.searchsorted(np.sort(w), 1.)
np.fft.fft(v).real.sum() | np.fft.fft(w).real.sum()
np.convolve(v, [1., 2]) | np.convolve(w, [1., 2])
np.gradient(v).sum() | np.gradient(w).sum()
np.diff(v) | np.diff(w)
np.roll(a, 1, 0) | np.roll(b, 1, 0)
np.concatenate([a, b]) | np.concatenate([b, a])
np.nonzero(a > 0)[0].sum() | np.nonzero(b > 0)[0].sum()
np.count_nonzero(a > 0) | np.count_nonzero(b > 0)
np.allclose(a, a) | np.allclose(a, b)
np.array_equal(a, a) | np.array_equal(a, b)
a[a > 0].sum() | b[b > 0].sum()
a[a > 0].sum() | a[b > 0].sum()
a[[1, 5, 7]] | b[[1, 5, 7]]
np.take(a, [3, 4], 0) | np.take(b, [3, 4], 0)
a[3, 4] | b[3, 4]
a[3] | b[3]
a.item(7) | b.item(7)
float(a[5, 6]) | float(b[5, 6])
[float(row.sum()) for row in a] | [float(row.sum()) for row in b]
[float(x) for x in v] | [float(x) for x in w]
a.tolist() | b.tolist()
str(a) | str(b)
numpy.asarray(a) | numpy.asarray(b)
int((a > 0).sum()) | int((b > 0).sum())
x = a.copy(); x[3] = 7; look(x) | x = b.copy(); x[3] = 7; look(x)
x = a.copy(); x[3] = 7; look(x.sum()) | x = a.copy(); x[3] = 7; look(a.sum())
x = a.copy(); x[3, 4] = 7; look(x.sum()) | x = a.copy(); x[3, 4] = 7; look(a.sum())
x = a.copy(); x += b; look(x.sum()) | x = a.copy(); x += a; look(x.sum())
x = [np.ones((24, 20)) * k for k in range(3)]; look(x[1]) | x = [np.ones((24, 20)) * k for k in range(3)]; look(x[2])
x = [np.array(A + k) for k in range(3)]; look(x[1].sum()) | x = [np.array(A + k) for k in range(3)]; look(x[2].sum())
x = [np.array(A + k) for k in range(3)]; look(x[1]) | x = [np.array(A + k) for k in range(3)]; look(x[2])
x, y = np.divmod(a, 3); look(x.sum()) | x, y = np.divmod(a, 3); look(y.sum())
a[2] = b[3]; look(a) | a[2] = b[4]; look(a)
a[2] = b[3]; look(a) | a[2] = a[3]; look(a)
a[a > 0] = 0; look(a.sum()) | b[b > 0] = 0; look(b.sum())
np.add.at(a, [1, 2], 1.); look(a) | np.add.at(b, [1, 2], 1.); look(b)
np.add(a, b, out=a); look(a.sum()) | np.add(a, b, out=b); look(b.sum())
np.copyto(a, b); look(a.sum()) | np.copyto(b, a); look(b.sum() + 1)
a.sort(0); look(a) | b.sort(0); look(b)
np.linalg.solve(s, v[:12]) | np.linalg.solve(s, w[:12])
np.linalg.det(s) | np.linalg.det(s.T * 2)
"""

NUMBERS = """
(a * 2.5).sum() | (a * 3.5).sum()
a * 2.5 | a * 3.5
a + c[0] | a + c[1]
a ** 2 | a ** 3
a * C[0] | a * C[1]
(a + c).sum() | (a + c[::-1]).sum()
(a + C).sum() | (a + C[::-1]).sum()
a - C | a - C * 1.5
a @ C | a @ C[::-1]
np.dot(v, D) | np.dot(v, D * 2)
np.einsum('ij,j', a, C) | np.einsum('ij,j', a, C * 2)
a[3] = 2.; look(a) | a[3] = 3.; look(a)
a[3, 4] = 2.; look(a) | a[3, 4] = 3.; look(a)
a[3] = C; look(a) | a[3] = C * 2; look(a)
a[:, 2] = 2.; look(a.sum()) | a[:, 2] = 3.; look(a.sum())
a[a > 0] = 2.; look(a) | a[a > 0] = 3.; look(a)
a[[1, 2]] = 2.; look(a) | a[[1, 2]] = 3.; look(a)
a += 2.; look(a) | a += 3.; look(a)
a.fill(2.); look(a) | a.fill(3.); look(a)
a.flat[3] = 2.; look(a) | a.flat[3] = 3.; look(a)
np.add.at(a, [1, 2], 1.); look(a) | np.add.at(a, [1, 2], 2.); look(a)
np.put(a, [1, 2], 1.); look(a) | np.put(a, [1, 2], 2.); look(a)
np.full((24, 20), 2.) + a | np.full((24, 20), 3.) + a
np.clip(a, 1, 2) | np.clip(a, 1, 3)
np.where(a > 1.5, a, 0.) | np.where(a > 2.5, a, 0.)
np.where(a > 0, a, 1.) | np.where(a > 0, a, 2.)
np.isclose(a, b, 0.1) | np.isclose(a, b, 10.)
np.quantile(a, 0.25) | np.quantile(a, 0.75)
np.quantile(a, 0.25, 0) | np.quantile(a, 0.75, 0)
np.histogram(v, 5, (-20., 20.))[0] | np.histogram(v, 5, (-10., 10.))[0]
np.histogram(v, [-20., 0, 20])[0] | np.histogram(v, [-20., 5, 20])[0]
np.searchsorted(np.sort(v), [1.5, 2]) | np.searchsorted(np.sort(v), [2.5, 3])
np.interp(v, [-20., 20], [0., 1]) | np.interp(v, [-20., 20], [0., 2])
np.polyval([1., 2], v) | np.polyval([1., 3], v)
np.convolve(v, [1., 2]) | np.convolve(v, [1., 3])
np.correlate(v, C) | np.correlate(v, C * 2)
np.pad(a, 1, constant_values=2.) | np.pad(a, 1, constant_values=3.)
np.insert(v, 3, 2.) | np.insert(v, 3, 3.)
np.append(v, 2.) | np.append(v, 3.)
np.trapezoid(v, dx=2.) | np.trapezoid(v, dx=3.)
np.gradient(v, 2.) | np.gradient(v, 3.)
np.nan_to_num(a, nan=2.) | np.nan_to_num(a, nan=3.)
a.sum(initial=2.) | a.sum(initial=3.)
a.std(ddof=0) | a.std(ddof=1)
np.linspace(0, 2., 480) * v[0] | np.linspace(0, 3., 480) * v[0]
np.arange(0, 480, 1.) + a[0, 0] | np.arange(1, 481, 1.) + a[0, 0]
np.isin(v, [1.5, 2]) | np.isin(v, [2.5, 3])
np.linalg.solve(s, numpy.arange(12.)) | np.linalg.solve(s, numpy.arange(12.) * 2)
np.linalg.norm(v, 1.5) | np.linalg.norm(v, 2.5)
np.round(a, 1) | np.round(a, 0)
np.average(a, weights=B) | np.average(a, weights=B * B)
a * a.mean() | a * b.mean()
a * v[3] | a * v[4]
x = float(a.sum()); look(a / x) | x = float(a.max()); look(a / x)
"""

ORDERS = """
x = a.sum(); y = b.sum(); look(x); look(y) | y = b.sum(); x = a.sum(); look(x); look(y)
look(a.sum()); look(b.sum()) | look(b.sum())
look(a.sum()); look(b.sum()) | look(b.sum()); look(a.sum())
look(a[3, 4]); look(a.sum()) | look(a.sum())
look(a.sum()); look(a.sum()) | look(a.sum())
look((a * 2).sum()); look(a.max()) | look(a.max())
x = a + 1; x = x * 2; look(x.sum()) | x = a * 2; x = x + 1; look(x.sum())
x = a + 1; x = x * 2; look(x) | x = a * 2; x = x + 1; look(x)
a[3] = 1; a[3] = 2; look(a) | a[3] = 2; a[3] = 1; look(a)
a[1:4] = 1.; a[2:5] = 2.; look(a.sum()) | a[2:5] = 2.; a[1:4] = 1.; look(a.sum())
a += b; b += a; look(a); look(b) | b += a; a += b; look(a); look(b)
x = a * 2; y = b * 3; look(x.sum()) | y = b * 3; x = a * 2; look(x.sum())
x = np.array(A); y = np.array(B); look(x.sum()) | y = np.array(B); x = np.array(A); look(x.sum())
x = a * 2; look(a.sum()) | look(a.sum())
a[2] = 5.; look(b.sum()); look(a) | look(b.sum()); a[2] = 5.; look(a)
"""

FUNCTIONS = """
a.sum() | a.max()
a.sum() | a.mean()
np.sin(a).sum() | np.cos(a).sum()
np.add(a, b).sum() | np.subtract(a, b).sum()
np.sort(v)[3] | np.partition(v, 5)[3]
np.cumsum(v) | np.cumprod(v)
a.argmax() | a.argmin()
a @ v | b @ w
a.sum(0) | a.sum(1)
np.fft.fft(v) | np.fft.ifft(v)
a[1:].sum() | a[:-1].sum()
a[2] | a[3]
a[::2].sum() | a[1::2].sum()
a[0, 1] | a[1, 0]
(a * 2).sum() | (a * 2.0).sum()
(a * np.float32(2)).sum() | (a * 2).sum()
(i * 2).sum() | (i * 2.0).sum()
(i + 1).sum() | (i + True).sum()
a.astype('f4').sum() | a.sum()
np.floor(a) | np.ceil(a)
"""


A = (numpy.arange(480.0).reshape(24, 20) * 7 % 31) - 15
B = (numpy.arange(480.0).reshape(24, 20) * 11 % 37) - 17


def names_for(np: Any, evaluated: bool) -> dict[str, Any]:
    """What the lines find: two matrices, two vectors, integers, a small array, and plain arrays of NumPy."""
    n = numpy.arange(20.0)
    names = {
        "np": np,
        "numpy": numpy,
        "a": np.array(A),
        "b": np.array(B),
        "v": np.array(A).reshape(-1)[:20] * 1,
        "w": np.array(B).reshape(-1)[:20] * 1,
        "i": np.array(A.astype(int)),
        "s": np.array(A[:12, :12] + numpy.eye(12) * 99),
        "c": np.array(n / 3),
        "A": A,
        "B": abs(B) + 1,
        "C": n / 7,
        "D": n - 3,
    }
    if evaluated:
        for name in "abvwi":
            names[name] = names[name] * 1
            names[name].sum()
    return names


def run_line(np: Any, line: str, evaluated: bool, seen: list[Any]) -> None:
    """Run a line, and put what it looks at into ``seen``."""
    names = names_for(np, evaluated)

    def look(value: Any) -> None:
        seen.append(numpy.array(value))

    names["look"] = look
    with numpy.errstate(all="ignore"):
        if "look" in line:
            exec(line, names)
        else:
            look(eval(line, names))


def tried(pair: str, size: int = 2, *, evaluated: bool = False) -> str:
    """What is wrong with the outcome of a pair, if anything is: a value that is not NumPy's, or an error of another kind."""
    lines = pair.split(" | ")
    seen: list[list[Any]] = [[] for _ in range(size)]

    def program() -> None:
        rank = atoll.world.rank
        run_line(atoll, lines[min(rank, 1)], evaluated, seen[rank])
        float(atoll.ones(600).sum())  # what is said last

    error = ""
    try:
        simulated.run(size, program)
    except DivergenceError as raised:
        error = str(raised)
    except Exception as raised:
        return f"{pair}: {raised!r}"
    for rank, values in enumerate(seen):
        wanted: list[Any] = []
        run_line(numpy, lines[min(rank, 1)], evaluated, wanted)
        if not error and len(wanted) != len(values):
            return f"{pair}: rank {rank} has seen {len(values)} of {len(wanted)} values"
        for value, right in zip(values, wanted):
            if value.shape != right.shape or not _close(value, right):
                return f"{pair}: rank {rank} has seen {value}, not {right}"
    return ""


def _close(value: Any, right: Any) -> bool:
    if right.dtype.kind in "biufc":
        return bool(numpy.allclose(value, right, equal_nan=True))
    return value.dtype.kind == right.dtype.kind


RECORDED = (
    "{p} + {q}", "{p} * {n}", "{n} - {p}", "np.sin({p})", "abs({p})", "{p} - {p}.mean()", "{p} - {q}.mean(0)", "np.where({p} > {n}, {p}, {q})",
    "{p}[::-1]", "np.roll({p}, 1, 0)", "np.sort({p}, 0)", "{p}.copy()", "np.maximum({p}, {q})", "np.clip({p}, 0, {n})", "{p} * {r}",
)  # fmt: skip
WRITTEN = (
    "{p}[{s}] = {n}", "{p}[{s}] = {q}[{s}] + {n}", "{p} += {q}", "{p} *= {n}", "{p}[{p} > {n}] = {n}", "{p}[{i}, {j}] = {n}", "{p}[{i}] = {r}",
    "{p}[[{i}, {j}]] += {n}", "{p}[{i}] = {q}[{j}]",
)  # fmt: skip
LOOKED_AT = (
    "{p}.sum()", "{p}.argmax()", "{p}[{i}, {j}]", "{p}[{s}]", "np.dot({p}.ravel(), {q}.ravel())", "np.cumsum({p}, 0)[-1]", "{p}.sum(0)", "{p}[{i}]",
    "np.linalg.norm({p})", "np.sort({p}, None)[{i}]", "{p}[[{i}, {j}]]", "({p} > {n}).any()", "{p}[{p} > {n}].sum()", "({p} @ {q}.T).max()",
)  # fmt: skip
SLOTS = {
    "p": "abxy", "q": "abxy", "n": ("0.5", "2", "-1.25", "x.mean()", "y[3, 4]"), "s": ("1:", ":-1", "2:9", "::2", "3", ":, 4"),
    "i": "01357", "j": "02468", "r": ("C", "C[::-1]", "c", "D"),
}  # fmt: skip


def a_statement(draw: random.Random) -> str:
    """A random statement: it records something, writes it, or looks at it."""
    kind = draw.randrange(3)
    line = draw.choice((RECORDED, WRITTEN, LOOKED_AT)[kind])
    line = line.format(**{name: draw.choice(values) for name, values in SLOTS.items()})
    return (f"{draw.choice('xy')} = {line}", line, f"look({line})")[kind]


def a_pair(seed: int) -> str:
    """Two random programs that differ in a statement or in the order of two."""
    draw = random.Random(seed)
    lines = [a_statement(draw) for _ in range(draw.randint(2, 7))]
    other = list(lines)
    place = draw.randrange(len(lines))
    change = draw.randrange(4)
    if change == 0:
        other[place] = a_statement(draw)
    elif change == 1:
        del other[place]
    elif change == 2:
        other.insert(place, a_statement(draw))
    else:
        other[place:] = other[place:][::-1]
    start, end = "x = a * 1; y = b * 1", "look(x); look(y); look(a); look(b)"
    return " | ".join("; ".join([start, *program, end]) for program in (lines, other))


def all_pairs() -> Iterator[str]:
    """The pairs of the tables."""
    for table in (ARRAYS, NUMBERS, ORDERS, FUNCTIONS):
        yield from table.strip().splitlines()


def wrong(pairs: Iterable[str], size: int = 2, **options: Any) -> list[str]:
    """What is wrong with these pairs, where small arrays have less than a hundred elements."""
    with atoll.config(small=100, everywhere=200):
        return [said for said in (tried(pair, size, **options) for pair in pairs) if said]


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    first, last = map(int, sys.argv[2].split(":")) if len(sys.argv) > 2 else (0, 0)
    found = [*wrong(all_pairs(), size), *wrong(all_pairs(), size, evaluated=True)]
    for seed in range(first, last):
        found += wrong([a_pair(seed)], size, evaluated=bool(seed % 2))
    print(*found, f"{len(found)} wrong", sep="\n")
