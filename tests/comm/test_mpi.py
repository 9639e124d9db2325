"""What only MPI ranks can show: datatypes, limits of waits, mpi4py beside atoll, forks."""

import gc
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

import atoll
from atoll import policy
from atoll.comm import mpi_requests
from atoll.context.caches import Recent
from atoll.errors import CommunicationError, WaitTimeoutError, WorldError
from tests.bench.pool import mpiexec_command


def here():
    return atoll.world.communicator


def on_ranks(*sizes):
    return pytest.mark.ranks(*sizes, distributes=False)


@on_ranks(1, 2, 3)
def test_the_program_may_use_mpi4py_beside(rank, size):
    comm = atoll.world.comm
    right, left = (rank + 1) % size, (rank - 1) % size
    ours, theirs = np.empty(1), np.empty(1)
    receives = [here().irecv(ours, left, 1), comm.Irecv(theirs, left, 1)]
    sends = [comm.Isend(np.array([2.0]), right, 1), here().isend(np.array([1.0]), right, 1)]
    for request in receives[::-1] + sends:
        request.wait() if hasattr(request, "describe") else request.Wait()
    assert (ours[0], theirs[0]) == (1, 2)
    assert comm.allreduce(2) == 2 * size
    assert here().allreduce(np.ones(1))[0] == size


@on_ranks(2, 3)
def test_use_hands_a_communicator_in(rank, size):
    from mpi4py import MPI

    backwards = MPI.COMM_WORLD.Split(0, -rank)
    before = atoll.world.communicator
    with atoll.use(backwards) as world:
        assert atoll.world == world
        assert (world.rank, world.size) == (size - 1 - rank, size)
        assert atoll.world.comm is backwards
        assert [world.rank_of(atoll.World(before), r) for r in range(size)] == list(range(size))[
            ::-1
        ]
        assert atoll.use(backwards) == world
    with atoll.use(backwards):
        assert here() is world.communicator
    assert world.translate(atoll.World(before)) != tuple(range(size))
    with atoll.use(MPI.COMM_SELF) as alone:
        assert (alone.size, alone.communicator.members) == (1, (rank,))
        assert atoll.World(before).rank_of(alone, 0) == rank
    with pytest.raises(WorldError, match="COMM_NULL"):
        atoll.use(MPI.COMM_NULL)
    with pytest.raises(TypeError, match="intracommunicator"):
        atoll.use(MPI.INFO_NULL)
    with atoll.World(before):
        assert here() is before


@on_ranks(2, 3)
def test_groups_work_beside_each_other(rank, size):
    group = atoll.world.group([0, 1])
    if rank < 2:
        with group:
            assert atoll.world.comm.Get_size() == 2
            total = here().allreduce(np.array([rank]))
        assert total[0] == 1
    else:
        assert group is None
    assert here().allreduce(np.array([1]))[0] == size


@on_ranks(2)
@pytest.mark.parametrize("count", [1000, 1001, 5000, 70_001])
def test_counts_beyond_the_limit_of_mpi_3(rank, size, count, monkeypatch):
    from atoll.comm import mpi

    monkeypatch.setattr(mpi.datatypes, "large", 8000)
    monkeypatch.setattr(mpi.datatypes, "_made", Recent("caches_full"))
    mine = np.arange(count, dtype=float) + rank
    expected = np.arange(count, dtype=float) + (1 - rank)
    got = np.empty(count)
    here().exchange({1 - rank: mine}, {1 - rank: got}, what="a long one")
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(here().allgather(mine)[1 - rank], expected)
    rows = np.stack([mine, mine + 10])
    np.testing.assert_array_equal(here().alltoall(rows)[1 - rank], expected + 10 * rank)
    np.testing.assert_array_equal(here().bcast(mine.copy(), 0), np.arange(count))
    wide, target = np.zeros((3, count + 5)), np.zeros((3, count + 9))
    wide[:, :count] = mine
    here().exchange({1 - rank: wide[:, :count]}, {1 - rank: target[:, :count]})
    np.testing.assert_array_equal(target[:, :count], np.broadcast_to(expected, (3, count)))
    assert (target[:, count:] == 0).all()


@on_ranks(2)
def test_datatypes_are_remembered_and_given_back(rank, size, monkeypatch):
    from atoll.comm import mpi

    monkeypatch.setattr(policy, "limits", replace(policy.limits, entries=5))
    monkeypatch.setattr(mpi.datatypes, "_made", Recent("caches_full"))
    grid, target = np.random.default_rng(1).random((40, 400)), np.zeros((40, 400))
    for _ in range(3):
        for n in range(300, 310):
            here().exchange({1 - rank: grid[::3, :n]}, {1 - rank: target[::3, :n]})
            np.testing.assert_array_equal(target[::3, :n], grid[::3, :n])
    assert len(mpi.datatypes._made) <= 6


