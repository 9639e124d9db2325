"""Which ranks share a node, and what is counted between nodes."""

import numpy
import pytest

import atoll as np
from atoll.comm import nodes
from atoll.comm.dry_run import dry_run_world
from atoll.comm.simulated import Simulation
from atoll.errors import ConfigError


def listed(which: nodes.Nodes) -> list[list[int]]:
    return [list(which.ranks(node)) for node in range(which.count)]


@pytest.mark.parametrize(
    ("marks", "expected", "even"),
    [
        ("a", [[0]], 1),
        ("aaaa", [[0, 1, 2, 3]], 4),
        ("bbaa", [[0, 1], [2, 3]], 2),
        ("dcba", [[0], [1], [2], [3]], 1),
        ("aab", [[0, 1], [2]], 1),
        ("abb", [[0], [1, 2]], 1),
        ("baba", [[0, 2], [1, 3]], 1),
    ],
)
def test_nodes_are_numbered_by_their_first_ranks(marks, expected, even):
    which = nodes.numbered(numpy.array([ord(mark) for mark in marks]))
    assert listed(which) == expected
    assert which.even == even
    assert which.several == (len(expected) > 1)
    assert which.two_levels == (1 < len(expected) < len(marks))
    for rank in range(len(marks)):
        assert rank in expected[which.of(rank)]
        assert [which.same(rank, other) for other in range(len(marks))] == [
            mark == marks[rank] for mark in marks
        ]


def test_consecutive_ranks_need_no_list_however_many_there_are():
    which = nodes.consecutive(10**6, 48)
    assert which.numbers is None
    assert which.count == 20834
    assert list(which.ranks(20833)) == list(range(999984, 10**6))
    assert nodes.numbered(numpy.arange(1000) // 48 + 5).numbers is None


def test_all_ranks_must_pretend_the_same_nodes():
    marks, same = numpy.arange(4), numpy.zeros(4, int)
    assert listed(nodes.agreed(marks, numpy.full(4, 3), same)) == [[0, 1, 2], [3]]
    assert listed(nodes.agreed(marks, numpy.zeros(4, int), same)) == [[0], [1], [2], [3]]
    with pytest.raises(ConfigError, match=r"None on rank 0 and 2 on rank 3"):
        nodes.agreed(marks, numpy.array([0, 0, 0, 2]), same)


def test_unequal_machines_are_told_apart_in_groups_too():
    marks, same = numpy.arange(4), numpy.zeros(4, int)
    alike = nodes.agreed(marks, same, same)
    assert alike.alike
    assert alike.among([1, 2]).alike
    unequal = nodes.agreed(marks, same, numpy.array([0, 0, 0, 1]))
    assert not unequal.alike
    assert not unequal.among([0, 1]).alike


@pytest.mark.ranks(2, distributes=False)
def test_ranks_of_one_machine_compute_alike():
    assert np.world.communicator.log.exact


def ring() -> tuple[int, int]:
    here = np.world.communicator
    before = here.traffic.copy()
    mine, got = numpy.arange(5.0), numpy.empty(5)
    here.exchange({(here.rank + 1) % here.size: mine}, {(here.rank - 1) % here.size: got})
    sent = here.traffic - before
    return sent.messages_between_nodes, sent.bytes_between_nodes


def test_simulated_ranks_count_what_leaves_their_node():
    with np.config(ranks_per_node=2):
        simulation = Simulation(5)
    assert simulation.run(ring) == [(0, 0), (1, 40), (0, 0), (1, 40), (1, 40)]
    assert Simulation(2).run(ring) == [(1, 40)] * 2


@pytest.mark.ranks(2, 4, distributes=False)
def test_real_ranks_of_this_host_share_a_node_unless_others_are_pretended(rank, size):
    assert listed(np.world.nodes) == [list(range(size))]
    assert ring() == (0, 0)
    comm = np.world.comm
    own = comm.Dup()
    with np.config(ranks_per_node=size // 2):
        pretended = np.use(own)
    with pretended:
        assert np.world.nodes.count == 2
        assert ring() == ((1, 40) if rank in (size // 2 - 1, size - 1) else (0, 0))
        if rank in (0, size - 1):
            assert np.world.group([0, size - 1]).nodes.count == 2
        half = np.world.split(rank % 2)
        assert half.nodes.count == (1 if size == 2 else 2)
    np.world.barrier()


def test_a_dry_run_tells_what_goes_to_other_nodes():
    def explained(per_node):
        with np.config(small=0, everywhere=0), dry_run_world(5, 16, per_node):
            a = np.zeros((64, 8), layout=np.Layout((64, 8), "bn"))
            a[0] = 1.0
            np.sync()
            return np.explain(a[1:-1] + a[:-2] + a[2:])

    told = explained(3)
    assert [(m.peer, m.between_nodes) for m in told.messages if m.sends] == [(4, False), (6, True)]
    assert "sends 2 messages (128 bytes), 1 of them to other nodes (64 bytes)" in str(told)
    assert "other nodes" not in str(explained(1))
    assert "other nodes" not in str(explained(16))
