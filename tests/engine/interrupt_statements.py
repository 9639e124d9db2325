"""The random programs that ``interrupted_programs.py`` interrupts, what they begin with, and what is left of them."""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import numpy


class Foreign:
    """An object that gives its elements by ``__array__``."""

    def __init__(self, elements: Any) -> None:
        self.elements = numpy.array(elements)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return numpy.array(self.elements, dtype)


class Cycle:
    """What only a garbage collection ends."""

    def __init__(self, array: Any) -> None:
        self.own, self.array = self, array


LINES = """
a = a + b * 2
a = np.sqrt(np.abs(a)) + 1
a += b
a -= a.mean()
a *= 0.5
a[{i}:] = b[: n - {i}]
a[{i}:] += b[{i}:]
a[::2] = 3
a[{i}] = 7.5
a[mask] = 0
a[mask] *= 2
b = a[order]
b = np.where(mask, a, b)
b = a[::-1].copy()
c = a[mask]
c = np.sort(a)
c = np.cumsum(b)
c = np.concatenate([a, b])[{i}:]
c = a.reshape(2, -1).sum(0)
c = np.percentile(a, [10, 50])
c = np.diff(a)
c = np.outer(a[:30], b[:30])
c = a[:400].reshape(20, 20) @ b[:400].reshape(20, 20)
c = np.linalg.solve(np.eye(20) * 3 + a[:400].reshape(20, 20) * 0, b[:20])
c = np.frompyfunc(count, 1, 1)(a[:20]).astype(float)
c = np.vectorize(count)(b[:20])
c = np.apply_along_axis(lambda row: row.sum(), 0, a.reshape(2, -1)[:, :50])
c = np.add(a, foreign)
c = np.asarray(foreign) + a
c = np.fft.rfft(a[:1024]).real
c = np.unique(order[:100] // 3)
c = np.array([x * 2 for x in a[:50]])
c = numpy_add(a, b)
c = np.fromfunction(lambda i: i * 2.0, (n,)) + a
c = np.einsum("i,i->i", a, b)
c = np.histogram(b, 5)[0]
s = float(a.sum())
s = float((a * b).sum())
s = float(a.max() - b.min())
s = a[{i}] + 1
s = str(a[:5])
s = bool((a > -1e300).all())
s = [float(x) for x in a[:40]]
s = int(np.argmax(b))
np.multiply(a, 0.25, out=b)
np.add.at(a, order[:9], 1.0)
np.copyto(b, a, where=mask)
np.sync()
a.sort()
view = a[{i}:]
view[:] = 4
view += 1
view = b
watched = watch(b + 1)
watched = None
loop = Cycle(b * 3)
loop = None
collect()
d = b + 1; d = None
for _ in range(6): a = 0.5 * (a + b)
for _ in range(6): a[1:-1] = (a[:-2] + a[2:]) / 2
for _ in range(6): s = float(np.abs(a * {i}).sum())
for k in range(6): b[k + 1 :] = b[k + 1 :] - a[k] * 0.001
""".strip().splitlines()


def draw(seed: int, way: str = "") -> tuple[list[str], dict[str, Any]]:
    """The lines of a program, and the arrays and numbers that it begins with."""
    dice = random.Random(seed)
    n = 1_000_000 if way == "memory" else dice.choice([1024, 6_000, 50_000, 200_000])
    lines = [
        dice.choice(LINES).format(i=dice.randrange(1, n // 2)) for _ in range(dice.randint(4, 12))
    ]
    elements = numpy.random.default_rng(seed)
    start = {
        "a": elements.integers(-40, 40, n) * 0.25,
        "b": elements.random(n),
        "mask": elements.random(n) > 0.6,
        "order": elements.permutation(n),
    }
    return lines, {"n": n, **start}


def environment(module: Any, start: dict[str, Any]) -> dict[str, Any]:
    """The names of a program, in NumPy or in atoll."""
    ended: list[Any] = []
    given = {
        name: module.array(what) if isinstance(what, numpy.ndarray) else what
        for name, what in start.items()
    }

    def watch(array: Any) -> Any:
        return weakref.ref(array, ended.append)

    return {
        "np": module if module is not numpy else ModuleOfNumpy,
        "count": lambda x: x + 1,
        "foreign": Foreign(start["b"]),
        "numpy_add": lambda x, y: numpy.asarray(x) + numpy.asarray(y),
        "watch": watch,
        "Cycle": Cycle,
        "collect": gc.collect,
        "view": given["a"],
        **given,
    }


class _ModuleOfNumpy:
    sync = staticmethod(lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, name)


ModuleOfNumpy = _ModuleOfNumpy()
SEEN = ("a", "b", "c", "s", "view")


def values(names: dict[str, Any]) -> dict[str, Any]:
    """The elements of a program's arrays now."""
    return {name: numpy.array(names[name]) for name in SEEN if name in names}


def is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        one[name].dtype.kind == other[name].dtype.kind
        and numpy.shape(one[name]) == numpy.shape(other[name])
        and (
            numpy.allclose(one[name], other[name], 1e-9, 1e-9, equal_nan=True)
            if one[name].dtype.kind in "fciub"
            else bool((one[name] == other[name]).all())
        )
        for name in one
    )
