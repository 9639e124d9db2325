"""What ``atoll.model`` counts for a rank is what this rank does in a real step."""

from __future__ import annotations

import numpy
import pytest

import atoll as np
from atoll import policy, system
from atoll.comm import dry_run, simulated
from atoll.comm.dry_run import Sent, Together
from atoll.context import statistics
from atoll.errors import CommunicationError
from atoll.modelling import counted
from atoll.modelling.counting import Evaluated
from atoll.modelling.work import Work

N = 60


def laplace():
    u = np.zeros((N, N))
    u[0] = 1.0
    while True:
        old = u.copy()
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        yield float(np.sqrt(((u - old) ** 2).sum()))


def pending():
    """The direction of a conjugate gradient is pending at the end of a step."""
    r, p = np.ones((N, N)), np.ones((N, N))
    while True:
        q = 4 * p
        q[1:] -= p[:-1]
        alpha = 1 / (p * q).sum()
        r -= alpha * q
        p = r + (r * r).sum() * p
        yield


def transposed():
    a, b = np.ones((N, N)), np.ones((N, N))
    while True:
        b[...] = a.T + 1
        yield float(b.sum())


def several(function, *shape):
    """A program that computes a function of an array in each step."""

    def program():
        a = np.ones(shape)
        while True:
            yield function(a)._cell.settle()

    return program


def element():
    """Ranks that read an element ask each other for warnings."""
    a = np.ones((N, N))
    while True:
        a += 1
        yield float(a[0, 0])


def kmeans():
    points, centers = np.ones((N * N, 2)), np.ones((5, 2))
    while True:
        labels = (points @ centers.T).argmin(1)
        counts = np.bincount(labels, minlength=5)
        sums = [np.bincount(labels, points[:, k], 5) for k in (0, 1)]
        centers = np.stack(sums, 1) / np.maximum(counts, 1)[:, None]
        yield float(centers[0, 0])


def nbody():
    x, v = np.linspace(0, 1, N), np.zeros(N)
    while True:
        apart = x[None, :] - x[:, None]
        v += (apart * (apart * apart + 0.01) ** -1.5).sum(1)
        x += v
        yield float(x[0])


def rolled():
    f = [np.ones((N, N)) for _ in range(3)]
    while True:
        f = [np.roll(each, k, 1) * 0.5 for k, each in enumerate(f)]
        yield float(sum(f)[0, 0])


