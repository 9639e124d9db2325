"""Products of matrices on ranks: every shape, on every kind of layout, and what moves."""

from math import isqrt

import numpy as np
import pytest

import atoll
from atoll import Layout
from atoll.collective.grid_products import grid_layouts, multiplied_on_grid, product_grid
from atoll.collective.section import Section
from atoll.comm.dry_run import CountingCommunicator, Waited
from atoll.layout.grids import factorisations
from atoll.lazy.sections import section_of

from .distributions import LINES, MAPS, normal, put, same, uneven


@pytest.mark.slow
@pytest.mark.simulated(1, 7)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", MAPS, ids=str)
def test_matrices_and_vectors(maps, size):
    a, b, v = normal((6, 7)), normal((7, 5)), normal((7,))
    ours = put(a, maps, size)
    for other in MAPS[::2]:
        same(ours @ put(b, other, size), a @ b)
    for line in LINES:
        same(ours @ put(v, line, size), a @ v)
        same(put(v, line, size) @ ours.T, v @ a.T)
    same(uneven(a, size) @ ours.T, a @ a.T)
    same(ours @ b, a @ b)
    same(b.T @ ours.T, b.T @ a.T)
    same(ours.T @ ours, a.T @ a)
    same(ours[1:, ::2] @ ours[:4].T[::2], a[1:, ::2] @ a[:4].T[::2])
    same(ours @ b.astype(np.float32), a @ b.astype(np.float32))
    whole = put((a * 8).astype(np.int32), maps, size)
    same(whole @ whole.T, (a * 8).astype(np.int32) @ (a * 8).astype(np.int32).T)
    same((ours > 0) @ (ours > 0).T, (a > 0) @ (a > 0).T)
    same(atoll.dot(ours, v), np.dot(a, v))
    same(atoll.inner(ours, ours), np.inner(a, a))


@pytest.mark.simulated(1, 4)
@pytest.mark.ranks(2)
@pytest.mark.parametrize("maps", ["bnn", "nbn", "nnb", "bbn", "ccc"])
def test_stacks(maps, size):
    a, b = normal((4, 3, 5)), normal((4, 5, 2))
    c = normal((5, 6))
    ours, flat = put(a, maps, size), put(c, "bb", size)
    for other in ("bnn", "nbn", "cnb"):
        same(ours @ put(b, other, size), a @ b)
    same(ours @ flat, a @ c)
    same(flat.T[:3, :3] @ ours, c.T[:3, :3] @ a)
    same(ours @ flat[:, 0], a @ c[:, 0])
    same(atoll.dot(flat.T, ours.transpose(0, 2, 1)), np.dot(c.T, a.transpose(0, 2, 1)))
    same(atoll.tensordot(ours, flat, (2, 0)), np.tensordot(a, c, (2, 0)))
    same(atoll.tensordot(ours, ours, 3), np.tensordot(a, a, 3))
    theirs = put(b, "bnn", size)
    for text in ("ijk,ikl->l", "ijk,ikl->ijl", "ijk,ikl->lij", "ijk,ikl", "ijk,abc->ia"):
        same(atoll.einsum(text, ours, theirs), np.einsum(text, a, b))
    same(atoll.einsum("ijk,kl,lm->jm", ours, flat, flat.T), np.einsum("ijk,kl,lm->jm", a, c, c.T))
    same(atoll.einsum("ii->i", flat[:5, :5]), np.einsum("ii->i", c[:5, :5]))


@pytest.mark.simulated(2, 4)
@pytest.mark.ranks(2)
def test_shapes_that_do_not_fit_are_errors_on_all_ranks(size):
    a = put(normal((6, 7)), "bn", size)
    for call in (lambda: a @ a, lambda: atoll.dot(a, a), lambda: atoll.tensordot(a, a.T, 2)):
        with pytest.raises(ValueError, match=r"match|mismatch|aligned"):
            call()


