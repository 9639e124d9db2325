"""Calls of methods for ``surface``, and what its calls have in common."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

Call = Callable[[Any, SimpleNamespace], Any]


def out(function: Callable[[Any], Any], out: Any) -> Any:
    """What a function returned is its ``out``; that is what is compared."""
    found = function(out)
    assert found is out
    return out


def changed(x: Any, change: Callable[[Any], Any]) -> Any:
    """An operand after it was changed in place."""
    change(x)
    return x


def seeded(np: Any, draw: Callable[[Any], Any]) -> Any:
    return draw(np.random.default_rng(5))


def legacy(np: Any, draw: Callable[[Any], Any]) -> Any:
    np.random.seed(5)
    return draw(np.random)


METHODS: dict[str, Call] = {
    "a.flat item": lambda np, x: np.asarray([x.a.flat[5], x.a.flat[-3]]),
    "a.flat picks": lambda np, x: x.a.flat[[3, 1, 200]],
    "a.flat mask": lambda np, x: x.v.flat[x.l],
    "a.flat slice": lambda np, x: x.a.flat[3:90:7],
    "a.flat iteration": lambda np, x: np.asarray([e for e, _ in zip(x.a.flat, range(40))]),
    "a.flat set item": lambda np, x: changed(x.a, lambda a: a.flat.__setitem__(7, 3.0)),
    "a.flat set slice": lambda np, x: changed(
        x.a, lambda a: a.flat.__setitem__(slice(0, 60), x.v)
    ),
    "a.flat set cycle": lambda np, x: changed(
        x.a, lambda a: a.flat.__setitem__(slice(0, 90), x.v)
    ),
    "a.flat set picks": lambda np, x: changed(
        x.a, lambda a: a.flat.__setitem__([5, 2, 99], [1.0, 2.0])
    ),
    "a.flat set all": lambda np, x: changed(x.a, lambda a: setattr(a, "flat", 4.0)),
    "a.iteration": lambda np, x: np.asarray([row.sum() for row in x.a]),
    "a.contains": lambda np, x: 3 in x.n,
    "a.item": lambda np, x: x.a.item(5),
    "a.item of two": lambda np, x: x.a.item(3, 4),
    "a.all": lambda np, x: x.m.all(0),
    "a.any": lambda np, x: x.m.any(),
    "a.argmax": lambda np, x: x.a.argmax(1),
    "a.argmin": lambda np, x: x.a.argmin(0),
    "a.argpartition": lambda np, x: x.v[x.v.argpartition(9)[9]],
    "a.argsort": lambda np, x: x.v.argsort(),
    "a.astype": lambda np, x: x.a.astype(np.int32),
    "a.byteswap": lambda np, x: x.v.byteswap().byteswap(),
    "a.choose": lambda np, x: (x.n % 2).choose([x.a, x.b]),
    "a.clip": lambda np, x: x.a.clip(0, 1),
    "a.compress": lambda np, x: x.v.compress(x.l),
    "a.conj": lambda np, x: x.c.conj(),
    "a.conjugate": lambda np, x: x.c.conjugate(),
    "a.copy": lambda np, x: x.a.copy(),
    "a.cumprod": lambda np, x: x.b.cumprod(0),
    "a.cumsum": lambda np, x: x.a.cumsum(),
    "a.cumsum out": lambda np, x: out(lambda out: x.v.cumsum(out=out), x.o),
    "a.diagonal": lambda np, x: x.a.diagonal() * 1,
    "a.dot": lambda np, x: x.a.dot(x.s),
    "a.dot out": lambda np, x: out(lambda out: x.a.dot(x.s, out), x.O),
    "a.fill": lambda np, x: changed(x.a, lambda a: a.fill(3.0)),
    "a.flatten": lambda np, x: x.a.flatten(),
    "a.getfield": lambda np, x: x.c.getfield(np.float64, 8) * 1,
    "a.max": lambda np, x: x.a.max(0),
    "a.mean": lambda np, x: x.a.mean(0),
    "a.min": lambda np, x: x.a.min(1),
    "a.nonzero": lambda np, x: x.m.nonzero(),
    "a.partition": lambda np, x: changed(x.v, lambda v: v.partition(7))[7],
    "a.prod": lambda np, x: x.b.prod(0),
    "a.put": lambda np, x: changed(x.v, lambda v: v.put([3, 1], [9.0, 8.0])),
    "a.ravel": lambda np, x: x.a.ravel() * 1,
    "a.repeat": lambda np, x: x.a.repeat(2, 0),
    "a.repeat each": lambda np, x: x.v.repeat(x.k),
    "a.reshape": lambda np, x: x.a.reshape(9, 48) * 1,
    "a.resize": lambda np, x: changed(
        x.v * 1, lambda v: v.resize((3, 30), refcheck=False)
    ),
    "a.round": lambda np, x: x.a.round(1),
    "a.searchsorted": lambda np, x: x.t.searchsorted(x.v),
    "a.setfield": lambda np, x: changed(x.c, lambda c: c.setfield(3.0, np.float64, 8)),
    "a.sort": lambda np, x: changed(x.v, lambda v: v.sort()),
    "a.sort rows": lambda np, x: changed(x.a, lambda a: a.sort(0)),
    "a.squeeze": lambda np, x: x.a[None].squeeze(),
    "a.std": lambda np, x: x.a.std(0),
    "a.sum": lambda np, x: x.a.sum(1),
    "a.swapaxes": lambda np, x: x.a.swapaxes(0, 1) * 1,
    "a.take": lambda np, x: x.a.take([3, 1], 0),
    "a.take out": lambda np, x: out(lambda out: x.v.take(x.j, out=out), x.o),
    "a.to_device": lambda np, x: x.a.to_device("cpu"),
    "a.trace": lambda np, x: x.a.trace(),
    "a.transpose": lambda np, x: x.a.transpose() * 1,
    "a.var": lambda np, x: x.a.var(0),
    "a.view": lambda np, x: x.v.view(np.int64) * 1,
    "a.view wide": lambda np, x: x.a.view(np.complex128) * 1,
    "a.view narrow": lambda np, x: x.v.view(np.int32) * 1,
    "a.real of another shape": lambda np, x: x.c.T.ravel()[5:31].real * 1,
    "a.imag of a diagonal": lambda np, x: x.c.diagonal().imag * 1,
    "a.T": lambda np, x: x.a.T * 1,
    "a.real": lambda np, x: x.c.real * 1,
    "a.imag set": lambda np, x: changed(x.c, lambda c: setattr(c, "imag", 2.0)),
}  # fmt: skip
