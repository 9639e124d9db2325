"""One process alone: messages to oneself, and collectives that cost nothing."""

import subprocess
import sys

import numpy as np
import pytest

from atoll.comm.single import SingleCommunicator
from atoll.errors import CommunicationError, DeadlockError, WorldError


@pytest.fixture
def alone():
    return SingleCommunicator()


def test_a_message_to_oneself_matches_in_either_order(alone):
    got = np.empty(3)
    receive = alone.irecv(got, 0, 2)
    assert not receive.test()
    alone.isend(np.arange(3.0), 0, 2)
    assert receive.wait() is got
    assert got.tolist() == [0, 1, 2]
    data = np.ones(3)
    send = alone.isend(data, 0, 2)
    data[:] = 9
    assert send.done
    assert alone.recv(got, 0, 2).tolist() == [1, 1, 1]


def test_messages_to_oneself_keep_their_order_within_a_tag(alone):
    for k in range(3):
        alone.isend(np.array([k]), 0, 1)
        alone.isend(np.array([-k]), 0, 2)
    assert [int(alone.recv(np.empty(1, int), 0, 2)[0]) for _ in range(3)] == [0, -1, -2]
    assert [int(alone.recv(np.empty(1, int), 0, 1)[0]) for _ in range(3)] == [0, 1, 2]


def test_waiting_for_a_message_that_nobody_sends_is_an_error_at_once(alone):
    with pytest.raises(DeadlockError, match=r"receive from rank 0, tag 5 \(halo\)"):
        alone.recv(np.empty(1), 0, 5, "halo")


def test_collectives_give_copies(alone):
    data = np.arange(3.0)
    for result in (alone.allreduce(data), alone.alltoall(data[None])[0], alone.allgather(data)[0]):
        assert result.tolist() == [0, 1, 2]
        assert not np.shares_memory(result, data)
    assert alone.allreduce(data, "lor").dtype == bool
    assert alone.allgather_object("x") == ["x"]
    assert alone.alltoall_object(["x"]) == ["x"]
    assert alone.bcast_object("x") == "x"
    with pytest.raises(CommunicationError, match="one row per rank"):
        alone.alltoall_object([])
    with pytest.raises(WorldError, match="no rank 1"):
        alone.bcast(data, 1)


def test_abort_ends_the_process_with_its_code_and_message():
    code = "from atoll.comm.single import SingleCommunicator as S; S().abort(7, 'out of fuel')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 7
    assert "out of fuel" in ended.stderr