@pytest.mark.simulated(4)
def test_what_moves_is_the_smaller_operand(rank, size):
    rows = [atoll.ones((n, 64), layout=Layout((n, 64), "bn", size=size)) for n in (4096, 64)]
    atoll.sync()
    before, traffic = atoll.stats().bytes_moved, atoll.world.communicator.traffic
    tall = rows[0] @ rows[1]
    assert tall.layout == rows[0].layout
    assert atoll.stats().bytes_moved == before  # it is recorded
    joint = traffic.collective_bytes
    atoll.sync()
    assert atoll.stats().bytes_moved == before
    quarter = rows[1].nbytes // 4  # of this rank, to all
    assert quarter <= traffic.collective_bytes - joint <= quarter + 200
    before = atoll.stats().bytes_moved
    square = rows[0].T @ rows[0]
    assert square.shape == (64, 64)
    atoll.sync()
    assert atoll.stats().bytes_moved - before == 3 * rows[1].nbytes // 4  # of the result
    same(square, np.full((64, 64), 4096.0))


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(4)
def test_small_products_of_slices_are_everywhere():
    """Slices that lie on ranks are multiplied where they are, and what is small comes to every rank."""
    theirs = np.arange(40.0 * 30).reshape(40, 30) % 17
    with atoll.config(small=200):
        ours = atoll.array(theirs)
        atoll.sync()
        before = atoll.stats()
        for k in range(2, 20):
            line = ours[:, :k] @ np.arange(k)
            assert line.layout.is_replicated
            assert np.array_equal(np.asarray(line), theirs[:, :k] @ np.arange(k))
            back = ours[3::2, 1 : k + 1].T @ theirs[3::2, k]
            assert np.array_equal(np.asarray(back), theirs[3::2, 1 : k + 1].T @ theirs[3::2, k])
        after = atoll.stats()
    assert after.plans_made - before.plans_made < 6  # one plan serves slices that move
    assert after.gathered == before.gathered


@pytest.mark.ranks(2, 3, 4)
@pytest.mark.simulated(1, 5)
@pytest.mark.parametrize("maps", ["bn", "nb"])
@pytest.mark.parametrize("dtype", ["f8", "i4", "c16"])
def test_a_small_product_is_one_message_to_all(maps, dtype, size):
    """Rows, columns or partial sums of ranks: whatever they have of it, they have at once."""
    chance = np.random.default_rng(5)
    a, b, v = [(9 * chance.random(shape)).astype(dtype) for shape in ((41, 23), (23, 6), (41,))]

    def placed():
        m = atoll.array(a).redistribute(Layout(a.shape, maps, size=size))
        w = atoll.array(b).redistribute(Layout(b.shape, "bn", size=size))
        atoll.sync()  # of arrays that look alike, some may be garbage, which would be collected
        return m, w

    with atoll.config(small=500, everywhere=0):
        first, second = placed(), placed()
        traffic = atoll.world.communicator.traffic
        forms = [
            (lambda m, w: m @ b, a @ b),
            (lambda m, w: b.T @ m.T, b.T @ a.T),
            (lambda m, w: m @ b[:, 1], a @ b[:, 1]),
            (lambda m, w: v @ m, v @ a),
            (lambda m, w: m.T @ v, a.T @ v),
            (lambda m, w: w.T @ b[:, :1], b.T @ b[:, :1]),
            (lambda m, w: w[:, 0] @ b[:, 2], b[:, 0] @ b[:, 2]),
            (lambda m, w: m[:0] @ b, a[:0] @ b),
        ]
        for form, expected in forms:
            same(form(*first), expected)  # the first time, ranks also agree on the plan
            before = traffic.copy()
            found = np.asarray(form(*second))  # which evaluates it
            spent = traffic - before
            if size > 1:
                assert spent.collectives <= 1, spent
                assert spent.messages_sent == 0, spent
            same(found, expected)


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(5)
@pytest.mark.parametrize("maps", ["bn", "nb"])
def test_a_small_operand_that_does_not_fit_comes_to_all_first(maps, size):
    """Then the product is a small one of an operand on ranks and one that is everywhere."""
    a, w, v = normal((41, 23)), normal((23,)), normal((41,))
    with atoll.config(small=100, everywhere=4_000):
        for _ in range(2):
            ours, right, left = put(a, maps, size), put(w, "b", size), put(v, "b", size)
            atoll.sync()
            traffic = atoll.world.communicator.traffic
            before = traffic.copy()
            pairs = [(ours @ right, a @ w), (left @ ours, v @ a), (ours.T @ left, a.T @ v)]
            for product, _ in pairs:
                product._evaluate()
            spent = traffic - before
            for product, expected in pairs:
                assert product.layout.is_replicated
                same(product, expected)
        assert spent.messages_sent == 0, spent
        assert spent.collectives <= 2 * len(pairs), spent