@on_ranks(2)
def test_a_wait_that_takes_too_long_says_who_waits_for_what(rank, size, capfd):
    got = np.empty(1)
    request = here().irecv(got, 1 - rank, 6, "halo of u")
    with atoll.config(wait_abort=0.3, wait_report=0.1), pytest.raises(WaitTimeoutError) as caught:
        request.wait()
    words = f"receive from rank {1 - rank}, tag 6 (halo of u)"
    assert f"rank {rank} of 2 has waited 0.3" in str(caught.value)
    assert words in str(caught.value)
    assert words in capfd.readouterr().err
    other = here().irecv(np.empty(1), 1 - rank, 7)
    limit = atoll.config(wait_abort=0.05)
    with limit, pytest.raises(WaitTimeoutError, match=r"tag 6 .*; receive from rank \d, tag 7"):
        here().wait_all([request, other])
    here().barrier()
    here().isend(np.array([4.0]), 1 - rank, 6)
    here().isend(np.array([4.0]), 1 - rank, 7)
    here().wait_all([request, other])
    assert got[0] == 4


@on_ranks(2)
def test_a_collective_that_one_rank_leaves_out_is_told(rank, size):
    world = here().split(0)
    if rank == 0:
        with atoll.config(wait_abort=0.2), pytest.raises(WaitTimeoutError, match=r"barrier.*split"):
            world.split(0)
        with atoll.config(wait_abort=0.2), pytest.raises(WaitTimeoutError, match=r"rank 1 .*group"):
            world.group([0, 1])
        world.send(np.ones(1), 1)
    else:
        # Rank 1 comes when rank 0 has given up, however long a busy machine takes for that.
        assert world.recv(np.empty(1), 0)[0] == 1
        # What rank 0 has given up is still under way; end it, for the tests that follow.
        world.barrier()
        world.own.Send(np.empty(0, np.uint8), 0, world._own_tag)
    while world._abandoned:
        world._sweep()
    world.barrier()


@on_ranks(2)
def test_a_signal_interrupts_a_wait_and_the_memory_stays(rank, size):
    request = here().irecv(np.empty(1), 1 - rank, 8)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        request.wait()
    timer.join()
    here().barrier()
    here().isend(np.array([3.0]), 1 - rank, 8)
    assert request.wait()[0] == 3


@on_ranks(2)
def test_a_request_that_nobody_keeps_still_completes(rank, size):
    for k in range(20):
        here().irecv(np.empty(1000), 1 - rank, 9)
        here().isend(np.full(1000, float(k)), 1 - rank, 9)
    gc.collect()
    assert here()._abandoned
    here().barrier()
    for _ in range(100):
        here().allreduce(np.zeros(1))
        here()._sweep()
    assert here()._abandoned == []


@on_ranks(2)
def test_nothing_collective_happens_when_objects_are_collected(rank, size):
    for _ in range(3):
        part = here().split(0)
        if rank == 0:
            del part
            gc.collect()
        assert here().allreduce(np.ones(1))[0] == 2


