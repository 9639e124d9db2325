"""Whole arrays in memory that the ranks of a node share."""

import numpy
import pytest

import atoll as np
from atoll import policy
from atoll.comm import node_memory, segments
from atoll.comm.simulated import Simulation
from tests.collective.test_exchange_by_nodes import on_nodes

LAYOUTS = {
    "rows": ("bn", {}),
    "columns": ("nb", {}),
    "blocks": ("bb", {}),
    "cyclic": ("cn", {}),
    "some ranks": ("bn", {"ranks": (3, 1)}),
    "copies": ("bn", {"grid": (2, 1), "ranks": (0, 3, 1, 2)}),
}


def is_shared(array) -> bool:
    """True if an array shows memory of the node."""
    memory = np.world.communicator.memory
    pieces = () if memory is None else memory._kept.values()
    return any(numpy.may_share_memory(array, numpy.frombuffer(piece.read)) for piece in pieces)


@pytest.fixture(autouse=True)
def any_size():
    with policy.limited(cached=1):
        yield


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(("size", "per_node"), [(4, 2), (5, 3), (4, 4)])
def test_every_rank_has_the_whole(name, size, per_node):
    letters, options = LAYOUTS[name]
    expected = numpy.arange(77.0).reshape(11, 7)

    def gathered():
        with np.config(small=0, everywhere=0):
            a = np.array(expected).redistribute(np.Layout((11, 7), letters, **options))
            first = numpy.asarray(a)
            second = numpy.asarray(a * 2)
            third = numpy.asarray(a.T + 1)
            return [first, second, third], is_shared(first)

    for seed in range(2):
        results, _ = on_nodes(size, per_node, gathered, seed=seed, rendezvous=bool(seed))
        for arrays, shared in results:
            assert shared
            numpy.testing.assert_array_equal(arrays[0], expected)
            numpy.testing.assert_array_equal(arrays[1], expected * 2)
            numpy.testing.assert_array_equal(arrays[2], expected.T + 1)


def test_memory_is_used_again_once_all_ranks_have_let_it_go():
    def loop():
        rank, kept, made = np.world.rank, [], []
        with np.config(small=0, everywhere=0):
            a = np.zeros((40, 40))
            for k in range(6):
                a[3] = float(k)
                whole = numpy.asarray(a)
                assert whole[3, 5] == k
                if rank == 1 and k in (1, 2):
                    kept.append(whole)  # the others have let go of theirs
                made.append(len(np.world.communicator.memory._kept))
                del whole
        assert [array[3, 5] for array in kept] == ([1, 2] if rank == 1 else [])
        return made

    results, _ = on_nodes(4, 2, loop)
    assert results[2:] == [[1] * 6] * 2
    assert results[:2] == [[1, 1, 2, 2, 2, 2]] * 2


def test_what_a_forked_child_has_is_not_used_again():
    def forked():
        with np.config(small=0, everywhere=0):
            a = np.ones((20, 20)) * 3
            whole = numpy.asarray(a)
            if np.world.rank == 1:
                node_memory._keep_for_the_child()
            child = whole.ctypes.data
            del whole
            again = numpy.asarray(a * 2)
            return again.ctypes.data != child, len(np.world.communicator.memory._kept)

    assert on_nodes(2, 2, forked)[0] == [(True, 2)] * 2


def test_what_is_shared_cannot_be_written():
    def written():
        with np.config(small=0, everywhere=0):
            a = np.zeros((20, 20))
            a[1] = 1.0
            whole = numpy.asarray(a)
            with pytest.raises(ValueError, match="read-only"):
                whole[0] = 2.0
            with pytest.raises(ValueError, match="WRITEABLE"):
                whole.flags.writeable = True
            np.put(a, [5, 7], [3.0, 4.0])
            return numpy.asarray(a).ravel()[[5, 7, 20]].tolist()

    assert on_nodes(2, 2, written)[0] == [[3.0, 4.0, 1.0]] * 2


def test_an_element_goes_to_each_node_once():
    def gathered():
        with np.config(small=0, everywhere=0):
            a = np.ones((64, 8), layout=np.Layout((64, 8), "bn")) * 2
            np.sync()
            traffic = np.world.communicator.traffic
            before = traffic.copy()
            numpy.asarray(a)
            spent = traffic - before
            return spent.bytes_between_nodes, spent.collectives

    each_to_one_rank = 8 * 8 * 8
    assert [sent for sent, _ in on_nodes(8, 4, gathered)[0]] == [each_to_one_rank] * 8
    with policy.limited(cached=1 << 40):
        assert on_nodes(8, 4, gathered)[0] == [(0, 1)] * 8  # one allgather


def test_ranks_that_cannot_map_memory_of_each_other_send_messages(monkeypatch):
    opened = segments.opened

    def unseen(*facts):
        return None if np.world.rank == 3 else opened(*facts)

    monkeypatch.setattr(segments, "opened", unseen)

    def gathered():
        with np.config(small=0, everywhere=0):
            whole = numpy.asarray(np.arange(100.0).redistribute(np.Layout(100, "b")))
            return whole.sum(), is_shared(whole)

    assert on_nodes(4, 2, gathered)[0] == [(4950.0, False)] * 4


def test_ranks_on_nodes_of_their_own_send_messages():
    def gathered():
        with np.config(small=0, everywhere=0):
            return is_shared(numpy.asarray(np.zeros((10, 10)) + 1))

    assert Simulation(2).run(gathered) == [False] * 2


@pytest.mark.ranks(2, 3)
def test_real_ranks_of_a_host_share(rank, size):
    with np.config(small=0, everywhere=0):
        a = np.arange(3000.0).reshape(60, 50).redistribute(np.Layout((60, 50), "bn"))
        for k in range(3):
            a[k] = float(k)
            whole = numpy.asarray(a)
            assert is_shared(whole)
            expected = numpy.arange(3000.0).reshape(60, 50)
            expected[: k + 1] = numpy.arange(k + 1.0)[:, None]
            numpy.testing.assert_array_equal(whole, expected)
