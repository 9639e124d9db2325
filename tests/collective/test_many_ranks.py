"""Products and gathered values among many ranks: trees and halves in place of messages to all, with NumPy's values."""

import itertools

import numpy
import pytest

import atoll as np
from atoll import Cyclic, Layout, Unstructured, policy
from atoll.comm.dry_run import Sent
from atoll.comm.simulated import Simulation
from atoll.modelling.counting import Counter

SHAPE = (23, 18)
SIZES = [1, 2, 3, 4, 7]


def layouts(shape, size):
    owners = numpy.random.default_rng(size).integers(0, size, shape[0])
    listed = Unstructured([numpy.flatnonzero(owners == rank) for rank in range(size)])
    every = [Layout(shape, maps, size=size) for maps in ("bn", "nb", "bb", ("n", Cyclic(2)))]
    return [*every, Layout(shape, (listed, "n"), size=size)]


def results_of(program, size, per_node, arrays, few=2):
    def run(first, second):
        with np.config(small=0, everywhere=0):
            u, v = np.array(arrays[0]).redistribute(first), np.array(arrays[1])
            return [numpy.asarray(each) for each in program(u, v.redistribute(second))]

    pairs = itertools.product(layouts(arrays[0].shape, size), layouts(arrays[1].shape, size))
    for n, (first, second) in enumerate(pairs):
        if n % 12 == size % 12:
            with np.config(ranks_per_node=per_node), policy.limited(few_ranks=few):
                yield from Simulation(size, seed=n).run(lambda f=first, s=second: run(f, s))


PRODUCTS = {
    "a row": lambda u, v: [u @ u[5], v[3] @ u.T, u[:, 2] @ v],
    "panels": lambda u, v: [u @ v[2:9].T, u[:4] @ v.T, u @ v.T],
    "sums": lambda u, v: [u.T @ v, u[:, :5].T @ v[:, 3:4], u.T[:0] @ v],
    "vectors on a grid": lambda u, v: [u[:, 1] @ v, u.T @ v[:, 0], u @ v[0], v.T @ u[:, 3]],
}


@pytest.mark.parametrize("dtype", ["c8", "i4"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_have_numpys_values(name, size, dtype):
    a = (numpy.random.default_rng(3).random((2, *SHAPE)) * 9).astype(dtype)
    expected = PRODUCTS[name](a[0], a[1])
    for found in results_of(PRODUCTS[name], size, (1, 2, 3)[size % 3], a):
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype
            numpy.testing.assert_allclose(mine, theirs, rtol=1e-4)


@pytest.mark.parametrize("size", SIZES)
def test_values_gathered_by_sums_have_all_their_bits(size):
    a = numpy.random.default_rng(3).random((2, *SHAPE))
    a[0, 3, 4], a[0, 3, 5], a[1, 0, 0] = numpy.nan, -0.0, -numpy.inf

    def program(u, v):
        return [u, v[2:5, 1:], u[3], v.T, (u[3:4, :7] > 0.5), u[:, 3].astype("f4")]

    for found in results_of(program, size, 2, a):
        for mine, theirs in zip(found, program(*a), strict=True):
            assert mine.dtype == theirs.dtype
            assert mine.tobytes() == numpy.ascontiguousarray(theirs).tobytes()


def sent(program, maps, size, rank, shape=(512, 512), others=None):
    """The messages that leave a rank of a dry run, where an array and a vector or another array in one layout are multiplied."""
    counter = Counter(rank, size)
    with np.config(small=0, everywhere=0), counter.counting():
        u = np.zeros(shape, layout=Layout(shape, maps, size=size))
        x = np.zeros(
            others or shape[:1],
            layout=Layout(others or shape[:1], maps if others else "b", size=size),
        )
        u[(0,) * u.ndim] = x[(0,) * x.ndim] = 1.0
        np.sync()
        events = counter.step(lambda: program(u, x)._evaluate())
    return [event for event in events if isinstance(event, Sent) and event.leaves]


@pytest.mark.parametrize("row", [0, 300])
def test_a_row_of_a_product_is_broadcast(row):
    for rank in (0, 150, 255):
        assert not sent(lambda u, x: u @ u[row], "bn", 256, rank)


def test_a_stack_of_matrices_goes_to_all_along_a_tree():
    for rank in (0, 150, 255):
        messages = sent(lambda u, x: u @ x, "nbn", 256, rank, (4, 256, 8), (4, 8, 8))
        assert len({message.peer for message in messages}) <= 2 * 8


@pytest.mark.parametrize("size", [37, 256])
def test_partial_products_meet_in_halves(size):
    for rank in (0, size - 1):
        messages = sent(lambda u, x: u.T @ u, "bn", size, rank, (8 * size, 16))
        assert len({message.peer for message in messages}) <= (size - 1).bit_length()


@pytest.mark.parametrize("maps", ["bb", "bn", "nb", "cc"])
def test_a_vector_moves_and_not_the_matrix(maps):
    for program in (lambda u, x: u @ x, lambda u, x: x @ u, lambda u, x: u.T @ x):
        messages = sent(program, maps, 4, 1, (1024, 1024))
        assert sum(message.nbytes for message in messages) < 1024 * 1024 * 8 / 64