PROGRAMS = {
    "laplace": laplace,
    "element": element,
    "kmeans": kmeans,
    "nbody": nbody,
    "rolled": rolled,
    "pending": pending,
    "transposed": transposed,
    "product": several(lambda a: a @ a, N, N),
    "rows": several(lambda a: a.sum(0) + 1, N, N),
    "scan": several(np.cumsum, N * N),
    "transform": several(np.fft.fft2, N, N),
    "reshaped": several(lambda a: a.reshape(N * 2, N // 2) + 1, N, N),
}


def real(program, everywhere=0):
    """The messages, bytes, collectives, evaluations and kernels of this rank in the sixth step, when all ranks know that all have plans."""
    traffic = np.world.communicator.traffic
    with np.config(small=0, everywhere=everywhere):
        steps = program()
        for _ in range(5):
            next(steps)
        before = traffic.copy()
        with statistics.separate():  # simulated ranks share those of the process
            next(steps)
            stats = np.stats()
        spent = traffic - before
    evaluations = stats.plans_made + stats.plans_reused
    return spent.messages_sent, spent.bytes_sent, spent.collectives, evaluations, stats.kernels_run


def modelled(program, rank, size, everywhere=0):
    """The same of the model."""
    with np.config(small=0, everywhere=everywhere):
        events = counted(program, rank, size)
    sent = [event.nbytes for event in events if isinstance(event, Sent) and event.leaves]
    together, evaluations = (
        sum(isinstance(event, kind) for event in events) for kind in (Together, Evaluated)
    )
    kernels = sum(getattr(event, "kind", "") == "kernel" for event in events)
    return len(sent), sum(sent), together, evaluations, kernels


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_counts_are_those_of_a_real_step(program):
    for size in (2, 3, 4):
        done = simulated.Simulation(size).run(real, program)
        assert [modelled(program, rank, size) for rank in range(size)] == done, size


@pytest.mark.parametrize("program", [laplace, rolled, nbody])
def test_the_counts_of_arrays_on_every_rank_are_those_of_a_real_step(program):
    for size in (2, 3):
        done = simulated.Simulation(size).run(real, program, N * N + 1)
        assert [modelled(program, rank, size, N * N + 1) for rank in range(size)] == done, size


@pytest.mark.parametrize("function", [np.sort, np.argsort])
def test_a_sort_sends_what_values_at_random_would(function):
    def program():
        a = np.random.default_rng(1).random(20_000)
        while True:
            yield function(a)._cell.settle()

    for size in (2, 4):
        done = simulated.Simulation(size).run(real, program)
        for rank in range(size):
            messages, nbytes, together, *own = modelled(program, rank, size)
            assert [messages, *own] == [done[rank][0], *done[rank][3:]]
            assert nbytes == pytest.approx(done[rank][1], rel=0.1)
            assert abs(together - done[rank][2]) <= 2


@pytest.mark.parametrize("function", [lambda a: a @ a, np.sort, np.fft.fft2, np.linalg.qr])
def test_what_numpy_computes_at_the_call_is_counted(function):
    def program():
        function(np.ones((300, 300)) + np.eye(300))

    assert sum(event.operations for event in counted(program, 0, 1)) > 300 * 300 * 10


@pytest.mark.parametrize("function", [np.fft.fft, np.cumsum, lambda a: a[np.arange(len(a))[::-1]]])
def test_what_ranks_of_a_node_send_together_is_counted(function):
    def program():
        function(np.ones(100_000))._cell.settle()

    with np.config(small=0, everywhere=0):
        events = counted(program, 3, 64, ranks_per_node=8)
    assert any(isinstance(event, Sent) for event in events)


def test_what_values_decide_does_not_go_on_for_ever(monkeypatch):
    monkeypatch.setattr(dry_run, "ROUNDS", 20)

    def program():
        for _ in range(100):
            np.world.barrier()

    with pytest.raises(CommunicationError, match="values of arrays decide how many"):
        counted(program, 0, 2)


def test_what_a_rank_does_grows_with_its_share_alone():
    def program():
        n = 100 * np.world.size
        u = np.zeros((n, 400), layout=np.Layout((n, 400), "bn", size=np.world.size))
        while True:
            u[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2]
            yield u._cell.settle()

    counts = []
    for size in (100, 100_000):
        events = counted(program, size // 2, size)
        work = [event for event in events if isinstance(event, Work)]
        sent = [event.nbytes for event in events if isinstance(event, Sent) and event.leaves]
        counts.append(
            (sum(each.nbytes for each in work), sum(each.operations for each in work), sent)
        )
    assert counts[0] == counts[1]
    # read and written once, with ghost regions and copies of messages; two additions for each element, three loads, one store;
    # two columns are copied, in lines of 64 bytes
    assert counts[0][0] == pytest.approx(2 * 100 * 400 * 8 + 6 * 100 * 64, rel=0.1)
    assert counts[0][1] == 6 * 100 * 398 + 2 * 100 * 2
    assert len(counts[0][2]) == 2


@pytest.mark.skipif(
    not system.UNBACKED, reason="addresses without memory need Linux's flag of mmap"
)
def test_arrays_larger_than_the_machine_take_no_memory():
    def program():
        u = np.ones((1_000_000, 1_000_000))
        while True:
            u[1:] = u[:-1] * 0.5
            yield u._cell.settle()

    (evaluated,) = [each for each in counted(program, 1, 4) if isinstance(each, Evaluated)]
    assert evaluated.nbytes >= 2e12


def test_arrays_outside_keep_their_values():
    outside = np.arange(100_000) * 2.0
    zeros = np.zeros(100_000)

    def program():
        float((np.ones(100_000) * 3).sum())

    for size in (1, 3):
        counted(program, 0, size)
    assert numpy.array_equal(outside, numpy.arange(100_000) * 2.0)
    assert not zeros.any()
    assert float((outside + 1).sum()) == numpy.sum(numpy.arange(100_000) * 2.0 + 1)


def test_numbers_are_ones():
    seen = []

    def program():
        a = np.zeros(100_000)
        seen.append((float(a.max()), int(a.argmax()), float(a.sum()) > 0))

    counted(program, 0, 1)
    counted(program, 2, 5)
    assert [numbers[0] for numbers in seen] == [1.0, 1.0]
    assert all(numbers[2] for numbers in seen)


def test_every_second_element_of_a_mask_is_true():
    chosen = []

    def program():
        a = np.ones(100_000)
        chosen.append(len(a[a > 0.5]))

    for size in (1, 2, 3, 100):
        with np.config(small=0, everywhere=0):
            counted(program, size - 1, size)
    assert chosen == [50_000, 50_000, pytest.approx(50_000, abs=3), 50_000]


def test_what_values_decide_is_refused_with_its_place():
    def program():
        np.linalg.solve(np.ones((300, 300)), np.ones(300))._cell.settle()

    together = policy.limited(step=0)
    with np.config(small=0, everywhere=0), together, pytest.raises(CommunicationError) as refused:
        counted(program, 1, 4)
    assert "on rank 1 of 4" in str(refused.value)
    assert "leave it out of the program" in str(refused.value)


@pytest.mark.parametrize(
    "function", [np.linalg.inv, np.linalg.cholesky, lambda a: np.linalg.solve(a, a[0])]
)
def test_a_matrix_is_expected_to_be_one_that_can_be_solved_with(function):
    def program():
        function(np.ones((200, 200)))

    (work,) = [event for event in counted(program, 0, 1) if getattr(event, "kind", "") == "product"]
    assert work.operations >= 200**3 / 3


def test_the_work_of_products_and_sorts():
    def product():
        (np.ones((300, 200)) @ np.ones((200, 400)))._cell.settle()

    def sort():
        np.sort(np.ones(1 << 16))._cell.settle()

    for program, kind, expected in (
        (product, "product", 2 * 300 * 200 * 400),
        (sort, "sort", 16 << 16),
    ):
        for size in (1, 4):
            with np.config(small=0, everywhere=0):
                work = [each for each in counted(program, 0, size) if isinstance(each, Work)]
            done = sum(each.operations for each in work if each.kind == kind)
            if (
                kind == "sort" and size > 1
            ):  # a share is sorted before it is sent, and what has come once more
                expected = 16 * (1 << 16) + 14 * (1 << 16)
            assert done == expected / size, (kind, size)