@on_ranks(2)
def test_a_fork_may_not_communicate(rank, size):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        text = "nothing happened"
        try:
            here().barrier()
        except CommunicationError as error:
            text = str(error)
        os.write(writing, text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    text = os.read(reading, 1000).decode()
    os.close(reading)
    os.close(writing)
    assert f"a fork of rank {rank}" in text
    assert here().allreduce(np.ones(1))[0] == 2


@on_ranks(3)
def test_many_requests_at_once(rank, size):
    arrays = {(peer, k): np.empty(2) for peer in range(size) for k in range(20)}
    requests = [here().irecv(a, peer, k, f"part {k}") for (peer, k), a in arrays.items()]
    requests += [
        here().isend(np.array([rank, k], float), peer, k) for peer in range(size) for k in range(20)
    ]
    here().wait_all(requests)
    assert all(a.tolist() == [peer, k] for (peer, k), a in arrays.items())
    assert here().test_some(requests) == list(range(len(requests)))


@on_ranks(2)
def test_a_bad_message_among_many_is_named(rank, size):
    small = np.empty(1)
    requests = [here().irecv(np.empty(2), 1 - rank, k, f"part {k}") for k in range(6)]
    requests.append(here().irecv(small, 1 - rank, 6, "too small"))
    sends = [here().isend(np.zeros(2), 1 - rank, k) for k in range(7)]
    with pytest.raises(CommunicationError, match="too small"):
        here().wait_all(requests)
    here().wait_all(sends)


def test_abort_ends_all_ranks_with_its_code_and_message():
    code = (
        "import atoll\n"
        "world = atoll.world.communicator\n"
        "if world.rank == 1:\n"
        "    world.abort(5, 'out of fuel')\n"
        "world.barrier()\n"
    )
    command = [*mpiexec_command(2), sys.executable, "-c", code]
    # Open MPI 5 asks for shared memory at an address that may be taken, and fails, by default.
    environ = os.environ | {"PMIX_MCA_gds": "hash"}
    for allowed in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"):
        environ |= {allowed: "1", f"{allowed}_CONFIRM": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=50, env=environ)
    assert ended.returncode == 5
    assert "atoll: rank 1: out of fuel" in ended.stderr


@on_ranks(2)
def test_a_small_gather_survives_an_interrupted_wait(rank, size):
    rows = here().rows(8)
    rows.row[:] = rank
    if rank == 0:
        with atoll.config(wait_abort=0.2), pytest.raises(WaitTimeoutError, match=r"gather.*error"):
            rows.gather("error")
    else:
        threading.Event().wait(0.6)
        rows.gather("error")
        assert rows.rows[:, 0].tolist() == [0, 1]
    for k in range(3):
        rows.row[:] = rank + k
        rows.gather("again")
        assert rows.rows[:, 0].tolist() == [k, 1 + k]


class Late:
    """A handle of MPI that is complete at the second test."""

    tests = 0

    def Test(self, status):
        self.tests += 1
        return self.tests > 1


@on_ranks(1, 2)
def test_a_profile_of_a_wait_that_ends_before_it_is_named(rank, size):
    request = mpi_requests.MpiRequest(here(), Late(), "barrier", None, None, "", None, None)
    with atoll.profile():
        here().wait_all([request])
    assert request.done


@on_ranks(2)
def test_a_reduction_survives_an_interrupted_wait(rank, size):
    number = np.array([1 + rank], np.uint64)
    if rank == 0:
        with atoll.config(wait_abort=0.2), pytest.raises(WaitTimeoutError, match=r"sum.*\(error\)"):
            here().allreduce(number, "sum", "error")
    else:
        threading.Event().wait(0.6)
        assert here().allreduce(number, "sum", "error")[0] == 3
    for k in range(3):
        assert here().allreduce(number + np.uint64(k))[0] == 3 + 2 * k


@on_ranks(1, 2, 3)
def test_more_kinds_of_small_gathers_than_are_kept(rank, size):
    world = here().split(0)
    for nbytes in range(1, 120):
        rows = world.rows(nbytes)
        rows.row[:] = rank
        rows.gather("a test")
        assert (rows.rows == np.arange(size)[:, None]).all()
        assert rows.rows.shape == (size, nbytes)


@on_ranks(2)
def test_arrays_travel_in_messages_beyond_the_limit(rank, size, monkeypatch):
    from atoll.comm import mpi

    monkeypatch.setattr(mpi.datatypes, "large", 3000)
    monkeypatch.setattr(mpi.datatypes, "_made", Recent("caches_full"))
    whole = np.arange(90 * 110.0).reshape(90, 110)
    rows = atoll.asarray(whole.copy()).redistribute(atoll.Layout(whole.shape, "bn", size=size))
    columns = rows.redistribute(atoll.Layout(whole.shape, "nb", size=size))
    np.testing.assert_array_equal(columns.local, np.array_split(whole, 2, axis=1)[rank])
    np.testing.assert_array_equal(np.asarray(rows[40:] + columns[:50]), whole[40:] + whole[:50])
    assert mpi.datatypes._made  # some were long


@on_ranks(2)
def test_persistent_collectives_are_those_of_known_libraries(rank, size, monkeypatch):
    from types import SimpleNamespace

    from atoll.comm import mpi

    unknown = SimpleNamespace(get_vendor=lambda: ("Intel MPI", (2021, 18, 1)))
    assert not mpi_requests.has_persistent_collectives(unknown)
    monkeypatch.setattr(mpi, "_persistent", False)
    rows = here().rows(24)
    for turn in range(3):
        rows.row[:] = 10 * turn + rank
        rows.gather("a test")
        assert rows.rows[:, 0].tolist() == [10 * turn + r for r in range(size)]
