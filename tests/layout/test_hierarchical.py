"""Hierarchical layouts: the ranks of a node have neighbouring cells."""

import itertools
from math import prod

import numpy
import pytest

import atoll as np
from atoll.comm.dry_run import dry_run_world
from atoll.comm.simulated import Simulation
from atoll.errors import LayoutError
from atoll.layout import Layout, transfer
from atoll.layout.grids import NodeOrder, node_grid
from atoll.layout.seats import Seats

CASES = [((4, 4), (2, 2)), ((6, 4), (3, 2)), ((4, 6), (2, 1)), ((2, 4, 6), (2, 2, 3))]
SHAPE = (25, 31, 13)


def twin(layout: Layout) -> Layout:
    """The same layout with a table."""
    return Layout.of(layout.axes, layout.processes, layout.table)


@pytest.mark.parametrize(("grid", "node"), CASES)
def test_a_seat_is_arithmetic(grid, node):
    order = NodeOrder(grid, node)
    table = order.item(numpy.arange(len(order))).reshape(grid)
    assert sorted(table.ravel()) == list(range(prod(grid)))
    assert order[3:7] == tuple(table.ravel()[3:7])
    for number, cell in enumerate(itertools.product(*map(range, grid))):
        assert order[number] == table[cell]
        assert order.index(int(table[cell])) == number
        assert Seats.by_nodes(grid, node).seat(int(table[cell])) == (cell, 0)
    assert Seats.by_nodes(grid, node).table()[..., 0].tolist() == table.tolist()
    with pytest.raises(ValueError, match="is not in"):
        order.index(len(order))
    blocks = table // prod(node)
    for number in range(prod(grid) // prod(node)):
        where = numpy.argwhere(blocks == number)
        assert tuple(where.max(0) - where.min(0) + 1) == node


@pytest.mark.parametrize(("grid", "node"), CASES)
def test_a_hierarchical_layout_is_its_twin_with_a_table(grid, node):
    layout = Layout(SHAPE[: len(grid)], "b" * len(grid), grid=grid, size=prod(grid), node=node)
    other = twin(layout)
    assert layout.node == node
    assert other.node is None
    assert not layout.is_row_major
    assert layout.ranks == other.ranks
    assert eval(repr(layout), {"Layout": Layout}) == layout
    assert layout == other
    assert hash(layout) == hash(other)
    for rank in range(layout.processes):
        for name in ("coordinates", "region", "local_shape", "neighbours", "copy_number"):
            assert getattr(layout, name)(rank) == getattr(other, name)(rank)
        assert layout.ranks_at(layout.coordinates(rank)) == (rank,)
    index = tuple(numpy.arange(5) for _ in layout.shape)
    assert layout.locate(index)[0].tolist() == other.locate(index)[0].tolist()
    assert layout.owners((3,) * layout.ndim) == other.owners((3,) * layout.ndim)
    plain = Layout(layout.shape, "b" * len(grid), grid=grid, size=prod(grid))
    for rank in (0, 3, layout.processes - 1):
        mine, others = transfer(layout, plain, rank), transfer(other, plain, rank)
        assert [(r.peer, r.region) for r in mine.sends] == [
            (r.peer, r.region) for r in others.sends
        ]
        assert [r.peer for r in mine.receives] == [r.peer for r in others.receives]


DERIVED = {
    "slice": (lambda a: a.sliced((slice(1, -1), slice(2, None, 2))), True),
    "backwards": (lambda a: a.sliced((slice(None, None, -1),)), False),
    "new axis": (lambda a: a.sliced((None, slice(1, None))), True),
    "row": (lambda a: a.sliced(3), False),
    "expanded": (lambda a: a.expanded(1), True),
    "broadcast": (lambda a: a.broadcast((2, *a.shape)), True),
    "transposed": (lambda a: a.transposed(), False),
    "reduced": (lambda a: a.reduced(0), False),
    "unpadded": (lambda a: a.unpadded(), True),
}


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize(("grid", "node"), CASES[:3])
def test_derived_layouts_stay_hierarchical_where_cells_stay(name, grid, node):
    derive, stays = DERIVED[name]
    layout = derive(Layout((25, 31), "bb", grid=grid, size=prod(grid), node=node))
    other = derive(twin(Layout((25, 31), "bb", grid=grid, size=prod(grid), node=node)))
    assert (layout.node is not None) == stays
    assert layout.shape == other.shape
    assert layout.table.tolist() == other.table.tolist()
    for rank in range(layout.processes):
        assert layout.region(rank) == other.region(rank)


def test_nodes_that_leave_ranks_in_order_change_nothing():
    for node in ((1, 4), (2, 4), (1, 2), (1, 1), (4, 4)):
        plain = Layout((20, 20), "bb", grid=(4, 4), size=16)
        assert Layout((20, 20), "bb", grid=(4, 4), size=16, node=node) == plain
    with pytest.raises(LayoutError, match=r"node=\(3, 1\) does not divide the grid \(4, 4\)"):
        Layout((20, 20), "bb", grid=(4, 4), size=16, node=(3, 1))
    with pytest.raises(LayoutError, match="give node= alone"):
        Layout((20, 20), "bb", grid=(2, 2), size=4, node=(2, 1), ranks=(3, 2, 1, 0))


def test_the_default_has_the_least_surface_between_nodes():
    assert node_grid((1000, 1000), (8, 8), 4) == (2, 2)
    assert node_grid((1000, 1000), (8, 8), 1) is None
    assert node_grid((1000, 1000), (7, 7), 4) is None
    assert node_grid((1000,), (64,), 4) is None  # in order all the same
    assert Layout.default((1000, 1000), 64).is_row_major
    assert Layout.default((1000, 1000), 64, 4).node == (2, 2)
    assert Layout.default((100, 100, 100), 512, 64).node == (4, 4, 4)
    assert Layout.default((10**6, 10**6), 2**20, 64).coordinates(2**20 - 1) == (1023, 1023)


def halo_to_other_nodes(rank, size, per_node):
    with np.config(small=0, everywhere=0), dry_run_world(rank, size, per_node):
        u = np.zeros((4096, 4096))
        u[0] = 1.0
        np.sync()
        told = np.explain(u[1:-1, 1:-1] + u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        sends = [message for message in told.messages if message.sends]
        return (
            sum(m.nbytes for m in sends if m.between_nodes),
            sum(m.nbytes for m in sends),
            u.layout,
        )


def test_fewer_elements_of_a_halo_go_to_other_nodes():
    size, per_node = 16, 4
    hierarchical = [halo_to_other_nodes(rank, size, per_node) for rank in range(size)]
    layout = hierarchical[0][2]
    assert layout.node == (2, 2)
    cut = sum(between for between, _, _ in hierarchical)
    assert sum(total for _, total, _ in hierarchical) == 2 * (3 * 4094 * 2) * 8
    assert cut == 2 * (4094 + 4094) * 8
    in_order = 2 * 3 * 4094 * 8  # three cuts of full rows between four nodes
    assert cut < in_order


PROGRAMS = {
    "stencil": lambda a, b: a[1:-1, 1:-1] + b[:-2, 1:-1] + a[2:, 2:],
    "transpose": lambda a, b: a + b.T,
    "product": lambda a, b: a @ b,
    "reduction": lambda a, b: (a * b).sum(axis=0) + a.max(axis=1),
    "assignment": lambda a, b: (a.__setitem__((slice(1, None), slice(2, 9)), b[:-1, 3:10]), a)[1],
    "sum": lambda a, b: np.sum(a - b),
    "reshape": lambda a, b: a.reshape(-1)[::3] + b.ravel()[::3],
    "rows": lambda a, b: a[np.argsort(b[:, 0])],
    "mixed": lambda a, b: a + np.arange(60 * 60.0).reshape(60, 60) + b,
    "scan": lambda a, b: np.cumsum(a, axis=1) + np.cumsum(b, axis=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_same_results(name):
    def computed():
        with np.config(small=0, everywhere=0):
            random = np.random.default_rng(3)
            a, b = random.random((60, 60)), random.random((60, 60))
            assert a.layout.node == ((2, 2) if np.world.nodes.two_levels else None)
            return numpy.asarray(PROGRAMS[name](a, b))

    (expected, *_) = Simulation(1).run(computed)
    with np.config(ranks_per_node=4):
        simulation = Simulation(16)
    (first, *others) = simulation.run(computed)
    numpy.testing.assert_allclose(first, expected, rtol=1e-12)
    (in_order, *_) = Simulation(16).run(computed)
    for other in others:
        numpy.testing.assert_array_equal(other, first)
    if name == "sum":  # ranks join their parts in the order of the ranks
        numpy.testing.assert_allclose(in_order, first, rtol=1e-12)
    else:
        numpy.testing.assert_array_equal(in_order, first)
