"""What holds for every kind of communicator, on simulated ranks and on MPI."""

import numpy as np
import pytest

import atoll
from atoll.comm.communicator import Communicator
from atoll.errors import CommunicationError, WorldError

DTYPES = ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "g", "F", "D", "G", "M8[s]", "m8[ns]"]
DTYPES += ["S5", "U3", ">f8", "V7"]


def everywhere(function):
    """Run a test of communication alone on simulated ranks and on MPI ranks."""
    function = pytest.mark.simulated(1, 2, 3, 4, distributes=False)(function)
    return pytest.mark.contract(pytest.mark.ranks(1, 2, 3, 4, distributes=False)(function))


def here() -> Communicator:
    return atoll.world.communicator


def sample(dtype, shape, seed):
    """Reproducible data of any dtype."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype.kind in "?bSUV" and dtype.kind != "b":
        text = random.integers(97, 122, count * dtype.itemsize, dtype=np.uint8)
        if dtype.kind == "U":
            text = text.astype(np.uint32)[: count * dtype.itemsize // 4]
        return text.view(np.uint8).view(dtype).reshape(shape)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    return random.integers(1, 100, shape).astype(dtype)


@everywhere
@pytest.mark.parametrize("dtype", [*DTYPES, [("a", "i2"), ("b", "f8", 2)]], ids=str)
def test_a_ring_carries_every_dtype(rank, size, dtype):
    dtype = np.dtype(dtype)
    right, left = (rank + 1) % size, (rank - 1) % size
    if dtype.fields:
        mine, expected = np.zeros(3, dtype), np.zeros(3, dtype)
        mine["b"], expected["b"] = rank, left
    else:
        mine, expected = sample(dtype, (3, 2), rank), sample(dtype, (3, 2), left)
    got = np.zeros_like(mine)
    here().exchange({right: mine}, {left: got}, tag=3, what="ring")
    assert repr(got.tolist()) == repr(expected.tolist())


VIEWS = {
    "column": lambda a: a[:, 3],
    "every other": lambda a: a[::2, 1::3],
    "backwards": lambda a: a[::-1, ::-2],
    "transposed": lambda a: a.T,
    "block": lambda a: a[5:9, 2:30],
    "field": lambda a: a.view([("x", a.dtype), ("y", a.dtype)])["y"],
    "nothing": lambda a: a[4:4],
    "one element": lambda a: a[2, 3:4],
    "no axes": lambda a: a[2, 3, ...],
    "three axes": lambda a: a.reshape(10, 20, 20)[1:4, ::3, 5:7],
    "long runs": lambda a: np.tile(a, (1, 40))[2:8:2, 100:900],
}


@everywhere
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("other", ["same", "contiguous"])
def test_strides_of_both_sides_are_free(rank, size, view, other):
    right, left = (rank + 1) % size, (rank - 1) % size
    data = np.arange(4000.0).reshape(10 * 10, 40)[:, :40]
    mine = VIEWS[view](data + rank)
    expected = VIEWS[view](data + left)
    got = VIEWS[view](np.zeros_like(data))
    if other == "contiguous":
        got = np.zeros(got.shape)
    here().exchange({right: mine}, {left: got})
    np.testing.assert_array_equal(got, expected)


@everywhere
def test_messages_of_one_tag_keep_their_order_and_tags_are_told_apart(rank, size):
    world = here()
    right, left = (rank + 1) % size, (rank - 1) % size
    sends = [world.isend(np.array([k, rank]), right, tag=k % 2) for k in range(10)]
    odd = [np.empty(2, int) for _ in range(5)]
    even = [np.empty(2, int) for _ in range(5)]
    receives = [world.irecv(array, left, tag=1) for array in odd]
    receives += [world.irecv(array, left, tag=0) for array in even]
    world.wait_all(sends + receives)
    assert [array.tolist() for array in odd] == [[k, left] for k in range(1, 10, 2)]
    assert [array.tolist() for array in even] == [[k, left] for k in range(0, 10, 2)]


@everywhere
def test_waiting_for_some_finds_all_in_the_end(rank, size):
    world = here()
    got = {peer: np.empty(1, int) for peer in range(size)}
    requests = [world.irecv(array, peer, 5) for peer, array in got.items()]
    requests += [world.isend(np.array([rank]), peer, 5) for peer in range(size)]
    left = list(requests)
    while left:
        found = world.wait_some(left)
        assert found
        assert all(left[position].done for position in found)
        assert world.wait_some(left)[0] in world.test_some(left)
        left = [request for request in left if not request.done]
    assert {peer: int(array[0]) for peer, array in got.items()} == {p: p for p in range(size)}
    assert world.test_some([]) == []
    with pytest.raises(ValueError, match="no requests"):
        world.wait_some([])


@everywhere
def test_a_request_is_tested_until_it_is_done(rank, size):
    world = here()
    got = np.empty(3)
    request = world.irecv(got, (rank - 1) % size, 9, "left neighbour")
    assert not request.done
    assert "left neighbour" in repr(request)
    assert "tag 9" in repr(request)
    with pytest.raises(CommunicationError, match="not done yet"):
        assert request.result is got
    assert not request.test()
    world.barrier()
    send = world.isend(np.full(3, 7.0), (rank + 1) % size, 9)
    while not request.test():
        assert not request.done
    assert request.done
    assert request.result is got
    assert send.wait() is None
    assert got.tolist() == [7, 7, 7]


@everywhere
def test_a_message_of_the_wrong_size_is_refused(rank, size):
    world = here()
    for count in (2, 4):
        send = world.isend(np.zeros(3), (rank + 1) % size, 1)
        with pytest.raises(CommunicationError, match=r"receive from rank .*tag 1 \(odd\)"):
            world.recv(np.empty(count), (rank - 1) % size, 1, "odd")
        world.wait_all([send])
        world.barrier()


@everywhere
def test_bad_arguments_are_refused_by_name(rank, size):
    world = here()
    with pytest.raises(WorldError, match=f"there is no rank {size}"):
        world.isend(np.zeros(1), size)
    with pytest.raises(WorldError, match="there is no rank -1"):
        world.irecv(np.zeros(1), -1)
    with pytest.raises(CommunicationError, match="tag -1 is out of range"):
        world.isend(np.zeros(1), 0, -1)
    with pytest.raises(CommunicationError, match="tags are 0 to"):
        world.irecv(np.zeros(1), 0, world.tag_limit)
    with pytest.raises(TypeError, match="object"):
        world.isend(np.array([None]), 0)
    with pytest.raises(TypeError, match="list"):
        world.isend([1.0], 0)
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        world.irecv(frozen, 0)
    with pytest.raises(ValueError, match="'median'"):
        world.allreduce(np.zeros(1), "median")
    with pytest.raises(TypeError):
        world.allreduce(np.zeros(1), "bor")
    with pytest.raises(CommunicationError, match="one row per rank"):
        world.alltoall(np.zeros((size + 1, 2)))


def left_fold(ufunc, arrays):
    total = arrays[0].copy()
    with np.errstate(all="ignore"):
        for array in arrays[1:]:
            total = ufunc(total, array)
    return np.asarray(total, arrays[0].dtype)


REDUCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
REDUCTIONS |= {"land": np.logical_and, "lor": np.logical_or}
REDUCTIONS |= {"band": np.bitwise_and, "bor": np.bitwise_or}
CASES = [
    (op, dtype)
    for op in REDUCTIONS
    for dtype in ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "g", "D", ">f8", "m8[s]")
    if not (op in ("band", "bor") and np.dtype(dtype).kind in "fcm")
    and not (op == "prod" and dtype == "m8[s]")
]


@everywhere
@pytest.mark.parametrize(("op", "dtype"), CASES)
def test_a_reduction_is_the_ufunc_over_the_ranks(rank, size, op, dtype):
    values = [sample(dtype, (3, 2), r) for r in range(size)]
    if op in ("land", "lor"):
        values = [value.astype(bool) for value in values]
    expected = left_fold(REDUCTIONS[op], values)
    mine = sample(dtype, (3, 2), rank)
    result = here().allreduce(mine, op)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    assert not np.shares_memory(result, mine)
    np.testing.assert_array_equal(mine, sample(dtype, (3, 2), rank))


@everywhere
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "D"])
@pytest.mark.parametrize("op", ["max", "min"])
def test_extremes_pass_on_nan_of_any_rank(rank, size, dtype, op):
    for bad in range(size):
        mine = np.array([rank, np.nan if rank == bad else 1.0], dtype)
        result = here().allreduce(mine, op)
        assert np.isnan(result).tolist() == [False, True]
        assert result[0] == (size - 1 if op == "max" else 0)


@everywhere
def test_a_sum_has_the_same_bits_on_every_rank(rank, size):
    mine = np.random.default_rng(rank).normal(size=1000) * 10.0 ** np.arange(-20, 20).repeat(25)
    everybody = here().allgather(here().allreduce(mine))
    assert (everybody == everybody[0]).all()


@everywhere
def test_a_rank_sums_those_before_it(rank, size):
    mine = np.array([rank, 1, 2**64 - 1], np.uint64)
    expected = [rank * (rank - 1) // 2, rank, -rank % 2**64]
    assert here().exscan(mine).tolist() == expected
    assert here().exscan(np.empty(0, np.uint64)).shape == (0,)


@everywhere
def test_reductions_take_scalars_and_any_strides(rank, size):
    assert here().allreduce(np.float64(2.5)) == 2.5 * size
    assert here().allreduce(3) == 3 * size
    grid = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(here().allreduce(grid.T[::-1]), grid.T[::-1] * size)
    assert here().allreduce(np.empty((0, 3))).shape == (0, 3)


@everywhere
def test_collectives_of_arrays(rank, size):
    world = here()
    grid = np.arange(6).reshape(2, 3).T
    gathered = world.allgather(grid + rank, "grids")
    np.testing.assert_array_equal(gathered, np.stack([grid + r for r in range(size)]))
    table = np.arange(size)[:, None] * 10 + rank
    np.testing.assert_array_equal(world.alltoall(table)[:, 0], rank * 10 + np.arange(size))
    for root in range(size):
        column = np.full((4, 3), rank)[:, 1]
        assert world.bcast(column, root) is column
        assert (column == root).all()
        when = np.full(2, rank, "M8[D]")
        assert world.bcast(when, root).tolist() == np.full(2, root, "M8[D]").tolist()
    world.barrier("all here")


@everywhere
@pytest.mark.parametrize("length", [3, 100_000])
def test_collectives_of_objects(rank, size, length):
    world = here()
    everybody = [{"rank": r, "text": "x" * (length + r)} for r in range(size)]
    assert world.allgather_object(everybody[rank]) == everybody
    for root in range(size):
        assert world.bcast_object(everybody[rank], root) == everybody[root]
    rows = world.alltoall_object([(rank, peer, "y" * length) for peer in range(size)])
    assert rows == [(peer, rank, "y" * length) for peer in range(size)]


@everywhere
def test_a_collective_while_a_message_is_under_way(rank, size):
    world = here()
    got = np.empty(1)
    receive = world.irecv(got, (rank - 1) % size, 2)
    assert world.allreduce(np.array([rank])) == sum(range(size))
    world.isend(np.array([1.0]), (rank + 1) % size, 2)
    world.wait_all([receive])
    assert got[0] == 1


@everywhere
def test_split_and_group(rank, size):
    world = here()
    part = world.split(rank % 2, key=-rank)
    ranks = [r for r in range(size) if r % 2 == rank % 2][::-1]
    assert part.size == len(ranks)
    assert ranks[part.rank] == rank
    assert part.members == tuple(world.members[r] for r in ranks)
    assert part.allgather_object(rank) == ranks
    assert (world.split(None if rank == 0 else 5) is None) == (rank == 0)
    chosen = [size - 1, 0] if size > 1 else [0]
    group = world.group(chosen)
    assert (group is None) == (rank not in chosen)
    if group is not None:
        assert group.allgather_object(rank) == chosen
        assert world.group(chosen) is group
    with pytest.raises(WorldError, match="must differ"):
        world.group([0, 0])
    with pytest.raises(WorldError, match="no rank"):
        world.group([size])
    with pytest.raises(WorldError, match="at least one"):
        world.group([])


@everywhere
def test_messages_of_different_communicators_do_not_meet(rank, size):
    world, other = here(), here().split(0)
    right, left = (rank + 1) % size, (rank - 1) % size
    requests = [other.isend(np.array([2]), right), world.isend(np.array([1]), right)]
    assert world.recv(np.zeros(1, int), left)[0] == 1
    assert other.recv(np.zeros(1, int), left)[0] == 2
    world.wait_all(requests)


@everywhere
def test_traffic_is_counted(rank, size):
    world = here()
    before = world.traffic.copy()
    world.exchange({(rank + 1) % size: np.zeros(10)}, {(rank - 1) % size: np.zeros(10)})
    world.barrier()
    world.allreduce(np.zeros(4))
    seen = world.traffic - before
    assert (seen.messages_sent, seen.bytes_sent) == (1, 80)
    assert (seen.messages_received, seen.bytes_received) == (1, 80)
    assert seen.collectives == 2


@everywhere
def test_the_current_world_follows_with(rank, size):
    whole = atoll.world.split(0)
    assert (whole.rank, whole.size) == (rank, size)
    assert whole != atoll.world
    assert whole.translate(atoll.world) == tuple(range(size))
    evens = whole.split(rank % 2)
    with whole:
        assert atoll.world == whole
        with evens as entered:
            assert entered is evens
            assert atoll.world.size == evens.size
            assert hash(atoll.world) == hash(evens)
        assert atoll.world == whole
    assert atoll.world != whole
    ranks = [r for r in range(size) if r % 2 == rank % 2]
    assert [whole.rank_of(evens, r) for r in range(evens.size)] == ranks
    assert evens.translate(whole) == tuple(
        ranks.index(r) if r in ranks else None for r in range(size)
    )
    assert whole.translate(evens) == tuple(ranks)
    with pytest.raises(WorldError, match="no rank"):
        whole.rank_of(evens, evens.size)
    assert f"rank {rank} of {size}" in repr(whole)