@pytest.mark.ranks(2, 3)
def test_small_products_where_ranks_have_nothing(size):
    """Fewer rows than ranks, and none at all along the axis that goes."""
    with atoll.config(small=100, everywhere=0):
        for shape in ((1, 40), (40, 1), (2, 30)):
            a = np.arange(float(shape[0] * shape[1])).reshape(shape)
            for maps in ("bn", "nb"):
                ours = atoll.array(a).redistribute(Layout(shape, maps, size=size))
                same(ours @ np.ones(shape[1]), a @ np.ones(shape[1]))
                same(np.ones(shape[0]) @ ours, np.ones(shape[0]) @ a)
                same(ours[:, :0] @ np.ones((0, 3)), np.zeros((shape[0], 3)))


@pytest.mark.ranks(2, 3)
@pytest.mark.simulated(6, 8)
@pytest.mark.parametrize("shape", [(9, 16, 11), (24, 8, 24), (8, 40, 9)])
def test_grids_with_layers(shape, size):
    """Every way to arrange the ranks gives NumPy's product."""
    m, k, n = shape
    a, b = normal((m, k)), normal((k, n))
    sides = [section_of(put(whole, "bn", size), atoll.world) for whole in (a, b)]
    for grid in factorisations(size, 3):
        ours = multiplied_on_grid(*sides, grid)
        assert ours.layout == grid_layouts(m, k, n, grid)[2]
        rows, columns = ours.region
        np.testing.assert_allclose(ours.block, (a @ b)[rows.key, columns.key], atol=1e-12)


@pytest.mark.slow
@pytest.mark.simulated(16)
def test_large_products_are_on_grids(size):
    a, b = normal((64, 64)), normal((64, 48))
    ours = put(a, "bn", size) @ put(b, "nb", size)
    assert min(ours.layout.grid) > 1
    same(ours, a @ b)


@pytest.mark.parametrize("size", [64, 10_000, 99_225])
def test_a_rank_of_many_receives_what_the_bound_says(size):
    """``2 * n**2 / sqrt(layers * size)`` elements and the sum of layers, by a few messages to others in each step."""
    n = 4 * isqrt(size)
    grid = product_grid(n, n, n, size)
    rank = size // 2 + 3
    communicator = CountingCommunicator(rank, size, 1)
    layouts = grid_layouts(n, n, n, grid)
    sides = [Section(np.ones(k.local_shape(rank)), k, communicator) for k in layouts[:2]]
    multiplied_on_grid(*sides, grid)
    sent, steps, posted = 0, 0, 0
    for event in communicator.events:
        if isinstance(event, Waited):
            steps, posted = steps + 1, 0
        elif event.leaves:
            sent, posted = sent + event.nbytes // 8, posted + 1
            assert posted <= max(4, grid[2])
    layers = grid[2]
    assert sent < 2.5 * n * n / (size * layers) ** 0.5 + layers * n * n / size
    assert steps <= grid[0] + grid[1] + 1
    share = max(layout.local_size(rank) for layout in layouts)
    assert share <= 1.5 * n * n / size
