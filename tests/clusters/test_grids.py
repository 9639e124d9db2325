"""What adapters of clusters share: grids of partitions, chunks, and errors that all ranks raise."""

from __future__ import annotations

from itertools import count, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.comm.world import current_world
from atoll.errors import ClusterError, ProtocolError
from atoll.interchange.clusters import (
    Piece,
    cut,
    description,
    everywhere,
    first_rank,
    grid_of,
    while_root_waits,
)


def pieces(rows: list[int], columns: list[int]) -> dict[tuple[int, ...], Piece]:
    return {
        (i, j): Piece(f"{i}{j}", (m, n), (("127.0.0.1", 1),))
        for (i, m), (j, n) in product(enumerate(rows), enumerate(columns))
    }


def test_a_grid_has_starts_and_handles() -> None:
    grid = grid_of("test", (2, 3), pieces([4, 1], [2, 0, 5]))
    shown = description(grid, str.upper, list)
    assert (shown["shape"], shown["partition_tiling"]) == ((5, 7), (2, 3))
    assert "locals" not in shown
    assert shown["partitions"][1, 2] == {
        "start": (4, 2),
        "shape": (1, 5),
        "data": "12",
        "location": [("127.0.0.1", 1)],
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({(1, 1): Piece("x", (2, 3), ())}, r"P6 position \(1, 1\): .* 2 elements along axis 0"),
        ({(0, 1): Piece("x", (4,), ())}, r"P3 position \(0, 1\): .* shape \(4,\)"),
        ({(0, 0): None}, r"P4 position \(0, 0\): there is no such partition"),
    ],
)
def test_what_is_no_grid_is_refused(change: dict, message: str) -> None:
    wrong = {p: piece for p, piece in {**pieces([4, 1], [2, 3]), **change}.items() if piece}
    with pytest.raises(ProtocolError, match=message):
        grid_of("test", (2, 2), wrong)


@given(
    tiles=st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=3), max_size=3),
    itemsize=st.sampled_from([1, 8]),
    limit=st.integers(1, 4000),
)
def test_chunks_cover_their_tiles_and_stay_small(tiles, itemsize, limit) -> None:
    chunks = cut([tuple(axis) for axis in tiles], itemsize, limit)
    assert [[sum(one) for one in axis] for axis in chunks] == tiles
    largest = itemsize * prod(max(max(one) for one in axis) for axis in chunks)
    assert largest <= max(limit, itemsize)


@pytest.mark.simulated(1, 3, distributes=False)
def test_an_error_of_one_rank_is_raised_on_all(rank: int, size: int) -> None:
    def work() -> int:
        if rank == size - 1:
            raise OSError("the cable is out")
        return rank

    with pytest.raises(ClusterError, match="test: OSError: the cable is out") as caught:
        everywhere(current_world(), "test", work)
    assert str(caught.value).startswith(f"rank {size - 1}: " if size > 1 else "test")
    assert everywhere(current_world(), "test", lambda: rank) == list(range(size))


@pytest.mark.simulated(1, 3, distributes=False)
def test_all_wait_for_the_root(rank: int, size: int) -> None:
    looks = count()
    world, root = current_world(), size - 1
    assert while_root_waits(world, "test", root, lambda _: "there" if next(looks) == 2 else None)
    assert next(looks) == (3 if rank == root else 0)

    def fail(_: float) -> None:
        raise ProtocolError(f"broken on {rank}")

    with pytest.raises(ProtocolError, match=f"broken on {root}"):
        while_root_waits(world, "test", root, fail)


@pytest.mark.simulated(2, distributes=False)
def test_the_first_rank_that_has_it_is_the_root(rank: int, size: int) -> None:
    assert first_rank(current_world(), "test", rank > 0, "nobody has it") == 1
    with pytest.raises(TypeError, match="test: nobody has it"):
        first_rank(current_world(), "test", False, "nobody has it")
