"""Ranks that die, messages that are late and in another order, memory that one rank alone has not: in the middle of
everything that ranks do together. Whoever is left has the right value or an error, and soon; never a wrong number.

A rank dies at each of its operations on the network in turn, from the first one on: every step of a halo exchange, a
redistribution, a sort. The value must be right where there is one, and nobody computes on afterwards.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import atoll
from atoll import Cyclic, Layout, dataflow
from atoll.backend import memory
from atoll.comm.simulated import Simulation
from atoll.errors import AtollError, CommunicationError

pytestmark = pytest.mark.usefixtures("by_numpy")


SIZE = 3
SHAPE = (12, 9)
ROWS = np.arange(108.0).reshape(SHAPE) % 23


def halo(np, a):
    for _ in range(2):
        a[1:-1, 1:-1] = (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]) / 4
    return a + 0


def looked_at(np, a):
    seen = []
    for _ in range(3):
        a[1:] += a[:-1] * 2
        seen.append(float((a % 5).sum()))
    return np.array(seen)


def elsewhere(np, a):
    if type(a) is atoll.ndarray:
        a = a.redistribute(Layout(a.shape, ("n", Cyclic(2)), size=SIZE))
    return a.T * 2


def whole(np, a):
    return np.asarray(a) + 0


def ring(module, a):
    """Each rank sends its number on; what came is summed, so that all have one value."""
    if type(a) is not atoll.ndarray:
        return np.full(4, 12.0)
    rank, size = atoll.world.rank, atoll.world.size
    x = dataflow.make_placeholder("x", (4,))
    arrived = dataflow.make_distributed_recv((rank - 1) % size, "on", (4,), float)
    y = dataflow.staple_distributed_send(x * 2, (rank + 1) % size, "on", arrived * 2)
    total = dataflow.make_distributed_allreduce(y, "total", "sum")
    part = dataflow.find_distributed_partition(atoll.world, {"total": total})
    inputs = {"x": np.full(4, float(rank))}
    return dataflow.execute_distributed_partition(part, None, None, None, input_args=inputs)[
        "total"
    ]


PROGRAMS = {
    "halo exchange": halo,
    "a loop that looks": looked_at,
    "redistribution": elsewhere,
    "the whole": whole,
    "sum": lambda np, a: a.sum(0) + a.max(),
    "product": lambda np, a: a @ a.T,
    "panels": lambda np, a: a.T @ a,
    "sorted": lambda np, a: np.sort(a, axis=None),
    "columns sorted": lambda np, a: np.sort(a, axis=0),
    "unique": lambda np, a: np.unique(a, return_inverse=True)[1],
    "elements taken": lambda np, a: a[np.arange(12)[::-1] % 5, np.arange(12) % 9],
    "elements put": lambda np, a: (a.__setitem__(np.arange(6)[::-1] * 2, a[:6] * 2), a + 0)[1],
    "mask": lambda np, a: a[a > 7],
    "through a mask": lambda np, a: (a.__setitem__(a > 7, a[a > 7] * 2), a + 0)[1],
    "scan": lambda np, a: a.cumsum(),
    "reshape": lambda np, a: a.reshape(9, 12) + 1,
    "roll": lambda np, a: np.roll(a, 5, 0),
    "equations": lambda np, a: np.linalg.solve(a[:9] + 50 * np.eye(9), a[:9, :2]),
    "random": lambda np, a: np.random.default_rng(3).permutation(a),
    "dataflow": ring,
}


def right(found, expected):
    found = np.asarray(found)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def attempt(name):
    """What a rank has of a program, and that it cannot go on where there was an error."""
    with atoll.config(small=0):
        try:
            a = atoll.asarray(ROWS).redistribute(Layout(SHAPE, "bn", size=atoll.world.size))
            return np.asarray(PROGRAMS[name](atoll, a)).copy()
        except AtollError as error:
            try:
                line = atoll.arange(20.0)
                line[1:] += line[:-1]
                after = float(line.sum())
            except AtollError:
                return error
            raise AssertionError(f"{name}: computed {after} after {error!r}") from error


def outcomes(name, **options):
    expected = PROGRAMS[name](np, ROWS.copy())
    results = Simulation(SIZE, **options).run(attempt, name)
    for found in results:
        if isinstance(found, AtollError):
            assert isinstance(found, CommunicationError), found
        elif found is not None:
            right(found, expected)
    return results


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_rank_dies_at_any_step(name):
    rng, operation, failed = random.Random(name), 0, 0
    while True:
        operation += 1 if operation < 4 else rng.randint(3, 14)
        victim = operation % SIZE
        results = outcomes(
            name, drop={victim: operation}, rendezvous=operation % 2 == 0, seed=operation
        )
        failed += sum(isinstance(found, AtollError) for found in results)
        if results[victim] is not None:
            break
    assert operation > 2
    assert failed


@pytest.mark.parametrize("name", PROGRAMS)
def test_late_messages_in_other_orders(name):
    for seed in range(2):

        def late(source, dest, nbytes, slow=seed):
            return 0.5 if source == slow else 1e-6 * (1 + dest)

        found = outcomes(name, latency=late, seed=seed, rendezvous=seed == 1)
        assert not any(isinstance(one, AtollError) for one in found)


@pytest.mark.parametrize("name", ["halo exchange", "sorted", "elements put", "product"])
def test_one_rank_alone_has_no_memory(name, monkeypatch):
    """It goes on after its ``MemoryError``; the others learn of it, and nobody computes another number."""
    lend, expected = memory.Pool.lend, PROGRAMS[name](np, ROWS.copy())
    counted, seen = [0, 0], []

    def some(pool, nbytes, what="", *form):
        if atoll.world.rank == 1:
            counted[0] += 1
            if counted[0] == counted[1]:
                raise MemoryError("there is none")
        return lend(pool, nbytes, what, *form)

    def work():
        try:
            return attempt(name)
        except MemoryError:
            seen.append(atoll.world.rank)
            return attempt("sum")

    monkeypatch.setattr(memory, "_TINY", -1)
    monkeypatch.setattr(memory.Pool, "lend", some)
    for number in (1, 2, 3):
        counted[:] = 0, number
        for found in Simulation(SIZE, seed=number).run(work):
            if not isinstance(found, CommunicationError):
                right(found, expected)
        lent = counted[0]
    assert seen == [1] * min(lent, 3)
    assert lent > 1
